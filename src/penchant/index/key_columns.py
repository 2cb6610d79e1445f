"""Key columns: the keys of people or pieces, which are hashes of 16 bytes, as numbers of the distinct ones."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penchant.index.arrays import is_first
from penchant.index.layout import BoolArray, IntArray, Numbers
from penchant.index.people.likes import Words


class KeyColumn(NamedTuple):
    """Keys as ``numbers`` (n,) of the distinct ones, which are ``words`` (u, 2), ascending."""

    words: Words
    numbers: Numbers


def no_words() -> Words:
    """Return the words of no keys."""
    return np.zeros((0, 2), dtype=np.uint64)


def words_of_keys(keys: NDArray[np.uint8]) -> Words:
    """Return keys, given as bytes, as words; shape (n, 2)."""
    return np.ascontiguousarray(keys).view(">u8").astype(np.uint64)


def number_keys(words: Words) -> KeyColumn:
    """Return keys, given as words, as a column."""
    order, begins = ascending_keys(words)
    numbers = np.empty(len(words), dtype=np.uint32)
    numbers[order] = np.cumsum(begins) - 1
    return KeyColumn(words[order[begins]], numbers)


def ascending_keys(words: Words) -> tuple[IntArray, BoolArray]:
    """Return the order in which keys ascend, and where in it another key begins than the one before."""
    # Keys are as good as random: their first bits tell them apart, and a row's number takes the place of the others.
    # To sort such numbers takes a fraction of the time in which `argsort` follows each key.
    low = np.uint64((1 << len(words).bit_length()) - 1)
    marked = (words[:, 0] & ~low) | np.arange(len(words), dtype=np.uint64)
    marked.sort()
    order = (marked & low).astype(np.int64)
    marked &= ~low
    # To take whole rows is five times as fast as to index them.
    begins = _is_other(words.take(order, axis=0))
    alike = begins & ~is_first(marked)
    if alike.any():
        # Some keys have the same first bits: these alone are sorted by all of them.
        rows = np.flatnonzero(np.isin(marked, marked[alike]))
        some = order[rows]
        order[rows] = some[np.lexsort((words[some, 1], words[some, 0]))]
        begins = _is_other(words.take(order, axis=0))
    return order, begins


def _is_other(words: Words) -> BoolArray:
    """Return where keys are not the same as the one before."""
    return is_first(words[:, 0]) | is_first(words[:, 1])


def least_values(column: KeyColumn, values: IntArray) -> IntArray:
    """Return the least value of each distinct key."""
    found = np.full(len(column.words), np.iinfo(np.int64).max)
    np.minimum.at(found, column.numbers, values)
    return found
