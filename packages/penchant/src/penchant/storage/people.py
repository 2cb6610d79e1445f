"""People as they are stored: nothing of them is, but their interactions and what they have said of themselves.

Preferences with ``"personal": false`` switch somebody off: nothing is recorded of them, neither what they do nor what
they are shown. A row of such preferences also has the keyed hash by which lists name the person, since a report
of what was seen knows people by it alone.
"""

import sys
from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, bindparam, func, literal_column, or_, select, union

from penchant.storage import statements
from penchant.storage.databases.connections import driver_errors
from penchant.storage.databases.opening import AnyDatabase, Transactions
from penchant.storage.databases.sqlite import SqliteDatabase
from penchant.storage.hashing import list_person, user_key
from penchant.storage.records import InteractionChange, InteractionQuery, RecordedChanges, StoredPerson
from penchant.storage.schema import ERASURE_CODE, INTERACTIONS, TYPE_CODES, TYPES, interactions, preferences
from penchant.storage.secrets import LIST_IDS, ensure_secret
from penchant.storage.statements import INTERACTION, STATED_CODE, cleared_at, to_interaction
from penchant_engine.model import DAY_MS, RATINGS, InteractionType, StoredInteraction, counted_portion

_LAST_CODE_POINT = chr(sys.maxunicode)
_MOST_ROWS = 2**31 - 1
"""More than there are of anybody, in the type that both databases take for a limit."""
_PREFERENCES = select(preferences.c.body).where(
    preferences.c.source_id == bindparam("source"),
    preferences.c.user_key == bindparam("user"),
    preferences.c.version > cleared_at(bindparam("source"), INTERACTIONS),
)
_OF_USER = (
    select(*INTERACTION)
    .where(
        interactions.c.source_id == bindparam("source"),
        interactions.c.user_key == bindparam("user"),
        interactions.c.type != literal_column(str(ERASURE_CODE)),
        interactions.c.occurred_at >= bindparam("since"),
        interactions.c.version > cleared_at(bindparam("source"), INTERACTIONS),
    )
    .order_by(interactions.c.occurred_at.desc(), interactions.c.version.desc())
    .limit(bindparam("limit"))
    .offset(bindparam("skip"))
)


def _put_together(statement: Select[Any]) -> Select[Any]:
    """Return the statement that gives all rows of another one as JSON, in their order."""
    return select(func.json_group_array(func.json_array(*statement.subquery().c)))


_COUNTED_OF_USER = _OF_USER.where(
    or_(
        interactions.c.portion.is_(None),
        interactions.c.portion != literal_column("0"),
        interactions.c.type.in_([literal_column(str(kind.code)) for kind in RATINGS]),
    )
)
"""Without those that count for nothing."""
_TOGETHER = {statement: _put_together(statement) for statement in (_OF_USER, _COUNTED_OF_USER)}
_PERSON = select(
    _TOGETHER[_COUNTED_OF_USER].scalar_subquery().label("rows"), _PREFERENCES.scalar_subquery().label("said")
)
"""All that counts of a person, as one row."""


class PeopleStore:
    """The people of all sources."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def list_interactions(self, source_id: int, query: InteractionQuery) -> list[StoredInteraction]:
        """Return a person's interactions, newest first, of one millisecond the later recorded first."""
        with self._transactions.read() as connection:
            return _interactions(connection, source_id, query)

    def read(self, source_id: int, query: InteractionQuery) -> StoredPerson:
        """Return a person's interactions, as `list_interactions`, with the preferences."""
        database = self._transactions.database
        if isinstance(database, SqliteDatabase) and query.counted and query.until is None:
            # By the driver itself, and as one statement: SQLAlchemy takes four times as long as both reads.
            with driver_errors(database.outages):
                ((rows, said),) = database.read_at_once(_PERSON, _parameters(source_id, query))
            return StoredPerson(_decoded(query.user_id, rows), said or b"")
        with self._transactions.read() as connection:
            return StoredPerson(
                _interactions(connection, source_id, query), _preferences(connection, source_id, query.user_id)
            )

    def read_preferences(self, source_id: int, user_id: str) -> bytes:
        """Return a person's preferences as stored JSON, empty for none."""
        with self._transactions.read() as connection:
            return _preferences(connection, source_id, user_id)

    def list_beginning(self, source_id: int, beginning: str, *, since: int, newest: int, limit: int) -> list[str]:
        """Return the people whose id begins so, ascending, among the ``newest`` interactions and preferences each.

        Of interactions only those from the moment ``since`` on count. Rows are known by people's hashes, so the newest
        ones are read through, whatever an id begins with.
        """
        did, stating, cleared = interactions.c, preferences.c, cleared_at(source_id, INTERACTIONS)
        # What does not count is passed over behind the limit, so that the limit bounds what is read.
        doing = select(did.user_id, did.type, did.occurred_at).where(did.version > cleared)
        acts = doing.where(did.source_id == source_id).order_by(did.version.desc()).limit(newest).subquery().c
        saying = select(stating.user_id).where(stating.version > cleared)
        stated = (
            saying.where(stating.source_id == source_id).order_by(stating.version.desc()).limit(newest).subquery().c
        )
        acting = select(acts.user_id).where(acts.type != ERASURE_CODE, acts.occurred_at >= since)
        people = union(acting, select(stated.user_id)).subquery().c
        # Text sorts by code points: what begins so comes before anything else that is not less.
        within = people.user_id >= beginning, people.user_id <= beginning + _LAST_CODE_POINT
        statement = select(people.user_id).where(*within).order_by(people.user_id).limit(limit)
        with self._transactions.read() as connection:
            return list(connection.execute(statement).scalars())

    def count_newest(self, source_id: int, *, since: int, newest: int) -> list[tuple[str, int]]:
        """Return people with how many of the ``newest`` interactions are theirs, most first, ties by id.

        Only moments from ``since`` on count.
        """
        did, cleared = interactions.c, cleared_at(source_id, INTERACTIONS)
        doing = select(did.user_id, did.type, did.occurred_at).where(did.version > cleared)
        acts = doing.where(did.source_id == source_id).order_by(did.version.desc()).limit(newest).subquery().c
        counted = select(acts.user_id, func.count()).where(acts.type != ERASURE_CODE, acts.occurred_at >= since)
        with self._transactions.read() as connection:
            rows = connection.execute(counted.group_by(acts.user_id)).all()
        return sorted(((user_id, count) for user_id, count in rows), key=lambda each: (-each[1], each[0]))

    def list_recorded(self, source_id: int, *, after: int, until: int) -> RecordedChanges:
        """Return what became of people after a version of the interactions, up to another."""
        with driver_errors(self._transactions.database.outages):
            rows = self._transactions.database.recorded_rows(source_id, after, until)
        recorded = [row for row in rows if row[3] not in {ERASURE_CODE, STATED_CODE}]
        return RecordedChanges(
            interactions=[
                InteractionChange(
                    version, user_key, piece_id, TYPES[code], occurred_at, counted_portion(TYPES[code], portion)
                )
                for version, user_key, piece_id, code, occurred_at, _, portion in recorded
                if portion != 0 or TYPES[code].is_rating
            ],
            user_ids=frozenset(row[5] for row in recorded),
            stated=[row[1] for row in rows if row[3] == STATED_CODE],
            # Each version was given to one row.
            is_whole=len(rows) == until - after,
        )

    def count_by_type(
        self, source_id: int, *, since: int, limit: int, until: int | None = None
    ) -> list[tuple[int, InteractionType, int]]:
        """Return UTC days with their numbers of interactions of each type, in no order; of the newest ``limit`` ones.

        Only moments from ``since`` on, and before ``until``, count. Along the index by age; what interactions of a
        source that was deleted left behind is not counted.
        """
        within = [interactions.c.source_id == source_id, interactions.c.occurred_at >= since]
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
            select(day, newest.c.type, func.count())
            .where(newest.c.type != ERASURE_CODE, newest.c.version > cleared_at(source_id, INTERACTIONS))
            .group_by(day, newest.c.type)
        )
        with self._transactions.read() as connection:
            return [(int(day), TYPES[code], int(count)) for day, code, count in connection.execute(statement)]

    def list_active(self, source_id: int, *, limit: int, newest: int) -> tuple[list[str], list[str]]:
        """Return the people and the pieces of most of the ``newest`` interactions, the most active first."""
        recorded = (
            select(interactions.c.user_id, interactions.c.piece_id)
            .where(
                interactions.c.source_id == source_id,
                interactions.c.version > cleared_at(source_id, INTERACTIONS),
                interactions.c.type != ERASURE_CODE,
            )
            .order_by(interactions.c.version.desc())
            .limit(newest)
            .subquery()
        )
        found = []
        with self._transactions.read() as connection:
            for column in (recorded.c.user_id, recorded.c.piece_id):
                statement = select(column).group_by(column).order_by(func.count().desc(), column).limit(limit)
                found.append(list(connection.execute(statement).scalars()))
        return found[0], found[1]


def _interactions(connection: Connection, source: int, query: InteractionQuery) -> list[StoredInteraction]:
    """Return a person's interactions newest first, of one millisecond the later recorded first."""
    statement = _COUNTED_OF_USER if query.counted else _OF_USER
    if query.until is not None:
        statement = statement.where(interactions.c.occurred_at <= query.until)
    if query.piece_id is not None:
        statement = statement.where(interactions.c.piece_id == query.piece_id)
    if query.type is not None:
        statement = statement.where(interactions.c.type == TYPE_CODES[query.type])
    parameters = _parameters(source, query)
    if connection.dialect.name != "sqlite":
        return [to_interaction(query.user_id, *row) for row in connection.execute(statement, parameters)]
    # Its driver gives the interpreter's lock back for each row, and in a busy process waits for it again each time.
    together = _TOGETHER.get(statement)
    if together is None:
        together = _put_together(statement)
    return _decoded(query.user_id, connection.execute(together, parameters).scalar_one())


def _parameters(source: int, query: InteractionQuery) -> dict[str, Any]:
    return {
        "source": source,
        "user": user_key(source, query.user_id),
        "since": query.since,
        "limit": _MOST_ROWS if query.limit is None else query.limit,
        "skip": query.skip,
    }


def _decoded(user_id: str, rows: str) -> list[StoredInteraction]:
    """Return a person's interactions of rows that were put together."""
    return [to_interaction(user_id, *row) for row in msgspec.json.decode(rows)]


def _preferences(connection: Connection, source: int, user_id: str) -> bytes:
    parameters = {"source": source, "user": user_key(source, user_id)}
    return bytes(connection.execute(_PREFERENCES, parameters).scalar_one_or_none() or b"")


def off_person(connection: Connection, insert_into: statements.Insert, key: bytes) -> bytes:
    """Return what the preferences of a person who is switched off are marked with."""
    return list_person(ensure_secret(connection, insert_into, LIST_IDS), key)


def off_users(connection: Connection, database: AnyDatabase, row: Any, user_ids: Iterable[str]) -> frozenset[str]:
    """Return which of these people of a source are switched off."""
    if not database.run(connection, statements.ANYBODY_OFF, {"source": row.source_id}):
        return frozenset()
    ids = {user_key(row.source_id, each): each for each in user_ids}
    return frozenset(ids[key] for key in _find_off(connection, row, preferences.c.user_key, ids))


def off_list_people(
    connection: Connection, database: AnyDatabase, row: Any, people: Iterable[bytes]
) -> frozenset[bytes]:
    """Return which of the people whom lists of a source name are switched off."""
    if not database.run(connection, statements.ANYBODY_OFF, {"source": row.source_id}):
        return frozenset()
    return frozenset(_find_off(connection, row, preferences.c.off_person, set(people)))


def _find_off(connection: Connection, row: Any, column: ColumnElement[bytes], keys: Iterable[bytes]) -> list[bytes]:
    """Return which of some keys a column has in rows of people who are switched off."""
    is_off = (preferences.c.source_id == row.source_id) & preferences.c.off_person.is_not(None)
    # Preferences from before a clearing, which housekeeping has yet to remove, do not count.
    is_off &= preferences.c.version > row.interactions_cleared_at
    return [
        bytes(key)
        for some in statements.portions(keys)
        for key in connection.execute(select(column).where(is_off, column.in_(some))).scalars()
    ]
