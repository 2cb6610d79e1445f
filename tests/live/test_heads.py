"""Reads that wait share one query; each sees what was committed before it began."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import uvloop

from databases import prepared_database
from live.conftest import Sources
from penchant.errors import StorageUnavailable
from penchant.live import database
from penchant.live.database import AsyncStorage
from penchant.live.heads import Heads
from penchant.storage import AddUsage, SourceHead, Storage
from penchant.telemetry import Metrics


@pytest.fixture
def sources(postgresql: str, tmp_path: Path) -> Any:
    opened = Sources(tmp_path / "data", database_url=prepared_database(postgresql))
    yield opened
    opened.storage.close()


def watched(storage: Storage, before: Callable[[], None], after: Callable[[], None] = lambda: None) -> list[int]:
    """Note how many sources each query asks for, and do something before and after it."""
    asked: list[int] = []
    heads = storage.sources.read_heads

    def noting(names: Sequence[tuple[int, str]]) -> list[SourceHead | None]:
        asked.append(len(names))
        before()
        found = heads(names)
        after()
        return found

    storage.sources.read_heads = noting  # type: ignore[method-assign]
    return asked


async def test_those_who_wait_share_a_query(sources: Sources) -> None:
    for name in "abc":
        sources.submit(1, source=name)
    asked = watched(sources.storage, lambda: None)
    heads = Heads(AsyncStorage(sources.storage, Metrics()))

    found = await asyncio.gather(*(heads.read((sources.account, name)) for name in "abcx" * 25))

    assert [None if head is None else head.name for head in found] == ["a", "b", "c", None] * 25
    assert asked == [4]


def test_an_event_loop_that_is_late_does_not_take_the_database_for_away(
    sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "READ_TIMEOUT_S", 0.05)
    reads = AsyncStorage(sources.storage, Metrics())

    async def late() -> str:
        asyncio.get_running_loop().call_soon(time.sleep, 0.3)
        return await reads.promptly(lambda: "answered")

    # The loop of the service, which looks at its timers first.
    assert uvloop.run(late()) == "answered"


class SharedHeads(Heads):
    """A fault that the model has as `shared head`: a read joins the query that is under way."""

    _under_way: asyncio.Task[SourceHead | None] | None = None

    async def read(self, name: tuple[int, str]) -> SourceHead | None:
        if self._under_way is None or self._under_way.done():
            self._under_way = asyncio.create_task(super().read(name))
        return await self._under_way


@pytest.mark.parametrize(("kind", "seen", "queries"), ((Heads, 2, [1, 1]), (SharedHeads, 1, [1])))
async def test_who_comes_during_a_query_sees_what_was_committed_before(
    sources: Sources, kind: type[Heads], seen: int, queries: list[int]
) -> None:
    sources.submit(1)
    begun, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        go_on.wait(60)

    asked = watched(sources.storage, lambda: None, after=hold)
    heads = kind(AsyncStorage(sources.storage, Metrics()))

    first = asyncio.create_task(heads.read((sources.account, "s")))
    await asyncio.to_thread(begun.wait, 60)
    await asyncio.to_thread(sources.submit, 2)
    second = asyncio.create_task(heads.read((sources.account, "s")))
    await asyncio.sleep(0)
    go_on.set()
    await first

    found = await second
    assert found is not None
    assert found.version == seen
    assert sources.head().version == 2
    assert asked == queries


async def test_a_cancelled_read_takes_none_of_the_others_along(sources: Sources) -> None:
    sources.submit(1)
    heads = Heads(AsyncStorage(sources.storage, Metrics()))

    given_up, waiting = (asyncio.create_task(heads.read((sources.account, "s"))) for _ in range(2))
    await asyncio.sleep(0)
    given_up.cancel()

    assert await waiting == sources.head()


async def test_a_failure_reaches_all_who_wait_and_nobody_after(sources: Sources) -> None:
    sources.submit(1)
    failing = [True]

    def fail() -> None:
        if failing:
            failing.clear()
            raise StorageUnavailable("away")

    watched(sources.storage, fail)
    heads = Heads(AsyncStorage(sources.storage, Metrics()))

    reads = (heads.read((sources.account, "s")) for _ in range(3))
    failed = await asyncio.gather(*reads, return_exceptions=True)

    assert [type(each) for each in failed] == [StorageUnavailable] * 3
    assert await heads.read((sources.account, "s")) is not None


async def test_a_file_is_read_once_until_somebody_changes_something(tmp_path: Path) -> None:
    sources, others = Sources(tmp_path / "data"), Sources(tmp_path / "data")
    reads: list[str] = []
    read_head = sources.storage.sources.read_head

    def noting(account: int, name: str) -> SourceHead | None:
        reads.append(name)
        return read_head(account, name)

    sources.storage.sources.read_head = noting  # type: ignore[assignment,method-assign]
    heads, name = Heads(AsyncStorage(sources.storage, Metrics())), (sources.account, "s")

    assert await heads.read(name) is None
    for version in (1, 2):
        others.submit(version)
        found = [await heads.read(name) for _ in range(3)]
        assert found == [others.head()] * 3
        assert others.head().version == version
    # What is not there is looked for each time: anybody may ask for any name.
    assert [await heads.read((sources.account, "none")) for _ in range(2)] == [None, None]

    assert reads == ["s", "s", "s", "none", "none"]
    for each in (sources, others):
        each.storage.close()


async def test_a_head_stands_until_its_source_changes_whatever_else_is_written(tmp_path: Path) -> None:
    sources, others = Sources(tmp_path / "data"), Sources(tmp_path / "data")
    heads, name = Heads(AsyncStorage(sources.storage, Metrics())), (sources.account, "s")
    others.submit(1)
    head = await heads.read(name)
    assert head is not None
    assert heads.still_stands(head)

    others.storage.submit(AddUsage(account_id=sources.account, month="2026-11", answers=1)).result()
    # Until the source was looked at again.
    assert not heads.still_stands(head)
    assert await heads.read(name) is head
    assert heads.still_stands(head)

    others.submit(2)
    assert not heads.still_stands(head)
    assert await heads.read(name) == others.head() != head
    assert not heads.still_stands(head)
    for each in (sources, others):
        each.storage.close()
