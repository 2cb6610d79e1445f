"""Segment building: from pieces, or by merging the live pieces of several segments; in plain numpy.

Neither way knows the other: both gather ids, pairs and windows, and `assemble` derives the rest. So the same pieces
give the same arrays whatever was merged before, as `penchant.live.checking` relies on.
"""

import itertools
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from penchant_engine.index.arrays import run_places, starts_of
from penchant_engine.index.assembling import RowLists, SegmentColumns, assemble, rows_by_name
from penchant_engine.index.compiled import engine
from penchant_engine.index.layout import BoolArray, IntArray, Mask, Numbers
from penchant_engine.index.segment import Segment
from penchant_engine.index.strings import Strings, unite_tables
from penchant_engine.model import IndexedPiece, PieceFilters, Term

SEPARATOR = "\0"
"""Between category and keyword: no name holds it, and it sorts before all that names hold."""
MERGED_PIECES = 1 << 14
"""Pieces whose pairs are moved at once."""
NO_ATTRIBUTES = Strings.of(())
"""The attributes of a source whose settings name none."""


def merge_rows(lists: Sequence[RowLists], moved: Iterable[IntArray]) -> RowLists:
    """Return several lists as one; ``moved`` has for each the new row of every old one, -1 for those that go."""
    tables = [each.names for each in lists]
    names, renumbered = unite_tables(tables, [np.arange(len(table)) for table in tables])
    numbers = _joined(np.repeat(new, np.diff(each.starts)) for each, new in zip(lists, renumbered, strict=True))
    rows = _joined(now_at[each.rows] for each, now_at in zip(lists, moved, strict=True))
    staying = np.flatnonzero(rows >= 0)
    staying = staying[np.lexsort((rows[staying], numbers[staying]))]
    names, numbers = _without_unused(names, numbers[staying])
    return RowLists(names, starts_of(np.bincount(numbers, minlength=len(names))), rows[staying])


class PieceColumns(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Pieces as columns, in any order, and the terms of each in any order.

    ``counts`` cuts ``piece_terms``, numbers of terms, and ``piece_weights`` into pieces. ``filters_of`` numbers each
    piece's ``filters``: pieces with equal ones may share them. ``marks`` may be empty where no piece has any.
    """

    ids: Sequence[str]
    counts: IntArray
    piece_terms: Numbers
    piece_weights: NDArray[np.uint16]
    weighted: Mask
    available_from: IntArray
    filters: Sequence[PieceFilters]
    filters_of: IntArray
    marks: Sequence[Sequence[str]]

    def distinct(self) -> "PieceColumns":
        """Return the same with the last piece of each id alone."""
        last = dict(zip(self.ids, range(len(self.ids)), strict=True))
        if len(last) == len(self.ids):
            return self
        rows = np.fromiter(last.values(), np.int64, len(last))
        pairs = run_places(starts_of(self.counts)[rows], self.counts[rows])
        return replace(
            self,
            ids=[*last],
            counts=self.counts[rows],
            piece_terms=self.piece_terms[pairs],
            piece_weights=self.piece_weights[pairs],
            weighted=self.weighted[rows],
            available_from=self.available_from[rows],
            filters_of=self.filters_of[rows],
            marks=[self.marks[row] for row in rows.tolist()] if self.marks else (),
        )


def term_key(category: str, keyword: str) -> str:
    """Return how a term is written in a segment's table."""
    return category + SEPARATOR + keyword


def term_table(terms: Iterable[Term]) -> Strings:
    """Return these terms, in their order, as the table of a segment has them."""
    return Strings.of(itertools.starmap(term_key, terms))


def term_of(key: str) -> Term:
    """Return the term of a key that `term_key` has made."""
    category, _, keyword = key.partition(SEPARATOR)
    return Term(category, keyword)


def build_segment(pieces: Iterable[IndexedPiece], attributes: Strings = NO_ATTRIBUTES) -> Segment:
    """Return a segment of these pieces, whose ids are distinct and whose marks are of these attributes."""
    terms, columns = gather_columns(pieces)
    return segment_of(terms, [columns], attributes)


def gather_columns(pieces: Iterable[IndexedPiece]) -> tuple[Strings, PieceColumns]:
    """Return the terms of pieces, and the pieces as columns; they are looked at one by one and not kept."""
    numbers: dict[Term, int] = {}
    # Arrays, not lists: a million pieces have millions of keywords.
    terms, weights, counts, begins = array("I"), array("H"), array("q"), array("q")
    shown: dict[tuple[frozenset[str], int | None], int] = {}
    ids, weighted, filters_of, marks = list[str](), bytearray(), array("q"), list[Sequence[str]]()
    for piece in pieces:
        ids.append(piece.id)
        terms.extend([numbers.setdefault(term, len(numbers)) for term in piece.weights])
        weights.extend(piece.weights.values())
        counts.append(len(piece.weights))
        weighted.append(piece.weighted)
        begins.append(piece.available_from)
        filters_of.append(shown.setdefault((piece.catalogs, piece.available_until), len(shown)))
        marks.append(piece.marks)
    columns = PieceColumns(
        ids=ids,
        counts=np.asarray(counts, dtype=np.int64),
        piece_terms=np.asarray(terms, dtype=np.uint32),
        piece_weights=np.asarray(weights, dtype=np.uint16),
        weighted=np.frombuffer(weighted, dtype=np.uint8),
        available_from=np.asarray(begins, dtype=np.int64),
        filters=[PieceFilters(catalogs, None, until) for catalogs, until in shown],
        filters_of=np.asarray(filters_of, dtype=np.int64),
        marks=marks,
    )
    return term_table(numbers), columns


def segment_of(
    terms: Strings, batches: Sequence[PieceColumns], attributes: Strings = NO_ATTRIBUTES, reading: str = ""
) -> Segment:
    """Return a segment of pieces given as columns, some batches of them, whose ids are distinct.

    ``terms``, in any order, are what the batches number, written as `term_key` does; marks are of these attributes.
    ``reading`` names how the keywords were read.
    """
    columns = _joined_columns(batches)
    encoded = terms.all_encoded()
    by_text = sorted(range(len(encoded)), key=encoded.__getitem__)
    numbers = np.empty(len(encoded), dtype=np.uint32)
    numbers[by_text] = np.arange(len(encoded), dtype=np.uint32)
    ordered = Strings.of_encoded([encoded[term] for term in by_text])
    terms, piece_terms = _without_unused(ordered, numbers[columns.piece_terms])
    piece_terms = piece_terms.astype(np.uint32, copy=False)
    order = np.asarray(sorted(range(len(columns.ids)), key=columns.ids.__getitem__), dtype=np.int64)
    row_of = np.empty(len(order), dtype=np.uint32)
    row_of[order] = np.arange(len(order), dtype=np.uint32)
    starts = starts_of(columns.counts[order])
    # In the order of terms, and back in that of ids: so those of each piece ascend.
    places = starts_of(np.bincount(piece_terms, minlength=len(terms)))
    pieces, weights = engine.transpose(starts_of(columns.counts), piece_terms, columns.piece_weights, places)
    piece_terms, weights = engine.transpose(places, row_of[pieces], weights, starts)
    filters_of = columns.filters_of[order]
    has_end, ends = moments_of([shown.available_until for shown in columns.filters])
    ending = np.flatnonzero(has_end[filters_of])
    return assemble(
        SegmentColumns(
            ids=Strings.of([columns.ids[piece] for piece in order.tolist()]),
            terms=terms,
            starts=starts,
            piece_terms=piece_terms,
            piece_weights=weights,
            weighted=columns.weighted[order],
            available_from=columns.available_from[order],
            ending=ending,
            available_until=ends[filters_of[ending]],
            catalogs=_catalog_rows(columns.filters, filters_of),
            attributes=attributes,
            marks=rows_by_name(columns.marks[piece] for piece in order if columns.marks),
            reading=Strings.of((reading,) if reading else ()),
        )
    )


def moments_of(moments: Sequence[int | None]) -> tuple[BoolArray, IntArray]:
    """Return which of these moments there are, and all of them, 0 for none."""
    given = np.asarray([moment is not None for moment in moments], dtype=np.bool_)
    return given, np.asarray([moment or 0 for moment in moments], dtype=np.int64)


def _joined_columns(batches: Sequence[PieceColumns]) -> PieceColumns:
    """Return several batches of pieces as one."""
    if len(batches) == 1:
        return batches[0]
    firsts = np.cumsum([0, *(len(batch.filters) for batch in batches)])

    def join(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(batch, name) for batch in batches])

    return PieceColumns(
        ids=[piece_id for batch in batches for piece_id in batch.ids],
        counts=join("counts"),
        piece_terms=join("piece_terms"),
        piece_weights=join("piece_weights"),
        weighted=join("weighted"),
        available_from=join("available_from"),
        filters=[shown for batch in batches for shown in batch.filters],
        filters_of=_joined(batch.filters_of + first for batch, first in zip(batches, firsts, strict=False)),
        marks=[marks for batch in batches for marks in batch.marks],
    )


def _catalog_rows(filters: Sequence[PieceFilters], filters_of: IntArray) -> RowLists:
    """Return the rows of each catalog; what is done in Python is done once for filters that pieces share."""
    names = sorted({name for shown in filters for name in shown.catalogs})
    numbers = {name: number for number, name in enumerate(names)}
    listed = [[numbers[name] for name in shown.catalogs] for shown in filters]
    counts = np.asarray([len(each) for each in listed], dtype=np.int64)
    entries = np.fromiter(itertools.chain.from_iterable(listed), np.uint32, int(counts.sum()))
    starts = starts_of(counts[filters_of])
    begins = starts_of(counts)[filters_of] - starts[:-1]
    entries = entries[np.arange(starts[-1]) + np.repeat(begins, np.diff(starts))]
    places = starts_of(np.bincount(entries, minlength=len(names)))
    rows, _ = engine.transpose(starts, entries, np.zeros(len(entries), dtype=np.uint16), places)
    return RowLists(Strings.of(names), places, rows)


def merge_segments(parts: Sequence[tuple[Segment, Mask]]) -> Segment:
    """Return one segment of the pieces of several that are live; their ids are distinct, their attributes the same.

    No piece is decoded: runs of pairs go from the parts' arrays to where the new segment has them, some thousands of
    pieces at a time, so that it takes little more than half as much again as what it returns.

        pairs of two parts    a a a c c | b e e     in the order of ids the pieces are a, b, c, e
        ``places``            0 1 2 4 5 | 3 6 7     where each pair goes
    """
    if not parts:
        return build_segment(())
    segments = [segment for segment, _ in parts]
    kept = [np.flatnonzero(live) for _, live in parts]
    ids, rows = unite_tables([segment.ids for segment in segments], kept)

    def gathered(name: str) -> NDArray[Any]:
        values = np.empty(len(ids), dtype=getattr(segments[0], name).dtype)
        for segment, old, new in zip(segments, kept, rows, strict=True):
            values[new] = getattr(segment, name)[old]
        return values

    def moved() -> Iterator[IntArray]:
        for segment, old, new in zip(segments, kept, rows, strict=True):
            now_at = np.full(len(segment), -1, dtype=np.int64)
            now_at[old] = new
            yield now_at

    ending = _joined(now_at[segment.ending] for segment, now_at in zip(segments, moved(), strict=True))
    until = _joined(segment.available_until for segment in segments)
    # Ends of pieces that are gone have the row -1.
    staying = np.flatnonzero(ending >= 0)
    staying = staying[np.argsort(ending[staying])]
    terms, starts, piece_terms, piece_weights = _merge_pairs(segments, kept, rows)
    return assemble(
        SegmentColumns(
            ids=ids,
            terms=terms,
            starts=starts,
            piece_terms=piece_terms,
            piece_weights=piece_weights,
            weighted=gathered("weighted"),
            available_from=gathered("available_from"),
            ending=ending[staying],
            available_until=until[staying],
            catalogs=merge_rows([RowLists(s.catalogs, s.catalog_starts, s.catalog_pieces) for s in segments], moved()),
            attributes=segments[0].attributes,
            marks=merge_rows([RowLists(s.marks, s.mark_starts, s.mark_pieces) for s in segments], moved()),
            reading=segments[0].reading,
        )
    )


def _merge_pairs(
    segments: Sequence[Segment], kept: Sequence[IntArray], rows: Sequence[IntArray]
) -> tuple[Strings, IntArray, Numbers, NDArray[np.uint16]]:
    """Return the terms that kept pieces have, and starts, terms and weights of these pieces at their new ``rows``."""
    counts = np.zeros(sum(map(len, rows)), dtype=np.int64)
    for segment, old, new in zip(segments, kept, rows, strict=True):
        counts[new] = np.diff(segment.starts)[old]
    starts = starts_of(counts)
    used = [_terms_used(segment, old) for segment, old in zip(segments, kept, strict=True)]
    terms, numbers = unite_tables([segment.terms for segment in segments], used)
    piece_terms = np.empty(starts[-1], dtype=np.uint32)
    piece_weights = np.empty(starts[-1], dtype=np.uint16)
    for segment, old, new, own, now in zip(segments, kept, rows, used, numbers, strict=True):
        # Old and new numbers ascend alike, so the terms of each piece still do.
        renumbered = np.zeros(len(segment.terms), dtype=np.uint32)
        renumbered[own] = now
        for cut in _cuts(len(old)):
            places = run_places(starts[new[cut]], counts[new[cut]])
            pairs = run_places(segment.starts[old[cut]], counts[new[cut]])
            piece_terms[places] = renumbered[segment.piece_terms[pairs]]
            piece_weights[places] = segment.piece_weights[pairs]
    return terms, starts, piece_terms, piece_weights


def _terms_used(segment: Segment, rows: IntArray) -> IntArray:
    """Return the terms, ascending, that some piece of these rows has."""
    if len(rows) == len(segment):
        return np.arange(len(segment.terms))
    used = np.zeros(len(segment.terms), dtype=np.bool_)
    for cut in _cuts(len(rows)):
        begins, ends = segment.starts[rows[cut]], segment.starts[rows[cut] + 1]
        used[segment.piece_terms[run_places(begins, ends - begins)]] = True
    return np.flatnonzero(used)


def _cuts(count: int) -> Iterator[slice]:
    """Yield slices of so many pieces, of which each is gone over at once."""
    for begin in range(0, count, MERGED_PIECES):
        yield slice(begin, begin + MERGED_PIECES)


def _without_unused(terms: Strings, piece_terms: NDArray[Any]) -> tuple[Strings, NDArray[Any]]:
    """Return the terms that some piece still has, and the pairs renumbered."""
    used = np.bincount(piece_terms, minlength=len(terms)) > 0
    if used.all():
        return terms, piece_terms
    encoded = terms.all_encoded()
    kept = Strings.of_encoded([encoded[term] for term in np.flatnonzero(used).tolist()])
    return kept, (np.cumsum(used) - 1)[piece_terms]


def _joined(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:
    found = list(arrays)
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
