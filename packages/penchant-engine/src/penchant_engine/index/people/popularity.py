"""Popularity: how many people like each piece of a source, each counting less with time (interface, section 6).

It is measured again and again as people like more, and only what changed is made anew (`PopularityMeter`): what one
more interaction changes is the count of one piece. Unless that is or was the greatest, all other shares stay; the
median follows from those that are kept in order.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from penchant_engine.computed import computed
from penchant_engine.index.layout import DISTANCE_SCALE, FloatArray, IntArray
from penchant_engine.index.part import Part
from penchant_engine.index.people.event_codes import age_count
from penchant_engine.index.people.likes import LatestEvents, Likes, PositivePairs, build_likes, words_of
from penchant_engine.index.segment import Segment
from penchant_engine.index.strings import Strings
from penchant_engine.model import DAY_MS, TOP_GRADE


class PieceNumbers:
    """The numbers of pieces that people have done something with; one thread adds, any number of threads may ask.

    ``added`` are those that the base does not have, with their numbers, in this order.
    """

    def __init__(self, base: Likes) -> None:
        self._base = base
        self._first = len(base.ids)
        self.added: dict[str, int] = {}
        # The same in a form that can be read while it grows.
        self._new: list[str] = []
        # By segment: how many were numbered when it was asked for last, and the number of each of its pieces.
        self._found: WeakKeyDictionary[Segment, tuple[int, IntArray]] = WeakKeyDictionary()

    def __len__(self) -> int:
        return self._first + len(self._new)

    def number(self, piece_id: str) -> int:
        """Return the number of a piece, which gets the next one where it has none."""
        number = self.added.get(piece_id)
        if number is None:
            number = self._base.ids.find(piece_id)
        if number is None:
            number = self.added[piece_id] = len(self)
            self._new.append(piece_id)
        return number

    def of_segment(self, segment: Segment, size: int) -> IntArray:
        """Return the number of each of a segment's pieces when there were ``size``, -1 for those without one."""
        numbered, numbers = self._found.get(segment) or (self._first, self._base.numbers_of(segment))
        if numbered > size:
            return np.where(numbers < size, numbers, -1)
        if numbered < size:
            rows = segment.ids.find_all(Strings.of(self._new[numbered - self._first : size - self._first]))
            if (rows >= 0).any():
                # Who asked before may still read them.
                numbers = numbers.copy()
                numbers[rows[rows >= 0]] = numbered + np.flatnonzero(rows >= 0)
            self._found[segment] = size, numbers
        return numbers


HALF_LIFE_DAYS = 30
"""After how many days a person's liking counts half towards popularity (interface, section 6)."""
PEOPLE_SCALE = 1 << 36
"""People who count in part are added up as integers of this unit: times grades, those of eight million fit 64 bits."""

FAINT_PEOPLE = PEOPLE_SCALE >> 6
"""Below this even the best-liked piece is counted in a smaller unit: what is old would be lost in rounding."""

Credits = Callable[[], FloatArray]
"""Gives the start credit by age in days, the last entry for all that are older."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Popularity:
    """Part p of all pieces, an array (n_pieces,) for each part of a snapshot.

    ``floors`` are what shares are at least by start credits, in times of ``median``, which is over the pieces that
    somebody likes.
    """

    shares: tuple[FloatArray, ...]
    floors: tuple[FloatArray, ...]
    median: float

    @classmethod
    def without_credits(cls, shares: Sequence[FloatArray]) -> "Popularity":
        """Return part p of pieces that are all too old for start credits."""
        return cls(shares=tuple(shares), floors=tuple(map(np.zeros_like, shares)), median=0.0)

    @computed
    def lifted(self) -> tuple[FloatArray, ...]:
        """Part p with start credits."""
        return tuple(
            np.maximum(share, floor * self.median) for share, floor in zip(self.shares, self.floors, strict=True)
        )

    @computed
    def keys(self) -> tuple[IntArray, ...]:
        """1 - p in the unit of distances, by which what is popular is listed; -1 for what nobody likes."""
        keys = (np.rint((1.0 - share) * DISTANCE_SCALE).astype(np.int64) for share in self.shares)
        return tuple(np.where(share > 0, key, -1) for share, key in zip(self.shares, keys, strict=True))


PeopleByWeight = dict[int, IntArray]
"""By the weight u of likes the people of each piece, in a `PEOPLE_SCALE`-th; arrays that are never written to."""


class PieceCounts:
    """How many people like each piece at a moment, of so many pieces; what it remembers changes no answer.

    ``people`` are halved ``halvings`` times.
    """

    def __init__(self, numbers: PieceNumbers, people: PeopleByWeight, size: int, halvings: int = 0) -> None:
        self._numbers = numbers
        self._size = size
        self._by_weight = people
        self._halvings = halvings
        self._graded: tuple[IntArray, FloatArray] | None = None
        self._rows: tuple[Segment, FloatArray] | None = None

    @classmethod
    def of_rows(cls, segment: Segment, people: FloatArray) -> "PieceCounts":
        """Return counts that are known by row of a segment; it has nothing for any other."""
        none = build_likes(words_of([]), [], LatestEvents.none(), kept_from=0)
        counts = cls(PieceNumbers(none), {}, 0)
        counts._rows = segment, people
        return counts

    def continued(self, people: PeopleByWeight, size: int, changed: Iterable[int]) -> "PieceCounts":
        """Return the counts of other people, who are the same as before but for some pieces, which are given by number.

        These are not halved.
        """
        counts = PieceCounts(self._numbers, people, size)
        # Read once, since another thread may put others there.
        known = self._graded
        if known is not None:
            grades, before = known
            counted = np.zeros(size + 1)
            counted[: self._size] = before[:-1]
            for piece in changed:
                several = [(int(each[piece]), int(grades[u])) for u, each in people.items() if piece < len(each)]
                counted[piece] = sum(number * grade for number, grade in several) / (PEOPLE_SCALE * TOP_GRADE)
            counts._graded = grades, counted
        return counts

    def by_part(self, parts: Sequence[Part], grades: IntArray) -> list[FloatArray]:
        """Return the people of all pieces, an array for each part; each counts a sixteenth of the grade of the like.

        ``grades`` (17,) are those by weight (`figures.SourceStatistics.grades`).
        """
        if self._rows is not None:
            segment, people = self._rows
            return [people if part.segment is segment else np.zeros(len(part.segment)) for part in parts]
        counted = self._counted_by(grades)
        return [counted[self._numbers.of_segment(part.segment, self._size)] for part in parts]

    def _counted_by(self, grades: IntArray) -> FloatArray:
        """Return the people of all pieces under grades, last 0 for those without a number."""
        # Grades are the same array for as long as the full like of the source is.
        known = self._graded
        if known is None or known[0] is not grades:
            total = np.zeros(self._size + 1, dtype=np.int64)
            for weight, people in self._by_weight.items():
                total[: len(people)] += people * grades[weight]
            counted = total / (PEOPLE_SCALE * TOP_GRADE)
            known = self._graded = grades, np.ldexp(counted, -self._halvings) if self._halvings else counted
        return known[1]


def faint_people(
    pairs: PositivePairs, today: int, size: int, *, half_life_days: int = HALF_LIFE_DAYS
) -> tuple[PeopleByWeight, int]:
    """Return the people of all pieces in a unit that fits the latest interaction, and how often that is halved."""
    halvings = 0
    if len(pairs.moments) and half_life_days:
        halvings = max(0, today - int(pairs.moments.max()) // DAY_MS) // half_life_days
    people: PeopleByWeight = {}
    add_people(people, pairs, people_of(pairs, today, halvings, half_life_days=half_life_days), size)
    return people, halvings


def add_people(people: PeopleByWeight, pairs: PositivePairs, counted: IntArray, size: int) -> None:
    """Add what each pair counts to the people of its weight, in new arrays of so many pieces."""
    for weight in np.flatnonzero(np.bincount(pairs.weights)).tolist():
        own = pairs.weights == weight
        # Never in place: what was counted before may still be read.
        before = people.get(weight, _NOBODY)
        total = np.append(before, np.zeros(size - len(before), dtype=np.int64))
        np.add.at(total, pairs.pieces[own], counted[own])
        people[weight] = total


_NOBODY = np.zeros(0, dtype=np.int64)


def people_of(pairs: PositivePairs, today: int, halvings: int = 0, *, half_life_days: int = HALF_LIFE_DAYS) -> IntArray:
    """Return what each pair's person counts, less by age; with no half-life all alike.

    In a `PEOPLE_SCALE`-th, halved ``halvings`` times: all of them must be at least so many half-lives old.
    """
    ages = np.maximum(0, today - pairs.moments // DAY_MS)
    return decays(age_count(int(ages.max(initial=0))) - 1, halvings, half_life_days=half_life_days)[ages]


@lru_cache(maxsize=16)
def decays(ages: int, halvings: int = 0, *, half_life_days: int = HALF_LIFE_DAYS) -> IntArray:
    """Return what a person counts towards popularity by age in days, from 0 to ``ages``, at most one unit's whole.

    Never written to: it is remembered.
    """
    if not half_life_days:
        return np.full(ages + 1, PEOPLE_SCALE, dtype=np.int64)
    exponents = np.minimum(0.0, halvings - np.arange(ages + 1) / half_life_days)
    return np.rint(2.0**exponents * PEOPLE_SCALE).astype(np.int64)


def shares_of(parts: Sequence[Part], people: Sequence[FloatArray], evenness: float) -> list[FloatArray]:
    """Return p = ln(1 + phi n) / ln(1 + the greatest n of the live pieces) of all pieces by part."""
    greatest = greatest_of(parts, people)
    return [counted_shares(count, greatest, evenness) for count in people]


def greatest_of(parts: Sequence[Part], people: Sequence[FloatArray]) -> float:
    """Return how many people the best-liked live piece has, counting in part."""
    # Dead pieces get a share as well, by rows, and are masked later; they only must not set the scale.
    counts = zip(parts, people, strict=True)
    return max((float(count[part.live > 0].max(initial=0.0)) for part, count in counts), default=0.0)


def counted_shares(people: FloatArray, greatest: float, evenness: float) -> FloatArray:
    """Return p of pieces that so many people like, beside the greatest number of people; 0 where nobody likes any."""
    return np.log1p(evenness * people) / math.log1p(greatest) if greatest else np.zeros(len(people))


_NO_SHARES = np.zeros(0)
MOST_CHANGED = 100
"""Of more pieces whose count has changed all are measured anew, in about the same time."""


class _Measurement(NamedTuple):
    """What was measured last: the people of all pieces by part, and what came of it."""

    people: Sequence[FloatArray]
    greatest: float
    shares: Sequence[FloatArray]
    ranked: FloatArray


class PopularityMeter:
    """Measures the parts of a snapshot under the figure of evenness of its source.

    ``floors`` hold for each part what a piece's share is at least, in times of the median. What it remembers changes
    no answer; any number of threads may ask it.
    """

    def __init__(self, parts: Sequence[Part], floors: Sequence[FloatArray], evenness: float) -> None:
        self._lives = [part.live > 0 for part in parts]
        self._parts = parts
        self._floors = floors
        self._evenness = evenness
        self._last: _Measurement | None = None

    def measure(self, people: Sequence[FloatArray]) -> Popularity:
        """Return part p where so many people like each piece, by part."""
        last = self._last
        measured = None if last is None else self._continued(last, people)
        if measured is None:
            measured = self._anew(people)
        self._last = measured
        median = _median(measured.ranked)
        return Popularity(shares=tuple(measured.shares), floors=tuple(self._floors), median=median)

    def _anew(self, people: Sequence[FloatArray]) -> _Measurement:
        greatest = greatest_of(self._parts, people)
        shares = [counted_shares(count, greatest, self._evenness) for count in people]
        by_part = zip(shares, people, self._lives, strict=True)
        liked = np.concatenate([_NO_SHARES, *(share[live & (count > 0)] for share, count, live in by_part)])
        return _Measurement(people, greatest, shares, np.sort(liked))

    def _continued(self, last: _Measurement, people: Sequence[FloatArray]) -> _Measurement | None:
        """Return what `_anew` does where few counts differ from the last ones; ``None`` where all shares may."""
        changed = [np.flatnonzero(old != new) for old, new in zip(last.people, people, strict=True)]
        if sum(map(len, changed)) > MOST_CHANGED:
            return None
        shares, gone, come = list(last.shares), [_NO_SHARES], [_NO_SHARES]
        for number, rows in enumerate(changed):
            if not len(rows):
                continue
            live = self._lives[number][rows]
            before, after = last.people[number][rows], people[number][rows]
            # What was the greatest may be so no longer, and what is greater sets another scale for all.
            if before[live].max(initial=0.0) >= last.greatest or after[live].max(initial=0.0) > last.greatest:
                return None
            own = shares[number] = last.shares[number].copy()
            own[rows] = measured = counted_shares(after, last.greatest, self._evenness)
            gone.append(last.shares[number][rows[live & (before > 0)]])
            come.append(measured[live & (after > 0)])
        ranked = _replaced(last.ranked, np.sort(np.concatenate(gone)), np.sort(np.concatenate(come)))
        return _Measurement(people, last.greatest, shares, ranked)


def _replaced(ranked: FloatArray, gone: FloatArray, come: FloatArray) -> FloatArray:
    """Return ascending values without some of them and with others; these ascend, too."""
    # By hand: `numpy.delete` and `numpy.insert` take several times as long. Of equal values each goes by itself.
    is_left = np.ones(len(ranked), dtype=np.bool_)
    is_left[ranked.searchsorted(gone) + np.arange(len(gone)) - gone.searchsorted(gone)] = False
    left = ranked[is_left]
    places = left.searchsorted(come) + np.arange(len(come))
    is_old = np.ones(len(left) + len(come), dtype=np.bool_)
    is_old[places] = False
    replaced = np.empty(len(is_old))
    replaced[is_old], replaced[places] = left, come
    return replaced


def _median(ranked: FloatArray) -> float:
    """Return the median of ascending values, 0 of none, as `numpy.median` has it."""
    count = len(ranked)
    return (float(ranked[(count - 1) // 2]) + float(ranked[count // 2])) / 2 if count else 0.0
