"""Operators see by how much what shard processes hold is behind the node's files, and which of them answer."""

import asyncio
import time

import pytest

from live.conftest import Sources
from live.test_shards import PATIENCE_S, Scene, play, require_found
from penchant.index import Snapshot
from penchant.live.array_files import stamp_of
from penchant.live.segment_files import SegmentFiles, SegmentSet
from penchant.live.shard_watch import LIFE_S
from penchant.live.shards import Shards
from penchant.model import Algorithm
from penchant.service import shard_reports
from penchant.service.shard_reports import ShardReports


def publish(sources: Sources, files: SegmentFiles) -> Snapshot:
    """Write the file of a source as it stands, in two segments."""
    segments = sources.rebuilt().split(2)
    stamp = stamp_of(sources.head())
    files.publish(stamp, SegmentSet(segments))
    return Snapshot.of_file(segments, tuple(stamp))


async def lags(reports: ShardReports) -> list[int | None]:
    """Return by how much each segment of the only process is behind."""
    (shard,) = (await reports.report()).shards
    return [each.behind for replica in shard.replicas for each in replica.segments]


async def wait_for_lags(shards: Shards, snapshot: Snapshot, reports: ShardReports, wanted: list[int]) -> None:
    """Ask for lists until the process holds both segments."""
    deadline = time.monotonic() + PATIENCE_S
    while await lags(reports) != wanted:
        await require_found(shards, snapshot, snapshot.asked("p1", Algorithm.COSINE, {}))
        assert time.monotonic() < deadline
        await asyncio.sleep(LIFE_S / 5)


def test_a_process_is_behind_until_it_is_asked_for_the_newest_file(
    sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_reports, "SMALLEST_FILE", 2)
    sources.submit(*range(20))

    async def scene(scene: Scene) -> None:
        shards = scene.asking([await scene.start()])
        files = SegmentFiles(scene.folder)
        reports = ShardReports(scene.database, shards, files, scene.metrics)
        first = publish(sources, files)
        assert await lags(reports) == [None, None]
        await wait_for_lags(shards, first, reports, [0, 0])

        sources.submit(20, 21, 22)
        second = publish(sources, files)
        assert await lags(reports) == [3, 3]
        (split,) = (await reports.report()).sources
        assert (split.account, split.source, split.pieces, split.segments) == ("one", "s", 23, 2)
        assert split.version == split.file_version
        await wait_for_lags(shards, second, reports, [0, 0])
        assert await reports.warnings() == []
        shards.close()

    play(sources, scene)
