"""Day order: newest pieces first, those of a day as chance has it, another way on each UTC day.

Chance is BLAKE2b of the date and the id of a piece (interface, section 10): everybody sees the same order on a day, and
nobody the alphabet (D184 of docs/decisions.md).
"""

from collections.abc import Iterator
from datetime import date
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penchant_engine.computed import computed
from penchant_engine.index.layout import IntArray
from penchant_engine.index.segment import Segment

FIRST_TAKE = 512
"""Pieces that are looked at first, and that are put in order at once, at least: mostly they fill a list."""
_HASH_BYTES = 8
_FIRST_ORDINAL = date(1970, 1, 1).toordinal()


class _Day(NamedTuple):
    """What is known of a UTC day: hashes (n,) of those pieces that ``known`` (n,) tells, and rows in order by cut."""

    day: int
    hashes: NDArray[np.uint64]
    known: NDArray[np.bool_]
    ordered: dict[int, IntArray]


class DayOrder:
    """Order of a segment's pieces on UTC days: newest ones first, those of one day by their hash, then by id.

    Each piece is hashed and put in order once for the last day that was asked for, and only when somebody gets so far.
    Any number of threads may ask.
    """

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._last: _Day | None = None

    def hashes(self, rows: IntArray, day: int) -> NDArray[np.uint64]:
        """Return the hashes of pieces at some rows; as numbers they are in the order of their bytes."""
        known = self._known(day)
        missing = rows[~known.known[rows]]
        if len(missing):
            dated = f"{date.fromordinal(day + _FIRST_ORDINAL).isoformat()}\0".encode()
            ids = self._segment.ids.take(missing)
            digests = b"".join(blake2b(dated + each.encode(), digest_size=_HASH_BYTES).digest() for each in ids)
            known.hashes[missing] = np.frombuffer(digests, dtype=">u8")
            known.known[missing] = True
        return known.hashes[rows]

    def rows(self, day: int) -> Iterator[IntArray]:
        """Yield the rows of all pieces in order, a few first, then twice as many each time."""
        size, left = FIRST_TAKE, np.zeros(0, dtype=np.int64)
        for rows in self._by_days(self._known(day)):
            left = np.concatenate([left, rows])
            while len(left) >= size:
                yield left[:size]
                left = left[size:]
                size *= 2
        yield left

    def _by_days(self, known: _Day) -> Iterator[IntArray]:
        """Yield the rows of all pieces in order, those of some whole days at a time."""
        for begin, end in pairwise(self._cuts):
            rows = known.ordered.get(begin)
            if rows is None:
                rows = self._newest_first[begin:end]
                newest = -self._segment.days[rows].astype(np.int64)
                rows = known.ordered[begin] = rows[np.lexsort((rows, self.hashes(rows, known.day), newest))]
            yield rows

    def _known(self, day: int) -> _Day:
        # Read once, since another thread may replace it meanwhile. Two that hash the same piece write the same.
        last = self._last
        if last is None or last.day != day:
            count = len(self._segment)
            last = self._last = _Day(day, np.zeros(count, dtype=np.uint64), np.zeros(count, dtype=np.bool_), {})
        return last

    @computed
    def _newest_first(self) -> IntArray:
        return np.argsort(-self._segment.days.astype(np.int64), kind="stable")

    @computed
    def _cuts(self) -> list[int]:
        """Where in `_newest_first` days begin, at least `FIRST_TAKE` pieces apart, and the end."""
        days = self._segment.days[self._newest_first]
        cuts = [0]
        for begin in (np.flatnonzero(np.diff(days)) + 1).tolist():
            if begin - cuts[-1] >= FIRST_TAKE:
                cuts.append(begin)
        return [*cuts, len(days)]
