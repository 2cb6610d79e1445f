"""Likes: what people did with pieces, as arrays by person, from which it follows who likes what, and how much.

Of the interactions of a person with a piece the latest of each type is kept, and those before it of a greater portion
than any later one, so that likes, their grades and how popular pieces are can be worked out under any settings, and
from any day on (interface, section 6). People are known by their keys alone.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from penchant_engine.computed import computed
from penchant_engine.index.arrays import is_first, over_ranges, starts_of
from penchant_engine.index.compiled import engine
from penchant_engine.index.layout import BoolArray, Days, IntArray, LikeMatrix, Numbers
from penchant_engine.index.people.event_codes import LACKS_MASK, grades_by_code, weights_by_code
from penchant_engine.index.people.order import LikeOrder, commonest_gap, order_of
from penchant_engine.index.records import ArrayMembers
from penchant_engine.index.segment import Segment
from penchant_engine.index.strings import Strings, rows_in
from penchant_engine.model import CODE_BITS, DAY_MS, TYPE_MASK, InteractionType, RankingSettings, most_likes


class GradedLikes(NamedTuple):
    """Likes as columns: the number of the person, the row of the piece, and the grade; beside them their order."""

    people: IntArray
    pieces: IntArray
    grades: NDArray[np.uint8]
    order: LikeOrder

    @classmethod
    def none(cls) -> "GradedLikes":
        """Return no likes."""
        none = np.zeros(0, dtype=np.int64)
        return cls(none, none, none.astype(np.uint8), order_of(none, none))


def latest_likes(people: IntArray, pieces: IntArray, moments: IntArray, most: int) -> BoolArray:
    """Return which likes are among the latest of their person, those of one moment by piece."""
    # Mostly no person has so many, and nothing need be sorted.
    if not len(people) or int(np.bincount(people).max()) <= most:
        return np.ones(len(people), dtype=np.bool_)
    order = np.lexsort((pieces, -moments, people))
    starts = starts_of(np.bincount(people))
    ranks = np.empty(len(people), dtype=np.int64)
    ranks[order] = np.arange(len(people)) - starts[people[order]]
    return ranks < most


def like_matrix(
    people: IntArray,
    pieces: IntArray,
    grades: NDArray[np.uint8],
    piece_count: int,
    likes_order: LikeOrder | None = None,
) -> LikeMatrix:
    """Return likes, each of them once, by person and by piece; people without any are left out.

    Without their order all of a person are of one moment.
    """
    ranks, gaps = likes_order or LikeOrder(np.zeros(len(people), dtype=np.uint16), people[:0])
    pairs = people << 32 | pieces
    # Those of millions come from `Likes` in this order.
    if (pairs[1:] < pairs[:-1]).any():
        order = np.argsort(pairs)
        people, pieces, grades, ranks = people[order], pieces[order], grades[order], ranks[order]
    # The order of people stays: their numbers only close up.
    counts = np.bincount(people)
    person_starts = starts_of(counts[counts > 0])
    piece_starts = starts_of(np.bincount(pieces, minlength=piece_count))
    numbers = pieces.astype(np.uint32)
    owners, moved = engine.transpose(person_starts, numbers, grades.astype(np.uint16), piece_starts[:-1])
    return LikeMatrix(
        person_starts=person_starts,
        pieces=numbers,
        grades=grades,
        piece_starts=piece_starts,
        people=owners,
        piece_grades=moved.astype(np.uint8),
        ranks=ranks,
        gaps=commonest_gap(gaps),
    )


PIECE_BITS = 25
PAIR_SHIFT = CODE_BITS
PERSON_SHIFT = CODE_BITS + PIECE_BITS
"""The number of an event has three parts, and without the last it is the number of a pair:

    63         36 35         11 10        0
    | person      | piece      | code      |      so numbers sort by person, then piece, then code
"""
PIECE_MASK = (1 << PIECE_BITS) - 1
CODE_MASK = (1 << CODE_BITS) - 1
MAX_PEOPLE, MAX_PIECES = 1 << (63 - PERSON_SHIFT), 1 << PIECE_BITS
"""So many can have a number: 134 million people, and 33 million pieces that they did something with."""
NEVER = int(np.iinfo(np.int64).min)
"""The moment of what has not happened."""
FEW_RUNS = 16
"""So many runs are searched one by one, of more all at once: a search of numpy costs as much as a look at them all."""
EVENTS_AT_ONCE = 1_000_000
"""Events, about, that are looked at together for who likes what: what is worked out of each takes a hundred bytes."""
LAST_DAY = int(np.iinfo(np.int32).max)
Words = NDArray[np.uint64]


class LatestEvents(NamedTuple):
    """The latest interaction of each person, piece and code, as columns: numbers, moments in milliseconds, versions."""

    numbers: IntArray
    moments: IntArray
    versions: IntArray

    @classmethod
    def none(cls) -> "LatestEvents":
        """Return no events."""
        none = np.zeros(0, dtype=np.int64)
        return cls(none, none, none)

    @property
    def people(self) -> IntArray:
        """The number of each event's person."""
        return self.numbers >> PERSON_SHIFT

    @property
    def pieces(self) -> IntArray:
        """The number of each event's piece."""
        return (self.numbers >> PAIR_SHIFT) & PIECE_MASK

    @property
    def codes(self) -> IntArray:
        """The code of each event."""
        return self.numbers & CODE_MASK

    def take(self, rows: IntArray | BoolArray) -> "LatestEvents":
        """Return the events of these rows, or of those where a mask is true."""
        return LatestEvents(self.numbers[rows], self.moments[rows], self.versions[rows])


def latest_of(several: Sequence[LatestEvents]) -> LatestEvents:
    """Return the latest event of each number, ascending by number; of one moment the later recorded.

    Without those that a later one of the same type, of a portion as great, leaves nothing to say.
    """
    several = [each for each in several if len(each.numbers)] or several[:1]
    together = several[0] if len(several) == 1 else side_by_side(several)
    if len(together.numbers) < 2:
        # Most of what one more interaction touches.
        return together
    latest = _latest_of_numbers(together)
    return _telling(latest) if np.bitwise_or.reduce(latest.numbers) & LACKS_MASK else latest


def _telling(events: LatestEvents) -> LatestEvents:
    """Return ascending events, but of each person, piece and type only what no later one of a portion as great hides.

    A player that reports again and again how far somebody is leaves one event, not a hundred.
    """
    lacks, kinds = events.numbers & LACKS_MASK, events.numbers & ~LACKS_MASK
    order = np.lexsort((lacks, -events.moments, kinds))
    # One run of each kind after the other, the latest first. Each begins below all that the one before it lacks.
    runs = np.cumsum(is_first(kinds[order]))
    least = np.minimum.accumulate(lacks[order] - runs * (LACKS_MASK + 1))
    return events.take(np.sort(order[is_first(least)]))


def _latest_of_numbers(columns: LatestEvents) -> LatestEvents:
    """Return the latest event of each number, ascending by number."""
    order = _ascending(columns.numbers)
    begins = is_first(columns.numbers[order])
    if begins.all():
        return columns.take(order)
    # By runs of a number, not by a sort of three columns: that takes as long as all else together.
    starts = np.flatnonzero(begins)
    runs = np.cumsum(begins) - 1
    moments = columns.moments[order]
    is_latest = moments == np.maximum.reduceat(moments, starts)[runs]
    versions = np.where(is_latest, columns.versions[order], NEVER)
    last = np.flatnonzero(versions == np.maximum.reduceat(versions, starts)[runs])
    # What was counted twice is there twice.
    return columns.take(order[last[np.append(True, runs[last][1:] != runs[last][:-1])]])


def _ascending(numbers: IntArray) -> IntArray:
    """Return the order in which numbers ascend."""
    bits = len(numbers).bit_length()
    least, greatest = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
    if (greatest - least) >> (63 - bits):
        return np.argsort(numbers)
    # Numbers that hold their places are sorted in a fraction of the time in which `argsort` follows each of them.
    marked = (numbers - least) << bits | np.arange(len(numbers))
    marked.sort()
    return marked & ((1 << bits) - 1)


def side_by_side(several: Sequence[LatestEvents]) -> LatestEvents:
    """Return several events as one, in this order."""
    return LatestEvents(*(np.concatenate(each) for each in zip(*several, strict=True)))


class PairFacts(NamedTuple):
    """Facts about each pair of a person and a piece, as columns, from the events that count.

    ``grades`` are 0 where the person does not like the piece. ``latest`` are the moments of the latest events,
    ``liked_at`` those of the latest of positive weight, `NEVER` where there is none.
    """

    people: IntArray
    pieces: IntArray
    latest: IntArray
    liked_at: IntArray
    grades: NDArray[np.uint8]


def pair_facts(
    events: LatestEvents, settings: RankingSettings, oldest_day: int, last_day: int | None = None
) -> PairFacts:
    """Return the facts that ascending events, those from a UTC day on to another, give about their pairs."""
    events = _within(events, oldest_day, last_day)
    pairs = events.numbers >> PAIR_SHIFT
    starts = np.flatnonzero(is_first(pairs))
    if not len(starts):
        none = np.zeros(0, dtype=np.int64)
        return PairFacts(none, none, none, none, none.astype(np.uint8))
    codes = events.codes
    given = grades_by_code(settings)[codes]
    # Each run has one event at least, as `reduceat` needs.
    grades = np.maximum.reduceat(given, starts)
    grades[_disliked(events, codes, starts)] = 0
    return PairFacts(
        people=events.people[starts],
        pieces=events.pieces[starts],
        latest=np.maximum.reduceat(events.moments, starts),
        liked_at=np.maximum.reduceat(np.where(given > 0, events.moments, NEVER), starts),
        grades=grades,
    )


def _within(events: LatestEvents, oldest_day: int, last_day: int | None) -> LatestEvents:
    kept = events.moments >= oldest_day * DAY_MS
    return events.take(kept if last_day is None else kept & (events.moments < (last_day + 1) * DAY_MS))


def _counted(facts: PairFacts, rows: IntArray, most: int) -> IntArray:
    """Return which pairs are the latest likes of each person, so many at most, of the pieces that have a row."""
    found = rows[facts.pieces] if len(facts.pieces) else facts.pieces
    counted = np.flatnonzero((facts.grades > 0) & (found >= 0))
    return counted[latest_likes(facts.people[counted], found[counted], facts.latest[counted], most)]


def _graded(facts: PairFacts, rows: IntArray, most: int) -> GradedLikes:
    """Return the latest likes of each person, so many at most, of the pieces that have a row."""
    counted = _counted(facts, rows, most)
    people = facts.people[counted]
    return GradedLikes(
        people, rows[facts.pieces[counted]], facts.grades[counted], order_of(people, facts.liked_at[counted])
    )


class LikeCounts(NamedTuple):
    """How many likes there are by the type that weighs most in each, and by the UTC day of the latest positive act."""

    types: Mapping[InteractionType, int]
    days: Mapping[int, int]


def _heaviest(events: LatestEvents, settings: RankingSettings) -> IntArray:
    """Return by pair of ascending events the code of the type that weighs most, of several the least."""
    weights, pairs = weights_by_code(settings)[events.codes], events.numbers >> PAIR_SHIFT
    firsts = is_first(pairs)
    greatest = np.maximum.reduceat(weights, np.flatnonzero(firsts)) if len(pairs) else weights
    rows = np.flatnonzero(weights == greatest[np.cumsum(firsts) - 1])
    return (events.codes & TYPE_MASK)[rows[is_first(pairs[rows])]]


class PositivePairs(NamedTuple):
    """Pairs of a person and a piece with a positive interaction: the piece, the moment of the latest one, the weight.

    The weight u is the greatest of any of them, whatever was rated later.
    """

    pieces: IntArray
    moments: IntArray
    weights: NDArray[np.uint8]


def positive_pairs(events: LatestEvents, settings: RankingSettings, oldest_day: int) -> PositivePairs:
    """Return the pairs of ascending events, those from a UTC day on, one of which has a type of positive weight."""
    weights = grades_by_code(settings)[events.codes]
    is_positive = (events.moments >= oldest_day * DAY_MS) & (weights > 0)
    pairs, moments, weights = (
        events.numbers[is_positive] >> PAIR_SHIFT,
        events.moments[is_positive],
        weights[is_positive],
    )
    if not len(pairs):
        return PositivePairs(pairs, moments, weights)
    starts = np.flatnonzero(is_first(pairs))
    latest, greatest = np.maximum.reduceat(moments, starts), np.maximum.reduceat(weights, starts)
    return PositivePairs(pairs[starts] & PIECE_MASK, latest, greatest)


def _disliked(events: LatestEvents, codes: IntArray, starts: IntArray) -> BoolArray:
    """Return by pair whether its latest rating is a dislike, of one moment the later recorded."""
    owners = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(codes))))
    columns = []
    for kind in (InteractionType.RATE_DISLIKE, InteractionType.RATE_LIKE):
        rows = np.flatnonzero(codes == kind.code)
        moments, versions = np.full((2, len(starts)), NEVER, dtype=np.int64)
        # Of a pair there is one rating of a type, so none of these assignments hides another.
        moments[owners[rows]], versions[owners[rows]] = events.moments[rows], events.versions[rows]
        columns.append((moments, versions))
    (disliked, late), (liked, later) = columns
    found: BoolArray = (disliked != NEVER) & ((disliked > liked) | ((disliked == liked) & (late > later)))
    return found


@dataclass(frozen=True, eq=False, kw_only=True)
class Likes(ArrayMembers):
    """The events of ``u`` people with ``n`` pieces: ``z`` of them.

    People ascend by key, the words of which are ``heads`` and ``tails`` (u,); ``ids`` (n) ascend. ``starts`` (u + 1,)
    cuts ``pieces``, ``codes``, ``moments`` and ``versions`` (z,) into people, whose events ascend by piece and code.
    ``kept_from`` (1,) is the oldest UTC day that any of it may be of, ``first_day`` (1,) the oldest that
    something is of.
    """

    heads: Words
    tails: Words
    ids: Strings
    starts: IntArray
    pieces: Numbers
    codes: NDArray[np.uint16]
    moments: IntArray
    versions: IntArray
    kept_from: Days
    first_day: Days
    # A segment is found by identity, and what is kept of it goes when it does.
    _numbers: WeakKeyDictionary[Segment, NDArray[np.int64]] = field(init=False, default_factory=WeakKeyDictionary)

    @property
    def person_count(self) -> int:
        """How many people have an event."""
        return len(self.heads)

    @computed
    def nbytes(self) -> int:
        """How much memory the arrays take."""
        return sum(array.nbytes for array in self.arrays().values())

    @property
    def events(self) -> LatestEvents:
        """All events, ascending by number."""
        return self._events_of_range(0, self.person_count)

    def person(self, key: bytes) -> int | None:
        """Return the number of a person."""
        head, tail = int.from_bytes(key[:8], "big"), int.from_bytes(key[8:], "big")
        row = int(np.searchsorted(self.heads, np.uint64(head)))
        # Step by step: keys are as good as random, and two with the same first half hardly ever occur.
        while row < len(self.heads) and int(self.heads[row]) == head:
            if int(self.tails[row]) == tail:
                return row
            row += 1
        return None

    def events_of(self, person: int) -> LatestEvents:
        """Return the events of a person."""
        cut = slice(int(self.starts[person]), int(self.starts[person + 1]))
        return self._events_at(np.full(cut.stop - cut.start, person, dtype=np.int64), cut)

    def events_of_pairs(self, pairs: IntArray) -> LatestEvents:
        """Return the events of these pairs, ascending, each given once; costs a binary search for each."""
        people, pieces = pairs >> PIECE_BITS, pairs & PIECE_MASK
        here = (people < self.person_count) & (pieces < len(self.ids))
        people, pieces = people[here], pieces[here]
        if not len(people):
            return LatestEvents.none()
        ends = self.starts[people + 1]
        rows = _lower_bounds(self.pieces, self.starts[people], ends, pieces)
        found: list[IntArray] = [np.zeros(0, dtype=np.int64)]
        # The events of a pair lie side by side, few of each: all pairs go on by one row at a time.
        while len(rows):
            # Two steps, since a row past the last one cannot be looked up.
            inside = rows < ends
            inside[inside] = self.pieces[rows[inside]] == pieces[inside]
            rows, ends, pieces = rows[inside], ends[inside], pieces[inside]
            found.append(rows)
            rows = rows + 1
        chosen = np.sort(np.concatenate(found))
        return self._events_at(np.searchsorted(self.starts, chosen, side="right") - 1, chosen)

    def acts_of_pair(self, pair: int) -> Iterator[tuple[int, int]]:
        """Yield the code and moment of each event of a pair."""
        person, piece = pair >> PIECE_BITS, pair & PIECE_MASK
        if person < self.person_count and piece < len(self.ids):
            row, end = int(self.starts[person]), int(self.starts[person + 1])
            row += int(self.pieces[row:end].searchsorted(self.pieces.dtype.type(piece)))
            while row < end and int(self.pieces[row]) == piece:
                yield int(self.codes[row]), int(self.moments[row])
                row += 1

    def numbers_of(self, segment: Segment) -> IntArray:
        """Return the number of each of a segment's pieces, -1 for those without an event; found once for each."""
        numbers = self._numbers.get(segment)
        if numbers is None:
            numbers = self._numbers[segment] = rows_in(self.ids, segment.ids)
        return numbers

    def matrix(
        self,
        catalogue: Strings,
        settings: RankingSettings,
        oldest_day: int,
        *,
        last_day: int | None = None,
        threads: int = 1,
    ) -> LikeMatrix:
        """Return the likes of a catalogue's pieces, given by ascending ids: the latest ones of each person.

        Those of up to a ``last_day`` are by what is still known of that time: what was done again is of the latest.
        People are looked at a range after the other, which bounds the memory, each by one of so many ``threads``.
        """
        rows, most = rows_in(catalogue, self.ids), most_likes(len(catalogue))
        ranges = self._ranges()
        found: dict[int, GradedLikes] = {}

        def gather(turn: slice) -> None:
            for part in range(turn.start, turn.stop):
                facts = pair_facts(self._events_of_range(*ranges[part]), settings, oldest_day, last_day)
                found[part] = _graded(facts, rows, most)

        parts = len(ranges)
        over_ranges(parts, threads, gather)
        graded = [GradedLikes.none(), *(found.pop(part) for part in range(parts))]
        people = np.concatenate([each.people for each in graded])
        pieces = np.concatenate([each.pieces for each in graded])
        grades = np.concatenate([each.grades for each in graded])
        ranks, gaps = (np.concatenate(each) for each in zip(*(each.order for each in graded), strict=True))
        return like_matrix(people, pieces, grades, len(catalogue), LikeOrder(ranks, gaps))

    def counts(self, catalogue: Strings, settings: RankingSettings, oldest_day: int) -> LikeCounts:
        """Return how many likes of `matrix` there are of each type, and of each day."""
        rows, most = rows_in(catalogue, self.ids), most_likes(len(catalogue))
        types, days = Counter[InteractionType](), Counter[int]()
        for people in self._ranges():
            events = _within(self._events_of_range(*people), oldest_day, None)
            facts = pair_facts(events, settings, oldest_day)
            counted = _counted(facts, rows, most)
            heaviest = np.bincount(_heaviest(events, settings)[counted], minlength=TYPE_MASK + 1).tolist()
            types.update({kind: heaviest[kind.code] for kind in InteractionType if heaviest[kind.code]})
            found, counts = np.unique(facts.liked_at[counted] // DAY_MS, return_counts=True)
            days.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))
        return LikeCounts(types, days)

    def _ranges(self) -> list[tuple[int, int]]:
        """Return ranges of people who are looked at together, all of them."""
        parts = -(-len(self.pieces) // EVENTS_AT_ONCE)
        cuts = [self.person_count * each // parts for each in range(parts + 1)] if parts else []
        return list(pairwise(cuts))

    def _events_of_range(self, first: int, last: int) -> LatestEvents:
        """Return the events of the people from one number up to another."""
        people = np.repeat(np.arange(first, last), np.diff(self.starts[first : last + 1]))
        return self._events_at(people, slice(int(self.starts[first]), int(self.starts[last])))

    def _events_at(self, people: IntArray, rows: IntArray | slice) -> LatestEvents:
        numbers = people << PERSON_SHIFT | self.pieces[rows].astype(np.int64) << PAIR_SHIFT | self.codes[rows]
        return LatestEvents(numbers, self.moments[rows], self.versions[rows])


def words_of(keys: Sequence[bytes]) -> Words:
    """Return keys of people as words; shape (n, 2)."""
    return np.frombuffer(b"".join(keys), dtype=">u8").reshape(-1, 2).astype(np.uint64)


def build_likes(words: Words, ids: Sequence[bytes], events: LatestEvents, *, kept_from: int) -> Likes:
    """Return the likes of events, each of them once, whose numbers are rows of these people and (UTF-8) ids.

    People and pieces without an event are left out.
    """
    people, person_order = _ranked(events.people, np.lexsort((words[:, 1], words[:, 0])))
    pieces, piece_order = _ranked(events.pieces, np.asarray(sorted(range(len(ids)), key=ids.__getitem__), np.int64))
    numbers = people << PERSON_SHIFT | pieces << PAIR_SHIFT | events.codes
    # Often they ascend already, and each is there once.
    order = slice(None) if (numbers[1:] > numbers[:-1]).all() else np.argsort(numbers)
    return Likes(
        heads=words[person_order, 0],
        tails=words[person_order, 1],
        ids=Strings.of_encoded([ids[row] for row in piece_order.tolist()]),
        starts=starts_of(np.bincount(people, minlength=len(person_order))),
        pieces=pieces[order].astype(np.uint32),
        codes=events.codes[order].astype(np.uint16),
        moments=events.moments[order],
        versions=events.versions[order],
        kept_from=np.asarray([kept_from], dtype=np.int32),
        first_day=np.asarray([first_day(events.moments)], dtype=np.int32),
    )


def first_day(moments: IntArray) -> int:
    """Return the oldest UTC day of some moments, the last one that there is for none."""
    return int(moments.min(initial=LAST_DAY * DAY_MS)) // DAY_MS


def _ranked(used: IntArray, order: IntArray) -> tuple[IntArray, IntArray]:
    """Return numbers as ranks among those used, in an order of all of them, and those used in that order.

    With the numbers 7 and 2 used, in an order in which 7 comes first, 7 becomes 0 and 2 becomes 1.
    """
    is_used = np.zeros(len(order), dtype=np.bool_)
    is_used[used] = True
    order = order[is_used[order]]
    ranks = np.zeros(len(is_used), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return ranks[used], order


def _lower_bounds(values: Numbers, begins: IntArray, ends: IntArray, wanted: IntArray) -> IntArray:
    """Return by wanted number the index of the first value that is not less, in its own ascending run of values."""
    if len(wanted) <= FEW_RUNS:
        runs = zip(begins.tolist(), ends.tolist(), wanted.tolist(), strict=True)
        return np.asarray(
            [begin + int(np.searchsorted(values[begin:end], number)) for begin, end, number in runs], np.int64
        )
    low, high = begins.copy(), ends.copy()
    while (searching := low < high).any():
        # All runs are halved together. Those that are done may point past the end, so they look at 0 instead.
        middle = (low + high) >> 1
        less = searching & (values[np.where(searching, middle, 0)] < wanted)
        low = np.where(less, middle + 1, low)
        high = np.where(searching & ~less, middle, high)
    return low
