"""Segment: pieces in memory, as immutable arrays in the order of ids: forward by piece, and postings by term.

A segment never knows which of its pieces are still live: that is the snapshot's. All of it is arrays, so that it
can be written to a file and mapped by any number of processes. Two pieces, of row 0 with the terms 0 and 1, and of
row 1 with the terms 0 and 2:

    starts          0 2 4       piece_terms     0 1 | 0 2      cut into pieces
    posting_starts  0 2 3 4     posting_pieces  0 1 | 0 | 1    cut into terms, each of which some piece has
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penchant_engine.attributes import MarkSpan
from penchant_engine.computed import computed
from penchant_engine.index.layout import (
    Days,
    FloatArray,
    FrequentTerms,
    IntArray,
    Norms,
    Numbers,
    PieceEntries,
    Postings,
    Weights,
)
from penchant_engine.index.records import ArrayMembers
from penchant_engine.index.strings import Strings

Factors = tuple[int, ...]
"""A factor for each of a segment's categories, in their order."""
SUMMED_PIECES = 1 << 16
"""Pieces whose weights are added up at once."""
MAX_NORMS = 4
"""Sets of category factors whose norms a segment keeps: now and then settings change, and previews compare."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SegmentNorms:
    """Norms that distances divide by, for one set of category factors.

    ``count`` is of a piece's terms, ``size`` of the sum of factors over its terms, ``dot`` of its vector of
    weight x factor, squared where exact. ``roots`` (n_pieces,) are norms of the vector of the weights' roots x
    factor, ``scaled`` has them by what they were multiplied with.
    """

    count: Norms
    size: Norms
    dot: Norms
    roots: FloatArray
    scaled: dict[float, FloatArray] = field(init=False, default_factory=dict)

    def scaled_roots(self, unit: float) -> FloatArray:
        """Return ``roots`` times what a factor of 1 stands for; worked out once for each."""
        if unit == 1:
            return self.roots
        roots = self.scaled.get(unit)
        if roots is None:
            roots = self.scaled[unit] = self.roots * unit
        return roots


@dataclass(frozen=True, eq=False, kw_only=True)
class Segment(ArrayMembers):
    """``n`` pieces, ``v`` terms, ``z`` (piece, term) pairs.

    ``ids`` (n), ``terms`` (v), ``categories`` and ``catalogs`` ascend; a term is written as its category, a NUL
    and its keyword, and ``category_of`` (v,) numbers its category. ``starts`` (n + 1,) cuts ``piece_terms`` and
    ``piece_weights`` (z,) into pieces, whose terms ascend. ``posting_starts`` (v + 1,) cuts ``posting_pieces`` and
    ``posting_weights`` (z,) into terms. ``available_from`` (n,) is in milliseconds since 1970 UTC, ``days`` (n,)
    its UTC day; ``ending`` are the rows, ascending, of pieces with an end, ``available_until`` these ends.
    ``catalog_starts`` cuts ``catalog_pieces`` into catalogs, and ``mark_starts`` cuts ``mark_pieces`` into ``marks``,
    which ascend, of ``attributes``, in the order of their numbers. ``reading`` has the name of how the keywords were
    read, and nothing where they are as they were submitted. ``bits``, ``signatures``, ``slots`` and ``columns``:
    see `layout.FrequentTerms`. ``squares`` and ``roots`` (n,) are the norms where every category counts 1.
    """

    ids: Strings
    terms: Strings
    categories: Strings
    catalogs: Strings
    category_of: Numbers
    starts: IntArray
    piece_terms: Numbers
    piece_weights: Weights
    posting_starts: IntArray
    posting_pieces: Numbers
    posting_weights: Weights
    weighted: NDArray[np.uint8]
    available_from: IntArray
    days: Days
    ending: Numbers
    available_until: IntArray
    catalog_starts: IntArray
    catalog_pieces: Numbers
    attributes: Strings
    marks: Strings
    mark_starts: IntArray
    mark_pieces: Numbers
    reading: Strings
    bits: NDArray[np.int8]
    signatures: NDArray[np.uint64]
    slots: NDArray[np.int16]
    columns: NDArray[np.uint8]
    squares: FloatArray
    roots: FloatArray
    postings: Postings = field(init=False)
    entries: PieceEntries = field(init=False)
    frequent: FrequentTerms = field(init=False)
    greatest_weight: int = field(init=False)
    category_names: tuple[str, ...] = field(init=False)
    _norms: dict[Factors, SegmentNorms] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        postings = Postings(self.posting_starts, self.posting_pieces, self.posting_weights)
        object.__setattr__(self, "postings", postings)
        object.__setattr__(self, "entries", PieceEntries(self.starts, self.piece_terms, self.piece_weights))
        object.__setattr__(self, "frequent", FrequentTerms(self.bits, self.signatures, self.slots, self.columns))
        object.__setattr__(self, "greatest_weight", int(self.posting_weights.max(initial=0)))
        object.__setattr__(self, "category_names", tuple(self.categories))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """How much memory the arrays take."""
        kept = [norms for factors, norms in self._norms.items() if set(factors) != {1}]
        extra = sum(each.dot.exact.nbytes * 3 + each.dot.bounds.nbytes * 2 for each in kept)
        # A copy, since another thread may add one.
        scaled = sum(each.roots.nbytes * len(each.scaled) for each in list(self._norms.values()))
        return extra + scaled + self._array_bytes

    @computed
    def _array_bytes(self) -> int:
        return sum(array.nbytes for array in self.arrays().values())

    def piece(self, row: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the terms of a piece, ascending, and their weights."""
        cut = slice(self.starts[row], self.starts[row + 1])
        return self.piece_terms[cut], self.piece_weights[cut]

    def having(self, term: str) -> Numbers:
        """Return the rows, ascending, of the pieces that have a term, given as it is written in the table."""
        number = self.terms.find(term)
        if number is None:
            return self.posting_pieces[:0]
        return self.posting_pieces[self.posting_starts[number] : self.posting_starts[number + 1]]

    def having_category(self, name: str) -> Numbers:
        """Return the rows of the pieces that have a keyword of a category, by term; a row may come more than once."""
        # Its terms are written as its name, a NUL and a keyword: they lie together in the table, which ascends.
        begin, end = self.terms.position(f"{name}\0"), self.terms.position(f"{name}\1")
        return self.posting_pieces[self.posting_starts[begin] : self.posting_starts[end]]

    def catalog(self, name: str) -> Numbers:
        """Return the rows, ascending, of the pieces in a catalog."""
        number = self.catalogs.find(name)
        if number is None:
            return self.catalog_pieces[:0]
        return self.catalog_pieces[self.catalog_starts[number] : self.catalog_starts[number + 1]]

    def marked(self, span: MarkSpan) -> Numbers:
        """Return the rows of the pieces with a mark of a span, by mark; a row may come more than once."""
        begin, end = self.marks.position(span.first), self.marks.position(span.behind)
        return self.mark_pieces[self.mark_starts[begin] : self.mark_starts[end]]

    def norms(self, factors: Factors) -> SegmentNorms:
        """Return the norms under these category factors; computed once for each."""
        # Several threads may come here at once: each then computes the same, and one of them is kept.
        norms = self._norms.get(factors)
        if norms is None:
            if len(self._norms) >= MAX_NORMS:
                self._norms.clear()
            norms = self._norms[factors] = self._measure(factors)
        return norms

    def _measure(self, factors: Factors) -> SegmentNorms:
        counts = np.diff(self.starts)
        # Bounds that are cut off at 255 are lower than the truth, as bounds may be.
        count = Norms(np.minimum(counts, 255).astype(np.uint8), 1.0, counts.astype(np.uint32))
        if set(factors) <= {1}:
            sizes, squares, roots = counts.astype(np.float64), self.squares, self.roots
        else:
            table = np.asarray(factors, dtype=np.float64)[self.category_of]
            factor, weight = table[self.piece_terms], self.piece_weights.astype(np.float64)
            sizes = sums_by_piece(factor, self.starts)
            squares = sums_by_piece((weight * factor) ** 2, self.starts)
            roots = np.sqrt(sums_by_piece(weight * factor**2, self.starts))
        return SegmentNorms(count=count, size=_norms(sizes, sizes), dot=_norms(np.sqrt(squares), squares), roots=roots)


def sums_by_piece(values: FloatArray, starts: IntArray) -> FloatArray:
    """Return the sum of each piece's values, added in their order; shape (n_pieces,)."""
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return np.bincount(owners, weights=values, minlength=len(starts) - 1).astype(np.float64)


def weight_sums(weights: Weights, starts: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the sums of each piece's weights, squared and as they are; shapes (n_pieces,).

    Exact in doubles, since they are sums of integers; made for some thousands of pieces at a time.
    """
    count = len(starts) - 1
    squares, sums = np.empty(count), np.empty(count)
    for begin in range(0, count, SUMMED_PIECES):
        cut = slice(begin, min(begin + SUMMED_PIECES, count))
        own = starts[cut.start : cut.stop + 1]
        real = weights[own[0] : own[-1]].astype(np.float64)
        squares[cut], sums[cut] = sums_by_piece(real * real, own - own[0]), sums_by_piece(real, own - own[0])
    return squares, sums


def _norms(values: FloatArray, exact: FloatArray) -> Norms:
    """Return norms with bounds of 16 bits, as `layout.Norms` says: rounded down, scaled to use them all."""
    greatest = float(values.max(initial=0.0))
    scale = np.iinfo(np.uint16).max / greatest if greatest else 1.0
    return Norms(np.minimum(np.floor(values * scale), np.iinfo(np.uint16).max).astype(np.uint16), scale, exact)
