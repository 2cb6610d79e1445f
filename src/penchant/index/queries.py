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


def best_of(parts: Iterable[Part], query: PartQuery, shown: Filter, take: int) -> list[tuple[int, str]]:
    """Return keys and ids of the best pieces of all parts, ties by ascending id."""
    # Each part is searched below the limit that those before have left; mostly the first is the largest.
    best = BestPieces(take, query.limit)
    for part in parts:
        best.add(query.best_in(part, shown, take, best.limit))
    return list(best.ranked())


def best_by(parts: Iterable[Part], scan: Scan, shown: Filter, take: int) -> list[tuple[int, str]]:
    """Return the keys and ids of the pieces that a scan finds best, ties by ascending id."""
    best = BestPieces(take, NOWHERE)
    for part in parts:
        choice = Choice(part.allowed(shown), part.excluded(shown), take, best.limit)
        best.add(scanned(part, scan, choice))
    return list(best.ranked())


def scanned(part: Part, scan: Scan, choice: Choice) -> list[tuple[int, str]]:
    """Return the keys and ids of the pieces of a part that a scan finds best."""
    return part.named(*smallest(scan(part, allowed_rows(choice.mask, choice.excluded)), choice))
