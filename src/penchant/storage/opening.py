"""Opening of a database, SQLite or PostgreSQL: with the schema of this release, or not at all."""

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from penchant.errors import PenchantError, StorageUnavailable
from penchant.storage import migrations
from penchant.storage.connections import ServerOptions, count_connections
from penchant.storage.sqlite import SqliteDatabase
from penchant.storage.translation import driver_errors
from penchant.telemetry import Metrics

if TYPE_CHECKING:
    from penchant.storage.postgresql import PostgresqlDatabase

AnyDatabase: TypeAlias = "SqliteDatabase | PostgresqlDatabase"


def open_database(
    folder: Path,
    url: str | None,
    *,
    options: ServerOptions | None = None,
    metrics: Metrics | None = None,
    moving: bool = False,
) -> AnyDatabase:
    """Open the database in a folder, or the PostgreSQL database of an address, and bring its schema up to date.

    ``moving`` opens the target of a move that is not finished, too.

    Raises:
        StorageUnavailable: it cannot be reached or written, or would acknowledge changes before they are synced.
        StorageIncompatible: it is another program's, a newer release's, or the target of an unfinished move.
    """
    database = _database(folder, url, options or ServerOptions())
    if metrics is not None:
        count_connections(database.engines, metrics)
    try:
        with driver_errors():
            with database.reading_engine.connect() as connection:
                current = migrations.is_current(connection, moving=moving)
            # Looked at twice: of processes that start together one migrates; under the lock the others find it done.
            if not current:
                with database.migrating() as connection:
                    if not migrations.is_current(connection, moving=moving):
                        migrations.migrate(connection)
    except PenchantError:
        database.close()
        raise
    return database


def _database(folder: Path, url: str | None, options: ServerOptions) -> AnyDatabase:
    if url is None:
        with driver_errors():
            return SqliteDatabase(folder)
    if not url.startswith("postgresql://"):
        raise StorageUnavailable("A database address begins with postgresql://.")
    from penchant.storage.postgresql import PostgresqlDatabase  # noqa: PLC0415  # its drivers are slow to import

    return PostgresqlDatabase(url, options)
