"""Similarity: a piece as a query, against any segment of a snapshot."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penchant_engine.index.best import NO_HITS, Hits, Keys
from penchant_engine.index.building import build_segment
from penchant_engine.index.compiled import engine, exact
from penchant_engine.index.factors import factors_of
from penchant_engine.index.layout import COUNT, DOT, FARTHEST, SIZE, Choice, IntArray, KernelQuery, Norms, Values
from penchant_engine.index.masks import Filter
from penchant_engine.index.part import Part
from penchant_engine.index.segment import Segment
from penchant_engine.model import Algorithm, IndexedPiece

MAX_COUNT = 255
INT16, INT32 = 2**15 - 1, 2**31 - 1
"""The greatest numbers of the types that sums are counted in; terms are counted in bytes."""


class SimilarityQuery:
    """The queried piece as numbers: its terms, what each adds to an overlap, and its own norm.

    Without an algorithm it is cosine where the piece has a keyword with a weight, Jaccard otherwise.
    """

    limit = FARTHEST

    def __init__(self, own: Part, row: int, algorithm: Algorithm | None, category_weights: Mapping[str, float]) -> None:
        if algorithm is None:
            algorithm = Algorithm.COSINE if own.segment.weighted[row] else Algorithm.JACCARD
        self.algorithm = algorithm
        self.own = own
        self.row = row
        self.weights = category_weights
        segment = own.segment
        terms, weights = segment.piece(row)
        values: NDArray[Any]
        # Sums of bytes, which up to 255 terms cannot overflow.
        if algorithm is Algorithm.JACCARD and not category_weights and len(terms) <= MAX_COUNT:
            self.mode, self.norm = COUNT, float(len(terms))
            self.terms, self.values = terms.astype(np.int64), np.ones(len(terms), dtype=np.uint8)
            return
        counted = factors_of(segment, category_weights)
        norms, factors = segment.norms(counted), np.asarray(counted, dtype=np.int64)[segment.category_of[terms]]
        if algorithm is Algorithm.COSINE:
            self.mode, self.norm = DOT, float(norms.dot.exact[row])
            # A posting adds (query weight x factor) x (its weight x factor) to a dot product.
            values = weights * factors * factors
        else:
            self.mode, self.norm, values = SIZE, float(norms.size.exact[row]), factors
        # Terms of a category that counts 0 add nothing.
        used = values > 0
        self.terms, self.values = terms[used].astype(np.int64), values[used]

    @classmethod
    def of_unstored(
        cls, piece: IndexedPiece, algorithm: Algorithm | None, category_weights: Mapping[str, float]
    ) -> "SimilarityQuery":
        """Return a piece that no snapshot need have as a query."""
        return cls(Part.whole(build_segment([piece])), 0, algorithm, category_weights)

    def best_in(self, part: Part, shown: Filter, take: int, limit: int) -> Hits:
        """Return the distances of the nearest pieces of one segment, in units, and their rows."""
        query = self._query_in(part)
        if query is None:
            return NO_HITS
        segment = part.segment
        choice = Choice(part.allowed(shown), self.excluded_in(part, shown), take, limit)
        return engine.nearest(query, segment.postings, segment.frequent, self.norms_in(segment), choice)

    def scan(self, part: Part, rows: IntArray) -> Keys:
        """Return the distances of those of one part's pieces at some rows that have any, by numpy."""
        query = self._query_in(part)
        if query is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        return exact.distances(query, part.segment.postings, self.norms_in(part.segment), rows)

    def excluded_in(self, part: Part, shown: Filter) -> IntArray:
        """Return the rows, ascending, of what a filter excludes from one segment, and of the queried piece."""
        return part.excluded(shown, self.row if part is self.own else None)

    def _query_in(self, part: Part) -> KernelQuery | None:
        """Return the query against one segment, or ``None`` where that has none of its terms."""
        terms, values = self.terms_in(part)
        if part is not self.own and not len(terms):
            return None
        return KernelQuery(self.mode, terms, self._typed(values, part.segment), self.norm)

    def terms_in(self, part: Part) -> tuple[IntArray, NDArray[Any]]:
        """Return the query's terms as numbers in one segment, ascending, and what each adds to an overlap there."""
        if part is self.own:
            return self.terms, self.values
        # Terms have a number in each segment; those that this one lacks add nothing to any of its pieces.
        terms = part.segment.terms.find_all(self.own.segment.terms, self.terms)
        return terms[terms >= 0], self.values[terms >= 0]

    def norms_in(self, segment: Segment) -> Norms:
        """Return the norms that a segment's pieces have by the query's measure."""
        norms = segment.norms(factors_of(segment, self.weights))
        return norms.dot if self.mode == DOT else norms.count if self.mode == COUNT else norms.size

    def _typed(self, values: NDArray[Any], segment: Segment) -> Values:
        """Return the values in the narrowest type whose sums cannot overflow."""
        if self.mode == COUNT:
            return values
        # The sum of a piece that has all terms of the query, each at the segment's greatest weight.
        greatest = int(values.sum()) * (segment.greatest_weight if self.mode == DOT else 1)
        if greatest <= INT16:
            return values.astype(np.int16)
        return values.astype(np.int32) if greatest <= INT32 else values.astype(np.float64)
