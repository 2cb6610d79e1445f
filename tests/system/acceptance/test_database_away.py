"""What is answered while the database is away, and that all is well again when it is back."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from acceptance.processes import wait_until
from acceptance.servers import WITHOUT_TLS, Server
from databases import started_postgresql
from penchant.storage.databases.outages import CALM_S

pytestmark = pytest.mark.stress


@pytest.fixture
def database() -> Iterator[Any]:
    """A PostgreSQL of this test's own, which it may stop."""
    with started_postgresql() as server:
        yield server


def test_reads_go_on_marked_and_changes_are_refused(database: Any, tmp_path: Path) -> None:
    server = Server(tmp_path / "data", database=database.get_uri())
    client = server.client
    pieces = [{"id": name, "categories": {"genre": ["x"]}} for name in ("a", "b")]
    assert client.post("/s/content", json=pieces).status_code == 202
    fresh = client.get("/s/content/a/similar")
    assert "x-penchant-stale" not in fresh.headers

    database.stop()

    stale = client.get("/s/content/a/similar")
    assert (stale.status_code, stale.content) == (200, fresh.content)
    assert stale.headers["x-penchant-stale"] == "true"
    for path in ("/s", "/s/whitelist", "/s/settings", "/s/content/unknown/similar"):
        answer = client.get(path)
        assert answer.status_code == (404 if "unknown" in path else 200)
        assert answer.headers["x-penchant-stale"] == "true"
    for answer in (
        client.get("/s/content/a/similar?min-version=1"),
        client.post("/s/content", json=pieces),
        client.get("/s/ids"),
        client.get("/-/health/ready"),
    ):
        assert answer.status_code == 503
        assert answer.json()["code"] == "storage-unavailable"
        assert int(answer.headers["retry-after"]) >= 1
        assert "x-penchant-stale" not in answer.headers
    assert client.get("/-/health/live").status_code == 200

    database.start()

    wait_until(lambda: client.get("/-/health/ready").status_code == 200)
    wait_until(lambda: client.post("/s/content", json=[{"id": "c", "categories": {"genre": ["x"]}}]).status_code == 202)
    back = client.get("/s/content/a/similar")
    assert [entry["id"] for entry in back.json()["content"]] == ["b", "c"]
    assert "x-penchant-stale" not in back.headers
    assert server.stop() == 0


def test_an_outage_is_a_few_lines_of_the_log_however_many_ask(database: Any, tmp_path: Path) -> None:
    server = Server(tmp_path / "data", "--workers", "2", database=database.get_uri())
    pieces = [{"id": "a", "categories": {}}]
    assert server.client.post("/s/content", json=pieces).status_code == 202
    before = len(server.log().splitlines())

    database.stop()

    ending = time.monotonic() + CALM_S
    while time.monotonic() < ending:
        # Over a connection of its own, so that each worker is asked.
        httpx.post(
            f"{server.url}/s/content", json=pieces, headers=server.client.headers, verify=WITHOUT_TLS, timeout=120
        )
        httpx.get(f"{server.url}/s", headers=server.client.headers, verify=WITHOUT_TLS, timeout=120)
    database.start()
    wait_until(lambda: server.client.get("/s").status_code == 200 and "the database is back" in server.log())
    lines = server.log().splitlines()[before:]
    assert sum("the database is away" in line for line in lines) == 1
    assert sum("the database is back" in line for line in lines) == 1
    assert sum(line.startswith("Traceback") for line in lines) == 1
    assert [line for line in lines if " WARNING " in line or " ERROR " in line] == [
        line for line in lines if "the database is" in line
    ]
    assert server.stop() == 0
