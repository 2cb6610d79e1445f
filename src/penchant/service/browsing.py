"""What do people look through? An account's sources with what goes on in them, and pieces by id, label and keyword.

Every answer costs about a page, however large the source: ids come from the table's primary key, keywords from the
index. Labels are in neither; they are read one after the other, so many at a time.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penchant.index import CategoryCount, TermCount, categories, pieces_having, terms_beginning
from penchant.live.database import Database
from penchant.live.views import View, Views
from penchant.model import DAY_MS, Term
from penchant.service.access import Access
from penchant.storage import SourceHead
from penchant.telemetry import Metrics
from penchant.wire import decode_stored_label

PAGE = 50
"""Pieces on a page."""
MAX_SCANNED = 5_000
"""Pieces whose labels are read for one page, in 30 to 50 ms; the next page goes on from there."""
MAX_TERMS = 50
"""Keywords that a page offers."""
MAX_CATEGORIES = 200
"""Categories that a page names."""
DAYS = 30
"""Days of interactions that are counted."""
MAX_COUNTED = 100_000
"""Interactions of a source that are counted: those before them are told to be left out."""
COUNTS_LIFE_S = 15.0
"""How long counts of interactions are believed once there are new ones."""
COUNTING_WAIT_S = 0.3
"""How long an answer waits for counts; they go on being made, for the next one."""
MAX_COUNTS = 1_000
"""Sources whose counts are remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A piece by its id, with its label where it has one."""

    id: str
    label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A page of pieces; ``after`` is the id that the next page goes on from, ``None`` where there is no more.

    ``looked_at`` tells how many pieces were read for it, where these are more than were found.
    """

    pieces: Sequence[Labelled]
    after: str | None = None
    looked_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Daily:
    """Interactions by UTC day, the last of which is today; ``complete`` tells that all were counted."""

    first_day: int
    counts: Sequence[int]
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOverview:
    """Where a source stands. ``lag`` is in versions, ``None`` where this process has not read the source yet."""

    head: SourceHead
    lag: int | None
    daily: Daily | None


@dataclass(frozen=True, slots=True)
class _Counted:
    version: int
    day: int
    at: float
    daily: Daily


class Browsing:
    """Looks through sources and their pieces."""

    def __init__(
        self,
        database: Database,
        views: Views,
        metrics: Metrics,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._views = views
        self._metrics = metrics
        self._clock = clock
        self._monotonic = monotonic
        self._counted: dict[int, _Counted] = {}
        self._counting: dict[int, asyncio.Task[Daily]] = {}

    async def sources(self, access: Access, *, skip: int, limit: int) -> tuple[int, list[SourceOverview]]:
        """Return how many sources an account has, and where those of a page stand, ascending by name."""
        heads = await self._database.promptly(self._database.storage.list_sources, access.account_id)
        shown = heads[skip : skip + limit]
        counting = {head.source_id: self._daily(head) for head in shown}
        if waited := [task for task in counting.values() if isinstance(task, asyncio.Task)]:
            await asyncio.wait(waited, timeout=COUNTING_WAIT_S)
        return len(heads), [
            SourceOverview(head=head, lag=self._lag(access, head), daily=_result(counting[head.source_id]))
            for head in shown
        ]

    async def answered(self) -> dict[int, int]:
        """Return how many requests were answered by status since the start."""
        return await asyncio.to_thread(self._metrics.answered)

    async def by_id(self, view: View, beginning: str, *, after: str | None = None) -> Found:
        """Return the pieces whose id begins so, ascending."""
        rows = await self._database.promptly(self._rows, view, beginning, after)
        pieces = [piece for piece in rows if piece.id.startswith(beginning)]
        return _page(pieces)

    async def by_keyword(self, view: View, term: Term, *, after: str | None = None) -> Found:
        """Return the pieces that have a term, ascending by id."""
        ids = pieces_having(view.snapshot, term, after=after, limit=PAGE + 1)
        labels = await self.labels(view, ids[:PAGE])
        return _page([Labelled(id=each, label=labels.get(each)) for each in ids])

    async def by_label(self, view: View, text: str, *, after: str | None = None) -> Found:
        """Return the pieces whose label holds a text, whatever its case, ascending by id, among so many at a time."""
        return await self._database.in_thread(self._scan, view, text, after)

    async def keywords(self, view: View, beginning: str) -> list[TermCount]:
        """Return the terms whose keyword begins so, in small or capital letters, the most frequent first."""
        ways = {beginning, beginning.lower(), beginning.upper(), beginning.capitalize(), beginning.title()}
        # In a thread, since all keywords begin with nothing.
        return await self._database.in_thread(terms_beginning, view.snapshot, frozenset(ways), limit=MAX_TERMS)

    def categories(self, view: View) -> list[CategoryCount]:
        """Return the categories of a source, ascending."""
        return categories(view.snapshot, limit=MAX_CATEGORIES)

    async def labels(self, view: View, ids: Sequence[str]) -> dict[str, str]:
        """Return the labels of some pieces, a few hundred at most, that have one."""
        if not ids:
            return {}
        name = (view.head.account_id, view.head.name)
        bodies = await self._database.promptly(self._database.storage.read_pieces, *name, ids)
        labels = {piece_id: decode_stored_label(body) for piece_id, body in bodies.items()}
        return {piece_id: label for piece_id, label in labels.items() if label is not None}

    def _rows(self, view: View, start: str, after: str | None) -> list[Labelled]:
        name = (view.head.account_id, view.head.name)
        with self._database.storage.open_following(*name, start=start, after=after, limit=PAGE + 1) as batches:
            return [Labelled(id=each.id, label=decode_stored_label(each.body)) for rows in batches for each in rows]

    def _scan(self, view: View, text: str, after: str | None) -> Found:
        wanted = text.casefold()
        found: list[Labelled] = []
        looked_at = 0
        name = (view.head.account_id, view.head.name)
        with self._database.storage.open_following(*name, after=after, limit=MAX_SCANNED) as batches:
            for rows in batches:
                for row in rows:
                    looked_at += 1
                    label = decode_stored_label(row.body)
                    if label is None or wanted not in label.casefold():
                        continue
                    found.append(Labelled(id=row.id, label=label))
                    if len(found) == PAGE:
                        return Found(pieces=found, after=row.id, looked_at=looked_at)
                last = rows[-1].id
        return Found(pieces=found, after=last if looked_at == MAX_SCANNED else None, looked_at=looked_at)

    def _lag(self, access: Access, head: SourceHead) -> int | None:
        held = self._views.held_version(access.account_id, head.name)
        return None if held is None else max(0, head.version - held)

    def _daily(self, head: SourceHead) -> "Daily | asyncio.Task[Daily]":
        """Return a source's interactions by day, or the task that counts them."""
        today = int(self._clock() * 1000) // DAY_MS
        known = self._counted.get(head.source_id)
        if known is not None and known.day == today:
            fresh = self._monotonic() - known.at <= COUNTS_LIFE_S
            if fresh or known.version == head.interactions_version:
                return known.daily
        task = self._counting.get(head.source_id)
        if task is None:
            task = self._counting[head.source_id] = asyncio.create_task(self._count(head, today))
        return task

    async def _count(self, head: SourceHead, today: int) -> Daily:
        first = today - DAYS + 1
        try:
            rows = await self._database.in_thread(
                self._database.storage.interactions_by_day,
                head.source_id,
                since=first * DAY_MS,
                limit=MAX_COUNTED,
            )
        finally:
            del self._counting[head.source_id]
        found = dict(rows)
        counts = [found.get(first + day, 0) for day in range(DAYS)]
        daily = Daily(first_day=first, counts=counts, complete=sum(found.values()) < MAX_COUNTED)
        if len(self._counted) >= MAX_COUNTS:
            self._counted.clear()
        self._counted[head.source_id] = _Counted(head.interactions_version, today, self._monotonic(), daily)
        return daily


def _result(counted: "Daily | asyncio.Task[Daily]") -> Daily | None:
    if isinstance(counted, Daily):
        return counted
    # What failed is told by the page's other reads, and by the log where nothing else does.
    return counted.result() if counted.done() and counted.exception() is None else None


def _page(pieces: Sequence[Labelled]) -> Found:
    return Found(pieces=pieces[:PAGE], after=pieces[PAGE - 1].id if len(pieces) > PAGE else None)
