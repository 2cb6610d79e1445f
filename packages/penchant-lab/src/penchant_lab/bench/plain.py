"""Plain storage: what a database takes in from one process without the service, as a baseline for it."""

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from penchant_lab.bench.server import BenchFailed

DICTIONARY_BYTES = 64 * 1024
ROWS_A_COMMIT = 32
"""Interactions that one commit holds: as many as there are connections."""
_PIECES = "CREATE TABLE plain_pieces (source BIGINT, id TEXT, body {bytes}, PRIMARY KEY (source, id))"
_ROWS = (
    "CREATE TABLE plain_rows (source BIGINT, version BIGINT, person TEXT, piece TEXT, PRIMARY KEY (source, version))"
)
_MERGE = (
    "INSERT INTO plain_pieces SELECT * FROM plain_stage"
    " ON CONFLICT (source, id) DO UPDATE SET body = excluded.body; TRUNCATE plain_stage"
)


def _driver() -> Any:
    import psycopg  # noqa: PLC0415  # only a run on PostgreSQL needs it, and it takes 0.1 s

    return psycopg


def require_empty(address: str) -> None:
    """Raise `BenchFailed` unless a PostgreSQL database is there and holds no service."""
    try:
        with _driver().connect(address) as connection:
            row = connection.execute("SELECT to_regclass('sources')").fetchone()
    except _driver().Error as error:
        raise BenchFailed(f"The database cannot be used: {error}") from error
    if row is None or row[0] is not None:
        raise BenchFailed("The database holds a service already; name an empty one, which is then filled.")


def seconds_of_pieces(bodies: Sequence[bytes], folder: Path, address: str | None) -> float:
    """Return the seconds that it takes to decode, compress and store these submissions."""
    pieces = msgspec.json.decode(bodies[0])
    # Compressed as the service does it, so that the figures differ by what the service adds.
    dictionary = zstandard.train_dictionary(DICTIONARY_BYTES, [msgspec.json.encode(piece) for piece in pieces])
    compressor = zstandard.ZstdCompressor(level=3, dict_data=dictionary)

    def rows(body: bytes) -> list[tuple[int, str, bytes]]:
        return [
            (1, piece["id"], compressor.compress(msgspec.json.encode(piece))) for piece in msgspec.json.decode(body)
        ]

    if address is None:
        with closing(_file(folder)) as file:
            began = time.perf_counter()
            for body in bodies:
                file.execute("BEGIN IMMEDIATE")
                file.executemany("INSERT OR REPLACE INTO plain_pieces VALUES (?, ?, ?)", rows(body))
                file.execute("COMMIT")
            seconds = time.perf_counter() - began
        _remove(folder)
        return seconds
    with _driver().connect(address, autocommit=True) as server:
        _make(server)
        server.execute("CREATE TEMPORARY TABLE plain_stage (LIKE plain_pieces)")
        began = time.perf_counter()
        for body in bodies:
            with server.transaction(), server.cursor() as cursor:
                with cursor.copy("COPY plain_stage FROM STDIN (FORMAT BINARY)") as copy:
                    copy.set_types(("int8", "text", "bytea"))
                    for row in rows(body):
                        copy.write_row(row)
                cursor.execute(_MERGE)
        seconds = time.perf_counter() - began
        _drop(server)
    return seconds


def interactions_a_second(seconds: float, folder: Path, address: str | None) -> float:
    """Return how many rows one connection stores, 32 to a commit, each commit durable."""
    count = 0
    if address is None:
        with closing(_file(folder)) as file:
            began = time.perf_counter()
            while time.perf_counter() - began < seconds:
                file.execute("BEGIN IMMEDIATE")
                file.executemany("INSERT INTO plain_rows VALUES (?, ?, ?, ?)", _rows(count))
                file.execute("COMMIT")
                count += ROWS_A_COMMIT
            rate = count / (time.perf_counter() - began)
        _remove(folder)
        return rate
    with _driver().connect(address, autocommit=True) as server:
        _make(server)
        began = time.perf_counter()
        while time.perf_counter() - began < seconds:
            with server.transaction(), server.cursor() as cursor:
                cursor.executemany("INSERT INTO plain_rows VALUES (%s, %s, %s, %s)", _rows(count))
            count += ROWS_A_COMMIT
        rate = count / (time.perf_counter() - began)
        _drop(server)
    return rate


def _rows(first: int) -> list[tuple[int, int, str, str]]:
    return [(1, version, f"person-{version}", "piece") for version in range(first, first + ROWS_A_COMMIT)]


def _file(folder: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(folder / "plain.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL").fetchall()
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(_PIECES.format(bytes="BLOB"))
    connection.execute(_ROWS)
    return connection


def _remove(folder: Path) -> None:
    for left in folder.glob("plain.db*"):
        left.unlink()


def _make(server: Any) -> None:
    # A run that was killed may have left its tables.
    _drop(server)
    server.execute(_PIECES.format(bytes="BYTEA"))
    server.execute(_ROWS)


def _drop(server: Any) -> None:
    server.execute("DROP TABLE IF EXISTS plain_pieces, plain_rows")
