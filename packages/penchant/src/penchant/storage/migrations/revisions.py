"""Revisions of the schema, as Alembic runs them; imported only where a database has not the present one."""

from pathlib import Path
from typing import Any

from alembic import command, op
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Connection, Table, inspect


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def known_revisions() -> list[str]:
    """Return the names of all revisions, the present one first."""
    return [revision.revision for revision in ScriptDirectory.from_config(_config()).walk_revisions()]


def upgrade(connection: Connection) -> None:
    """Run what is missing, within the caller's transaction."""
    config = _config()
    config.attributes["connection"] = connection
    known = set(known_revisions())
    if not known.issuperset(MigrationContext.configure(connection).get_current_heads()):
        # That of 0.1.0, or one that was never released: the first revision adds whatever such a database lacks.
        command.stamp(config, "base", purge=True)
    command.upgrade(config, "head")


def add_missing(table: Table, *columns: Column[Any]) -> list[str]:
    """Add columns to a table, but for those that it was made with; return the names of those that were missing."""
    present = {column["name"] for column in inspect(op.get_bind()).get_columns(table.name)}
    missing = [column for column in columns if column.name not in present]
    for column in missing:
        op.add_column(table.name, column)
    return [column.name for column in missing]
