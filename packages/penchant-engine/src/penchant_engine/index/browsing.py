"""Browsing: keywords by their beginning, pieces by a keyword or mark, and categories, and how many pieces have them."""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penchant_engine.attributes import MarkSpan
from penchant_engine.index.building import SEPARATOR, term_key, term_of
from penchant_engine.index.layout import IntArray, Numbers
from penchant_engine.index.part import Part
from penchant_engine.index.snapshot import Snapshot
from penchant_engine.index.strings import Strings
from penchant_engine.model import Term

_BLOCK = 65_536
"""Pieces whose keywords are looked at together."""
_SEPARATOR = SEPARATOR.encode()
_PAST_TEXT = b"\xff"
"""A byte that no UTF-8 holds: strings that begin with a text sort below the text followed by it."""


class TermCount(NamedTuple):
    """A term, and how many live pieces have it."""

    term: Term
    pieces: int


class TermPage(NamedTuple):
    """A page of terms, and how many there are in all."""

    terms: list[TermCount]
    total: int


class CategoryCount(NamedTuple):
    """A category: how many keywords it has, and how many live pieces have one of these."""

    name: str
    keywords: int
    pieces: int


class CatalogCount(NamedTuple):
    """A catalog, and how many live pieces are in it."""

    name: str
    pieces: int


class TermTable(NamedTuple):
    """Terms, ascending, with how many live pieces have each, maybe none, and the category of each by its place."""

    terms: Strings
    counts: IntArray
    categories: Sequence[str]
    category_of: NDArray[np.integer[Any]]


def count_terms(snapshot: Snapshot) -> list[TermTable]:
    """Return all terms of a snapshot, each in one of some tables; for whoever looks through one again and again.

    Costs a pass over the frequencies of the largest segment, and one over the terms of the others.
    """
    parts = sorted(snapshot.parts, key=lambda part: len(part.segment.terms), reverse=True)
    if not parts:
        return []
    largest = parts[0].segment
    counts = parts[0].frequencies(np.arange(len(largest.terms)))
    others: Counter[bytes] = Counter()
    for part in parts[1:]:
        own = part.segment.terms
        frequencies, places = part.frequencies(np.arange(len(own))), largest.terms.find_all(own)
        known = places >= 0
        counts[places[known]] += frequencies[known]
        missing = np.flatnonzero(~known)
        others.update(dict(zip(own.take_encoded(missing), frequencies[missing].tolist(), strict=True)))
    keys = sorted(others)
    names = [key.partition(_SEPARATOR)[0].decode() for key in keys]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    rest = TermTable(
        Strings.of_encoded(keys),
        np.asarray([others[key] for key in keys], dtype=np.int64),
        list(numbers),
        np.asarray([numbers[name] for name in names], dtype=np.int64),
    )
    return [TermTable(largest.terms, counts, largest.category_names, largest.category_of), rest]


def terms_beginning(
    tables: Sequence[TermTable], beginnings: frozenset[str], *, category: str | None = None, skip: int = 0, limit: int
) -> TermPage:
    """Return a page of the terms whose keyword has one of these beginnings, most frequent first, ties by term.

    Of all categories or one.
    """
    most, count = skip + limit, 0
    found: list[TermCount] = []
    for table in tables:
        wanted = table.categories if category is None else [category]
        places = _beginning(table.terms, [term_key(name, each) for name in wanted for each in beginnings])
        counts = table.counts[places]
        places, counts = places[counts > 0], counts[counts > 0]
        count += len(places)
        first = _greatest(counts, most)
        found += map(TermCount, map(term_of, table.terms.take(places[first])), counts[first].tolist())
    found.sort(key=lambda each: (-each.pieces, each.term))
    return TermPage(found[skip:most], count)


def _beginning(table: Strings, keys: Iterable[str]) -> IntArray:
    """Return the places, ascending, of the strings of an ascending table that begin with some texts."""
    starts = [key.encode() for key in keys]
    ranges = [np.arange(table.position_of(start), table.position_of(start + _PAST_TEXT)) for start in starts]
    # Of two texts one may begin with the other.
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *ranges]))


def _greatest(counts: IntArray, most: int) -> IntArray:
    """Return the places of the greatest counts, ties by place, in any order."""
    if len(counts) <= most:
        return np.arange(len(counts))
    least = np.partition(counts, len(counts) - most)[len(counts) - most]
    above = np.flatnonzero(counts > least)
    return np.concatenate([above, np.flatnonzero(counts == least)[: most - len(above)]])


def pieces_having(snapshot: Snapshot, term: Term, *, after: str | None, limit: int) -> list[str]:
    """Return the ids of live pieces with a term, ascending, past ``after``."""
    runs = (_live_ids(part, part.segment.having(term_key(*term)), after) for part in snapshot.parts)
    return list(islice(heapq.merge(*runs), limit))


def pieces_marked(snapshot: Snapshot, span: MarkSpan, *, limit: int) -> list[str]:
    """Return the ids of live pieces with a mark of a span, those of the first marks, ascending."""
    found: set[str] = set()
    for part in snapshot.parts:
        # A piece may have several marks of the span, and comes once for each.
        found.update(islice(_live_ids(part, part.segment.marked(span), None), limit))
    return sorted(found)[:limit]


def _live_ids(part: Part, places: Numbers, after: str | None) -> Iterator[str]:
    """Yield the ids of the live pieces at some places, which ascend where only those past an id are wanted."""
    segment = part.segment
    if after is not None:
        first = np.uint32(segment.ids.position(after))  # of the places' type, or all would be copied
        places = places[np.searchsorted(places, first) :]
    for place in places:
        piece_id = segment.ids[int(place)]
        if part.live[place] and piece_id != after:
            yield piece_id


def count_catalogs(snapshot: Snapshot) -> list[CatalogCount]:
    """Return the catalogs that live pieces are in, those of the most pieces first, ties by name."""
    counts: Counter[str] = Counter()
    for part in snapshot.parts:
        segment = part.segment
        before = np.concatenate([[0], np.cumsum(part.live[segment.catalog_pieces] > 0)])
        counts.update(dict(zip(segment.catalogs, np.diff(before[segment.catalog_starts]).tolist(), strict=True)))
    return [CatalogCount(*each) for each in sorted(counts.items(), key=lambda each: (-each[1], each[0])) if each[1]]


def categories(snapshot: Snapshot, tables: Iterable[TermTable]) -> list[CategoryCount]:
    """Return the categories that live pieces have, ascending; costs one pass over the keywords of all pieces."""
    keywords: Counter[str] = Counter()
    for table in tables:
        numbers = np.bincount(table.category_of[table.counts > 0], minlength=len(table.categories))
        keywords.update(dict(zip(table.categories, numbers.tolist(), strict=True)))
    pieces: Counter[str] = Counter()
    for part in snapshot.parts:
        pieces.update(dict(zip(part.segment.category_names, _pieces_by_category(part).tolist(), strict=True)))
    return [CategoryCount(name, count, pieces[name]) for name, count in sorted(keywords.items()) if count]


def _pieces_by_category(part: Part) -> IntArray:
    """Return how many live pieces of a part have each of its categories."""
    segment = part.segment
    counts = np.zeros(len(segment.category_names), dtype=np.int64)
    for first in range(0, len(segment), _BLOCK):
        starts = segment.starts[first : first + _BLOCK + 1]
        own = segment.category_of[segment.piece_terms[starts[0] : starts[-1]]]
        # The terms of a piece ascend, and so do their categories: one begins where the piece does, or another ends.
        begins = np.ones(len(own), dtype=np.bool_)
        np.not_equal(own[1:], own[:-1], out=begins[1:])
        begins[starts[:-1][starts[:-1] < starts[-1]] - starts[0]] = True
        begins &= np.repeat(part.live[first : first + _BLOCK] > 0, np.diff(starts))
        counts += np.bincount(own[begins], minlength=len(counts))
    return counts
