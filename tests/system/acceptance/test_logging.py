"""What a running service logs: to be read by people or programs, and nothing of those who use it."""

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from acceptance.processes import wait_until, workers_of
from acceptance.servers import Server, free_port

pytestmark = pytest.mark.slow

PERSON = "very-secret-person"
EVENT = "very-secret-event"
FULL = Path("/dev/full")
_FIELD = re.compile(r"""(\w+)=("(?:[^"\\]|\\.)*"|\S+)""")


@pytest.fixture(params=("text", "json"))
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path / "data", settings=f'log-format = "{request.param}"\nlog-requests = true\n') as running:
        running.client.post("/s/content", json=[{"id": "a", "categories": {}}])
        yield running


def lines_of(server: Server) -> list[dict[str, Any]]:
    """Return the lines of the log, read as its format says."""
    lines = server.log().splitlines()
    if lines[0].startswith("{"):
        return [json.loads(line) for line in lines]
    found = (re.fullmatch(rf"\S+Z [A-Z]+ (.*?)((?: {_FIELD.pattern})*)", line) for line in lines)
    return [{"message": line[1]} | dict(_FIELD.findall(line[2])) for line in found if line]


def spoil(server: Server, table: str) -> None:
    """Take a table away, so that what needs it fails inside."""
    with closing(sqlite3.connect(server.data / "penchant.db")) as connection:
        connection.execute(f"ALTER TABLE {table} RENAME TO taken_away")


def test_lines_of_a_request_have_its_id_whoever_asks_meanwhile(server: Server) -> None:
    def ask(name: str) -> None:
        with httpx.Client(base_url=server.url, headers={"x-api-key": server.key}) as client:
            for number in range(20):
                client.get(f"/s/users/{name}/interactions", headers={"x-request-id": f"{name}-{number}"})

    askers = [threading.Thread(target=ask, args=(f"asker{number}",)) for number in range(4)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()

    # A line is written after its answer was sent.
    assert server.stop() == 0
    asked = {f"asker{name}-{number}" for name in range(4) for number in range(20)}
    answered = [line for line in lines_of(server) if line["message"] == "request" and line["request_id"] in asked]
    assert sorted(line["request_id"] for line in answered) == sorted(asked)
    assert {line["route"] for line in answered} == {"/{source}/users/{userID}/interactions"}


def test_nothing_of_a_person_or_key_is_logged_even_when_it_fails(server: Server) -> None:
    recorded = f"/s/users/{PERSON}/interactions/Watch/content/a?event-id={EVENT}"
    assert server.client.post(recorded).status_code == 200
    spoil(server, "interactions")

    listed = server.client.get(f"/s/users/{PERSON}/interactions", headers={"x-request-id": "mine"})
    failed = server.client.post(recorded.replace(EVENT, "other-secret"))

    assert (failed.status_code, listed.status_code) == (503, 503)
    assert server.stop() == 0
    (told,) = [line for line in lines_of(server) if line["message"].startswith("the database")]
    assert told["request_id"] == "mine"
    assert "no such table: interactions" in server.log()
    for secret in (PERSON, EVENT, "other-secret", server.key, server.key.split("_")[2]):
        assert secret not in server.log()


def test_every_line_of_json_has_the_same_beginning(server: Server) -> None:
    server.client.get("/s/ids")
    spoil(server, "interactions")
    server.client.post(f"/s/users/{PERSON}/interactions/Watch/content/a")
    assert server.stop() == 0

    log = server.log().splitlines()
    if not log[0].startswith("{"):
        assert re.fullmatch(
            r"penchant listens on http://\S+ \(version \S+; (SQLite|PostgreSQL).*; sources: \d; workers: \d\)", log[0]
        )
        assert log[-1] == "penchant has ended: all that it acknowledged is stored"
        return
    first = json.loads(log[0])
    assert set(first) >= {"address", "version", "database", "sources", "workers"}
    for line in map(json.loads, log):
        assert list(line)[:4] == ["time", "level", "message", "request_id"]
    assert {line["request_id"] is None for line in map(json.loads, log)} == {True, False}


@pytest.mark.skipif(not FULL.exists(), reason="no file that is always full")
def test_a_full_disk_that_takes_no_log_ends_no_service(tmp_path: Path) -> None:
    port = free_port()
    words = [sys.executable, "-m", "penchant", "serve", "--data", str(tmp_path / "data"), "--port", str(port)]

    def answers() -> bool:
        assert service.poll() is None
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"http://127.0.0.1:{port}/-/health/ready", timeout=300).status_code == 200
        return False

    with FULL.open("wb") as log, subprocess.Popen(words, stdout=log, stderr=log) as service:
        try:
            wait_until(answers)
            (worker,) = workers_of(service.pid)
            service.send_signal(signal.SIGHUP)
            os.kill(worker, signal.SIGKILL)
            wait_until(lambda: worker not in workers_of(service.pid) and answers())
        finally:
            service.terminate()
            code = service.wait(60)

    assert code == 0
