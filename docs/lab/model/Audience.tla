------------------------------ MODULE Audience ------------------------------
(* What people like, and who is erased: counts, weights, audience versions, likes files, epochs.          *)
(* One source as one process sees it; all others only change the database. A version is a length of the   *)
(* log of interactions. Heads are read and writes are committed as in Reads.tla, here in one step each.   *)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS People, Requests, None,
          MaxLog, MaxEpoch,
          HasBuilder,   \* whether there is a likes file
          Fault   \* "none", or what is planted: "late version", "epoch not compared", "count rests", "kept when stale"

VARIABLES log, epoch, up,   \* the database: <<"like" or "erase", person>> in order, its history, whether it answers
          file,             \* the likes file of the folder, which outlives the process
          viewed, known,    \* the history of the cached view, 0 without one; the newest history that was read
          count,            \* live.counting: the likes that were counted, of a history up to a version
          weights,          \* live.weighing: the last weights; `of` is the history that their likes are really of
          making,           \* weights that are being made
          request, broken

vars == <<log, epoch, up, file, viewed, known, count, weights, making, request, broken>>

Symmetry == Permutations(People) \union Permutations(Requests)

Idle == [step |-> "idle"]
Nobody(history) == [history |-> history, of |-> 0, version |-> 0, likes |-> {}]
Max(a, b) == IF a > b THEN a ELSE b

\* A like is <<person, version>>. Whom an erasure up to a version has reached:
IsErased(like, version) == \E at \in like[2] + 1..version : log[at] = <<"erase", like[1]>>
Rows(after) == {like \in People \X (after + 1..Len(log)) :
                  log[like[2]] = <<"like", like[1]>> /\ ~IsErased(like, Len(log))}
ErasedAt == LET all == {at \in 1..Len(log) : log[at][1] = "erase"}
            IN IF all = {} THEN 0 ELSE CHOOSE at \in all : \A other \in all : other <= at
Now == [epoch |-> epoch, version |-> Len(log), erased |-> ErasedAt]
Same(a, b) == Fault = "epoch not compared" \/ a = b

Init == /\ log = <<>> /\ epoch = 1 /\ up = TRUE /\ file = None /\ viewed = 0 /\ known = 0
        /\ count = None /\ weights = Nobody(0) /\ making = None
        /\ request = [r \in Requests |-> Idle] /\ broken = {}

-----------------------------------------------------------------------------
(* The database. *)

Process == <<file, viewed, known, count, weights, making, request, broken>>

Record(kind, person) ==     \* storage.interaction_writes: likes are rows, an erasure removes those before it
    /\ up /\ Len(log) < MaxLog
    /\ log' = Append(log, <<kind, person>>)
    /\ UNCHANGED <<epoch, up, Process>>

GoAway == up /\ up' = FALSE /\ UNCHANGED <<log, epoch, Process>>
ComeBack == ~up /\ up' = TRUE /\ UNCHANGED <<log, epoch, Process>>

Promote ==                  \* or a restore; of what is lost erasures may be as well
    /\ ~up /\ epoch < MaxEpoch
    /\ \E length \in 0..Len(log) : log' = SubSeq(log, 1, length)
    /\ epoch' = epoch + 1 /\ up' = TRUE
    /\ UNCHANGED Process

Crash == /\ viewed # 0 \/ count # None
         /\ viewed' = 0 /\ known' = 0 /\ count' = None /\ weights' = Nobody(0) /\ making' = None
         /\ request' = [r \in Requests |-> Idle]
         /\ UNCHANGED <<log, epoch, up, file, broken>>

Build == /\ HasBuilder /\ up /\ file = None /\ log # <<>>     \* live.builder: LikesBuilder
         /\ file' = [epoch |-> epoch, version |-> Len(log), likes |-> Rows(0)]
         /\ UNCHANGED <<log, epoch, up, viewed, known, count, weights, making, request, broken>>

-----------------------------------------------------------------------------
(* Counting. *)

Feed(base) ==               \* count_feed: from a base on, if the feed leads on from it; erasures take what came before
    IF base # None /\ Same(base.epoch, epoch) /\ base.version <= Len(log)
    THEN [epoch |-> epoch, version |-> Len(log),
          likes |-> {like \in base.likes : ~\E at \in base.version + 1..Len(log) : log[at] = <<"erase", like[1]>>}
                    \union Rows(base.version)]
    ELSE [epoch |-> epoch, version |-> Len(log), likes |-> Rows(0)]

Base(head) ==               \* Audiences.count: the last count, else the file
    IF count # None /\ Same(count.epoch, head.epoch) THEN count
    ELSE IF file # None /\ Same(file.epoch, head.epoch) THEN file ELSE None

Serves(head, rests) ==      \* AudienceCount.serves: while a count rests only an erasure ends it
    /\ count # None /\ Same(count.epoch, head.epoch)
    /\ count.version >= (IF rests THEN (IF Fault = "count rests" THEN 0 ELSE head.erased) ELSE head.version)

-----------------------------------------------------------------------------
(* Requests: head, view, count, weights. *)

Database == <<log, epoch, up>>

Begin(r) ==                 \* Views.head, which lets go all that is cached of another history
    /\ up /\ request[r].step = "idle"
    /\ LET lost == viewed # 0 /\ ~Same(viewed, epoch) IN
         /\ viewed' = IF lost THEN 0 ELSE viewed
         /\ count' = IF lost THEN None ELSE count
         /\ weights' = IF lost THEN Nobody(0) ELSE weights
         /\ making' = IF lost THEN None ELSE making
    /\ \E min \in {0, Len(log)} :
         request' = [request EXCEPT ![r] = [step |-> "headed", head |-> Now, min |-> min, counts |-> None]]
    /\ known' = Max(known, epoch)
    /\ UNCHANGED <<Database, file, broken>>

See(r) ==                   \* Views.view: the cached one, or a catch-up, which reads where the source stands once more
    /\ request[r].step = "headed"
    /\ \/ /\ Same(viewed, request[r].head.epoch)
          /\ request' = [request EXCEPT ![r].step = "seen"]
          /\ UNCHANGED <<viewed, known>>
       \/ /\ up
          /\ request' = [request EXCEPT ![r].step = "seen", ![r].head = Now]
          /\ viewed' = epoch /\ known' = Max(known, epoch)
    /\ UNCHANGED <<Database, file, count, weights, making, broken>>

\* AudienceFollower._make, begun by WeightsFollower._begin: the likes of a count that has all of the request's head.
StartMaking(head, counts) ==
    IF making # None THEN UNCHANGED making
    ELSE LET of == IF counts.version >= head.version THEN counts ELSE Feed(Base(head)) IN
         /\ up \/ of = counts
         /\ making' = [history |-> head.epoch, since |-> head.version,
                       of |-> of.epoch, version |-> of.version, likes |-> of.likes]

IsCurrent(w, head) == w.history = head.epoch /\ w.version >= head.version      \* SourceWeights.is_current

Count(r) ==                 \* AudienceFollower.audience: a count that serves or another one; then the weights
    LET head == request[r].head
        kept == IF Same(weights.history, head.epoch) THEN weights ELSE Nobody(head.epoch)    \* SourceWeights.begin
    IN
    /\ request[r].step = "seen"
    /\ \/ (\E rests \in BOOLEAN : Serves(head, rests)) /\ UNCHANGED <<count, known>>
       \/ /\ up /\ ~Serves(head, FALSE)
          /\ count' = Feed(Base(head)) /\ known' = Max(known, epoch)
    /\ request' = [request EXCEPT ![r].step = "counted", ![r].counts = count']
    /\ weights' = kept
    /\ IF IsCurrent(kept, head) THEN UNCHANGED making
       ELSE \/ StartMaking(head, count')
            \* They may rest, but not for a read that asks for a version, nor after an erasure.
            \/ kept.version >= request[r].min /\ (kept.of = 0 \/ head.erased <= kept.version) /\ UNCHANGED making
    /\ UNCHANGED <<Database, file, viewed, broken>>

\* "The likes of an erased person are in none made after": neither in those whose version has the erasure, nor in those
\* that were made for a request whose head had it.
MadeAfter(version) ==
    \A like \in making.likes : /\ making.of = epoch => ~IsErased(like, version)
                              /\ making.of = epoch /\ making.history = epoch => ~IsErased(like, making.since)

PutWeights ==               \* SourceWeights.put
    /\ making # None
    /\ LET version == IF Fault = "late version" /\ making.of = epoch THEN Len(log) ELSE making.version IN
         /\ weights' = IF Same(making.history, weights.history) /\ version >= weights.version
                       THEN [history |-> weights.history, of |-> making.of, version |-> version, likes |-> making.likes]
                       ELSE weights
         /\ broken' = broken \union IF MadeAfter(version) THEN {} ELSE {"none made after"}
    /\ making' = None
    /\ UNCHANGED <<Database, file, viewed, known, count, request>>

Lost(counts, newest) == counts.epoch < newest \/ (weights.of # 0 /\ weights.of < newest)

Answer(r) ==
    LET head == request[r].head
        counts == request[r].counts
    IN
    /\ request[r].step = "counted" /\ weights.version >= request[r].min
    /\ broken' = broken
         \union (IF counts.epoch = epoch /\ head.epoch = epoch
                    /\ \E like \in counts.likes : IsErased(like, head.version)
                 THEN {"counts forget"} ELSE {})
         \union (IF weights.of = epoch /\ \E like \in weights.likes : IsErased(like, request[r].min)
                 THEN {"weights forget"} ELSE {})
         \union (IF Lost(counts, head.epoch) THEN {"no lost history"} ELSE {})
    /\ request' = [request EXCEPT ![r] = Idle]
    /\ UNCHANGED <<Database, file, viewed, known, count, weights, making>>

Again(r) ==                 \* WeightsFollower.reach asks again, or the request is refused after 5 s
    /\ request[r].step = "counted" /\ weights.version < request[r].min
    /\ \/ request' = [request EXCEPT ![r] = Idle]
       \/ making = None /\ request' = [request EXCEPT ![r].step = "seen"]
    /\ UNCHANGED <<Database, file, viewed, known, count, weights, making, broken>>

Refuse(r) == /\ ~up /\ request[r].step \in {"headed", "seen"}
             /\ request' = [request EXCEPT ![r] = Idle]
             /\ UNCHANGED <<Database, file, viewed, known, count, weights, making, broken>>

AnswerStale ==              \* the database is away: what there is of the view's history
    /\ ~up /\ viewed # 0 /\ count # None
    /\ Fault = "kept when stale" \/ Same(count.epoch, viewed)
    /\ weights' = IF Fault = "kept when stale" \/ Same(weights.history, viewed) THEN weights ELSE Nobody(viewed)
    /\ broken' = broken \union IF count.epoch < known \/ (weights'.of # 0 /\ weights'.of < known)
                               THEN {"no lost history"} ELSE {}
    /\ UNCHANGED <<Database, file, viewed, known, count, making, request>>

-----------------------------------------------------------------------------

Next == \/ \E person \in People, kind \in {"like", "erase"} : Record(kind, person)
        \/ \E r \in Requests : Begin(r) \/ See(r) \/ Count(r) \/ Answer(r) \/ Again(r) \/ Refuse(r)
        \/ GoAway \/ ComeBack \/ Promote \/ Crash \/ Build \/ PutWeights \/ AnswerStale

Spec == Init /\ [][Next]_vars

CountsForget == "counts forget" \notin broken
WeightsForget == "weights forget" \notin broken
NoneMadeAfter == "none made after" \notin broken
NoLostHistory == "no lost history" \notin broken
=============================================================================
