"""Asynchronous storage: quick reads run inline, all else in threads, each with a deadline."""

import asyncio
import contextvars
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from penchant.errors import StorageUnavailable
from penchant.storage import AddUsage, Command, Outcome, RecordImpressions, RecordInteractions, Storage
from penchant.telemetry import Metrics
from penchant.tracing import tracing

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

READING_THREADS = 8
"""Reads in threads at once: more than cores, since most of their time is the database's."""
READ_TIMEOUT_S = 3.0
"""How long a small read may take: a thousand times as long as usual. Then the database counts as away."""
CHANGE_TIMEOUT_S = 10.0
"""How long a change may wait and take: a full queue is worked off in less."""
AWAY_S = 1.0
"""For how long after such a read the next ones are answered at once: else each would wait as long."""


class AsyncStorage:
    """Storage for the event loop: reads and changes that can be awaited."""

    def __init__(self, storage: Storage, metrics: Metrics) -> None:
        self.storage = storage
        self._metrics = metrics
        self._threads = ThreadPoolExecutor(READING_THREADS, thread_name_prefix="penchant-read")
        # Apart, so that reads which the database leaves without an answer hold up nothing else.
        self._prompt_threads = ThreadPoolExecutor(READING_THREADS, thread_name_prefix="penchant-prompt")
        self._away_until = 0.0

    def close(self) -> None:
        """Wait for reads under way; storage itself stays open, for its owner to close."""
        self._threads.shutdown()
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
        try:
            async with asyncio.timeout(READ_TIMEOUT_S):
                return await asyncio.wrap_future(self._submit(self._prompt_threads, lambda: function(*args, **kwargs)))
        except TimeoutError:
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
        return self._submit(self._threads, lambda: function(*args, **kwargs))

    def _submit(self, threads: ThreadPoolExecutor, function: Callable[[], Result]) -> Future[Result]:
        asked_at = time.perf_counter()
        context = contextvars.copy_context()

        def run() -> Result:
            self._metrics.read_wait_seconds.observe(time.perf_counter() - asked_at)
            # So that what is logged there has the request's id.
            return context.run(function)

        return threads.submit(run)

    async def change(self, command: Command) -> Outcome:
        """Carry out a command; returns after its group's commit.

        Raises:
            PenchantError: as the command says, or `Overloaded`, `StorageUnavailable`.
        """
        try:
            async with asyncio.timeout(CHANGE_TIMEOUT_S):
                return await self.change_at_last(command)
        except TimeoutError:
            raise StorageUnavailable(
                "The change was not stored in time; it may or may not be stored. Send it again.", retry_after_s=1
            ) from None

    async def change_at_last(self, command: Command) -> Outcome:
        """Carry out a command, however long that takes, for who must not send one again that is still under way.

        Raises:
            PenchantError: as `change`.
        """
        started = time.perf_counter()
        with tracing.span("change"):
            outcome = await asyncio.wrap_future(self.storage.submit(command))
        lane = "interactions" if isinstance(command, RecordInteractions | RecordImpressions | AddUsage) else "content"
        self._metrics.commit_seconds.labels(lane).observe(time.perf_counter() - started)
        return outcome


def _away() -> StorageUnavailable:
    return StorageUnavailable("The database does not answer at the moment.", retry_after_s=1)
