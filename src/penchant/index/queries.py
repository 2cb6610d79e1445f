"""Queries: what finds the best pieces of one part of a snapshot after the other, whatever they are ranked by."""

from collections.abc import Callable, Iterable
from typing import Protocol

from penchant.index.best import BestPieces, Keys, allowed_rows, smallest
from penchant.index.layout import NOWHERE, Choice, IntArray
from penchant.index.masks import Filter
from penchant.index.part import Part

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

    def best_in(self, part: Part, shown: Filter, take: int, limit: int) -> list[tuple[int, str]]:
        """Return keys and ids of the best pieces of one part, of those that are below a limit."""
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

    def best_in(self, part: Part, shown: Filter, take: int, limit: int) -> list[tuple[int, str]]:
        """Return keys and ids of the pieces of one part that the scan finds best."""
        return scanned(part, self.scan, Choice(part.allowed(shown), self.excluded_in(part, shown), take, limit))

    def excluded_in(self, part: Part, shown: Filter) -> IntArray:
        """Return the rows, ascending, of what a filter excludes from one part."""
        return part.excluded(shown)


def best_of(parts: Iterable[Part], query: PartQuery, shown: Filter, take: int) -> list[tuple[int, str]]:
    """Return keys and ids of the best pieces of all parts, ties by ascending id."""
    # Each part is searched below the limit that those before have left; mostly the first is the largest.
    best = BestPieces(take, query.limit)
    for part in parts:
        best.add(query.best_in(part, shown, take, best.limit))
    return list(best.ranked())


def scanned(part: Part, scan: Scan, choice: Choice) -> list[tuple[int, str]]:
    """Return the keys and ids of the pieces of a part that a scan finds best."""
    return part.named(*smallest(scan(part, allowed_rows(choice.mask, choice.excluded)), choice))
