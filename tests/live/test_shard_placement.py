"""Replicas whose addresses a file tells: they are asked as soon as it has them, and kept while nobody knows better."""

import asyncio
import time
from pathlib import Path

import pytest

from acceptance.servers import free_port
from live.conftest import Sources
from live.test_shards import PATIENCE_S, Scene, play, same_lists
from penchant.live.shard_placement import (
    FILE,
    PlacementFollower,
    ReplicaPlace,
    ShardPlacement,
    read_placement,
    write_placement,
)


def placed(*shards: list[tuple[str, int]]) -> ShardPlacement:
    """Return the placement of replicas at these addresses."""
    return ShardPlacement(tuple(tuple(ReplicaPlace(f"{host}:{port}") for host, port in each) for each in shards))


def test_replicas_that_are_placed_elsewhere_are_asked_there(sources: Sources) -> None:
    async def scene(scene: Scene) -> None:
        folder = sources.folder
        first, second, third = [await scene.start() for _ in range(3)]
        servers = [server for server, _, _ in scene.listening]
        shards = scene.asking([], [])
        follower = PlacementFollower(shards, folder)
        following = asyncio.create_task(follower.run())

        async def until_connected(*wanted: bool) -> None:
            deadline = time.monotonic() + PATIENCE_S
            while tuple(server.connected > 0 for server in servers) != wanted:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.05)

        await same_lists(shards, scene.base)
        assert scene.count("node") > 0

        # No list asks for it: a connection is what a replica lives by.
        write_placement(folder, placed([first, ("127.0.0.1", free_port())], [second, second]))
        await until_connected(True, True, False)
        await same_lists(shards, scene.base, until=lambda: scene.count("answered") > 10)
        before = scene.count("node")
        for damaged in (b"{", b'{"shards":[]}'):
            (folder / FILE).write_bytes(damaged)
            await asyncio.sleep(0)
        write_placement(folder, placed([third], [second]))
        await until_connected(False, True, True)
        await same_lists(shards, scene.base, until=lambda: scene.count("answered") > 200)

        # While the third one maps the segment, the node searches.
        assert scene.count("node") >= before
        assert follower.warnings == []
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        shards.close()
        await until_connected(False, False, False)

    play(sources, scene)


def test_hosts_of_the_settings_are_kept_while_a_cluster_takes_their_place(sources: Sources) -> None:
    async def scene(scene: Scene) -> None:
        named, placed_one = [await scene.start() for _ in range(2)]
        shards = scene.asking([named], [named])
        is_placed = False
        follower = PlacementFollower(shards, sources.folder, lambda: is_placed)
        write_placement(sources.folder, placed([placed_one], [placed_one]))
        following = asyncio.create_task(follower.run())
        await asyncio.sleep(0)
        assert not shards.is_changing

        is_placed = True
        deadline = time.monotonic() + PATIENCE_S
        while not shards.is_changing:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        assert [[each.address for each in replicas] for replicas in shards.replicas] == [
            [f"127.0.0.1:{placed_one[1]}"]
        ] * 2

        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        shards.close()

    play(sources, scene)


def test_a_placement_tells_what_is_missing_by_reason(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert read_placement(tmp_path) == ShardPlacement()
    away = ReplicaPlace(address="127.0.0.1:1", fault="no room")
    placement = ShardPlacement(((away, ReplicaPlace(fault="no room")), (ReplicaPlace(fault="no node"), away)))

    write_placement(tmp_path, placement)

    assert read_placement(tmp_path) == placement
    assert placement.missing == 4
    assert placement.hosts() == [[("127.0.0.1", 1)], [("127.0.0.1", 1)]]
    assert placement.faults() == [
        "3 replicas of shards (0, 1) are missing: no room",
        "1 replicas of shards (1) are missing: no node",
    ]
    (tmp_path / FILE).write_bytes(b"{")
    assert read_placement(tmp_path) == ShardPlacement()
    assert "cannot be read" in caplog.text
