"""Request rates of all nodes: how many requests a key has made in this second, in a Redis that the nodes share.

While Redis is away each node counts for itself: requests are worth more than an exact limit.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from penchant.errors import InvalidSettings
from penchant.telemetry import Metrics, logger

if TYPE_CHECKING:
    from redis.asyncio import Redis

PATIENCE_S = 0.25
"""The longest that a request waits for Redis (D51 of docs/decisions.md)."""
PAUSE_S = 2.0
"""How long Redis is left alone after it failed."""
PREFIX = "penchant:rate:"
WINDOW_S = 1
"""A key's window begins with its first request and is ended by the clock of Redis, so that no two clocks differ."""


class NodeRates:
    """Counts of requests by key in windows of a second, shared by nodes.

    Raises:
        InvalidSettings: the address is malformed, or the Redis client is not installed.
    """

    def __init__(self, address: str, metrics: Metrics, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._redis = _connect(address)
        self._metrics = metrics
        self._monotonic = monotonic
        self._tried_again_at = 0.0

    async def count(self, key_id: str) -> int | None:
        """Count a request of a key; return its number in this second, or ``None`` while Redis is away."""
        if self._monotonic() < self._tried_again_at:
            return None
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await self._increment(PREFIX + key_id)
        except Exception as error:  # noqa: BLE001  # whatever its client raises, requests go on
            # All requests skip it for a while: else each would wait as long as this one.
            self._tried_again_at = self._monotonic() + PAUSE_S
            self._metrics.failures.labels("redis").inc()
            logger.warning("Redis cannot be reached (%s); rates are counted by this node alone", type(error).__name__)
            return None

    async def _increment(self, name: str) -> int:
        # In one transaction, and with the expiry first: no count can stay without an end.
        async with self._redis.pipeline(transaction=True) as pipeline:
            pipeline.set(name, 0, ex=WINDOW_S, nx=True)
            pipeline.incr(name)
            _, count = await pipeline.execute()
        return int(count)

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()


def _connect(address: str) -> "Redis":
    """Return a client of the Redis at an address; it connects with its first command."""
    try:
        from redis.asyncio import Redis  # noqa: PLC0415  # the extra "redis": few installations share rates

        return Redis.from_url(address, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S)
    except (ImportError, ValueError) as error:
        raise InvalidSettings(
            "The setting redis cannot be used: it takes an address such as redis://host:6379/0, and needs the"
            " package's extra: penchant[redis]."
        ) from error
