"""Copies of sources in another database, row by row, each made in one transaction of each side.

The old side is only read. A source that the new side holds already is brought up to date by its versions where these
lead on, and copied anew where they do not.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Select, Table, delete, func, inspect, select

from penchant.errors import Refused
from penchant.storage import statements
from penchant.storage.databases.opening import AnyDatabase
from penchant.storage.interaction_writes import delete_interactions
from penchant.storage.parts import tables_of
from penchant.storage.schema import (
    ERASURE_CODE,
    FEED_TABLES,
    SHARED_TABLES,
    SMALL_TABLES,
    counters,
    event_ids,
    interactions,
    pieces,
    preferences,
    sources,
    unfinished_move,
)
from penchant.storage.secrets import ERASURES, read_secret, reveal_key

CHUNK_ROWS = 500
"""Rows held at a time, and keys in one statement: bodies may be large."""
_HISTORY = (
    "created_at",
    "incarnation",
    "deleted",
    "cleared_at",
    "purged_below",
    "interactions_cleared_at",
    "interactions_purged_below",
)
"""What must not have changed for versions to lead on from what was copied."""

Standing = tuple[Any, ...]
"""All that tells where a source stands, but its epoch: equal on both sides once the source is copied."""


def standings(database: AnyDatabase) -> dict[int, Standing]:
    """Return where every source stands, ascending by number; deleted ones too."""
    with database.reading_engine.connect() as connection:
        rows = connection.execute(statements.HEADS_FROM, {"minimum": 0}).all()
    return {row.source_id: _standing(row) for row in sorted(rows, key=lambda row: int(row.source_id))}


def copy_source(old: AnyDatabase, new: AnyDatabase, source: int, *, anew: bool = False) -> bool:
    """Copy what a source lacks on the new side; return ``False`` where both stand at the same versions already.

    ``anew`` copies it whole, whatever is there.

    Raises:
        Refused: the new side is no longer the target of a move.
    """
    with old.reading_engine.connect() as reading, new.exclusive(), new.writing_engine.begin() as writing:
        least_epoch = require_mark(writing)
        old_row = reading.execute(statements.HEAD, {"source_id": source}).one_or_none()
        new_row = writing.execute(statements.HEAD, {"source_id": source}).one_or_none()
        copying = _SourceCopy(reading, writing, new, source)
        if old_row is None:
            # Housekeeping has purged a source that was deleted long ago, since it was copied or listed.
            copying.nothing()
            return new_row is not None
        # The epoch does not count here: it rises with every copy.
        if new_row is not None and not anew and _standing(new_row) == _standing(old_row):
            return False
        if new_row is None or anew or not _leads_on(new_row, old_row):
            copying.everything()
        else:
            copying.changes(new_row.version, new_row.interactions_version)
        # Above every epoch of before, so that what was built from an earlier copy does not go on from this one.
        copying.head(max(old_row.epoch + 1, least_epoch))
    return True


def copy_shared(old: AnyDatabase, new: AnyDatabase) -> None:
    """Make the tables that belong to no source what they are on the old side.

    Raises:
        Refused: the new side is no longer the target of a move.
    """
    with old.reading_engine.connect() as reading, new.exclusive(), new.writing_engine.begin() as writing:
        require_mark(writing)
        for table in (*SHARED_TABLES, *tables_of(old.parts, of_sources=False)):
            writing.execute(delete(table))
            for rows in stream(reading, select(table).order_by(*table.primary_key.columns)):
                new.append_rows(writing, table, rows)


def require_mark(writing: Connection) -> int:
    """Return the least epoch of what is copied; of two moves into one database one waits here for the other.

    Raises:
        Refused: there is no mark: another move has finished.
    """
    if not inspect(writing).has_table(unfinished_move.name):
        raise Refused("Another `penchant move` has finished this one; nothing more was copied.")
    return int(writing.execute(select(unfinished_move.c.epoch).with_for_update()).scalar_one())


def stream(connection: Connection, statement: Select[Any]) -> Iterator[Sequence[Sequence[Any]]]:
    """Yield the rows of a statement, some hundreds at a time."""
    result = connection.execute(statement, execution_options={"yield_per": CHUNK_ROWS})
    try:
        yield from result.partitions()
    finally:
        result.close()


class _SourceCopy:
    """Copies one source, within one read transaction of the old side and one write transaction of the new one.

    By their versions rows are followed as a follower of the feed would do it:

        old side   rows with versions 1 ... n  n+1 ... m      counter m
        new side   rows with versions 1 ... n                 counter n     then n+1 ... m are appended,
                                                                            each after the row that it replaces went
    """

    def __init__(self, reading: Connection, writing: Connection, new: AnyDatabase, source: int) -> None:
        self._reading = reading
        self._writing = writing
        self._new = new
        self._source = source
        self._small = (*SMALL_TABLES, *tables_of(new.parts, of_sources=True))
        self._secret = read_secret(reading, ERASURES)

    def nothing(self) -> None:
        for table in (sources, counters, *FEED_TABLES, *self._small):
            self._writing.execute(delete(table).where(table.c.source_id == self._source))

    def everything(self) -> None:
        for table in (*FEED_TABLES, *self._small):
            self._replace(table)

    def changes(self, version: int, interactions_version: int) -> None:
        """Copy the rows after these versions, and what they do to older ones."""
        # The interactions before their event ids: an erasure finds the event ids of a person by the interactions.
        self._follow(pieces, version, lambda rows: self._remove(pieces, "piece_id", rows))
        self._follow(interactions, interactions_version, self._forget_erased)
        self._follow(event_ids, interactions_version, lambda rows: self._remove(event_ids, "event_key", rows))
        self._follow(preferences, interactions_version, lambda rows: self._remove(preferences, "user_key", rows))
        # No row tells of those that are removed, and of those that stay the new side has all by now.
        if self._count(self._reading, preferences) != self._count(self._writing, preferences):
            self._replace(preferences)
        for table in self._small:
            self._replace(table)

    def head(self, epoch: int) -> None:
        """Copy the source's row and counters; last, since they tell what was copied."""
        self._replace(counters)
        row = self._reading.execute(select(sources).where(sources.c.source_id == self._source)).one()
        self._writing.execute(delete(sources).where(sources.c.source_id == self._source))
        self._writing.execute(sources.insert(), [row._asdict() | {"epoch": epoch}])

    def _replace(self, table: Table) -> None:
        self._writing.execute(delete(table).where(table.c.source_id == self._source))
        statement = select(table).where(table.c.source_id == self._source).order_by(*table.primary_key.columns)
        for rows in stream(self._reading, statement):
            self._new.append_rows(self._writing, table, rows)

    def _follow(self, table: Table, after: int, prepare: Callable[[Sequence[Any]], None]) -> None:
        """Append the rows after a version, each chunk once ``prepare`` has removed what it replaces."""
        statement = (
            select(table).where(table.c.source_id == self._source, table.c.version > after).order_by(table.c.version)
        )
        for rows in stream(self._reading, statement):
            prepare(rows)
            self._new.append_rows(self._writing, table, rows)

    def _count(self, connection: Connection, table: Table) -> int:
        statement = select(func.count()).select_from(table).where(table.c.source_id == self._source)
        return connection.execute(statement).scalar_one()

    def _remove(self, table: Table, column: str, rows: Sequence[Any]) -> None:
        names = [getattr(row, column) for row in rows]
        self._writing.execute(delete(table).where(table.c.source_id == self._source, table.c[column].in_(names)))

    def _forget_erased(self, rows: Sequence[Any]) -> None:
        """Do on the new side what the erasures among these rows did on the old one: delete all of their people."""
        for row in rows:
            if row.type == ERASURE_CODE:
                key = reveal_key(self._secret, bytes(row.user_key), bytes(row.piece_key))
                delete_interactions(self._writing, self._source, key)


def _standing(row: Any) -> Standing:
    return tuple(value for name, value in row._mapping.items() if name != "epoch")  # noqa: SLF001  # its public name


def _leads_on(new_row: Any, old_row: Any) -> bool:
    return (
        all(getattr(new_row, name) == getattr(old_row, name) for name in _HISTORY)
        and new_row.version <= old_row.version
        and new_row.interactions_version <= old_row.interactions_version
    )
