"""The helper answers who uses most of a worker beside others, and nobody can tell but by whom it holds up."""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from acceptance.processes import children_of, holders_of, wait_until, waited_for, workers_of
from acceptance.servers import Server, new_key
from factories import piece
from penchant.bootstrap.processes import HELPER_NICENESS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are found through /proc"),
]

QUOTA = 12
COMPILED_S = 300.0
SETTINGS = f"""
[plans.small]
recommendations-per-month = {QUOTA}
"""
RELAYED = "penchant_relayed_requests_total"
HEAVY = [piece(f"p{number}", *(f"k{keyword}" for keyword in range(60))) for number in range(500)]


def helper_of(server: Server) -> int:
    """Return the process that answers behind the workers."""
    niceness = os.getpriority(os.PRIO_PROCESS, server.process.pid) + HELPER_NICENESS
    others = set(children_of(server.process.pid)) - set(workers_of(server.process.pid))
    (helper,) = (each for each in others if os.getpriority(os.PRIO_PROCESS, each) == niceness)
    return helper


@contextmanager
def heavy(server: Server, key: str) -> Iterator[None]:
    """Have one account read much at once, and another one little, until the block ends."""
    ended = threading.Event()
    others = new_key(server.data, account="other")

    def read(key: str, path: str, pause_s: float) -> None:
        with httpx.Client(base_url=server.url, headers={"x-api-key": key}, timeout=300) as client:
            while not ended.wait(pause_s):
                # Whose answer was cut: the one of a helper that was killed.
                with suppress(httpx.RemoteProtocolError):
                    client.get(path)

    httpx.post(f"{server.url}/heavy/content", headers={"x-api-key": key}, json=HEAVY, timeout=300)
    with ThreadPoolExecutor(4) as threads:
        much = [threads.submit(read, key, "/heavy/content", 0.0) for _ in range(3)]
        going_on = [*much, threads.submit(read, others, "/s/ids", 0.02)]
        try:
            yield
        finally:
            ended.set()
            for each in going_on:
                each.result()


def relayed_more(server: Server) -> None:
    """Wait until the helper has answered some more."""
    before = server.metric(RELAYED)
    wait_until(lambda: server.metric(RELAYED) >= before + 5, patience_s=120)


def test_what_is_relayed_is_stored_counted_and_read_as_anything_else(tmp_path: Path) -> None:
    with Server(tmp_path / "data", settings=SETTINGS) as server:
        key = new_key(server.data, account="small", plan="small")
        client = httpx.Client(base_url=server.url, headers={"x-api-key": key}, timeout=300)
        similar = []
        with heavy(server, key), client:
            client.post("/s/content", json=[piece("a", "x"), piece("b", "x")])
            # Some by the worker, some by the helper.
            for number in range(QUOTA + 4):
                assert client.post("/s/content", json=[piece(f"p{number}", "x")]).status_code == 202
                assert client.get("/s/ids").json()["count"] == number + 3
                if number == QUOTA // 2:
                    relayed_more(server)
                similar.append(client.get("/s/content/a/similar").status_code)

        lists = 'penchant_requests_total{method="GET",route="/{source}/content/{contentID}/similar",status="200"}'
        # What is told of metrics may be a second old.
        counted = waited_for(lambda: server.metric(lists), lambda count: count >= QUOTA)
        assert similar == [200] * QUOTA + [429] * 4
        assert counted == QUOTA


def test_a_helper_that_is_killed_is_replaced(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server, heavy(server, server.key):
        relayed_more(server)
        killed = helper_of(server)

        os.kill(killed, signal.SIGKILL)

        wait_until(lambda: killed not in children_of(server.process.pid))
        relayed_more(server)
        assert helper_of(server) != killed
        assert "Traceback" not in server.log()


def test_a_service_with_a_helper_at_work_ends_as_told_and_leaves_nothing(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        with heavy(server, server.key):
            relayed_more(server)
        left = children_of(server.process.pid)

        assert server.stop() == 0
        wait_until(lambda: not any(Path(f"/proc/{each}").exists() for each in left))
        assert list(server.data.glob("metrics/*")) == []


def test_a_worker_is_all_until_there_is_a_source_and_a_builder_too_until_an_account_is_heavy(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        # What compiles the kernels ends.
        wait_until(lambda: children_of(server.process.pid) == workers_of(server.process.pid), patience_s=COMPILED_S)
        assert len(workers_of(server.process.pid)) == 1
        assert holders_of(server.data / "builder.lock") == []

        assert server.client.post("/s/content", json=[piece("a", "x")]).status_code == 202

        wait_until(lambda: len(holders_of(server.data / "builder.lock")) == 1)
        assert len(children_of(server.process.pid)) == 2
        assert len(workers_of(server.process.pid)) == 1
        assert server.metric(RELAYED) == 0
