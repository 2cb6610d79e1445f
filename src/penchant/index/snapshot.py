"""Snapshot: an immutable state of a source's pieces, which answers exactly, by definition, which ones are nearest.

Changes make a new snapshot; the old one stays valid for requests that still read it. Nothing here knows the time
of day: moments are arguments. Pieces lie in a few segments, each with a mask of those that are live; a change adds a
small segment at the end (`penchant.index.compaction`).
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penchant.errors import UnknownPiece
from penchant.index import engine, exact
from penchant.index.best import BestPieces, Hits
from penchant.index.building import NO_ATTRIBUTES, build_segment, merge_segments, term_of, term_table
from penchant.index.compaction import Merge, compacted
from penchant.index.layout import (
    COUNT,
    DISTANCE_SCALE,
    DOT,
    FARTHEST,
    NOWHERE,
    SIZE,
    Choice,
    FloatArray,
    IntArray,
    KernelQuery,
    Norms,
    Values,
)
from penchant.index.masks import Filter
from penchant.index.part import NORM_SCALE, Part, SegmentOrigin
from penchant.index.segment import MAX_NORMS, Factors, Segment
from penchant.index.strings import Strings, shard_numbers
from penchant.model import Algorithm, IndexedPiece, Term

FACTOR_SCALE = 100
"""Category weights have at most two decimals; as integers of this unit every sum stays exact."""
MAX_COUNT = 255
INT16, INT32 = 2**15 - 1, 2**31 - 1
"""The greatest numbers of the types that sums are counted in; terms are counted in bytes."""
Scan = Callable[[Part, Choice], Hits]
"""A full scan of a part by some measure: finds as many pieces as the choice says."""


class Neighbour(NamedTuple):
    """A piece and its distance from the queried one."""

    id: str
    distance: float


class Snapshot:
    """A source's pieces at one version: a few segments, newest last, with disjoint live pieces."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        self.piece_count = sum(part.live_count for part in parts)
        self.is_split = any(part.origin is not None for part in parts)
        self._mean_norms: dict[tuple[tuple[str, float], ...], float] = {}
        self._day_counts: Mapping[int, int] | None = None

    @classmethod
    def empty(cls) -> "Snapshot":
        """Return the snapshot of a source without pieces."""
        return cls(())

    @classmethod
    def of_segment(cls, segment: Segment) -> "Snapshot":
        """Return the snapshot of a source whose live pieces are those of one segment."""
        return cls((Part.whole(segment),))

    @classmethod
    def of_file(cls, segments: Sequence[Segment], file: tuple[int, ...]) -> "Snapshot":
        """Return the snapshot of all segments of a file, which these numbers name; several stay apart for good."""
        if len(segments) == 1:
            return cls.of_segment(segments[0])
        parts = [Part.whole(each, SegmentOrigin((*file, len(segments)), n)) for n, each in enumerate(segments)]
        return cls([part for part in parts if part.live_count])

    def apply(
        self,
        changes: Mapping[str, IndexedPiece | None],
        *,
        attributes: Strings = NO_ATTRIBUTES,
        max_merged: int | None = None,
        merge: Merge = merge_segments,
    ) -> "Snapshot":
        """Return the snapshot after pieces were stored or, where ``None``, deleted.

        Costs one pass over the masks plus, amortised, a logarithmic number of merges for each piece. Segments whose
        merge would be of more than ``max_merged`` pieces stay apart; all marks are of the same ``attributes``.
        """
        stored = [piece for piece in changes.values() if piece is not None]
        return self.replace(
            changes, build_segment(stored, attributes) if stored else None, max_merged=max_merged, merge=merge
        )

    def replace(
        self,
        ids: Iterable[str],
        segment: Segment | None,
        *,
        max_merged: int | None = None,
        merge: Merge = merge_segments,
    ) -> "Snapshot":
        """Return the snapshot with the pieces of a segment in the place of those of these ids; see `apply`."""
        parts = self.parts
        # A piece that is stored again leaves its segment here, so that it is live in one alone.
        if parts:
            table = Strings.of(ids)
            parts = tuple(part.without(table) for part in parts)
        if segment is not None:
            parts = (*parts, Part.whole(segment))
        return Snapshot(compacted(parts, max_merged, merge))

    def merged(self) -> Segment:
        """Return one segment of all live pieces."""
        return merge_segments([(part.segment, part.live) for part in self.parts])

    def split(self, count: int) -> tuple[Segment, ...]:
        """Return so many segments of all live pieces, each of those with one of `shard_numbers`."""
        numbers = [shard_numbers(part.segment.ids, count) for part in self.parts]
        shares = []
        for number in range(count):
            chosen = [
                (part.segment, part.live & (own == number)) for part, own in zip(self.parts, numbers, strict=True)
            ]
            # What has no such piece would only add its terms; but an empty segment has attributes, too.
            shares.append(merge_segments([each for each in chosen if each[1].any()] or chosen[:1]))
        return tuple(shares)

    def apart(self) -> "Snapshot":
        """Return the same pieces with a memory of their own: single questions displace nothing remembered for lists."""
        return Snapshot([part.apart() for part in self.parts])

    def prepare(self, category_weights: Mapping[str, float]) -> None:
        """Compute what the first query would: the norms under these category weights."""
        for part in self.parts:
            part.segment.norms(factors_of(part.segment, category_weights))

    @property
    def nbytes(self) -> int:
        """How much memory the snapshot takes, mapped files included."""
        return sum(part.nbytes for part in self.parts)

    def window(self, moment: int) -> tuple[int, int]:
        """Return from when until before when the same pieces are available as at a moment; ms since 1970 UTC."""
        windows = [part.window(moment) for part in self.parts]
        return max(since for since, _ in windows), min(until for _, until in windows)

    def __contains__(self, piece_id: str) -> bool:
        return self.find(piece_id) is not None

    def terms_of(self, piece_id: str) -> dict[Term, int] | None:
        """Return the terms of a piece with their effective weights, or ``None`` for an unknown one."""
        found = self.find(piece_id)
        if found is None:
            return None
        segment = found[0].segment
        terms, weights = segment.piece(found[1])
        return {
            term_of(segment.terms[term]): weight for term, weight in zip(terms.tolist(), weights.tolist(), strict=True)
        }

    @property
    def keyword_count(self) -> int:
        """How many keywords its pieces have all together, those of deleted ones in the same arrays counted too."""
        return sum(len(part.segment.piece_terms) for part in self.parts)

    def shows(self, piece_id: str, shown: Filter) -> bool:
        """Return whether a live piece of this id passes a filter."""
        found = None if piece_id in shown.omitted or piece_id in shown.blacklisted else self.find(piece_id)
        return found is not None and bool(found[0].allowed(shown)[found[1]])

    def in_catalogs(self, piece_id: str, catalogs: frozenset[str]) -> bool:
        """Return whether a live piece is in one of the catalogs."""
        found = self.find(piece_id)
        if found is None:
            return False
        part, row = found
        return any(row in part.segment.catalog(name) for name in catalogs)

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
        found = self.nearest_to(self.asked(piece_id, algorithm, category_weights), shown, take)
        return [Neighbour(other_id, key / DISTANCE_SCALE) for key, other_id in found]

    def asked(
        self, piece_id: str, algorithm: Algorithm | None, category_weights: Mapping[str, float]
    ) -> "SimilarityQuery":
        """Return a piece as a query.

        Raises:
            UnknownPiece: no live piece has this id.
        """
        found = self.find(piece_id)
        if found is None:
            raise UnknownPiece("The source has no piece with this id.")
        return SimilarityQuery(*found, algorithm, category_weights)

    def nearest_to(self, asked: "SimilarityQuery", shown: Filter, take: int) -> list[tuple[int, str]]:
        """Return the pieces nearest to a query, as `nearest` does, by their distances in units."""
        # Each part is searched below the limit that those before have left; mostly the first is the largest.
        nearest = BestPieces(take, FARTHEST)
        for part in self.parts:
            nearest.add(asked.nearest_in(part, shown, take, nearest.limit))
        return list(nearest.ranked())

    def document_frequencies(self, terms: Sequence[Term]) -> IntArray:
        """Return how many live pieces have each term; shape (len(terms),)."""
        keys = term_table(terms)
        counts = np.zeros(len(terms), dtype=np.int64)
        for part in self.parts:
            counts += part.frequencies(part.segment.terms.find_all(keys))
        return counts

    def day_counts(self) -> Mapping[int, int]:
        """Return how many live pieces became available on each UTC day."""
        if self._day_counts is None:
            total: Counter[int] = Counter()
            for part in self.parts:
                total.update(part.day_counts())
            self._day_counts = total
        return self._day_counts

    def mean_norm(self, category_weights: Mapping[str, float]) -> float:
        """Return the mean of the root norms of live pieces that have terms; 0 where there are none."""
        key = tuple(sorted(category_weights.items()))
        mean = self._mean_norms.get(key)
        if mean is None:
            totals = [part.norm_total(root_norms(part.segment, category_weights)) for part in self.parts]
            total, count = sum(each[0] for each in totals), sum(each[1] for each in totals)
            if len(self._mean_norms) >= MAX_NORMS:
                self._mean_norms.clear()  # settings may change any number of times while the pieces stay
            mean = self._mean_norms[key] = total / count / NORM_SCALE if count else 0.0
        return mean

    def overlapping(self, terms: Sequence[Term], shown: Filter, *, take: int, fill: bool) -> list[tuple[int, str]]:
        """Return the pieces whose terms overlap most with these: Jaccard similarities in their unit, descending.

        Ties by ascending id; without ``fill`` pieces without any overlap are left out.
        """
        scan = self.overlap_scan(terms)
        best = BestPieces(take, NOWHERE if fill else 0)
        for part in self.parts:
            choice = Choice(part.allowed(shown), part.excluded(shown), take, best.limit)
            best.add(part.named(*scan(part, choice)))
        return [(-key, piece_id) for key, piece_id in best.ranked()]

    @staticmethod
    def overlap_scan(terms: Sequence[Term]) -> Scan:
        """Return a scan of a part by how much its pieces overlap with these terms."""
        keys = term_table(terms)

        def scan(part: Part, choice: Choice) -> Hits:
            known = part.segment.terms.find_all(keys)
            return exact.overlapping(known[known >= 0], len(terms), part.segment.starts, part.segment.postings, choice)

        return scan

    def find(self, piece_id: str) -> tuple[Part, int] | None:
        """Return the part that has a live piece, and its row there; ``None`` for an unknown one."""
        for part in reversed(self.parts):
            row = part.find(piece_id)
            if row is not None:
                return part, row
        return None


class SimilarityQuery:
    """The queried piece as numbers: its terms, what each adds to an overlap, and its own norm.

    Without an algorithm it is cosine where the piece has a keyword with a weight, Jaccard otherwise.
    """

    def __init__(self, own: Part, row: int, algorithm: Algorithm | None, category_weights: Mapping[str, float]) -> None:
        if algorithm is None:
            algorithm = Algorithm.COSINE if own.segment.weighted[row] else Algorithm.JACCARD
        self.algorithm = algorithm
        self.own = own
        self.row = row
        self.weights = category_weights
        segment = own.segment
        terms, weights = segment.piece(row)
        norms = segment.norms(factors_of(segment, category_weights))
        values: NDArray[Any]
        # Sums of bytes, which up to 255 terms cannot overflow.
        if algorithm is Algorithm.JACCARD and not category_weights and len(terms) <= MAX_COUNT:
            self.mode, self.norm = COUNT, float(len(terms))
            self.terms, self.values = terms.astype(np.int64), np.ones(len(terms), dtype=np.uint8)
            return
        factors = np.asarray(factors_of(segment, category_weights), dtype=np.int64)[segment.category_of[terms]]
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
    def of_draft(
        cls, piece: IndexedPiece, algorithm: Algorithm | None, category_weights: Mapping[str, float]
    ) -> "SimilarityQuery":
        """Return a piece that no snapshot need have as a query."""
        return cls(Part.whole(build_segment([piece])), 0, algorithm, category_weights)

    def nearest_in(self, part: Part, shown: Filter, take: int, limit: int) -> list[tuple[int, str]]:
        """Return the nearest pieces of one segment as (distance in units, id)."""
        query = self.query_in(part)
        if query is None:
            return []
        segment = part.segment
        choice = Choice(part.allowed(shown), self.excluded_in(part, shown), take, limit)
        return part.named(*engine.nearest(query, segment.postings, segment.frequent, self.norms_in(segment), choice))

    def scan(self, part: Part, choice: Choice) -> Hits:
        """Return any number of one segment's pieces with distances, by numpy; the queried one may be among them."""
        query = self.query_in(part)
        if query is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        return exact.nearest(query, part.segment.postings, self.norms_in(part.segment), choice)

    def excluded_in(self, part: Part, shown: Filter) -> IntArray:
        """Return the rows, ascending, of what a filter excludes from one segment, and of the queried piece."""
        return part.excluded(shown, self.row if part is self.own else None)

    def query_in(self, part: Part) -> KernelQuery | None:
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
        return segment.norms(factors_of(segment, self.weights)).by(self.mode)

    def _typed(self, values: NDArray[Any], segment: Segment) -> Values:
        """Return the values in the narrowest type whose sums cannot overflow."""
        if self.mode == COUNT:
            return values
        # The sum of a piece that has all terms of the query, each at the segment's greatest weight.
        greatest = int(values.sum()) * (segment.greatest_weight if self.mode == DOT else 1)
        if greatest <= INT16:
            return values.astype(np.int16)
        return values.astype(np.int32) if greatest <= INT32 else values.astype(np.float64)


def factors_of(segment: Segment, category_weights: Mapping[str, float]) -> Factors:
    """Return the category weights of a segment's categories as integers, reduced by what they have in common.

    Distances stay, numbers become small: where no category has a weight of its own every factor is 1.
    """
    if not category_weights:
        return (1,) * len(segment.category_names)
    # All factors are multiples of the unit, so the division leaves nothing.
    scale = factor_unit(category_weights)
    return tuple(round(category_weights.get(name, 1) * FACTOR_SCALE) // scale for name in segment.category_names)


def factor_unit(category_weights: Mapping[str, float]) -> int:
    """Return what a factor of 1 stands for, in hundredths: it depends on the settings alone, not on the pieces."""
    return math.gcd(FACTOR_SCALE, *(round(weight * FACTOR_SCALE) for weight in category_weights.values()))


def root_norms(segment: Segment, category_weights: Mapping[str, float]) -> FloatArray:
    """Return the norms of the square roots of weights, times category weight; shape (n_pieces,)."""
    roots = segment.norms(factors_of(segment, category_weights)).roots
    return roots if not category_weights else roots * (factor_unit(category_weights) / FACTOR_SCALE)
