"""Migrations: which schema a database has, and how it becomes the present one; looked at whenever it is opened."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from penchant.errors import StorageIncompatible
from penchant.storage.schema import unfinished_move

_VERSION_TABLE = "alembic_version"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


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
    found = connection.execute(text(f"SELECT version_num FROM {_VERSION_TABLE}")).scalar_one_or_none()
    scripts = ScriptDirectory.from_config(_config())
    known = {revision.revision for revision in scripts.walk_revisions()}
    if found is not None and found not in known:
        raise StorageIncompatible(
            f"The database has the schema {found} of a newer release; upgrade penchant to use it."
        )
    return found == scripts.get_current_head()


def is_ours(connection: Connection) -> bool:
    """Return whether the database has a schema of ours, of whichever release."""
    return inspect(connection).has_table(_VERSION_TABLE)


def migrate(connection: Connection) -> None:
    """Bring the schema to the present one, within the caller's transaction."""
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
