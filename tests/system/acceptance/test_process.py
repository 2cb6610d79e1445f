"""The stable surface: start, keys while it runs, stop, restart, kill."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from acceptance.processes import wait_until
from acceptance.servers import Server, command, free_port, new_key
from factories import piece

pytestmark = pytest.mark.slow


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path / "not" / "there" / "yet") as running:
        yield running


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> None:
    (tmp_path / "not" / "there").mkdir(parents=True)


def test_it_makes_its_folder_and_stops_with_0_on_sigterm(server: Server) -> None:
    assert (server.data / "penchant.db").exists()
    assert server.client.post("/s/content", json=[piece("a")]).status_code == 202
    assert server.stop() == 0


def test_keys_are_made_changed_listed_and_revoked_while_it_runs(server: Server) -> None:
    data = ("--data", str(server.data))
    created = command("keys", "create", *data, "--account", "other")
    key = created.stdout.strip()
    key_id, headers = key.split("_")[1], {"x-api-key": key}
    assert created.stdout == key + "\n"
    assert key.startswith("pk_")
    assert server.client.post("/s/content", json=[piece("a")], headers=headers).status_code == 202
    assert server.client.get("/s/blacklist", headers=headers).status_code == 200

    changed = [command("keys", "plan", key_id, "basic", *data) for _ in range(2)]
    assert [(each.returncode, ", as it was" in each.stderr) for each in changed] == [(0, False), (0, True)]
    wait_until(lambda: server.client.get("/s/blacklist", headers=headers).status_code == 403)

    assert command("keys", "revoke", key_id, *data).returncode == 0
    wait_until(lambda: server.client.get("/s/ids", headers=headers).status_code == 401)
    listed = command("keys", "list", "--json", *data).stdout.splitlines()
    assert {each["keyId"]: each["state"] for each in map(json.loads, listed)}[key_id] == "revoked"
    assert key.split("_")[2] not in server.log()


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


def test_the_demo_stays_in_the_account_of_its_key_and_is_loaded_once_into_one_of_its_own_otherwise(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    key, key_file = new_key(data), data / "demo-key.txt"
    key_file.write_text(f"{key}\n")
    words = ("demo", "--load-only", "--data", str(data), "--port", str(free_port()))

    before = command(*words)
    key_file.unlink()
    first, second = command(*words), command(*words)

    assert first.returncode == 0, first.stderr
    assert "works: 365 pieces" in first.stderr
    assert (second.stdout, second.stderr) == (first.stdout, "")
    assert (key in before.stdout, key in first.stdout) == (True, False)
    assert key_file.stat().st_mode & 0o077 == 0
    used = [json.loads(line) for line in command("usage", "--json", "--data", str(data)).stdout.splitlines()]
    assert {each["account"]: each["sources"] for each in used} == {"default": 2, "demo": 2}
    assert '"account":"demo"' in command("keys", "list", "--json", "--data", str(data)).stdout
