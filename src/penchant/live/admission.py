"""May another request be let in? Where memory or time is short, it is turned away at once, before it costs much."""

import asyncio
import time
from collections.abc import Callable

from penchant.errors import Overloaded

TICK_S = 0.02
"""How often the event loop shows that it keeps up: 50 wake-ups of some microseconds a second."""
CROWD = 100
"""Requests in one turn of the event loop from which it may be too many: fewer are late for another reason, such as a
large submission that is being decoded, and are worth waiting for."""


class Admission:
    """What a process has room for: bodies of requests under way, and time to get to them.

    ``body_bytes`` bounds bodies held together, ``delay_s`` how late the event loop may run (0: any).
    """

    def __init__(self, *, body_bytes: int, delay_s: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._free = body_bytes
        self.delay_s = delay_s
        self._monotonic = monotonic
        self._due_at = 0.0
        self._requests = 0

    async def run(self) -> None:
        """Note that the event loop gets round, for ever."""
        while True:
            self._due_at = self._monotonic() + TICK_S
            self._requests = 0
            await asyncio.sleep(TICK_S)

    def require_time(self) -> None:
        """Raise `Overloaded` where so many requests came before this one that its answer would come late."""
        self._requests += 1
        if self._requests > CROWD and self.delay_s and self._monotonic() - self._due_at > self.delay_s:
            raise Overloaded("More requests come in than can be answered in time.", retry_after_s=1)

    def take(self, size: int) -> None:
        """Take room for a part of a body; `give` it back.

        Raises:
            Overloaded: there is not so much.
        """
        if size > self._free:
            raise Overloaded("Too many bodies are being received; send this one again soon.", retry_after_s=1)
        self._free -= size

    def give(self, size: int) -> None:
        """Give room back."""
        self._free += size
