"""How do asynchronous callers use storage, which is synchronous? Quick reads inline, all else in threads."""

import asyncio
import contextvars
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from penchant.storage import AddUsage, Command, Outcome, RecordInteractions, Storage
from penchant.telemetry import Metrics
from penchant.tracing import tracing

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

READING_THREADS = 8
"""Reads in threads at once: more than cores, since most of their time is the database's."""


class Database:
    """Storage for the event loop: reads and changes that can be awaited."""

    def __init__(self, storage: Storage, metrics: Metrics) -> None:
        self.storage = storage
        self._metrics = metrics
        self._threads = ThreadPoolExecutor(READING_THREADS, thread_name_prefix="penchant-read")

    def close(self) -> None:
        """Wait for reads under way; storage itself belongs to whoever opened it."""
        self._threads.shutdown()

    async def read(
        self, function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Return ``function(…)``, a read of microseconds where the database is a local file."""
        if self.storage.quick_reads:
            return function(*args, **kwargs)
        return await self.in_thread(function, *args, **kwargs)

    async def in_thread(
        self, function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Return ``function(…)``, run in a thread so that other requests go on meanwhile."""
        asked_at = time.perf_counter()
        context = contextvars.copy_context()

        def run() -> Result:
            self._metrics.read_wait_seconds.observe(time.perf_counter() - asked_at)
            # So that what is logged there has the request's id.
            return context.run(function, *args, **kwargs)

        return await asyncio.get_running_loop().run_in_executor(self._threads, run)

    async def change(self, command: Command) -> Outcome:
        """Carry out a command; returns after its group's commit.

        Raises:
            PenchantError: as the command says, or `Overloaded`, `StorageUnavailable`.
        """
        started = time.perf_counter()
        with tracing.span("change"):
            outcome = await asyncio.wrap_future(self.storage.submit(command))
        lane = "interactions" if isinstance(command, RecordInteractions | AddUsage) else "content"
        self._metrics.commit_seconds.labels(lane).observe(time.perf_counter() - started)
        return outcome
