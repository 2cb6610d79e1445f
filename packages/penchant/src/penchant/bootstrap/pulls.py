"""Pulls of a service: whether one is due, and a process of its own in which those that are run.

A file is read, checked and imported for seconds to minutes by an interpreter that answers nothing meanwhile, at low
priority, with memory that goes with it.
"""

import asyncio
import contextlib
import os
import sys

import msgspec

from penchant.live.database import AsyncStorage
from penchant.settings import METRICS_VARIABLE, CurrentSettings, environment_without_settings
from penchant.telemetry import Metrics

CHILD = "from penchant.bootstrap.pulling import run_pulls; run_pulls()"
"""What the process runs; it gets the settings by its standard input, where nobody sees the database's password."""
ENDING_S = 10.0
"""How long it may take to end, before it is killed; then its lease runs out."""


class PullSchedule:
    """Looks now and then whether a pull is due, and has a process run all that are."""

    def __init__(self, database: AsyncStorage, current: CurrentSettings, metrics: Metrics) -> None:
        self._database = database
        self._current = current
        self._metrics = metrics

    async def look(self) -> None:
        """Run what is due, and count what came of it; ends with the process that does.

        Raises:
            ChildProcessError: that process ended otherwise than it should.
        """
        pulls = self._database.storage.pulls
        if await self._database.in_thread(pulls.list_due):
            await self._run()
        self._metrics.failing_pulls.set(await self._database.in_thread(pulls.count_failing))

    async def _run(self) -> None:
        environment = environment_without_settings()
        # It counts alone: its files would stay behind.
        environment.pop(METRICS_VARIABLE, None)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-c", CHILD),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=environment,
        )
        try:
            settings = msgspec.json.encode({"parent": os.getpid(), "settings": self._current.now})
            told, _ = await process.communicate(settings)
        finally:
            if process.returncode is None:
                await _end(process)
        for outcome in told.decode().split():
            self._metrics.pulls.labels(outcome).inc()
        if process.returncode:
            raise ChildProcessError(f"pulls ended with {process.returncode}")


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(ENDING_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
