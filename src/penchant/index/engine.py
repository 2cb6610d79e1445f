"""Engine: each search by compiled kernels where they are ready, by numpy otherwise, with the same answers.

Compiling takes seconds, so a thread of `penchant.live.compiling` does it and hands the kernels in by `use`. States of a
kind of kernel (`Kind`), and who moves it on:

    unknown --a search, `kernel`--> wanted --the thread, `compile_kind`--> compiled --the thread, `use`--> ready
    '---------------------------------- numpy searches ------------------------------------'      kernels search

Those of `KINDS` are compiled without being wanted first. While a service runs, no kind goes back.
"""

from collections.abc import Set as AbstractSet
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penchant.index import exact, ridge_exact
from penchant.index.best import Hits, in_order
from penchant.index.layout import (
    COUNT,
    DOT,
    BlendFactors,
    Choice,
    FloatArray,
    FrequentTerms,
    IntArray,
    KernelQuery,
    LikeMatrix,
    LikenessNorms,
    Norms,
    PieceFigures,
    Postings,
    SparseRows,
    Taste,
    WeightMatrix,
)

Text: TypeAlias = NDArray[np.uint8]
Kind = tuple[str, str]
"""What a kernel is compiled for: the type of its sums and that of weights, as numpy's characters."""

BLOCK = 65_536
"""Sums that a kernel holds at once: equal to `kernels.BLOCK`, which cannot be imported without numba."""
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
RIDGE: Kind = ("ridge", "")
MAX_DENSE = 500
"""Pieces of which numpy makes weights: all their pairs are held at once."""
KINDS: tuple[Kind, ...] = (FINDING, RIDGE, ("B", "B"), ("h", "B"), ("i", "B"), ("d", "B"))
"""The kinds that most catalogues need; those with weights of 16 bits are compiled when they are wanted."""


def use(kernels: ModuleType | None, ready: AbstractSet[Kind]) -> None:
    """Search with these kernels from now on, for the kinds that are ready; with none, by numpy alone."""
    # In this order, and by new sets: a search in another thread that sees a kind ready finds its module as well.
    _engine.kernels, _engine.ready = kernels, ready


def wanted() -> set[Kind]:
    """Return the kinds that were asked for and are not ready."""
    return _engine.wanted - _engine.ready


def is_ready(*kinds: Kind) -> bool:
    """Return whether kernels are compiled for these kinds."""
    return _engine.ready >= set(kinds)


def nearest(query: KernelQuery, postings: Postings, frequent: FrequentTerms, norms: Norms, choice: Choice) -> Hits:
    """Return the nearest pieces of a segment; see `exact.nearest`."""
    sums_type = query.values.dtype
    # Shared terms are counted without their weights: one kind of kernel serves weights of 8 and of 16 bits.
    if sums_type == np.uint8:
        postings = Postings(postings.starts, postings.pieces, UNWEIGHTED)
    kernel = None
    # Integers past 32 bits come as reals, and numpy alone counts those: of real sums only `best` has kernels.
    if sums_type != np.float64:
        kernel = _engine.kernel("nearest", (sums_type.char, postings.weights.dtype.char))
    if kernel is None:
        return exact.nearest(query, postings, norms, choice)
    keys, rows = np.empty(choice.take, dtype=np.int64), np.empty(choice.take, dtype=np.int64)
    sums = np.empty(min(BLOCK, len(choice.mask)), dtype=sums_type)
    kernel(query, postings, frequent, norms, choice, sums, keys, rows)
    return in_order(keys, rows, choice.limit)


def best(taste: Taste, blending: BlendFactors, postings: Postings, figures: PieceFigures, choice: Choice) -> Hits:
    """Return the best recommendations of a segment; see `exact.best`."""
    kernel = _engine.kernel("best", ("d", postings.weights.dtype.char))
    if kernel is None:
        return exact.best(taste, blending, postings, figures, choice)
    keys, rows = np.empty(choice.take, dtype=np.int64), np.empty(choice.take, dtype=np.int64)
    kernel(taste, blending, postings, figures, choice, keys, rows)
    return in_order(keys, rows, choice.limit)


def find(
    starts: IntArray, text: Text, wanted_starts: IntArray, wanted_text: Text, numbers: IntArray
) -> IntArray | None:
    """Return by string of one table its number in another, ascending one, -1 if missing; ``None``: not ready."""
    kernel = _engine.kernel("find", FINDING)
    if kernel is None:
        return None
    found = np.empty(len(numbers), dtype=np.int64)
    kernel(starts, text, wanted_starts, wanted_text, numbers, found)
    return found


def ridge_rows(
    likes: LikeMatrix, squares: IntArray, k: int, block: int
) -> tuple[IntArray, NDArray[np.int32], NDArray[np.uint8]]:
    """Return by piece its neighbours, ascending, -1 for none, their weights, and how many people like both.

    Shapes (n_pieces, k). ``squares`` is G_ii; kernels hold what they need of so many pieces as ``block`` at once.
    """
    count = len(squares)
    near, overlaps = np.full((count, k), -1, dtype=np.int64), np.zeros((count, k), dtype=np.int64)
    people, counts = np.zeros((count, k), dtype=np.uint8), np.zeros(count, dtype=np.int64)
    weights = np.zeros((count, k), dtype=np.int32)
    kernel = _engine.kernel("neighbours", RIDGE)
    if kernel is None:
        matrix, both = ridge_exact.overlap_matrix(likes)
        for piece in np.flatnonzero(squares).tolist():
            found = ridge_exact.nearest_pieces(matrix, piece, k)
            near[piece, : len(found)] = found
            weights[piece, : len(found)] = ridge_exact.ridge_weights(matrix, found, piece)
            people[piece, : len(found)] = np.minimum(both[piece, found], ridge_exact.MOST_PEOPLE)
        return near, weights, people
    kernel(likes, squares, 0, near, overlaps, people, counts)
    for first in range(0, count, block):
        cut = slice(first, min(count, first + block))
        entries = near[cut].reshape(-1)
        # The entries of the block by the piece they hold, those of -1 cut off; piece p owns starts[p] to starts[p + 1].
        order = np.argsort(entries, kind="stable")[np.count_nonzero(entries < 0) :]
        starts = np.searchsorted(entries[order], np.arange(count + 1))
        found = np.empty((cut.stop - first, k * (k + 1) // 2), dtype=np.uint32)
        _engine.kernel("triangles", RIDGE)(likes, near[cut], starts, order, found)
        _engine.kernel("solve", RIDGE)(found, overlaps[cut], counts[cut], weights[cut])
    return near, weights, people


def makes_weights(piece_count: int) -> bool:
    """Return whether weights of so many liked pieces can be made: numpy is for small sources alone."""
    return piece_count <= MAX_DENSE or _engine.kernel("neighbours", RIDGE) is not None


def stand_ins(
    terms: SparseRows, postings: SparseRows, norms: LikenessNorms, pieces: IntArray, most: int
) -> tuple[IntArray, FloatArray]:
    """Return the likest liked pieces of each of some pieces, and how alike they are; see `ridge_exact.stand_ins`."""
    kernel = _engine.kernel("stand_ins", RIDGE)
    if kernel is None:
        return ridge_exact.stand_ins(terms, postings, norms, pieces, most)
    found, likenesses = np.full((len(pieces), most), -1, dtype=np.int64), np.zeros((len(pieces), most))
    kernel(terms, postings, norms, pieces, found, likenesses)
    return found, likenesses


def likeness_squares(
    likes: LikeMatrix, starts: IntArray, terms: NDArray[np.uint32], units: IntArray, term_count: int
) -> IntArray:
    """Return by person the square of the sum of the vectors of all likes; see `ridge_exact.likeness_squares`."""
    kernel = _engine.kernel("likeness_squares", RIDGE)
    if kernel is None:
        return ridge_exact.likeness_squares(likes, starts, terms, units, term_count)
    found = np.zeros(len(likes.person_starts) - 1, dtype=np.int64)
    kernel(likes, starts, terms, units, term_count, found)
    return found


def shares(weights: WeightMatrix, seeds: IntArray, grades: IntArray, loan: float) -> FloatArray:
    """Return part a of all pieces for a person's likes; see `ridge_exact.shares`."""
    kernel = _engine.kernel("shares", RIDGE)
    if kernel is None:
        return ridge_exact.shares(weights, seeds, grades, loan)
    found = np.empty(len(weights.evidence))
    kernel(weights, seeds, grades, loan, *np.zeros((3, len(found)), np.int64), found)
    return found


def compile_kind(kernels: ModuleType, kind: Kind) -> None:
    """Compile a kernel for a kind, or load it from the cache, by a search among no pieces. Takes up to 3 s.

    Numba compiles for the types of a call: every argument has the type and number of dimensions that searches give.
    """
    numbers, none, choice = np.zeros(1, dtype=np.int64), np.zeros(0), _NOTHING
    if kind == FINDING:
        kernels.find(numbers, UNWEIGHTED, numbers, UNWEIGHTED, numbers[:0], numbers[:0].copy())
        return
    if kind == RIDGE:
        _compile_ridge(kernels)
        return
    sums_type, weights_type = (np.dtype(name) for name in kind)
    postings = Postings(numbers, np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=weights_type))
    if sums_type == np.float64:
        taste = Taste(numbers[:0], none, none, 1.0, 1.0)
        blending = BlendFactors(1.0, 1.0, 1.0, total=1.0)
        figures = PieceFigures(none, none, none)
        kernels.best(taste, blending, postings, figures, choice, numbers, numbers.copy())
        return
    norms = Norms(np.zeros(0, dtype=np.uint16), 1.0, none)
    if sums_type == np.uint8:
        norms = Norms(UNWEIGHTED, 1.0, np.zeros(0, dtype=np.uint32))
    query = KernelQuery(COUNT if sums_type == np.uint8 else DOT, numbers[:0], np.zeros(0, dtype=sums_type), 1.0)
    frequent = FrequentTerms(
        np.zeros(0, dtype=np.int8),
        np.zeros(0, dtype=np.uint64),
        np.zeros(0, dtype=np.int16),
        np.zeros((0, 0), dtype=np.uint8),
    )
    kernels.nearest(query, postings, frequent, norms, choice, np.zeros(0, dtype=sums_type), numbers, numbers.copy())


_NOTHING = Choice(np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.int64), 1, 1)


def _compile_ridge(kernels: ModuleType) -> None:
    """Compile the kernels of the audience part by calls with no pieces and no people, as `compile_kind`."""
    starts, none = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    numbers, bytes_ = np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.uint8)
    real, small = np.zeros(0), np.zeros(0, dtype=np.int32)
    likes = LikeMatrix(starts, numbers, bytes_, starts, numbers, bytes_)
    square = np.zeros((0, 1), dtype=np.int64)
    kernels.neighbours(likes, none, 0, square, square.copy(), np.zeros((0, 1), dtype=np.uint8), none.copy())
    kernels.triangles(likes, square, starts, none, np.zeros((0, 1), dtype=np.uint32))
    kernels.solve(np.zeros((0, 1), dtype=np.uint32), square, none, np.zeros((0, 1), dtype=np.int32))
    rows = SparseRows(starts, numbers, real)
    kernels.stand_ins(rows, rows, LikenessNorms(real, real, 0.0), none, square, np.zeros((0, 1)))
    kernels.likeness_squares(likes, starts, numbers, none, 0, none.copy())
    weights = WeightMatrix(starts, numbers, small, starts, numbers, small, small)
    kernels.shares(weights, none, none, 0.0, none.copy(), none.copy(), none.copy(), real)
