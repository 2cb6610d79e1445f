"""Litestream beside a service: what it had copied is there after both were killed."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acceptance.balancers import program
from acceptance.processes import wait_until
from acceptance.servers import Server, command
from acceptance.test_erasing import erase, is_in_a_file, kept_bytes, record

pytestmark = pytest.mark.stress


@contextmanager
def copying(server: Server) -> Iterator[None]:
    """Have Litestream copy a server's database, and kill it at the end."""
    words = [program("litestream"), "replicate", str(server.data / "penchant.db"), f"file://{server.data}-replica"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def submit(server: Server, first: int, count: int = 20) -> None:
    for number in range(first, first + count):
        assert server.client.post("/s/content", json=[{"id": f"p{number:03}", "categories": {}}]).status_code == 202


def restored(tmp_path: Path, name: str) -> list[str]:
    """Restore what Litestream has copied by its own command and ours; return the pieces that are there, in order."""
    copy, data = tmp_path / f"{name}.db", tmp_path / name
    asked = [program("litestream"), "restore", "-o", str(copy), f"file://{tmp_path / 'data-replica'}"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode or not copy.exists():
        return []
    taken = command("restore", "--data", str(data), str(copy))
    assert taken.returncode == 0, taken.stderr
    lines = command("export", "--data", str(data), "--source", "s")
    return [line.split('"')[3] for line in lines.stdout.splitlines()] if lines.returncode == 0 else []


def test_what_was_copied_is_there_after_service_and_litestream_were_killed(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        with copying(server):
            submit(server, 0)
            attempts = iter(range(1000))
            wait_until(lambda: len(restored(tmp_path, f"early{next(attempts)}")) == 20)
            submit(server, 20)
        server.kill()

    pieces = restored(tmp_path, "late")

    # The newest second may be missing, nothing older, and no piece before another one.
    assert pieces == [f"p{number:03}" for number in range(max(20, len(pieces)))]
    checked = command("check", "--data", str(tmp_path / "late"))
    assert checked.returncode == 0, checked.stdout
    with Server(tmp_path / "late") as server:
        submit(server, 100)
        assert server.client.get("/s").json()["pieces"] == len(pieces) + 20


def test_who_is_erased_beside_litestream_is_in_the_log_until_it_is_restarted(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        with copying(server):
            record(server)
            wait_until((tmp_path / "data-replica").exists)
            erase(server)
            wait_until(lambda: kept_bytes(server) > 0)
            assert is_in_a_file(server.data)

        wait_until(lambda: kept_bytes(server) == 0)
        assert not is_in_a_file(server.data)
        with copying(server):
            submit(server, 0)
            attempts = iter(range(1000))
            wait_until(lambda: len(restored(tmp_path, f"again{next(attempts)}")) == 21)
