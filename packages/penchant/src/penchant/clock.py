"""Clock: what a process takes for the present."""

import time
from collections.abc import Callable

import msgspec

from penchant_engine.model import DAY_MS


class Clock(msgspec.Struct, frozen=True, kw_only=True):
    """The two clocks of a process.

    ``seconds`` counts from 1970 UTC. ``monotonic`` never goes back: by it deadlines pass and what is cached ages.
    """

    seconds: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic

    def now_ms(self) -> int:
        """Return the milliseconds since 1970 UTC."""
        return int(self.seconds() * 1000)

    def today(self) -> int:
        """Return the UTC day, counted from 1970."""
        return self.now_ms() // DAY_MS


SYSTEM_CLOCK = Clock()
"""The machine's own."""
