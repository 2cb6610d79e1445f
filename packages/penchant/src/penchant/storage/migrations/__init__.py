"""Migrations: which schema a database has, and how it becomes the present one; looked at whenever it is opened."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, inspect, text

from penchant.errors import StorageIncompatible
from penchant.storage.parts import VERSION_TABLE, StoragePart
from penchant.storage.schema import unfinished_move

PRESENT = "0023"
"""The newest revision: a database that has it is opened without Alembic, which takes long to import."""


def is_current(connection: Connection, parts: Sequence[StoragePart] = (), *, moving: bool = False) -> bool:
    """Return whether the schema is the present one, that of parts too; ``False`` for an empty or an older one.

    Raises:
        StorageIncompatible: another program's tables, a newer release's, or, but for a move itself (``moving``),
            the target of a move that is not finished.
    """
    tables = inspect(connection).get_table_names()
    if unfinished_move.name in tables and not moving:
        raise StorageIncompatible(
            "The database is the target of a move that is not finished; run `penchant move` again."
        )
    if VERSION_TABLE not in tables:
        if tables:
            raise StorageIncompatible("The database holds tables of another program; name an empty one.")
        return False
    revision = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar_one_or_none()
    if revision == PRESENT:
        return all(_has_part(connection, part, tables) for part in parts)
    if revision is not None and revision > PRESENT:
        raise StorageIncompatible(
            f"The database has the schema {revision} of a newer release; upgrade penchant to use it."
        )
    return False


def _has_part(connection: Connection, part: StoragePart, tables: Collection[str]) -> bool:
    """Return whether the tables of a part are there, as its newest revision has them."""
    if not all(table.name in tables for table in part.tables):
        return False
    if part.revision is None:
        return True
    if part.version_table not in tables:
        return False
    revision = connection.execute(text(f"SELECT version_num FROM {part.version_table}")).scalar_one_or_none()
    if revision is not None and revision > part.revision:
        raise StorageIncompatible(f"The database has the schema {revision} of a newer {part.name}; upgrade it.")
    return bool(revision == part.revision)


def is_ours(connection: Connection) -> bool:
    """Return whether the database has a schema of ours, of whichever release."""
    return inspect(connection).has_table(VERSION_TABLE)


def migrate(connection: Connection, parts: Sequence[StoragePart] = ()) -> None:
    """Bring the schema to the present one, within the caller's transaction."""
    from penchant.storage.migrations import revisions  # noqa: PLC0415  # Alembic is slow to import and seldom needed

    revisions.upgrade(connection)
    for part in parts:
        revisions.upgrade_part(connection, part)
