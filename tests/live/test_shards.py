"""Shards answer as the node itself does, from any replica that has the file; what they cannot do, the node does."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from acceptance.servers import free_port
from live.conftest import Sources
from live.conftest import numbered as alike
from live.test_shard_scans import NOW, STAMP, audience_of, blend_for, halves, ids_of, indexed
from penchant.errors import IndexNotReady
from penchant.index import MeanQuery, PartQuery, PiecePosition, SharedQuery, Snapshot, best_of, key_of
from penchant.index.standing import count_ahead
from penchant.live import shard_replica
from penchant.live.database import AsyncStorage
from penchant.live.segment_files import SegmentFiles, SegmentSet
from penchant.live.shard_messages import MAGIC, NONCE_BYTES, proof
from penchant.live.shard_replica import SILENCE_S
from penchant.live.shard_server import ShardServer
from penchant.live.shards import Shards
from penchant.model import Algorithm
from penchant.telemetry import Metrics

TOKEN = b"a token"
PATIENCE_S = 60.0
LIKED = {f"p{number}": number << 15 for number in range(4, 30, 3)}
TURNS_TO_ASK = 5
"""Turns of the loop until a request is sent, and before it can be answered."""


class Scene:
    """A file of two segments, processes that answer for it in this one, and a node that asks them."""

    def __init__(self, folder: Path, database: AsyncStorage) -> None:
        self.files = SegmentFiles(folder)
        self.folder = folder
        self.database = database
        self.listening: list[tuple[ShardServer, asyncio.Server, tuple[str, int]]] = []
        self.base = halves()
        self.files.publish(STAMP, SegmentSet([part.segment for part in self.base.parts]))

    async def start(self, token: bytes = TOKEN) -> tuple[str, int]:
        server = ShardServer(self.folder, token)
        listening = await server.listen("127.0.0.1", 0)
        address = listening.sockets[0].getsockname()
        self.listening.append((server, listening, address))
        return "127.0.0.1", address[1]

    def asking(self, *hosts: list[tuple[str, int]], memory_bytes: int = 0) -> Shards:
        self.metrics = Metrics()
        return Shards(hosts, lambda: TOKEN, self.database, self.metrics, lambda: memory_bytes)

    def count(self, outcome: str) -> float:
        """Return how many scans had an outcome."""
        named = {"outcome": outcome}
        values = (
            self.metrics.registry.get_sample_value("penchant_shard_scans_total", named | {"shard": shard})
            for shard in "01"
        )
        return sum(value or 0 for value in values)

    def told(self, state: str) -> float:
        """Return how often a process was told a state of a segment."""
        return self.metrics.registry.get_sample_value("penchant_shard_states_total", {"state": state}) or 0

    def passed_by(self) -> float:
        """Return how often a process was passed by."""
        found = (
            self.metrics.registry.get_sample_value("penchant_shard_failures_total", {"shard": "0", "replica": replica})
            for replica in "01"
        )
        return sum(value or 0 for value in found)


def play(sources: Sources, scene: Callable[[Scene], Awaitable[None]]) -> None:
    """Play a scene in an event loop."""

    async def run() -> None:
        database = AsyncStorage(sources.storage, Metrics())
        played = Scene(sources.folder / "index", database)
        await scene(played)
        for _, listening, _ in played.listening:
            listening.close()
        database.close()

    asyncio.run(run())


async def require_found(shards: Shards, snapshot: Snapshot, query: PartQuery) -> None:
    """Compare a list by shards with that of the node."""
    find = await shards.find(snapshot, shards.scan_of(query, snapshot), [NOW], 9)
    assert find(NOW) == best_of(snapshot.parts, query, NOW, 9)


async def same_lists(shards: Shards, snapshot: Snapshot, *, until: Callable[[], bool] = lambda: True) -> None:
    """Ask for all lists, once and on until something is so, and compare them with those of the node."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        for algorithm in Algorithm:
            for each in ids_of(snapshot):
                await require_found(shards, snapshot, snapshot.asked(each, algorithm, {}))
        if until():
            return
        assert time.monotonic() < deadline


async def same_standings(shards: Shards, snapshot: Snapshot, query: PartQuery) -> None:
    """Compare the key of each piece by shards, and how many come before it, with what the node finds."""
    scan = shards.scan_of(query, snapshot)
    for each in (*ids_of(snapshot), "no"):
        key = await shards.key_of(snapshot, scan, each)
        assert key == key_of(snapshot, each, query.scan)
        positions = [PiecePosition(NOW, key or 0, each), PiecePosition(NOW, 1, "")]
        assert await shards.count_ahead(snapshot, scan, positions) == count_ahead(snapshot, positions, query.scan)


def test_replicas_find_and_count_what_comes_before_a_piece(sources: Sources) -> None:
    async def scene(scene: Scene) -> None:
        shards = scene.asking([await scene.start()], [await scene.start()])
        await same_lists(shards, scene.base, until=lambda: scene.count("answered") > 100)
        changed = scene.base.apply({"p1": None, "p2": indexed(alike(3) | {"id": "p2"})})
        before = scene.count("answered"), scene.count("node")

        for snapshot in (scene.base, changed):
            await same_standings(shards, snapshot, snapshot.asked("p3", Algorithm.JACCARD, {}))
            await same_standings(shards, snapshot, blend_for(snapshot, popular=0.5))
            shared, content = audience_of("p3", LIKED).shared_with("p3"), snapshot.asked("p3", None, {})
            await same_standings(shards, snapshot, SharedQuery(shared, content))
            await same_standings(shards, snapshot, MeanQuery(shared, content))

        assert scene.count("answered") + scene.count("hedged") > before[0] + 100
        assert scene.count("node") == before[1]
        shards.close()

    play(sources, scene)


def test_what_no_process_counts_the_node_does_where_it_has_the_memory(sources: Sources) -> None:
    async def scene(scene: Scene) -> None:
        shards = scene.asking([("127.0.0.1", free_port())])
        await same_standings(shards, scene.base, scene.base.asked("p3", Algorithm.JACCARD, {}))
        assert scene.count("node") > 0
        shards.close()

        small = scene.asking([("127.0.0.1", free_port())], memory_bytes=1)
        asked = scene.base.asked("p3", Algorithm.JACCARD, {})
        scan = small.scan_of(asked, scene.base)
        with pytest.raises(IndexNotReady):
            await small.key_of(scene.base, scan, "p4")
        with pytest.raises(IndexNotReady):
            await small.count_ahead(scene.base, scan, [PiecePosition(NOW, 1, "p4")])
        assert scene.count("node") == 0
        small.close()

    play(sources, scene)


def test_a_process_that_counts_for_long_is_not_passed_by(sources: Sources) -> None:
    async def scene(scene: Scene) -> None:
        shards = scene.asking([await scene.start()])
        await same_lists(shards, scene.base, until=lambda: scene.count("answered") > 0)
        before, counting = scene.count("node"), scene.listening[0][0].long_turn
        await counting.acquire()
        asked = scene.base.asked("p3", Algorithm.JACCARD, {})
        scan, positions = shards.scan_of(asked, scene.base), [PiecePosition(NOW, 1, "p4")]

        owed = asyncio.create_task(shards.count_ahead(scene.base, scan, positions))
        await asyncio.sleep(3 * SILENCE_S)
        assert not owed.done()
        await same_lists(shards, scene.base)
        counting.release()

        assert await owed == count_ahead(scene.base, positions, asked.scan)
        assert (scene.passed_by(), scene.count("node")) == (0, before)
        shards.close()

    play(sources, scene)


def test_replicas_answer_for_a_file_and_what_changed_since(sources: Sources) -> None:
    async def scene(scene: Scene) -> None:
        addresses = [await scene.start() for _ in range(4)]
        shards = scene.asking(addresses[:2], addresses[2:])
        assert shards.serves(scene.base)
        assert not shards.serves(Snapshot.of_segment(scene.base.merged()))

        await same_lists(shards, scene.base, until=lambda: scene.count("answered") > 100)
        changed = scene.base.apply({"p1": None, "p2": indexed(alike(3) | {"id": "p2"})})
        before = scene.count("answered"), scene.count("node")
        await same_lists(shards, changed)
        for number in range(4):
            await require_found(shards, changed, blend_for(changed, popular=number / 4))
        shared, content = audience_of("p3", LIKED).shared_with("p3"), changed.asked("p3", None, {})
        await require_found(shards, changed, SharedQuery(shared, content))
        await require_found(shards, changed, MeanQuery(shared, content))

        assert all(scene.told(state) > 0 for state in ("rows", "shares", "changes"))
        assert scene.count("answered") + scene.count("hedged") > before[0]
        assert scene.count("node") == before[1]
        shards.close()

    play(sources, scene)


def test_what_no_process_scans_the_node_does_where_it_has_the_memory(
    sources: Sources, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(scene: Scene) -> None:
        stranger = await scene.start(b"another token")
        nobody = "127.0.0.1", free_port()
        shards = scene.asking([stranger, nobody])
        await same_lists(shards, scene.base)
        assert (scene.count("answered"), scene.count("hedged")) == (0, 0)
        assert scene.count("node") > 0
        shards.close()

        small = scene.asking([nobody], memory_bytes=1)
        with pytest.raises(IndexNotReady) as refused:
            await same_lists(small, scene.base)
        assert refused.value.retry_after_s is not None
        small.close()

    with caplog.at_level(logging.INFO, logger="penchant"):
        play(sources, scene)
    assert "a shard process is passed by" in caplog.text
    assert "a connection to this shard has not shown the token" in caplog.text


def test_a_file_that_is_not_there_is_no_end(sources: Sources, caplog: pytest.LogCaptureFixture) -> None:
    async def scene(scene: Scene) -> None:
        shards = scene.asking([await scene.start()])
        scene.files.forget(STAMP.source_id)

        with caplog.at_level(logging.WARNING, logger="penchant"):
            await same_lists(shards, scene.base, until=lambda: "cannot map segment" in caplog.text)

        assert scene.count("answered") == 0
        scene.files.publish(STAMP, SegmentSet([part.segment for part in scene.base.parts]))
        await same_lists(shards, scene.base, until=lambda: scene.count("answered") > 0)
        shards.close()

    play(sources, scene)


def test_a_file_of_one_version_that_is_cut_anew_is_another_one(sources: Sources) -> None:
    async def scene(scene: Scene) -> None:
        shards = scene.asking([await scene.start()])
        await same_lists(shards, scene.base, until=lambda: scene.count("answered") > 0)
        thirds = scene.base.split(3)
        scene.files.publish(STAMP, SegmentSet(thirds))
        before = scene.count("answered")

        await same_lists(shards, Snapshot.of_file(thirds, tuple(STAMP)), until=lambda: scene.count("answered") > before)
        shards.close()

    play(sources, scene)


def test_files_of_one_version_are_kept_as_they_are_asked_for(sources: Sources) -> None:
    async def scene(scene: Scene) -> None:
        shards = scene.asking([await scene.start()])
        # Of more segments and of fewer: a process keeps two files, and those that were asked for last.
        for count in (4, 6, 3, 6, 2):
            segments = scene.base.split(count)
            scene.files.publish(STAMP, SegmentSet(segments))
            before = scene.count("answered")
            snapshot = Snapshot.of_file(segments, tuple(STAMP))
            await same_lists(shards, snapshot, until=lambda before=before: scene.count("answered") > before)  # type: ignore[misc]  # mypy cannot infer it
        shards.close()

    play(sources, scene)


def test_a_stall_of_the_worker_is_not_taken_for_the_silence_of_a_process(sources: Sources) -> None:
    async def scene(scene: Scene) -> None:
        shards = scene.asking([await scene.start()])
        await same_lists(shards, scene.base, until=lambda: scene.count("answered") > 0)

        asked = scene.base.asked("p1", Algorithm.JACCARD, {})
        owed = asyncio.create_task(require_found(shards, scene.base, asked))
        for _ in range(TURNS_TO_ASK):
            await asyncio.sleep(0)
        time.sleep(3 * SILENCE_S)  # noqa: ASYNC251  # the stall
        await same_lists(shards, scene.base)

        await owed
        assert scene.passed_by() == 0
        shards.close()

    play(sources, scene)


@pytest.mark.parametrize("greeting", (b"", MAGIC + bytes(NONCE_BYTES)), ids=("frozen at once", "frozen after it"))
def test_a_process_that_is_silent_is_passed_by(sources: Sources, greeting: bytes) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting)
        with contextlib.suppress(OSError):
            await reader.read()
        writer.close()

    async def scene(scene: Scene) -> None:
        silent = await asyncio.start_server(greet, "127.0.0.1", 0)
        shards = scene.asking([silent.sockets[0].getsockname(), await scene.start()])

        await same_lists(shards, scene.base, until=lambda: scene.count("answered") > 100)

        assert scene.passed_by() > 0
        shards.close()
        silent.close()

    play(sources, scene)


def test_what_was_lost_is_asked_last_until_it_is_back(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_replica, "PASSED_S", 0.0)

    async def keep_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError):
                await reader.read()
        finally:
            writer.close()

    async def scene(scene: Scene) -> None:
        silent = await asyncio.start_server(keep_silent, "127.0.0.1", 0)
        address = silent.sockets[0].getsockname()
        shards = scene.asking([address, await scene.start()])
        await same_lists(shards, scene.base, until=lambda: scene.count("answered") > 0 and scene.passed_by() > 0)
        before = scene.count("hedged"), scene.count("node")

        # Others find out whether it is back, as often as may be, and lists do not wait for it.
        passed_by = scene.passed_by()
        await same_lists(shards, scene.base, until=lambda: scene.passed_by() > passed_by + 2)

        assert (scene.count("hedged"), scene.count("node")) == before
        shards.close()
        silent.close()

    play(sources, scene)


def test_a_message_that_is_none_ends_the_connection_alone(sources: Sources, caplog: pytest.LogCaptureFixture) -> None:
    async def scene(scene: Scene) -> None:
        address = await scene.start()
        for message in (b"\xff\xff\xff\xff", b"\0\0\0\2{}"):
            reader, writer = await asyncio.open_connection(*address)
            greeting = await reader.readexactly(len(MAGIC) + NONCE_BYTES)
            writer.write(proof(TOKEN, greeting[len(MAGIC) :]) + message)
            assert await reader.read() == b""
            writer.close()
        shards = scene.asking([address])
        await same_lists(shards, scene.base, until=lambda: scene.count("answered") > 0)
        shards.close()

    with caplog.at_level(logging.WARNING, logger="penchant"):
        play(sources, scene)
    assert caplog.text.count("a connection to this shard is closed") == 2
