"""Moves from one database into another: source by source, compared, and only then released.

The old side is only read and may be served meanwhile. The new side carries a mark until both hold the same: until
then nothing else opens it. Each source is copied in one transaction, so a move that was killed goes on where it was.

    empty --mark--> marked --passes over sources--> same versions --compare rows--> the same --> the mark is removed
                      ^                                  |                |
                      |                                  |                +--(differs)--> copied anew, compared again
                      +---(killed, or still served)------+
"""

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Connection, Table, insert, inspect, select

from penchant.errors import Refused
from penchant.storage.databases.connections import ServerOptions, driver_errors
from penchant.storage.databases.opening import AnyDatabase, now_ms, open_database
from penchant.storage.parts import tables_of, unknown_tables
from penchant.storage.schema import SHARED_TABLES, SOURCE_TABLES, accounts, metadata, secrets, sources, unfinished_move
from penchant.storage.upkeep.copying import copy_shared, copy_source, standings, stream

PASSES = 5
"""How often what has changed meanwhile is copied again, before the writers have to be stopped."""
DIGEST_BYTES = 16
SHARED_NAME = "all accounts"
"""What the tables that belong to no source are listed under: no source's name is without its account and a slash."""

_row_bytes = msgspec.msgpack.Encoder().encode
"""The canonical bytes of a row: types and lengths are part of them."""

Tell = Callable[[str], None]


class MoveSide(msgspec.Struct, frozen=True, kw_only=True):
    """Where a database is: in a folder, or, with an address, in PostgreSQL."""

    folder: Path
    url: str | None = None
    options: ServerOptions | None = None


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows there are, and the BLAKE2b of all of them in the order of their keys, in hexadecimal."""

    rows: int
    checksum: str


class TableComparison(msgspec.Struct, frozen=True, kw_only=True):
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


def move(old: MoveSide, new: MoveSide, *, served: bool, tell: Tell) -> list[TableComparison]:
    """Copy everything to the new side and return how both sides compare; where nothing differs, the move is done.

    ``served`` tells that a server runs on the old side: then all is copied that is there, and the last pass is left
    to another run. Tables of packages that are not installed are left behind. ``tell`` gets a line for whatever was
    copied, or was not.

    Raises:
        Refused: the new side holds something else; a server runs on the old side, or it is still being changed.
            What was copied stays, and the next run goes on there.
    """
    with driver_errors(), _opened(old, new) as (before, after):
        _begin(before, after)
        with before.reading_engine.connect() as connection:
            for table in unknown_tables(connection, before.parts):
                tell(f"{table}: left behind, as the package that it is of is not installed")
        _copy_until_equal(before, after, tell)
        copy_shared(before, after)
        if served:
            raise Refused(
                "All is copied so far. A server still runs on the old side: stop it, and run this again to finish."
            )
        compared = _repaired(before, after, list(compare(before, after)), tell)
        # A source may have been changed after it was compared.
        if standings(before) != standings(after):
            raise _changing("The old side was changed while both were compared.")
        if not any(each.differs for each in compared):
            _finish(after)
        return compared


def compare_sides(old: MoveSide, new: MoveSide) -> list[TableComparison]:
    """Return how both sides compare, of a move that is done or not; nothing is made."""
    with driver_errors(), _opened(old, new, make=False) as (before, after):
        return list(compare(before, after))


@contextlib.contextmanager
def _opened(old: MoveSide, new: MoveSide, *, make: bool = True) -> Iterator[tuple[AnyDatabase, AnyDatabase]]:
    with (
        contextlib.closing(open_database(old.folder, old.url, options=old.options, make=False)) as before,
        contextlib.closing(open_database(new.folder, new.url, options=new.options, moving=True, make=make)) as after,
    ):
        if before.origin == after.origin:
            raise Refused("Both sides are the same database.")
        yield before, after


def _begin(old: AnyDatabase, new: AnyDatabase) -> None:
    """Mark the new side, unless it is marked already.

    Raises:
        Refused: it holds something, or is the target of another move.
    """
    with new.migrating() as connection:
        if inspect(connection).has_table(unfinished_move.name):
            origin = connection.execute(select(unfinished_move.c.origin)).scalar_one()
            if origin != old.origin:
                raise Refused(f"The new side is the target of an unfinished move from another database ({origin}).")
            return
        if not _is_empty(connection, new):
            raise Refused("The new side is not empty. Name a folder or database that holds nothing yet.")
        unfinished_move.create(connection)
        connection.execute(insert(unfinished_move), {"origin": old.origin, "epoch": now_ms()})


def _is_empty(connection: Connection, database: AnyDatabase) -> bool:
    # A server that was started there once has left its secrets, which hide nothing yet.
    tables = {*metadata.tables.values(), *(table for part in database.parts for table in part.tables)} - {secrets}
    return all(connection.execute(select(1).select_from(table).limit(1)).first() is None for table in tables)


def _copy_until_equal(old: AnyDatabase, new: AnyDatabase, tell: Tell) -> None:
    """Copy what differs by its versions, again and again, until a pass finds nothing to copy.

    Raises:
        Refused: every pass found something.
    """
    for _ in range(PASSES):
        copied = 0
        # Of both sides: a source purged from the old one since it was copied has to go from the new one.
        numbers = standings(old) | standings(new)
        names = source_names(new) | source_names(old)
        for number in numbers:
            if copy_source(old, new, number):
                tell(f"{names.get(number, number)}: copied")
                copied += 1
        if not copied:
            return
    raise _changing(f"After {PASSES} passes the old side is still being changed.")


def _repaired(old: AnyDatabase, new: AnyDatabase, compared: list[TableComparison], tell: Tell) -> list[TableComparison]:
    """Copy the sources anew that differ though they stand at the same versions, and compare those again.

    Housekeeping removes rows without a new version, so that a source that was copied before may hold some more.
    """
    different = {each.source_id: each.name for each in compared if each.differs and each.source_id is not None}
    again: dict[int | None, list[TableComparison]] = {}
    for number, name in different.items():
        copy_source(old, new, number, anew=True)
        tell(f"{name}: differed, copied anew")
        again[number] = compare_source(old, new, number, name)
    kept = [each for each in compared if each.source_id not in again]
    return [*(each for part in again.values() for each in part), *kept]


def _finish(new: AnyDatabase) -> None:
    """Remove the mark of the new side, so that servers and commands may open it."""
    with new.migrating() as connection:
        unfinished_move.drop(connection)
    new.forget_log()


def _changing(what: str) -> Refused:
    return Refused(f"{what} Stop its server and whatever else writes to it, and run this again; what was copied stays.")


def compare(old: AnyDatabase, new: AnyDatabase) -> Iterator[TableComparison]:
    """Yield every table of every source, ascending by name, and the shared ones; a source in one transaction a side."""
    named = source_names(new) | source_names(old)
    for number, name in sorted(named.items(), key=lambda item: item[1]):
        yield from compare_source(old, new, number, name)
    yield from _compare(old, new, (*SHARED_TABLES, *tables_of(old.parts, of_sources=False)), None, SHARED_NAME)


def compare_source(old: AnyDatabase, new: AnyDatabase, source: int, name: str) -> list[TableComparison]:
    """Return the tables of a source; the epoch, which rises on the way, is left out."""
    return _compare(old, new, (*SOURCE_TABLES, *tables_of(old.parts, of_sources=True)), source, name)


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
