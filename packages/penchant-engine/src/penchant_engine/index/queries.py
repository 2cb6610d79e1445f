"""Queries: what finds the best pieces of one part of a snapshot after the other, whatever they are ranked by.

Beside them the scans of what many people like, of what is new, and of what has a key of its own.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from penchant_engine.index.arrays import run_places
from penchant_engine.index.best import Hits, Keys, allowed_rows, smallest
from penchant_engine.index.layout import DISTANCE_SCALE, NOWHERE, Choice, IntArray
from penchant_engine.index.masks import Filter
from penchant_engine.index.part import Part
from penchant_engine.index.strings import Strings
from penchant_engine.model import DAY_MS

Scan = Callable[[Part, IntArray], Keys]
"""A scan by some measure, by numpy: finds those of a part's pieces at some rows, ascending, that have a key."""


class PartQuery(Protocol):
    """A query that any part of its snapshot can be searched for, on its own.

    Keys are whole numbers, the least one first.
    """

    @property
    def limit(self) -> int:
        """The key that those of all pieces it finds are below."""
        ...

    def best_in(self, part: Part, shown: Filter, take: int, limit: int) -> Hits:
        """Return keys and rows of the best pieces of one part, of those that are below a limit."""
        ...

    def scan(self, part: Part, rows: IntArray) -> Keys:
        """Return those of one part's pieces at some rows that it finds, by numpy, whatever ``limit`` is."""
        ...

    def excluded_in(self, part: Part, shown: Filter) -> IntArray:
        """Return the rows, ascending, of one part that it leaves out: what a filter excludes, and its own."""
        ...


class ScanQuery:
    """A query by a scan alone: for what is too little or too seldom asked for to be worth a kernel."""

    limit = NOWHERE

    def __init__(self, scan: Scan) -> None:
        self.scan = scan

    def best_in(self, part: Part, shown: Filter, take: int, limit: int) -> Hits:
        """Return keys and rows of the pieces of one part that the scan finds best."""
        return scanned(part, self.scan, Choice(part.allowed(shown), self.excluded_in(part, shown), take, limit))

    def excluded_in(self, part: Part, shown: Filter) -> IntArray:
        """Return the rows, ascending, of what a filter excludes from one part."""
        return part.excluded(shown)


def best_of(parts: Iterable[Part], query: PartQuery, shown: Filter, take: int) -> list[tuple[int, str]]:
    """Return keys and ids of the best pieces of all parts, ties by ascending id."""
    best, limit = list[tuple[int, str]](), query.limit
    for part in parts:
        keys, rows = query.best_in(part, shown, take, limit)
        found = zip(keys.tolist(), part.ids_of(rows, shown), strict=True)
        best = sorted([*best, *found])[:take] if best else list(found)
        if len(best) >= take:
            # Mostly the first part is the largest. Of the others what is as good may enter: its id may come first.
            limit = best[-1][0] + 1
    return best


def most_listed(parts: Iterable[Part], query: PartQuery, shown: Filter, limit: tuple[str, int], enough: int) -> int:
    """Return how many of the shown pieces that a query finds a list may have, under a limit, or ``enough``.

    ``limit`` is a category and how many may have the same keyword of it: no list has more than these and what has none
    of the category. Costs a scan and a pass over the keywords of what it finds.
    """
    category, most = limit
    free, counts = 0, Counter[bytes]()
    for part in parts:
        segment = part.segment
        _, rows = query.scan(part, allowed_rows(part.allowed(shown), query.excluded_in(part, shown)))
        sizes = np.diff(segment.starts)[rows].astype(np.int64)
        terms = segment.piece_terms[run_places(segment.starts[rows].astype(np.int64), sizes)]
        numbers = [number for number, name in enumerate(segment.category_names) if name == category]
        own = np.isin(segment.category_of[terms], numbers)
        is_free = np.ones(len(rows), dtype=np.bool_)
        is_free[np.repeat(np.arange(len(rows)), sizes)[own]] = False
        free += int(np.count_nonzero(is_free))
        found = np.bincount(terms[own])
        # So many keywords are enough, whatever the limit is.
        for term in np.flatnonzero(found)[: max(0, enough)].tolist():
            counts[segment.terms.encoded(term)] += int(found[term])
        if free + sum(min(most, count) for count in counts.values()) >= enough:
            return enough
    return free + sum(min(most, count) for count in counts.values())


def scanned(part: Part, scan: Scan, choice: Choice) -> Hits:
    """Return the keys and rows of the pieces of a part that a scan finds best."""
    return smallest(scan(part, allowed_rows(choice.mask, choice.excluded)), choice)


def popularity_scan(parts: Sequence[Part], keys: Sequence[IntArray]) -> Scan:
    """Return the scan of what somebody likes, by ``keys`` of all pieces, an array for each part (`Popularity`)."""
    keys_of = dict(zip(parts, keys, strict=True))

    def scan(part: Part, rows: IntArray) -> Keys:
        found = keys_of[part][rows]
        is_liked = found >= 0
        return found[is_liked], rows[is_liked]

    return scan


def newness_scan(moment: int, half_life_days: float) -> Scan:
    """Return the scan of all pieces by age at a moment (ms since 1970 UTC), as age / (age + half-life).

    A quotient rather than a power of 2: it is the same double on every machine, and never reaches 1.
    """
    half_life = half_life_days * DAY_MS

    def scan(part: Part, rows: IntArray) -> Keys:
        ages = np.maximum(0, moment - part.segment.available_from[rows]).astype(np.float64)
        return np.rint(ages / (ages + half_life) * DISTANCE_SCALE).astype(np.int64), rows

    return scan


def score_scan(keys: Mapping[str, int]) -> Scan:
    """Return the scan of the pieces of these ids, by these keys."""
    ids = sorted(keys)
    names, values = Strings.of(ids), np.fromiter((keys[each] for each in ids), np.int64, len(ids))

    def scan(part: Part, rows: IntArray) -> Keys:
        own = part.segment.ids.find_all(names)
        # Few among many, both ascending.
        known = (own >= 0) & (np.append(rows, -1)[np.searchsorted(rows, own)] == own)
        return values[known], own[known]

    return scan
