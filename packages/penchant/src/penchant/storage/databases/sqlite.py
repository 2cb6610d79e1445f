"""SQLite: how its file is opened, locked and written; everything that only it needs.

Readers see the moment at which they began, and neither wait for the writer nor hold it up (write-ahead log). Writers
queue for the file lock, threads and processes alike, and only then begin a transaction:

    lane a, process 1   |-- flock --|BEGIN IMMEDIATE ... COMMIT, synced|
    lane b, process 1      |---------------- flock --------------------|BEGIN IMMEDIATE ...
    command line             |------------------------- flock ---------------------------------|BEGIN IMMEDIATE ...
    a reader                        |BEGIN, sees what was committed before its first read ...|
"""

import contextlib
import fcntl
import functools
import itertools
import json
import mmap
import operator
import os
import re
import shutil
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import URL, ColumnElement, Connection, Engine, Executable, Table, create_engine, event, literal_column
from sqlalchemy.dialects import sqlite as dialect
from sqlalchemy.pool import QueuePool

from penchant.errors import PenchantError, StorageIncompatible, StorageUnavailable
from penchant.storage import statements
from penchant.storage.databases.connections import FULL_ERRORS, driver_errors, explain
from penchant.storage.databases.outages import Outages
from penchant.storage.parts import StoragePart
from penchant.storage.schema import event_ids, pieces
from penchant_engine.owned_folders import make_folder, sync

FILE_NAME = "penchant.db"
LOCK_NAME = f"{FILE_NAME}.lock"
MARK_BYTES = 8
"""The lock's file begins with a number: odd while somebody has the lock, and another one whenever it was had."""
CACHE_KIB = 8_192
"""Page cache of each connection; there are several in every process, and the system caches the file as well."""
WRITING_CACHE_KIB = 32_768
"""Page cache of connections that write: 10,000 interactions change 20 MB of pages, which a smaller one writes twice."""
LOG_PAGES = 8_192
"""Pages in the write-ahead log from which on a commit copies them into the file: 32 MB.

What several commits have changed is copied once, so that a load writes a third less than with SQLite's 1,000.
"""
VALUES_AT_ONCE = 10_000
"""Values of many rows that one statement stores: 1,000 interactions, which row by row take 7 % longer."""
BUSY_TIMEOUT_S = 10
"""Only foreign tools contend for SQLite's own lock: our processes queue at the file lock."""
CHECKPOINT_TIMEOUT_S = 0.005
"""Writers are held this long for readers of the log to end, then the log is emptied at a later try."""
ERASED_NAME = f"{FILE_NAME}.erased"
"""Is there from a commit that is to leave nothing of what it removes until the log is empty, for all processes."""
_LIST = re.compile(r"\(__\[POSTCOMPILE_(\w+)\]\)")
"""What SQLAlchemy writes for a list whose length the statement does not know."""
WARNED_AFTER_S = 60
"""Reads of the service's own let go of the log before."""
NOW_MS: ColumnElement[int] = literal_column("CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)")
"""The milliseconds since 1970 UTC by the machine's clock, the same within a statement."""


class ErasedLog(msgspec.Struct, frozen=True, kw_only=True):
    """A write-ahead log that may hold what was erased: its size, and how long it has."""

    size_bytes: int
    seconds: float


class SqliteDatabase:
    """A SQLite file: read connections, one write connection at a time under a file lock."""

    insert = staticmethod(dialect.insert)
    now_ms = NOW_MS
    quick_reads = True
    parts: Sequence[StoragePart] = ()
    locks_rows = False
    """Its writers queue at the file lock."""
    parallel_reads = sys.maxsize

    def __init__(self, folder: Path) -> None:
        # Whole, since SQLite may take one that begins with "file:" for an address.
        self.path = folder.absolute() / FILE_NAME
        self._erased = folder / ERASED_NAME
        self._folder = folder
        self.outages = Outages(f"in {folder}")
        self._prepare(folder)
        with (folder / LOCK_NAME).open("rb") as file:
            self._lock_map = mmap.mmap(file.fileno(), MARK_BYTES, prot=mmap.PROT_READ)
        self._mark = memoryview(self._lock_map).cast("Q")
        self.reading_engine = self._engine("BEGIN")
        # A plain BEGIN locks at the first write, and that fails at once if others wrote since the first read.
        self.writing_engine = self._engine("BEGIN IMMEDIATE")
        event.listen(self.writing_engine, "connect", _prepare_writing)
        self.engines = (self.reading_engine, self.writing_engine)
        # Rows of pieces are many: they go to the driver without SQLAlchemy, as what `run` runs.
        self._upsert_sql = {table: _insert_sql(statements.upsert, table) for table in (pieces, event_ids)}
        self._insert_sql = {table: _insert_sql(statements.insert_missing, table) for table in (event_ids,)}
        self._writing: Connection | None = None
        self._local = threading.local()
        self._guard = threading.Lock()
        self._thread_connections: list[sqlite3.Connection] = []

    def _prepare(self, folder: Path) -> None:
        """Make the files for the owner only, whatever the process's umask is."""
        try:
            make_folder(folder)
            for path in (self.path, folder / LOCK_NAME):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except OSError as error:
            if error.errno in FULL_ERRORS:
                raise explain(error, self.outages) from error
            raise StorageUnavailable(f"The folder {folder} cannot be written ({error.strerror}).") from error
        # The change to WAL waits for nobody: of two processes that make it at once, one would fail.
        with driver_errors(self.outages), self.exclusive(), contextlib.closing(self._connect()) as connection:
            try:
                connection.execute("PRAGMA journal_mode=WAL").fetchall()
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
                    raise StorageIncompatible(f"The file {self.path} is no SQLite database.") from error
                raise

    def _connect(self, timeout_s: float = BUSY_TIMEOUT_S) -> sqlite3.Connection:
        # Opened by its thread, closed by the one that closes the database: the driver forbids that unless told.
        return sqlite3.connect(self.path, check_same_thread=False, timeout=timeout_s)

    def _engine(self, begin: str) -> Engine:
        """Return a pool of configured connections whose transactions begin by this statement."""
        engine = create_engine(
            # Made of its parts: in a text, % and ? of the folder's name would be read as an address's.
            URL.create("sqlite+pysqlite", database=str(self.path)),
            poolclass=QueuePool,
            max_overflow=-1,
            # What is bound holds people's ids, and errors are logged.
            hide_parameters=True,
            connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_S},
        )

        @event.listens_for(engine, "connect")
        def prepare(connection: Any, _record: Any) -> None:
            configure(connection)

        @event.listens_for(engine, "begin")
        def start(connection: Connection) -> None:
            driver: Any = connection.connection.driver_connection
            driver.execute(begin)

        return engine

    @property
    def origin(self) -> str:
        """Which database this is."""
        return f"sqlite:{self.path.resolve()}"

    def exclusive(self) -> contextlib.AbstractContextManager[None]:
        """Hold the file lock: fair between processes, and freed by the kernel if this one dies."""
        return exclusive(self._folder, self.outages)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a write transaction, which is committed at the end of the block."""
        # The lock first, the transaction within: SQLite would otherwise wait for its own lock by polling.
        with self.exclusive():
            # Kept by whoever has the lock: to take it from the pool and give it back costs more than its transaction.
            connection, self._writing = self._writing or self.writing_engine.connect(), None
            try:
                with connection.begin():
                    yield connection
            except BaseException:
                connection.close()
                raise
            self._writing = connection

    @contextlib.contextmanager
    def migrating(self) -> Iterator[Connection]:
        """Give a write transaction that no other process can be in."""
        with self.exclusive(), self.writing_engine.begin() as connection:
            yield connection

    @property
    def mark(self) -> int | None:
        """A number that is another one after each change, by whatever process; ``None`` while one is under way.

        What was read after a mark holds as long as the mark does: to look takes 0.1 us, to read a row 13.
        """
        mark = self._mark[0]
        return None if mark & 1 else mark

    def head_row(self, source_id: int) -> Sequence[Any] | None:
        """Return the row of `statements.HEAD`, on a connection held by this thread."""
        # All rows are fetched, so that the statement is reset and holds no snapshot.
        rows = self._thread_connection().execute(compile_once(statements.HEAD).sql, {"source_id": source_id}).fetchall()
        return rows[0] if rows else None

    def head_rows(self, source_ids: Sequence[int]) -> list[Sequence[Any]]:
        """Return the rows of `statements.HEAD` of several sources; those that are missing are left out."""
        return [row for number in source_ids if (row := self.head_row(number)) is not None]

    def recorded_rows(self, source_id: int, after: int, until: int) -> list[Sequence[Any]]:
        """Return the rows of `statements.RECORDED`, on a connection held by this thread."""
        return self.read_at_once(statements.RECORDED, {"source": source_id, "after": after, "until": until})

    def read_at_once(self, statement: Executable, values: Mapping[str, Any]) -> list[Sequence[Any]]:
        """Return the rows of a statement that lives as long as the process, on a connection held by this thread."""
        compiled = compile_once(statement)
        return self._thread_connection().execute(compiled.sql, {**compiled.constants, **values}).fetchall()

    def _thread_connection(self) -> sqlite3.Connection:
        opened: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if opened is not None:
            return opened
        connection = self._connect()
        configure(connection)
        with self._guard:
            self._thread_connections.append(connection)
        self._local.connection = connection
        return connection

    def run(self, connection: Connection, statement: Executable, values: Mapping[str, Any]) -> Sequence[Any]:
        """Run a statement that lives as long as the process, and return its rows; a list is the values of an ``IN``.

        By the driver itself: SQLAlchemy takes 150 us for what SQLite does in 5.
        """
        compiled = compile_once(statement)
        given = {name: json.dumps(value) if type(value) is list else value for name, value in values.items()}
        driver: Any = connection.connection.driver_connection
        return [compiled.row(each) for each in driver.execute(compiled.sql, compiled.constants | given).fetchall()]

    def upsert_rows(self, connection: Connection, into: Table, rows: Sequence[Sequence[Any]]) -> None:
        """Insert or replace rows of a source, in the order of their keys: random order slows a large table.

        By the driver itself: to bind a row through SQLAlchemy takes as long as to store it.
        """
        driver: Any = connection.connection.driver_connection
        driver.executemany(self._upsert_sql[into], sorted(rows, key=operator.itemgetter(1)))

    def insert_missing_rows(self, connection: Connection, into: Table, rows: Sequence[Sequence[Any]]) -> int:
        """Insert those rows of a source whose keys are new, as `upsert_rows` does, and return how many they are."""
        driver: Any = connection.connection.driver_connection
        cursor = driver.executemany(self._insert_sql[into], sorted(rows, key=operator.itemgetter(1)))
        return int(cursor.rowcount)

    def append_rows(self, connection: Connection, table: Table, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows, their values in the order of the table's columns, whose keys are new."""
        # By the driver itself, as in `upsert_rows`.
        driver: Any = connection.connection.driver_connection
        begun, marks = _begin_insert(table)
        size = VALUES_AT_ONCE // len(table.columns)
        whole = len(rows) - len(rows) % size
        for start in range(0, whole, size):
            values = list(itertools.chain.from_iterable(rows[start : start + size]))
            driver.execute(begun + ", ".join([marks] * size), values)
        driver.executemany(begun + marks, rows[whole:])

    def mark_erased(self) -> None:
        """Note that the log holds what this transaction removes: before its commit, under the writers' lock."""
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self._erased, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            # The commit is synced, so that the note has to be.
            sync(self._folder)

    def erased_log(self) -> ErasedLog | None:
        """Return what of the log may hold what was erased, and since when; ``None`` where nothing does."""
        try:
            since, size = self._erased.stat().st_mtime, Path(f"{self.path}-wal").stat().st_size
        except FileNotFoundError:
            return None
        return ErasedLog(size_bytes=size, seconds=max(0.0, time.time() - since)) if size else None

    def forget_log(self) -> bool:
        """Empty the write-ahead log, so that erased bytes stay in no file; return whether nobody kept it from that.

        Writers go on while the log is copied, and wait for what they wrote meanwhile and `CHECKPOINT_TIMEOUT_S`.
        """
        # A connection of its own: its short timeout holds for nothing else.
        connection = self._connect(CHECKPOINT_TIMEOUT_S)
        try:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            with self.exclusive():
                [(is_busy, _, _)] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                if not is_busy:
                    self._erased.unlink(missing_ok=True)
        finally:
            connection.close()
        return not is_busy

    def durability_warnings(self) -> list[str]:
        """Return that somebody keeps what was erased in the log; every connection has its commits synced."""
        kept = self.erased_log()
        if kept is None or kept.seconds < WARNED_AFTER_S:
            return []
        log = f"{self.path.name}-wal ({kept.size_bytes} bytes, for {kept.seconds / 60:.0f} minutes)"
        reader = "another program, such as Litestream, reads the database without a pause"
        return [f"What was erased stays in {log} while {reader}: restart that program."]

    def free_bytes(self) -> int | None:
        """Return what is free on the disk, as far as this user may take it."""
        try:
            return shutil.disk_usage(self._folder).free
        except OSError:
            return None

    def integrity_problems(self) -> list[str]:
        """Return what SQLite's own check finds."""
        with self.reading_engine.connect() as connection:
            lines = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
        return [str(line) for line in lines if line != "ok"]

    def close(self) -> None:
        """Close every connection."""
        with self._guard:
            for connection in self._thread_connections:
                connection.close()
            self._thread_connections.clear()
        if self._writing is not None:
            self._writing.close()
        self.reading_engine.dispose()
        self.writing_engine.dispose()
        self._mark.release()
        self._lock_map.close()
        self.outages.close()


class CompiledStatement(NamedTuple):
    """A statement in SQLite's words, the values that it has by itself, and what makes a row of its columns."""

    sql: str
    constants: dict[str, Any]
    row: Callable[[Sequence[Any]], Any]


@functools.cache
def _insert_sql(statement: Callable[[statements.Insert, Table], Any], table: Table) -> str:
    """Return the SQL of an insert, which forked processes have of the one that started them."""
    return str(statement(dialect.insert, table).compile(dialect=dialect.dialect()))


@functools.cache
def compile_once(statement: Any) -> CompiledStatement:
    """Return a statement for the driver; a list of texts or numbers becomes one value, however many these are."""
    compiled = statement.compile(dialect=dialect.dialect(paramstyle="named"))
    names = [column.name for column in getattr(statement, "selected_columns", ())]
    return CompiledStatement(
        _LIST.sub(r"(SELECT value FROM json_each(:\1))", str(compiled)),
        {name: value for name, value in compiled.params.items() if value is not None},
        NamedTuple("Row", [(name, Any) for name in names])._make if names else tuple,
    )


@functools.cache
def _begin_insert(table: Table) -> tuple[str, str]:
    """Return what a statement that inserts whole rows begins with, and the marks of one row."""
    # The names are the schema's, so that nothing has to be quoted.
    names = ", ".join(column.name for column in table.columns)
    return f"INSERT INTO {table.name} ({names}) VALUES ", f"({', '.join('?' * len(table.columns))})"


def is_there(folder: Path) -> bool:
    """Return whether a folder holds a database, which an empty file is none."""
    file = folder / FILE_NAME
    return file.exists() and file.stat().st_size > 0


@contextlib.contextmanager
def exclusive(folder: Path, outages: Outages | None = None) -> Iterator[None]:
    """Hold the file lock of a folder's database: no other thread or process writes to it, or opens it, meanwhile.

    SQLite's own lock makes writers poll, so that a busy process keeps others out for seconds. This one is a queue of
    the kernel: first come, first served. Each call opens the file anew, since locks belong to open files: threads of
    a process wait for each other as processes do, and a process that is killed lets go of it.

    Raises:
        StorageUnavailable: the lock's file cannot be opened.
    """
    try:
        descriptor = os.open(f"{folder}/{LOCK_NAME}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise explain(error, outages) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Odd already where a process died with the lock.
        mark = int.from_bytes(os.pread(descriptor, MARK_BYTES, 0), sys.byteorder) + 1 | 1
        _write_mark(descriptor, mark, outages)
        try:
            yield
        finally:
            # Where it stays odd, marks tell nothing until somebody has the lock again.
            with contextlib.suppress(PenchantError):
                _write_mark(descriptor, mark + 1, outages)
    finally:
        os.close(descriptor)


def _write_mark(descriptor: int, mark: int, outages: Outages | None) -> None:
    try:
        os.pwrite(descriptor, mark.to_bytes(MARK_BYTES, sys.byteorder), 0)
    except OSError as error:
        raise explain(error, outages) from error


def configure(connection: sqlite3.Connection) -> None:
    """Set what every connection needs: transactions begun by us alone, durable, erased bytes overwritten.

    Nothing that the file's own schema calls may do more than compute.
    """
    # Otherwise the driver would begin transactions by itself, and always plain ones.
    connection.isolation_level = None
    for pragma in ("synchronous=FULL", "secure_delete=ON", "trusted_schema=OFF", f"cache_size=-{CACHE_KIB}"):
        connection.execute(f"PRAGMA {pragma}").fetchall()


def _prepare_writing(connection: Any, _record: object) -> None:
    """Set what only writers need, and refuse a connection that can only read.

    SQLite opens one where the file cannot be written at the moment. The pool would keep it, and every change on
    it would fail long after the file can be written again.

    Raises:
        sqlite3.OperationalError: it can only read.
    """
    for pragma in (f"cache_size=-{WRITING_CACHE_KIB}", f"wal_autocheckpoint={LOG_PAGES}"):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    connection.execute("BEGIN IMMEDIATE")
    try:
        # The least that is a change; to begin a transaction is none.
        connection.execute("PRAGMA user_version = 0")
    finally:
        connection.execute("ROLLBACK")
