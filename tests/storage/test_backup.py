"""Copies of a database that is in use, and a database from such a copy."""

import fcntl
import os
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from databases import opened_file
from penchant.errors import Refused, StorageIncompatible, StorageUnavailable
from penchant.storage import BackupContents, SourceContents, Storage, back_up, restore
from penchant.storage.databases.opening import open_database
from storage.commands import bodies, changes, cursor, done, head, listed, submit, submitting, watching
from storage.test_sqlite import start_writer

TRIES = 5
"""A restore may end before it is killed."""
RESTORER = """
import pathlib, sys
from penchant.storage import restore
restore(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), replace=True)
"""
HOLDER = """
import pathlib, sys
from penchant.model import EncodedPiece
from penchant.storage import SubmitPieces, open_storage
storage = open_storage(folder=pathlib.Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.readline()
new = SubmitPieces(account_id=storage.accounts.ensure("one"), source="s", pieces=[EncodedPiece(id="c", body=b"{}")])
storage.submit(new).result()
storage.close()
"""


@contextmanager
def opened(folder: Path) -> Iterator[tuple[Storage, int]]:
    with closing(opened_file(folder)) as storage:
        yield storage, storage.accounts.ensure("one")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with a source of two pieces."""
    with opened(tmp_path / "data") as (storage, account):
        done(storage, submitting(account, "a", "b"))
        done(storage, watching(account, "u"))
    return tmp_path / "data"


@pytest.fixture
def backup(folder: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    back_up(folder, tmp_path / "backup", replace=False)
    return tmp_path / "backup"


def pieces_in(folder: Path) -> list[str]:
    """Return the ids of what is stored, which agrees with itself."""
    with opened(folder) as (storage, account):
        assert storage.upkeep.check() == []
        return listed(storage, account)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_copy_says_what_it_holds_and_is_its_owner_s_alone(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    held = back_up(folder, file, replace=False)

    source = SourceContents(account="one", name="s", pieces=2, interactions=1)
    assert held == BackupContents(sources=(source,), keys=0, size_bytes=file.stat().st_size)
    assert file.stat().st_mode & 0o777 == 0o600
    assert names(tmp_path) == {"backup", "data"}


def test_what_was_copied_is_restored(backup: Path, tmp_path: Path) -> None:
    held = restore(backup, tmp_path / "new" / "folder", replace=False)

    assert pieces_in(tmp_path / "new" / "folder") == ["a", "b"]
    assert [(source.pieces, source.interactions) for source in held.sources] == [(2, 1)]
    assert (tmp_path / "new" / "folder" / "penchant.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.stress
def test_a_copy_of_a_database_that_is_written_to_is_what_it_was_at_one_moment(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with opened(data) as (storage, account):
        submit(storage, account, bodies(20_000))
    writer = start_writer(data, "w", 100_000)
    assert writer.stdout is not None
    acknowledged = writer.stdout.readline().strip()

    back_up(data, tmp_path / "backup", replace=False)

    assert writer.poll() is None
    restore(tmp_path / "backup", tmp_path / "new", replace=False)
    written = {name for name in pieces_in(tmp_path / "new") if name.startswith("w-")}
    # The writer has gone on meanwhile.
    later = next(line.strip() for line in writer.stdout if line.strip() not in written)
    writer.kill()
    writer.communicate(timeout=120)
    assert acknowledged in written
    assert written == {f"w-{number}" for number in range(len(written))}
    assert later == f"w-{len(written)}"


def test_a_copy_replaces_a_file_only_when_it_may(folder: Path, backup: Path) -> None:
    before = backup.read_bytes()
    with opened(folder) as (storage, account):
        done(storage, submitting(account, "c"))

    with pytest.raises(Refused, match="there already"):
        back_up(folder, backup, replace=False)
    assert backup.read_bytes() == before
    assert back_up(folder, backup, replace=True).sources[0].pieces == 3


@pytest.mark.parametrize("name", ("penchant.db", "penchant.db-wal", "penchant.db.lock"))
def test_a_copy_never_replaces_the_database(folder: Path, name: str) -> None:
    with pytest.raises(Refused, match="the database itself"):
        back_up(folder, folder / name, replace=True)


def test_without_a_database_there_is_nothing_to_copy(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no database"):
        back_up(tmp_path, tmp_path / "backup", replace=False)
    assert names(tmp_path) == set()


def test_a_copy_that_cannot_be_written_is_a_clear_error(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(StorageUnavailable, match="could not be written"):
        back_up(folder, tmp_path / "no" / "backup", replace=False)


def test_a_copy_that_finds_no_room_is_a_clear_error(folder: Path, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16_384, hard))
    try:
        with pytest.raises(StorageUnavailable, match="could not be written"):
            back_up(folder, tmp_path / "backup", replace=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert names(tmp_path) == {"data"}


@pytest.mark.parametrize("table", ("pieces", "pieces_feed", "sources"))
def test_a_damaged_database_is_not_copied(folder: Path, tmp_path: Path, table: str) -> None:
    damage(folder / "penchant.db", table)

    with pytest.raises(StorageIncompatible, match="damaged"):
        back_up(folder, tmp_path / "backup", replace=False)
    assert names(tmp_path) == {"data"}


def damage(file: Path, table: str = "pieces") -> None:
    """Overwrite a page of a table or an index."""
    with closing(sqlite3.connect(file)) as connection:
        statement = f"SELECT rootpage FROM sqlite_master WHERE name = '{table}'"
        page, size = (connection.execute(each).fetchone()[0] for each in (statement, "PRAGMA page_size"))
    with file.open("r+b") as written:
        written.seek((page - 1) * size)
        written.write(b"\xff" * size)


@pytest.mark.parametrize(
    ("statement", "message"),
    (
        (None, "damaged"),
        ("DELETE FROM sqlite_master WHERE name = 'pieces_feed'", "damaged: .*never used"),
        ("UPDATE alembic_version SET version_num = '9999'", "newer"),
        ("DROP TABLE alembic_version", "another program"),
        ("DROP TABLE sources", "no such table"),
        ("CREATE TRIGGER t AFTER INSERT ON audit BEGIN UPDATE keys SET admin = 1; END", "the trigger t"),
        ("CREATE VIEW v AS SELECT * FROM keys", "the view v"),
        ("CREATE TABLE other (x, y AS (x + 1))", r"the column other\.y"),
        ("CREATE INDEX other ON keys (abs(admin))", "the index other"),
        ("CREATE VIRTUAL TABLE other USING fts5(x)", "the table other"),
        ("CREATE VIRTUAL TABLE _litestream_seq USING fts5(x)", "the table _litestream_seq"),
        ("ALTER TABLE keys ADD COLUMN x GENERATED ALWAYS AS (admin + 1)", r"the column keys\.x"),
        ("ALTER TABLE keys ADD COLUMN y", r"the column keys\.y"),
    ),
)
def test_a_copy_that_is_damaged_or_has_other_objects_than_ours_is_not_restored(
    folder: Path, backup: Path, statement: str | None, message: str
) -> None:
    if statement is None:
        damage(backup)
    else:
        with closing(sqlite3.connect(backup)) as connection:
            connection.execute("PRAGMA writable_schema=ON")
            connection.execute(statement)
            connection.commit()

    with pytest.raises(StorageIncompatible, match=message):
        restore(backup, folder, replace=True)
    assert pieces_in(folder) == ["a", "b"]


def test_tables_that_litestream_makes_keep_nothing_from_being_restored(folder: Path, backup: Path) -> None:
    with closing(sqlite3.connect(backup)) as connection:
        connection.execute("CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)")
        connection.execute("CREATE TABLE _litestream_lock (id INTEGER)")

    restore(backup, folder, replace=True)

    assert pieces_in(folder) == ["a", "b"]
    with closing(sqlite3.connect(folder / "penchant.db")) as connection:
        assert not [name for (name,) in connection.execute("SELECT name FROM sqlite_master") if "litestream" in name]


def test_a_schema_is_not_trusted_by_any_connection(folder: Path) -> None:
    with closing(open_database(folder, None)) as database:
        for engine in database.engines:
            with engine.connect() as connection:
                assert connection.exec_driver_sql("PRAGMA trusted_schema").scalar_one() == 0


@pytest.mark.parametrize("content", (b"something else" * 1000, b""))
def test_a_file_that_is_no_copy_is_not_restored(folder: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)

    with pytest.raises(StorageIncompatible):
        restore(tmp_path / "file", folder, replace=True)
    assert names(folder) == {"penchant.db", "penchant.db.lock"}
    assert (tmp_path / "file").read_bytes() == content


def test_a_folder_that_cannot_be_made_is_a_clear_error(backup: Path) -> None:
    with pytest.raises(StorageUnavailable, match="data folder"):
        restore(backup, backup / "data", replace=False)


def test_a_database_is_replaced_only_when_it_may(folder: Path, backup: Path) -> None:
    with opened(folder) as (storage, account):
        done(storage, submitting(account, "c"))

    with pytest.raises(Refused, match="holds a database already"):
        restore(backup, folder, replace=False)
    assert pieces_in(folder) == ["a", "b", "c"]
    restore(backup, folder, replace=True)
    assert pieces_in(folder) == ["a", "b"]


@pytest.mark.slow
def test_a_database_that_another_process_has_open_is_not_replaced(folder: Path, backup: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "open\n"

    with pytest.raises(Refused, match="in use"):
        restore(backup, folder, replace=True)

    holder.communicate("\n", timeout=120)
    assert holder.returncode == 0
    assert pieces_in(folder) == ["a", "b", "c"]


def test_two_copies_are_not_written_into_one_file(folder: Path, backup: Path) -> None:
    unfinished = backup.with_name("backup.unfinished")
    unfinished.write_bytes(b"half a copy")
    with unfinished.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(Refused, match="Another process"):
            back_up(folder, backup, replace=True)
        assert unfinished.read_bytes() == b"half a copy"

    back_up(folder, backup, replace=True)
    assert not unfinished.exists()
    assert backup.stat().st_mode & 0o777 == 0o600


def test_only_an_ordinary_file_is_replaced(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(Refused, match="no ordinary file"):
        back_up(folder, tmp_path / "pipe", replace=True)


def test_a_damaged_database_is_replaced(folder: Path, backup: Path) -> None:
    (folder / "penchant.db").write_bytes(b"something else" * 1000)

    restore(backup, folder, replace=True)

    assert pieces_in(folder) == ["a", "b"]


def test_followers_of_the_history_before_begin_anew(folder: Path, backup: Path) -> None:
    with opened(folder) as (storage, account):
        done(storage, submitting(account, "lost"))
        lost = head(storage, account)
    epochs = [lost.epoch]
    for _ in range(2):
        restore(backup, folder, replace=True)
        with opened(folder) as (storage, account):
            assert changes(storage, account, cursor(lost, 2)) == (True, {"a": False, "b": False})
            epochs.append(head(storage, account).epoch)

    assert epochs[0] < epochs[1] < epochs[2]


def write_and_kill(folder: Path) -> None:
    """Have another process write to the database, and kill it amid that."""
    writer = start_writer(folder, "lost", 100_000)
    assert writer.stdout is not None
    writer.stdout.readline()
    writer.kill()
    writer.communicate(timeout=120)


@pytest.mark.slow
def test_what_a_killed_process_left_behind_does_not_come_back(folder: Path, backup: Path) -> None:
    write_and_kill(folder)
    assert (folder / "penchant.db-wal").stat().st_size > 0
    for name in ("penchant.db.unfinished", "penchant.db.unfinished-wal", "penchant.db.unfinished-journal"):
        (folder / name).write_bytes(b"left behind")

    restore(backup, folder, replace=True)

    assert names(folder) == {"penchant.db", "penchant.db.lock"}
    assert pieces_in(folder) == ["a", "b"]


@pytest.mark.slow
def test_a_log_without_its_database_is_not_applied_to_another(folder: Path, backup: Path) -> None:
    write_and_kill(folder)
    (folder / "penchant.db").unlink()
    log = (folder / "penchant.db-wal").read_bytes()
    backup.with_name("other-wal").write_bytes(log)

    restore(backup, folder, replace=False)
    back_up(folder, backup.with_name("other"), replace=False)

    assert not backup.with_name("other-wal").exists()
    assert pieces_in(folder) == ["a", "b"]


@pytest.mark.stress
def test_a_restore_that_is_killed_leaves_what_was_there(folder: Path, backup: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "large") as (storage, account):
        submit(storage, account, bodies(60_000))
    large, unfinished = tmp_path / "large backup", folder / "penchant.db.unfinished"
    back_up(tmp_path / "large", large, replace=False)
    for _ in range(TRIES):
        restoring = subprocess.Popen([sys.executable, "-c", RESTORER, str(large), str(folder)])
        while restoring.poll() is None and not unfinished.exists():
            time.sleep(0.001)
        restoring.kill()
        restoring.wait()
        if unfinished.exists():
            break
        restore(backup, folder, replace=True)

    assert unfinished.exists()
    assert pieces_in(folder) == ["a", "b"]
    restore(large, folder, replace=True)
    assert not unfinished.exists()
    with opened(folder) as (storage, account):
        assert head(storage, account).piece_count == 60_000
