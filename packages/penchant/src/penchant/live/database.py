"""Asynchronous storage: quick reads run inline, all else in threads, by turns of accounts, each with a deadline."""

import asyncio
import contextlib
import contextvars
import functools
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Generic, ParamSpec, TypeVar

from penchant.errors import PenchantError, StorageUnavailable
from penchant.live.admission import AccountLoads, RecentAccounts, charged
from penchant.live.deadlines import Deadlines
from penchant.storage import Command, Storage
from penchant.telemetry import Metrics, SecondsCount
from penchant.tracing import tracing

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

READING_THREADS = 8
"""Reads in threads at once: more than cores, since most of their time is the database's."""
THREADS_AMONG_ACCOUNTS = 1
"""As many of one account where several came within `SEVERAL_S`: for each that computes the event loop waits, too."""
HEAVY_NICENESS = 10
"""How much later than the event loop threads for what is heavy get a processor (D230)."""
READ_TIMEOUT_S = 3.0
"""How long a small read may take: a thousand times as long as usual. Then the database counts as away."""
CHANGE_TIMEOUT_S = 10.0
"""How long a change may wait and take: a full queue is worked off in less."""
AWAY_S = 1.0
"""For how long after such a read the next ones are answered at once: else each would wait as long."""


account_served: contextvars.ContextVar[int | None] = contextvars.ContextVar("account_served", default=None)
"""The account whose request is being served; ``None`` for work of the service itself."""


def give_way() -> None:
    """Have this thread get a processor after the event loop, where threads have priorities of their own: on Linux."""
    if sys.platform == "linux":
        # Where that is forbidden, or it was raised since: work goes on as it is.
        with contextlib.suppress(OSError):
            # Of the main thread: one that is started by a thread of low priority has that already.
            niceness = os.getpriority(os.PRIO_PROCESS, os.getpid()) + HEAVY_NICENESS
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)


class AccountThreads:
    """Threads for which the work of each account stands in a queue of its own; the queues take turns.

    An account has `THREADS_AMONG_ACCOUNTS` at once where requests of others come too, or else all, as has the service
    itself.
    """

    def __init__(self, threads: int, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="penchant-read", initializer=give_way)
        self._free = threads
        self._lock = threading.Lock()
        # In the order in which they are served next; none is empty.
        self._queues: dict[int | None, deque[tuple[Future[Any], Callable[[], Any]]]] = {}
        self._running: dict[int, int] = {}
        self._accounts = RecentAccounts(monotonic)

    def serve(self, account: int) -> None:
        """Note whose request it is that is served from here on."""
        account_served.set(account)
        self._accounts.note(account)

    def close(self) -> None:
        """Wait for what runs and what waits."""
        while True:
            with self._lock:
                last = next((queue[-1][0] for queue in self._queues.values()), None)
            if last is None:
                break
            wait((last,))
        self._pool.shutdown()

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        """Have work done when it is the turn of the account that is being served."""
        account, future = account_served.get(), Future[Result]()
        with self._lock:
            self._queues.setdefault(account, deque()).append((future, work))
            self._start()
        return future

    def _start(self) -> None:
        """Start what may; under the lock."""
        most = THREADS_AMONG_ACCOUNTS if self._accounts.are_several(self._monotonic()) else READING_THREADS
        for account in list(self._queues):
            if not self._free:
                return
            running = 0 if account is None else self._running.get(account, 0)
            if running >= most:
                continue
            queue = self._queues.pop(account)
            future, work = queue.popleft()
            if queue:
                self._queues[account] = queue
            self._free -= 1
            if account is not None:
                self._running[account] = running + 1
            self._pool.submit(self._run, account, future, work)

    def _run(self, account: int | None, future: Future[Result], work: Callable[[], Result]) -> None:
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001  # for whoever waits for it
                future.set_exception(error)
        with self._lock:
            self._free += 1
            if account is not None:
                self._running[account] -= 1
                if not self._running[account]:
                    del self._running[account]
            self._start()


class AsyncStorage:
    """Storage for the event loop: reads and changes that can be awaited."""

    def __init__(self, storage: Storage, metrics: Metrics) -> None:
        self.storage = storage
        self._metrics = metrics
        self._commit_seconds = functools.cache(lambda lane: SecondsCount(metrics.commit_seconds.labels(lane)))
        self.loads = AccountLoads()
        self._threads = AccountThreads(READING_THREADS)
        # Apart, so that reads which the database leaves without an answer hold up nothing else.
        self._prompt_threads = ThreadPoolExecutor(READING_THREADS, thread_name_prefix="penchant-prompt")
        self._away_until = 0.0
        self._changes: PendingChanges | None = None

    def serve(self, account: int) -> None:
        """Note whose request it is that is served from here on: it pays for it, and accounts take turns at threads."""
        charged.set(account)
        self._threads.serve(account)

    def close(self) -> None:
        """Wait for reads under way; storage itself stays open, for its owner to close."""
        self._threads.close()
        self._prompt_threads.shutdown()

    async def read(
        self, function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Return ``function(…)``, a read of microseconds where the database is a local file.

        Raises:
            StorageUnavailable: also where the database does not answer in time.
        """
        if self.storage.quick_reads:
            return function(*args, **kwargs)
        return await self.promptly(function, *args, **kwargs)

    async def promptly(
        self, function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Return ``function(…)``, a small read in a thread: where it takes long, the database counts as away.

        Raises:
            StorageUnavailable: also where the database does not answer in time.
        """
        if self.storage.quick_reads:
            return await self.in_thread(function, *args, **kwargs)
        if time.monotonic() < self._away_until:
            raise _away()
        prompt = self._submit(self._prompt_threads.submit, lambda: function(*args, **kwargs))
        try:
            async with asyncio.timeout(READ_TIMEOUT_S):
                return await asyncio.wrap_future(prompt)
        except TimeoutError:
            # The database answered in time, and the event loop came to it later.
            if prompt.done() and not prompt.cancelled():
                return prompt.result()
            # The thread goes on with its read: for a while no other is spent on the same.
            self._away_until = time.monotonic() + AWAY_S
            raise _away() from None

    async def in_thread(
        self, function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Return ``function(…)``, run in a thread so that other requests go on meanwhile."""
        return await asyncio.wrap_future(self.submit(function, *args, **kwargs))

    def submit(
        self, function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Result]:
        """Run ``function(…)`` in a thread; the future is done when it is, whoever gave up on waiting for it."""
        return self._submit(self._threads.submit, lambda: function(*args, **kwargs))

    def _submit(
        self, start: Callable[[Callable[[], Result]], Future[Result]], function: Callable[[], Result]
    ) -> Future[Result]:
        asked_at, account = time.perf_counter(), charged.get()
        context = contextvars.copy_context()

        def run() -> Result:
            self._metrics.read_wait_seconds.observe(time.perf_counter() - asked_at)
            began = time.thread_time()
            try:
                # So that what is logged there has the request's id.
                return context.run(function)
            finally:
                if account is not None:
                    self.loads.charge(account, time.thread_time() - began)

        return start(run)

    async def change(self, command: Command[Result]) -> Result:
        """Carry out a command; returns after its group's commit.

        Raises:
            PenchantError: as the command says, or `Overloaded`, `StorageUnavailable`.
        """
        return await self._carry_out(command, CHANGE_TIMEOUT_S)

    async def change_at_last(self, command: Command[Result]) -> Result:
        """Carry out a command, however long that takes, for who must not send one again that is still under way.

        Raises:
            PenchantError: as `change`.
        """
        return await self._carry_out(command, None)

    async def _carry_out(self, command: Command[Result], timeout_s: float | None) -> Result:
        """Queue a command and wait for its result; whoever gives up takes it back, where it has not begun."""
        started, loop = time.perf_counter(), asyncio.get_running_loop()
        changes = self._changes
        if changes is None or changes.loop is not loop:
            changes = self._changes = PendingChanges(loop)
        change: PendingChange[Result] = PendingChange(changes)
        with tracing.span("change"):
            self.storage.enqueue(command, change)
            if timeout_s is not None:
                changes.deadlines.begin(change, timeout_s)
            outcome = await change
        self._commit_seconds(command.lane).count(time.perf_counter() - started)
        return outcome


class PendingChange(Generic[Result]):
    """A change for which one task waits: awaited in the event loop, settled by the thread of a lane.

    It is a future to both, and goes on with its task in the turn of the loop in which it is woken; one of asyncio is
    settled in a turn, and its task goes on in the next.
    """

    __slots__ = ("_asyncio_future_blocking", "_changes", "_context", "_error", "_given_up", "_result", "_wakeup")

    def __init__(self, changes: "PendingChanges") -> None:
        self._asyncio_future_blocking = False
        self._changes = changes
        self._given_up: BaseException | None = None
        self._error: PenchantError | None = None
        self._wakeup: Callable[[Any], object] | None = None

    def set_running_or_notify_cancel(self) -> bool:
        """Return whether somebody waits for it still."""
        return self._given_up is None

    def set_result(self, result: Result) -> None:
        """Take the result, and have the task go on."""
        self._result = result
        self._changes.settled(self)

    def set_exception(self, exception: PenchantError) -> None:
        """Take the error, and have the task go on with it."""
        self._error = exception
        self._changes.settled(self)

    def expire(self) -> None:
        """Have the task go on with the error that it took too long; in the event loop."""
        self._give_up(
            StorageUnavailable(
                "The change was not stored in time; it may or may not be stored. Send it again.", retry_after_s=1
            )
        )

    def _give_up(self, error: BaseException) -> None:
        """Have the task go on with an error: whatever comes of the change, nobody waits for it."""
        self._given_up = error
        self._changes.settled(self)

    def wake(self) -> None:
        """Have the task go on here and now, unless it has; in the event loop."""
        wakeup, self._wakeup = self._wakeup, None
        if wakeup is not None:
            self._context.run(wakeup, self)

    # What a task asks of a future for which it waits.

    def __await__(self) -> Generator[Any, None, Result]:
        """Wait for it."""
        self._asyncio_future_blocking = True
        # What it failed with is raised here: the task asks for the result first.
        yield self
        return self._result

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop of the task."""
        return self._changes.loop

    def add_done_callback(self, wakeup: Callable[[Any], object], *, context: contextvars.Context) -> None:
        """Take what has the task go on."""
        self._wakeup, self._context = wakeup, context

    def cancel(self, msg: object = None) -> bool:
        """Give it up, since the task is cancelled."""
        self._give_up(asyncio.CancelledError() if msg is None else asyncio.CancelledError(msg))
        return True

    def result(self) -> Result:
        """Return what came of it, or raise."""
        error = self._given_up or self._error
        if error is not None:
            raise error
        return self._result


class PendingChanges:
    """The changes for which tasks of an event loop wait: one wake-up for all that are settled together."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.deadlines = Deadlines()
        self._settled: deque[PendingChange[Any]] = deque()
        self._is_waking = False

    def settled(self, change: PendingChange[Any]) -> None:
        """Have the task that waits for a change go on; in any thread."""
        self._settled.append(change)
        if self._is_waking:
            return
        self._is_waking = True
        # Nobody waits behind a loop that was closed.
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        # First: what is settled from here on comes in time for the loop below, or has it run once more.
        self._is_waking = False
        while self._settled:
            change = self._settled.popleft()
            self.deadlines.end(change)
            change.wake()


def _away() -> StorageUnavailable:
    return StorageUnavailable("The database does not answer at the moment.", retry_after_s=1)
