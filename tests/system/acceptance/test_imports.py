"""Imports by real processes: killed and run again, into a server by its address, and large ones in little memory."""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance.processes import PATIENCE_S, holders_of, wait_until
from acceptance.servers import Server, command

pytestmark = pytest.mark.slow

ROWS = 200_000
PIECES = 60_000
MAX_RSS_MIB = 300
"""What an import of any size may take: the interpreter with its parts is about 120 MiB of it."""


def write_rows(path: Path, rows: int) -> Path:
    """Write films and ratings as tables: rows of a thousand people on 2,000 films."""
    path.mkdir()
    chance = random.Random(7)
    with (path / "movies.csv").open("w") as file:
        file.write("id,title,genres\n")
        file.writelines(f"{n},Film {n} ({1950 + n % 70}),G{n % 20}|G{n % 7}\n" for n in range(2_000))
    with (path / "ratings.csv").open("w") as file:
        file.write("user,item,rating,timestamp\n")
        now = int(time.time())
        file.writelines(
            f"{1 + n % 1_000},{chance.randrange(2_000)},{chance.randrange(1, 11) / 2},{now - rows + n}\n"
            for n in range(rows)
        )
    return path


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "penchant", "import", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )


@pytest.mark.stress
def test_an_import_that_was_killed_goes_on_where_it_was_and_stores_nothing_twice(tmp_path: Path) -> None:
    files = write_rows(tmp_path / "files", 40_000)
    words = ("--data", str(tmp_path / "data"), "--from", "csv", "--source", "s", str(files), "--json")
    killed = start(*words)
    checkpoints = tmp_path / "data" / "imports"
    deadline = time.monotonic() + PATIENCE_S
    while killed.poll() is None and time.monotonic() < deadline and not list(checkpoints.glob("*.json")):
        time.sleep(0.02)
    time.sleep(0.3)
    killed.kill()
    killed.communicate(timeout=120)
    assert killed.returncode < 0, "it was done before it could be killed"

    again = command("import", *words)

    assert again.returncode == 0, again.stderr
    report = json.loads(again.stdout)
    assert report["resumedAtRow"] >= 2_000
    assert f"goes on after {report['resumedAtRow']} rows" in again.stderr
    assert (report["pieces"], report["interactions"], report["rows"]) == (2_000, 40_000, 42_000)
    exported = command("export", "--data", str(tmp_path / "data"), "--source", "s", "--with", "interactions")
    lines = exported.stdout.splitlines()
    assert len(lines) == len(set(lines)) == 42_000
    assert not list(checkpoints.glob("*.json"))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path / "served")
    yield running
    running.kill()


def test_a_server_is_imported_into_by_its_address_and_a_key_from_a_file_or_the_environment(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, key_file = tmp_path / "all.ndjson", tmp_path / "key"
    file.write_text(
        '{"id":"a b/c","categories":{"g":["x"]}}\n'
        '{"userId":"u","type":"Watch","contentId":"a b/c","timestamp":"2026-11-01T00:00:00Z"}\n'
        '{"whitelist":["a b/c"]}\n{"settings":{"halfLifeDays":7}}\n'
    )
    key_file.write_text(server.key + "\n")
    words = ("import", str(file), "--source", "a b", "--url", server.url, "--state", str(tmp_path / "state.json"))

    first = command(*words, "--key-file", str(key_file), "--json")
    monkeypatch.setenv("PENCHANT_KEY", server.key)
    second = command(*words, "--json")
    monkeypatch.delenv("PENCHANT_KEY")
    without = command(*words)

    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert [json.loads(done.stdout)["created"] for done in (first, second)] == [1, 0]
    assert json.loads(second.stdout)["duplicates"] == 1
    assert without.returncode == 1
    assert "PENCHANT_KEY" in without.stderr
    assert server.client.get("/a%20b/whitelist").json() == ["a b/c"]
    assert server.client.get("/a%20b/settings").json()["halfLifeDays"] == 7


def test_what_a_server_does_not_take_is_told(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "all.ndjson"
    file.write_text('{"id":"a","categories":{}}\n')
    monkeypatch.setenv("PENCHANT_KEY", "pk_wrong_wrong")

    monkeypatch.chdir(tmp_path)
    refused = command("import", str(file), "--source", "s", "--url", server.url)

    assert refused.returncode == 1
    assert "The server answered 401" in refused.stderr
    assert "pk_wrong" not in refused.stderr


def high_water_mib(process: int) -> float:
    """Return the most memory that a process has had; what it was forked from counts in its resource usage."""
    with contextlib.suppress(OSError):
        status = Path(f"/proc/{process}/status").read_text()
        return sum(int(kib) for kib in re.findall(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)) / 1024
    return 0.0


@pytest.mark.stress
def test_a_large_import_takes_no_more_memory_than_a_batch(tmp_path: Path) -> None:
    files = write_rows(tmp_path / "files", ROWS)
    words = ("--data", str(tmp_path / "data"), "--from", "csv", "--source", "s", str(files), "--json")
    with start(*words) as process:
        assert process.stdout is not None
        most_mib = 0.0
        while process.poll() is None:
            most_mib = max(most_mib, high_water_mib(process.pid))
            time.sleep(0.05)
        report = json.load(process.stdout)

    print(  # noqa: T201  # the figure is what it is for
        f"{report['rows']} rows in {report['seconds']} s, {report['rows'] / report['seconds']:.0f} rows/s, "
        f"{most_mib:.0f} MiB at most"
    )

    assert process.returncode == 0
    assert report["rows"] == ROWS + 2_000
    assert 0 < most_mib < MAX_RSS_MIB


def write_pieces(path: Path, numbers: range, keyword: str) -> Path:
    """Write pieces that have one keyword alone, and one together."""
    with path.open("w") as file:
        for number in numbers:
            piece = {"id": f"p{number}", "categories": {"genre": [f"g{number}", keyword]}}
            file.write(json.dumps(piece) + "\n")
    return path


@pytest.mark.stress
def test_lists_are_answered_right_after_a_large_import_and_while_another_runs(server: Server, tmp_path: Path) -> None:
    def status_of(piece: str) -> int:
        return server.client.get(f"/s/content/{piece}/similar").status_code

    words = ("--data", str(server.data), "--source", "s")
    last = f"p{PIECES - 1}"
    # With the first source comes the builder.
    assert server.client.post("/another/content", json=[{"id": "a", "categories": {}}]).status_code == 202
    wait_until(lambda: holders_of(server.data / "builder.lock") != [])
    (builder,) = holders_of(server.data / "builder.lock")
    # So that no file of the index helps.
    os.kill(builder, signal.SIGSTOP)
    try:
        first = command("import", *words, str(write_pieces(tmp_path / "first.ndjson", range(PIECES), "old")))
        assert (first.returncode, status_of(last)) == (0, 200), first.stderr

        second = write_pieces(tmp_path / "second.ndjson", range(PIECES - 10_000, PIECES), "new")
        with start(*words, str(second)) as process:
            while process.poll() is None:
                assert status_of(last) == 200
        near = server.client.get(f"/s/content/{last}/similar", params={"take": 30}).json()["content"]
        assert (process.returncode, len(near)) == (0, 30)
        assert min(int(each["id"][1:]) for each in near) >= PIECES - 10_000
    finally:
        os.kill(builder, signal.SIGCONT)
