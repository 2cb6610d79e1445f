"""Parts of the storage that plugins bring: tables of their own, and what happens to them with a source and a person.

A part is installed or not. What one that is not has left in the database is kept as it is (`unknown_tables`). Its
revisions are a history of its own, beside that of the core, in the table ``alembic_version_NAME``.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import BigInteger, Column, Connection, Integer, LargeBinary, MetaData, Table, Text, inspect

from penchant.errors import InvalidSettings
from penchant.hooks import packages
from penchant.storage.schema import lineage, metadata, removed, unfinished_move
from penchant_engine.model import StoredInteraction

if TYPE_CHECKING:
    from penchant.storage.transaction import SourceCommand, WriteTransaction

PERSON_COLUMNS = frozenset({"user_id", "user_key", "person"})
"""Columns that name a person; one of another name says ``info={"person": True}``."""
VERSION_TABLE = "alembic_version"
owed_erasures = Table(
    "owed_erasures",
    MetaData(),
    Column("source_id", BigInteger, primary_key=True, autoincrement=False),
    Column("number", LargeBinary, primary_key=True),
    Column("hidden", LargeBinary, nullable=False),
    Column("tables", Text, nullable=False),
)
"""Erasures that did not reach tables of packages that are not installed (`storage.owed_erasures`): the person's id,
masked by the ``number`` beside it, and the names of the tables, a line each."""

RecordedInteraction = tuple[StoredInteraction, Any, bool]
"""An interaction that was stored, its ``shown_in``, and whether a browser key has reported it."""


class StoragePart(msgspec.Struct, frozen=True, kw_only=True):
    """What a plugin adds to the storage.

    ``tables`` are its own, with ``source_id`` where they are a source's; those that have an ``incarnation`` hold rows
    of earlier ones until ``purge`` removes them, of all others a source's rows go with it. ``revisions`` is a folder of
    Alembic revisions, the newest of which is ``revision``; the first ones must bear that a table is made already.

    ``check`` raises where a command that steers a source may not be done at once. ``record`` goes on from interactions
    that were just stored, ``erase`` deletes what is stored of a person, by their id, and tells whether there was
    anything; both are given the row of the source, with its interactions counter locked. ``follow`` returns what views
    of a source carry of the part, read with the source's number at the moment of its feed. Where that
    ``follows_people``, the source's version is raised when ``erase`` deleted something, so that it is read anew.
    ``purge`` removes up to a number of rows of a source of each kind that are past their life, at a moment, where a
    number of days are kept, and returns how many.
    """

    name: str
    tables: tuple[Table, ...] = ()
    revisions: Path | None = None
    revision: str | None = None
    check: "Callable[[WriteTransaction, SourceCommand[Any]], None] | None" = None
    record: "Callable[[WriteTransaction, Any, Sequence[RecordedInteraction]], None] | None" = None
    erase: "Callable[[WriteTransaction, Any, str], bool] | None" = None
    follow: Callable[[Connection, int], Any] | None = None
    follows_people: bool = True
    purge: Callable[[Connection, int, int, int, int], int] | None = None

    @property
    def version_table(self) -> str:
        """The table with its revision."""
        return f"{VERSION_TABLE}_{self.name}"


OWED_ERASURES = StoragePart(name="owed_erasures", tables=(owed_erasures,))
"""What the service itself keeps for packages that are not installed, in the way of theirs."""


@functools.cache
def load_parts() -> tuple[StoragePart, ...]:
    """Return the parts of the packages that are installed, after the one that the service has itself."""
    own = (*metadata.tables, owed_erasures.name)
    return (OWED_ERASURES, *require_erasers(packages().tables(own)))


def require_erasers(parts: Iterable[StoragePart]) -> tuple[StoragePart, ...]:
    """Return parts, of which each that names people can forget one.

    Raises:
        InvalidSettings: one cannot, so that nothing is opened with it.
    """
    parts = tuple(parts)
    for part in parts:
        named = [table.name for table in part.tables if any(map(_names_person, table.c))]
        if named and part.erase is None:
            raise InvalidSettings(
                f"The plugin {part.name} keeps people in the table {named[0]} and has no `erase`: take it out, or ask "
                "whoever wrote it for one."
            )
    return parts


def tables_of(parts: Sequence[StoragePart], *, of_sources: bool) -> tuple[Table, ...]:
    """Return the tables of parts that are of sources, or those that are of none."""
    return tuple(table for part in parts for table in part.tables if ("source_id" in table.c) is of_sources)


def own_tables(parts: Sequence[StoragePart]) -> dict[str, Table]:
    """Return all tables that are ours by name, those of earlier schemas and of parts too."""
    core = (*metadata.tables.values(), *removed.tables.values(), lineage, unfinished_move)
    return {table.name: table for table in (*core, *(table for part in parts for table in part.tables))}


def unknown_tables(connection: Connection, parts: Sequence[StoragePart]) -> list[str]:
    """Return the names of tables in a database that are of no part that is installed, ascending; they are kept."""
    known = own_tables(parts).keys() | {VERSION_TABLE} | {part.version_table for part in parts}
    return sorted(set(inspect(connection).get_table_names()) - known)


def unknown_source_tables(connection: Connection, parts: Sequence[StoragePart]) -> list[Table]:
    """Return those of `unknown_tables` that are of sources, with the columns that say of which life of which one."""
    found = []
    for name in unknown_tables(connection, parts):
        types = {each["name"]: each["type"] for each in inspect(connection).get_columns(name)}
        if isinstance(types.get("source_id"), Integer):
            columns = [Column(each, BigInteger) for each in ("source_id", "incarnation") if each in types]
            found.append(Table(name, MetaData(), *columns))
    return found


def _names_person(column: Any) -> bool:
    return column.name in PERSON_COLUMNS or bool(column.info.get("person"))
