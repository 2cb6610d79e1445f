"""What only PostgreSQL has: connections that are limited, cut, and made again with pauses."""

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penchant.errors import StorageUnavailable
from penchant.model import EncodedPiece
from penchant.storage import Pooling, Storage, SubmitPieces, open_storage
from penchant.storage.postgresql import FIRST_PAUSE_S, LONGEST_PAUSE_S, Attempts
from storage.conftest import new_database

CUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE pid <> pg_backend_pid() AND datname = current_database()"
)


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def address(postgresql: str) -> str:
    return new_database(postgresql)


@pytest.fixture
def storage(address: str, tmp_path: Path) -> Iterator[Storage]:
    opened = open_storage(folder=tmp_path, database_url=address, pooling=Pooling(connections=2, timeout_s=0.5))
    yield opened
    opened.close()


def failing() -> str:
    raise OSError("refused")


def test_after_a_failure_others_are_turned_away_until_the_pause_is_over() -> None:
    clock = Clock()
    attempts = Attempts(5.0, monotonic=clock)
    with pytest.raises(OSError, match="refused"):
        attempts.make(failing)

    with pytest.raises(StorageUnavailable):
        attempts.make(lambda: "too early")
    clock.now += FIRST_PAUSE_S
    assert attempts.make(lambda: "connected") == "connected"
    assert attempts.make(lambda: "at once") == "at once"


def test_pauses_double_up_to_the_longest() -> None:
    clock = Clock()
    attempts = Attempts(5.0, monotonic=clock)
    pauses: list[float] = []
    with pytest.raises(OSError, match="refused"):
        attempts.make(failing)
    failed_at = clock.now
    while len(pauses) < 10:
        clock.now += 0.05
        with contextlib.suppress(StorageUnavailable):
            try:
                attempts.make(failing)
            except OSError:
                pauses.append(clock.now - failed_at)
                failed_at = clock.now

    assert pauses[:4] == pytest.approx([0.1, 0.2, 0.4, 0.8], abs=0.06)
    assert pauses[-1] == pytest.approx(LONGEST_PAUSE_S, abs=0.1)


def test_one_attempt_at_a_time_while_they_fail() -> None:
    clock = Clock()
    attempts = Attempts(5.0, monotonic=clock)
    with pytest.raises(OSError, match="refused"):
        attempts.make(failing)
    clock.now += 1
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> str:
        begun.set()
        go_on.wait(10)
        return "connected"

    made: list[str] = []
    trying = threading.Thread(target=lambda: made.append(attempts.make(slow)))
    trying.start()
    begun.wait(10)
    with pytest.raises(StorageUnavailable):
        attempts.make(lambda: "meanwhile")
    go_on.set()
    trying.join()

    assert made == ["connected"]


def test_who_finds_no_free_connection_is_told_so_in_time(storage: Storage) -> None:
    account = storage.account_id("one")
    engine = storage._database.writing_engine
    with engine.connect(), engine.connect():
        started = time.monotonic()
        with pytest.raises(StorageUnavailable):
            storage.head(account, "s")
        assert time.monotonic() - started < 5

    assert storage.head(account, "s") is None


def test_a_connection_that_was_cut_is_made_again_by_the_read_that_finds_out(
    storage: Storage, address: str, tmp_path: Path
) -> None:
    account = storage.account_id("one")
    assert storage.head(account, "s") is None
    other = open_storage(folder=tmp_path, database_url=address)
    with other._database.reading_engine.connect() as connection:
        connection.exec_driver_sql(CUT)
    other.close()

    assert storage.head(account, "s") is None


def test_sessions_have_time_limits(storage: Storage) -> None:
    with storage._database.reading_engine.connect() as connection:
        limits = {
            name: connection.exec_driver_sql(f"SHOW {name}").scalar_one()
            for name in ("statement_timeout", "idle_in_transaction_session_timeout")
        }

    assert limits == {"statement_timeout": "2min", "idle_in_transaction_session_timeout": "3min"}


def test_another_history_begins_a_new_epoch_of_every_source(address: str, tmp_path: Path) -> None:
    first = open_storage(folder=tmp_path, database_url=address)
    account = first.account_id("one")
    for name in ("a", "b"):
        pieces = [EncodedPiece(id="p", body=b'{"id":"p","categories":{}}')]
        first.submit(SubmitPieces(account_id=account, source=name, pieces=pieces)).result(10)
    before = [first.head(account, name) for name in ("a", "b")]
    first.close()
    again = open_storage(folder=tmp_path, database_url=address)
    assert [again.head(account, name) for name in ("a", "b")] == before
    with again._database.writing_engine.begin() as connection:
        connection.exec_driver_sql("UPDATE lineage SET name = 'another'")
    again.close()

    nodes = [open_storage(folder=tmp_path, database_url=address) for _ in range(2)]
    after = [[node.head(account, name) for name in ("a", "b")] for node in nodes]

    assert after[0] == after[1]
    for old, new in zip(before, after[0], strict=True):
        assert old is not None
        assert new is not None
        assert new.epoch > old.epoch
        assert new == old._replace(epoch=new.epoch)
    for node in nodes:
        node.close()
