"""Outcomes of placements: what they showed by day and by piece, what came of it, and what none of them showed."""

import asyncio
import heapq
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Self

import msgspec

from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.findings import EXAMPLES, unseen_pieces
from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.service import Services
from penchant.service.outcomes import DayOutcomes, ListOpenings, OutcomeCounts, PlayedPiece, UnseenPieces
from penchant.storage import SourceHead
from penchant_engine.bounded_cache import BoundedCache
from penchant_engine.model import DAY_MS, InteractionType
from penchant_rows.service.versions import Placements
from penchant_rows.service.wiring import RowServices
from penchant_rows.storage.impressions import ImpressionStore, ShownCount
from penchant_rows.storage.placement_counts import LISTS, SHOWN, SUCCEEDED

SEEN_DAYS = 7
MAX_COUNT_ROWS = 50_000
"""Rows of counts that are added up, those of the latest days: 50 ms of a thread."""
MAX_SEEN = 100_000
"""Impressions of the latest days that are counted by piece, the newest: a fifth of a second of a thread, 10 MB."""
MAX_SEEN_SOURCES = 8
SEEN_LIFE_S = 900.0
SEEN_WAIT_S = 0.05
"""How long a request waits for them; a small source's are there by then."""
MOST_PLAYED = 10
"""Pieces that are named as those that were played most from rows."""
MAX_OPENERS = 3
"""Rows that are named with what came of them."""
_PLAYED = (InteractionType.PLAY.code, InteractionType.WATCH.code)


class SeenFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What rows showed in the latest days, by piece, since a moment, and what of the catalogue none of them did.

    Of the pieces that may be shown now ``unseen_count`` were not, some of them ``unseen``; hidden ones are not meant.
    """

    since: int
    pieces: Mapping[str, ShownCount]
    unseen: Sequence[str]
    unseen_count: int


class PlacementOutcomes:
    """Counts what placements showed, and what came of it."""

    def __init__(self, database: AsyncStorage, placements: Placements, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._database = database
        self._placements = placements
        self._clock = clock
        self._seen: BoundedCache[tuple[int, int], tuple[float, SeenFigures]] = BoundedCache(MAX_SEEN_SOURCES)
        self._looking: dict[tuple[int, int], asyncio.Task[SeenFigures]] = {}

    @classmethod
    def build(cls, services: Services) -> Self:
        """Return the outcomes of the placements of the service."""
        return cls(services.database, services.of(RowServices).placements, clock=services.clock)

    async def seen(self, view: View) -> SeenFigures | None:
        """Return what rows showed of the catalogue, a quarter of an hour old at most; ``None`` while that is counted.

        It goes on being counted for the next page: none waits for it longer than `SEEN_WAIT_S`.
        """
        key = (view.head.source_id, view.head.incarnation)
        kept = self._seen.get(key)
        if kept is not None and self._clock.monotonic() - kept[0] <= SEEN_LIFE_S:
            return kept[1]
        task = self._looking.get(key)
        if task is None:
            task = self._looking[key] = asyncio.create_task(self._look(view))
        await asyncio.wait([task], timeout=SEEN_WAIT_S)
        if task.done() and task.exception() is None:
            return task.result()
        return None if kept is None else kept[1]

    async def _look(self, view: View) -> SeenFigures:
        key = (view.head.source_id, view.head.incarnation)
        try:
            found = await self._database.in_thread(self._seen_figures, view)
        finally:
            # After a failure, too: the next page tries again.
            del self._looking[key]
        self._seen.put(key, (self._clock.monotonic(), found))
        return found

    def _seen_figures(self, view: View) -> SeenFigures:
        head, now = view.head, self._clock.now_ms()
        seen = self._database.storage.store(ImpressionStore).seen_since(
            head.source_id, head.incarnation, now - SEEN_DAYS * DAY_MS, limit=MAX_SEEN
        )
        unseen, count = unseen_pieces(view.snapshot, {*seen.pieces, *view.blacklist}, now, EXAMPLES)
        return SeenFigures(since=seen.since, pieces=seen.pieces, unseen=unseen, unseen_count=count)

    async def unseen(self, view: View) -> UnseenPieces | None:
        """Return what of the catalogue no row showed, as `seen` tells."""
        seen = await self.seen(view)
        if seen is None:
            return None
        played = [PlayedPiece(name, each.played, each.shown) for name, each in seen.pieces.items() if each.played]
        most_played = heapq.nsmallest(MOST_PLAYED, played, key=lambda each: (-each.played, each.shown, each.id))
        return UnseenPieces(seen.since, seen.unseen_count, seen.unseen, len(seen.pieces), most_played)

    async def by_day(self, head: SourceHead, first: int, last: int) -> list[DayOutcomes]:
        """Return what each row showed on each of some days, and what came of it."""
        count_by_day = self._database.storage.store(ImpressionStore).count_by_day
        counted = await self._database.in_thread(
            count_by_day,
            head.source_id,
            head.incarnation,
            (first, last),
            (LISTS, SHOWN, SUCCEEDED, *_PLAYED),
            limit=MAX_COUNT_ROWS,
        )
        totals: defaultdict[tuple[int, str], Counter[int]] = defaultdict(Counter)
        for each in counted:
            totals[each.day, each.placement][each.kind] += each.total
        return [
            DayOutcomes(
                day,
                name,
                OutcomeCounts(kinds[LISTS], kinds[SHOWN], kinds[SUCCEEDED], sum(kinds[kind] for kind in _PLAYED)),
            )
            for (day, name), kinds in totals.items()
        ]

    async def openers(self, view: View, days: Sequence[int], likes: int) -> list[ListOpenings]:
        """Return the rows that led to most of the likes of some days of the last week, as few as can be."""
        listing = await self._placements.listing(view)
        titles = {each.name: str(each.placement.get("title") or each.name) for each in listing.placements}
        opened = await self._database.in_thread(self._opened, view, days)
        rows, total = list[ListOpenings](), 0
        for name, count in opened.most_common(MAX_OPENERS):
            if 2 * total >= likes:
                break
            total += count
            rows.append(ListOpenings(name=name, title=titles.get(name, name), opened=count))
        return rows

    def _opened(self, view: View, days: Sequence[int]) -> Counter[str]:
        """Return how often what each row showed on some days led to something."""
        counted = self._database.storage.store(ImpressionStore).count_by_day(
            view.head.source_id, view.head.incarnation, (min(days), max(days)), (SUCCEEDED,), limit=MAX_COUNT_ROWS
        )
        opened = Counter[str]()
        for each in counted:
            if each.day in days:
                opened[each.placement] += each.total
        return opened
