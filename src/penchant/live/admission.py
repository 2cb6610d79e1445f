"""May another request be let in? Where memory or time is short, it is turned away at once, before it costs much."""

import asyncio
import time
from collections import deque
from collections.abc import Callable

from penchant.errors import Overloaded

TOGETHER = 16
"""Requests begun in one turn of the event loop: what comes meanwhile, be it health, waits for no more than these."""
CROWD = 32
"""Requests that may wait however long they take: as many clients that each wait for their answer see no refusal."""
ARRIVALS_PER_START = 8
"""How many refusals take as long as one answer: however many come, half of the time is left for those let in."""
MEMORY = 32
"""Starts over which the time of one is averaged."""


class Admission:
    """What a process has room for: bodies of requests under way, and time to get to them.

    ``body_bytes`` bounds bodies held together, ``delay_s`` how long a request may have to wait for its turn behind
    more than a `CROWD` (0: any). Requests stand in a queue of ours, first come, first served, and not in that of the
    event loop, which takes whatever comes and tells neither how long it is nor how late.
    """

    def __init__(self, *, body_bytes: int, delay_s: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._free = body_bytes
        self.delay_s = delay_s
        self._monotonic = monotonic
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._begun = 0
        self._arrived = 0
        self._is_turning = False
        self._turned_at = 0.0
        self._start_s = delay_s

    def is_full(self) -> bool:
        """Count a request that came, and tell whether it would have to wait too long for its turn."""
        self._arrived += 1
        waiting = len(self._waiting)
        return waiting >= CROWD and 0 < self.delay_s < waiting * self._start_s

    async def turn(self) -> None:
        """Wait until it is a request's turn."""
        if not self._is_turning:
            self._is_turning = True
            self._turned_at = self._monotonic()
            asyncio.get_running_loop().call_soon(self._turn)
        if self._begun < TOGETHER and not self._waiting:
            self._begun += 1
            return
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future

    def _turn(self) -> None:
        """Begin the next requests: once in each turn of the event loop, while there are any."""
        now = self._monotonic()
        if self._begun:
            share = self._begun / MEMORY
            self._start_s += min(1.0, share) * ((now - self._turned_at) / self._begun - self._start_s)
        self._turned_at = now
        room = max(TOGETHER, self._arrived // ARRIVALS_PER_START)
        self._begun = self._arrived = 0
        while self._waiting and self._begun < room:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
                self._begun += 1
        self._is_turning = self._begun > 0
        if self._is_turning:
            asyncio.get_running_loop().call_soon(self._turn)

    def require_calm(self) -> None:
        """Refuse what nobody's program waits for while there is a crowd.

        Raises:
            Overloaded: there is one.
        """
        if len(self._waiting) >= CROWD:
            raise Overloaded("Too many requests are waiting; ask again soon.", retry_after_s=1)

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
