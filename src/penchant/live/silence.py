"""Silence: how long another process has said nothing while the event loop ran and could have heard it.

A loop that stalls for a second hears nobody, and what was said meanwhile waits in its buffers. So time is counted in
ticks, each for twice its length at the most: a stall counts as little as a tick, and what has come is read before the
next one.
"""

import asyncio
from collections.abc import Callable

TICK_S = 0.02
LONGEST_TICK_S = 2 * TICK_S


class SilenceWatch:
    """Calls a function once nothing was heard for ``limit_s`` of the loop's running time. For the event loop only."""

    def __init__(self, limit_s: float, on_silence: Callable[[], None]) -> None:
        self._limit_s = limit_s
        self._on_silence = on_silence
        self._silent_s = 0.0
        self._ticked_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Count from now on, from nothing; also where it counts already, since something was heard."""
        self._silent_s = 0.0
        if self._timer is None:
            self._wait()

    def end(self) -> None:
        """Count no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        self._ticked_at = loop.time()
        self._timer = loop.call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        passed_s = asyncio.get_running_loop().time() - self._ticked_at
        self._silent_s += min(passed_s, LONGEST_TICK_S)
        if self._silent_s < self._limit_s:
            self._wait()
        else:
            self._timer = None
            self._on_silence()
