"""Several workers on one data folder answer as one, and none of them is missed."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from acceptance.processes import wait_until, workers_of
from acceptance.servers import WITHOUT_TLS, Server, command
from factories import piece

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="workers are found through /proc"),
]

RATE = 4
"""Requests a second that a plan allows: fewer than the busiest machine that runs tests answers."""
QUOTA = 50
SETTINGS = f"""
mcp = true

[plans.slow]
requests-per-second = {RATE}

[plans.small]
recommendations-per-month = {QUOTA}
"""


@contextmanager
def two_workers(folder: Path) -> Iterator[Server]:
    """Start two workers, with a source of two pieces that are alike."""
    with Server(folder / "data", "--workers", "2", settings=SETTINGS) as running:
        wait_until(lambda: len(answering(running)) == 2)
        ask(running, "POST", "/s/content", json=[piece("a", "x"), piece("b", "x")])
        yield running


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with two_workers(tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Workers for all tests that end none of them, and count nothing."""
    with two_workers(tmp_path_factory.mktemp("calm")) as running:
        yield running


def ask(server: Server, method: str, path: str, *, key: str = "", **options: object) -> httpx.Response:
    """Ask over a connection of its own, so that any worker may answer."""
    headers = {"x-api-key": key or server.key}
    with httpx.Client(base_url=server.url, headers=headers, timeout=120, verify=WITHOUT_TLS) as client:
        return client.request(method, path, **options)  # type: ignore[arg-type]


def statuses(server: Server, path: str, *, key: str = "", times: int) -> list[int]:
    """Ask from 8 threads at once."""
    with ThreadPoolExecutor(8) as threads:
        answers = threads.map(lambda _: ask(server, "GET", path, key=key).status_code, range(times))
        return list(answers)


def new_key(server: Server, *, plan: str = "full", account: str = "default") -> str:
    words = ("--data", str(server.data), "--settings", str(server.settings_file))
    created = command("keys", "create", *words, "--plan", plan, "--account", account)
    assert created.returncode == 0, created.stderr
    return created.stdout.strip()


def answering(server: Server) -> set[int]:
    """Return the workers that have opened everything: they listen a moment later."""
    return {int(path.stem.split("_")[1]) for path in server.data.glob("metrics/*/counter_*.db")} & set(
        workers_of(server.process.pid)
    )


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def loaded_after_another_read(server: Server) -> float:
    ask(server, "GET", "/s/content/a/similar")
    return server.metric("penchant_loaded_sources")


def test_what_one_worker_takes_in_the_others_answer_at_once(server: Server) -> None:
    for number in range(40):
        version = ask(server, "POST", "/s/content", json=[piece(f"p{number}", "x")]).json()["version"]
        for path in (f"/s/content/p{number}", f"/s/content/p{number}/similar"):
            answer = ask(server, "GET", path, headers={"x-penchant-min-version": str(version)})
            assert (answer.status_code, int(answer.headers["x-penchant-version"])) == (200, version)
        assert ask(server, "GET", "/s/ids").json()["count"] == number + 3

    wait_until(lambda: server.metric("penchant_loaded_sources") == 2)


def test_a_revoked_key_soon_stops_on_all_workers(calm: Server) -> None:
    key = new_key(calm)
    assert set(statuses(calm, "/s/ids", key=key, times=40)) == {200}

    assert command("keys", "revoke", key.split("_")[1], "--data", str(calm.data)).returncode == 0

    wait_until(lambda: set(statuses(calm, "/s/ids", key=key, times=40)) == {401})


def test_a_rate_holds_for_all_workers_together(server: Server) -> None:
    key = new_key(server, plan="slow")
    first = int(time.monotonic())
    answers = statuses(server, "/s/ids", key=key, times=400)
    seconds = int(time.monotonic()) - first + 1

    assert set(answers) == {200, 429}
    # No lower bound by the time: a busy machine may ask less often in some of the seconds.
    assert RATE <= answers.count(200) <= RATE * seconds


def test_a_quota_holds_for_all_workers_together_and_outlives_one(server: Server) -> None:
    key = new_key(server, plan="small", account="small")
    ask(server, "POST", "/s/content", key=key, json=[piece("a", "x"), piece("b", "x")])
    first = statuses(server, "/s/content/a/similar", key=key, times=QUOTA // 2)

    # What is not counted yet may be lost with a worker.
    counted = f"\tsmall\t{QUOTA // 2}\t"
    wait_until(lambda: counted in command("usage", "--data", str(server.data)).stdout)
    killed, _ = workers_of(server.process.pid)
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: not is_alive(killed))
    rest = statuses(server, "/s/content/a/similar", key=key, times=QUOTA * 3)

    assert set(first) == {200}
    assert len(first) + rest.count(200) == QUOTA
    assert set(rest) == {200, 429}
    wait_until(lambda: len(answering(server)) == 2)


def test_metrics_are_the_sum_of_all_workers_whoever_answers(server: Server) -> None:
    name = 'penchant_requests_total{method="GET",route="/{source}/ids",status="200"}'
    statuses(server, "/s/ids", times=100)

    # A worker adds what it counts once a second, and what it tells may be a second old.
    wait_until(lambda: {server.metric(name) for _ in range(10)} == {100.0})
    seconds = 'penchant_request_seconds_count{method="GET",route="/{source}/ids"}'
    wait_until(lambda: {server.metric(seconds) for _ in range(10)} == {100.0})


def test_a_killed_worker_is_replaced_while_the_others_answer(server: Server) -> None:
    name = 'penchant_requests_total{method="GET",route="/{source}/content/{contentID}/similar",status="200"}'
    statuses(server, "/s/content/a/similar", times=40)
    wait_until(lambda: (server.metric(name), server.metric("penchant_loaded_sources")) == (40, 2))
    killed, kept = workers_of(server.process.pid)

    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: not is_alive(killed))
    assert set(statuses(server, "/s/ids", times=40)) == {200}
    assert server.metric(name) == 40

    wait_until(lambda: len(answering(server)) == 2)
    assert kept in answering(server)
    statuses(server, "/s/content/a/similar", times=40)
    # What is told of metrics may be a second old.
    wait_until(lambda: server.metric(name) == 80)
    # And not 3, with that of the killed one.
    wait_until(lambda: loaded_after_another_read(server) == 2)


def test_all_workers_end_with_their_parent(server: Server) -> None:
    workers = workers_of(server.process.pid)

    server.kill()

    assert len(workers) == 2
    wait_until(lambda: not any(is_alive(worker) for worker in workers))


def test_all_workers_end_on_sigterm_and_leave_no_metrics(server: Server) -> None:
    workers = workers_of(server.process.pid)

    assert server.stop() == 0
    assert not any(is_alive(worker) for worker in workers)
    assert list(server.data.glob("metrics/*")) == []


async def test_an_agent_is_answered_by_whichever_worker_it_meets(calm: Server, client_of: Callable[..., Any]) -> None:
    limits = httpx.Limits(max_keepalive_connections=0)
    with httpx.Client(base_url=calm.url, limits=limits, timeout=300) as client:
        for mode in ("legacy", "2026-07-28"):
            async with client_of(client, calm.key, mode) as agent:
                for number in range(10):
                    edits = {"source": "s", "name": mode, "edits": {"title": str(number)}}
                    written = await agent.call_tool("draft", edits)
                    read = await agent.call_tool("draft", {"source": "s", "name": mode})

                    assert not written.is_error
                    assert read.content == written.content
