"""In which order are pieces recommended? What the parts are mixed with, and what comes first (interface, section 6).

Pure arithmetic; the sums over pieces are the index's.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]

SCORE_SCALE = 10**9
"""Scores are rounded to nine decimals and compared as integers of this unit."""
HALVINGS = 1075
"""After so many half-lives a double holds nothing of 1 any more."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A recommended piece: ``units`` is its s in units of 1e-9."""

    id: str
    units: int

    @property
    def score(self) -> float:
        """What is shown: 1 - max(0, s), so that lower is better."""
        return (SCORE_SCALE - max(0, self.units)) / SCORE_SCALE


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
    ages = np.arange(min(oldest, math.ceil(HALVINGS * half_life_days)) + 1)
    credits_by_age: FloatArray = 2.0 ** (-ages / half_life_days) * (1 - mean)
    return credits_by_age


def promoted(ids: Sequence[str], whitelist: Sequence[str]) -> list[str]:
    """Return ids with those on the whitelist first, in its order, the others after them in theirs."""
    present = set(ids)
    first = [piece_id for piece_id in whitelist if piece_id in present]
    raised = set(first)
    return first + [piece_id for piece_id in ids if piece_id not in raised]
