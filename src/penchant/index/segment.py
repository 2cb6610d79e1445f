"""How do pieces lie in memory? Immutable arrays in id order: forward by piece, and postings by term.

A segment never knows which of its pieces are still live: that is the snapshot's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from penchant.index.vocabulary import Vocabulary
from penchant.model import DAY_MS, Piece

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
CategoryFactors: TypeAlias = tuple[int, ...]
"""A factor for each category by its number; categories past the end have the last one."""

NEVER = np.iinfo(np.int64).max
"""The end of a window that has none."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Norms:
    """What distances divide by, for one set of category factors; each of shape (n_pieces,), float64.

    ``size`` is the sum of factors over a piece's terms, ``square`` the sum of (weight x factor)^2, ``root``
    the square root of the sum of weight x factor^2. All sums are of integers and so exact.
    """

    size: FloatArray
    square: FloatArray
    root: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Segment:
    """Pieces as arrays. ``n`` pieces, ``z`` (piece, term) pairs.

    ``ids`` ascend. ``starts`` (n + 1,) cuts ``terms`` and ``weights`` (z,) into pieces. ``available_from`` and
    ``available_until`` (n,) are in milliseconds since 1970 UTC. ``catalogs`` maps a name to piece positions.
    """

    ids: Sequence[str]
    starts: IntArray
    terms: IntArray
    weights: IntArray
    weighted: BoolArray
    available_from: IntArray
    available_until: IntArray
    catalogs: Mapping[str, IntArray]
    category_of: IntArray
    _norms: dict[CategoryFactors, Norms] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def positions(self) -> dict[str, int]:
        """Return the position of each id."""
        return {piece_id: position for position, piece_id in enumerate(self.ids)}

    @cached_property
    def owners(self) -> IntArray:
        """Return the piece position of every (piece, term) pair; shape (z,)."""
        return np.repeat(np.arange(len(self.ids)), np.diff(self.starts))

    @cached_property
    def _postings(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return distinct terms, their cuts, and piece positions and weights by term then position."""
        order = np.argsort(self.terms, kind="stable")
        distinct, cuts = np.unique(self.terms[order], return_index=True)
        return distinct, np.append(cuts, len(order)), self.owners[order], self.weights[order]

    @cached_property
    def available_day(self) -> IntArray:
        """Return the UTC day on which each piece becomes available; shape (n,)."""
        return self.available_from // DAY_MS

    def posting(self, term: int) -> tuple[IntArray, IntArray]:
        """Return the positions, ascending, of the pieces with a term, and its weight in each."""
        distinct, cuts, owners, weights = self._postings
        place = int(np.searchsorted(distinct, term))
        if place == len(distinct) or distinct[place] != term:
            return owners[:0], weights[:0]
        return owners[cuts[place] : cuts[place + 1]], weights[cuts[place] : cuts[place + 1]]

    def piece_terms(self, position: int) -> tuple[IntArray, IntArray]:
        """Return the term numbers of a piece and their weights."""
        cut = slice(self.starts[position], self.starts[position + 1])
        return self.terms[cut], self.weights[cut]

    def norms(self, factors: CategoryFactors) -> Norms:
        """Return the norms under these category factors; computed once for each."""
        norms = self._norms.get(factors)
        if norms is None:
            norms = self._norms[factors] = self._measure(factors)
        return norms

    def _measure(self, factors: CategoryFactors) -> Norms:
        table = np.asarray(factors, dtype=np.float64)
        factor = table[np.minimum(self.category_of, len(table) - 1)]
        weight = self.weights.astype(np.float64)

        def per_piece(values: FloatArray) -> FloatArray:
            return np.bincount(self.owners, weights=values, minlength=len(self.ids)).astype(np.float64)

        return Norms(
            size=per_piece(factor),
            square=per_piece((weight * factor) ** 2),
            root=np.sqrt(per_piece(weight * factor**2)),
        )


def build_segment(pieces: Sequence[Piece], vocabulary: Vocabulary) -> Segment:
    """Return a segment of these pieces, giving numbers to their new terms."""
    ordered = sorted(pieces, key=lambda piece: piece.id)
    terms: list[int] = []
    weights: list[int] = []
    starts = [0]
    catalogs: dict[str, list[int]] = {}
    for position, piece in enumerate(ordered):
        terms += [vocabulary.add(term) for term in piece.weights]
        weights += piece.weights.values()
        starts.append(len(terms))
        for catalog in piece.catalogs:
            catalogs.setdefault(catalog, []).append(position)
    category_of = vocabulary.category_of
    ends = [NEVER if piece.available_until is None else piece.available_until for piece in ordered]
    return Segment(
        ids=tuple(piece.id for piece in ordered),
        starts=np.asarray(starts, dtype=np.int64),
        terms=np.asarray(terms, dtype=np.int64),
        weights=np.asarray(weights, dtype=np.int64),
        weighted=np.asarray([piece.weighted for piece in ordered], dtype=np.bool_),
        available_from=np.asarray([piece.available_from for piece in ordered], dtype=np.int64),
        available_until=np.asarray(ends, dtype=np.int64),
        catalogs={name: np.asarray(places, dtype=np.int64) for name, places in catalogs.items()},
        category_of=np.asarray([category_of[term] for term in terms], dtype=np.int64),
    )


def merge_segments(parts: Sequence[tuple[Segment, BoolArray]]) -> Segment:
    """Return one segment of the pieces of several that are live; their ids are distinct."""
    kept = [np.flatnonzero(live) for _, live in parts]
    ids = [segment.ids[place] for (segment, _), places in zip(parts, kept, strict=True) for place in places.tolist()]
    order = np.asarray(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64)
    # Where each kept piece's pairs begin in the parts' concatenated arrays, and how many they are.
    offsets = np.cumsum([0, *(len(segment.terms) for segment, _ in parts)])
    begins = _joined(segment.starts[:-1][k] + o for (segment, _), k, o in zip(parts, kept, offsets, strict=False))
    counts = _joined(np.diff(segment.starts)[k] for (segment, _), k in zip(parts, kept, strict=True))
    counts = counts[order]
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
    pairs = np.arange(starts[-1]) + np.repeat(begins[order] - starts[:-1], counts)

    def pick(name: str) -> IntArray:
        values = (getattr(segment, name)[k] for (segment, _), k in zip(parts, kept, strict=True))
        return np.concatenate(list(values))[order]

    return Segment(
        ids=tuple(ids[place] for place in order.tolist()),
        starts=starts,
        terms=_joined(segment.terms for segment, _ in parts)[pairs],
        weights=_joined(segment.weights for segment, _ in parts)[pairs],
        weighted=pick("weighted").astype(np.bool_),
        available_from=pick("available_from"),
        available_until=pick("available_until"),
        catalogs=_merge_catalogs(parts, kept, order),
        category_of=_joined(segment.category_of for segment, _ in parts)[pairs],
    )


def _joined(arrays: object) -> IntArray:
    return np.concatenate(list(arrays))  # type: ignore[call-overload]


def _merge_catalogs(
    parts: Sequence[tuple[Segment, BoolArray]], kept: Sequence[IntArray], order: IntArray
) -> dict[str, IntArray]:
    """Return the positions of each catalog's pieces after pieces were kept and put into a new order."""
    moved = np.empty(len(order), dtype=np.int64)
    moved[order] = np.arange(len(order))
    gathered: dict[str, list[IntArray]] = {}
    base = 0
    for (segment, _), places in zip(parts, kept, strict=True):
        now_at = np.full(len(segment), -1, dtype=np.int64)
        now_at[places] = moved[base : base + len(places)]
        for name, positions in segment.catalogs.items():
            staying = now_at[positions]
            staying = staying[staying >= 0]
            if len(staying):
                gathered.setdefault(name, []).append(staying)
        base += len(places)
    return {name: np.sort(np.concatenate(found)) for name, found in gathered.items()}
