"""The same service with the same answers on SQLite and on PostgreSQL."""

import gzip
import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from acceptance.servers import Server
from databases import new_database
from factories import piece

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def servers(postgresql: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    """The service on each database, with the demo's films."""
    folder = Path(str(files("penchant.demo"))) / "films"
    lines = gzip.decompress((folder / "pieces.ndjson.gz").read_bytes()).splitlines()
    data = tmp_path_factory.mktemp("databases")
    running = Server(data / "file"), Server(data / "server", database=new_database(postgresql))
    for server in running:
        for begin in range(0, len(lines), 2000):
            body = b"[" + b",".join(lines[begin : begin + 2000]) + b"]"
            headers = {"content-type": "application/json"}
            assert server.client.post("/films/content", content=body, headers=headers).status_code == 202
    yield running
    for server in running:
        assert server.stop() == 0


def test_answers_are_the_same_bytes_on_both(servers: tuple[Server, Server]) -> None:
    interactions = [
        {"userId": f"u{n % 7}", "type": kind, "contentId": f"{n * 37 % 4000:07}", "timestamp": "2026-11-01T00:00:00Z"}
        for n, kind in enumerate(["Watch", "RateLike", "Click", "RateDislike"] * 50)
    ]
    ids = json.loads(servers[0].client.get("/films/ids").content)["content"]
    for server in servers:
        known = [each | {"contentId": ids[n * 13 % len(ids)]} for n, each in enumerate(interactions)]
        recorded = server.client.post("/films/interactions", json=known)
        assert recorded.json() == {"accepted": 200, "duplicates": 0}
        server.client.put("/films/whitelist", json=ids[10:20])
        server.client.put("/films/blacklist", json=ids[20:30])
        server.client.delete("/films/content", params={"id": ids[5]})

    paths = ["/films/ids?skip=9&limit=99", "/films/whitelist", "/films/settings", f"/films/content/{ids[7]}"]
    paths += [f"/films/content/{piece_id}/similar?catalogs=new,family" for piece_id in ids[6:4000:400]]
    paths += [
        f"/films/users/u{n}/{what}"
        for n in range(8)
        for what in ("recommendation", "recommendation/profile", "interactions")
    ]
    # Recommendations wait until what people like counts all of it.
    headers = {"x-penchant-min-audience-version": recorded.headers["x-penchant-interactions-version"]}
    for path in paths:
        on_file, on_server = (server.client.get(path, headers=headers) for server in servers)
        assert on_file.status_code == 200
        assert on_file.content == on_server.content
        assert on_file.headers.get("x-penchant-version") == on_server.headers.get("x-penchant-version")


def test_two_nodes_on_one_database_see_each_other_s_changes_at_once(
    servers: tuple[Server, Server], tmp_path: Path
) -> None:
    first = servers[1]
    second = Server(tmp_path / "second", database=first.database)
    for number in range(20):
        writer, reader = (first, second) if number % 2 else (second, first)
        new = [piece(f"new-{number}", "x"), piece(f"like-{number}", "x")]
        assert writer.client.post("/s/content", json=new).status_code == 202
        assert reader.client.get(f"/s/content/new-{number}/similar").status_code == 200
    assert second.stop() == 0
