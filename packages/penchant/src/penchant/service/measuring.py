"""Gauges of a process: queues, connections, index lag and key checks, read as they stand.

Once a second, and whenever somebody asks, so that no request pays for it. Only what has changed is written
where the processes of a service count together.
"""

import asyncio
import time
from typing import Self

from prometheus_client import Counter

from penchant.live.people_cache import PeopleCache
from penchant.live.views import Views
from penchant.service import Services
from penchant.service.access import AccessControl
from penchant.service.lists.answer_cache import AnswerCache
from penchant.storage import Storage
from penchant.telemetry import Metrics

TEXT_LIFE_S = 1.0
"""How old the metrics in text may be: to make them costs as much as a hundred lists, and they need no key."""


class GaugeUpdater:
    """Keeps the gauges of a process up to date."""

    @classmethod
    def build(cls, services: Services) -> Self:
        """Return what measures it over the service."""
        return cls(
            services.database.storage,
            services.views,
            services.metrics,
            (services.access, services.lists.answers, services.lists.inputs.people),
        )

    def __init__(
        self,
        storage: Storage,
        views: Views,
        metrics: Metrics,
        caches: tuple[AccessControl, AnswerCache, PeopleCache],
    ) -> None:
        self._storage = storage
        self._views = views
        self._metrics = metrics
        access, answers, people = caches
        self._caches: list[tuple[AccessControl | AnswerCache | PeopleCache, Counter]] = [
            (access, metrics.key_checks),
            (answers, metrics.answers),
            (people, metrics.remembered_people),
        ]
        self._people = people
        self._counted = [(0, 0) for _ in self._caches]
        self._measured: object = None
        self._text: asyncio.Future[bytes] | None = None
        self._text_began = 0.0

    async def text(self) -> bytes:
        """Return the metrics in the Prometheus text form, as they were at most `TEXT_LIFE_S` ago."""
        now = time.monotonic()
        if self._text is None or now - self._text_began > TEXT_LIFE_S:
            self.measure()
            self._text_began = now
            # In a thread, since it may read the files of all workers; whoever comes meanwhile waits for the same.
            self._text = asyncio.ensure_future(asyncio.to_thread(self._metrics.render))
        # Several wait for the same text: one that leaves must not end it for the others.
        return await asyncio.shield(self._text)

    def measure(self) -> None:
        """Measure now; for the event loop only, since requests and the caches count there."""
        self._metrics.add_requests()
        upkeep, metrics = self._storage.upkeep, self._metrics
        queued, connections, lag, people_bytes = upkeep.queued, upkeep.connections, self._views.lag, self._people.nbytes
        counted = [(cache.hits, cache.misses) for cache, _ in self._caches]
        is_full = upkeep.lacks_room()
        measured = queued, connections, lag, people_bytes, counted, is_full
        # Mostly so where nobody asks: looking labels up and writing takes ten times as long as finding that out.
        if measured == self._measured:
            return
        for lane, (changes, size_bytes) in queued.items():
            metrics.queued_changes.labels(lane).set(changes)
            metrics.queued_bytes.labels(lane).set(size_bytes)
        metrics.connections.set(connections)
        metrics.full_disk.set(is_full)
        metrics.index_lag.set(lag)
        metrics.remembered_people_bytes.set(people_bytes)
        for number, (_, counter) in enumerate(self._caches):
            # Caches count in plain numbers, which costs requests less; here only what came since is added.
            hits, misses = self._counted[number]
            counter.labels("hit").inc(counted[number][0] - hits)
            counter.labels("miss").inc(counted[number][1] - misses)
            self._counted[number] = counted[number]
        # Last: what could not be written, on a full disk, is written the next time.
        self._measured = measured
