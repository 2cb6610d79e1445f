"""Off switch: the people of whom nothing is recorded, neither what they do nor what they are shown (D182).

Preferences with ``"personal": false`` switch somebody off. A row of them also has the keyed hash by which lists name
the person, since a report of what was seen knows people by it alone.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, Connection, select

from penchant.storage import statements
from penchant.storage.hashing import list_person, user_key
from penchant.storage.schema import preferences
from penchant.storage.secrets import LIST_IDS, ensure_secret


def off_person(connection: Connection, insert_into: statements.Insert, key: bytes) -> bytes:
    """Return what the preferences of a person who is switched off are marked with."""
    return list_person(ensure_secret(connection, insert_into, LIST_IDS), key)


def off_users(connection: Connection, row: Any, user_ids: Iterable[str]) -> frozenset[str]:
    """Return which of these people of a source are switched off."""
    if not _is_anybody_off(connection, row.source_id):
        return frozenset()
    ids = {user_key(row.source_id, each): each for each in user_ids}
    return frozenset(ids[key] for key in _found(connection, row, preferences.c.user_key, ids))


def off_list_people(connection: Connection, row: Any, people: Iterable[bytes]) -> frozenset[bytes]:
    """Return which of the people whom lists of a source name are switched off."""
    if not _is_anybody_off(connection, row.source_id):
        return frozenset()
    return frozenset(_found(connection, row, preferences.c.off_person, set(people)))


def _is_anybody_off(connection: Connection, source: int) -> bool:
    is_off = (preferences.c.source_id == source) & preferences.c.off_person.is_not(None)
    return connection.execute(select(preferences.c.off_person).where(is_off).limit(1)).first() is not None


def _found(connection: Connection, row: Any, column: ColumnElement[bytes], keys: Iterable[bytes]) -> list[bytes]:
    """Return which of some keys a column has in rows of people who are switched off."""
    is_off = (preferences.c.source_id == row.source_id) & preferences.c.off_person.is_not(None)
    # Preferences from before a clearing, which housekeeping has yet to remove, do not count.
    is_off &= preferences.c.version > row.interactions_cleared_at
    return [
        bytes(key)
        for some in statements.portions(keys)
        for key in connection.execute(select(column).where(is_off, column.in_(some))).scalars()
    ]
