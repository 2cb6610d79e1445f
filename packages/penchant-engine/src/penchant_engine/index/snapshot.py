"""Snapshot: an immutable state of a source's pieces, which answers exactly, by definition, which ones are nearest.

Changes make a new snapshot; the old one stays valid for requests that still read it. Nothing here knows the time
of day: moments are arguments. Pieces lie in a few segments, each with a mask of those that are live. A change adds a
small segment at the end, and small ones merge into larger ones from there, so that their number stays logarithmic:

    100,000 | 20,000 | 4,000 | 900      and a change that stores 600 pieces:
    100,000 | 20,000 | 4,000 | 1,500    900 and 600 merge; 4,000 is less than four times as many, so it does as well,
    125,500                             and so on; mostly it ends sooner, and a piece is merged a logarithmic number
                                        of times

Other attributes (`mark`) come from the marks of all its pieces; nothing else of a snapshot is made anew.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from penchant_engine.errors import UnknownPiece
from penchant_engine.index.arrays import run_places
from penchant_engine.index.assembling import RowLists, list_rows, mark_arrays
from penchant_engine.index.building import NO_ATTRIBUTES, build_segment, merge_rows, merge_segments, term_of, term_table
from penchant_engine.index.factors import factors_of, rarities_of, root_norms, unit_vectors, values_of
from penchant_engine.index.layout import DISTANCE_SCALE, FloatArray, IntArray, Mask, PieceTerms
from penchant_engine.index.masks import Filter
from penchant_engine.index.part import NORM_SCALE, Part
from penchant_engine.index.queries import best_of
from penchant_engine.index.segment import MAX_NORMS, Segment
from penchant_engine.index.similarity import SimilarityQuery
from penchant_engine.index.strings import Strings, mark_numbers, unite_tables
from penchant_engine.model import Algorithm, IndexedPiece, Term

MERGE_RATIO = 4
"""A segment is merged with its successor unless it is this many times larger: keeps their number logarithmic."""
SMALL_SEGMENT = 1_000
"""Pieces up to which merging costs the same fraction of a millisecond; below, everything is merged."""

Merge = Callable[[Sequence[tuple[Segment, Mask]]], Segment]


def compacted(parts: Iterable[Part], max_merged: int | None, merge: Merge) -> list[Part]:
    """Return the parts with small neighbours merged, and without those that have no live piece left.

    From left to right; each part merges with what lies before it for as long as they belong together.
    """
    kept: list[Part] = []
    for part in parts:
        if not part.live_count:
            continue
        kept.append(part)
        while len(kept) > 1 and _belong_together(kept[-2], kept[-1], max_merged):
            last = [kept.pop(-2), kept.pop()]
            kept.append(Part.whole(merge([(each.segment, each.live) for each in last])))
    return kept


def _belong_together(one: Part, other: Part, max_merged: int | None) -> bool:
    """Return whether neighbours are to be merged."""
    together = one.live_count + other.live_count
    if max_merged is not None and together > max_merged:
        return False
    return together <= SMALL_SEGMENT or len(one.segment) < MERGE_RATIO * len(other.segment)


Keep = Callable[[Segment], Segment]
"""Returns the same segment out of other memory, such as a mapped file's."""


class Neighbour(NamedTuple):
    """A piece and its distance from the queried one."""

    id: str
    distance: float


class Snapshot:
    """A source's pieces at one version: a few segments, newest last, with disjoint live pieces."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        self.piece_count = sum(part.live_count for part in parts)
        self._mean_norms: dict[tuple[tuple[str, float], ...], float] = {}
        self._day_counts: Mapping[int, int] | None = None
        self._rarities: FloatArray | None = None
        self._window = (0, 0)

    @classmethod
    def empty(cls) -> "Snapshot":
        """Return the snapshot of a source without pieces."""
        return cls(())

    @classmethod
    def of_segment(cls, segment: Segment) -> "Snapshot":
        """Return the snapshot of a source whose live pieces are those of one segment."""
        return cls((Part.whole(segment),))

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

    def isolate(self) -> "Snapshot":
        """Return the same pieces with a memory of their own: single questions displace nothing remembered for lists."""
        return Snapshot([part.isolate() for part in self.parts])

    def prepare(self, category_weights: Mapping[str, float]) -> None:
        """Compute what the first query would: the norms under these category weights."""
        for part in self.parts:
            part.segment.norms(factors_of(part.segment, category_weights))

    @property
    def nbytes(self) -> int:
        """How much memory the snapshot takes, mapped files included."""
        rarities = 0 if self._rarities is None else self._rarities.nbytes
        return rarities + sum(part.nbytes for part in self.parts)

    def window(self, moment: int) -> tuple[int, int]:
        """Return from when until before when the same pieces are available as at a moment; ms since 1970 UTC."""
        # Read once, since another thread may replace it meanwhile.
        known = self._window
        if not known[0] <= moment < known[1]:
            windows = [part.window(moment) for part in self.parts] or [(0, sys.maxsize)]
            known = max(since for since, _ in windows), min(until for _, until in windows)
            self._window = known
        return known

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

    def locate(self, ids: Strings) -> tuple[IntArray, IntArray]:
        """Return for each id the number of the part that has it alive, -1 for none, and its row there."""
        numbers, rows = np.full(len(ids), -1), np.full(len(ids), -1)
        for number, part in enumerate(self.parts):
            found = part.segment.ids.find_all(ids)
            # -1 looks at the last row for now.
            lives = (found >= 0) & (part.live[found] > 0)
            numbers[lives], rows[lives] = number, found[lives]
        return numbers, rows

    def marked(self, marks: bytes) -> list[list[str]]:
        """Return for each of some marks (`mark_of`) the ids of the live pieces that have it, mostly one, or none."""
        wanted = mark_numbers(marks)
        found: list[list[str]] = [[] for _ in wanted]
        for part in self.parts:
            rows, places = part.marked(wanted)
            for place, piece_id in zip(places.tolist(), part.segment.ids.take(rows), strict=True):
                found[place].append(piece_id)
        return found

    def keyword_pairs(
        self, ids: Strings, category_weights: Mapping[str, float] | None = None
    ) -> tuple[IntArray, IntArray, list[Term], IntArray]:
        """Return the terms of pieces as pairs: places in ``ids``, ascending, and numbers of terms; and these terms.

        With category weights last the entries of the pieces' unit vectors (`factors.unit_vectors`), by pair.
        """
        part_of, rows = self.locate(ids)
        owners, numbers, values = [np.zeros(0, dtype=np.int64)], [], [np.zeros(0)]
        for number, part in enumerate(self.parts):
            places = np.flatnonzero(part_of == number)
            begins = part.segment.starts[rows[places]]
            counts = part.segment.starts[rows[places] + 1] - begins
            owners.append(np.repeat(places, counts))
            pairs = run_places(begins, counts)
            numbers.append(part.segment.piece_terms[pairs].astype(np.int64))
            if category_weights is not None:
                values.append(values_of(part.segment, category_weights, pairs))
        used = [np.unique(each, return_inverse=True) for each in numbers]
        table, renumbered = unite_tables([part.segment.terms for part in self.parts], [own for own, _ in used])
        joined = [owners[0], *(new[place] for new, (_, place) in zip(renumbered, used, strict=True))]
        owning = np.concatenate(owners)
        order = np.argsort(owning, kind="stable")
        owning, terms = owning[order], np.concatenate(joined)[order]
        units = np.zeros(0, dtype=np.int64)
        if category_weights is not None:
            frequencies = np.zeros(len(table), dtype=np.int64)
            for part in self.parts:
                frequencies += part.frequencies(part.segment.terms.find_all(table))
            entries = np.sqrt(rarities_of(frequencies, self.piece_count))[terms] * np.concatenate(values)[order]
            units = unit_vectors(entries, np.searchsorted(owning, np.arange(len(ids) + 1)))
        return owning, terms, list(map(term_of, table)), units

    @property
    def keyword_count(self) -> int:
        """How many keywords its pieces have all together, those of deleted ones in the same arrays counted too."""
        return sum(len(part.segment.piece_terms) for part in self.parts)

    def shows(self, piece_id: str, shown: Filter) -> bool:
        """Return whether a live piece of this id passes a filter."""
        found = None if piece_id in shown.omitted or piece_id in shown.blacklisted else self.find(piece_id)
        return found is not None and bool(found[0].allowed(shown)[found[1]])

    def shows_any(self, shown: Filter) -> bool:
        """Return whether a piece passes a filter, but for what it excludes."""
        return any(part.allowed(shown).view(np.bool_).any() for part in self.parts)

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
    ) -> SimilarityQuery:
        """Return a piece as a query.

        Raises:
            UnknownPiece: no live piece has this id.
        """
        found = self.find(piece_id)
        if found is None:
            raise UnknownPiece("The source has no piece with this id.")
        return SimilarityQuery(*found, algorithm, category_weights)

    def nearest_to(self, asked: SimilarityQuery, shown: Filter, take: int) -> list[tuple[int, str]]:
        """Return the pieces nearest to a query, as `nearest` does, by their distances in units."""
        return best_of(self.parts, asked, shown, take)

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

    def piece_terms(self, category_weights: Mapping[str, float]) -> PieceTerms:
        """Return the terms of the pieces of its only part, as the kernels of tastes take them."""
        (part,) = self.parts
        segment = part.segment
        if self._rarities is None:
            self._rarities = rarities_of(part.frequencies(np.arange(len(segment.terms))), self.piece_count)
        factors = [float(category_weights.get(name, 1)) for name in segment.category_names]
        return PieceTerms(
            starts=segment.starts,
            terms=segment.piece_terms,
            weights=segment.piece_weights,
            rarities=self._rarities,
            categories=segment.category_of,
            factors=np.asarray(factors, dtype=np.float64),
        )

    def find(self, piece_id: str) -> tuple[Part, int] | None:
        """Return the part that has a live piece, and its row there; ``None`` for an unknown one."""
        for part in reversed(self.parts):
            row = part.find(piece_id)
            if row is not None:
                return part, row
        return None


Marks = Mapping[str, Sequence[str]]
"""The marks of pieces by id."""
GATHERED_PIECES = 20_000
"""Pieces whose marks are gathered as Python's objects before they become arrays."""


def has_attributes(snapshot: Snapshot, attributes: Strings) -> bool:
    """Return whether the marks of all pieces are of these attributes; where there is no piece, they are of any."""
    wanted = list(attributes)
    return all(list(part.segment.attributes) == wanted for part in snapshot.parts)


def is_read_as(snapshot: Snapshot, reading: str) -> bool:
    """Return whether the keywords of all pieces were read in the way of this name."""
    wanted = [reading] if reading else []
    return all(list(part.segment.reading) == wanted for part in snapshot.parts)


def mark(snapshot: Snapshot, attributes: Strings, batches: Iterable[Marks]) -> Snapshot:
    """Return a snapshot whose pieces have the marks that all batches together give them, of these attributes."""
    found = [_MarkGatherer(part) for part in snapshot.parts]
    for batch in batches:
        ids = sorted(batch)
        table = Strings.of(ids)
        for each in found:
            each.add(table, [batch[piece_id] for piece_id in ids])
    return Snapshot([each.marked(attributes) for each in found])


class _MarkGatherer:
    """Gathers the marks of one part's pieces."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._lists: list[RowLists] = []
        self._rows_of: dict[str, list[int]] = defaultdict(list)
        self._count = 0

    def add(self, ids: Strings, marks: Sequence[Sequence[str]]) -> None:
        """Add the marks of these pieces, of which the part may have any; ids ascend."""
        rows = self._part.segment.ids.find_all(ids)
        # Rows ascend within a batch, though not from one to the next: `merge_rows` orders those.
        for place in np.flatnonzero(rows >= 0).tolist():
            for each in marks[place]:
                self._rows_of[each].append(int(rows[place]))
            self._count += 1
        if self._count >= GATHERED_PIECES:
            self._flush()

    def marked(self, attributes: Strings) -> Part:
        """Return the part with all marks that were added."""
        self._flush()
        every = np.arange(len(self._part.segment))
        merged = merge_rows(self._lists, [every] * len(self._lists))
        return self._part.rebase_on(replace(self._part.segment, attributes=attributes, **mark_arrays(merged)))

    def _flush(self) -> None:
        self._lists.append(list_rows(self._rows_of))
        self._rows_of, self._count = defaultdict(list), 0
