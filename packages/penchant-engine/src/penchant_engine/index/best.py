"""Best pieces: which pieces enter a list, and in which order. The one home of the rule.

A piece is better than another if its key is less, or if the keys are equal and its id comes first. Keys are integers:
distances, or minus scores, in their unit. Pieces of one segment lie in the order of their ids, so that inside one the
lesser row stands for the lesser id; the kernels keep to that by taking rows in ascending order and letting in only
what is strictly better than the worst of those they have.
"""

from typing import TypeAlias

import numpy as np

from penchant_engine.index.layout import Choice, IntArray, Mask

Keys: TypeAlias = tuple[IntArray, IntArray]
"""Keys of pieces of a segment, and their rows, which ascend."""
Hits: TypeAlias = tuple[IntArray, IntArray]
"""Keys of found pieces of a segment, ascending, and their rows; of equal keys the lesser row first."""

NO_HITS: Hits = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


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
