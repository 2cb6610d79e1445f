"""Outcomes of lists: what people were shown, and what came of it, as far as a package records that."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from penchant.hooks import packages
from penchant.live.views import View
from penchant.service import Services
from penchant.storage import SourceHead


class OutcomeCounts(NamedTuple):
    """How many lists and pieces were shown, and of these pieces how many were opened, and played."""

    lists: int = 0
    shown: int = 0
    opened: int = 0
    played: int = 0


class DayOutcomes(NamedTuple):
    """What lists of a name showed on a UTC day, counted from 1970, and what came of it."""

    day: int
    name: str
    counts: OutcomeCounts


class PlayedPiece(NamedTuple):
    """How often lists showed a piece, and how often it was played from them."""

    id: str
    played: int
    shown: int


class UnseenPieces(NamedTuple):
    """How many pieces that may be shown no list showed since a moment, some of them, and how many were shown.

    ``most_played`` are those that were played most from lists since then, the first one most.
    """

    since: int
    total: int
    pieces: Sequence[str]
    shown: int
    most_played: Sequence[PlayedPiece] = ()


class ListOpenings(NamedTuple):
    """How much of what lists of a name showed was opened."""

    name: str
    title: str
    opened: int


class ListOutcomes(Protocol):
    """What is known of what people were shown, by the names of lists."""

    async def by_day(self, head: SourceHead, first: int, last: int) -> Iterable[DayOutcomes]:
        """Return the outcomes of the days from one to another."""
        ...

    async def unseen(self, view: View) -> UnseenPieces | None:
        """Return what was not shown lately; ``None`` while that is counted."""
        ...

    async def openers(self, view: View, days: Sequence[int], likes: int) -> Sequence[ListOpenings]:
        """Return the lists that led to most of so many likes of some days."""
        ...


class NoOutcomes:
    """Outcomes where no package records any."""

    async def by_day(self, _head: SourceHead, _first: int, _last: int) -> Iterable[DayOutcomes]:
        """Return none."""
        return ()

    async def unseen(self, _view: View) -> UnseenPieces | None:
        """Return nothing."""
        return None

    async def openers(self, _view: View, _days: Sequence[int], _likes: int) -> Sequence[ListOpenings]:
        """Return none."""
        return ()


def list_outcomes(services: Services) -> ListOutcomes:
    """Return what the installed packages know of what people were shown."""
    return packages().list_outcomes(services) or NoOutcomes()
