"""Writes of people's preferences: a row for each person who has some, at a version of the interactions' counter."""

from typing import Any

from sqlalchemy import Connection, delete

from penchant.storage import statements
from penchant.storage.hashing import user_key
from penchant.storage.interaction_counters import clock_of, raise_version
from penchant.storage.records import ReplacePreferences
from penchant.storage.schema import preferences


def replace(
    connection: Connection, insert_into: statements.Insert, row: Any, command: ReplacePreferences, now: int
) -> int:
    """Store a person's preferences, or remove them, and return the version at which the interactions then are.

    ``row`` is the source's, with its interactions counter locked. To remove what is not there takes no version.
    """
    key = user_key(row.source_id, command.user_id)
    version = int(row.interactions_version) + 1
    if command.preferences:
        stored = {
            "source_id": row.source_id,
            "user_key": key,
            "version": version,
            "user_id": command.user_id,
            "body": command.preferences,
        }
        connection.execute(statements.upsert(insert_into, statements.PREFERENCES_KEY), stored)
    elif not remove(connection, row, key):
        return version - 1
    raise_version(connection, row.source_id, version, max(now, clock_of(connection, row.source_id)))
    return version


def remove(connection: Connection, row: Any, key: bytes) -> bool:
    """Delete a person's preferences; return whether there were some that count."""
    own = (preferences.c.source_id == row.source_id) & (preferences.c.user_key == key)
    version = connection.execute(delete(preferences).where(own).returning(preferences.c.version)).scalar_one_or_none()
    # Those from before a clearing, which housekeeping has yet to remove, do not count.
    return version is not None and version > row.interactions_cleared_at
