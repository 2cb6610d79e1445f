"""One winner at a time, and another one once it is gone."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penchant.live.election import Election

HOLDER = """
import pathlib, sys, time
from penchant.live.election import Election
election = Election(pathlib.Path(sys.argv[1]))
print(election.try_win(), flush=True)
time.sleep(60)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


@pytest.fixture
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has won."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        yield process
        process.kill()


def test_one_candidate_wins_and_stays_the_winner_until_it_has_closed(path: Path) -> None:
    first, second = Election(path), Election(path)
    assert not first.is_won_by_anyone()

    assert [first.try_win(), second.try_win(), first.try_win()] == [True, False, True]
    assert (first.is_won_by_anyone(), second.is_won_by_anyone()) == (True, True)
    first.close()
    assert not second.is_won_by_anyone()
    assert (second.try_win(), first.try_win()) == (True, False)
    second.close()
    second.close()


def test_a_killed_winner_is_one_no_more(path: Path, holder: subprocess.Popen[str]) -> None:
    election = Election(path)
    assert not election.try_win()
    assert election.is_won_by_anyone()

    holder.kill()
    holder.wait()

    assert election.try_win()
    election.close()


def test_the_lock_is_not_handed_to_children(path: Path) -> None:
    election = Election(path)
    election.try_win()

    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], close_fds=False) as child:
        time.sleep(0.2)
        election.close()
        assert not election.is_won_by_anyone()
        child.kill()


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Election(tmp_path / "no" / "lock").try_win()
