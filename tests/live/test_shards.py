"""Shards answer as the node itself does, from any replica that has the file; what they cannot do, the node does."""

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acceptance.servers import free_port
from filters_reference import ATTRIBUTES, EXTRAS, FILTERS
from live.conftest import Sources
from live.conftest import numbered as alike
from penchant.attributes import Attribute, AttributeType, numbered
from penchant.errors import IndexNotReady
from penchant.index import Filter, SimilarityQuery, Snapshot, Strings
from penchant.index.layout import FARTHEST
from penchant.live.array_files import Stamp
from penchant.live.database import AsyncStorage
from penchant.live.segment_files import SegmentFiles, SegmentSet
from penchant.live.shard_messages import MAGIC, NONCE_BYTES, BrokenMessage, LiveRows, ScanOutcome, ScanRequest, proof
from penchant.live.shard_replica import SILENCE_S
from penchant.live.shard_server import KEPT_STATES, ScannedSegment, ShardServer
from penchant.live.shards import Shards, scan_request
from penchant.model import Algorithm, IndexedPiece
from penchant.telemetry import Metrics
from penchant.wire import decode_filter, decode_stored_piece
from strategies import CATALOGUES, CATEGORY_WEIGHTS, examples

STAMP = Stamp(source_id=7, created_at=5, incarnation=1, epoch=2, version=3)
NAMED = {key: Attribute(AttributeType(each["type"]), each["pointer"]) for key, each in ATTRIBUTES.items()}
NUMBERED = numbered(NAMED.values())
TABLE = Strings.of(map(str, NUMBERED))
NOW = Filter(moment=1)
TOKEN = b"a token"
PATIENCE_S = 60.0
TURNS_TO_ASK = 4
"""Turns of the loop until a request is sent, and before it can be answered."""
DETAILS = st.lists(
    st.fixed_dictionaries(
        {
            "extras": EXTRAS,
            "filters": st.sampled_from([{}, {"catalogs": ["site"]}, {"availableUntil": "2030-01-01T00:00:00Z"}]),
        }
    ),
    min_size=11,
    max_size=11,
)
CHOSEN = st.builds(
    Filter,
    moment=st.sampled_from([1, 1 << 50]),
    catalogs=st.sampled_from([None, frozenset({"site"}), frozenset({"no"})]),
    matching=st.none() | FILTERS.map(lambda clause: decode_filter(json.dumps(clause), NAMED)),
    blacklisted=st.sampled_from([frozenset(), frozenset({"p1", "p2"})]),
    omitted=st.sampled_from([frozenset(), frozenset({"p3"})]),
)


def indexed(piece: dict[str, Any]) -> IndexedPiece:
    return decode_stored_piece(json.dumps(piece).encode(), 0, NUMBERED)


@settings(deadline=None, max_examples=examples(60))
@given(CATALOGUES, DETAILS, CATALOGUES, CHOSEN, CATEGORY_WEIGHTS, st.sampled_from([1, 3, 30]))
def test_a_scan_finds_what_the_node_finds(
    pieces: list[Any], details: list[Any], later: list[Any], shown: Filter, weights: dict[str, float], take: int
) -> None:
    first = {piece["id"]: indexed(piece | more) for piece, more in zip(pieces, details, strict=False)}
    base = Snapshot.empty().apply(first, attributes=TABLE)
    snapshot = Snapshot.of_file(base.split(3), tuple(STAMP))
    snapshot = snapshot.apply(
        {piece["id"]: indexed(piece) if number % 2 else None for number, piece in enumerate(later)}, attributes=TABLE
    )
    held = {part.origin: ScannedSegment(part.segment) for part in snapshot.parts}

    for asked in (snapshot.asked(each, algorithm, weights) for each in ids_of(snapshot) for algorithm in Algorithm):
        for part in snapshot.parts:
            choice = take, FARTHEST
            assert scanned(held[part.origin], asked, part, shown, choice) == (
                [] if part.origin is None else asked.nearest_in(part, shown, *choice)
            )


def ids_of(snapshot: Snapshot) -> list[str]:
    rows = [(part, row) for part in snapshot.parts for row in np.flatnonzero(part.live).tolist()]
    return [part.segment.ids[row] for part, row in rows]


def scanned(
    held: ScannedSegment, asked: SimilarityQuery, part: Any, shown: Filter, choice: tuple[int, int]
) -> list[tuple[int, str]]:
    """Return what a shard finds that may have to be told which pieces are gone."""
    request = scan_request(1, asked, part, shown, choice)
    if request is None:
        return []
    answer = held.scan(request)
    if answer.outcome is ScanOutcome.MISSING_ROWS:
        held.note(LiveRows(request.file, request.place, request.live, part.gone_rows.tobytes()))
        answer = held.scan(request)
    assert answer.outcome is ScanOutcome.FOUND
    keys, rows = (np.frombuffer(each, dtype=np.int64) for each in (answer.keys, answer.rows))
    found: list[tuple[int, str]] = part.named(keys, rows)
    return found


def halves(version: int = 0) -> Snapshot:
    """Return twenty pieces that are alike by turns, in two segments of one file."""
    pieces = {f"p{number}": indexed(alike(number + version) | {"id": f"p{number}"}) for number in range(20)}
    return Snapshot.of_file(Snapshot.empty().apply(pieces).split(2), tuple(STAMP))


def request_for(snapshot: Snapshot) -> ScanRequest:
    """Return a scan of the first segment."""
    asked = snapshot.asked("p1", Algorithm.JACCARD, {})
    request = scan_request(1, asked, snapshot.parts[0], NOW, (9, FARTHEST))
    assert request is not None
    return request


def test_a_shard_remembers_some_states_of_a_segment() -> None:
    held, request = ScannedSegment(halves().parts[0].segment), request_for(halves())

    for number in range(KEPT_STATES):
        held.note(LiveRows((*STAMP, 2), 0, bytes([number]), np.array([0], dtype=np.uint32).tobytes()))

    assert held.scan(request).outcome is ScanOutcome.MISSING_ROWS
    with pytest.raises(BrokenMessage):
        held.note(LiveRows((*STAMP, 2), 0, b"x", np.array([20], dtype=np.uint32).tobytes()))


@pytest.mark.parametrize(
    "wrong",
    (
        {"terms": np.array([0, 99]).tobytes(), "values": b"\1\1"},
        {"terms": np.array([1, 0]).tobytes(), "values": b"\1\1"},
        {"terms": np.array([-1]).tobytes(), "values": b"\1"},
        {"values": b""},
        {"values_type": "O"},
        {"mode": 3},
        {"excluded": np.array([20]).tobytes()},
        {"factors": ()},
        {"take": 0},
        {"take": 1 << 40},
    ),
    ids=str,
)
def test_numbers_that_no_segment_has_never_reach_a_kernel(wrong: dict[str, Any]) -> None:
    held = ScannedSegment(halves().parts[0].segment)
    request = request_for(halves())
    assert held.scan(request).outcome is ScanOutcome.FOUND

    with pytest.raises(BrokenMessage):
        held.scan(msgspec.structs.replace(request, **wrong))


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
        return Shards(hosts, TOKEN, self.database, self.metrics, lambda: memory_bytes)

    def count(self, outcome: str) -> float:
        """Return how many scans had an outcome."""
        named = {"outcome": outcome}
        values = (
            self.metrics.registry.get_sample_value("penchant_shard_scans_total", named | {"shard": shard})
            for shard in "01"
        )
        return sum(value or 0 for value in values)

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


async def same_lists(shards: Shards, snapshot: Snapshot, *, until: Callable[[], bool] = lambda: True) -> None:
    """Ask for all lists, once and on until something is so, and compare them with those of the node."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        for algorithm in Algorithm:
            for each in ids_of(snapshot):
                asked = snapshot.asked(each, algorithm, {})
                assert await shards.nearest_to(snapshot, asked, NOW, 9) == snapshot.nearest_to(asked, NOW, 9)
        if until():
            return
        assert time.monotonic() < deadline


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


def test_a_stall_of_the_worker_is_not_taken_for_the_silence_of_a_process(sources: Sources) -> None:
    async def scene(scene: Scene) -> None:
        shards = scene.asking([await scene.start()])
        await same_lists(shards, scene.base, until=lambda: scene.count("answered") > 0)

        asked = scene.base.asked("p1", Algorithm.JACCARD, {})
        owed = asyncio.create_task(shards.nearest_to(scene.base, asked, NOW, 9))
        for _ in range(TURNS_TO_ASK):
            await asyncio.sleep(0)
        time.sleep(3 * SILENCE_S)  # noqa: ASYNC251  # the stall
        await same_lists(shards, scene.base)

        assert await owed == scene.base.nearest_to(asked, NOW, 9)
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
