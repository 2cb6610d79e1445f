"""Nodes go over to files that are cut anew, once shard processes have mapped them; lists stay the same meanwhile."""

import asyncio
import time
from pathlib import Path

import pytest

from live.conftest import Sources
from penchant.live.builder import Builder, builder_lock
from penchant.live.database import AsyncStorage
from penchant.live.election import Election
from penchant.live.segment_files import SegmentFiles, ShardRule
from penchant.live.segments import Segments
from penchant.live.shard_readiness import LONGEST_WAIT_S, ShardReadiness
from penchant.live.shard_server import ShardServer
from penchant.live.shards import Shards
from penchant.live.views import ViewLimits, Views
from penchant.telemetry import Metrics

TOKEN = b"a token"
PATIENCE_S = 60.0
NOBODY = ("127.0.0.1", 1)
"""Where nobody listens."""


def cut(sources: Sources, count: int) -> SegmentFiles:
    """Have the file of a source made of so many segments; return files by the rule that says so."""
    files = SegmentFiles(sources.folder / "index", ShardRule(pieces=1, count=count))
    Builder(sources.storage, files, Metrics()).build(sources.head(), None)
    return files


async def asked_of(folder: Path, database: AsyncStorage) -> tuple[Shards, asyncio.Server]:
    """Return shards of one process, which runs in this one."""
    listening = await ShardServer(folder, TOKEN).listen("127.0.0.1", 0)
    address = listening.sockets[0].getsockname()
    return Shards([[address]], lambda: TOKEN, database, Metrics(), lambda: 0, count=2), listening


def views_of(database: AsyncStorage, files: SegmentFiles, lock: Election, shards: Shards) -> Views:
    """Return views that go over to a file once shard processes have mapped it."""
    segments = Segments(Metrics(), files, lock)
    views = Views(database, Metrics(), segments, ViewLimits(min_version_timeout_s=1, stale_reads_s=0))
    views.readiness = ShardReadiness(shards)
    return views


@pytest.mark.parametrize("has_changed", (False, True), ids=("of the same version", "of a newer version"))
def test_a_file_is_gone_over_to_once_it_is_mapped(sources: Sources, *, has_changed: bool) -> None:
    async def scene() -> None:
        database = AsyncStorage(sources.storage, Metrics())
        shards, listening = await asked_of(sources.folder / "index", database)
        views = views_of(database, SegmentFiles(sources.folder / "index", ShardRule(pieces=1, count=3)), lock, shards)
        assert (await views.view(sources.account, "s")).cut == 2
        if has_changed:
            sources.submit(*range(20, 30))
        cut(sources, 3)

        # A request goes on from the file that processes have.
        followed = await views.view(sources.account, "s")
        assert (followed.cut, followed.snapshot.piece_count) == (2, sources.head().piece_count)
        await views.adopt()
        assert (await views.view(sources.account, "s")).cut == 2

        await until_cut(views, sources, 3)
        view = await views.view(sources.account, "s")
        assert (len(view.snapshot.parts), view.snapshot.piece_count) == (3, sources.head().piece_count)
        await views.adopt()
        assert await views.view(sources.account, "s") is view
        shards.close()
        listening.close()
        database.close()

    sources.submit(*range(20))
    cut(sources, 2)
    lock = builder_lock(sources.folder)
    asyncio.run(scene())
    lock.close()


def test_a_file_that_no_process_maps_is_waited_for_a_while(sources: Sources) -> None:
    async def scene() -> None:
        database = AsyncStorage(sources.storage, Metrics())
        shards, listening = await asked_of(sources.folder / "elsewhere", database)
        now = 0.0
        readiness = ShardReadiness(shards, monotonic=lambda: now)
        published = files.newest(sources.head())
        assert published is not None

        assert await readiness.is_ready(published.stamp, 1)
        assert not await readiness.is_ready(published.stamp, 2)
        now = LONGEST_WAIT_S
        assert await readiness.is_ready(published.stamp, 2)
        shards.close()
        listening.close()
        database.close()

    sources.submit(*range(20))
    files = cut(sources, 2)
    asyncio.run(scene())


def test_a_view_built_from_sql_goes_over_to_its_first_split_file_once_it_is_mapped(sources: Sources) -> None:
    async def scene() -> None:
        database = AsyncStorage(sources.storage, Metrics())
        shards, listening = await asked_of(sources.folder / "index", database)
        views = views_of(database, SegmentFiles(sources.folder / "index", ShardRule(pieces=1, count=2)), lock, shards)
        assert (await views.view(sources.account, "s")).cut == 1
        cut(sources, 2)
        sources.submit(*range(20, 30))

        # A request is not the one to go over.
        assert (await views.view(sources.account, "s")).cut == 1
        await until_cut(views, sources, 2)
        shards.close()
        listening.close()
        database.close()

    sources.submit(*range(20))
    lock = builder_lock(sources.folder)
    asyncio.run(scene())
    lock.close()


async def until_cut(views: Views, sources: Sources, count: int) -> None:
    """Have a view go over to a file of so many segments."""
    deadline = time.monotonic() + PATIENCE_S
    while (await views.view(sources.account, "s")).cut != count:
        assert time.monotonic() < deadline
        await views.adopt()
        await asyncio.sleep(0.01)


async def until_settled(views: Views) -> None:
    """Look until nobody asks other hosts than the settings name."""
    deadline = time.monotonic() + PATIENCE_S
    while views.readiness is not None and views.readiness.is_changing:
        assert time.monotonic() < deadline
        await views.adopt()
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("count", (3, 2), ids=("another number of shards", "the same number"))
def test_other_hosts_are_asked_once_they_have_mapped_a_file(sources: Sources, count: int) -> None:
    async def scene() -> None:
        database = AsyncStorage(sources.storage, Metrics())
        folder = sources.folder / "index"
        shards, listening = await asked_of(folder, database)
        segment_files = SegmentFiles(folder, ShardRule(pieces=1, count=2))
        views = views_of(database, segment_files, lock, shards)
        assert (await views.view(sources.account, "s")).cut == 2
        await views.adopt()
        servers = [ShardServer(folder, TOKEN) for _ in range(count)]
        others = [await server.listen("127.0.0.1", 0) for server in servers]

        segment_files.sharding = ShardRule(pieces=1, count=count)
        shards.change(count, [[each.sockets[0].getsockname()[:2]] for each in others])
        await views.adopt()
        assert shards.is_changing
        if count != 2:
            # No other file is there yet: nobody is asked to map the one in use.
            assert [server.connected for server in servers] == [0] * count
            cut(sources, count)
        await until_cut(views, sources, count)
        await until_settled(views)

        assert [server.connected for server in servers] == [1] * count
        shards.close()
        for each in (listening, *others):
            each.close()
        database.close()

    sources.submit(*range(20))
    cut(sources, 2)
    lock = builder_lock(sources.folder)
    asyncio.run(scene())
    lock.close()


def test_other_hosts_that_do_not_answer_are_waited_for_a_while(sources: Sources) -> None:
    async def scene() -> None:
        database = AsyncStorage(sources.storage, Metrics())
        shards, listening = await asked_of(sources.folder / "index", database)
        now = 0.0
        readiness = ShardReadiness(shards, monotonic=lambda: now)
        published = files.newest(sources.head())
        assert published is not None
        # Without other hosts, one that does not answer holds up nothing.
        alone = Shards([[NOBODY]], lambda: TOKEN, database, Metrics(), lambda: 0)
        assert await ShardReadiness(alone).is_ready(published.stamp, 2)

        shards.change(2, [[NOBODY], [NOBODY]])
        assert not await readiness.is_ready(published.stamp, 2)
        now = LONGEST_WAIT_S - 1
        shards.change(2, [[NOBODY], [NOBODY, NOBODY, ("127.0.0.1", 2)]])
        assert not await readiness.is_ready(published.stamp, 2)
        now += LONGEST_WAIT_S - 1
        assert not await readiness.is_ready(published.stamp, 2)
        now += 1
        assert await readiness.is_ready(published.stamp, 2)
        shards.close()
        listening.close()
        database.close()

    sources.submit(*range(20))
    files = cut(sources, 2)
    asyncio.run(scene())
