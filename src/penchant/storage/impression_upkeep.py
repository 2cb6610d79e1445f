"""Upkeep of impressions and their counts: what housekeeping removes of them, a chunk at a time."""

from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, bindparam, delete, select

from penchant.model import DAY_MS, IMPRESSION_DAYS
from penchant.storage.list_keys import first_key
from penchant.storage.schema import impressions, placement_counts, placement_people, placement_pieces, sources

COUNT_DAYS = 800
"""How long counts are kept: two years to compare, and some time to do it."""


def purge_impressions(connection: Connection, source: int, *, now: int, chunk: int, retention_days: int) -> int:
    """Remove up to ``chunk`` rows of each table that are past their life, or of a deleted source.

    What people were shown goes by the age of the list: as soon as no more is taken in of it.
    """
    head = select(sources.c.incarnation, sources.c.deleted).where(sources.c.source_id == source)
    row = connection.execute(head).one()
    days = min(retention_days, IMPRESSION_DAYS)
    oldest = first_key(now - days * DAY_MS)
    first_day = now // DAY_MS - COUNT_DAYS
    ages: dict[Table, Any] = {
        impressions: impressions.c.list_key < oldest,
        placement_people: placement_people.c.day < now // DAY_MS - days,
        placement_counts: placement_counts.c.day < first_day,
        placement_pieces: placement_pieces.c.last_day < first_day,
    }
    # Rows of one incarnation lie together, those of former ones first.
    present = row.incarnation + 1 if row.deleted else row.incarnation
    removed = 0
    for table, is_old in ages.items():
        own = table.c.source_id == source
        # Two look-ups, each along the key: with both conditions in one, all rows of the source would be read.
        for is_gone in (table.c.incarnation < present, and_(table.c.incarnation == row.incarnation, is_old)):
            removed += _remove(connection, table, and_(own, is_gone), chunk)
    return removed


def _remove(connection: Connection, table: Table, is_gone: ColumnElement[bool], chunk: int) -> int:
    """Remove up to ``chunk`` rows key by key: for a list of keys SQLite would look through the whole source."""
    columns = table.primary_key.columns
    keys = [row._asdict() for row in connection.execute(select(*columns).where(is_gone).limit(chunk))]
    if keys:
        connection.execute(delete(table).where(*(column == bindparam(column.name) for column in columns)), keys)
    return len(keys)
