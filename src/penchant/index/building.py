"""Segment building: from pieces, or by merging the live pieces of several segments; in plain numpy.

Neither way knows the other: both gather ids, pairs and windows, and `_assemble` derives the rest. So the same pieces
give the same arrays whatever was merged before, as `penchant.live.checking` relies on.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penchant.index import engine
from penchant.index.arrays import starts_of
from penchant.index.layout import IntArray, Mask, Numbers
from penchant.index.segment import Segment, sums_by_piece
from penchant.index.strings import Strings
from penchant.model import DAY_MS, IndexedPiece, PieceFilters, Term

SEPARATOR = "\0"
"""Between category and keyword: no name holds it, and it sorts before all that names hold."""
SIGNATURE_BITS = 64
COLUMN_SHARE = 12
"""A term in more than 1 of so many pieces has a column: 31 bytes a piece, and cosine in two thirds of the time."""
MAX_COLUMNS = 128
"""Columns of a segment at most, whatever its terms: a catalogue where every piece has hundreds of common terms."""
MIN_COLUMN = 64
"""Fewer postings than this are added up as fast one by one."""
NO_ATTRIBUTES = Strings.of(())
"""The attributes of a source whose settings name none."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _SegmentColumns:
    """What `_assemble` starts from; pieces ascend by id, and the terms of each piece ascend."""

    ids: Strings
    terms: Strings
    starts: IntArray
    piece_terms: NDArray[Any]
    piece_weights: NDArray[Any]
    weighted: NDArray[np.uint8]
    available_from: IntArray
    ending: IntArray
    available_until: IntArray
    catalogs: "RowLists"
    attributes: Strings
    marks: "RowLists"


class RowLists(NamedTuple):
    """Rows, ascending, by name; names ascend, and ``starts`` cuts ``rows`` into those of each."""

    names: Strings
    starts: IntArray
    rows: IntArray | Numbers


def list_rows(rows_of: Mapping[str, Sequence[int]]) -> RowLists:
    """Return the rows, ascending, of each name as arrays."""
    names = sorted(rows_of)
    counts = np.asarray([len(rows_of[name]) for name in names], dtype=np.int64)
    rows = itertools.chain.from_iterable(rows_of[name] for name in names)
    return RowLists(Strings.of(names), starts_of(counts), np.fromiter(rows, np.int64, int(counts.sum())))


def _rows_by_name(names_by_row: Iterable[Iterable[str]]) -> RowLists:
    rows_of: dict[str, list[int]] = {}
    for row, names in enumerate(names_by_row):
        for name in names:
            rows_of.setdefault(name, []).append(row)
    return list_rows(rows_of)


def merge_rows(lists: Sequence[RowLists], moved: Sequence[IntArray]) -> RowLists:
    """Return several lists as one; ``moved`` has for each the new row of every old one, -1 for those that go."""
    names, renumbered = _united([each.names for each in lists])
    numbers = _joined(np.repeat(new, np.diff(each.starts)) for each, new in zip(lists, renumbered, strict=True))
    rows = _joined(now_at[each.rows] for each, now_at in zip(lists, moved, strict=True))
    staying = np.flatnonzero(rows >= 0)
    staying = staying[np.lexsort((rows[staying], numbers[staying]))]
    names, numbers = _without_unused(names, numbers[staying])
    return RowLists(names, starts_of(np.bincount(numbers, minlength=len(names))), rows[staying])


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PieceColumns:
    """Pieces as columns, ascending by id; ``terms`` and those of each piece are in any order.

    ``terms`` are distinct, as `term_key` writes them, in UTF-8. ``counts`` cuts ``piece_terms``, numbers of these, and
    ``piece_weights`` into pieces. ``marks`` may be empty where no piece has any.
    """

    ids: Sequence[str]
    terms: Sequence[bytes]
    counts: IntArray
    piece_terms: Numbers
    piece_weights: NDArray[np.uint16]
    weighted: Mask
    available_from: IntArray
    filters: Sequence[IndexedPiece | PieceFilters]
    marks: Sequence[Sequence[str]]


def term_key(term: Term) -> str:
    """Return how a term is written in a segment's table."""
    return term.category + SEPARATOR + term.keyword


def term_table(terms: Iterable[Term]) -> Strings:
    """Return these terms, in their order, as the table of a segment has them."""
    return Strings.of(map(term_key, terms))


def term_of(key: str) -> Term:
    """Return the term of a key that `term_key` has made."""
    category, _, keyword = key.partition(SEPARATOR)
    return Term(category, keyword)


def build_segment(pieces: Iterable[IndexedPiece], attributes: Strings = NO_ATTRIBUTES) -> Segment:
    """Return a segment of these pieces, whose ids are distinct and whose marks are of these attributes."""
    ordered = sorted(pieces, key=lambda piece: piece.id)
    numbers: dict[Term, int] = {}
    terms: list[int] = []
    weights: list[int] = []
    for piece in ordered:
        terms += [numbers.setdefault(term, len(numbers)) for term in piece.weights]
        weights += piece.weights.values()
    return segment_of(
        PieceColumns(
            ids=[piece.id for piece in ordered],
            terms=[term_key(term).encode() for term in numbers],
            counts=np.asarray([len(piece.weights) for piece in ordered], dtype=np.int64),
            piece_terms=np.asarray(terms, dtype=np.uint32),
            piece_weights=np.asarray(weights, dtype=np.uint16),
            weighted=np.asarray([piece.weighted for piece in ordered], dtype=np.uint8),
            available_from=np.asarray([piece.available_from for piece in ordered], dtype=np.int64),
            filters=ordered,
            marks=[piece.marks for piece in ordered],
        ),
        attributes,
    )


def segment_of(columns: PieceColumns, attributes: Strings = NO_ATTRIBUTES) -> Segment:
    """Return a segment of pieces given as columns, whose marks are of these attributes."""
    order = sorted(range(len(columns.terms)), key=columns.terms.__getitem__)
    numbers = np.empty(len(order), dtype=np.uint32)
    numbers[order] = np.arange(len(order), dtype=np.uint32)
    starts = starts_of(columns.counts)
    ordered = Strings.of_encoded([columns.terms[term] for term in order])
    terms, piece_terms = _without_unused(ordered, numbers[columns.piece_terms])
    piece_terms = piece_terms.astype(np.uint32, copy=False)
    # In the order of terms, and back: so those of each piece ascend.
    places = starts_of(np.bincount(piece_terms, minlength=len(terms)))
    rows, weights = engine.transpose(starts, piece_terms, columns.piece_weights, places)
    piece_terms, weights = engine.transpose(places, rows, weights, starts)
    ends = [(row, shown.available_until) for row, shown in enumerate(columns.filters)]
    ends = [end for end in ends if end[1] is not None]
    return _assemble(
        _SegmentColumns(
            ids=Strings.of(columns.ids),
            terms=terms,
            starts=starts,
            piece_terms=piece_terms,
            piece_weights=weights,
            weighted=columns.weighted,
            available_from=columns.available_from,
            ending=np.asarray([row for row, _ in ends], dtype=np.int64),
            available_until=np.asarray([end for _, end in ends], dtype=np.int64),
            catalogs=_rows_by_name(shown.catalogs for shown in columns.filters),
            attributes=attributes,
            marks=_rows_by_name(columns.marks),
        )
    )


def merge_segments(parts: Sequence[tuple[Segment, Mask]]) -> Segment:
    """Return one segment of the pieces of several that are live; their ids are distinct, their attributes the same.

    No piece is decoded: runs of pairs are copied from the parts' arrays in the order of ids.

        pairs of two parts    a a a c c | b e e     joined; a, c, b and e begin at 0, 3, 5 and 6
        ``pairs``             0 1 2 5 3 4 6 7       where the new segment finds its own: those of a, b, c, e
    """
    if not parts:
        return build_segment(())
    segments = [segment for segment, _ in parts]
    kept = [np.flatnonzero(live) for _, live in parts]
    ids = [encoded[row] for encoded, k in zip(_ids(segments), kept, strict=True) for row in k.tolist()]
    order = np.asarray(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64)
    # Where each kept piece's pairs begin in the parts' joined arrays, and how many they are.
    offsets = np.cumsum([0, *(len(segment.piece_terms) for segment in segments)])
    begins = _joined(segment.starts[:-1][k] + o for segment, k, o in zip(segments, kept, offsets, strict=False))
    counts = _joined(np.diff(segment.starts)[k] for segment, k in zip(segments, kept, strict=True))[order]
    starts = starts_of(counts)
    pairs = np.arange(starts[-1]) + np.repeat(begins[order] - starts[:-1], counts)
    # Old and new numbers ascend alike, so the terms of each piece still do.
    terms, renumbered = _united([segment.terms for segment in segments])
    piece_terms = _joined(new[segment.piece_terms] for segment, new in zip(segments, renumbered, strict=True))[pairs]
    terms, piece_terms = _without_unused(terms, piece_terms)
    moved = _moved(kept, order, segments)

    def pick(name: str) -> NDArray[Any]:
        return _joined(getattr(segment, name)[k] for segment, k in zip(segments, kept, strict=True))[order]

    ending = _joined(rows[segment.ending] for segment, rows in zip(segments, moved, strict=True))
    until = _joined(segment.available_until for segment in segments)
    # Ends of pieces that are gone have the row -1.
    staying = np.flatnonzero(ending >= 0)
    staying = staying[np.argsort(ending[staying])]
    return _assemble(
        _SegmentColumns(
            ids=Strings.of_encoded([ids[row] for row in order.tolist()]),
            terms=terms,
            starts=starts,
            piece_terms=piece_terms,
            piece_weights=_joined(segment.piece_weights for segment in segments)[pairs],
            weighted=pick("weighted"),
            available_from=pick("available_from"),
            ending=ending[staying],
            available_until=until[staying],
            catalogs=merge_rows([RowLists(s.catalogs, s.catalog_starts, s.catalog_pieces) for s in segments], moved),
            attributes=segments[0].attributes,
            marks=merge_rows([RowLists(s.marks, s.mark_starts, s.mark_pieces) for s in segments], moved),
        )
    )


def _assemble(gathered: _SegmentColumns) -> Segment:
    """Return the segment of gathered columns; postings, norms, signatures and columns follow from them."""
    starts, terms = gathered.starts, gathered.piece_terms.astype(np.uint32, copy=False)
    weights = gathered.piece_weights.astype(np.uint16, copy=False)
    posting_starts = starts_of(np.bincount(terms, minlength=len(gathered.terms)))
    # The rows of each posting ascend: kernels go through them block by block.
    posting_pieces, posting_weights = engine.transpose(starts, terms, weights, posting_starts)
    narrow = np.uint8 if weights.max(initial=0) <= np.iinfo(np.uint8).max else np.uint16
    weights, posting_weights = weights.astype(narrow), posting_weights.astype(narrow)
    names, category_of = _categories(gathered.terms)
    # Sums of squares of integers: exact in doubles.
    real = weights.astype(np.float64)
    segment: dict[str, Any] = {
        "ids": gathered.ids,
        "terms": gathered.terms,
        "categories": names,
        "catalogs": gathered.catalogs.names,
        "category_of": category_of,
        "starts": starts,
        "piece_terms": terms,
        "piece_weights": weights,
        "posting_starts": posting_starts,
        "posting_pieces": posting_pieces,
        "posting_weights": posting_weights,
        "weighted": gathered.weighted,
        "available_from": gathered.available_from,
        "days": (gathered.available_from // DAY_MS).astype(np.int32),
        "ending": gathered.ending.astype(np.uint32),
        "available_until": gathered.available_until,
        "catalog_starts": gathered.catalogs.starts,
        "catalog_pieces": gathered.catalogs.rows.astype(np.uint32),
        "attributes": gathered.attributes,
        **mark_arrays(gathered.marks),
        "squares": sums_by_piece(real * real, starts),
        "roots": np.sqrt(sums_by_piece(real, starts)),
    }
    cuts = (posting_starts, posting_pieces, posting_weights)
    segment |= _signatures(len(starts) - 1, cuts) | _columns(len(starts) - 1, cuts)
    return Segment(**segment)


def mark_arrays(marks: RowLists) -> dict[str, Any]:
    """Return the members of a segment that hold these marks."""
    return {"marks": marks.names, "mark_starts": marks.starts, "mark_pieces": marks.rows.astype(np.uint32)}


Cuts = tuple[IntArray, NDArray[np.uint32], NDArray[Any]]


def _signatures(n_pieces: int, postings: Cuts) -> dict[str, NDArray[Any]]:
    """Return a word for each piece, with a bit for each of the most frequent terms, and the bit of each term."""
    starts, pieces, _ = postings
    frequencies = np.diff(starts)
    bits = np.full(len(frequencies), -1, dtype=np.int8)
    signatures = np.zeros(n_pieces, dtype=np.uint64)
    most = np.argsort(-frequencies, kind="stable")[:SIGNATURE_BITS]
    bits[most] = np.arange(len(most))
    for bit, term in enumerate(most.tolist()):
        signatures[pieces[starts[term] : starts[term + 1]]] |= np.uint64(1 << bit)
    return {"bits": bits, "signatures": signatures}


def _columns(n_pieces: int, postings: Cuts) -> dict[str, NDArray[Any]]:
    """Return columns of frequent terms, weights by piece, and the column of each term; none for weights past a byte."""
    starts, pieces, weights = postings
    frequencies = np.diff(starts)
    slots = np.full(len(frequencies), -1, dtype=np.int16)
    dense = np.flatnonzero((frequencies * COLUMN_SHARE > n_pieces) & (frequencies >= MIN_COLUMN))
    # The kernels take columns of bytes alone.
    if weights.dtype != np.uint8:
        dense = dense[:0]
    dense = dense[np.argsort(-frequencies[dense], kind="stable")][:MAX_COLUMNS]
    slots[dense] = np.arange(len(dense))
    columns = np.zeros((len(dense), n_pieces), dtype=np.uint8)
    for slot, term in enumerate(dense.tolist()):
        cut = slice(starts[term], starts[term + 1])
        columns[slot, pieces[cut]] = weights[cut]
    return {"slots": slots, "columns": columns}


def _categories(terms: Strings) -> tuple[Strings, NDArray[np.uint32]]:
    """Return the categories of ascending terms, ascending themselves, and each term's category."""
    names: list[bytes] = []
    numbers = np.zeros(len(terms), dtype=np.uint32)
    for term, key in enumerate(terms.all_encoded()):
        name = key[: key.index(b"\0")]
        # A category's terms lie side by side, since the separator sorts before all that names hold.
        if not names or names[-1] != name:
            names.append(name)
        numbers[term] = len(names) - 1
    return Strings.of_encoded(names), numbers


def _ids(segments: Sequence[Segment]) -> list[list[bytes]]:
    return [segment.ids.all_encoded() for segment in segments]


def _united(tables: Sequence[Strings]) -> tuple[Strings, list[IntArray]]:
    """Return the ascending union of ascending tables, and for each the new number of every old one."""
    entries = [encoded for table in tables for encoded in table.all_encoded()]
    # Sorting joined runs only merges them: linear in the number of entries.
    order = sorted(range(len(entries)), key=entries.__getitem__)
    united: list[bytes] = []
    numbers = np.empty(len(entries), dtype=np.int64)
    for entry in order:
        if not united or united[-1] != entries[entry]:
            united.append(entries[entry])
        numbers[entry] = len(united) - 1
    cuts = list(itertools.accumulate(len(table) for table in tables))
    return Strings.of_encoded(united), np.split(numbers, cuts[:-1])


def _without_unused(terms: Strings, piece_terms: NDArray[Any]) -> tuple[Strings, NDArray[Any]]:
    """Return the terms that some piece still has, and the pairs renumbered."""
    used = np.bincount(piece_terms, minlength=len(terms)) > 0
    if used.all():
        return terms, piece_terms
    encoded = terms.all_encoded()
    kept = Strings.of_encoded([encoded[term] for term in np.flatnonzero(used).tolist()])
    return kept, (np.cumsum(used) - 1)[piece_terms]


def _moved(kept: Sequence[IntArray], order: IntArray, segments: Sequence[Segment]) -> list[IntArray]:
    """Return for each segment the new row of every piece, -1 for those that are gone."""
    # The inverse of the order: it lists kept pieces segment by segment, so each segment takes its share off the front.
    new_rows = np.empty(len(order), dtype=np.int64)
    new_rows[order] = np.arange(len(order))
    moved = []
    for segment, rows in zip(segments, kept, strict=True):
        now_at = np.full(len(segment), -1, dtype=np.int64)
        now_at[rows], new_rows = new_rows[: len(rows)], new_rows[len(rows) :]
        moved.append(now_at)
    return moved


def _joined(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:
    found = list(arrays)
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
