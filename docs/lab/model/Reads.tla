------------------------------- MODULE Reads -------------------------------
(* How a read sees what was just written: feed, group commit, heads, views, min-version, epochs.        *)
(* One source. A version is a length of the log. Each action names the module that it stands for.       *)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS Nodes, Changes, Requests, None,
          MaxEpoch,   \* histories: one more than how often history may be lost
          Builders,   \* the nodes whose folders get segment files
          Fault       \* "none", or what is planted: "shared head", "epoch not compared", "view kept", "version lost"

VARIABLES log, epoch, up,      \* the database: its changes in order, its history, whether it can be reached
          at,                  \* of each change: new, queued, stored, acked, or lost with its history
          view,                \* of each node its view, or None
          file,                \* of each node the segment file of its folder, which outlives it
          known,               \* of each node the newest history that it has read
          query, catching,     \* of each node the query for heads and the catch-up that are under way
          request,             \* of each request where it stands, and what was so when it began
          broken               \* promises that an answer did not keep

vars == <<log, epoch, up, at, view, file, known, query, catching, request, broken>>

Symmetry == Permutations(Nodes) \union Permutations(Changes) \union Permutations(Requests)

Idle == [step |-> "idle"]
Range(s) == {s[i] : i \in 1..Len(s)}
Orders(S) == {s \in [1..Cardinality(S) -> S] : Range(s) = S}
Max(a, b) == IF a > b THEN a ELSE b
Acked == {c \in Changes : at[c] = "acked"}
Now == [epoch |-> epoch, version |-> Len(log)]
Asking(n, step) == {r \in Requests : request[r].step = step /\ request[r].node = n}
InStep(rs, step) == [r \in Requests |-> IF r \in rs THEN [request[r] EXCEPT !.step = step] ELSE request[r]]

Init == /\ log = <<>> /\ epoch = 1 /\ up = TRUE
        /\ at = [c \in Changes |-> "new"]
        /\ view = [n \in Nodes |-> None] /\ file = [n \in Nodes |-> None]
        /\ known = [n \in Nodes |-> 0] /\ query = [n \in Nodes |-> None] /\ catching = [n \in Nodes |-> None]
        /\ request = [r \in Requests |-> Idle] /\ broken = {}

-----------------------------------------------------------------------------
(* Writing: storage.group_commit. *)

Reading == <<view, file, known, query, catching, request, broken>>

\* Through which node a change comes makes no difference: writers meet in the database alone. What a killed process had
\* in its queue, and an answer that is lost, are steps that never come.

Submit(c) ==         \* Lane.enqueue
    /\ at[c] = "new"
    /\ at' = [at EXCEPT ![c] = "queued"]
    /\ UNCHANGED <<log, epoch, up, Reading>>

Commit ==            \* GroupCommit._commit: several at once, in one transaction that raises the version row by row
    /\ up
    /\ \E group \in SUBSET {c \in Changes : at[c] = "queued"} \ {{}} : \E order \in Orders(group) :
        /\ log' = log \o order
        /\ at' = [c \in Changes |-> IF c \in group THEN "stored" ELSE at[c]]
    /\ UNCHANGED <<epoch, up, Reading>>

Acknowledge(c) ==    \* _settle: the receipt follows the commit
    /\ at[c] = "stored"
    /\ at' = [at EXCEPT ![c] = "acked"]
    /\ UNCHANGED <<log, epoch, up, Reading>>

-----------------------------------------------------------------------------
(* The database and the processes fail. *)

GoAway == up /\ up' = FALSE /\ UNCHANGED <<log, epoch, at, Reading>>
ComeBack == ~up /\ up' = TRUE /\ UNCHANGED <<log, epoch, at, Reading>>

Lost(shorter) ==     \* what is not in the database any more is owed to nobody
    [c \in Changes |-> IF at[c] \in {"stored", "acked"} /\ c \notin Range(shorter) THEN "lost" ELSE at[c]]

Promote ==           \* storage.databases.postgresql: each new connection looks whose history the rows are
    /\ ~up /\ epoch < MaxEpoch
    /\ \E length \in 0..Len(log) : log' = SubSeq(log, 1, length)
    /\ at' = Lost(log')
    /\ epoch' = epoch + 1 /\ up' = TRUE
    /\ UNCHANGED Reading

Stopped(ns) ==       \* memory is gone, and so is whatever these nodes had in hand
    /\ view' = [n \in Nodes |-> IF n \in ns THEN None ELSE view[n]]
    /\ known' = [n \in Nodes |-> IF n \in ns THEN 0 ELSE known[n]]
    /\ query' = [n \in Nodes |-> IF n \in ns THEN None ELSE query[n]]
    /\ catching' = [n \in Nodes |-> IF n \in ns THEN None ELSE catching[n]]
    /\ request' = [r \in Requests |->
                     IF request[r].step # "idle" /\ request[r].node \in ns THEN Idle ELSE request[r]]
    /\ UNCHANGED <<file, broken>>

Crash(n) ==          \* kill -9, and a supervisor that starts it again
    /\ view[n] # None \/ query[n] # None \/ catching[n] # None
    /\ Stopped({n})
    /\ UNCHANGED <<log, epoch, up, at>>

Restore ==           \* storage.upkeep.backup: nobody has the database open, and every epoch rises
    /\ epoch < MaxEpoch
    /\ \E length \in 0..Len(log) : log' = SubSeq(log, 1, length)
    /\ at' = Lost(log')
    /\ epoch' = epoch + 1 /\ up' = TRUE
    /\ Stopped(Nodes)

-----------------------------------------------------------------------------
(* Reading. *)

Database == <<log, epoch, up, at>>

Kept(promise, r, shown, stale) ==
    LET asked == request[r] IN
    CASE promise = "read your writes" -> stale \/ (asked.acked \intersect Acked) \subseteq Range(shown.log)
      \* Whatever was shown before was committed before, so no version that anybody has seen is followed by an older one.
      [] promise = "monotonic versions" -> stale \/ shown.epoch > asked.epoch
                                           \/ (shown.epoch = asked.epoch /\ Len(shown.log) >= asked.version)
      [] promise = "no lost history" -> shown.epoch >= asked.known
      [] promise = "min-version" -> asked.min = 0 \/ (~stale /\ Len(shown.log) >= asked.min)
      [] promise = "whole" -> shown.epoch # epoch \/ shown.log = SubSeq(log, 1, Len(shown.log))

Promises == {"read your writes", "monotonic versions", "no lost history", "min-version", "whole"}

Answer(r, shown, stale) ==
    /\ broken' = broken \union {promise \in Promises : ~Kept(promise, r, shown, stale)}
    /\ request' = [request EXCEPT ![r] = Idle]

Begin(r, n) ==       \* Heads.read: it waits for a query that begins after it
    /\ request[r].step = "idle"
    /\ \E min \in {0, Len(log) + 1} :
         request' = [request EXCEPT ![r] =
            [step |-> IF Fault = "shared head" /\ query[n] # None THEN "asked" ELSE "waiting", node |-> n,
             min |-> min, head |-> None, acked |-> Acked, epoch |-> epoch, version |-> Len(log), known |-> known[n]]]
    /\ UNCHANGED <<Database, view, file, known, query, catching, broken>>

IsOf(of, head) == Fault = "epoch not compared" \/ of.epoch = head.epoch      \* View.is_of

AskHeads(n) ==       \* Heads._ask, Heads._end_turn: one query for all that wait
    /\ up /\ query[n] = None /\ Asking(n, "waiting") # {}
    /\ query' = [query EXCEPT ![n] = Now]
    /\ request' = InStep(Asking(n, "waiting"), "asked")
    /\ UNCHANGED <<Database, view, file, known, catching, broken>>

ReadHeads(n) ==      \* its answer, for all of them; Views.head lets go what is cached of another history
    /\ query[n] # None
    /\ request' = [r \in Requests |-> IF r \in Asking(n, "asked")
                     THEN [request[r] EXCEPT !.step = "headed", !.head = query[n]] ELSE request[r]]
    /\ known' = [known EXCEPT ![n] = Max(@, query[n].epoch)]
    /\ view' = [view EXCEPT ![n] = IF @ = None \/ IsOf(@, query[n]) \/ Fault = "view kept" THEN @ ELSE None]
    /\ query' = [query EXCEPT ![n] = None]
    /\ UNCHANGED <<Database, file, catching, broken>>

Reached(r) == request[r].step = "headed" /\ request[r].head.version >= request[r].min

AskAgain(r) ==       \* Views.head: another node may still commit the version
    /\ request[r].step = "headed" /\ ~Reached(r)
    /\ request' = InStep({r}, "waiting")
    /\ UNCHANGED <<Database, view, file, known, query, catching, broken>>

HasReached(of, head) == of # None /\ IsOf(of, head) /\ Len(of.log) >= head.version

Serve(r) ==          \* Views.view: the view has all of the head
    LET n == request[r].node IN
    /\ Reached(r) /\ HasReached(view[n], request[r].head)
    /\ Answer(r, view[n], FALSE)
    /\ UNCHANGED <<Database, view, file, known, query, catching>>

Follows(r) ==        \* Views._follow: under the lock of the source
    Reached(r) /\ ~HasReached(view[request[r].node], request[r].head) /\ catching[request[r].node] = None

Newer(a, b) == IF a = None THEN b ELSE IF b = None \/ Len(a.log) > Len(b.log) THEN a ELSE b

FeedFrom(base) ==    \* Follower.catch_up and SourceReader._leads_on: the changes since, or all of them
    IF base # None /\ IsOf(base, Now) /\ Len(base.log) <= Len(log)
    THEN [epoch |-> epoch, log |-> base.log \o SubSeq(log, Len(base.log) + 1, Len(log))]
    ELSE [epoch |-> epoch, log |-> log]

CatchUp(r) ==        \* the feed is of one moment; what comes of it replaces the view later
    LET n == request[r].node
        usable(of) == IF of # None /\ IsOf(of, request[r].head) THEN of ELSE None
    IN
    /\ Follows(r) /\ up
    /\ catching' = [catching EXCEPT ![n] = FeedFrom(Newer(usable(file[n]), usable(view[n])))]
    /\ request' = InStep({r}, "following")
    /\ UNCHANGED <<Database, view, file, known, query, broken>>

CaughtUp(r) ==
    LET n == request[r].node IN
    /\ request[r].step = "following"
    \* Where the source was let go meanwhile it serves this request alone.
    /\ view' = [view EXCEPT ![n] = IF catching[n].epoch < known[n] THEN @ ELSE catching[n]]
    /\ known' = [known EXCEPT ![n] = Max(@, catching[n].epoch)]
    /\ catching' = [catching EXCEPT ![n] = None]
    \* Between the head and the feed the version may have been lost with its history: then it is waited for again.
    /\ IF Len(catching[n].log) < request[r].min /\ Fault # "version lost"
       THEN request' = InStep({r}, "waiting") /\ UNCHANGED broken
       ELSE Answer(r, catching[n], FALSE)
    /\ UNCHANGED <<Database, file, query>>

AnswerStale(r) ==    \* Views._stale; for ever here, which only allows more than `stale-reads-s` does
    LET n == request[r].node IN
    /\ request[r].step = "waiting" /\ ~up /\ view[n] # None /\ request[r].min = 0
    /\ Answer(r, view[n], TRUE)
    /\ UNCHANGED <<Database, view, file, known, query, catching>>

Refuse(r) ==         \* 503: the database is away, or the version was not reached in time
    /\ \/ ~up /\ (request[r].step = "waiting" \/ Follows(r))
       \/ request[r].step = "headed" /\ ~Reached(r)
    /\ request' = [request EXCEPT ![r] = Idle]
    /\ UNCHANGED <<Database, view, file, known, query, catching, broken>>

Build(n) ==          \* live.builder
    /\ n \in Builders /\ up /\ log # <<>> /\ file[n] = None
    /\ file' = [file EXCEPT ![n] = [epoch |-> epoch, log |-> log]]
    /\ UNCHANGED <<Database, view, known, query, catching, request, broken>>

-----------------------------------------------------------------------------

Next == \/ \E c \in Changes : Submit(c) \/ Acknowledge(c)
        \/ \E n \in Nodes : Crash(n) \/ AskHeads(n) \/ ReadHeads(n) \/ Build(n)
        \/ \E r \in Requests : \/ \E n \in Nodes : Begin(r, n)
                               \/ AskAgain(r) \/ Serve(r) \/ CatchUp(r) \/ CaughtUp(r)
                               \/ AnswerStale(r) \/ Refuse(r)
        \/ Commit \/ GoAway \/ ComeBack \/ Promote \/ Restore

Spec == Init /\ [][Next]_vars

ReadYourWrites == "read your writes" \notin broken
MonotonicVersions == "monotonic versions" \notin broken
NoLostHistory == "no lost history" \notin broken
MinVersion == "min-version" \notin broken
Whole == "whole" \notin broken
=============================================================================
