"""Backup, restore and move with a real server on either side."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from acceptance.servers import Server, command
from databases import new_database

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "operations.md"
PIECES = 6_000
"""Enough for a segment file."""
INTERACTIONS = 120


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pieces, lists and interactions, of a server that has ended."""
    folder = tmp_path_factory.mktemp("filled") / "data"
    with Server(folder) as running:
        pieces = [
            {
                "id": f"p{n:04}",
                "categories": {"tag": [f"w{n % 7}", f"x{n % 31}", {"key": f"y{n % 61}", "weight": n % 9}]},
            }
            for n in range(PIECES)
        ]
        for begin in range(0, PIECES, 2_000):
            assert running.client.post("/s/content", json=pieces[begin : begin + 2_000]).status_code == 202
        done = [
            {"userId": f"u{n % 5}", "type": kind, "contentId": f"p{n * 37 % PIECES:04}", "eventId": str(n)}
            for n, kind in enumerate(["Watch", "RateLike", "Click", "RateDislike"] * (INTERACTIONS // 4))
        ]
        recorded = running.client.post("/s/interactions", json=done)
        assert recorded.status_code == 200
        assert recorded.headers["x-penchant-interactions-version"] == str(INTERACTIONS)
        assert running.client.put("/s/blacklist", json=["p0007", "p0100"]).status_code == 200
        assert running.client.delete("/s/content", params={"id": "p0008"}).status_code == 202
    return folder


@pytest.fixture
def server(filled: Path, tmp_path: Path) -> Iterator[Server]:
    """A server on a copy of that folder."""
    with Server(Path(shutil.copytree(filled, tmp_path / "data"))) as running:
        yield running


def answers(client: httpx.Client, key: str) -> dict[str, bytes]:
    """Return what a server answers to every kind of question, as bytes."""
    paths = ["/s", "/s/ids", "/s/content?limit=50", "/s/content/p0001", "/s/blacklist", "/s/settings"]
    paths += [f"/s/content/p{n:04}/similar" for n in range(0, PIECES, 1_500)]
    paths += [
        f"/s/users/u{n}/{what}"
        for n in range(6)
        for what in ("recommendation", "recommendation?algo=cosine", "recommendation/profile", "interactions?limit=100")
    ]
    # Recommendations wait until what people like counts all that the fixture has recorded.
    headers = {"x-api-key": key, "x-penchant-min-audience-version": str(INTERACTIONS)}
    found = {path: client.get(path, headers=headers) for path in paths}
    assert {answer.status_code for answer in found.values()} == {200}
    return {path: answer.content for path, answer in found.items()}


def test_a_folder_that_is_served_moves_to_postgresql_and_back(server: Server, tmp_path: Path, postgresql: str) -> None:
    data, address, back = ("--data", str(server.data)), new_database(postgresql), tmp_path / "back"
    first = command("move", *data, "--to", address)
    assert first.returncode == 1
    assert "still runs" in first.stderr
    refused = command("keys", "list", "--data", str(tmp_path / "other"), "--database", address)
    assert refused.returncode == 1
    assert "not finished" in refused.stderr
    assert server.client.post("/s/content", json=[{"id": "late", "categories": {"tag": ["w1"]}}]).status_code == 202
    before = answers(server.client, server.key)
    assert server.stop() == 0

    moved = command("move", *data, "--to", address)
    assert moved.returncode == 0, moved.stderr
    assert moved.stderr == "default/s: copied\n"
    assert re.search(r"^  pieces +6001 [0-9a-f]{32}$", moved.stdout, re.MULTILINE)
    assert command("check", "--data", str(tmp_path / "other"), "--database", address).returncode == 0
    on_postgresql = Server(server.data, database=address)
    assert answers(on_postgresql.client, server.key) == before
    assert on_postgresql.stop() == 0

    assert command("move", *data, "--database", address, "--to", str(back)).returncode == 0
    assert command("move", *data, "--database", address, "--to", str(back), "--compare").returncode == 0
    again = Server(back)
    assert answers(again.client, server.key) == before
    again.client.delete("/s/users/u1")
    assert again.stop() == 0
    compared = command("move", *data, "--database", address, "--to", str(back), "--compare")
    assert compared.returncode == 1
    assert "differs" in compared.stdout


def test_a_backup_of_a_server_that_runs_is_restored(server: Server, tmp_path: Path) -> None:
    data, file = ("--data", str(server.data)), str(tmp_path / "backup")
    taken = command("backup", *data, file)
    assert taken.returncode == 0, taken.stderr
    assert "default/s: 5999 pieces, 120 interactions" in taken.stdout
    before = answers(server.client, server.key)
    tag = server.client.get("/s/ids").headers["etag"]
    assert command("backup", *data, file).returncode == 1
    server.client.delete("/s", params={"confirm": "s"})
    refused = command("restore", *data, "--force", file)
    assert refused.returncode == 1
    assert "A server runs" in refused.stderr
    assert server.stop() == 0

    assert command("restore", *data, file).returncode == 1
    restored = command("restore", *data, "--force", file)
    assert restored.returncode == 0, restored.stderr
    assert "default/s: 5999 pieces, 120 interactions" in restored.stdout
    again = Server(server.data)
    assert answers(again.client, server.key) == before
    fetched = again.client.get("/s/ids", headers={"x-api-key": server.key, "if-none-match": tag})
    assert fetched.status_code == 200
    assert again.stop() == 0
    assert command("check", *data).stdout == "All is well.\n"


def test_a_server_that_was_killed_does_not_hold_up_a_restore(server: Server, tmp_path: Path) -> None:
    file = str(tmp_path / "backup")
    assert command("backup", "--data", str(server.data), file).returncode == 0
    server.kill()

    for _ in range(20):
        # Its workers end by themselves when it is gone.
        restored = command("restore", "--data", str(server.data), "--force", file)
        if restored.returncode == 0:
            break
    assert restored.returncode == 0, restored.stderr


def test_postgresql_is_left_to_its_own_tools(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name, tool in (("backup", "pg_dump"), ("restore", "pg_restore")):
        words = (name, "--data", str(tmp_path), "--database", "postgresql://localhost/x", str(tmp_path / "file"))
        refused = command(*words)

        assert refused.returncode == 1
        assert tool in refused.stderr
        assert "docs/how-to/operations.md" in refused.stderr
        assert PAGE.exists()


def test_after_the_statement_of_the_page_postgresql_has_another_history(
    server: Server, tmp_path: Path, postgresql: str
) -> None:
    import psycopg  # noqa: PLC0415  # only where a server could be started

    address = new_database(postgresql)
    server.stop()
    assert command("move", "--data", str(server.data), "--to", address).returncode == 0
    running = Server(tmp_path / "other", database=address)
    tag = running.client.get("/s/ids").headers["etag"]
    running.stop()

    (statement,) = re.findall(r"```sql[^\n]*\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    with psycopg.connect(address, autocommit=True) as connection:
        assert connection.execute(statement).rowcount == 1

    again = Server(tmp_path / "other", database=address)
    fetched = again.client.get("/s/ids", headers={"if-none-match": tag})
    assert fetched.status_code == 200
    assert json.loads(fetched.content)["count"] == PIECES - 1
    again.stop()
