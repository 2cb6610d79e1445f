"""A move that is killed goes on where it was."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress

import pytest

from penchant.errors import StorageIncompatible
from penchant.storage import (
    MoveSide,
)
from penchant.storage.databases.opening import open_database
from penchant.storage.upkeep.copying import standings
from storage.sides import Sides, everything, opened
from storage.test_bodies import bodies, submit


def words(*sides: MoveSide) -> list[str]:
    """Return the command line of a move."""
    old, new = sides
    database = [] if old.url is None else ["--database", old.url]
    target = new.url or str(new.folder)
    return [sys.executable, "-m", "penchant", "move", "--data", str(old.folder), *database, "--to", target]


def full_pipe() -> tuple[int, int]:
    """Return a pipe that takes nothing more: who writes a line into it stays where he is."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, b" " * 1024)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, b" ")
    os.set_blocking(writing, True)
    return reading, writing


def wait_for_a_source(side: MoveSide) -> None:
    """Wait until a source has been copied."""
    deadline = time.monotonic() + 60
    with closing(open_database(side.folder, side.url, moving=True)) as database:
        while not standings(database):
            assert time.monotonic() < deadline
            time.sleep(0.01)


@pytest.mark.slow
def test_a_move_that_is_killed_goes_on_where_it_was(sides: Sides) -> None:
    names = [f"s{number}" for number in range(5)]
    with closing(opened(sides[0])) as storage:
        account = storage.accounts.ensure("one")
        for name in names:
            submit(storage, account, bodies(1_500), source=name)
        before = everything(storage)
    reading, writing = full_pipe()
    moving = subprocess.Popen(words(*sides), stderr=writing, stdout=subprocess.DEVNULL)
    wait_for_a_source(sides[1])
    moving.kill()
    assert moving.wait(timeout=120) == -signal.SIGKILL
    os.close(reading)
    os.close(writing)
    with pytest.raises(StorageIncompatible, match="not finished"):
        opened(sides[1])

    again = subprocess.run(words(*sides), capture_output=True, text=True, timeout=100, check=False)

    assert again.returncode == 0, again.stderr
    assert "Moved" in again.stdout
    assert len(again.stderr.splitlines()) == len(names) - 1
    with closing(opened(sides[1])) as storage:
        assert everything(storage) == before
