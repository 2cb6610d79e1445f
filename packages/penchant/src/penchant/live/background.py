"""Background: what runs in a process beside requests, each task by its own interval."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from penchant.live.election import Election
from penchant.telemetry import Metrics, log_failure

ELECTION_INTERVAL_S = 10.0
"""How often the other processes look whether a task that only one of them does needs a new one."""


class BackgroundTask(msgspec.Struct, frozen=True, kw_only=True):
    """Work that is done again and again, ``interval_s`` after its last end; ``elected``: in the winner's process alone.

    ``name`` is what failures and the time that it takes are counted under.
    """

    name: str
    interval_s: float
    work: Callable[[], Awaitable[object] | None]
    elected: Election | None = None


class Background:
    """The tasks of a process, from `start` until `close`; one that fails is logged, counted, and tried again."""

    def __init__(self, tasks: Sequence[BackgroundTask], metrics: Metrics) -> None:
        self._tasks = tasks
        self._metrics = metrics
        self._running: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin all tasks in the running event loop."""
        self._running = [asyncio.create_task(self._run(task), name=task.name) for task in self._tasks]

    async def close(self) -> None:
        """Cancel all tasks, half-way where they wait, and return when they have ended."""
        for running in self._running:
            running.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _run(self, task: BackgroundTask) -> None:
        while True:
            pause_s = task.interval_s
            try:
                # The winner keeps the lock until its process ends.
                if task.elected is not None and not task.elected.try_win():
                    pause_s = ELECTION_INTERVAL_S
                else:
                    await self._work(task)
            except Exception:  # noqa: BLE001  # a task must survive whatever its work meets
                log_failure("%s failed", task.name, metrics=self._metrics, where=task.name)
            await asyncio.sleep(pause_s)

    async def _work(self, task: BackgroundTask) -> None:
        started = time.monotonic()
        try:
            working = task.work()
            if working is not None:
                await working
        finally:
            self._metrics.background_seconds.labels(task.name).inc(time.monotonic() - started)
