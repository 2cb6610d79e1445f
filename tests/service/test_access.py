"""Keys that are looked up by several requests at once, while the database is away or has changed."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import pytest

from clocks import SetClock
from penchant.cli.keys import make_key
from penchant.clock import Clock
from penchant.errors import StorageUnavailable, Unauthenticated
from penchant.live.database import AsyncStorage
from penchant.service.access import KEY_LIFE_S, AccessControl
from penchant.service.rates import NodeCounts
from penchant.settings import CurrentSettings, NodeSettings
from penchant.storage import KeyRecord, open_storage
from penchant.telemetry import Metrics

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
AWAY = StorageUnavailable("away")


class ScriptedStorage(AsyncStorage):
    """Storage whose reads end when a test says so, and how."""

    reads: list["asyncio.Future[KeyRecord | None]"]

    async def read(
        self,
        function: Callable[Arguments, Result],  # noqa: ARG002  # tests know what is read
        *args: Arguments.args,  # noqa: ARG002
        **kwargs: Arguments.kwargs,  # noqa: ARG002
    ) -> Result:
        future = asyncio.get_running_loop().create_future()
        self.reads.append(future)
        return await future  # type: ignore[no-any-return]


def test_a_key_that_is_found_gone_is_not_believed_by_who_asked_before(tmp_path: Path) -> None:
    storage = open_storage(folder=tmp_path)
    _, key = make_key(storage, account="one", plan="full", admin=False)
    record = storage.keys.find(key.split("_")[1])
    clock, rates = SetClock(100.0), NodeCounts.open(tmp_path)
    database = ScriptedStorage(storage, Metrics())
    database.reads = []
    settings = CurrentSettings(NodeSettings(data=str(tmp_path), stale_reads_s=60))
    access = AccessControl(database, settings, rates, clock=Clock(monotonic=clock))

    async def scene() -> None:
        first = asyncio.create_task(access.authenticate([key]))
        await asyncio.sleep(0)
        database.reads[0].set_result(record)
        await first
        clock.now += 2 * KEY_LIFE_S
        asked_before, asked_after = (asyncio.create_task(access.authenticate([key])) for _ in range(2))
        await asyncio.sleep(0)

        database.reads[2].set_result(None)
        with pytest.raises(Unauthenticated):
            await asked_after
        database.reads[1].set_exception(AWAY)
        with pytest.raises(StorageUnavailable):
            await asked_before

    asyncio.run(scene())
    database.close()
    rates.close()
    storage.close()


def test_an_older_look_does_not_replace_a_newer_one(tmp_path: Path) -> None:
    storage = open_storage(folder=tmp_path)
    _, key = make_key(storage, account="one", plan="full", admin=False)
    before = storage.keys.find(key.split("_")[1])
    storage.keys.revoke(key.split("_")[1], actor="test")
    after = storage.keys.find(key.split("_")[1])
    clock, rates = SetClock(100.0), NodeCounts.open(tmp_path)
    database = ScriptedStorage(storage, Metrics())
    database.reads = []
    access = AccessControl(
        database, CurrentSettings(NodeSettings(data=str(tmp_path))), rates, clock=Clock(monotonic=clock)
    )

    async def scene() -> None:
        older = asyncio.create_task(access.authenticate([key]))
        await asyncio.sleep(0)
        clock.now += KEY_LIFE_S / 2
        newer = asyncio.create_task(access.authenticate([key]))
        await asyncio.sleep(0)
        database.reads[1].set_result(after)
        with pytest.raises(Unauthenticated):
            await newer
        database.reads[0].set_result(before)
        with pytest.raises(Unauthenticated):
            await older

    asyncio.run(scene())
    database.close()
    rates.close()
    storage.close()
