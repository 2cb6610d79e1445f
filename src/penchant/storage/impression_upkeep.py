"""Upkeep of impressions and their counts: what housekeeping removes of them, a chunk at a time."""

from typing import Any

from sqlalchemy import Connection, Table, and_, delete, or_, select, tuple_

from penchant.model import DAY_MS, IMPRESSION_DAYS
from penchant.storage.schema import impressions, placement_counts, placement_pieces, sources

COUNT_DAYS = 800
"""How long counts are kept: two years to compare, and some time to do it."""
_MOMENT_BYTES = 5
"""The bytes with which the key of a list begins: its moment in seconds (`penchant.wire.list_ids`)."""


def purge_impressions(connection: Connection, source: int, *, now: int, chunk: int, retention_days: int) -> int:
    """Remove up to ``chunk`` rows of each table that are past their life, or of a deleted source.

    What people were shown goes by the age of the list: as soon as no more is taken in of it.
    """
    head = select(sources.c.incarnation, sources.c.deleted).where(sources.c.source_id == source)
    row = connection.execute(head).one()
    oldest = now // 1000 - min(retention_days, IMPRESSION_DAYS) * DAY_MS // 1000
    first_day = now // DAY_MS - COUNT_DAYS
    ages: dict[Table, Any] = {
        impressions: impressions.c.list_key < oldest.to_bytes(_MOMENT_BYTES, "big"),
        placement_counts: placement_counts.c.day < first_day,
        placement_pieces: placement_pieces.c.last_day < first_day,
    }
    # Rows of one incarnation lie together, those of former ones first.
    present = row.incarnation + 1 if row.deleted else row.incarnation
    removed = 0
    for table, is_old in ages.items():
        gone = and_(
            table.c.source_id == source,
            or_(table.c.incarnation < present, and_(table.c.incarnation == row.incarnation, is_old)),
        )
        columns = table.primary_key.columns
        keys = select(*columns).where(gone).limit(chunk)
        removed += connection.execute(delete(table).where(tuple_(*columns).in_(keys))).rowcount
    return removed
