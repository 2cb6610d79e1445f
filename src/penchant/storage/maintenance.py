"""What is removed behind the scenes, and does what is stored agree with itself?"""

from collections.abc import Callable

from sqlalchemy import Connection, ScalarSelect, and_, delete, func, or_, select, update
from zstandard import ZstdError

from penchant.errors import StorageIncompatible
from penchant.model import DAY_MS
from penchant.storage.bodies import BodyReader, Dictionaries
from penchant.storage.schema import (
    CONTENT,
    ERASURE_CODE,
    INTERACTIONS,
    counters,
    event_ids,
    interactions,
    pieces,
    sources,
)

TOMBSTONE_LIFE_MS = 7 * DAY_MS
"""How long a deletion stays in the feed: a follower away for longer rebuilds."""
BATCH_ROWS = 500

RetentionDays = Callable[[bytes], int]


def purge_source(connection: Connection, source: int, *, now: int, chunk: int, retention_days: RetentionDays) -> int:
    """Remove up to ``chunk`` rows of each kind that no answer needs any more; return how many went."""
    removed = _purge_pieces(connection, source, now, chunk)
    removed += _purge_interactions(connection, source, now, chunk, retention_days)
    return removed


def source_numbers(connection: Connection) -> list[int]:
    """Return the number of every source, deleted ones too, ascending."""
    return list(connection.execute(select(sources.c.source_id).order_by(sources.c.source_id)).scalars())


def problems(connection: Connection) -> list[str]:
    """Return where counters and rows disagree."""
    found = []
    for number in source_numbers(connection):
        found += _source_problems(connection, number)
    return found


def _cleared_at(source: int, kind: int) -> ScalarSelect[int]:
    return (
        select(counters.c.cleared_at).where(counters.c.source_id == source, counters.c.kind == kind).scalar_subquery()
    )


def _purge_pieces(connection: Connection, source: int, now: int, chunk: int) -> int:
    """Remove cleared rows, and old tombstones: a cursor before these must rebuild."""
    cleared = pieces.c.version <= _cleared_at(source, CONTENT)
    old = and_(pieces.c.deleted, pieces.c.first_submitted_at < now - TOMBSTONE_LIFE_MS)
    rows = connection.execute(
        select(pieces.c.piece_id, pieces.c.version).where(pieces.c.source_id == source, or_(cleared, old)).limit(chunk)
    ).all()
    if not rows:
        return 0
    counter = and_(counters.c.source_id == source, counters.c.kind == CONTENT)
    highest = max(row.version for row in rows)
    connection.execute(update(counters).where(counter, counters.c.purged_below < highest).values(purged_below=highest))
    connection.execute(
        delete(pieces).where(
            pieces.c.source_id == source,
            pieces.c.piece_id.in_([row.piece_id for row in rows]),
            or_(cleared, old),
        )
    )
    return len(rows)


def _purge_interactions(
    connection: Connection, source: int, now: int, chunk: int, retention_days: RetentionDays
) -> int:
    """Remove cleared and expired interactions with their event ids. Followers apply retention by themselves."""
    settings = connection.execute(select(sources.c.settings).where(sources.c.source_id == source)).scalar_one()
    oldest = (now // DAY_MS - retention_days(bytes(settings))) * DAY_MS
    expired = and_(interactions.c.occurred_at < oldest, interactions.c.type != ERASURE_CODE)
    cleared = interactions.c.version <= _cleared_at(source, INTERACTIONS)
    versions = list(
        connection.execute(
            select(interactions.c.version).where(interactions.c.source_id == source, or_(cleared, expired)).limit(chunk)
        ).scalars()
    )
    if not versions:
        return 0
    for table in (event_ids, interactions):
        connection.execute(delete(table).where(table.c.source_id == source, table.c.version.in_(versions)))
    return len(versions)


def _body_problems(connection: Connection, source: int, cleared_at: int) -> list[str]:
    """Return the bodies of live pieces that cannot be read."""
    reader = BodyReader(connection, source, Dictionaries())
    statement = select(pieces.c.piece_id, pieces.c.codec, pieces.c.body).where(
        pieces.c.source_id == source, pieces.c.deleted.is_(False), pieces.c.version > cleared_at
    )
    unreadable = 0
    for row in connection.execution_options(yield_per=BATCH_ROWS).execute(statement):
        try:
            reader.read(row.codec, row.body)
        except (StorageIncompatible, ZstdError):
            unreadable += 1
    return [f"source {source}: {unreadable} stored pieces cannot be read"] if unreadable else []


def _source_problems(connection: Connection, source: int) -> list[str]:
    content, recorded = (
        connection.execute(select(counters).where(counters.c.source_id == source, counters.c.kind == kind)).one()
        for kind in (CONTENT, INTERACTIONS)
    )
    live, newest = connection.execute(
        select(
            func.count().filter(pieces.c.deleted.is_(False), pieces.c.version > content.cleared_at),
            func.coalesce(func.max(pieces.c.version), 0),
        ).where(pieces.c.source_id == source)
    ).one()
    newest_interaction = connection.execute(
        select(func.coalesce(func.max(interactions.c.version), 0)).where(interactions.c.source_id == source)
    ).scalar_one()
    found = _body_problems(connection, source, content.cleared_at)
    if live != content.live:
        found.append(f"source {source}: {content.live} pieces are counted, {live} are stored")
    if newest > content.version:
        found.append(f"source {source}: a piece has version {newest}, the counter stands at {content.version}")
    if newest_interaction > recorded.version:
        found.append(
            f"source {source}: an interaction has version {newest_interaction}, "
            f"the counter stands at {recorded.version}"
        )
    return found
