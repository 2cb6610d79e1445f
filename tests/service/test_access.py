"""Keys that are looked up by several requests at once, while the database is away or has changed."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

import pytest

from clocks import SetClock
from databases import opened_file
from penchant.cli.keys import make_key
from penchant.clock import Clock
from penchant.errors import StorageUnavailable, Unauthenticated
from penchant.live.database import AsyncStorage
from penchant.service.access import KEY_LIFE_S, Access, AccessControl
from penchant.service.rates import NodeCounts
from penchant.settings import CurrentSettings, NodeSettings
from penchant.storage import KeyRecord, Storage
from penchant.telemetry import Metrics

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
AWAY = StorageUnavailable("away")


class ScriptedStorage(AsyncStorage):
    """Storage whose reads end when a test says so, and how."""

    def __init__(self, storage: Storage) -> None:
        super().__init__(storage, Metrics())
        self.reads: list[asyncio.Future[KeyRecord | None]] = []

    async def read(
        self,
        function: Callable[Arguments, Result],  # noqa: ARG002  # tests know what is read
        *args: Arguments.args,  # noqa: ARG002
        **kwargs: Arguments.kwargs,  # noqa: ARG002
    ) -> Result:
        future = asyncio.get_running_loop().create_future()
        self.reads.append(future)
        return await future  # type: ignore[no-any-return]


@dataclass
class LookUps:
    """A key that is looked up, by whom, and the clock of that."""

    database: ScriptedStorage
    access: AccessControl
    clock: SetClock
    key: str

    async def begin(self, count: int = 1) -> "list[asyncio.Task[Access]]":
        """Begin to look the key up so many times, up to what is read."""
        begun = [asyncio.create_task(self.access.authenticate([self.key])) for _ in range(count)]
        await asyncio.sleep(0)
        return begun

    def stored(self) -> KeyRecord | None:
        """Return the key as it is stored now."""
        return self.database.storage.keys.find(self.key.split("_")[1])


@pytest.fixture
def look_ups(tmp_path: Path) -> Iterator[LookUps]:
    settings, clock = CurrentSettings(NodeSettings(data=str(tmp_path), stale_reads_s=60)), SetClock(100.0)
    with closing(opened_file(tmp_path)) as storage, closing(NodeCounts.open(tmp_path)) as rates:
        _, key = make_key(storage, account="one", plan="full", admin=False)
        with closing(ScriptedStorage(storage)) as database:
            yield LookUps(database, AccessControl(database, settings, rates, clock=Clock(monotonic=clock)), clock, key)


async def test_a_key_that_is_found_gone_is_not_believed_by_who_asked_before(look_ups: LookUps) -> None:
    reads = look_ups.database.reads
    (first,) = await look_ups.begin()
    reads[0].set_result(look_ups.stored())
    await first
    look_ups.clock.now += 2 * KEY_LIFE_S
    asked_before, asked_after = await look_ups.begin(2)

    reads[2].set_result(None)
    with pytest.raises(Unauthenticated):
        await asked_after
    reads[1].set_exception(AWAY)
    with pytest.raises(StorageUnavailable):
        await asked_before


async def test_an_older_look_does_not_replace_a_newer_one(look_ups: LookUps) -> None:
    before = look_ups.stored()
    look_ups.database.storage.keys.revoke(look_ups.key.split("_")[1], actor="test")
    (older,) = await look_ups.begin()
    look_ups.clock.now += KEY_LIFE_S / 2
    (newer,) = await look_ups.begin()

    for read, record, look in ((1, look_ups.stored(), newer), (0, before, older)):
        look_ups.database.reads[read].set_result(record)
        with pytest.raises(Unauthenticated):
            await look
