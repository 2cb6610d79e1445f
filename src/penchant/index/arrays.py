"""Arrays: records as arrays by name, for files that any number of processes map, and back; and sums over arrays."""

import itertools
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import Field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penchant.index.layout import BoolArray, IntArray, Numbers
from penchant.index.strings import Strings

COUNTED = 1 << 22
"""Numbers that are counted at once."""


def arrays_of(record: Any) -> dict[str, NDArray[Any]]:
    """Return what a record is made of as arrays by name; a table of strings is two of them."""
    found: dict[str, NDArray[Any]] = {}
    for each in _stored(type(record)):
        value = getattr(record, each.name)
        if isinstance(value, Strings):
            found |= {f"{each.name}.starts": value.starts, f"{each.name}.text": value.text}
        else:
            found[each.name] = value
    return found


def members_of(kind: type, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the members of a kind of record from arrays as `arrays_of` names them; they are used, not copied."""
    members: dict[str, Any] = {}
    for each in _stored(kind):
        if each.type is Strings:
            members[each.name] = Strings(arrays[f"{each.name}.starts"], arrays[f"{each.name}.text"])
        else:
            members[each.name] = arrays[each.name]
    return members


def is_first(ascending: IntArray | NDArray[np.uint64]) -> BoolArray:
    """Return where ascending numbers are not the same as the one before."""
    firsts = np.ones(len(ascending), dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=firsts[1:])
    return firsts


def over_ranges(count: int, threads: int, work: Callable[[slice], None]) -> None:
    """Have ranges of 0 to ``count`` worked on at once, each by a thread, by what lets others run meanwhile."""
    if threads == 1:
        work(slice(0, count))
        return
    cuts = itertools.pairwise(count * number // threads for number in range(threads + 1))
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, itertools.starmap(slice, cuts)):
            pass


def starts_of(counts: IntArray) -> IntArray:
    """Return where each run begins, and the end: cumulative counts from 0."""
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def run_places(begins: IntArray, counts: IntArray) -> IntArray:
    """Return the places of runs, one after the other, each of so many from where it begins."""
    starts = starts_of(counts)
    return np.arange(starts[-1]) + np.repeat(begins - starts[:-1], counts)


def count_numbers(numbers: Numbers, length: int) -> IntArray:
    """Return how often each number below ``length`` comes, as `numpy.bincount`, whose copy is of 8 bytes a number."""
    counts = np.zeros(length, dtype=np.int64)
    for begin in range(0, len(numbers), COUNTED):
        counts += np.bincount(numbers[begin : begin + COUNTED], minlength=length)
    return counts


def exact_sum(values: IntArray) -> int:
    """Return a sum that may pass 64 bits."""
    # Upper and lower halves apart: the sum of either fits for two billion values.
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def _stored(kind: Any) -> list[Field[Any]]:
    """Return the fields that make a record; all else follows from them."""
    return [each for each in fields(kind) if each.init]
