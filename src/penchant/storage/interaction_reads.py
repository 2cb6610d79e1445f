"""Reads of what people did and said, each one statement within the transaction of its caller."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import (
    BindParameter,
    Connection,
    ScalarSelect,
    Select,
    bindparam,
    func,
    literal_column,
    select,
    union,
)

from penchant.model import DAY_MS, StoredInteraction
from penchant.storage.hashing import user_key
from penchant.storage.person_records import RecordedChanges
from penchant.storage.records import InteractionChange, InteractionQuery
from penchant.storage.schema import ERASURE_CODE, INTERACTIONS, TYPE_CODES, TYPES, counters, interactions, preferences
from penchant.storage.statements import STATED_CODE

_LAST_CODE_POINT = chr(sys.maxunicode)
_MOST_ROWS = 2**31 - 1
"""More than there are of anybody, in the type that both databases take for a limit."""
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


def _cleared_at(source: int | BindParameter[int]) -> ScalarSelect[int]:
    """Select the version up to which interactions belong to a source that was deleted."""
    return (
        select(counters.c.cleared_at)
        .where(counters.c.source_id == source, counters.c.kind == INTERACTIONS)
        .scalar_subquery()
    )


_OF_USER = (
    select(
        interactions.c.piece_id,
        interactions.c.type,
        interactions.c.occurred_at,
        interactions.c.version,
        interactions.c.event_id,
    )
    .where(
        interactions.c.source_id == bindparam("source"),
        interactions.c.user_key == bindparam("user"),
        interactions.c.type != literal_column(str(ERASURE_CODE)),
        interactions.c.occurred_at >= bindparam("since"),
        interactions.c.version > _cleared_at(bindparam("source")),
    )
    .order_by(interactions.c.occurred_at.desc(), interactions.c.version.desc())
    .limit(bindparam("limit"))
    .offset(bindparam("skip"))
)


def _put_together(statement: Select[Any]) -> Select[Any]:
    """Return the statement that gives all rows of another one as JSON, in their order."""
    return select(func.json_group_array(func.json_array(*statement.subquery().c)))


_OF_USER_TOGETHER = _put_together(_OF_USER)


def user_interactions(connection: Connection, source: int, query: InteractionQuery) -> list[StoredInteraction]:
    """Return a person's interactions newest first, of one millisecond the later recorded first."""
    statement = _OF_USER
    if query.until is not None:
        statement = statement.where(interactions.c.occurred_at <= query.until)
    if query.piece_id is not None:
        statement = statement.where(interactions.c.piece_id == query.piece_id)
    if query.type is not None:
        statement = statement.where(interactions.c.type == TYPE_CODES[query.type])
    asked = {
        "source": source,
        "user": user_key(source, query.user_id),
        "since": query.since,
        "limit": _MOST_ROWS if query.limit is None else query.limit,
        "skip": query.skip,
    }
    return [
        StoredInteraction(
            user_id=query.user_id,
            piece_id=row[0],
            type=TYPES[row[1]],
            occurred_at=row[2],
            version=row[3],
            event_id=row[4],
        )
        for row in _rows_at_once(connection, statement, asked)
    ]


def _rows_at_once(connection: Connection, statement: Select[Any], asked: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    """Return the rows of a statement; SQLite puts them together as one.

    Its driver gives the interpreter's lock back for each row, and in a busy process waits for it again each time.
    """
    if connection.dialect.name != "sqlite":
        return connection.execute(statement, asked)
    together = _OF_USER_TOGETHER if statement is _OF_USER else _put_together(statement)
    found: list[list[Any]] = msgspec.json.decode(connection.execute(together, asked).scalar_one())
    return found


def user_preferences(connection: Connection, source: int, user_id: str) -> bytes:
    """Return a person's preferences as stored JSON, empty for none."""
    asked = {"source": source, "user": user_key(source, user_id)}
    return bytes(connection.execute(_PREFERENCES, asked).scalar_one_or_none() or b"")


def recorded_changes(rows: Sequence[Sequence[Any]], after: int, until: int) -> RecordedChanges:
    """Return what rows of `statements.RECORDED`, those after a version and up to another, tell."""
    recorded = [row for row in rows if row[3] not in {ERASURE_CODE, STATED_CODE}]
    return RecordedChanges(
        interactions=[
            InteractionChange(version, user_key, piece_id, TYPES[code], occurred_at)
            for version, user_key, piece_id, code, occurred_at, _ in recorded
        ],
        user_ids=frozenset(row[5] for row in recorded),
        stated=[row[1] for row in rows if row[3] == STATED_CODE],
        # Each version was given to one row.
        is_whole=len(rows) == until - after,
    )


def interactions_by_day(
    connection: Connection, source: int, since: int, limit: int, until: int | None = None
) -> list[tuple[int, int]]:
    """Return UTC days with their numbers of interactions, ascending: of the newest ``limit`` from ``since`` on.

    Those from the moment ``until`` on are not counted.

    Along the index by age; what interactions of a source that was deleted left behind is not counted.
    """
    within = [interactions.c.source_id == source, interactions.c.occurred_at >= since]
    if until is not None:
        within.append(interactions.c.occurred_at < until)
    newest = (
        select(interactions.c.occurred_at, interactions.c.type, interactions.c.version)
        .where(*within)
        .order_by(interactions.c.occurred_at.desc())
        .limit(limit)
        .subquery()
    )
    # Written out, since two parameters of the same value would be two expressions to PostgreSQL.
    day = newest.c.occurred_at.op("/")(literal_column(str(DAY_MS))).label("day")
    statement = (
        select(day, func.count())
        .where(newest.c.type != ERASURE_CODE, newest.c.version > _cleared_at(source))
        .group_by(day)
        .order_by(day)
    )
    return [(int(row[0]), int(row[1])) for row in connection.execute(statement)]


def people_beginning(
    connection: Connection, source: int, beginning: str, *, since: int, newest: int, limit: int
) -> list[str]:
    """Return the people whose id begins so, ascending, among the ``newest`` interactions and preferences each.

    Of interactions only those from the moment ``since`` on count. Rows are known by people's hashes, so the newest
    ones are read through, whatever an id begins with.
    """
    did, said = interactions.c, preferences.c
    # What does not count is passed over behind the limit, so that the limit bounds what is read.
    doing = select(did.user_id, did.type, did.occurred_at).where(did.version > _cleared_at(source))
    acts = doing.where(did.source_id == source).order_by(did.version.desc()).limit(newest).subquery().c
    saying = select(said.user_id).where(said.version > _cleared_at(source))
    stated = saying.where(said.source_id == source).order_by(said.version.desc()).limit(newest).subquery().c
    acting = select(acts.user_id).where(acts.type != ERASURE_CODE, acts.occurred_at >= since)
    people = union(acting, select(stated.user_id)).subquery().c
    # Text sorts by code points: what begins so comes before anything else that is not less.
    within = people.user_id >= beginning, people.user_id <= beginning + _LAST_CODE_POINT
    statement = select(people.user_id).where(*within).order_by(people.user_id).limit(limit)
    return [row[0] for row in connection.execute(statement)]
