"""Which code searches? Compiled kernels for what they are ready for, numpy otherwise: the answers are the same.

Compiling takes seconds, so it is somebody else's (`penchant.live.compiling`), who hands the kernels in by `use`.
"""

from collections.abc import Set as AbstractSet
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penchant.index import exact
from penchant.index.exact import Best
from penchant.index.layout import (
    COUNT,
    DOT,
    Blending,
    Choice,
    Crowd,
    Figures,
    FloatArray,
    Frequent,
    IntArray,
    Norms,
    Postings,
    Query,
    Taste,
)

Text: TypeAlias = NDArray[np.uint8]
Kind = tuple[str, str]
"""What a kernel is compiled for: the type of its sums and that of weights, as numpy's characters."""

BLOCK = 65_536
"""Sums that a kernel holds at once; see `kernels.BLOCK`."""
UNWEIGHTED = np.zeros(0, dtype=np.uint8)


class _Engine:
    """The compiled kernels of this process, once there are any. They change no answer, only its speed."""

    def __init__(self) -> None:
        self.kernels: ModuleType | None = None
        self.ready: AbstractSet[Kind] = frozenset()
        self.wanted: set[Kind] = set()

    def kernel(self, name: str, kind: Kind) -> Any:
        """Return a compiled kernel, or ``None`` where it is not ready; then it is noted as wanted."""
        if kind in self.ready:
            return getattr(self.kernels, name)
        self.wanted.add(kind)
        return None


_engine = _Engine()
FINDING: Kind = ("find", "")
OVERLAPPING: Kind = ("overlaps", "")
KINDS: tuple[Kind, ...] = (FINDING, OVERLAPPING, ("B", "B"), ("h", "B"), ("i", "B"), ("d", "B"))
"""The kinds that most catalogues need; those with weights of 16 bits are compiled when they are wanted."""


def use(kernels: ModuleType | None, ready: AbstractSet[Kind]) -> None:
    """Search with these kernels from now on, for the kinds that are ready; with none, by numpy alone."""
    _engine.kernels, _engine.ready = kernels, ready


def wanted() -> set[Kind]:
    """Return the kinds that were asked for and are not ready."""
    return _engine.wanted - _engine.ready


def nearest(query: Query, postings: Postings, frequent: Frequent, norms: Norms, choice: Choice) -> Best:
    """Return the nearest pieces of a segment; see `exact.nearest`."""
    sums_type = query.values.dtype
    if sums_type == np.uint8:
        postings = Postings(postings.starts, postings.pieces, UNWEIGHTED)
    kernel = None
    if sums_type != np.float64:
        kernel = _engine.kernel("nearest", (sums_type.char, postings.weights.dtype.char))
    if kernel is None:
        return exact.nearest(query, postings, norms, choice)
    keys, places = np.empty(choice.take, dtype=np.int64), np.empty(choice.take, dtype=np.int64)
    sums = np.empty(min(BLOCK, len(choice.mask)), dtype=sums_type)
    kernel(query, postings, frequent, norms, choice, sums, keys, places)
    return _sorted(keys, places, choice.limit)


def best(taste: Taste, blending: Blending, postings: Postings, figures: Figures, choice: Choice) -> Best:
    """Return the best recommendations of a segment; see `exact.best`."""
    kernel = _engine.kernel("best", ("d", postings.weights.dtype.char))
    if kernel is None:
        return exact.best(taste, blending, postings, figures, choice)
    keys, places = np.empty(choice.take, dtype=np.int64), np.empty(choice.take, dtype=np.int64)
    kernel(taste, blending, postings, figures, choice, keys, places)
    return _sorted(keys, places, choice.limit)


def overlaps(crowd: Crowd, seeds: IntArray, values: FloatArray, piece_count: int) -> tuple[IntArray, float]:
    """Return the overlaps of a person's audience with each piece's; see `exact.overlaps`."""
    kernel = _engine.kernel("overlaps", OVERLAPPING)
    if kernel is None:
        return exact.overlaps(crowd, seeds, values, piece_count)
    found = np.zeros(piece_count, dtype=np.int64)
    return found, float(kernel(crowd, seeds, values, np.zeros(len(crowd.inverse)), found))


def find(
    starts: IntArray, text: Text, wanted_starts: IntArray, wanted_text: Text, numbers: IntArray
) -> IntArray | None:
    """Return where strings of one table are in another, ascending one, -1 for nowhere; ``None``: not ready."""
    kernel = _engine.kernel("find", FINDING)
    if kernel is None:
        return None
    found = np.empty(len(numbers), dtype=np.int64)
    kernel(starts, text, wanted_starts, wanted_text, numbers, found)
    return found


def _sorted(keys: IntArray, places: IntArray, limit: int) -> Best:
    order = np.lexsort((places, keys))
    keys, places = keys[order], places[order]
    if keys[-1] >= limit:
        count = int(np.searchsorted(keys, limit))
        keys, places = keys[:count], places[:count]
    return keys, places


def compile_kind(kernels: ModuleType, kind: Kind) -> None:
    """Compile a kernel for a kind, or load it from the cache, by a search among no pieces. Takes up to 3 s."""
    numbers, none, choice = np.zeros(1, dtype=np.int64), np.zeros(0), _NOTHING
    if kind == FINDING:
        kernels.find(numbers, UNWEIGHTED, numbers, UNWEIGHTED, numbers[:0], numbers[:0].copy())
        return
    if kind == OVERLAPPING:
        people = np.zeros(0, dtype=np.uint32)
        crowd = Crowd(numbers, numbers, people, numbers, people, numbers, people, numbers, people, numbers[:0])
        kernels.overlaps(crowd, numbers[:0], none, none, numbers[:0].copy())
        return
    sums_type, weights_type = (np.dtype(name) for name in kind)
    postings = Postings(numbers, np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=weights_type))
    if sums_type == np.float64:
        taste = Taste(numbers[:0], none, none, 1.0, 1.0)
        blending = Blending(1.0, 1.0, 1.0, total=1.0, median=1.0, credits=np.zeros(1), today=0)
        figures = Figures(none, np.zeros(0, dtype=np.int32), none, none)
        kernels.best(taste, blending, postings, figures, choice, numbers, numbers.copy())
        return
    norms = Norms(np.zeros(0, dtype=np.uint16), 1.0, none)
    if sums_type == np.uint8:
        norms = Norms(UNWEIGHTED, 1.0, np.zeros(0, dtype=np.uint32))
    query = Query(COUNT if sums_type == np.uint8 else DOT, numbers[:0], np.zeros(0, dtype=sums_type), 1.0)
    frequent = Frequent(
        np.zeros(0, dtype=np.int8),
        np.zeros(0, dtype=np.uint64),
        np.zeros(0, dtype=np.int16),
        np.zeros((0, 0), dtype=np.uint8),
    )
    kernels.nearest(query, postings, frequent, norms, choice, np.zeros(0, dtype=sums_type), numbers, numbers.copy())


_NOTHING = Choice(np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.int64), 1, 1)
