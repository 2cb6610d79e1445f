"""Activity of a source: by UTC day what people did, and what they were shown."""

from collections.abc import Sequence
from typing import Self

import msgspec

from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.live.database import AsyncStorage
from penchant.service import Services
from penchant.service.curation import settings_now
from penchant.service.outcomes import ListOutcomes, OutcomeCounts, list_outcomes
from penchant.storage import SourceHead
from penchant_engine.bounded_cache import BoundedCache
from penchant_engine.model import DAY_MS, InteractionType

MAX_COUNTED = 100_000
"""Interactions that are counted at most, the newest; an answer says where older ones are left out."""
MAX_SOURCES = 1_000
"""Sources whose counts are remembered."""


class DailyActivity(msgspec.Struct):
    """What happened on a UTC day: interactions by type, and what lists of each name showed."""

    day: int
    interactions: dict[InteractionType, int] = msgspec.field(default_factory=dict)
    lists: dict[str, OutcomeCounts] = msgspec.field(default_factory=dict)

    @property
    def shown(self) -> OutcomeCounts:
        """What all lists showed."""
        return OutcomeCounts(*map(sum, zip(*self.lists.values(), strict=True)))


class SourceActivity(msgspec.Struct, frozen=True):
    """The activity of days that end with today; ``is_complete`` tells that all interactions were counted."""

    days: Sequence[DailyActivity]
    is_complete: bool


class _CountedTypes(msgspec.Struct, frozen=True):
    version: int
    since: int
    rows: Sequence[tuple[int, InteractionType, int]]


class ActivityCounter:
    """Counts what happens in sources."""

    def __init__(self, database: AsyncStorage, outcomes: ListOutcomes, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._database = database
        self._outcomes = outcomes
        self._clock = clock
        self._counted: BoundedCache[tuple[int, int], _CountedTypes] = BoundedCache(MAX_SOURCES)

    @classmethod
    def build(cls, services: Services) -> Self:
        """Return the counter over what the service stores."""
        return cls(services.database, list_outcomes(services), clock=services.clock)

    async def daily(self, head: SourceHead, days: int) -> SourceActivity:
        """Return what happened on each of so many days, today the last, as far as the retention reaches."""
        today = self._clock.today()
        first = today - days + 1
        daily = {day: DailyActivity(day) for day in range(first, today + 1)}
        settings = await settings_now(self._database, head.account_id, head.name)
        rows = await self._interactions(head, max(first, settings.oldest_day(today)) * DAY_MS)
        for day, kind, count in rows:
            # What is said to have happened a few minutes from now may be of tomorrow.
            if day in daily:
                daily[day].interactions[kind] = count
        for each in await self._outcomes.by_day(head, first, today):
            daily[each.day].lists[each.name] = each.counts
        return SourceActivity(list(daily.values()), sum(count for _, _, count in rows) < MAX_COUNTED)

    async def _interactions(self, head: SourceHead, since: int) -> Sequence[tuple[int, InteractionType, int]]:
        """Return the interactions by day and type, counted once for each version of them."""
        key = (head.source_id, head.incarnation)
        known = self._counted.get(key)
        if known is not None and (known.version, known.since) == (head.interactions_version, since):
            return known.rows
        count = self._database.storage.people.count_by_type
        rows = await self._database.in_thread(count, head.source_id, since=since, limit=MAX_COUNTED)
        self._counted.put(key, _CountedTypes(head.interactions_version, since, rows))
        return rows
