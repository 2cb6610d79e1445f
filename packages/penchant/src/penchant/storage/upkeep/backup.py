"""Backups of an SQLite database: copied into a file while it is served, and made the database again.

A copy is written under a temporary name, checked, synced, and renamed: under its name there is never half a copy.
"""

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
from sqlalchemy import Engine, NullPool, Table, case, create_engine, func, literal, select, update
from sqlalchemy.exc import SQLAlchemyError

from penchant.errors import Refused, StorageIncompatible, StorageUnavailable
from penchant.storage import migrations
from penchant.storage.databases.opening import now_ms
from penchant.storage.databases.sqlite import BUSY_TIMEOUT_S, FILE_NAME, exclusive, is_there
from penchant.storage.parts import VERSION_TABLE, load_parts, own_tables, unknown_tables
from penchant.storage.schema import (
    CONTENT,
    ERASURE_CODE,
    INTERACTIONS,
    accounts,
    counters,
    interactions,
    keys,
    sources,
)
from penchant_engine.owned_folders import make_folder, sync

STEP_PAGES = 4_096
"""Pages of 4 KiB between looks whether the user wants to stop."""
IN_USE_TIMEOUT_S = 1.0
"""How long a restore waits for others to let go of the database that it replaces."""
TEMPORARY = ".unfinished"
"""Ends the name of a copy that is not finished, or whose writer was killed before it was."""
LOGS = ("-wal", "-shm", "-journal")
"""What SQLite may keep beside a file; of another file of this name it must not be left there."""
DAMAGED = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}
PRIMARY_CODE = 0xFF
LITESTREAM_TABLES = ("_litestream_lock", "_litestream_seq")
"""What Litestream makes in a database that it copies."""
OF_SQLITE = ("sqlite_autoindex_", "sqlite_stat")
"""How the names begin of what SQLite makes by itself: indexes of keys, and the statistics of ANALYZE."""
ORDINARY = 0
"""What SQLite says of a column that is neither hidden nor generated."""
MAX_TOLD = 10
"""Objects that an error names."""


class SourceContents(msgspec.Struct, frozen=True, kw_only=True):
    """What a file holds of a source."""

    account: str
    name: str
    pieces: int
    interactions: int


class BackupContents(msgspec.Struct, frozen=True, kw_only=True):
    """What a file holds: its sources that are not deleted, by account and name, and its keys.

    ``unknown_tables`` are those of packages that are not installed, which are kept.
    """

    sources: tuple[SourceContents, ...]
    keys: int
    size_bytes: int
    unknown_tables: tuple[str, ...] = ()


def back_up(folder: Path, file: Path, *, replace: bool) -> BackupContents:
    """Write the database of a folder, as it is at this moment, into a file for its owner only.

    Raises:
        Refused: there is no database, the file is there and may not be replaced, or is the database itself.
        StorageIncompatible: the database is damaged, or a newer release's.
        StorageUnavailable: it cannot be read, or the file cannot be written.
    """
    database = folder / FILE_NAME
    if not is_there(folder):
        raise Refused(f"There is no database in {folder}.")
    if file.parent.resolve() == folder.resolve() and file.name.startswith(FILE_NAME):
        raise Refused(f"{file} belongs to the database itself; name another file.")
    if file.exists() and not file.is_file():
        raise Refused(f"{file} is no ordinary file; name another one.")
    if file.exists() and not replace:
        raise Refused(f"{file} is there already; name another file, or replace it with --force.")
    with _written(file) as temporary:
        _copy(database, temporary)
        return _examine(temporary)


def restore(file: Path, folder: Path, *, replace: bool) -> BackupContents:
    """Make a file that `back_up` wrote the database of a folder, under a new epoch of every source.

    The database that is there is replaced only if nobody has it open.

    Raises:
        Refused: there is a database and it may not be replaced, or it is in use.
        StorageIncompatible: the file is damaged, no database of ours, a newer release's, or holds what no schema of
            ours has, such as triggers.
        StorageUnavailable: it cannot be read, or the folder cannot be written.
    """
    database = folder / FILE_NAME
    try:
        make_folder(folder)
    except OSError as error:
        raise StorageUnavailable(f"The data folder {folder} cannot be made ({error.strerror}).") from error
    with exclusive(folder):
        if is_there(folder) and not replace:
            raise Refused(f"{folder} holds a database already; name another folder, or replace it with --force.")
        with _written(database) as temporary:
            _copy(file, temporary)
            contents = _examine(temporary)
            _remove_tables_of_litestream(temporary)
            _refuse_foreign_objects(temporary)
            _raise_epochs(temporary)
            _give_up(database)
    return contents


@contextlib.contextmanager
def _written(file: Path) -> Iterator[Path]:
    """Give a file for a copy, and let it take its name once it is complete and on the disk."""
    # Whole, since SQLite may take one that begins with "file:" for an address.
    temporary = file.absolute().with_name(file.name + TEMPORARY)
    try:
        with _claimed(temporary):
            try:
                yield temporary
                sync(temporary)
                # A log that an earlier file of this name has left would be applied to this one, also one that is back
                # after a cut of power since only the new name had come to the disk.
                _remove_logs(file)
                sync(file.parent)
                temporary.replace(file)
                sync(file.parent)
            finally:
                temporary.unlink(missing_ok=True)
                _remove_logs(temporary)
    except sqlite3.DatabaseError as error:
        if _is_damage(error):
            raise StorageIncompatible("What should be copied is damaged, or no SQLite database.") from error
        raise StorageUnavailable(f"{file} could not be written: {error}.") from error
    except SQLAlchemyError as error:
        raise StorageIncompatible(f"What should be copied cannot be used: {error.args[0]}.") from error
    except OSError as error:
        raise StorageUnavailable(f"{file} could not be written ({error.strerror}).") from error


@contextlib.contextmanager
def _claimed(temporary: Path) -> Iterator[None]:
    """Hold an empty file that no other process writes to; one that a killed writer has left is emptied.

    Raises:
        Refused: another process writes to it.
    """
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if not _is_locked(descriptor, temporary):
            raise Refused(f"Another process writes {temporary} just now.")
        os.fchmod(descriptor, 0o600)
        os.ftruncate(descriptor, 0)
        _remove_logs(temporary)
        yield
    finally:
        # Only now: closing it would drop the locks that SQLite holds on it in this process.
        os.close(descriptor)


def _is_locked(descriptor: int, path: Path) -> bool:
    """Return whether the open file could be locked, and is still the one at its path."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Between the opening and the locking its writer may have finished, and given it its name.
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except (BlockingIOError, FileNotFoundError):
        return False


def _remove_logs(file: Path) -> None:
    for log in LOGS:
        file.with_name(file.name + log).unlink(missing_ok=True)


def _copy(original: Path, copy: Path) -> None:
    with closing(_connected(original)) as reading, closing(sqlite3.connect(copy)) as writing:
        # The transaction is held: otherwise each change by another process would make the copy begin anew.
        reading.execute("BEGIN")
        reading.execute("SELECT count(*) FROM sqlite_master").fetchall()
        reading.backup(writing, pages=STEP_PAGES)
        writing.execute("PRAGMA journal_mode=DELETE").fetchall()


def _connected(database: Path) -> sqlite3.Connection:
    """Open a database that is there; it is never made."""
    address = f"{database.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(address, uri=True, isolation_level=None, timeout=BUSY_TIMEOUT_S)


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE in DAMAGED


def _examine(file: Path) -> BackupContents:
    """Return what a copy holds.

    Raises:
        StorageIncompatible: it is damaged, no database of ours, or a newer release's.
    """
    with closing(_distrusting(file)) as checking:
        problems = [str(row[0]) for row in checking.execute("PRAGMA integrity_check")]
    if problems != ["ok"]:
        raise StorageIncompatible(f"What should be copied is damaged: {' '.join(problems[0].split())}")
    with _engine(file).connect() as connection:
        if not migrations.is_current(connection) and not migrations.is_ours(connection):
            raise StorageIncompatible("The file holds an empty database.")
        rows = connection.execute(_SOURCES).all()
        return BackupContents(
            sources=tuple(SourceContents(**row._mapping) for row in rows),  # noqa: SLF001  # its public name
            keys=connection.execute(select(func.count()).select_from(keys)).scalar_one(),
            size_bytes=file.stat().st_size,
            unknown_tables=tuple(
                name for name in unknown_tables(connection, load_parts()) if name not in LITESTREAM_TABLES
            ),
        )


def _remove_tables_of_litestream(file: Path) -> None:
    """Remove what Litestream has put beside our tables, where it is an ordinary table."""
    with closing(_distrusting(file)) as connection:
        tables = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        for name, sql in tables:
            if name in LITESTREAM_TABLES and not _is_virtual(sql):
                connection.execute(f"DROP TABLE {name}")
        connection.commit()


def _refuse_foreign_objects(file: Path) -> None:
    with closing(_distrusting(file)) as connection:
        foreign = _foreign_objects(connection)
    if foreign:
        raise StorageIncompatible(f"The file holds what no database of ours has: {', '.join(foreign[:MAX_TOLD])}.")


def _foreign_objects(connection: sqlite3.Connection) -> list[str]:
    """Return the names of objects that no schema of ours has; none for a file of any release of ours.

    A file that is handed over can hold a trigger that changes rows behind our back, whenever we write others. So it is
    only taken where our tables have the columns and indexes that we know, and beside them are plain tables alone: those
    of packages that are not installed, which nothing reads or writes.
    """
    parts = load_parts()
    own = own_tables(parts)
    own_indexes = {str(index.name) for table in own.values() for index in table.indexes}
    known = {*own, VERSION_TABLE, *(part.version_table for part in parts)}
    foreign = []
    for kind, name, table, sql in connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"):
        if name.startswith(OF_SQLITE):
            continue
        is_plain = {"table": not _is_virtual(sql), "index": name in own_indexes or table not in known}
        if not is_plain.get(kind, False):
            foreign.append(f"the {kind} {name}")
        elif kind == "table":
            foreign += _foreign_columns(connection, name, own.get(name))
    return foreign


def _is_virtual(sql: str | None) -> bool:
    return "VIRTUAL" in (sql or "").upper().split("(")[0].split()


def _foreign_columns(connection: sqlite3.Connection, table: str, own: Table | None) -> list[str]:
    """Return the columns of a table that ours has not, and those whose value is worked out by an expression."""
    columns = connection.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (table,)).fetchall()
    foreign = [name for name, hidden in columns if hidden != ORDINARY or (own is not None and name not in own.c)]
    return [f"the column {table}.{name}" for name in foreign]


def _engine(file: Path) -> Engine:
    return create_engine("sqlite+pysqlite://", creator=lambda: _distrusting(file), poolclass=NullPool)


def _distrusting(file: Path) -> sqlite3.Connection:
    """Open a copy whose schema may be of unknown origin: functions that it names may do nothing but compute."""
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA trusted_schema=OFF").fetchall()
    return connection


def _raise_epochs(file: Path) -> None:
    """Let every source begin another history: what was indexed or sent with an ETag before is worth nothing.

    The epoch becomes the present, so that two restores of one file, wherever they happen, have not the same.
    """
    now = literal(now_ms())
    raised = case((sources.c.epoch >= now, sources.c.epoch + 1), else_=now)
    with _engine(file).begin() as connection:
        connection.execute(update(sources).values(epoch=raised))
    with closing(_distrusting(file)) as connection:
        # Whoever has opened the folder but not yet the file relies on it.
        connection.execute("PRAGMA journal_mode=WAL").fetchall()


def _give_up(database: Path) -> None:
    """Make sure that no process has the database open that is to be replaced.

    Leaving the write-ahead log needs the file for oneself alone: SQLite itself tells whether anybody has it open.

    Raises:
        Refused: somebody has.
    """
    if not is_there(database.parent):
        return
    left = "delete"
    try:
        with closing(_connected(database)) as connection:
            connection.execute(f"PRAGMA busy_timeout={int(IN_USE_TIMEOUT_S * 1000)}").fetchall()
            left = connection.execute("PRAGMA journal_mode=DELETE").fetchone()[0]
    except sqlite3.DatabaseError as error:
        # One that is damaged is replaced: that is what copies are for.
        left = "delete" if _is_damage(error) else "in use"
    if left != "delete":
        raise Refused("The database is in use. Stop the server and all commands that use it, and run this again.")


_SOURCES = (
    select(
        accounts.c.name.label("account"),
        sources.c.name,
        select(counters.c.live)
        .where(counters.c.source_id == sources.c.source_id, counters.c.kind == CONTENT)
        .scalar_subquery()
        .label("pieces"),
        select(func.count())
        .where(
            interactions.c.source_id == sources.c.source_id,
            interactions.c.type != ERASURE_CODE,
            interactions.c.version
            > select(counters.c.cleared_at)
            .where(counters.c.source_id == sources.c.source_id, counters.c.kind == INTERACTIONS)
            .correlate(sources)
            .scalar_subquery(),
        )
        .correlate(sources)
        .scalar_subquery()
        .label("interactions"),
    )
    .join(accounts, accounts.c.account_id == sources.c.account_id)
    .where(sources.c.deleted.is_(False))
    .order_by(accounts.c.name, sources.c.name)
)
