"""What is measured as it stands, rather than as it happens? Queues, connections, lag, checks of keys.

Once a second, and whenever somebody asks, so that no request pays for it.
"""

import asyncio

from penchant.live.views import Views
from penchant.service.access import AccessControl
from penchant.storage import Storage
from penchant.telemetry import Metrics

INTERVAL_S = 1.0


class Measuring:
    """Keeps the gauges of a process up to date."""

    def __init__(self, storage: Storage, views: Views, access: AccessControl, metrics: Metrics) -> None:
        self._storage = storage
        self._views = views
        self._access = access
        self._metrics = metrics
        self._hits = 0
        self._misses = 0

    async def run(self) -> None:
        """Measure for ever, until cancelled."""
        while True:
            self.measure()
            await asyncio.sleep(INTERVAL_S)

    def measure(self) -> None:
        """Measure now; in the event loop only, since what is counted is counted there."""
        metrics = self._metrics
        for lane, (changes, size_bytes) in self._storage.queued.items():
            metrics.queued_changes.labels(lane).set(changes)
            metrics.queued_bytes.labels(lane).set(size_bytes)
        metrics.connections.set(self._storage.connections)
        metrics.index_lag.set(self._views.lag)
        access = self._access
        metrics.key_checks.labels("hit").inc(access.hits - self._hits)
        metrics.key_checks.labels("miss").inc(access.misses - self._misses)
        self._hits, self._misses = access.hits, access.misses
