"""Ranking: start credits, diversity and promotion, the parts of an order that need no index (interface, section 6).

Pure arithmetic; the sums over pieces are the index's.
"""

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penchant.model import Term

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

SCORE_SCALE = 10**9
"""Scores are rounded to nine decimals and compared as integers of this unit."""
SCORE_DECIMALS = 9
HALVINGS = 1075
"""After so many half-lives a double holds nothing of 1 any more."""


class RankedPiece(NamedTuple):
    """A recommended piece: ``units`` is its s in units of 1e-9."""

    id: str
    units: int

    @property
    def score(self) -> float:
        """What is shown: 1 - s within 0 and 1, so that lower is better."""
        return score_of(self.units)


def score_of(units: int) -> float:
    """Return what is shown of s in units of 1e-9."""
    return (SCORE_SCALE - min(SCORE_SCALE, max(0, units))) / SCORE_SCALE


def sunk(ranked: Sequence[RankedPiece], factors: Mapping[str, float]) -> list[RankedPiece]:
    """Return pieces in the order of s x their factors, those without one as they are, ties by id.

    Factors are 1 at most; what nothing speaks for, with s of 0 or less, sinks no further.
    """
    if not factors:
        return list(ranked)
    sinking = [
        RankedPiece(each.id, round(each.units * factors.get(each.id, 1.0)) if each.units > 0 else each.units)
        for each in ranked
    ]
    return sorted(sinking, key=lambda each: (-each.units, each.id))


def start_credits(day_counts: Mapping[int, int], today: int, half_life_days: float) -> FloatArray:
    """Return r by age in days from 0, the last entry for all that are older; only 0 where the half-life is 0.

    r is newness, less as more of the source is new. ``day_counts`` tells how many pieces became available on each
    day; those to come count for nothing. Summed by ascending day.
    """
    if not half_life_days:
        return np.zeros(1)
    counted = [(day, count) for day, count in sorted(day_counts.items()) if day <= today]
    pieces = sum(count for _, count in counted)
    oldest = max((today - day for day, _ in counted), default=0)
    total = math.fsum(count * float(2.0 ** (-(today - day) / half_life_days)) for day, count in counted)
    mean = total / pieces if pieces else 0.0
    # As many entries as there are different credits: past the last age they are 0, or no piece is so old.
    ages = np.arange(min(oldest, math.ceil(HALVINGS * half_life_days)) + 1)
    credits_by_age: FloatArray = 2.0 ** (-ages / half_life_days) * (1 - mean)
    return credits_by_age


@dataclass(frozen=True, slots=True, kw_only=True)
class Diversity:
    """What a list is to have beside the best: pieces unlike each other, and few with the same keyword.

    ``diversity`` of 0 looks at scores alone, of 1 at likeness alone. ``most`` tells by category how many pieces may
    have the same keyword.
    """

    diversity: float = 0.0
    most: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.diversity or self.most)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PieceKeywords:
    """The keywords of ``count`` pieces as pairs, none of which comes twice.

    ``owners`` (z,) are the pieces, ascending, ``numbers`` (z,) their keywords as places in ``names``.
    """

    count: int
    owners: IntArray
    numbers: IntArray
    names: Sequence[Term]


class VariedList(NamedTuple):
    """The chosen pieces, by their places in what they are chosen from, and keywords of which no other may be added."""

    places: list[int]
    full: AbstractSet[Term]


def varied(units: IntArray, first: int, keywords: PieceKeywords, variety: Diversity, take: int) -> VariedList:
    """Return the first pieces as they are, then others chosen one by one, each good and unlike those before it.

    ``units`` (n,) are s of pieces, after the first ones descending. The next one has the greatest
    (1 - diversity) x s / the best s - diversity x likeness (maximal marginal relevance, Carbonell and Goldstein 1998),
    rounded to nine decimals, ties in the given order. Likeness is the greatest overlap (Jaccard) of ``keywords`` with a
    piece that is listed already. A piece that would be one too many with a keyword is left out; the first count towards
    that, but stay. Costs some passes over all pieces for each chosen one.
    """
    choice = _VariedChoice(keywords, variety)
    best = int(units.max(initial=0))
    worth = (1 - variety.diversity) * units / (best if best > 0 else SCORE_SCALE)
    for place in range(min(first, take, len(units))):
        choice.add(place)
    choice.is_open[:first] = False
    while len(choice.places) < take and choice.is_open.any():
        gains = np.where(choice.is_open, worth - variety.diversity * choice.likeness, -np.inf)
        # Rounded, and the first of equal gains taken: the order of floating-point operations decides no tie.
        greatest = round(float(gains.max()), SCORE_DECIMALS)
        near = np.flatnonzero(gains >= greatest - 1 / SCORE_SCALE).tolist()
        choice.add(next(place for place in near if round(float(gains[place]), SCORE_DECIMALS) == greatest))
    return VariedList(choice.places, choice.full)


class _VariedChoice:
    """The pieces chosen so far, how like any other is to them, and which may still be chosen."""

    def __init__(self, keywords: PieceKeywords, variety: Diversity) -> None:
        self._keywords = keywords
        self._starts = np.searchsorted(keywords.owners, np.arange(keywords.count + 1))
        self._sizes = np.diff(self._starts)
        order = np.argsort(keywords.numbers, kind="stable")
        self._having = keywords.owners[order]
        self._cuts = np.searchsorted(keywords.numbers[order], np.arange(len(keywords.names) + 1))
        self._left = {
            number: variety.most[term.category]
            for number, term in enumerate(keywords.names)
            if term.category in variety.most
        }
        self._counts_likeness = variety.diversity > 0
        self.likeness: FloatArray = np.zeros(keywords.count)
        self.is_open: BoolArray = np.ones(keywords.count, dtype=np.bool_)
        self.places: list[int] = []

    @property
    def full(self) -> AbstractSet[Term]:
        """The keywords that as many chosen pieces have as may."""
        return {self._keywords.names[number] for number, left in self._left.items() if left <= 0}

    def add(self, place: int) -> None:
        """Choose a piece."""
        self.places.append(place)
        self.is_open[place] = False
        own = self._keywords.numbers[self._starts[place] : self._starts[place + 1]].tolist()
        for number in own:
            if number in self._left:
                self._left[number] -= 1
                if self._left[number] <= 0:
                    self.is_open[self._pieces(number)] = False
        if own and self._counts_likeness:
            shared = np.bincount(np.concatenate([*map(self._pieces, own)]), minlength=self._keywords.count)
            self.likeness = np.maximum(self.likeness, shared / (self._sizes + len(own) - shared))

    def _pieces(self, number: int) -> IntArray:
        """Return the pieces that have a keyword."""
        return self._having[self._cuts[number] : self._cuts[number + 1]]


def promoted(ids: Sequence[str], whitelist: Sequence[str]) -> list[str]:
    """Return ids with those on the whitelist first, in its order, the others after them in theirs."""
    present = set(ids)
    first = [piece_id for piece_id in whitelist if piece_id in present]
    raised = set(first)
    return first + [piece_id for piece_id in ids if piece_id not in raised]
