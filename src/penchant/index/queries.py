"""Queries: what finds the best pieces of one part of a snapshot after the other, whatever they are ranked by."""

from collections.abc import Callable, Iterable
from typing import Protocol

from penchant.index.best import BestPieces, Hits
from penchant.index.layout import NOWHERE, Choice, IntArray
from penchant.index.masks import Filter
from penchant.index.part import Part

Scan = Callable[[Part, Choice], Hits]
"""A full scan of a part by some measure: finds as many pieces as the choice says."""


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

    def scan(self, part: Part, choice: Choice) -> Hits:
        """Return any number of one part's pieces by their keys, by numpy."""
        ...

    def excluded_in(self, part: Part, shown: Filter) -> IntArray:
        """Return the rows, ascending, that are left out of one part whatever its mask says."""
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
        best.add(part.named(*scan(part, choice)))
    return list(best.ranked())
