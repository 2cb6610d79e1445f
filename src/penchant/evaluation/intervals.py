"""Intervals of means by the bootstrap over people (Efron 1979), with the same draws for all that is compared."""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from penchant.index import FloatArray

DRAWS = 1_000
CONFIDENCE = 0.95
_CHUNK = 2_000_000
"""Counts held at once."""


class Estimate(NamedTuple):
    """A mean, and the bounds within which 95 % of its draws lie."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return a difference for people, with its sign and its interval."""
        return f"{self.value:+.4f} [{self.low:+.4f}, {self.high:+.4f}]"


def drawn_means(values: FloatArray, seed: int) -> FloatArray:
    """Return the means of columns, (n_people, n_columns), over people drawn with replacement; (`DRAWS`, n_columns)."""
    people = len(values)
    random = np.random.default_rng([seed, 3])
    means = np.empty((DRAWS, values.shape[1]))
    rows = max(1, _CHUNK // people)
    for begin in range(0, DRAWS, rows):
        count = min(rows, DRAWS - begin)
        # How often each person is drawn, instead of who: a mean is then a product of matrices.
        drawn = random.multinomial(people, np.full(people, 1 / people), size=count)
        means[begin : begin + count] = drawn @ values / people
    return means


def estimate(values: FloatArray, seed: int) -> Estimate | None:
    """Return the mean of values of people with its interval; ``None`` without people."""
    if not len(values):
        return None
    return _estimate(float(values.mean()), drawn_means(values[:, None], seed)[:, 0])


def compared(ours: FloatArray, theirs: FloatArray, seed: int) -> tuple[Estimate, Estimate | None]:
    """Return the mean difference of two methods over the same people, and the ratio of their means.

    There is no ratio where theirs is 0.
    """
    # The same draw for both: a person who is hard for one method is mostly hard for the other (a paired bootstrap).
    drawn = drawn_means(np.stack((ours, theirs), axis=1), seed)
    difference = _estimate(float((ours - theirs).mean()), drawn[:, 0] - drawn[:, 1])
    # Where one draw of theirs is 0, its ratio is none, and the interval would be without bound.
    if not drawn[:, 1].all():
        return difference, None
    return difference, _estimate(float(ours.mean() / theirs.mean()), drawn[:, 0] / drawn[:, 1])


def certain_gain(differences: FloatArray, tried: int) -> float:
    """Return the lower bound of a mean gain that was the best of so many tried.

    The level is divided by their number (Bonferroni), by the normal approximation: tails so thin take too many draws.
    """
    if len(differences) < 2:
        return -np.inf
    error = float(differences.std(ddof=1) / np.sqrt(len(differences)))
    return float(differences.mean()) - NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / max(1, tried)) * error


def _estimate(value: float, drawn: FloatArray) -> Estimate:
    tail = (1 - CONFIDENCE) / 2 * 100
    low, high = np.percentile(drawn, (tail, 100 - tail))
    return Estimate(value, float(low), float(high))
