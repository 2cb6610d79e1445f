"""Counts of windows that processes share: never more than the limit, whoever dies; and wrong keys by address."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clocks import SetClock
from penchant.errors import StorageUnavailable
from penchant.service.rates import (
    BUCKET_SLOTS,
    BUCKETS,
    FAILURES_WINDOW_S,
    FREE_FAILURES,
    MAX_ADDRESSES,
    CountingTable,
    FailedKeys,
    SharedRates,
)

NOW = 1_000.2
HITTER = """
import pathlib, sys
from penchant.service.rates import SharedRates
rates = SharedRates(pathlib.Path(sys.argv[1]), monotonic=lambda: 1000.2)
print("ready", flush=True)
sys.stdin.readline()
print(sum(rates.count("key") <= 2000 for _ in range(1500)))
"""
HOLDER = """
import os, pathlib, signal, sys
from penchant.service.rates import CountingTable
with CountingTable(pathlib.Path(sys.argv[1]), members=3):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rates.map"


@pytest.fixture
def clock() -> SetClock:
    return SetClock(NOW)


@pytest.fixture
def rates(path: Path, clock: SetClock) -> Iterator[SharedRates]:
    opened = SharedRates(path, monotonic=clock)
    yield opened
    opened.close()


def test_a_key_is_counted_through_any_opening_of_the_file(rates: SharedRates, path: Path, clock: SetClock) -> None:
    other = SharedRates(path, monotonic=clock)

    assert [rates.count("a"), other.count("a"), rates.count("a"), other.count("b")] == [1, 2, 3, 1]
    other.close()


def test_a_window_ends_with_its_second(rates: SharedRates, clock: SetClock) -> None:
    rates.count("a")
    clock.now = 1_000.999
    assert rates.count("a") == 2
    clock.now = 1_001.0

    assert rates.count("a") == 1


def test_counts_of_before_the_machine_s_start_are_forgotten(rates: SharedRates, clock: SetClock) -> None:
    rates.count("a")
    clock.now = 5.0

    assert rates.count("a") == 1


def test_keys_past_the_room_of_their_bucket_get_less_but_never_more(
    rates: SharedRates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penchant.service.rates._number", lambda key: int(key) * BUCKETS + 7)

    first = [rates.count(str(key)) for key in range(1, BUCKET_SLOTS + 1)]
    crowded = rates.count(str(BUCKET_SLOTS + 1))

    assert (first, crowded) == ([1] * BUCKET_SLOTS, 2)


@pytest.mark.slow
def test_processes_together_let_exactly_the_limit_through(path: Path) -> None:
    words = [sys.executable, "-c", HITTER, str(path)]
    hitters = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) for _ in range(3)
    ]
    for hitter in hitters:
        assert hitter.stdout is not None
        assert hitter.stdout.readline() == "ready\n"

    with ThreadPoolExecutor() as threads:
        passed = [int(each[0]) for each in threads.map(lambda hitter: hitter.communicate("\n"), hitters)]

    assert sum(passed) == 2_000


@pytest.mark.slow
def test_a_process_that_is_killed_inside_leaves_the_lock_free(path: Path, rates: SharedRates) -> None:
    assert subprocess.run([sys.executable, "-c", HOLDER, str(path)], check=False).returncode == -9

    assert rates.count("a") == 1


def test_the_file_has_its_whole_size_on_disk_from_the_start(path: Path) -> None:
    CountingTable(path, members=3).close()

    assert path.stat().st_size == BUCKETS * BUCKET_SLOTS * 3 * 8
    assert path.stat().st_blocks * 512 >= path.stat().st_size


def test_a_file_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StorageUnavailable, match="cannot be written"):
        CountingTable(tmp_path / "no" / "file", members=3)


def test_the_lock_is_held_only_inside(path: Path) -> None:
    table = CountingTable(path, members=3)
    descriptor = os.open(path, os.O_RDWR)

    with table, pytest.raises(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(descriptor)
    table.close()


def test_an_address_waits_after_its_free_failures_until_the_window_ends() -> None:
    clock = SetClock()
    failed = FailedKeys(monotonic=clock)

    assert [failed.count("a") for _ in range(FREE_FAILURES + 2)] == [False] * FREE_FAILURES + [True, True]
    assert not failed.count("b")
    clock.now = FAILURES_WINDOW_S + 1
    assert not failed.count("a")


def test_the_number_of_addresses_is_bounded() -> None:
    failed = FailedKeys(monotonic=SetClock())
    for number in range(3 * MAX_ADDRESSES):
        failed.count(str(number))

    assert len(failed._failures) <= MAX_ADDRESSES


async def test_a_refusal_that_waits_comes_in_the_end() -> None:
    failed = FailedKeys(monotonic=SetClock(), delay_s=0.001)

    for _ in range(FREE_FAILURES + 5):
        await failed.slow_down("a")
    assert failed._waiting == 0
