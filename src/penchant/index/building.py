"""How is a segment made? From pieces, or by merging the live pieces of several segments; in plain numpy.

Neither knows the other: both gather ids, pairs and windows, and `_assemble` derives the rest.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penchant.index.layout import IntArray, Mask
from penchant.index.segment import Segment, sums_by_piece
from penchant.index.strings import Strings
from penchant.model import DAY_MS, Piece, Term

SEPARATOR = "\0"
"""Between category and keyword: no name holds it, and it sorts before all that names hold."""
SIGNATURE_BITS = 64
COLUMN_SHARE = 12
"""A term in more than 1 of so many pieces has a column: 31 bytes a piece, and cosine in two thirds of the time."""
MAX_COLUMNS = 128
"""Columns of a segment at most, whatever its terms: a catalogue where every piece has hundreds of common terms."""
MIN_COLUMN = 64
"""Fewer postings than this are added up as fast one by one."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Gathered:
    """What `_assemble` starts from; pieces ascend by id, and the terms of each piece ascend."""

    ids: Strings
    terms: Strings
    starts: IntArray
    piece_terms: IntArray
    piece_weights: NDArray[Any]
    weighted: NDArray[np.uint8]
    available_from: IntArray
    ending: IntArray
    available_until: IntArray
    catalogs: dict[str, IntArray]


def term_key(term: Term) -> str:
    """Return how a term is written in a segment's table."""
    return term.category + SEPARATOR + term.keyword


def term_of(key: str) -> Term:
    """Return the term that is written so."""
    category, _, keyword = key.partition(SEPARATOR)
    return Term(category, keyword)


def build_segment(pieces: Iterable[Piece]) -> Segment:
    """Return a segment of these pieces, whose ids are distinct."""
    ordered = sorted(pieces, key=lambda piece: piece.id)
    distinct = sorted({term for piece in ordered for term in piece.weights})
    numbers = {term: number for number, term in enumerate(distinct)}
    terms: list[int] = []
    weights: list[int] = []
    counts: list[int] = []
    catalogs: dict[str, list[int]] = {}
    for place, piece in enumerate(ordered):
        pairs = sorted((numbers[term], weight) for term, weight in piece.weights.items())
        terms += [number for number, _ in pairs]
        weights += [weight for _, weight in pairs]
        counts.append(len(pairs))
        for catalog in piece.catalogs:
            catalogs.setdefault(catalog, []).append(place)
    ends = [(place, piece.available_until) for place, piece in enumerate(ordered) if piece.available_until is not None]
    return _assemble(
        _Gathered(
            ids=Strings.of(piece.id for piece in ordered),
            terms=Strings.of(map(term_key, distinct)),
            starts=_starts(np.asarray(counts, dtype=np.int64)),
            piece_terms=np.asarray(terms, dtype=np.int64),
            piece_weights=np.asarray(weights, dtype=np.int64),
            weighted=np.asarray([piece.weighted for piece in ordered], dtype=np.uint8),
            available_from=np.asarray([piece.available_from for piece in ordered], dtype=np.int64),
            ending=np.asarray([place for place, _ in ends], dtype=np.int64),
            available_until=np.asarray([end for _, end in ends], dtype=np.int64),
            catalogs={name: np.asarray(places, dtype=np.int64) for name, places in catalogs.items()},
        )
    )


def merge_segments(parts: Sequence[tuple[Segment, Mask]]) -> Segment:
    """Return one segment of the pieces of several that are live; their ids are distinct."""
    if not parts:
        return build_segment(())
    segments = [segment for segment, _ in parts]
    kept = [np.flatnonzero(live) for _, live in parts]
    ids = [encoded[place] for encoded, k in zip(_ids(segments), kept, strict=True) for place in k.tolist()]
    order = np.asarray(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64)
    # Where each kept piece's pairs begin in the parts' joined arrays, and how many they are.
    offsets = np.cumsum([0, *(len(segment.piece_terms) for segment in segments)])
    begins = _joined(segment.starts[:-1][k] + o for segment, k, o in zip(segments, kept, offsets, strict=False))
    counts = _joined(np.diff(segment.starts)[k] for segment, k in zip(segments, kept, strict=True))[order]
    starts = _starts(counts)
    pairs = np.arange(starts[-1]) + np.repeat(begins[order] - starts[:-1], counts)
    terms, renumbered = _united([segment.terms for segment in segments])
    piece_terms = _joined(new[segment.piece_terms] for segment, new in zip(segments, renumbered, strict=True))[pairs]
    terms, piece_terms = _without_unused(terms, piece_terms)
    moved = _moved(kept, order, segments)

    def pick(name: str) -> NDArray[Any]:
        return _joined(getattr(segment, name)[k] for segment, k in zip(segments, kept, strict=True))[order]

    ending = _joined(places[segment.ending] for segment, places in zip(segments, moved, strict=True))
    until = _joined(segment.available_until for segment in segments)
    staying = np.flatnonzero(ending >= 0)
    staying = staying[np.argsort(ending[staying])]
    return _assemble(
        _Gathered(
            ids=Strings.of_encoded([ids[place] for place in order.tolist()]),
            terms=terms,
            starts=starts,
            piece_terms=piece_terms,
            piece_weights=_joined(segment.piece_weights for segment in segments)[pairs],
            weighted=pick("weighted"),
            available_from=pick("available_from"),
            ending=ending[staying],
            available_until=until[staying],
            catalogs=_merged_catalogs(segments, moved),
        )
    )


def _assemble(gathered: _Gathered) -> Segment:
    starts, terms = gathered.starts, gathered.piece_terms
    weights = gathered.piece_weights
    weights = weights.astype(np.uint8 if weights.max(initial=0) <= np.iinfo(np.uint8).max else np.uint16)
    owners = np.repeat(np.arange(len(starts) - 1, dtype=np.uint32), np.diff(starts))
    frequencies = np.bincount(terms, minlength=len(gathered.terms))
    by_term = np.argsort(terms, kind="stable")
    posting_starts = _starts(frequencies)
    posting_pieces, posting_weights = owners[by_term], weights[by_term]
    names, category_of = _categories(gathered.terms)
    real = weights.astype(np.float64)
    segment: dict[str, Any] = {
        "ids": gathered.ids,
        "terms": gathered.terms,
        "categories": names,
        "catalogs": Strings.of(sorted(gathered.catalogs)),
        "category_of": category_of,
        "starts": starts,
        "piece_terms": terms.astype(np.uint32),
        "piece_weights": weights,
        "posting_starts": posting_starts,
        "posting_pieces": posting_pieces,
        "posting_weights": posting_weights,
        "weighted": gathered.weighted,
        "available_from": gathered.available_from,
        "days": (gathered.available_from // DAY_MS).astype(np.int32),
        "ending": gathered.ending.astype(np.uint32),
        "available_until": gathered.available_until,
        "catalog_starts": _starts(np.asarray([len(gathered.catalogs[n]) for n in sorted(gathered.catalogs)], np.int64)),
        "catalog_pieces": _joined(gathered.catalogs[n] for n in sorted(gathered.catalogs)).astype(np.uint32),
        "squares": sums_by_piece(real * real, starts),
        "roots": np.sqrt(sums_by_piece(real, starts)),
    }
    cuts = (posting_starts, posting_pieces, posting_weights)
    segment |= _signatures(len(starts) - 1, cuts) | _columns(len(starts) - 1, cuts)
    return Segment(**segment)


Cuts = tuple[IntArray, NDArray[np.uint32], NDArray[Any]]


def _signatures(n_pieces: int, postings: Cuts) -> dict[str, NDArray[Any]]:
    """Return the words with a bit for each of the most frequent terms, and which bit is whose."""
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
    """Return the weights of frequent terms by piece, and which column is whose; none for weights past a byte."""
    starts, pieces, weights = postings
    frequencies = np.diff(starts)
    slots = np.full(len(frequencies), -1, dtype=np.int16)
    dense = np.flatnonzero((frequencies * COLUMN_SHARE > n_pieces) & (frequencies >= MIN_COLUMN))
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
    for place, key in enumerate(terms.all_encoded()):
        name = key[: key.index(b"\0")]
        if not names or names[-1] != name:
            names.append(name)
        numbers[place] = len(names) - 1
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
    for place in order:
        if not united or united[-1] != entries[place]:
            united.append(entries[place])
        numbers[place] = len(united) - 1
    cuts = list(itertools.accumulate(len(table) for table in tables))
    return Strings.of_encoded(united), np.split(numbers, cuts[:-1])


def _without_unused(terms: Strings, piece_terms: IntArray) -> tuple[Strings, IntArray]:
    """Return the terms that some piece still has, and the pairs renumbered."""
    used = np.bincount(piece_terms, minlength=len(terms)) > 0
    if used.all():
        return terms, piece_terms
    encoded = terms.all_encoded()
    kept = Strings.of_encoded([encoded[place] for place in np.flatnonzero(used).tolist()])
    return kept, (np.cumsum(used) - 1)[piece_terms]


def _moved(kept: Sequence[IntArray], order: IntArray, segments: Sequence[Segment]) -> list[IntArray]:
    """Return for each segment the new place of every piece, -1 for those that are gone."""
    new_places = np.empty(len(order), dtype=np.int64)
    new_places[order] = np.arange(len(order))
    moved = []
    for segment, places in zip(segments, kept, strict=True):
        now_at = np.full(len(segment), -1, dtype=np.int64)
        now_at[places], new_places = new_places[: len(places)], new_places[len(places) :]
        moved.append(now_at)
    return moved


def _merged_catalogs(segments: Sequence[Segment], moved: Sequence[IntArray]) -> dict[str, IntArray]:
    gathered: dict[str, list[IntArray]] = {}
    for segment, places in zip(segments, moved, strict=True):
        for name in segment.catalogs:
            staying = places[segment.catalog(name)]
            staying = staying[staying >= 0]
            if len(staying):
                gathered.setdefault(name, []).append(staying)
    return {name: np.sort(np.concatenate(found)) for name, found in gathered.items()}


def _starts(counts: IntArray) -> IntArray:
    """Return where each run begins, and the end: cumulative counts from 0."""
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def _joined(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:
    found = list(arrays)
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
