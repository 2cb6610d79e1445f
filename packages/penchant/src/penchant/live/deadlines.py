"""Deadlines of what tasks wait for: one timer for all, since nearly none is reached.

To arm a timer for each, and take it back, costs more than most of what is waited for.
"""

import asyncio
import math
import time
from typing import Protocol


class Expirable(Protocol):
    """What is waited for."""

    def expire(self) -> None:
        """Have whoever waits go on without it, later in this turn of the event loop or in the next one."""


class Deadlines:
    """The deadlines of one kind of waiting, for one event loop at a time; all in its thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._moments: dict[Expirable, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._comes_at = math.inf

    def begin(self, waiting: Expirable, timeout_s: float) -> None:
        """Have something expire in a while, unless it ends before."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            # What waited in another one is gone with that.
            self._loop, self._moments, self._timer, self._comes_at = loop, {}, None, math.inf
        moment = self._moments[waiting] = time.monotonic() + timeout_s
        if moment < self._comes_at:
            self._arm(loop, moment, timeout_s)

    def end(self, waiting: Expirable) -> None:
        """Note that something is waited for no more; again is no error."""
        self._moments.pop(waiting, None)

    def _arm(self, loop: asyncio.AbstractEventLoop, moment: float, delay_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._comes_at = loop.call_later(delay_s, self._pass, loop), moment

    def _pass(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have expire what is due, and come again when the next one is."""
        # As a rule it is what the timer was armed for, whose clock may be a little ahead or behind.
        now, self._timer, self._comes_at = max(time.monotonic(), self._comes_at), None, math.inf
        for each in [each for each, moment in self._moments.items() if moment <= now]:
            self.end(each)
            each.expire()
        if self._moments:
            first = min(self._moments.values())
            self._arm(loop, first, first - now)
