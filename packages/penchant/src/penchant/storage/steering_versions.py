"""Versions of what steers a source: its settings, whitelist and blacklist, each kept whole, the newest hundred.

What nodes of earlier releases changed, and what stood before any version was kept, is stored with the next change, by
nobody in particular, at the version of then.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, delete, insert, select

from penchant.storage.databases.opening import Transactions
from penchant.storage.schema import steering_versions

SETTINGS = "settings"
"""The subject of settings; lists are subjects by their names."""
MAX_STEERING_VERSIONS = 100
"""Versions of a subject that are kept."""
_COLUMNS = steering_versions.c
_QUICK = 1
"""A level of compression: 2 ms for the longest list, within the transaction."""


@dataclass(frozen=True, slots=True)
class SteeringVersion:
    """What a subject was from a version on; ``actor`` is "" where that is not known.

    ``body`` are settings as they are stored, or a list's ids as JSON.
    """

    version: int
    recorded_at: int
    actor: str
    body: bytes


class SteeringVersionStore:
    """The versions of settings and lists of all sources."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def list_versions(self, source_id: int, subject: str) -> list[SteeringVersion]:
        """Return the versions of a subject that are kept, newest first."""
        statement = (
            select(_COLUMNS.version, _COLUMNS.recorded_at, _COLUMNS.actor, _COLUMNS.body)
            .where(_COLUMNS.source_id == source_id, _COLUMNS.subject == subject)
            .order_by(_COLUMNS.version.desc())
        )
        with self._transactions.read() as connection:
            rows = connection.execute(statement).all()
        return [SteeringVersion(version, at, actor, zlib.decompress(body)) for version, at, actor, body in rows]


def encode_list(ids: Sequence[str]) -> bytes:
    """Return a list as versions have it; nothing for an empty one, as source settings that are the defaults."""
    return msgspec.json.encode(ids) if ids else b""


def keep_version(
    connection: Connection, source_id: int, subject: str, before: SteeringVersion, after: SteeringVersion
) -> None:
    """Store what a subject is from now on, with what it was unless that is known, and forget the oldest versions."""
    own = (_COLUMNS.source_id == source_id) & (_COLUMNS.subject == subject)
    newest = connection.execute(select(_COLUMNS.body).where(own).order_by(_COLUMNS.version.desc()).limit(1))
    known = newest.scalar_one_or_none()
    rows = [] if before.body == (b"" if known is None else zlib.decompress(known)) else [before]
    if after.body != before.body:
        rows.append(after)
    for each in rows:
        # A version is of one change; of an earlier one at the same version the later state counts.
        connection.execute(delete(steering_versions).where(own, _COLUMNS.version == each.version))
        values = {"source_id": source_id, "subject": subject, "version": each.version, "actor": each.actor}
        values |= {"recorded_at": each.recorded_at, "body": zlib.compress(each.body, _QUICK)}
        connection.execute(insert(steering_versions), values)
    if rows:
        kept = select(_COLUMNS.version).where(own).order_by(_COLUMNS.version.desc())
        oldest = kept.offset(MAX_STEERING_VERSIONS).limit(1).scalar_subquery()
        connection.execute(delete(steering_versions).where(own, _COLUMNS.version <= oldest))
