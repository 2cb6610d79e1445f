"""What only the file has: other processes, kills, permissions, foreign files."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest
from sqlalchemy.event import listen
from sqlalchemy.exc import OperationalError

from databases import prepare_file
from immutable import immutable
from penchant.errors import InvalidSettings, StorageIncompatible, StorageUnavailable
from penchant.model import NewInteraction
from penchant.storage import RecordInteractions, Storage, TakeBack, open_storage
from penchant.storage.bodies import Dictionaries
from penchant.storage.databases.sqlite import SqliteDatabase
from penchant.storage.transaction import WriteTransaction
from penchant_engine.model import InteractionType
from storage.commands import done, erasing, preferring, submitting, watching

Writing: TypeAlias = "subprocess.Popen[str]"

WRITER = """
import os, sys
from pathlib import Path
from penchant.model import EncodedPiece
from penchant.storage import SubmitPieces, open_storage

def write(folder, writer, count):
    storage = open_storage(folder=folder)
    account = storage.accounts.ensure("one")
    for number in range(count):
        name = f"{writer}-{number}"
        command = SubmitPieces(account_id=account, source="s", pieces=[EncodedPiece(id=name, body=b"{}")])
        storage.submit(command).result()
        print(name, flush=True)
    storage.close()

folder, writer, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
"""
TOGETHER = """
waiting, begun = os.pipe()
for number in range(count):
    if not os.fork():
        os.close(begun)
        os.read(waiting, 1)  # until nobody has the other end: all have been started
        write(folder, number, 1)
        os._exit(0)
os.close(begun)
sys.exit(any(os.wait()[1] for _ in range(count)))
"""


def start_writer(folder: Path, name: str, count: int, *, code: str = "write(folder, writer, count)") -> Writing:
    """Start a process that opens the folder, submits pieces one by one and prints each that is stored."""
    words = [sys.executable, "-c", WRITER + code, str(folder), name, str(count)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_many_processes_may_open_a_fresh_folder_at_once(tmp_path: Path) -> None:
    for attempt in range(3):
        writer = start_writer(tmp_path / str(attempt), "", 4, code=TOGETHER)

        assert sorted(writer.communicate(timeout=300)[0].split()) == [f"{number}-0" for number in range(4)]
        assert writer.returncode == 0


def test_the_files_are_their_owner_s_alone(tmp_path: Path) -> None:
    open_storage(folder=tmp_path / "data").close()

    assert (tmp_path / "data").stat().st_mode & 0o077 == 0
    assert all(file.stat().st_mode & 0o077 == 0 for file in (tmp_path / "data").iterdir())


@pytest.mark.parametrize(
    ("statement", "message"),
    (("UPDATE alembic_version SET version_num = '9999'", "newer"), ("DROP TABLE alembic_version", "another program")),
)
def test_a_database_of_others_is_refused(tmp_path: Path, statement: str, message: str) -> None:
    prepare_file(tmp_path)
    with closing(sqlite3.connect(tmp_path / "penchant.db")) as connection, connection:
        connection.execute(statement)

    with pytest.raises(StorageIncompatible, match=message):
        open_storage(folder=tmp_path)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "penchant.db").write_bytes(b"something else" * 1000)

    with pytest.raises(StorageIncompatible, match="no SQLite database"):
        open_storage(folder=tmp_path)


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    with pytest.raises(StorageUnavailable):
        open_storage(folder=tmp_path / "file" / "data")


def test_an_address_of_another_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="postgresql://"):
        open_storage(folder=tmp_path, database_url="mysql://x")


@pytest.mark.parametrize("place", ("me:s3cret@word@host/db", "me:s3/cret@host:port/db", "me:p%40s@s3cret@h/d"))
def test_an_address_that_cannot_be_told_apart_is_refused_without_a_word_of_it(tmp_path: Path, place: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        open_storage(folder=tmp_path, database_url=f"postgresql://{place}")

    assert "word" not in str(refused.value).replace("PASSWORD", "").replace("password", "")
    assert "cret" not in str(refused.value)


def test_a_connection_opened_while_the_file_is_read_only_is_not_kept(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path)

    def change() -> None:
        with database.writing_engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE changed (number INTEGER)")

    with immutable(tmp_path / "penchant.db"), pytest.raises(OperationalError, match="readonly"):
        change()

    change()
    database.close()


@pytest.mark.slow
def test_a_change_by_any_process_leaves_another_mark(tmp_path: Path) -> None:
    storage = open_storage(folder=tmp_path)
    account = storage.accounts.ensure("one")
    before = storage.mark
    assert storage.sources.read_head(account, "s") is None
    assert storage.mark == before is not None

    start_writer(tmp_path, "other", 1).communicate(timeout=300)

    assert storage.mark not in {before, None}
    storage.close()


def test_there_is_no_mark_while_somebody_writes_nor_after_they_died_until_the_next_one(tmp_path: Path) -> None:
    storage = open_storage(folder=tmp_path)
    before = storage.mark
    code = (
        "from penchant.storage.databases.sqlite import exclusive\nwith exclusive(folder):\n print(); sys.stdin.read()"
    )
    words = [sys.executable, "-c", WRITER + code, str(tmp_path), "other", "1"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "\n"
        meanwhile = storage.mark
        writer.kill()
    killed = storage.mark

    storage.accounts.ensure("one")

    assert (meanwhile, killed) == (None, None)
    assert storage.mark not in {before, None}
    storage.close()


def erased_in_log(folder: Path) -> bool:
    return b"somebody" in (folder / "penchant.db-wal").read_bytes()


@pytest.fixture
def erased(tmp_path: Path) -> Iterator[tuple[Storage, sqlite3.Connection]]:
    """A storage in which somebody was erased, and a connection beside that has read all the while."""
    storage = open_storage(folder=tmp_path)
    account = storage.accounts.ensure("one")
    done(storage, submitting(account, "a"))
    done(storage, watching(account, "somebody"))
    with closing(sqlite3.connect(tmp_path / "penchant.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM interactions").fetchall()
        done(storage, erasing(account, "somebody"))
        yield storage, reader
    storage.close()


def test_what_was_erased_stays_in_the_log_while_somebody_reads_and_then_goes(
    tmp_path: Path, erased: tuple[Storage, sqlite3.Connection]
) -> None:
    storage, reader = erased
    assert not storage.upkeep.forget_log()
    kept = storage.upkeep.erased_log()
    assert kept is not None
    assert kept.size_bytes == (tmp_path / "penchant.db-wal").stat().st_size
    assert erased_in_log(tmp_path)

    reader.rollback()

    assert storage.upkeep.forget_log()
    assert storage.upkeep.erased_log() is None
    assert not erased_in_log(tmp_path)


def test_that_something_erased_waits_in_the_log_is_known_to_all_processes_and_after_a_restart(
    tmp_path: Path, erased: tuple[Storage, sqlite3.Connection]
) -> None:
    storage, reader = erased
    with closing(open_storage(folder=tmp_path)) as other:
        assert other.upkeep.erased_log() is not None
        storage.close()
        assert not other.upkeep.forget_log()
        reader.rollback()

        assert other.upkeep.forget_log()
        assert other.upkeep.erased_log() is None


def test_an_operator_is_warned_of_what_stays_in_the_log_for_a_minute(
    tmp_path: Path, erased: tuple[Storage, sqlite3.Connection]
) -> None:
    storage, _ = erased
    assert storage.upkeep.ping() == []
    os.utime(tmp_path / "penchant.db.erased", (time.time() - 600,) * 2)

    [warning] = storage.upkeep.ping()

    assert "penchant.db-wal" in warning
    assert "for 10 minutes" in warning


def test_what_is_taken_back_unsaid_or_past_its_life_leaves_the_log_as_well(tmp_path: Path) -> None:
    with closing(open_storage(folder=tmp_path)) as storage:
        account = storage.accounts.ensure("one")
        done(storage, submitting(account, "a"))
        done(storage, watching(account, "u", "v", at=0))
        done(storage, preferring(account, "u"))
        assert storage.upkeep.erased_log() is None
        taking = TakeBack(account_id=account, source="s", user_id="v", type=InteractionType.WATCH, piece_id="a")
        purging = partial(storage.upkeep.purge, lambda _: 1)

        for remove in (partial(done, storage, preferring(account, "u", b"")), partial(done, storage, taking), purging):
            remove()
            assert storage.upkeep.erased_log() is not None
            assert storage.upkeep.forget_log()


def test_pieces_are_looked_up_by_their_ids_however_many_the_source_has(tmp_path: Path) -> None:
    storage, executed = open_storage(folder=tmp_path), list[str]()
    account = storage.accounts.ensure("one")
    done(storage, submitting(account, "a"))

    def note(statement: str) -> None:
        if "pieces.piece_id IN" in statement:
            executed.append(statement)

    database = storage.keys._transactions.database
    for engine in database.engines:
        # Of the driver, which most of them go to without SQLAlchemy.
        listen(engine, "begin", lambda connection: connection.connection.driver_connection.set_trace_callback(note))
    done(storage, submitting(account, "a", "b", "c"))
    storage.pieces.read_some(account, "s", ["a", "b", "c"])
    new = [NewInteraction(user_id="u", type=InteractionType.WATCH, piece_id=each) for each in ("a", "b")]
    clicks = [RecordInteractions(account_id=account, source="s", interactions=[each], looks_up=True) for each in new]
    with storage.keys._transactions.write() as connection:
        WriteTransaction(connection, database, Dictionaries(), 0).apply(clicks)

    with database.reading_engine.connect() as connection:
        plans = [each[3] for one in tuple(executed) for each in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {one}")]
    of_pieces = [each for each in plans if "pieces" in each]
    assert of_pieces == ["SEARCH pieces USING INDEX sqlite_autoindex_pieces_1 (source_id=? AND piece_id=?)"] * 3
    storage.close()
