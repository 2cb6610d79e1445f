"""What only PostgreSQL has: connections that are limited, cut, and made again with pauses."""

import contextlib
import logging
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from clocks import SetClock
from databases import connection_beside, new_database
from faults.cluster import new_cluster
from penchant.errors import StorageUnavailable
from penchant.storage import ServerOptions, Storage, open_storage
from penchant.storage.databases.postgresql import FIRST_PAUSE_S, LONGEST_PAUSE_S, Attempts
from storage.commands import done, submitting

CUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE pid <> pg_backend_pid() AND datname = current_database()"
)


@pytest.fixture
def address(postgresql: str) -> str:
    return new_database(postgresql)


@pytest.fixture
def storage(address: str, tmp_path: Path) -> Iterator[Storage]:
    opened = open_storage(folder=tmp_path, database_url=address, options=ServerOptions(connections=2, timeout_s=0.5))
    yield opened
    opened.close()


def failing() -> str:
    raise OSError("refused")


def failed_once() -> tuple[Attempts, SetClock]:
    clock = SetClock(100.0)
    attempts = Attempts(5.0, monotonic=clock)
    with pytest.raises(OSError, match="refused"):
        attempts.make(failing)
    return attempts, clock


def test_after_a_failure_others_are_turned_away_until_the_pause_is_over() -> None:
    attempts, clock = failed_once()

    with pytest.raises(StorageUnavailable):
        attempts.make(lambda: "too early")
    clock.now += FIRST_PAUSE_S
    assert attempts.make(lambda: "connected") == "connected"
    assert attempts.make(lambda: "at once") == "at once"


def test_pauses_double_up_to_the_longest() -> None:
    attempts, clock = failed_once()
    pauses: list[float] = []
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
    attempts, clock = failed_once()
    clock.now += 1
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> str:
        begun.set()
        go_on.wait(60)
        return "connected"

    made: list[str] = []
    trying = threading.Thread(target=lambda: made.append(attempts.make(slow)))
    trying.start()
    begun.wait(60)
    with pytest.raises(StorageUnavailable):
        attempts.make(lambda: "meanwhile")
    go_on.set()
    trying.join()

    assert made == ["connected"]


def test_who_finds_no_free_connection_is_told_so(storage: Storage) -> None:
    account = storage.accounts.ensure("one")
    done(storage, submitting(account, "p"))
    with (
        storage.pieces.open_page(account, "s"),
        storage.pieces.open_page(account, "s"),
        pytest.raises(StorageUnavailable),
    ):
        storage.sources.read_head(account, "t")

    assert storage.sources.read_head(account, "t") is None


def test_a_connection_that_was_cut_is_made_again_by_the_read_that_finds_out(
    storage: Storage, address: str, tmp_path: Path
) -> None:
    account = storage.accounts.ensure("one")
    assert storage.sources.read_head(account, "s") is None
    with connection_beside(tmp_path, address) as connection:
        connection.exec_driver_sql(CUT)

    assert storage.sources.read_head(account, "s") is None


def test_indexes_of_few_rows_leave_out_all_others(storage: Storage, address: str, tmp_path: Path) -> None:
    assert storage.sources
    with connection_beside(tmp_path, address) as connection:
        found = connection.exec_driver_sql("SELECT indexname FROM pg_indexes WHERE strpos(indexdef, ' WHERE ') > 0")

        assert {"pieces_tombstones", "erasures_by_age"} <= set(found.scalars())


def test_sessions_have_time_limits(address: str, tmp_path: Path) -> None:
    with connection_beside(tmp_path, address) as connection:
        limits = {
            name: connection.exec_driver_sql(f"SHOW {name}").scalar_one()
            for name in ("statement_timeout", "idle_in_transaction_session_timeout")
        }

    assert limits == {"statement_timeout": "2min", "idle_in_transaction_session_timeout": "3min"}


def _plain(address: str) -> Any:
    """Return a connection of the driver alone, which looks at nothing."""
    import psycopg  # noqa: PLC0415  # only where a server could be started

    return psycopg.connect(address, autocommit=True)


def set_for_new_sessions(address: str, name: str, value: str) -> None:
    """Set something for all sessions of a database that begin from now on."""
    with _plain(address) as connection:
        database = connection.execute("SELECT current_database()").fetchone()
        assert database is not None
        connection.execute(f"ALTER DATABASE {database[0]} SET {name} = {value}")


def test_a_server_that_does_not_sync_commits_is_refused(address: str, tmp_path: Path) -> None:
    set_for_new_sessions(address, "synchronous_commit", "off")

    with pytest.raises(StorageUnavailable, match=r"synchronous_commit = off.*allow-unsynced-commits"):
        open_storage(folder=tmp_path, database_url=address)


def test_a_server_that_does_not_sync_commits_is_used_with_a_warning_where_that_is_allowed(
    address: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    set_for_new_sessions(address, "synchronous_commit", "off")
    caplog.set_level(logging.WARNING, logger="penchant")
    with closing(
        open_storage(folder=tmp_path, database_url=address, options=ServerOptions(allow_unsynced_commits=True))
    ) as opened:
        account = opened.accounts.ensure("one")
        done(opened, submitting(account, "p"))

        [warning] = opened.upkeep.ping()

    assert "synchronous_commit = off" in warning
    assert caplog.messages.count(warning) == 1


@pytest.mark.parametrize("value", ("local", "remote_write", "remote_apply"))
def test_what_syncs_here_or_farther_away_is_taken_and_kept(address: str, tmp_path: Path, value: str) -> None:
    set_for_new_sessions(address, "synchronous_commit", value)
    with closing(open_storage(folder=tmp_path, database_url=address)) as opened:
        assert opened.upkeep.ping() == []
        set_for_new_sessions(address, "synchronous_commit", "off")

        assert opened.upkeep.ping() == []
        with opened._database.writing_engine.connect() as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar_one() == value


@pytest.mark.slow
def test_a_server_that_stops_syncing_while_it_is_used_is_noticed(tmp_path: Path) -> None:
    cluster = new_cluster()
    try:
        with closing(open_storage(folder=tmp_path, database_url=cluster.url)) as opened:
            assert opened.upkeep.ping() == []
            for name in ("full_page_writes", "fsync"):
                cluster.ask(f"ALTER SYSTEM SET {name} = off")
            cluster.ask("SELECT pg_reload_conf()")
            cluster.wait_for("SHOW fsync", "off")

            with pytest.raises(StorageUnavailable, match="fsync = off"):
                opened.upkeep.ping()
        lenient = ServerOptions(allow_unsynced_commits=True)
        with closing(open_storage(folder=tmp_path, database_url=cluster.url, options=lenient)) as opened:
            assert [warning.split(":")[0] for warning in opened.upkeep.ping()] == [
                "PostgreSQL runs with fsync = off",
                "PostgreSQL runs with full_page_writes = off",
            ]
    finally:
        cluster.remove()


def test_another_history_begins_a_new_epoch_of_every_source(address: str, tmp_path: Path) -> None:
    first = open_storage(folder=tmp_path, database_url=address)
    account = first.accounts.ensure("one")
    for name in ("a", "b"):
        done(first, submitting(account, "p", source=name))
    before = [first.sources.read_head(account, name) for name in ("a", "b")]
    first.close()
    again = open_storage(folder=tmp_path, database_url=address)
    assert [again.sources.read_head(account, name) for name in ("a", "b")] == before
    with connection_beside(tmp_path, address) as connection:
        connection.exec_driver_sql("UPDATE lineage SET name = 'another'")
    again.close()

    nodes = [open_storage(folder=tmp_path, database_url=address) for _ in range(2)]
    after = [[node.sources.read_head(account, name) for name in ("a", "b")] for node in nodes]

    assert after[0] == after[1]
    for old, new in zip(before, after[0], strict=True):
        assert old is not None
        assert new is not None
        assert new.epoch > old.epoch
        assert new == old._replace(epoch=new.epoch)
    for node in nodes:
        node.close()


def test_a_new_epoch_that_cannot_be_stored_gives_no_connection(address: str, tmp_path: Path) -> None:
    with closing(open_storage(folder=tmp_path, database_url=address)) as first:
        account = first.accounts.ensure("one")
        done(first, submitting(account, "p"))
        before = first.sources.read_head(account, "s")
    assert before is not None
    with _plain(address) as connection:
        connection.execute("DELETE FROM lineage")
        connection.execute("INSERT INTO lineage VALUES (1, 'another')")
        connection.execute(f"ALTER TABLE sources ADD CONSTRAINT full_disk CHECK (epoch <= {before.epoch})")

    with pytest.raises(StorageUnavailable):
        open_storage(folder=tmp_path, database_url=address)

    with _plain(address) as connection:
        connection.execute("ALTER TABLE sources DROP CONSTRAINT full_disk")
    with closing(open_storage(folder=tmp_path, database_url=address)) as again:
        after = again.sources.read_head(account, "s")
        assert after is not None
        assert after.epoch > before.epoch


def test_two_processes_that_make_the_same_source_count_each_piece_once(address: str, tmp_path: Path) -> None:
    names = [f"s{number}" for number in range(30)]
    with (
        closing(open_storage(folder=tmp_path, database_url=address)) as one,
        closing(open_storage(folder=tmp_path, database_url=address)) as other,
    ):
        account = one.accounts.ensure("a")
        outcomes = [storage.submit(submitting(account, "p", source=name)) for name in names for storage in (one, other)]
        created = sum(outcome.result(timeout=300).created for outcome in outcomes)
        counts = [head.piece_count for head in one.sources.list_of(account)]
        made = [entry for entry in one.accounts.list_audit(limit=1_000) if entry.action == "source.create"]

    assert (created, counts, len(made)) == (len(names), [1] * len(names), len(names))
