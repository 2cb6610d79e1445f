"""Arrays: runs, counts and sums of numbers."""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from penchant_engine.index.layout import BoolArray, IntArray, Numbers

COUNTED = 1 << 22
"""Numbers that are counted at once."""


def is_first(ascending: IntArray | NDArray[np.uint64]) -> BoolArray:
    """Return where ascending numbers are not the same as the one before."""
    firsts = np.ones(len(ascending), dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=firsts[1:])
    return firsts


def merged(one: IntArray, other: IntArray) -> IntArray:
    """Return the numbers of two ascending arrays, ascending; one that is in both comes twice."""
    if not len(one) or not len(other):
        return one if len(one) else other
    together = np.concatenate((one, other))
    # It merges runs, and takes a fifth of the time of `numpy.union1d`.
    together.sort(kind="stable")
    return together


def over_ranges(count: int, threads: int, work: Callable[[slice], None]) -> None:
    """Have ranges of 0 to ``count`` worked on at once, each by a thread, by what lets others run meanwhile."""
    if threads == 1:
        work(slice(0, count))
        return
    cuts = itertools.pairwise(count * number // threads for number in range(threads + 1))
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, itertools.starmap(slice, cuts)):
            pass


def starts_of(counts: IntArray | BoolArray) -> IntArray:
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


def run_sums(values: IntArray, starts: IntArray) -> IntArray:
    """Return the sum of each run of values; ``starts`` cuts them into runs."""
    running = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=running[1:])
    return running[starts[1:]] - running[starts[:-1]]


def exact_sum(values: IntArray) -> int:
    """Return a sum that may pass 64 bits."""
    # Upper and lower halves apart: the sum of either fits for two billion values.
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())
