"""Tally: the fold of the interactions feed into likes, step by step as if all at once.

What is new since the base lies in columns of its own, small enough to be made anew with every step:

    _events   what was recorded since the last `_settle`, in the order of the feed
       |      `_settle`
    _late     `MOST_LATE` events at most, by pair: one more costs no look at all that came since the base was made
       |      `_gather`: sorted in, the latest of each number stays
    _more     what was recorded since the base was made; people and pieces that the base does not have are numbered
       |      after its own (``_people``, ``_pieces``)
       |      `_compact`: once there is much of it, all becomes a new base, and all numbers are new
    _base     `Likes`, never changed; of people in ``_gone`` it still has events, which count no longer

What popularity was asked of is kept in ``_counts``, of all but `_events`: of each pair that is touched the old share is
taken off and the new one added, all of integers, so that one more interaction costs the same in a source of any size.
Of a few interactions that is done pair by pair (`put_pair`), without numpy, whose calls would take most of the time.

A person who is erased and comes back gets a new number, so that older events stay erased. One thread at a time.
"""

from array import array
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec
import numpy as np

from penchant_engine.index.arrays import is_first
from penchant_engine.index.layout import IntArray
from penchant_engine.index.people.event_codes import age_count, grades_by_code
from penchant_engine.index.people.likes import (
    CODE_MASK,
    PAIR_SHIFT,
    PERSON_SHIFT,
    PIECE_MASK,
    LatestEvents,
    Likes,
    build_likes,
    latest_of,
    positive_pairs,
    words_of,
)
from penchant_engine.index.people.popularity import (
    FAINT_PEOPLE,
    HALF_LIFE_DAYS,
    PeopleByWeight,
    PieceCounts,
    PieceNumbers,
    add_people,
    decays,
    faint_people,
    people_of,
)
from penchant_engine.model import DAY_MS, WHOLE, InteractionType, RankingSettings, event_code

LEAST_MORE = 20_000
MORE_SHARE = 32
"""A new base is made after as many events as one in so many of its own, and at least `LEAST_MORE`."""

MOST_LATE = 256
"""Events that are kept apart from the thousands before them."""

FEW_EVENTS = 16
"""So many are counted one by one, in the time in which numpy counts them all at once."""

MAX_HALF_LIVES = 4
"""Half-lives under which people are kept counted: that of popularity, and of what a site asks for."""

_Columns: TypeAlias = "tuple[array[int], array[int], array[int]]"
_Act: TypeAlias = tuple[int, int]
"""The code and moment of an event."""


class _RunningCount(msgspec.Struct, kw_only=True, eq=False):
    """People by piece and weight under settings, on a UTC day, each counting half after the half-life."""

    settings: RankingSettings
    today: int
    half_life_days: int
    people: PeopleByWeight
    counts: PieceCounts | None = None
    """What was counted last, and ``changed`` the pieces whose people have changed since."""
    changed: set[int] = msgspec.field(default_factory=set)

    @property
    def oldest_day(self) -> int:
        return self.settings.oldest_day(self.today)

    def put(self, before: LatestEvents, now: LatestEvents, size: int) -> None:
        """Count some pairs by their events of now instead of those before; there are so many pieces."""
        self.people, self.counts = dict(self.people), None
        for events, sign in ((before, -1), (now, 1)):
            if not len(events.numbers):
                continue
            pairs = positive_pairs(events, self.settings, self.oldest_day)
            counted = people_of(pairs, self.today, half_life_days=self.half_life_days)
            add_people(self.people, pairs, sign * counted, size)

    def put_pair(self, piece: int, before: list[_Act], new: list[_Act], size: int) -> None:
        """Count the pair of a piece and a person by new events, too, beside those before: as `put` does."""
        old, now = self._share(before), self._share([*before, *new])
        if old == now:
            return
        self.people = dict(self.people)
        self.changed.add(piece)
        for (weight, counted), sign in ((old, -1), (now, 1)):
            if weight:
                known = self.people.get(weight)
                # Never in place, as in `add_people`.
                total = np.zeros(size, dtype=np.int64)
                if known is not None:
                    total[: len(known)] = known
                total[piece] += sign * counted
                self.people[weight] = total

    def _share(self, acts: list[_Act]) -> tuple[int, int]:
        """Return the weight of a pair with these events, 0 for none, and what its person counts; see `PositivePairs`.

        What a later event of the same type hides changes neither: that is of a weight as great.
        """
        grades, oldest = grades_by_code(self.settings), self.oldest_day * DAY_MS
        weights = [(int(grades[code]), moment) for code, moment in acts if moment >= oldest and grades[code]]
        if not weights:
            return 0, 0
        age = max(0, self.today - max(moment for _, moment in weights) // DAY_MS)
        ages = decays(age_count(age) - 1, half_life_days=self.half_life_days)
        return max(weight for weight, _ in weights), int(ages[age])

    def look(self, numbers: PieceNumbers) -> PieceCounts:
        """Return the counts of now: the last ones where nothing has changed, else from these what has not."""
        if self.counts is None:
            self.counts = PieceCounts(numbers, self.people, len(numbers))
        elif self.changed:
            self.counts = self.counts.continued(self.people, len(numbers), self.changed)
        self.changed = set()
        return self.counts


class Tally:
    """Counts what people do from the oldest day that counts on."""

    def __init__(self, base: Likes) -> None:
        self._events = _no_events()
        self._begin(base)

    def _begin(self, base: Likes) -> None:
        self._base = base
        self._kept_from = int(base.kept_from[0])
        self._people: dict[bytes, int] = {}
        self._pieces = PieceNumbers(base)
        self._next_person = base.person_count
        self._gone: set[int] = set()
        self._more = LatestEvents.none()
        self._late: dict[int, list[tuple[int, int, int]]] = {}
        self._late_count = 0
        self._counts: dict[tuple[object, ...], _RunningCount] = {}

    @classmethod
    def empty(cls, oldest_day: int) -> "Tally":
        """Return a tally without interactions."""
        return cls(build_likes(words_of([]), [], LatestEvents.none(), kept_from=oldest_day))

    @property
    def base(self) -> Likes:
        """The likes beside which later events lie."""
        return self._base

    @property
    def event_count(self) -> int:
        """How many events there are, about."""
        return len(self._base.pieces) + self._more_count

    @property
    def nbytes(self) -> int:
        """How much memory the counts take, about."""
        return self._base.nbytes + 24 * self._more_count + 150 * (len(self._people) + len(self._pieces.added))

    @property
    def _more_count(self) -> int:
        return len(self._more.numbers) + self._late_count

    def counts(self, oldest_day: int) -> bool:
        """Return whether it has all interactions from this day on; one that has not is made anew."""
        return oldest_day >= self._kept_from

    def record(
        self,
        user_key: bytes,
        piece_id: str,
        kind: InteractionType,
        occurred_at: int,
        version: int,
        portion: int = WHOLE,
    ) -> None:
        """Count an interaction at a moment in milliseconds. To be called in the order of the feed."""
        self.record_all([(version, user_key, piece_id, kind, occurred_at, portion)])

    def record_all(self, rows: Iterable[tuple[int, bytes, str, InteractionType, int, int]]) -> None:
        """Count interactions, in the order of the feed: version, person, piece, type, moment and portion of each.

        Of a source with millions of them a first count spends its time here.
        """
        oldest = self._kept_from * DAY_MS
        people, added, piece_number = self._people, self._pieces.added, self._pieces.number
        numbers, moments, versions = self._events
        for version, user_key, piece_id, kind, occurred_at, portion in rows:
            if occurred_at >= oldest:
                person = people[user_key] if user_key in people else self._person(user_key)
                piece = added[piece_id] if piece_id in added else piece_number(piece_id)
                code = kind.code if portion == WHOLE else event_code(kind, portion)
                numbers.append(person << PERSON_SHIFT | piece << PAIR_SHIFT | code)
                moments.append(occurred_at)
                versions.append(version)

    def erase(self, user_key: bytes) -> None:
        """Remove what a person has done so far; what comes later counts."""
        # What was recorded before belongs to the old number; what comes later gets a new one.
        self._settle()
        person = self._people.pop(user_key, None)
        if person is None:
            person = self._known(user_key)
        if person is None:
            return
        self._gather()
        own = self._more.people == person
        events = self._more.take(own)
        # A base is never changed, so these events are only left out until the next one is made.
        if person < self._base.person_count:
            events = latest_of([self._base.events_of(person), events])
            self._gone.add(person)
        self._more = self._more.take(~own)
        for count in self._counts.values():
            count.put(events, LatestEvents.none(), len(self._pieces))

    def popularity(
        self, settings: RankingSettings, today: int, *, room: int | None = 1, half_life_days: int = HALF_LIFE_DAYS
    ) -> PieceCounts:
        """Return how many people like each piece, untouched by what is recorded later.

        There may be so many times (``room``) as many events beside the base as usual before it makes a new one; any
        number where it is ``None``. A person counts half after the half-life; 0 is for ever.
        """
        self._settle()
        if room is not None and self.is_full(room=room):
            self.compacted(settings.oldest_day(today))
        count = self._running_count(settings, today, half_life_days)
        if max((int(each.max(initial=0)) for each in count.people.values()), default=0) < FAINT_PEOPLE:
            # All likes are months old. Their sums would be lost in rounding, so they are counted anew, in a finer unit.
            pairs = positive_pairs(self._events_now(), settings, count.oldest_day)
            people, halvings = faint_people(pairs, today, len(self._pieces), half_life_days=half_life_days)
            return PieceCounts(self._pieces, people, len(self._pieces), halvings)
        return count.look(self._pieces)

    def is_full(self, *, room: int = 1, coming: int = 0) -> bool:
        """Return whether a new base is due after so many events more; it takes a second for some millions of them."""
        self._settle()
        return self._more_count + coming > room * max(LEAST_MORE, len(self._base.pieces) // MORE_SHARE)

    def compacted(self, oldest_day: int | None = None) -> Likes:
        """Return all that is counted as a base of its own, from this day on if one is given."""
        self._settle()
        self._kept_from = self._kept_from if oldest_day is None else max(oldest_day, self._kept_from)
        base = self._base
        is_old = int(base.first_day[0]) < self._kept_from
        if is_old or self._gone or self._more_count or self._kept_from != int(base.kept_from[0]):
            self._compact()
        return self._base

    def _events_now(self) -> LatestEvents:
        """Return the events of the base without those of erased people, and those that came later."""
        self._gather()
        events = self._base.events
        if self._gone:
            events = events.take(~np.isin(events.people, sorted(self._gone)))
        return latest_of([events, self._more])

    def _compact(self) -> None:
        base = self._base
        events = self._events_now()
        # Numbers of new people who were erased have no event, so `build_likes` leaves their words of 0 out.
        words = np.zeros((self._next_person, 2), dtype=np.uint64)
        words[: base.person_count] = np.stack((base.heads, base.tails), axis=1)
        words[list(self._people.values())] = words_of(list(self._people))
        ids = base.ids.all_encoded() + [piece_id.encode() for piece_id in self._pieces.added]
        kept = events.take(events.moments >= self._kept_from * DAY_MS)
        self._begin(build_likes(words, ids, kept, kept_from=self._kept_from))

    def _running_count(self, settings: RankingSettings, today: int, half_life_days: int) -> _RunningCount:
        """Return the people of all pieces, counted as a whole only once a day, and once for each base."""
        key = (settings.type_weights, today, settings.retention_days, half_life_days)
        count = self._counts.get(key)
        if count is None:
            count = _RunningCount(settings=settings, today=today, half_life_days=half_life_days, people={})
            count.put(LatestEvents.none(), self._base.events, len(self._pieces))
            for person in sorted(self._gone):
                count.put(self._base.events_of(person), LatestEvents.none(), len(self._pieces))
            self._gather()
            before = self._base_events_of(np.unique(self._more.numbers >> PAIR_SHIFT))
            count.put(before, latest_of([before, self._more]), len(self._pieces))
            # Those of yesterday and of other settings go when there are too many.
            if len(self._counts) >= MAX_HALF_LIVES:
                self._counts.clear()
            self._counts[key] = count
        return count

    def _base_events_of(self, pairs: IntArray) -> LatestEvents:
        """Return what the base has of some pairs, ascending, without people who are erased."""
        events = self._base.events_of_pairs(pairs)
        return events.take(~np.isin(events.people, sorted(self._gone))) if self._gone else events

    def _person(self, key: bytes) -> int:
        number = self._people.get(key)
        if number is None:
            number = self._known(key)
        if number is None:
            number = self._people[key] = self._next_person
            self._next_person += 1
        return number

    def _known(self, key: bytes) -> int | None:
        number = self._base.person(key)
        return None if number in self._gone else number

    def _settle(self) -> None:
        """Bring what was recorded into `_late`, and into `_more` once there is much of it."""
        if not self._events[0]:
            return
        columns, self._events = self._events, _no_events()
        if len(columns[0]) <= MOST_LATE:
            new: dict[int, list[tuple[int, int, int]]] = {}
            for event in zip(*columns, strict=True):
                new.setdefault(event[0] >> PAIR_SHIFT, []).append(event)
            if self._counts:
                self._count_few(new) if len(columns[0]) <= FEW_EVENTS else self._count_many(columns)
            for pair, events in new.items():
                self._late.setdefault(pair, []).extend(events)
            self._late_count += len(columns[0])
            if self._late_count > MOST_LATE:
                self._gather()
        else:
            self._gather()
            self._more = _merged(self._more, self._count_many(columns))

    def _count_few(self, new: dict[int, list[tuple[int, int, int]]]) -> None:
        """Have running counts follow new events by pair."""
        for pair, events in new.items():
            known = [*self._base.acts_of_pair(pair), *_acts_of(self._more, pair), *_acts(self._late.get(pair, []))]
            for count in self._counts.values():
                count.put_pair(pair & PIECE_MASK, known, _acts(events), len(self._pieces))

    def _count_many(self, columns: _Columns) -> LatestEvents:
        """Have running counts follow new events; return these, the latest of each number."""
        # Numpy looks into the columns without copying them: from then on they cannot grow.
        new = latest_of([LatestEvents(*(np.frombuffer(column, dtype=np.int64) for column in columns))])
        if self._counts:
            pairs = new.numbers >> PAIR_SHIFT
            pairs = pairs[is_first(pairs)]
            known = [_events_of(each, pairs) for each in (self._more, self._late_events())]
            before = latest_of([self._base_events_of(pairs), *known])
            now = latest_of([before, new])
            for count in self._counts.values():
                count.put(before, now, len(self._pieces))
        return new

    def _late_events(self) -> LatestEvents:
        columns = np.asarray([event for events in self._late.values() for event in events], dtype=np.int64)
        return latest_of([LatestEvents(*columns.reshape(-1, 3).T)])

    def _gather(self) -> None:
        """Bring what came last into `_more`."""
        if self._late:
            self._more, self._late, self._late_count = _merged(self._more, self._late_events()), {}, 0


def _acts(events: list[tuple[int, int, int]]) -> list[_Act]:
    return [(number & CODE_MASK, moment) for number, moment, _ in events]


def _acts_of(events: LatestEvents, pair: int) -> Iterator[_Act]:
    """Yield code and moment of those of ascending events that are of a pair."""
    begin, end = events.numbers.searchsorted((pair << PAIR_SHIFT, (pair + 1) << PAIR_SHIFT)).tolist()
    for row in range(begin, end):
        yield int(events.numbers[row]) & CODE_MASK, int(events.moments[row])


def _events_of(events: LatestEvents, pairs: IntArray) -> LatestEvents:
    """Return those of ascending events that are of some pairs; costs a binary search for each pair."""
    begins, ends = (np.searchsorted(events.numbers, (pairs + step) << PAIR_SHIFT) for step in (0, 1))
    runs = [np.arange(begin, end) for begin, end in zip(begins.tolist(), ends.tolist(), strict=True) if begin < end]
    return events.take(np.concatenate([np.zeros(0, dtype=np.int64), *runs]))


def _merged(events: LatestEvents, new: LatestEvents) -> LatestEvents:
    """Return `latest_of` of both, which ascend: without sorting the many again for the sake of a few new ones."""
    same = np.isin(events.numbers, new.numbers)
    if same.any():
        new, events = latest_of([events.take(same), new]), events.take(~same)
    # What `numpy.insert` does, with one look for the places of all columns.
    places = np.searchsorted(events.numbers, new.numbers) + np.arange(len(new.numbers))
    is_old = np.ones(len(events.numbers) + len(new.numbers), dtype=np.bool_)
    is_old[places] = False
    merged = LatestEvents(*(np.empty(len(is_old), dtype=np.int64) for _ in events))
    for column, old, late in zip(merged, events, new, strict=True):
        column[is_old], column[places] = old, late
    return merged


def _no_events() -> "_Columns":
    """Return columns for events to come; arrays of 24 bytes an event, where lists took 100."""
    return array("q"), array("q"), array("q")
