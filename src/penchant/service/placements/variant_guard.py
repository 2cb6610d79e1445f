"""Variant guard: which variants of placements are certainly worse than the base, and so no longer shown.

It goes by the results of the version in force, as they are answered by default. They are read in the background, at
most once a minute for a placement that is asked for, so that no list waits for them; processes may differ for as long.
"""

import asyncio
import time
from collections.abc import Callable

from penchant.bounded_cache import BoundedCache
from penchant.errors import PenchantError
from penchant.live.database import AsyncStorage
from penchant.model import DAY_MS
from penchant.service.placements.results import worse_variants
from penchant.service.placements.versions import PlacementInForce
from penchant.storage import SourceHead

CHECK_INTERVAL_S = 60.0
"""How old what is known of a placement may be before it is read again: experiments run for days."""
MAX_REMEMBERED = 10_000
"""Placements, by version, of which it is remembered."""

_Key = tuple[int, int, str, int]


class VariantGuard:
    """Knows which variants are stopped; for the event loop only."""

    def __init__(
        self,
        database: AsyncStorage,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._clock = clock
        self._monotonic = monotonic
        self._stopped: BoundedCache[_Key, tuple[float, frozenset[str]]] = BoundedCache(MAX_REMEMBERED)
        self._reading: set[asyncio.Task[None]] = set()

    def variant_for(self, head: SourceHead, placement: PlacementInForce, user_id: str | None) -> str | None:
        """Return the variant that a person is shown: their own, unless it is stopped; ``None`` for the base."""
        variant = placement.variant_for(head.name, user_id)
        return None if variant in self.stopped(head, placement) else variant

    def stopped(self, head: SourceHead, placement: PlacementInForce) -> frozenset[str]:
        """Return the variants that were certainly worse when that was last looked at; none before the first look."""
        if not placement.runs:
            return frozenset()
        key = (head.source_id, head.incarnation, placement.name, placement.version)
        looked_at, found = self._stopped.get(key) or (-CHECK_INTERVAL_S, frozenset())
        now = self._monotonic()
        if now - looked_at >= CHECK_INTERVAL_S:
            # Noted at once, so that those who come meanwhile begin no other look.
            self._stopped.put(key, (now, found))
            task = asyncio.create_task(self._look(head, placement, key))
            self._reading.add(task)
            task.add_done_callback(self._reading.discard)
        return found

    async def _look(self, head: SourceHead, placement: PlacementInForce, key: _Key) -> None:
        today = int(self._clock() * 1000) // DAY_MS
        try:
            found = await self._database.in_thread(worse_variants, self._database.storage, head, placement, today)
        except PenchantError:
            # The database is away: what was known holds, and the next look is a minute away.
            return
        self._stopped.put(key, (self._monotonic(), found))
