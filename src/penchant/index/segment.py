"""How do pieces lie in memory? Immutable arrays in id order: forward by piece, and postings by term.

A segment never knows which of its pieces are still live: that is the snapshot's. All of it is arrays, so that it
can be written to a file and mapped by any number of processes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penchant.index.layout import (
    Days,
    FloatArray,
    Frequent,
    IntArray,
    Norms,
    Numbers,
    Postings,
    Weights,
)
from penchant.index.strings import Strings

Factors = tuple[int, ...]
"""A factor for each of a segment's categories, in their order."""
MAX_NORMS = 4
"""Sets of category factors whose norms a segment keeps: now and then settings change, and previews compare."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SegmentNorms:
    """What distances divide by, for one set of category factors.

    ``count`` is of a piece's terms, ``size`` of the sum of factors over its terms, ``dot`` of its vector of
    weight x factor, squared where exact. ``roots`` (n_pieces,) are norms of the vector of the weights' roots x
    factor.
    """

    count: Norms
    size: Norms
    dot: Norms
    roots: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Segment:
    """``n`` pieces, ``v`` terms, ``z`` (piece, term) pairs.

    ``ids`` (n), ``terms`` (v), ``categories`` and ``catalogs`` ascend; a term is written as its category, a NUL
    and its keyword, and ``category_of`` (v,) numbers its category. ``starts`` (n + 1,) cuts ``piece_terms`` and
    ``piece_weights`` (z,) into pieces, whose terms ascend. ``posting_starts`` (v + 1,) cuts ``posting_pieces`` and
    ``posting_weights`` (z,) into terms. ``available_from`` (n,) is in milliseconds since 1970 UTC, ``days`` (n,)
    its UTC day; ``ending`` are the places, ascending, of pieces with an end, ``available_until`` these ends.
    ``catalog_starts`` cuts ``catalog_pieces`` into catalogs. ``bits``, ``signatures``, ``slots`` and ``columns``:
    see `layout.Frequent`. ``squares`` and ``roots`` (n,) are the norms where every category counts 1.
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
    bits: NDArray[np.int8]
    signatures: NDArray[np.uint64]
    slots: NDArray[np.int16]
    columns: NDArray[np.uint8]
    squares: FloatArray
    roots: FloatArray
    postings: Postings = field(init=False)
    frequent: Frequent = field(init=False)
    greatest_weight: int = field(init=False)
    category_names: tuple[str, ...] = field(init=False)
    _norms: dict[Factors, SegmentNorms] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        postings = Postings(self.posting_starts, self.posting_pieces, self.posting_weights)
        object.__setattr__(self, "postings", postings)
        object.__setattr__(self, "frequent", Frequent(self.bits, self.signatures, self.slots, self.columns))
        object.__setattr__(self, "greatest_weight", int(self.posting_weights.max(initial=0)))
        object.__setattr__(self, "category_names", tuple(self.categories))

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Segment":
        """Return the segment of these arrays, as `arrays` names them; they are used, not copied."""
        members: dict[str, Any] = {}
        for each in stored_fields():
            if each in STRINGS:
                members[each] = Strings(arrays[f"{each}.starts"], arrays[f"{each}.text"])
            else:
                members[each] = arrays[each]
        return cls(**members)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays of the segment by name."""
        found: dict[str, NDArray[Any]] = {}
        for name in stored_fields():
            value = getattr(self, name)
            if isinstance(value, Strings):
                found |= {f"{name}.starts": value.starts, f"{name}.text": value.text}
            else:
                found[name] = value
        return found

    @property
    def nbytes(self) -> int:
        """How much memory the arrays take."""
        kept = [norms for factors, norms in self._norms.items() if set(factors) != {1}]
        extra = sum(each.dot.exact.nbytes * 3 + each.dot.bounds.nbytes * 2 for each in kept)
        return extra + sum(array.nbytes for array in self.arrays().values())

    def piece(self, place: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the terms of a piece, ascending, and their weights."""
        cut = slice(self.starts[place], self.starts[place + 1])
        return self.piece_terms[cut], self.piece_weights[cut]

    def catalog(self, name: str) -> Numbers:
        """Return the places, ascending, of the pieces in a catalog."""
        number = self.catalogs.find(name)
        if number is None:
            return self.catalog_pieces[:0]
        return self.catalog_pieces[self.catalog_starts[number] : self.catalog_starts[number + 1]]

    def norms(self, factors: Factors) -> SegmentNorms:
        """Return the norms under these category factors; computed once for each."""
        norms = self._norms.get(factors)
        if norms is None:
            if len(self._norms) >= MAX_NORMS:
                self._norms.clear()
            norms = self._norms[factors] = self._measure(factors)
        return norms

    def _measure(self, factors: Factors) -> SegmentNorms:
        counts = np.diff(self.starts)
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


STRINGS = frozenset({"ids", "terms", "categories", "catalogs"})


def stored_fields() -> list[str]:
    """Return the names of what makes a segment; all else follows from it."""
    return [each.name for each in fields(Segment) if each.init]


def sums_by_piece(values: FloatArray, starts: IntArray) -> FloatArray:
    """Return the sum of each piece's values, added in their order; shape (n_pieces,)."""
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return np.bincount(owners, weights=values, minlength=len(starts) - 1).astype(np.float64)


def _norms(values: FloatArray, exact: FloatArray) -> Norms:
    greatest = float(values.max(initial=0.0))
    scale = np.iinfo(np.uint16).max / greatest if greatest else 1.0
    return Norms(np.minimum(np.floor(values * scale), np.iinfo(np.uint16).max).astype(np.uint16), scale, exact)
