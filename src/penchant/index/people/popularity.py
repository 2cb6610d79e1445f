"""Popularity: how many people like each piece of a source, each counting less with time (interface, section 6)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penchant.index.layout import FloatArray, IntArray
from penchant.index.part import Part
from penchant.index.people.likes import LatestEvents, PositivePairs, build_likes, words_of
from penchant.index.people.piece_numbers import PieceNumbers
from penchant.index.segment import Segment
from penchant.model import DAY_MS

HALF_LIFE_DAYS = 30
"""After how many days a person's liking counts half towards popularity (interface, section 6)."""
PEOPLE_SCALE = 1 << 40
"""People who count in part are added up as integers of this unit: eight million of a piece fit 64 bits."""

FAINT_PEOPLE = PEOPLE_SCALE >> 8
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

    @cached_property
    def lifted(self) -> tuple[FloatArray, ...]:
        """Part p with start credits."""
        return tuple(
            np.maximum(share, floor * self.median) for share, floor in zip(self.shares, self.floors, strict=True)
        )


class PieceCounts:
    """How many people like each piece at a moment; what it remembers changes no answer.

    ``people`` counts in a `PEOPLE_SCALE`-th, halved ``halvings`` times.
    """

    def __init__(self, numbers: PieceNumbers, people: IntArray, halvings: int = 0) -> None:
        self._numbers = numbers
        self._size = len(people)
        counted = np.append(people, 0) / PEOPLE_SCALE
        self._people = np.ldexp(counted, -halvings) if halvings else counted
        self._rows: tuple[Segment, IntArray] | None = None

    @classmethod
    def of_rows(cls, segment: Segment, people: FloatArray) -> "PieceCounts":
        """Return counts that are known by row of a segment; it has nothing for any other."""
        none = build_likes(words_of([]), [], LatestEvents.none(), kept_from=0)
        counts = cls(PieceNumbers(none), np.zeros(0, dtype=np.int64))
        counts._people = np.append(people, 0.0)
        counts._rows = segment, np.arange(len(segment))
        return counts

    def by_part(self, parts: Sequence[Part]) -> list[FloatArray]:
        """Return the people of all pieces, an array for each part."""
        return [self._people[self._numbers_of(part.segment)] for part in parts]

    def _numbers_of(self, segment: Segment) -> IntArray:
        """Return the number of each of a segment's pieces, -1 for those without an interaction."""
        if self._rows is not None and self._rows[0] is segment:
            return self._rows[1]
        return self._numbers.of_segment(segment, self._size)


def faint_people(
    pairs: PositivePairs, today: int, size: int, *, half_life_days: int = HALF_LIFE_DAYS
) -> tuple[IntArray, int]:
    """Return the people of all pieces in a unit that fits the latest interaction, and how often that is halved."""
    halvings = 0
    if len(pairs.moments) and half_life_days:
        halvings = max(0, today - int(pairs.moments.max()) // DAY_MS) // half_life_days
    people = np.zeros(size, dtype=np.int64)
    np.add.at(people, pairs.pieces, people_of(pairs, today, halvings, half_life_days=half_life_days))
    return people, halvings


def people_of(pairs: PositivePairs, today: int, halvings: int = 0, *, half_life_days: int = HALF_LIFE_DAYS) -> IntArray:
    """Return what each pair's person counts, less by age; with no half-life all alike.

    In a `PEOPLE_SCALE`-th, halved ``halvings`` times: all of them must be at least so many half-lives old.
    """
    ages = np.maximum(0, today - pairs.moments // DAY_MS)
    table = decays(int(ages.max(initial=0)), halvings, half_life_days=half_life_days)
    return table[ages]


def decays(ages: int, halvings: int = 0, *, half_life_days: int = HALF_LIFE_DAYS) -> IntArray:
    """Return what a person counts towards popularity by age in days, from 0 to ``ages``, at most one unit's whole."""
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
