"""Ranking: start credits, diversity and promotion, the parts of an order that need no index (interface, section 6).

Pure arithmetic; the sums over pieces are the index's.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from penchant.model import Term

FloatArray: TypeAlias = NDArray[np.float64]

SCORE_SCALE = 10**9
"""Scores are rounded to nine decimals and compared as integers of this unit."""
SCORE_DECIMALS = 9
HALVINGS = 1075
"""After so many half-lives a double holds nothing of 1 any more."""


@dataclass(frozen=True, slots=True)
class RankedPiece:
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


def varied(
    first: Sequence[RankedPiece],
    others: Sequence[RankedPiece],
    terms: Mapping[str, AbstractSet[Term]],
    variety: Diversity,
    take: int,
) -> list[RankedPiece]:
    """Return the first as they are, then others chosen one by one, each good and unlike those before it.

    The next one has the greatest (1 - diversity) x s / the best s - diversity x likeness (maximal marginal relevance,
    Carbonell and Goldstein 1998), rounded to nine decimals, ties in the given order. Likeness is the greatest overlap
    (Jaccard) of ``terms``, by id, with a piece that is listed already. A piece that would be one too many with a
    keyword is left out; the first count towards that, but stay.
    """
    chosen, waiting = list(first[:take]), list(others)
    held = Counter(term for each in chosen for term in terms[each.id] if term.category in variety.most)
    best = max((each.units for each in (*first, *others)), default=0)
    scale = best if best > 0 else SCORE_SCALE
    # Kept up to date with each choice, so that a pair of pieces is compared once.
    likeness = dict.fromkeys((each.id for each in waiting), 0.0)
    for each in chosen:
        _grow(likeness, waiting, terms, terms[each.id])
    while waiting and len(chosen) < take:
        if variety.most:
            waiting = [each for each in waiting if not _is_full(terms[each.id], held, variety.most)]
        if not waiting:
            break
        # Rounded, and the first of equal gains taken: the order of floating-point operations decides no tie.
        gains = [
            round((1 - variety.diversity) * each.units / scale - variety.diversity * likeness[each.id], SCORE_DECIMALS)
            for each in waiting
        ]
        taken = waiting.pop(gains.index(max(gains)))
        chosen.append(taken)
        held.update(term for term in terms[taken.id] if term.category in variety.most)
        if variety.diversity:
            _grow(likeness, waiting, terms, terms[taken.id])
    return chosen


def _grow(
    likeness: dict[str, float],
    waiting: Sequence[RankedPiece],
    terms: Mapping[str, AbstractSet[Term]],
    own: AbstractSet[Term],
) -> None:
    for each in waiting:
        shared = len(terms[each.id] & own)
        if shared:
            likeness[each.id] = max(likeness[each.id], shared / len(terms[each.id] | own))


def _is_full(terms: AbstractSet[Term], held: Mapping[Term, int], most: Mapping[str, int]) -> bool:
    return any(term.category in most and held.get(term, 0) >= most[term.category] for term in terms)


def promoted(ids: Sequence[str], whitelist: Sequence[str]) -> list[str]:
    """Return ids with those on the whitelist first, in its order, the others after them in theirs."""
    present = set(ids)
    first = [piece_id for piece_id in whitelist if piece_id in present]
    raised = set(first)
    return first + [piece_id for piece_id in ids if piece_id not in raised]
