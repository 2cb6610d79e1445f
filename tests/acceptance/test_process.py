"""The stable surface: start, keys while it runs, stop, restart, kill."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from acceptance.processes import wait_until
from acceptance.servers import Server, command, free_port, new_key

pytestmark = pytest.mark.slow


def piece(name: str, *keywords: str) -> dict[str, object]:
    return {"id": name, "categories": {"genre": list(keywords)}}


def answers(server: Server) -> bool:
    """Return whether any process still answers at a server's port."""
    try:
        httpx.get(f"{server.url}/-/health/live", timeout=120)
    except httpx.TransportError:
        return False
    return True


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path / "not" / "there" / "yet")
    yield running
    if running.process.poll() is None:
        running.stop()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> None:
    (tmp_path / "not" / "there").mkdir(parents=True)


def test_it_makes_its_folder_and_stops_with_0_on_sigterm(server: Server) -> None:
    assert (server.data / "penchant.db").exists()
    assert server.client.post("/s/content", json=[piece("a")]).status_code == 202
    assert server.stop() == 0


def test_keys_are_made_listed_and_revoked_while_it_runs(server: Server) -> None:
    created = command("keys", "create", "--data", str(server.data), "--account", "other", "--plan", "basic")
    key = created.stdout.strip()
    assert created.stdout == key + "\n"
    assert key.startswith("pk_")
    assert server.client.post("/s/content", json=[], headers={"x-api-key": key}).status_code == 202

    key_id = key.split("_")[1]
    assert command("keys", "revoke", key_id, "--data", str(server.data)).returncode == 0
    time.sleep(1)
    assert server.client.get("/s/ids", headers={"x-api-key": key}).status_code == 401
    listed = command("keys", "list", "--json", "--data", str(server.data)).stdout.splitlines()
    states = {each["keyId"]: each["state"] for each in map(json.loads, listed)}
    assert states[key_id] == "revoked"
    assert key.split("_")[2] not in server.log()


def test_a_key_changes_its_plan_while_it_runs(server: Server) -> None:
    data = ("--data", str(server.data))
    key = command("keys", "create", *data).stdout.strip()
    headers = {"x-api-key": key}
    assert server.client.post("/s/content", json=[piece("a")]).status_code == 202
    assert server.client.get("/s/blacklist", headers=headers).status_code == 200

    changed = [command("keys", "plan", key.split("_")[1], "basic", *data) for _ in range(2)]
    time.sleep(1)

    assert [each.returncode for each in changed] == [0, 0]
    assert [", as it was" in each.stderr for each in changed] == [False, True]
    assert server.client.get("/s/blacklist", headers=headers).status_code == 403


def test_wrong_usage_and_failures_have_their_exit_codes(server: Server) -> None:
    assert command("keys", "create", "--data", str(server.data), "--plan", "no").returncode == 2
    assert command("keys", "revoke", "no", "--data", str(server.data)).returncode == 1
    assert command("keys", "plan", "no", "full", "--data", str(server.data)).returncode == 1
    assert command("keys", "plan", "no", "no", "--data", str(server.data)).returncode == 2
    taken = command("serve", "--data", str(server.data), "--port", str(server.port))
    assert taken.returncode == 1
    assert "--port" in taken.stderr


def test_a_restart_keeps_everything(server: Server) -> None:
    server.client.post("/s/content", json=[piece("a", "x"), piece("b", "x")])
    server.client.post("/s/users/u/interactions/Watch/content/a")
    before = server.client.get("/s/content/a/similar")
    server.stop()

    again = Server(server.data)
    after = again.client.get("/s/content/a/similar", headers={"x-api-key": server.key})
    assert (after.content, after.headers["etag"]) == (before.content, before.headers["etag"])
    assert len(again.client.get("/s/users/u/interactions").json()) == 1
    assert again.stop() == 0


def test_nothing_acknowledged_is_lost_when_it_is_killed(server: Server) -> None:
    acknowledged: list[str] = []

    def write(name: str) -> None:
        with httpx.Client(base_url=server.url, headers={"x-api-key": server.key}) as client:
            for number in range(100_000):
                try:
                    answer = client.post("/s/content", json=[piece(f"{name}-{number}")])
                except httpx.TransportError:
                    return
                if answer.status_code == 202:
                    acknowledged.append(f"{name}-{number}")

    writers = [threading.Thread(target=write, args=(str(number),)) for number in range(4)]
    for writer in writers:
        writer.start()
    # Bounded by the test's own timeout: a busy machine takes longer.
    while len(acknowledged) <= 50:
        time.sleep(0.1)
    time.sleep(1)
    server.kill()
    for writer in writers:
        writer.join()

    again = Server(server.data)
    stored = set(again.client.get("/s/ids").json()["content"])
    again.stop()
    assert set(acknowledged) <= stored
    assert command("check", "--data", str(server.data)).returncode == 0


def test_a_worker_ends_with_its_parent(server: Server) -> None:
    server.kill()

    wait_until(lambda: not answers(server))


def test_what_is_imported_is_exported_again(tmp_path: Path) -> None:
    source, back = tmp_path / "pieces.ndjson", tmp_path / "back.ndjson"
    data = ("--data", str(tmp_path / "data"))
    lines = [
        json.dumps(piece(f"p{n}", "x") | {"filters": {}, "extras": {"n": n}}, separators=(",", ":")) for n in range(5)
    ]
    source.write_text("".join(line + "\n" for line in lines))
    interactions = tmp_path / "interactions.ndjson"
    interactions.write_text('{"userId":"u","type":"Watch","contentId":"p1","timestamp":"2013-01-01T00:00:00Z"}\n')

    loaded = command(
        "import", *data, "--source", "s", "--pieces", str(source), "--interactions", str(interactions), "--shift-times"
    )
    assert loaded.returncode == 0, loaded.stderr
    assert "5 pieces" in loaded.stderr
    assert command("export", *data, "--source", "s", "--output", str(back)).returncode == 0
    assert back.read_bytes() == source.read_bytes()
    assert command("check", *data).stdout == "All is well.\n"
    source.write_text(lines[0] + "\n{\n")
    failed = command("import", *data, "--source", "s", "--pieces", str(source))
    assert failed.returncode == 1
    assert "line" in failed.stderr


def test_the_demo_loads_once_and_keeps_its_key(tmp_path: Path) -> None:
    words = ("demo", "--load-only", "--data", str(tmp_path / "data"), "--port", str(free_port()))
    first, second = command(*words), command(*words)

    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert "works: 365 pieces" in first.stderr
    assert second.stderr == ""
    assert (tmp_path / "data" / "demo-key.txt").stat().st_mode & 0o077 == 0
    assert '"account":"demo"' in command("keys", "list", "--json", "--data", str(tmp_path / "data")).stdout


def test_the_demo_stays_in_the_account_of_its_key_and_out_of_default_otherwise(tmp_path: Path) -> None:
    data = tmp_path / "data"
    key = new_key(data)
    (data / "demo-key.txt").write_text(f"{key}\n")
    before = command("demo", "--load-only", "--data", str(data))
    (data / "demo-key.txt").unlink()
    after = command("demo", "--load-only", "--data", str(data))

    assert key in before.stdout
    assert key not in after.stdout
    used = [json.loads(line) for line in command("usage", "--json", "--data", str(data)).stdout.splitlines()]
    assert {each["account"]: each["sources"] for each in used} == {"default": 2, "demo": 2}


def test_help_names_every_command() -> None:
    helped = subprocess.run([sys.executable, "-m", "penchant", "--help"], capture_output=True, text=True, check=True)

    names = ("serve", "demo", "keys", "import", "export", "backup", "restore", "move", "check", "usage", "audit")
    for name in names:
        assert f"  {name} " in helped.stdout
