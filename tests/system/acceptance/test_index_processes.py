"""Segment files between real processes: whatever happens to them or their builder, answers stay those of SQL."""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path

import msgspec
import pytest

from acceptance.processes import holders_of, wait_until
from acceptance.servers import Server, command
from penchant.live.builder import LEAST_CHANGES, SMALLEST_FILE
from penchant.live.following import apply_feed
from penchant.storage import ContentFeed, Storage, open_storage
from penchant_engine.index import Filter, Snapshot
from penchant_engine.model import Algorithm

pytestmark = [
    pytest.mark.stress,
    pytest.mark.skipif(not Path("/proc/locks").exists(), reason="the builder is found through /proc"),
]

PATIENCE_S = 500
ASKED = [f"p{number}" for number in range(0, SMALLEST_FILE, SMALLEST_FILE // 10)]


def pieces(numbers: range) -> bytes:
    """Return a body of pieces with many ties, and weights for some."""
    return msgspec.json.encode(
        [
            {
                "id": f"p{number}",
                "categories": {
                    "genre": [f"g{number % 7}", f"g{number % 11}"],
                    "tag": [{"key": f"t{number % 97}", "weight": number % 5}, f"u{number % 101}"],
                },
            }
            for number in numbers
        ]
    )


def submit(server: Server, start: int, end: int) -> None:
    for first in range(start, end, 2_000):
        body = pieces(range(first, min(first + 2_000, end)))
        answer = server.client.post("/s/content", content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 202, answer.text


def segments(data: Path) -> list[Path]:
    return list(data.glob("index/*/*.segment"))


def builder_of(data: Path) -> list[int]:
    """Return the processes that hold the builder's lock."""
    return holders_of(data / "builder.lock")


def answered(server: Server) -> dict[tuple[str, str], list[tuple[str, float]]]:
    """Return what is similar to the pieces that are asked for, by both algorithms."""
    found = {}
    for algorithm in Algorithm:
        for piece in ASKED:
            answer = server.client.get(f"/s/content/{piece}/similar", params={"algo": algorithm.value, "take": 30})
            assert answer.status_code == 200, answer.text
            found[piece, algorithm.value] = [(each["id"], each["score"]) for each in answer.json()["content"]]
    return found


def feed_of(storage: Storage) -> AbstractContextManager[ContentFeed]:
    return storage.sources.follow_content(storage.accounts.ensure("default"), "s", None)


def expected(data: Path) -> dict[tuple[str, str], list[tuple[str, float]]]:
    """Return the same by an index in this process' memory, built from SQL alone and searched by numpy."""
    with closing(open_storage(folder=data)) as storage, feed_of(storage) as feed:
        snapshot = apply_feed(Snapshot.empty(), feed)
    shown = Filter(moment=time.time_ns() // 1_000_000)
    return {
        (piece, algorithm.value): [
            (each.id, each.distance)
            for each in snapshot.nearest(piece, shown, algorithm=algorithm, category_weights={}, take=30)
        ]
        for algorithm in Algorithm
        for piece in ASKED
    }


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a service that has ended, and that two workers and a builder have filled: a source with a file."""
    folder = tmp_path_factory.mktemp("filled") / "data"
    with Server(folder, "--workers", "2") as server:
        submit(server, 0, SMALLEST_FILE + 1_000)
        wait_until(lambda: len(segments(folder)) == 1, patience_s=PATIENCE_S)
    return folder


@pytest.fixture
def data(tmp_path: Path, filled: Path) -> Path:
    """A copy of that folder."""
    return Path(shutil.copytree(filled, tmp_path / "data"))


@pytest.fixture
def server(data: Path) -> Iterator[Server]:
    """Two workers on the copy."""
    with Server(data, "--workers", "2") as running:
        wait_until(lambda: builder_of(data) != [], patience_s=PATIENCE_S)
        yield running


def test_workers_that_map_a_file_answer_as_an_index_in_memory(data: Path) -> None:
    wanted = expected(data)

    for workers in ("1", "3"):
        with Server(data, "--workers", workers) as again:
            assert answered(again) == wanted
            submit(again, 0, 100)
            assert answered(again) == wanted
            assert again.metric("penchant_segments_mapped_total") > 0


def test_a_killed_builder_is_replaced_and_nothing_waits_for_it(server: Server, data: Path) -> None:
    (killed,) = builder_of(data)
    (before,) = segments(data)

    os.kill(killed, signal.SIGKILL)
    submit(server, SMALLEST_FILE, SMALLEST_FILE + 2 * LEAST_CHANGES)
    assert answered(server) == expected(data)

    wait_until(lambda: builder_of(data) not in ([], [killed]), patience_s=PATIENCE_S)
    wait_until(lambda: segments(data) not in ([], [before]), patience_s=PATIENCE_S)
    assert answered(server) == expected(data)


def test_the_index_is_made_anew_while_the_service_runs(server: Server, data: Path) -> None:
    (path,) = segments(data)
    made = path.stat().st_ino

    done = command("reindex", "--data", str(data), "--source", "s")

    assert (done.returncode, done.stderr) == (0, "")
    (path,) = segments(data)
    assert path.stat().st_ino != made
    assert command("check", "--data", str(data)).returncode == 0
    assert answered(server) == expected(data)
    unknown = command("reindex", "--data", str(data), "--source", "none")
    assert (unknown.returncode, "no source" in unknown.stderr) == (1, True)


def test_where_no_kernel_can_be_kept_the_service_answers_all_the_same(tmp_path: Path) -> None:
    server = Server(tmp_path / "data", kernels=Path("/dev/null/kernels"))
    submit(server, 0, 1_000)
    answer = server.client.get("/s/content/p1/similar?take=30")

    assert (answer.status_code, len(answer.json()["content"])) == (200, 30)
    assert server.stop() == 0
