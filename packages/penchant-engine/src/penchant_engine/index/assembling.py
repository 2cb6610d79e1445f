"""Assembling: gathered columns of pieces become a segment, and what follows from them is derived here."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from penchant_engine.index.arrays import count_numbers, starts_of
from penchant_engine.index.compiled import engine
from penchant_engine.index.layout import IntArray, Numbers
from penchant_engine.index.segment import Segment, weight_sums
from penchant_engine.index.strings import Strings
from penchant_engine.model import DAY_MS

SIGNATURE_BITS = 64
COLUMN_SHARE = 12
"""A term in more than 1 of so many pieces has a column: 31 bytes a piece, and cosine in two thirds of the time."""
MAX_COLUMNS = 128
"""Columns of a segment at most, whatever its terms: a catalogue where every piece has hundreds of common terms."""
MIN_COLUMN = 64
"""Fewer postings than this are added up as fast one by one."""


class SegmentColumns(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What `assemble` starts from; pieces ascend by id, and the terms of each piece ascend."""

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
    reading: Strings


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


def rows_by_name(names_by_row: Iterable[Iterable[str]]) -> RowLists:
    """Return the rows of each name, from the names of each row."""
    rows_of: dict[str, list[int]] = {}
    for row, names in enumerate(names_by_row):
        for name in names:
            rows_of.setdefault(name, []).append(row)
    return list_rows(rows_of)


def assemble(gathered: SegmentColumns) -> Segment:
    """Return the segment of gathered columns; postings, norms, signatures and columns follow from them."""
    starts, terms = gathered.starts, gathered.piece_terms.astype(np.uint32, copy=False)
    weights = gathered.piece_weights.astype(np.uint16, copy=False)
    posting_starts = starts_of(count_numbers(terms, len(gathered.terms)))
    # The rows of each posting ascend: kernels go through them block by block.
    posting_pieces, posting_weights = engine.transpose(starts, terms, weights, posting_starts)
    narrow = np.uint8 if weights.max(initial=0) <= np.iinfo(np.uint8).max else np.uint16
    weights, posting_weights = weights.astype(narrow), posting_weights.astype(narrow)
    names, category_of = _categories(gathered.terms)
    squares, sums = weight_sums(weights, starts)
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
        "reading": gathered.reading,
        **mark_arrays(gathered.marks),
        "squares": squares,
        "roots": np.sqrt(sums),
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
    names: list[bytes] = []
    numbers = np.zeros(len(terms), dtype=np.uint32)
    first = 0
    while first < len(terms):
        name, _, _ = terms.encoded(first).partition(b"\0")
        # A category's terms lie side by side, since the separator sorts before all that names hold.
        end = terms.position_of(name + b"\1")
        numbers[first:end] = len(names)
        names.append(name)
        first = end
    return Strings.of_encoded(names), numbers
