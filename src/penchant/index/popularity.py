"""Popularity: how many people like each piece of a source, each counting less with time (interface, section 6)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from penchant.index.layout import FloatArray, IntArray
from penchant.index.likes import NEVER, LatestEvents, Likes, PairFacts, build_likes, words_of
from penchant.index.part import Part
from penchant.index.segment import Segment
from penchant.index.strings import Strings
from penchant.model import DAY_MS

HALF_LIFE_DAYS = 30
"""After how many days a person's liking counts half towards popularity (interface, section 6)."""
PEOPLE_SCALE = 1 << 40
"""People who count in part are added up as integers of this unit: eight million of a piece fit 64 bits."""

FAINT_PEOPLE = PEOPLE_SCALE >> 8
"""Below this even the best-liked piece is counted in a smaller unit: what is old would be lost in rounding."""

Credits = Callable[[], FloatArray]
"""Gives the start credit by age in days, the last entry for all that are older."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Popularity:
    """Part p of all pieces, an array (n_pieces,) for each part of a snapshot, as it is and with start credits.

    ``median`` is over the pieces that somebody likes.
    """

    shares: tuple[FloatArray, ...]
    lifted: tuple[FloatArray, ...]
    median: float


class PieceCounts:
    """How many people like each piece at a moment; what it remembers changes no answer.

    ``people`` counts in a `PEOPLE_SCALE`-th, halved ``halvings`` times.
    """

    def __init__(self, base: Likes, new_ids: Sequence[str], people: IntArray, halvings: int = 0) -> None:
        self._base = base
        self._new_ids = Strings.of(new_ids)
        self._people = np.ldexp(np.append(people, 0) / PEOPLE_SCALE, -halvings)
        self._numbers: WeakKeyDictionary[Segment, IntArray] = WeakKeyDictionary()

    @classmethod
    def of_rows(cls, segment: Segment, people: FloatArray) -> "PieceCounts":
        """Return counts that are known by row of a segment; it has nothing for any other."""
        none = build_likes(words_of([]), [], LatestEvents.none(), kept_from=0)
        counts = cls(none, (), np.zeros(0, dtype=np.int64))
        counts._people = np.append(people, 0.0)
        counts._numbers[segment] = np.arange(len(segment))
        return counts

    def by_part(self, parts: Sequence[Part]) -> list[FloatArray]:
        """Return the people of all pieces, an array for each part."""
        return [self._people[self._numbers_of(part.segment)] for part in parts]

    def _numbers_of(self, segment: Segment) -> IntArray:
        """Return the number of each of a segment's pieces, -1 for those without an interaction."""
        numbers = self._numbers.get(segment)
        if numbers is None and not len(self._new_ids):
            return self._base.numbers_of(segment)
        if numbers is None:
            numbers = self._base.numbers_of(segment)
            rows = segment.ids.find_all(self._new_ids)
            if (rows >= 0).any():
                # The base shares its own with later counts.
                numbers = numbers.copy()
                numbers[rows[rows >= 0]] = len(self._base.ids) + np.flatnonzero(rows >= 0)
            self._numbers[segment] = numbers
        return numbers


def faint_people(
    facts: PairFacts, today: int, size: int, *, half_life_days: int = HALF_LIFE_DAYS
) -> tuple[IntArray, int]:
    """Return `counted_people` in a unit that fits the latest positive interaction, and how often that is halved."""
    happened = facts.positive[facts.positive != NEVER]
    if not len(happened) or not half_life_days:
        return counted_people(facts, today, size, half_life_days=half_life_days), 0
    halvings = max(0, today - int(happened.max()) // DAY_MS) // half_life_days
    return counted_people(facts, today, size, halvings, half_life_days=half_life_days), halvings


def counted_people(
    facts: PairFacts, today: int, size: int, halvings: int = 0, *, half_life_days: int = HALF_LIFE_DAYS
) -> IntArray:
    """Return by piece the people with a positive interaction, each counting less by age; with no half-life all alike.

    In a `PEOPLE_SCALE`-th, halved ``halvings`` times: all of them must be at least so many half-lives old.
    """
    happened = facts.positive != NEVER
    ages = np.maximum(0, today - facts.positive[happened] // DAY_MS)
    table = decays(int(ages.max(initial=0)), halvings, half_life_days=half_life_days)
    people = np.zeros(size, dtype=np.int64)
    np.add.at(people, facts.pieces[happened], table[ages])
    return people


def decays(ages: int, halvings: int = 0, *, half_life_days: int = HALF_LIFE_DAYS) -> IntArray:
    """Return what a person counts towards popularity by age in days, from 0 to ``ages``, at most one unit's whole."""
    if not half_life_days:
        return np.full(ages + 1, PEOPLE_SCALE, dtype=np.int64)
    exponents = np.minimum(0.0, halvings - np.arange(ages + 1) / half_life_days)
    return np.rint(2.0**exponents * PEOPLE_SCALE).astype(np.int64)


def shares_of(parts: Sequence[Part], people: Sequence[FloatArray], evenness: float) -> tuple[list[FloatArray], float]:
    """Return p = ln(1 + phi n) / ln(1 + the greatest n of the live pieces), and its median where somebody likes."""
    lives = [part.live > 0 for part in parts]
    greatest = max(
        (float(count[live].max(initial=0.0)) for count, live in zip(people, lives, strict=True)), default=0.0
    )
    if not greatest:
        return [np.zeros(len(part.segment)) for part in parts], 0.0
    # Dead pieces get a share as well, by rows, and are masked later; they only must not set the scale.
    scale = math.log1p(greatest)
    shares = [np.log1p(evenness * count) / scale for count in people]
    liked = [share[live & (count > 0)] for share, live, count in zip(shares, lives, people, strict=True)]
    return shares, float(np.median(np.concatenate(liked)))
