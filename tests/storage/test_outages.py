"""Outages: told once, whoever meets them, and why."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from databases import opened_file
from faults.cluster import Cluster
from faults.test_disk import BALLAST, fill, mounted
from penchant.errors import ConnectionLost, NoRoom, StorageUnavailable
from penchant.model import EncodedPiece
from penchant.storage import Storage, SubmitPieces, open_storage
from penchant.storage.databases.connections import NO_ROOM_WARNING
from penchant.storage.databases.outages import CALM_S, RECENT_S, REPEATED_S, ROOM_BYTES, OutageKind, Outages

Lines = list[tuple[str, bool]]


class Clock:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        """Return the moment."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def lines(caplog: pytest.LogCaptureFixture) -> Lines:
    """Return what was logged, each with whether a traceback was."""
    return [(each.getMessage(), bool(each.exc_info)) for each in caplog.records if each.name == "penchant.outages"]


@pytest.mark.parametrize("processes", (1, 3))
def test_an_outage_is_told_when_it_begins_each_minute_and_when_it_ends(
    processes: int, tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """Each `Outages` opens the file by itself, as each process does."""
    told = [Outages("in x", tmp_path, monotonic=clock) for _ in range(processes)]
    for _ in range(150):
        for each in told:
            each.begin(OutageKind.AWAY, StorageUnavailable("why"), None)
        clock.now += 1
    for _ in range(10):
        for each in told:
            each.end_reading()
        clock.now += 1

    away = "the database is away"
    assert lines(caplog) == [(away, True), (away, False), (away, False), ("the database is back", False)]
    assert REPEATED_S == 60


def test_an_outage_ends_once_nothing_has_failed_for_some_seconds(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    outages = Outages("in x", monotonic=clock)
    for _ in range(4):
        outages.begin(OutageKind.REFUSING, StorageUnavailable("why"), None)
        outages.end_writing()
        clock.now += 1

    clock.now += CALM_S
    outages.end_reading()
    assert len(lines(caplog)) == 1
    outages.end_writing()

    assert [line for line, _ in lines(caplog)] == ["the database refuses requests", "the database takes changes again"]


def test_room_is_lacking_while_little_is_free_or_a_change_found_none_just_now(clock: Clock) -> None:
    outages = Outages("in x", monotonic=clock)
    assert [outages.lacks_room(free) for free in (None, ROOM_BYTES, ROOM_BYTES - 1)] == [False, False, True]

    outages.begin(OutageKind.NO_ROOM, StorageUnavailable("why"), None)

    assert outages.lacks_room(None)
    assert outages.lacks_room(ROOM_BYTES)
    clock.now += RECENT_S
    assert not outages.lacks_room(None)


def test_room_is_there_once_a_change_is_stored(clock: Clock) -> None:
    outages = Outages("in x", monotonic=clock)
    outages.begin(OutageKind.NO_ROOM, StorageUnavailable("why"), None)
    clock.now += 1

    outages.end_writing()

    assert not outages.lacks_room(None)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A folder on a small disk of its own."""
    with mounted(tmp_path / "small", "size=20m,mode=700"):
        yield tmp_path / "small"


def submit(storage: Storage) -> None:
    """Store two megabytes that are new."""
    command = SubmitPieces(
        account_id=storage.accounts.ensure("one"),
        source="s",
        pieces=[EncodedPiece(id=os.urandom(8).hex(), body=os.urandom(1_000)) for _ in range(2_000)],
    )
    storage.submit(command).result()


def test_a_full_disk_is_told_with_its_folder_and_warned_of_until_there_is_room(
    small: Path, caplog: pytest.LogCaptureFixture
) -> None:
    storage = opened_file(small / "data")
    submit(storage)
    assert storage.upkeep.ping() == []
    fill(small)

    with pytest.raises(NoRoom, match="no room") as refused:
        submit(storage)

    assert f"in {small}/data has no room" in refused.value.reason
    assert str(small) not in refused.value.detail
    assert storage.upkeep.ping() == [NO_ROOM_WARNING]
    assert [line for line, _ in lines(caplog)] == ["the database has no room"]
    (small / BALLAST).unlink()
    submit(storage)
    assert storage.upkeep.ping() == []
    storage.close()


def test_a_database_on_a_full_disk_says_so_when_it_is_opened(small: Path) -> None:
    (small / "data").mkdir()
    fill(small)

    with pytest.raises(NoRoom) as refused:
        open_storage(folder=small / "data")

    assert f"in {small}/data has no room" in refused.value.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "reason"),
    (
        ("postgresql://postgres:s3cret@127.0.0.1:1/db", "db on 127.0.0.1:1 cannot be reached: nobody listens there"),
        ("postgresql://u:s3cret@[::1]:1/a%25b", "a%b on [::1]:1 cannot be reached: nobody listens there"),
        ("postgresql://u:s3cret@nohost.invalid/db", "db on nohost.invalid cannot be reached: failed to resolve host"),
        ("postgresql://u:s3cret@/db?host=/no/where", "db on /no/where cannot be reached: No such file or directory"),
    ),
)
def test_a_server_that_is_not_there_is_named(tmp_path: Path, address: str, reason: str) -> None:
    with pytest.raises(ConnectionLost) as refused:
        open_storage(folder=tmp_path, database_url=address)

    assert reason in refused.value.reason
    assert "s3cret" not in repr(vars(refused.value))
    assert refused.value.detail == "The database cannot be reached or refused the request; try again in a moment."


@pytest.mark.slow
def test_a_missing_database_and_a_refused_password_are_named(tmp_path: Path, cluster: Cluster) -> None:
    """Parts of an address may have every character in its escaped form."""
    cluster.ask("CREATE ROLE kim SUPERUSER LOGIN PASSWORD 'a%b/c?d@e'")
    cluster.ask('CREATE DATABASE "x%y/z?"')
    (cluster.folder / "pg_hba.conf").write_text("local all postgres trust\nlocal all all scram-sha-256\n")
    cluster.wait_for("SELECT pg_reload_conf()", "t")

    def reason(password: str, name: str) -> str:
        address = f"postgresql://kim:{password}@/{name}?host={cluster.sockets}"
        try:
            open_storage(folder=tmp_path, database_url=address).close()
        except StorageUnavailable as error:
            return error.reason
        return "opened"

    right, named = "a%25b%2Fc%3Fd%40e", f"on {cluster.sockets} refuses: "
    assert reason(right, "x%25y%2Fz%3F") == "opened"
    assert reason(right, "no%3F") == f'The database no? {named}database "no?" does not exist.'
    assert (
        reason("s3cret", "postgres") == f'The database postgres {named}password authentication failed for user "kim".'
    )


def test_errors_of_whoever_reads_are_not_the_databases(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    storage = opened_file(tmp_path)
    submit(storage)
    account_id = storage.accounts.ensure("one")

    with pytest.raises(BrokenPipeError), storage.sources.open_export(account_id, "s"):
        raise BrokenPipeError

    assert lines(caplog) == []
    storage.close()
