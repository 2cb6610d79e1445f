"""How is PostgreSQL opened, locked and written? Everything that only PostgreSQL needs."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, create_engine, make_url, text
from sqlalchemy.dialects import postgresql as dialect

from penchant.storage import statements
from penchant.storage.records import PieceRow

MIGRATION_LOCK = 0x70656E6368616E74
"""The advisory lock's number: the letters of the project's name."""
COPY_FROM_ROWS = 32
"""Fewer rows go faster without the temporary table."""
POOL_SIZE = 8
POOL_OVERFLOW = 24
"""Connections per process: PostgreSQL's default is 100 in all."""

NETWORK = {
    "connect_timeout": 3,
    "keepalives_idle": 3,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 7_000,
}
"""A network that drops everything is noticed within 7 seconds, instead of the system's quarter of an hour."""

STAGE = text(
    "CREATE TEMPORARY TABLE IF NOT EXISTS staged_pieces (source_id bigint, piece_id text, version bigint,"
    " deleted boolean, first_submitted_at bigint, codec smallint, body bytea) ON COMMIT DELETE ROWS"
)
COPY = (
    "COPY staged_pieces (source_id, piece_id, version, deleted, first_submitted_at, codec, body)"
    " FROM STDIN (FORMAT BINARY)"
)
COPY_TYPES = ("int8", "text", "int8", "bool", "int8", "int2", "bytea")
UNSTAGE = text(
    "INSERT INTO pieces (source_id, piece_id, version, deleted, first_submitted_at, codec, body)"
    " SELECT source_id, piece_id, version, deleted, first_submitted_at, codec, body FROM staged_pieces"
    " ON CONFLICT (source_id, piece_id) DO UPDATE SET version = excluded.version,"
    " deleted = excluded.deleted, first_submitted_at = excluded.first_submitted_at,"
    " codec = excluded.codec, body = excluded.body"
)


class PostgresqlDatabase:
    """A PostgreSQL database: pooled connections, rows locked by the transactions themselves."""

    insert = staticmethod(dialect.insert)
    quick_reads = False

    def __init__(self, url: str) -> None:
        address = url.replace("postgresql://", "postgresql+psycopg://", 1)
        self.writing_engine = create_engine(
            address,
            pool_size=POOL_SIZE,
            max_overflow=POOL_OVERFLOW,
            isolation_level="READ COMMITTED",
            connect_args={name: value for name, value in NETWORK.items() if name not in make_url(address).query},
        )
        self.reading_engine = self.writing_engine.execution_options(isolation_level="REPEATABLE READ")
        self._head_engine = self.writing_engine.execution_options(isolation_level="AUTOCOMMIT")

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Nothing to hold: the counter rows are locked within the transaction."""
        yield

    @contextlib.contextmanager
    def migrating(self) -> Iterator[Connection]:
        """Give a write transaction that no other process can be in."""
        with self.writing_engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": MIGRATION_LOCK})
            yield connection

    def head_row(self, source_id: int) -> Sequence[Any] | None:
        """Return the row of `statements.HEAD`."""
        with self._head_engine.connect() as connection:
            return connection.execute(statements.HEAD, {"source_id": source_id}).one_or_none()

    def upsert_pieces(self, connection: Connection, rows: Sequence[PieceRow]) -> None:
        """Insert or replace rows of pieces: many through COPY into a temporary table."""
        if len(rows) < COPY_FROM_ROWS:
            connection.execute(statements.upsert(self.insert, statements.PIECES_KEY), [row._asdict() for row in rows])
            return
        connection.execute(STAGE)
        connection.exec_driver_sql("TRUNCATE staged_pieces")
        driver: Any = connection.connection.driver_connection
        with driver.cursor() as cursor, cursor.copy(COPY) as copy:
            copy.set_types(COPY_TYPES)
            for row in rows:
                copy.write_row(row)
        connection.execute(UNSTAGE)

    def forget_log(self) -> None:
        """Nothing to do: the log is the server's."""

    def integrity_problems(self) -> list[str]:
        """Return nothing: PostgreSQL's own tools check its files."""
        return []

    def close(self) -> None:
        """Close every connection."""
        self.writing_engine.dispose()
