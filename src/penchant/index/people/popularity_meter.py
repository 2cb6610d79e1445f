"""Popularity meter: part p of a snapshot's pieces again and again, as people like more: only what changed is made anew.

What one more interaction changes is the count of one piece. Unless that is or was the greatest, all other shares stay;
the median follows from those that are kept in order.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from penchant.index.layout import BoolArray, FloatArray, IntArray
from penchant.index.part import Part
from penchant.index.people.popularity import Popularity, counted_shares, greatest_of

Scalar = TypeVar("Scalar", bound=np.generic)

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
        return _Measurement(people, greatest, shares, np.sort(_joined(self._liked(people, shares, self._lives))))

    def _continued(self, last: _Measurement, people: Sequence[FloatArray]) -> _Measurement | None:
        """Return what `_anew` does where few counts differ from the last ones; ``None`` where all shares may."""
        changed = [np.flatnonzero(old != new) for old, new in zip(last.people, people, strict=True)]
        if sum(map(len, changed)) > MOST_CHANGED:
            return None
        before, after = _taken(last.people, changed), _taken(people, changed)
        lives = _taken(self._lives, changed)
        for old, new, live in zip(before, after, lives, strict=True):
            # What was the greatest may be so no longer, and what is greater sets another scale for all.
            if max(old[live].max(initial=0.0), new[live].max(initial=0.0)) >= last.greatest:
                return None
        shares = [share.copy() for share in last.shares]
        for share, rows, new in zip(shares, changed, after, strict=True):
            share[rows] = counted_shares(new, last.greatest, self._evenness)
        gone = _joined(self._liked(before, _taken(last.shares, changed), lives))
        come = _joined(self._liked(after, _taken(shares, changed), lives))
        return _Measurement(people, last.greatest, shares, _replaced(last.ranked, np.sort(gone), np.sort(come)))

    @staticmethod
    def _liked(
        people: Sequence[FloatArray], shares: Sequence[FloatArray], lives: Sequence[BoolArray]
    ) -> list[FloatArray]:
        """Return by part the shares of live pieces that somebody likes."""
        return [share[live & (count > 0)] for share, count, live in zip(shares, people, lives, strict=True)]


def _joined(by_part: Sequence[FloatArray]) -> FloatArray:
    """Return values of all parts in one array; an empty source has no part."""
    return np.concatenate([np.zeros(0), *by_part])


def _taken(arrays: Sequence[NDArray[Scalar]], rows: Sequence[IntArray]) -> list[NDArray[Scalar]]:
    """Return of each array the rows that are named for it."""
    return [array[own] for array, own in zip(arrays, rows, strict=True)]


def _replaced(ranked: FloatArray, gone: FloatArray, come: FloatArray) -> FloatArray:
    """Return ascending values without some of them and with others; these ascend, too."""
    # Of equal values each goes by itself.
    places = np.searchsorted(ranked, gone) + np.arange(len(gone)) - np.searchsorted(gone, gone)
    left = np.delete(ranked, places)
    return np.insert(left, np.searchsorted(left, come), come)


def _median(ranked: FloatArray) -> float:
    """Return the median of ascending values, 0 of none, as `numpy.median` has it."""
    count = len(ranked)
    return float(np.mean(ranked[(count - 1) // 2 : count // 2 + 1])) if count else 0.0
