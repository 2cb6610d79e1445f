"""What only the file has: other processes, kills, permissions, foreign files."""

import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from databases import prepare_file
from immutable import immutable
from penchant.errors import StorageIncompatible, StorageUnavailable
from penchant.storage import open_storage
from penchant.storage.databases.sqlite import SqliteDatabase

WRITER = """
import sys, time
from pathlib import Path
from penchant.model import EncodedPiece
from penchant.storage import SubmitPieces, open_storage
while time.time() < float(sys.argv[4]):
    pass
storage = open_storage(folder=Path(sys.argv[1]))
account = storage.accounts.ensure("one")
for number in range(int(sys.argv[3])):
    name = f"{sys.argv[2]}-{number}"
    command = SubmitPieces(account_id=account, source="s", pieces=[EncodedPiece(id=name, body=b"{}")])
    storage.submit(command).result()
    print(name, flush=True)
storage.close()
"""


def start_writer(folder: Path, name: str, count: int, *, at: float = 0) -> "subprocess.Popen[str]":
    """Start a process that opens the folder at a moment, submits pieces one by one and prints each that is stored."""
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), name, str(count), str(at)], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.slow
def test_many_processes_may_open_a_fresh_folder_at_once(tmp_path: Path) -> None:
    for attempt in range(3):
        together = time.time() + 2
        writers = [start_writer(tmp_path / str(attempt), str(number), 1, at=together) for number in range(4)]

        assert [writer.communicate(timeout=300)[0].strip() for writer in writers] == [f"{n}-0" for n in range(4)]
        assert [writer.returncode for writer in writers] == [0] * 4


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
    with pytest.raises(StorageUnavailable, match="postgresql://"):
        open_storage(folder=tmp_path, database_url="mysql://x")


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
def test_a_change_by_any_process_leaves_a_mark(tmp_path: Path) -> None:
    storage = open_storage(folder=tmp_path)
    account = storage.accounts.ensure("one")
    before = storage.upkeep.change_marks()
    assert storage.sources.read_head(account, "s") is None
    assert storage.upkeep.change_marks() == before

    start_writer(tmp_path, "other", 1).communicate(timeout=300)

    assert storage.upkeep.change_marks() != before
    storage.close()
