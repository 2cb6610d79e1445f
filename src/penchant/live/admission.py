"""Admission: whether a process has room for another request, in memory and in time, before it costs much.

Requests of each account stand in a queue of their own, and the queues take turns (D221 of docs/decisions.md): who has
one request waits for one of each other account, however many those have. How long a request has to wait is how many
begin before it, at most, times what one start takes of the event loop:

    expected wait = min(all that wait, queues * (own that wait + 1)) * start_s

``start_s`` is measured: a turn in which ``n`` requests began and that took ``t`` seconds, whatever else ran in it,
says ``t / n``, and weighs ``n / MEMORY`` in the running mean. A request is refused where more than a `CROWD` wait and
the expected wait passes ``delay_s``. One turn of the event loop:

      _turn                     the loop's other callbacks                   _turn
    --|--[s][s][s]...[s]--------[answers][health][arrivals: enter()]-----------|--[s][s]...
      |  at most TOGETHER begin, or one for ARRIVALS_PER_START that came       |
      '------------------------- t, of which n began --------------------------'

Requests begun in a turn run until they first wait for something, and then come again between two turns, as does what
is not in this queue (health, metrics), which so waits for no more than those begun. Where several accounts came,
requests that have waited stand in their account's queue again, once for each wait (D230).
"""

import asyncio
import time
import types
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from typing import Any

from penchant.errors import Overloaded

TOGETHER = 16
"""Requests begun in one turn of the event loop: what comes meanwhile, be it health, waits for no more than these."""
TOGETHER_AMONG_ACCOUNTS = 1
"""As many where several accounts came within `SEVERAL_S`, and of what follows a wait: each needs a turn then."""
SEVERAL_S = 1.0
CROWD = 32
"""Requests that may wait however long they take: as many clients that each wait for their answer see no refusal."""
ARRIVALS_PER_START = 8
"""How many refusals take as long as one answer: however many come, half of the time is left for those let in."""
MEMORY = 32
"""Starts over which the time of one is averaged: about two full turns, so that a change of load counts at once."""
_TOO_MANY = "More requests come in than can be answered in time."


class RecentAccounts:
    """Whether requests of several accounts came lately: then they share what one alone has whole."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._last: int | None = None
        self._several_until = 0.0

    def note(self, account: int | None) -> None:
        """Note whose request has come."""
        if account == self._last:
            return
        # Whose key has not been accepted yet may be the same account.
        if self._last is not None:
            self._several_until = self._monotonic() + SEVERAL_S
        self._last = account

    def are_several(self, now: float) -> bool:
        """Return whether several came within `SEVERAL_S` before a moment of the same clock."""
        return now < self._several_until


class Admission:
    """What a process has room for: bodies of requests under way, and time to get to them.

    ``body_bytes`` bounds the bodies in memory together, ``delay_s`` how long a request may have to wait for its turn
    behind more than a `CROWD` (0: any). Requests stand in queues of ours, those of an account first come, first served,
    and not in that of the event loop, which takes whatever comes and tells neither how long it is nor how late. All
    methods belong to the event loop's thread.
    """

    def __init__(self, *, body_bytes: int, delay_s: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._free = body_bytes
        self.delay_s = delay_s
        self._monotonic = monotonic
        # In the order in which they are served next; none is empty.
        self._queues: dict[int | None, deque[asyncio.Future[None]]] = {}
        self._waiting = 0
        self._accounts = RecentAccounts(monotonic)
        self._begun = 0
        self._arrived = 0
        self._is_turning = False
        self._turned_at = 0.0
        # Until the first turn is measured, nothing beyond a crowd gets in.
        self._start_s = delay_s

    async def enter(self, account: int | None = None, *, is_patient: bool = True) -> None:
        """Wait until it is a request's turn. The one gate for everything that is refused while many wait.

        All whose account is not known share one queue. An impatient request is refused as soon as a crowd waits: no
        program waits for its answer.

        Raises:
            Overloaded: it would have to wait too long; raised at once.
        """
        self._arrived += 1
        queue = self._queues.get(account)
        own = 0 if queue is None else len(queue)
        ahead = min(self._waiting, len(self._queues) * (own + 1))
        if (not is_patient and self._waiting >= CROWD) or (ahead >= CROWD and 0 < self.delay_s < ahead * self._start_s):
            raise Overloaded(_TOO_MANY, retry_after_s=1)
        self._accounts.note(account)
        turn = self._turn_of(account)
        if turn is not None:
            await turn

    def by_turns(self, account: int | None, serving: Awaitable[None]) -> Awaitable[None]:
        """Serve a request that has begun; where several accounts came, each step after a wait needs a turn again."""
        return self._steps(account, serving) if self._accounts.are_several(self._monotonic()) else serving

    @types.coroutine
    def _steps(self, account: int | None, serving: Awaitable[None]) -> Generator[Any, Any, None]:
        steps = serving.__await__()
        go_on: Callable[[Any], Any] = steps.send
        given: Any = None
        while True:
            try:
                waits_for = go_on(given)
            except StopIteration:
                return
            go_on = steps.send
            try:
                given = yield waits_for
                turn = self._turn_of(account)
                if turn is not None:
                    yield from turn
            except BaseException as raised:  # noqa: BLE001  # handed on to what waits, such as that its client has gone
                go_on, given = steps.throw, raised

    def _turn_of(self, account: int | None) -> asyncio.Future[None] | None:
        """Return what is done when it is an account's turn; ``None`` where that is now."""
        # Turns are only taken while requests come: an idle process has no callback in every turn of its loop.
        if not self._is_turning:
            self._is_turning = True
            self._turned_at = self._monotonic()
            asyncio.get_running_loop().call_soon(self._turn)
        # At once, within this turn, but never past one that waits: first come, first served.
        if self._begun < self._together() and not self._waiting:
            self._begun += 1
            return None
        future = asyncio.get_running_loop().create_future()
        self._queues.setdefault(account, deque()).append(future)
        self._waiting += 1
        return future

    def _together(self) -> int:
        return TOGETHER_AMONG_ACCOUNTS if self._accounts.are_several(self._turned_at) else TOGETHER

    def _next(self) -> asyncio.Future[None]:
        """Return the next one of those that wait, and have its account's others wait for the other accounts."""
        account = next(iter(self._queues))
        queue = self._queues.pop(account)
        self._waiting -= 1
        future = queue.popleft()
        if queue:
            self._queues[account] = queue
        return future

    def _turn(self) -> None:
        """Begin the next requests: once in each turn of the event loop, while there are any."""
        now = self._monotonic()
        # A turn without a start says nothing of what a start costs.
        if self._begun:
            share = self._begun / MEMORY
            self._start_s += min(1.0, share) * ((now - self._turned_at) / self._begun - self._start_s)
        self._turned_at = now
        # After a flood of arrivals, refusals have taken the turn; what is let in gets as much time in the next one.
        room = max(self._together(), self._arrived // ARRIVALS_PER_START)
        self._begun = self._arrived = 0
        while self._waiting and self._begun < room:
            future = self._next()
            # Done means cancelled: its client has gone, and a place in the turn is not spent on it.
            if not future.done():
                future.set_result(None)
                self._begun += 1
        # None begun means that none waits, for one that waits begins.
        self._is_turning = self._begun > 0
        if self._is_turning:
            asyncio.get_running_loop().call_soon(self._turn)

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
