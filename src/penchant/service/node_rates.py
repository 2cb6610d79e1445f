"""How often has a key asked in this second, whichever node answered? Counted in a Redis that all nodes share.

While it is away each node counts for itself: requests are worth more than a limit that is exact.
"""

import asyncio
import time
from collections.abc import Callable

from limits import RateLimitItemPerSecond
from limits.aio.storage import RedisStorage
from limits.errors import ConfigurationError

from penchant.errors import InvalidSettings
from penchant.telemetry import Metrics, logger

PATIENCE_S = 0.25
"""The longest that a request waits for Redis."""
PAUSE_S = 2.0
"""How long Redis is left alone after it failed."""
PREFIX = "penchant"
SECOND = RateLimitItemPerSecond(1)
"""The window that requests are counted in, whatever their limit."""


class NodeRates:
    """Counts of keys by second, shared by nodes.

    Raises:
        InvalidSettings: the address is none, or the Redis client is not installed.
    """

    def __init__(self, address: str, metrics: Metrics, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        try:
            self._storage = RedisStorage(
                f"async+{address}",
                implementation="redispy",
                key_prefix=PREFIX,
                socket_timeout=PATIENCE_S,
                socket_connect_timeout=PATIENCE_S,
            )
        except (ConfigurationError, ValueError) as error:
            raise InvalidSettings(
                "The setting redis cannot be used: it takes an address such as redis://host:6379/0, and needs the"
                " package's extra: penchant[redis]."
            ) from error
        self._metrics = metrics
        self._monotonic = monotonic
        self._tried_again_at = 0.0

    async def count(self, key_id: str) -> int | None:
        """Count a request of a key; return how many it is in this second, or ``None`` while Redis is away."""
        if self._monotonic() < self._tried_again_at:
            return None
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await self._storage.incr(SECOND.key_for(key_id), SECOND.get_expiry())
        except Exception as error:  # noqa: BLE001  # whatever its client raises, requests go on
            self._tried_again_at = self._monotonic() + PAUSE_S
            self._metrics.failures.labels("redis").inc()
            logger.warning("Redis cannot be reached (%s); rates are counted by this node alone", type(error).__name__)
            return None

    async def close(self) -> None:
        """Close the connections."""
        await self._storage.bridge.get_connection().aclose()  # type: ignore[attr-defined]  # redis-py's
