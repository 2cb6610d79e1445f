"""Whoever is erased is in no file soon after the last read that began before, whatever ends meanwhile."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acceptance.processes import wait_until
from acceptance.servers import Server

PERSON = "the person who is erased"
READER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN")
connection.execute("SELECT count(*) FROM interactions").fetchall()
print("reading", flush=True)
sys.stdin.read()
"""


@contextmanager
def reader_beside(data: Path) -> Iterator[None]:
    """Hold a read transaction as a program does that copies the file; in a process of its own, since locks are."""
    words = [sys.executable, "-c", READER, str(data / "penchant.db")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"reading\n"
        yield
        # The end of its input ends it.


def is_in_a_file(data: Path) -> bool:
    return any(PERSON.encode() in path.read_bytes() for path in data.glob("penchant.db*"))


def record(server: Server) -> None:
    server.client.post("/s/content", json=[{"id": "p", "categories": {}}]).raise_for_status()
    watched = [{"userId": PERSON, "type": "Watch", "contentId": "p"}]
    server.client.post("/s/interactions", json=watched).raise_for_status()


def erase(server: Server) -> None:
    assert server.client.delete(f"/s/users/{PERSON}").status_code == 202


def kept_bytes(server: Server) -> float:
    return server.metric("penchant_erased_log_bytes")


@pytest.mark.parametrize("workers", (1, 2))
def test_who_is_erased_is_soon_in_no_file(tmp_path: Path, workers: int) -> None:
    with Server(tmp_path / "data", "--workers", str(workers)) as server:
        record(server)
        erase(server)

        wait_until(lambda: not is_in_a_file(server.data))
        wait_until(lambda: kept_bytes(server) == 0)


def test_what_another_program_s_reading_keeps_goes_when_it_ends_after_a_kill_too(tmp_path: Path) -> None:
    with Server(tmp_path / "data", "--workers", "2") as server:
        record(server)
        with reader_beside(server.data):
            erase(server)
            wait_until(lambda: kept_bytes(server) > 0)
            assert is_in_a_file(server.data)
            server.kill()
            with Server(server.data, "--workers", "2") as again:
                wait_until(lambda: kept_bytes(again) > 0)
                assert is_in_a_file(server.data)
        with Server(server.data) as again:
            wait_until(lambda: kept_bytes(again) == 0)
            assert not is_in_a_file(server.data)
