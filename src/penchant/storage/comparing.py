"""Comparison of two databases: each table of each source is read in order on both sides, row by row."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, Table, select

from penchant.storage.copying import SHARED, SOURCE_TABLES, stream
from penchant.storage.opening import AnyDatabase
from penchant.storage.schema import accounts, sources

DIGEST_BYTES = 16
SHARED_NAME = "all accounts"
"""What the tables that belong to no source are listed under: no source's name is without its account and a slash."""

_row_bytes = msgspec.msgpack.Encoder().encode
"""The canonical bytes of a row: types and lengths are part of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """How many rows there are, and the BLAKE2b of all of them in the order of their keys, in hexadecimal."""

    rows: int
    checksum: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableComparison:
    """One table of one source (``source_id``; ``None``: of no source) on both sides.

    ``name`` is that of the account and the source.
    """

    name: str
    source_id: int | None
    table: str
    old: Fingerprint
    new: Fingerprint

    @property
    def differs(self) -> bool:
        """Whether the rows of the two sides differ."""
        return self.old != self.new


def compare(old: AnyDatabase, new: AnyDatabase) -> Iterator[TableComparison]:
    """Yield every table of every source, ascending by name, and the shared ones; a source in one transaction a side."""
    named = source_names(new) | source_names(old)
    for number, name in sorted(named.items(), key=lambda item: item[1]):
        yield from compare_source(old, new, number, name)
    yield from compare_shared(old, new)


def compare_source(old: AnyDatabase, new: AnyDatabase, source: int, name: str) -> list[TableComparison]:
    """Return the tables of a source; the epoch, which rises on the way, is left out."""
    return _compare(old, new, SOURCE_TABLES, source, name)


def compare_shared(old: AnyDatabase, new: AnyDatabase) -> list[TableComparison]:
    """Return the tables that belong to no source."""
    return _compare(old, new, SHARED, None, SHARED_NAME)


def source_names(database: AnyDatabase) -> dict[int, str]:
    """Return the name of every source, with its account's, by its number."""
    statement = select(sources.c.source_id, sources.c.name, sources.c.deleted, accounts.c.name.label("account"))
    statement = statement.outerjoin(accounts, accounts.c.account_id == sources.c.account_id)
    with database.reading_engine.connect() as connection:
        rows = connection.execute(statement).all()
    return {row.source_id: f"{row.account}/{row.name}{' (deleted)' if row.deleted else ''}" for row in rows}


def fingerprint(connection: Connection, table: Table, source: int | None) -> Fingerprint:
    """Return the fingerprint of a table, of one source or all of it."""
    # Both databases give rows in the same order: texts in keys sort by code point (`schema.BY_CODE_POINT`), and the
    # values of a row come as the same Python types. So equal rows give equal bytes, whichever database they are from.
    columns = [column for column in table.columns if column is not sources.c.epoch]
    statement = select(*columns).order_by(*table.primary_key.columns)
    if source is not None:
        statement = statement.where(table.c.source_id == source)
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    count = 0
    for rows in stream(connection, statement):
        count += len(rows)
        digest.update(b"".join([_row_bytes(tuple(row)) for row in rows]))
    return Fingerprint(rows=count, checksum=digest.hexdigest())


def _compare(
    old: AnyDatabase, new: AnyDatabase, tables: tuple[Table, ...], source: int | None, name: str
) -> list[TableComparison]:
    def fingerprints(database: AnyDatabase) -> list[Fingerprint]:
        # All tables of a source at one moment: otherwise a change between two of them would look like damage.
        with database.reading_engine.connect() as connection:
            return [fingerprint(connection, table, source) for table in tables]

    pairs: Any = zip(tables, fingerprints(old), fingerprints(new), strict=True)
    return [
        TableComparison(name=name, source_id=source, table=table.name, old=before, new=after)
        for table, before, after in pairs
    ]
