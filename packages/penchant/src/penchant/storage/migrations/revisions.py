"""Revisions of the schema, as Alembic runs them; imported only where a database has not the present one."""

from pathlib import Path
from typing import Any

from alembic import command, op
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Connection, MetaData, Table, inspect

from penchant.storage.parts import VERSION_TABLE, StoragePart


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
    config.attributes |= {"connection": connection, "version_table": VERSION_TABLE}
    known = set(known_revisions())
    if not known.issuperset(MigrationContext.configure(connection).get_current_heads()):
        # That of 0.1.0, or one that was never released: the first revision adds whatever such a database lacks.
        command.stamp(config, "base", purge=True)
    command.upgrade(config, "head")


def upgrade_part(connection: Connection, part: StoragePart) -> None:
    """Make the tables of a part that are missing, and run those of its revisions that are."""
    for table in part.tables:
        table.create(connection, checkfirst=True)
    if part.revisions is not None:
        config = _config()
        config.set_main_option("version_locations", str(part.revisions).replace("%", "%%"))
        config.attributes |= {"connection": connection, "version_table": part.version_table}
        command.upgrade(config, "head")


def add_to_part(name: str, *columns: Column[Any]) -> None:
    """Add columns to a table that is a plugin's by now, where an earlier release has made it."""
    if inspect(op.get_bind()).has_table(name):
        add_missing(Table(name, MetaData()), *columns)


def add_missing(table: Table, *columns: Column[Any]) -> list[str]:
    """Add columns to a table, but for those that it was made with; return the names of those that were missing."""
    present = {column["name"] for column in inspect(op.get_bind()).get_columns(table.name)}
    missing = [column for column in columns if column.name not in present]
    for column in missing:
        op.add_column(table.name, column)
    return [column.name for column in missing]
