"""Best pieces: which pieces enter a list, and in which order. The one home of the rule.

A piece is better than another if its key is less, or if the keys are equal and its id comes first. Keys are integers:
distances, or minus scores, in their unit. Pieces of one segment lie in the order of their ids, so that inside one the
lesser row stands for the lesser id; the kernels keep to that by taking rows in ascending order and letting in only
what is strictly better than the worst of those they have.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from penchant_engine.index.layout import Choice, IntArray, Mask

Keys: TypeAlias = tuple[IntArray, IntArray]
"""Keys of pieces of a segment, and their rows, which ascend."""
Hits: TypeAlias = tuple[IntArray, IntArray]
"""Keys of found pieces of a segment, ascending, and their rows; of equal keys the lesser row first."""

NO_HITS: Hits = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


class BestPieces:
    """The best ``take`` pieces of several segments, which are searched one after the other.

    ``limit`` is the key from which no piece of the next segment can enter: as it falls, kernels search less.
    """

    def __init__(self, take: int, limit: int) -> None:
        self._take = take
        self._pieces: list[tuple[int, str]] = []
        self.limit = limit

    def add(self, found: Sequence[tuple[int, str]]) -> None:
        """Add the pieces that a segment's search has found, as keys with ids, in order."""
        self._pieces += found
        if len(self._pieces) > len(found):
            self._pieces.sort()
        if len(self._pieces) >= self._take:
            del self._pieces[self._take :]
            # Of the next segments what is as good may enter as well, since its id may come first.
            self.limit = self._pieces[-1][0] + 1

    def ranked(self) -> list[tuple[int, str]]:
        """Return keys with ids, the best piece first."""
        return self._pieces


def allowed_rows(mask: Mask, excluded: IntArray) -> IntArray:
    """Return the rows, ascending, of the pieces that a mask lets through but for those that are excluded."""
    allowed = mask > 0
    allowed[excluded] = False
    return np.flatnonzero(allowed)


def smallest(found: Keys, choice: Choice) -> Hits:
    """Return the best of some pieces, as many as a choice takes below its limit."""
    keys, rows = found
    # First without sorting all: below the limit, and no worse than the key of rank ``take``, ties included.
    near = keys < choice.limit
    if len(keys) > choice.take:
        near &= keys <= np.partition(keys, choice.take - 1)[choice.take - 1]
    keys, rows = keys[near], rows[near]
    order = np.argsort(keys, kind="stable")[: choice.take]
    return keys[order], rows[order]


def in_order(keys: IntArray, rows: IntArray, choice: Choice) -> Hits:
    """Return the best of what kernels have filled in, in order; entries that they did not need have the limit."""
    order = np.lexsort((rows, keys))[: choice.take]
    keys, rows = keys[order], rows[order]
    if keys[-1] >= choice.limit:
        count = int(np.searchsorted(keys, choice.limit))
        keys, rows = keys[:count], rows[:count]
    return keys, rows


def count_better(found: Keys, key: int, row: int) -> int:
    """Return how many pieces of a segment are better than one of this key whose id would be at this row."""
    keys, rows = found
    return int(np.count_nonzero((keys < key) | ((keys == key) & (rows < row))))
