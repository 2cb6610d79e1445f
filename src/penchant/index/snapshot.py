"""Which pieces are nearest? An immutable state of a source that answers exactly, by definition.

Changes make a new snapshot; the old one stays valid for whoever still reads it. Nothing here knows the time
of day: moments are arguments.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penchant.errors import UnknownPiece
from penchant.index.segment import (
    BoolArray,
    CategoryFactors,
    FloatArray,
    IntArray,
    Norms,
    Segment,
    build_segment,
    merge_segments,
)
from penchant.index.vocabulary import Vocabulary
from penchant.model import Algorithm, Piece, Term

DISTANCE_SCALE = 10**12
"""Distances are rounded to 12 decimals (interface, section 5) and compared as integers of this unit."""
FACTOR_SCALE = 100
"""Category weights have at most two decimals; as integers of this unit every sum stays exact."""
MERGE_RATIO = 4
"""A segment is merged with its successor unless it is this many times larger: keeps their number logarithmic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which pieces may appear: in one of the catalogs, available at a moment (ms since 1970 UTC), not hidden."""

    moment: int
    catalogs: frozenset[str] | None = None
    hidden: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A piece and its distance from the one asked for."""

    id: str
    distance: float


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A segment with the mask of its live pieces; shape (n_pieces,), bool."""

    segment: Segment
    live: BoolArray

    def find(self, piece_id: str) -> int | None:
        """Return the position of a live piece."""
        position = self.segment.positions.get(piece_id)
        return position if position is not None and self.live[position] else None

    def allowed(self, shown: Filter) -> BoolArray:
        """Return which pieces are live and pass a filter; shape (n_pieces,), bool."""
        segment = self.segment
        allowed = self.live & (segment.available_from <= shown.moment)
        allowed &= shown.moment < segment.available_until
        if shown.catalogs is not None:
            inside = np.zeros(len(segment), dtype=np.bool_)
            for catalog in shown.catalogs:
                inside[segment.catalogs.get(catalog, [])] = True
            allowed &= inside
        hidden = [place for place in map(segment.positions.get, shown.hidden) if place is not None]
        allowed[hidden] = False
        return allowed


class Snapshot:
    """A source's pieces at one version: a few segments, newest last, with disjoint live pieces."""

    def __init__(self, vocabulary: Vocabulary, parts: tuple[Part, ...]) -> None:
        self._vocabulary = vocabulary
        self.parts = parts
        self.piece_count = sum(int(np.count_nonzero(part.live)) for part in parts)
        self._mean_norms: dict[CategoryFactors, float] = {}

    @classmethod
    def empty(cls) -> "Snapshot":
        """Return the snapshot of a source without pieces."""
        return cls(Vocabulary(), ())

    def apply(self, changes: Mapping[str, Piece | None]) -> "Snapshot":
        """Return the snapshot after pieces were stored or, where ``None``, deleted.

        Costs one pass over the masks plus, amortised, a logarithmic number of merges for each piece.
        """
        parts = [Part(part.segment, _without(part, changes)) for part in self.parts]
        stored = [piece for piece in changes.values() if piece is not None]
        if stored:
            segment = build_segment(stored, self._vocabulary)
            parts.append(Part(segment, np.ones(len(segment), dtype=np.bool_)))
        return Snapshot(self._vocabulary, _compacted(parts))

    def __contains__(self, piece_id: str) -> bool:
        return self._find(piece_id) is not None

    def terms_of(self, piece_id: str) -> dict[Term, int] | None:
        """Return the terms of a piece with their effective weights, or ``None`` for an unknown one."""
        found = self._find(piece_id)
        if found is None:
            return None
        terms, weights = found[0].segment.piece_terms(found[1])
        names = self._vocabulary.terms
        return {names[term]: weight for term, weight in zip(terms.tolist(), weights.tolist(), strict=True)}

    def in_catalogs(self, piece_id: str, catalogs: frozenset[str]) -> bool:
        """Return whether a live piece is in one of the catalogs."""
        found = self._find(piece_id)
        if found is None:
            return False
        part, position = found
        return any(position in part.segment.catalogs.get(catalog, ()) for catalog in catalogs)

    def nearest(
        self,
        piece_id: str,
        shown: Filter,
        *,
        algorithm: Algorithm | None,
        category_weights: Mapping[str, float],
        take: int,
    ) -> list[Neighbour]:
        """Return the nearest pieces, nearest first, ties of the rounded distance by ascending id.

        Without an algorithm it is cosine where the piece has a keyword with a weight, Jaccard otherwise. Pieces
        without any similarity are never returned, so fewer than ``take`` may come back.

        Raises:
            UnknownPiece: no live piece has this id.
        """
        found = self._find(piece_id)
        if found is None:
            raise UnknownPiece("The source has no piece with this id.")
        part, position = found
        if algorithm is None:
            algorithm = Algorithm.COSINE if part.segment.weighted[position] else Algorithm.JACCARD
        factors = reduced(self.factors(category_weights))
        query = _Query.of(part.segment, position, factors, algorithm)
        nearest: list[tuple[int, str]] = []
        for other in self.parts:
            nearest += query.nearest_in(other, shown, piece_id, take)
        nearest.sort()
        return [Neighbour(other_id, key / DISTANCE_SCALE) for key, other_id in nearest[:take]]

    def factors(self, category_weights: Mapping[str, float]) -> CategoryFactors:
        """Return category weights as integers by category number, closed by that of all later categories."""
        names = self._vocabulary.category_names
        return (*(round(category_weights.get(name, 1) * FACTOR_SCALE) for name in names), FACTOR_SCALE)

    def document_frequencies(self, terms: Sequence[Term]) -> IntArray:
        """Return how many live pieces have each term; shape (len(terms),)."""
        counts = np.zeros(len(terms), dtype=np.int64)
        for place, term in enumerate(terms):
            number = self._vocabulary.number(term)
            if number is not None:
                counts[place] = sum(
                    int(np.count_nonzero(part.live[part.segment.posting(number)[0]])) for part in self.parts
                )
        return counts

    def mean_norm(self, category_weights: Mapping[str, float]) -> float:
        """Return the mean of the root norms of live pieces that have terms; 0 where there are none.

        Summed exactly (`math.fsum`), so that it does not depend on how pieces lie in segments.
        """
        factors = self.factors(category_weights)
        mean = self._mean_norms.get(factors)
        if mean is None:
            norms = [
                part.segment.norms(factors).root[part.live & (np.diff(part.segment.starts) > 0)] for part in self.parts
            ]
            count = sum(len(array) for array in norms)
            total = math.fsum(value for array in norms for value in array.tolist())
            mean = self._mean_norms[factors] = total / count / FACTOR_SCALE if count else 0.0
        return mean

    def root_norms(self, part: Part, category_weights: Mapping[str, float]) -> FloatArray:
        """Return the norms of the square roots of weights, times category weight; shape (n_pieces,)."""
        return part.segment.norms(self.factors(category_weights)).root / FACTOR_SCALE

    def root_dots(self, part: Part, taste: Mapping[Term, float]) -> FloatArray:
        """Return for each piece the sum of taste x square root of weight, terms added in ascending order."""
        dots = np.zeros(len(part.segment))
        for term in sorted(taste):
            number = self._vocabulary.number(term)
            if number is not None:
                positions, weights = part.segment.posting(number)
                dots[positions] += taste[term] * np.sqrt(weights)
        return dots

    def overlaps(self, part: Part, terms: Sequence[Term]) -> tuple[FloatArray, FloatArray]:
        """Return for each piece how many of the terms it has, and how many terms it has at all."""
        shared = np.zeros(len(part.segment))
        for term in terms:
            number = self._vocabulary.number(term)
            if number is not None:
                shared[part.segment.posting(number)[0]] += 1
        return shared, np.diff(part.segment.starts).astype(np.float64)

    def _find(self, piece_id: str) -> tuple[Part, int] | None:
        for part in reversed(self.parts):
            position = part.find(piece_id)
            if position is not None:
                return part, position
        return None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Query:
    """The queried piece as numbers: its terms, what each adds to an overlap, and its own norm."""

    terms: IntArray
    values: FloatArray
    norm: float
    algorithm: Algorithm
    factors: CategoryFactors

    @classmethod
    def of(cls, segment: Segment, position: int, factors: CategoryFactors, algorithm: Algorithm) -> "_Query":
        terms, weights = segment.piece_terms(position)
        categories = segment.category_of[segment.starts[position] : segment.starts[position + 1]]
        factor = np.asarray(factors, dtype=np.float64)[np.minimum(categories, len(factors) - 1)]
        norms = segment.norms(factors)
        is_cosine = algorithm is Algorithm.COSINE
        # A posting adds (query weight x factor) x (its weight x factor) to a dot product.
        values = weights * factor**2 if is_cosine else factor
        norm = norms.square[position] if is_cosine else norms.size[position]
        used = values > 0
        return cls(
            terms=terms[used],
            values=values[used],
            norm=float(norm),
            algorithm=algorithm,
            factors=factors,
        )

    def nearest_in(self, part: Part, shown: Filter, own_id: str, take: int) -> list[tuple[int, str]]:
        """Return the nearest pieces of one segment as (distance in units, id), all that tie included."""
        overlap = self._overlap(part.segment)
        allowed = part.allowed(shown) & (overlap > 0)
        own = part.segment.positions.get(own_id)
        if own is not None:
            allowed[own] = False
        positions = np.flatnonzero(allowed)
        keys = self._keys(overlap[positions], part.segment.norms(self.factors), positions)
        best = smallest(keys, take)
        ids = part.segment.ids
        return [(key, ids[place]) for key, place in zip(keys[best].tolist(), positions[best].tolist(), strict=True)]

    def _overlap(self, segment: Segment) -> FloatArray:
        """Return the weight of shared terms or the dot product with each piece: integers, exact to 2^53."""
        overlap = np.zeros(len(segment))
        for term, value in zip(self.terms.tolist(), self.values.tolist(), strict=True):
            positions, weights = segment.posting(term)
            overlap[positions] += value * weights if self.algorithm is Algorithm.COSINE else value
        return overlap

    def _keys(self, overlap: FloatArray, norms: Norms, positions: IntArray) -> IntArray:
        """Return distances as integers of the rounding unit: one quotient, and for cosine one root."""
        if self.algorithm is Algorithm.COSINE:
            similarity = overlap / np.sqrt(self.norm * norms.square[positions])
        else:
            similarity = overlap / (self.norm + norms.size[positions] - overlap)
        keys: IntArray = np.rint((1.0 - similarity) * DISTANCE_SCALE).astype(np.int64)
        return np.maximum(keys, 0)


def reduced(factors: CategoryFactors) -> CategoryFactors:
    """Return factors divided by what they have in common: distances stay, numbers become small."""
    divisor = math.gcd(*factors)
    return tuple(factor // divisor for factor in factors)


def smallest(keys: IntArray, take: int) -> IntArray:
    """Return the places of the ``take`` smallest keys, ascending, equal ones by place."""
    if len(keys) > take:
        bound = np.partition(keys, take - 1)[take - 1]
        places = np.flatnonzero(keys <= bound)
    else:
        places = np.arange(len(keys))
    return places[np.argsort(keys[places], kind="stable")][:take]


def _without(part: Part, changes: Mapping[str, Piece | None]) -> BoolArray:
    gone = [place for place in map(part.segment.positions.get, changes) if place is not None]
    if not gone:
        return part.live
    live = part.live.copy()
    live[gone] = False
    return live


def _compacted(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return the parts with small neighbours merged, and without those that have no live piece left."""
    kept: list[Part] = []
    for part in parts:
        if not part.live.any():
            continue
        kept.append(part)
        while len(kept) > 1 and len(kept[-2].segment) < MERGE_RATIO * len(kept[-1].segment):
            last = [kept.pop(-2), kept.pop()]
            merged = merge_segments([(piece.segment, piece.live) for piece in last])
            kept.append(Part(merged, np.ones(len(merged), dtype=np.bool_)))
    return tuple(kept)
