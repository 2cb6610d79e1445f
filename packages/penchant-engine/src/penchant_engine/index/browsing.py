"""Browsing: keywords by their beginning, pieces by a keyword or mark, and categories, a page at a time.

Every answer costs a few binary searches a category and segment, and one pass over the keywords that begin so.
"""

import heapq
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from penchant_engine.attributes import MarkSpan
from penchant_engine.index.building import SEPARATOR, term_key, term_of
from penchant_engine.index.layout import Numbers
from penchant_engine.index.part import Part
from penchant_engine.index.snapshot import Snapshot
from penchant_engine.model import Term

_PAST_TEXT = b"\xff"
"""A byte that no UTF-8 holds: strings that begin with a text sort below the text followed by it."""


class TermCount(NamedTuple):
    """A term, and how many live pieces have it."""

    term: Term
    pieces: int


class CategoryCount(NamedTuple):
    """A category, and how many keywords it has."""

    name: str
    keywords: int


def terms_beginning(snapshot: Snapshot, beginnings: frozenset[str], *, limit: int) -> list[TermCount]:
    """Return terms whose keyword has one of these beginnings, most frequent first: of each segment its most frequent.

    Ties by ascending term.
    """
    found: set[Term] = set()
    for part in snapshot.parts:
        for beginning in beginnings:
            found.update(_most_frequent(part, beginning, limit))
    terms = sorted(found)
    counts = snapshot.document_frequencies(terms).tolist()
    counted = [TermCount(term, count) for term, count in zip(terms, counts, strict=True) if count]
    return sorted(counted, key=lambda each: (-each.pieces, each.term))[:limit]


def _most_frequent(part: Part, beginning: str, limit: int) -> Iterator[Term]:
    table = part.segment.terms
    ranges = []
    for category in part.segment.category_names:
        start = (category + SEPARATOR + beginning).encode()
        ranges.append(np.arange(table.position_of(start), table.position_of(start + _PAST_TEXT)))
    # `concatenate` needs one array at least.
    places = np.concatenate([np.zeros(0, dtype=np.int64), *ranges])
    counts = part.frequencies(places)
    if len(places) > limit:
        places = places[np.argsort(-counts, kind="stable")[:limit]]
    return (term_of(table[place]) for place in places.tolist())


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


def categories(snapshot: Snapshot, *, limit: int) -> list[CategoryCount]:
    """Return the categories, ascending, of each segment's first ``limit``, with their greatest numbers of keywords."""
    counts: dict[str, int] = {}
    for part in snapshot.parts:
        numbers = np.bincount(part.segment.category_of, minlength=len(part.segment.category_names))
        for name, keywords in zip(part.segment.category_names[:limit], numbers.tolist(), strict=False):
            counts[name] = max(counts.get(name, 0), keywords)
    return [CategoryCount(name, keywords) for name, keywords in sorted(counts.items())[:limit]]
