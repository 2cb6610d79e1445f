"""Failed keys by address: an address that sends wrong keys again and again waits longer for each answer.

Keys cannot be guessed (190 bits); this keeps those who try from taking time and filling logs. Each process counts for
itself, and nothing is stored.
"""

import asyncio
import time
from collections.abc import Callable

from penchant.bounded_cache import BoundedCache

WINDOW_S = 60.0
"""How long failures of an address count, from the first of them."""
FREE_FAILURES = 100
"""Failures in that time that cost nothing: a page of a client with an old key may send some dozens."""
DELAY_S = 1.0
"""How long each further refusal waits before it is sent."""
MAX_ADDRESSES = 10_000
"""Addresses that are counted together; of more, those that have not failed for longest begin anew."""
MAX_WAITING = 1_000
"""Refusals that wait together; beyond them there is no wait, since waiting costs memory."""


class FailedKeys:
    """Counts wrong keys by address, and makes refusals of an address with too many of them wait."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic, delay_s: float = DELAY_S) -> None:
        self._monotonic = monotonic
        self._delay_s = delay_s
        self._failures: BoundedCache[str, tuple[float, int]] = BoundedCache(MAX_ADDRESSES)
        self._waiting = 0

    def count(self, address: str) -> bool:
        """Count a failure; return whether its refusal has to wait."""
        now = self._monotonic()
        began, failures = self._failures.get(address) or (now, 0)
        if now - began > WINDOW_S:
            began, failures = now, 0
        self._failures.put(address, (began, failures + 1))
        return failures >= FREE_FAILURES

    async def slow_down(self, address: str) -> None:
        """Count a failure, and wait where the address has too many."""
        if not self.count(address) or self._waiting >= MAX_WAITING:
            return
        self._waiting += 1
        try:
            await asyncio.sleep(self._delay_s)
        finally:
            self._waiting -= 1
