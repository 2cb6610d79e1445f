"""Objects in an SQLite file that no schema of ours has: triggers, views, other tables, columns and indexes.

A file that is handed over can hold a trigger that changes rows behind our back, whenever we write others. So a file is
only taken where it holds nothing beyond tables and indexes that we know, in form and by name.
"""

import sqlite3

from penchant.storage.schema import lineage, metadata, removed, unfinished_move

_OWN = (*metadata.tables.values(), *removed.tables.values(), lineage, unfinished_move)
OWN_TABLES = {table.name: table for table in _OWN}
OWN_INDEXES = frozenset(str(index.name) for table in OWN_TABLES.values() for index in table.indexes)
VERSION_TABLE = "alembic_version"
OF_SQLITE = ("sqlite_autoindex_", "sqlite_stat")
"""How the names begin of what SQLite makes by itself: indexes of keys, and the statistics of ANALYZE."""
ORDINARY = 0
"""What SQLite says of a column that is neither hidden nor generated."""


def find_foreign_objects(connection: sqlite3.Connection) -> list[str]:
    """Return the names of objects that no schema of ours has; none for a file of any release of ours."""
    found = []
    for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master"):
        if name.startswith(OF_SQLITE):
            continue
        is_own = {"table": name in OWN_TABLES or name == VERSION_TABLE, "index": name in OWN_INDEXES}
        if not is_own.get(kind, False) or "VIRTUAL" in (sql or "").upper().split("(")[0].split():
            found.append(f"the {kind} {name}")
        elif name in OWN_TABLES:
            found += _foreign_columns(connection, name)
    return found


def _foreign_columns(connection: sqlite3.Connection, table: str) -> list[str]:
    """Return the columns of a table that it should not have, and those whose value is worked out by an expression."""
    columns = connection.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (table,)).fetchall()
    own = OWN_TABLES[table].columns
    return [f"the column {table}.{name}" for name, hidden in columns if name not in own or hidden != ORDINARY]
