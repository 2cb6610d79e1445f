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
import contextlib
import threading
import time
import types
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextvars import ContextVar
from typing import Any

from penchant.errors import Overloaded

TOGETHER = 16
"""Requests begun in one turn of the event loop: what comes meanwhile, be it health, waits for no more than these."""
TOGETHER_BRIEF = 128
"""As many where they are answers that are sent again: each takes about 12 us, to wait in a queue half of that."""
UNCOUNTED = TOGETHER // 2
"""Requests of one account that begin before anybody looks whether the turn has ended: to look takes as long as a tenth
of an answer that is remembered."""
TOGETHER_AMONG_ACCOUNTS = 1
"""As many where several accounts came within `SEVERAL_S`, and of what follows a wait: each needs a turn then."""
SEVERAL_S = 1.0
CROWD = 32
"""Requests that may wait however long they take: as many clients that each wait for their answer see no refusal."""
ARRIVALS_PER_START = 8
"""How many refusals take as long as one answer: however many come, half of the time is left for those let in."""
MEMORY = 32
"""Starts over which the time of one is averaged: about two full turns, so that a change of load counts at once."""
KEYLESS = 0
"""The account, nobody's, that requests without a key are charged to."""
WINDOW_S = 0.5
"""The time over which it is measured what accounts use of a process."""
BUSY_SHARE = 0.25
"""How much of it those may use together who are answered by the process itself."""
LEAST_SPEED = 0.2
"""The least that a step of the event loop counts as slowed down by what else holds the interpreter or the processor."""
HEAVY_S = 60.0
"""How long an account that used most of it is answered elsewhere: renewed while it goes on."""
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


charged: ContextVar[int | None] = ContextVar("charged", default=None)
"""The account that the processor time of the request being served is charged to; ``None``: to none."""


class AccountLoads:
    """What accounts use of the process beside each other, and so whose requests another one answers (D236).

    In a window in which several accounts were served and that was busy for more than `BUSY_SHARE`, those that used most
    become heavy, one after the other, until the others used less. The last account with a key never does, and none for
    the sake of requests without one, such as of monitoring. Where steps of the event loop take longer than they
    compute, a window is busy by as much less: there is less to be had of it.
    """

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._used_s: dict[int, float] = {}
        self._steps_s = self._whole_s = 0.0
        self._began = monotonic()
        self._heavy_until: dict[int, float] = {}
        self._elsewhere = Counter[int]()

    def charge(self, account: int, seconds: float) -> None:
        """Charge processor time to an account; from any thread."""
        with self._lock:
            self._used_s[account] = self._used_s.get(account, 0.0) + seconds

    def charge_step(self, account: int | None, seconds: float, whole_s: float) -> None:
        """Charge a step of the event loop, which computed for so many seconds and took ``whole_s``."""
        self._steps_s += seconds
        self._whole_s += whole_s
        if account is not None:
            self.charge(account, seconds)

    def is_heavy(self, account: int) -> bool:
        """Return whether another process is to answer an account's requests."""
        now = self._monotonic()
        if now - self._began >= WINDOW_S:
            self._judge(now)
        return self._heavy_until.get(account, 0.0) > now

    @contextlib.contextmanager
    def elsewhere(self, account: int) -> Iterator[None]:
        """Note that another process answers a request of an account meanwhile."""
        self._elsewhere[account] += 1
        try:
            yield
        finally:
            self._elsewhere[account] -= 1

    def _judge(self, now: float) -> None:
        """End a window: find who is heavy by it, and stays so."""
        with self._lock:
            used, self._used_s = self._used_s, {}
        speed = max(LEAST_SPEED, self._steps_s / self._whole_s) if self._whole_s else 1.0
        rest_s, bound_s = sum(used.values()), (now - self._began) * BUSY_SHARE * speed
        self._began, self._steps_s, self._whole_s = now, 0.0, 0.0
        going_on = {account for account in +self._elsewhere if used.keys() - {account, KEYLESS}}
        self._heavy_until = {each: until for each, until in self._heavy_until.items() if until > now}
        self._heavy_until |= dict.fromkeys(going_on, now + HEAVY_S)
        # Who became heavy a moment ago may have had requests here that began before.
        light = {account for account in used if self._heavy_until.get(account, 0.0) <= now}
        for account in sorted(light, key=lambda each: -used[each]):
            if rest_s <= bound_s or not light - {account, KEYLESS}:
                break
            rest_s -= used[account]
            light.remove(account)
            self._heavy_until[account] = now + HEAVY_S


class Admission:
    """What a process has room for: bodies of requests under way, and time to get to them.

    ``body_bytes`` bounds the bodies in memory together, ``delay_s`` how long a request may have to wait for its turn
    behind more than a `CROWD` (0: any). Requests stand in queues of ours, those of an account first come, first served,
    and not in that of the event loop, which takes whatever comes and tells neither how long it is nor how late. All
    methods belong to the event loop's thread.
    """

    def __init__(
        self,
        *,
        body_bytes: int,
        delay_s: float,
        loads: AccountLoads | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.loads = AccountLoads(monotonic=monotonic) if loads is None else loads
        self._free = body_bytes
        self.delay_s = delay_s
        self._monotonic = monotonic
        # In the order in which they are served next; none is empty.
        self._queues: dict[int | None, deque[asyncio.Future[None]]] = {}
        self._waiting = 0
        self._accounts = RecentAccounts(monotonic)
        # Those begun since a turn was last seen to end; so many of them before anybody counted.
        self._begun = 0
        self._uncounted = 0
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
        turn = self.turn(account, is_patient=is_patient)
        if turn is not None:
            await turn

    def turn(
        self, account: int | None = None, *, is_patient: bool = True, is_brief: bool = False
    ) -> asyncio.Future[None] | None:
        """Return what is done when it is a request's turn, ``None`` where that is now; raises as `enter`.

        Of brief ones `TOGETHER_BRIEF` begin in a turn, where nobody waits.
        """
        self._arrived += 1
        if self._waiting >= CROWD:
            ahead = min(self._waiting, len(self._queues) * (len(self._queues.get(account, ())) + 1))
            if not is_patient or (ahead >= CROWD and 0 < self.delay_s < ahead * self._start_s):
                raise Overloaded(_TOO_MANY, retry_after_s=1)
        self._accounts.note(account)
        return self._turn_of(account, TOGETHER_BRIEF if is_brief else TOGETHER)

    def serves_several(self) -> bool:
        """Return whether requests of several accounts came lately."""
        return self._accounts.are_several(self._monotonic())

    def by_turns(self, account: int | None, serving: Awaitable[None]) -> Awaitable[None]:
        """Serve a request that has begun; where several accounts came, each step after a wait needs a turn again."""
        if self._accounts.are_several(self._monotonic()):
            return self._steps(account, serving, by_turns=True)
        # Nobody else is held up, so no step is measured (D237 of docs/decisions.md).
        charged.set(account)
        return serving

    def charged(self, account: int | None, serving: Awaitable[None]) -> Awaitable[None]:
        """Serve a request that takes no turns, and charge what it uses to an account, or to `KEYLESS`."""
        return self._steps(account, serving, by_turns=False)

    @types.coroutine
    def _steps(self, account: int | None, serving: Awaitable[None], *, by_turns: bool) -> Generator[Any, Any, None]:
        charged.set(account)
        steps = serving.__await__()
        go_on: Callable[[Any], Any] = steps.send
        given: Any = None
        while True:
            began, began_at = time.thread_time(), time.monotonic()
            try:
                waits_for = go_on(given)
            except StopIteration:
                return
            finally:
                # Whose key was found out meanwhile, in a session or by a proxy's word, pays for it.
                self.loads.charge_step(charged.get(), time.thread_time() - began, time.monotonic() - began_at)
            go_on = steps.send
            try:
                given = yield waits_for
                turn = self._turn_of(account) if by_turns else None
                if turn is not None:
                    yield from turn
            except BaseException as raised:  # noqa: BLE001  # handed on to what waits, such as that its client has gone
                go_on, given = steps.throw, raised

    def _turn_of(self, account: int | None, together: int = TOGETHER) -> asyncio.Future[None] | None:
        """Return what is done when it is an account's turn; ``None`` where that is now.

        It is, behind so many that begin ``together`` where one account alone came.
        """
        # Turns are only counted while many requests come, or those of several accounts.
        if not self._is_turning:
            now = self._monotonic()
            if self._begun < UNCOUNTED and not self._accounts.are_several(now):
                self._begun += 1
                return None
            self._is_turning, self._turned_at, self._uncounted = True, now, self._begun
            asyncio.get_running_loop().call_soon(self._turn)
        # At once, within this turn, but never past one that waits: first come, first served.
        if not self._waiting and (not self._begun or self._begun < self._together(together)):
            self._begun += 1
            return None
        future = asyncio.get_running_loop().create_future()
        self._queues.setdefault(account, deque()).append(future)
        self._waiting += 1
        return future

    def _together(self, alone: int = TOGETHER) -> int:
        return TOGETHER_AMONG_ACCOUNTS if self._accounts.are_several(self._turned_at) else alone

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
        now, begun, arrived = self._monotonic(), self._begun - self._uncounted, self._arrived
        # A turn without a start says nothing of what a start costs.
        if begun:
            self._start_s += min(1.0, begun / MEMORY) * ((now - self._turned_at) / begun - self._start_s)
        self._turned_at = now
        self._begun = self._uncounted = self._arrived = 0
        if not self._waiting:
            self._is_turning = False
            return
        # After a flood of arrivals, refusals have taken the turn; what is let in gets as much time in the next one.
        room = max(self._together(), arrived // ARRIVALS_PER_START)
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
