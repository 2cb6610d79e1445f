"""Migrations: which schema a database has, and how it becomes the present one; looked at whenever it is opened."""

from sqlalchemy import Connection, inspect, text

from penchant.errors import StorageIncompatible
from penchant.storage.schema import unfinished_move

PRESENT = "0021"
"""The newest revision: a database that has it is opened without Alembic, which takes long to import."""
_VERSION_TABLE = "alembic_version"


def is_current(connection: Connection, *, moving: bool = False) -> bool:
    """Return whether the schema is the present one; ``False`` for an empty or an older one.

    Raises:
        StorageIncompatible: another program's tables, a newer release's, or, but for a move itself (``moving``),
            the target of a move that is not finished.
    """
    tables = inspect(connection).get_table_names()
    if unfinished_move.name in tables and not moving:
        raise StorageIncompatible(
            "The database is the target of a move that is not finished; run `penchant move` again."
        )
    if _VERSION_TABLE not in tables:
        if tables:
            raise StorageIncompatible("The database holds tables of another program; name an empty one.")
        return False
    revision = connection.execute(text(f"SELECT version_num FROM {_VERSION_TABLE}")).scalar_one_or_none()
    if revision == PRESENT:
        return True
    if revision is not None and revision > PRESENT:
        raise StorageIncompatible(
            f"The database has the schema {revision} of a newer release; upgrade penchant to use it."
        )
    return False


def is_ours(connection: Connection) -> bool:
    """Return whether the database has a schema of ours, of whichever release."""
    return inspect(connection).has_table(_VERSION_TABLE)


def migrate(connection: Connection) -> None:
    """Bring the schema to the present one, within the caller's transaction."""
    from penchant.storage.migrations import revisions  # noqa: PLC0415  # Alembic is slow to import and seldom needed

    revisions.upgrade(connection)
