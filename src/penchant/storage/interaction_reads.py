"""Reads of what people did and said, each one statement within the transaction of its caller."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, func, literal_column, select

from penchant.model import DAY_MS, StoredInteraction
from penchant.storage.hashing import user_key
from penchant.storage.person_records import RecordedChanges
from penchant.storage.records import InteractionChange, InteractionQuery
from penchant.storage.schema import ERASURE_CODE, INTERACTIONS, TYPE_CODES, TYPES, counters, interactions, preferences
from penchant.storage.statements import STATED_CODE

_PREFERENCES = (
    select(preferences.c.body)
    .select_from(preferences)
    .join(
        counters,
        (counters.c.source_id == preferences.c.source_id) & (counters.c.kind == literal_column(str(INTERACTIONS))),
    )
    .where(
        preferences.c.source_id == bindparam("source"),
        preferences.c.user_key == bindparam("user"),
        preferences.c.version > counters.c.cleared_at,
    )
)


def user_interactions(connection: Connection, source: int, query: InteractionQuery) -> list[StoredInteraction]:
    """Return a person's interactions newest first, of one millisecond the later recorded first."""
    cleared_at = (
        select(counters.c.cleared_at)
        .where(counters.c.source_id == source, counters.c.kind == INTERACTIONS)
        .scalar_subquery()
    )
    statement = select(
        interactions.c.piece_id,
        interactions.c.type,
        interactions.c.occurred_at,
        interactions.c.version,
        interactions.c.event_id,
    ).where(
        interactions.c.source_id == source,
        interactions.c.user_key == user_key(source, query.user_id),
        interactions.c.type != ERASURE_CODE,
        interactions.c.occurred_at >= query.since,
        interactions.c.version > cleared_at,
    )
    if query.until is not None:
        statement = statement.where(interactions.c.occurred_at <= query.until)
    if query.piece_id is not None:
        statement = statement.where(interactions.c.piece_id == query.piece_id)
    if query.type is not None:
        statement = statement.where(interactions.c.type == TYPE_CODES[query.type])
    statement = statement.order_by(interactions.c.occurred_at.desc(), interactions.c.version.desc())
    return [
        StoredInteraction(
            user_id=query.user_id,
            piece_id=row[0],
            type=TYPES[row[1]],
            occurred_at=row[2],
            version=row[3],
            event_id=row[4],
        )
        for row in connection.execute(statement.offset(query.skip).limit(query.limit))
    ]


def user_preferences(connection: Connection, source: int, user_id: str) -> bytes:
    """Return a person's preferences as stored JSON, empty for none."""
    asked = {"source": source, "user": user_key(source, user_id)}
    return bytes(connection.execute(_PREFERENCES, asked).scalar_one_or_none() or b"")


def recorded_changes(rows: Sequence[Sequence[Any]], after: int, until: int) -> RecordedChanges:
    """Return what rows of `statements.RECORDED`, those after a version and up to another, tell."""
    recorded = [
        InteractionChange(version, user_key, piece_id, TYPES[code], occurred_at)
        for version, user_key, piece_id, code, occurred_at in rows
        if code not in {ERASURE_CODE, STATED_CODE}
    ]
    stated = [row[1] for row in rows if row[3] == STATED_CODE]
    # Each version was given to one row.
    return RecordedChanges(recorded, stated, is_whole=len(rows) == until - after)


def interactions_by_day(connection: Connection, source: int, since: int, limit: int) -> list[tuple[int, int]]:
    """Return UTC days with their numbers of interactions, ascending: of the newest ``limit`` from ``since`` on.

    Along the index by age; what interactions of a source that was deleted left behind is not counted.
    """
    cleared_at = (
        select(counters.c.cleared_at)
        .where(counters.c.source_id == source, counters.c.kind == INTERACTIONS)
        .scalar_subquery()
    )
    newest = (
        select(interactions.c.occurred_at, interactions.c.type, interactions.c.version)
        .where(interactions.c.source_id == source, interactions.c.occurred_at >= since)
        .order_by(interactions.c.occurred_at.desc())
        .limit(limit)
        .subquery()
    )
    # Written out, since two parameters of the same value would be two expressions to PostgreSQL.
    day = newest.c.occurred_at.op("/")(literal_column(str(DAY_MS))).label("day")
    statement = (
        select(day, func.count())
        .where(newest.c.type != ERASURE_CODE, newest.c.version > cleared_at)
        .group_by(day)
        .order_by(day)
    )
    return [(int(row[0]), int(row[1])) for row in connection.execute(statement)]
