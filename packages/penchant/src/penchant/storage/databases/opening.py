"""Opening of a database, SQLite or PostgreSQL, with the schema of this release, and its transactions."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from sqlalchemy import ColumnElement, Connection

from penchant.errors import PenchantError, Refused
from penchant.storage import migrations, statements
from penchant.storage.bodies import Dictionaries
from penchant.storage.databases.connections import ServerOptions, count_connections, driver_errors
from penchant.storage.databases.sqlite import SqliteDatabase, is_there
from penchant.storage.parts import StoragePart, load_parts, require_erasers
from penchant.telemetry import Metrics

if TYPE_CHECKING:
    from penchant.storage.databases.postgresql import PostgresqlDatabase

AnyDatabase: TypeAlias = "SqliteDatabase | PostgresqlDatabase"


class Transactions:
    """Opens transactions for all stores of a database; the driver's errors come out as ours."""

    def __init__(self, database: AnyDatabase) -> None:
        self.database = database
        self.dictionaries = Dictionaries()

    @property
    def insert(self) -> statements.Insert:
        """The dialect's INSERT."""
        return self.database.insert

    @property
    def now_ms(self) -> ColumnElement[int]:
        """The database's own clock, in milliseconds since 1970 UTC: nodes go by it for what one of them does (D235)."""
        return self.database.now_ms

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that sees one moment."""
        with driver_errors(self.database.outages), self.database.reading_engine.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction that is committed, and synced, at the end of the block."""
        with driver_errors(self.database.outages), self.database.writing() as connection:
            yield connection
        self.database.outages.end_writing()


def open_database(  # noqa: PLR0913  # what a database is opened with
    folder: Path,
    url: str | None,
    *,
    options: ServerOptions | None = None,
    metrics: Metrics | None = None,
    moving: bool = False,
    make: bool = True,
    parts: Sequence[StoragePart] | None = None,
) -> AnyDatabase:
    """Open the database in a folder, or the PostgreSQL database of an address, and bring its schema up to date.

    ``moving`` opens the target of a move that is not finished, too; ``parts`` are those of this release where
    nothing is said.

    Raises:
        InvalidSettings: a part names people and cannot forget one.
        Refused: there is none, and it is not to be made.
        StorageUnavailable: it cannot be reached or written, or would acknowledge changes before they are synced.
        StorageIncompatible: it is another program's, a newer release's, or the target of an unfinished move.
    """
    if not make and url is None and not is_there(folder):
        raise Refused(f"There is no database in {folder}.")
    database = _database(folder, url, options or ServerOptions())
    database.parts = parts = load_parts() if parts is None else require_erasers(parts)
    if metrics is not None:
        count_connections(database.engines, metrics)
    try:
        with driver_errors(database.outages):
            with database.reading_engine.connect() as connection:
                current = migrations.is_current(connection, parts, moving=moving)
                if not (current or make or migrations.is_ours(connection)):
                    raise Refused(f"The database {database.outages.place} is empty.")
            # Looked at twice: of processes that start together one migrates; under the lock the others find it done.
            if not current:
                with database.migrating() as connection:
                    if not migrations.is_current(connection, parts, moving=moving):
                        migrations.migrate(connection, parts)
    except PenchantError:
        database.close()
        raise
    return database


def now_ms() -> int:
    """Return the wall clock in milliseconds since 1970 UTC, which stamps changes."""
    return time.time_ns() // 1_000_000


def _database(folder: Path, url: str | None, options: ServerOptions) -> AnyDatabase:
    if url is None:
        return SqliteDatabase(folder)
    from penchant.storage.databases.postgresql import PostgresqlDatabase  # noqa: PLC0415  # its drivers are slow to import

    return PostgresqlDatabase(url, options)
