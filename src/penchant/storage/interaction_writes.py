"""How are interactions stored once each, and how is a person erased?"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from penchant.model import Interaction, NewInteraction
from penchant.storage import statements
from penchant.storage.hashing import event_key, piece_key, user_key
from penchant.storage.records import Outcome
from penchant.storage.schema import (
    ERASURE_CODE,
    INTERACTIONS,
    TYPE_CODES,
    TYPES,
    counters,
    event_ids,
    interactions,
)


def record(
    connection: Connection, insert_into: statements.Insert, row: Any, new: Sequence[NewInteraction], now: int
) -> Outcome:
    """Store interactions but those whose event id is known; answer for each what is stored.

    ``row`` is the source's, with its interactions counter locked.
    """
    now = max(now, _clock(connection, row.source_id))
    known = _known_events(connection, row, new)
    version = int(row.interactions_version)
    answered: list[Interaction] = []
    stored: list[Interaction] = []
    events: list[dict[str, Any]] = []
    for each in new:
        key = None if each.event_id is None else event_key(row.source_id, each.event_id)
        if key is not None and key in known:
            answered.append(known[key])
            continue
        version += 1
        interaction = Interaction(
            user_id=each.user_id,
            type=each.type,
            piece_id=each.piece_id,
            occurred_at=now if each.occurred_at is None else each.occurred_at,
            version=version,
        )
        answered.append(interaction)
        stored.append(interaction)
        if key is not None:
            known[key] = interaction
            events.append({"source_id": row.source_id, "event_key": key, "version": version})
    _insert(connection, row.source_id, stored)
    if events:
        connection.execute(statements.upsert(insert_into, statements.EVENTS_KEY), events)
    if stored:
        _raise_version(connection, row.source_id, version, now)
    return Outcome(version=row.version, interactions=tuple(answered), duplicates=len(answered) - len(stored))


def erase(connection: Connection, row: Any, key: bytes, now: int) -> None:
    """Delete a person's interactions and event ids, and leave a row that tells followers to forget the key."""
    own = (interactions.c.source_id == row.source_id) & (interactions.c.user_key == key)
    versions = select(interactions.c.version).where(own)
    connection.execute(
        delete(event_ids).where(event_ids.c.source_id == row.source_id, event_ids.c.version.in_(versions))
    )
    connection.execute(delete(interactions).where(own))
    version = int(row.interactions_version) + 1
    erasure = {
        "source_id": row.source_id,
        "version": version,
        "user_key": key,
        "piece_key": b"",
        "type": ERASURE_CODE,
        "occurred_at": now,
        "user_id": "",
        "piece_id": "",
    }
    connection.execute(insert(interactions), erasure)
    _raise_version(connection, row.source_id, version, now)


def _clock(connection: Connection, source: int) -> int:
    statement = select(counters.c.clock).where(counters.c.source_id == source, counters.c.kind == INTERACTIONS)
    return int(connection.execute(statement).scalar_one())


def _known_events(connection: Connection, row: Any, new: Sequence[NewInteraction]) -> dict[bytes, Interaction]:
    """Return what is stored under the event ids of these interactions, in this incarnation."""
    asked = {event_key(row.source_id, each.event_id): each for each in new if each.event_id is not None}
    if not asked:
        return {}
    found = {
        bytes(key): version
        for key, version in connection.execute(
            select(event_ids.c.event_key, event_ids.c.version).where(
                event_ids.c.source_id == row.source_id,
                event_ids.c.event_key.in_(list(asked)),
                event_ids.c.version > row.interactions_cleared_at,
            )
        )
    }
    if not found:
        return {}
    stored = {
        each.version: each
        for each in connection.execute(
            select(interactions).where(
                interactions.c.source_id == row.source_id,
                interactions.c.version.in_(list(found.values())),
            )
        )
    }
    return {
        key: _interaction(stored[version]) if version in stored else _unstored(asked[key], version)
        for key, version in found.items()
    }


def _interaction(row: Any) -> Interaction:
    return Interaction(
        user_id=row.user_id,
        type=TYPES[row.type],
        piece_id=row.piece_id,
        occurred_at=row.occurred_at,
        version=row.version,
    )


def _unstored(new: NewInteraction, version: int) -> Interaction:
    """Return the answer for an event whose interaction has outlived its retention."""
    interaction = Interaction(user_id=new.user_id, type=new.type, piece_id=new.piece_id, occurred_at=0, version=version)
    return interaction if new.occurred_at is None else replace(interaction, occurred_at=new.occurred_at)


def _insert(connection: Connection, source: int, stored: Sequence[Interaction]) -> None:
    if not stored:
        return
    rows = [
        {
            "source_id": source,
            "version": each.version,
            "user_key": user_key(source, each.user_id),
            "piece_key": piece_key(source, each.piece_id),
            "type": TYPE_CODES[each.type],
            "occurred_at": each.occurred_at,
            "user_id": each.user_id,
            "piece_id": each.piece_id,
        }
        for each in stored
    ]
    connection.execute(insert(interactions), rows)


def _raise_version(connection: Connection, source: int, version: int, now: int) -> None:
    connection.execute(
        update(counters)
        .where(counters.c.source_id == source, counters.c.kind == INTERACTIONS)
        .values(version=version, clock=now)
    )
