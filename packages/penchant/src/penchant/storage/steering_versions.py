"""Versions of what steers a source: its settings, whitelist and blacklist, kept whole, the newest hundred of each.

What nodes of earlier releases changed, and what stood before any version was kept, is stored with the next change, by
nobody in particular, at the version of then.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, delete, insert, select

from penchant.differences import Change, differences
from penchant.storage.databases.opening import Transactions
from penchant.storage.schema import keys, steering_versions

SETTINGS = "settings"
"""The subject of settings; lists are subjects by their names."""
MAX_STEERING_VERSIONS = 100
"""Versions of a subject that are listed; one more is kept, so that of the oldest one it is known what it changed."""
READ_TOGETHER = 8
"""Bodies that are read at once."""
_COLUMNS = steering_versions.c
_QUICK = 1
"""A level of compression: 2 ms for the longest list, within the transaction."""


class SteeringVersion(msgspec.Struct, frozen=True):
    """What a subject was from a version on; ``actor`` is "" where that is not known.

    ``body`` are settings as they are stored, or a list's ids as JSON.
    """

    version: int
    recorded_at: int
    actor: str
    body: bytes


class SteeringEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A version as it is listed: whose, with a name if there is one, what it changed, and what the subject was."""

    version: int
    recorded_at: int
    actor: str
    actor_name: str | None
    changes: Sequence[Change]
    state: Any


class SteeringVersionStore:
    """The versions of settings and lists of all sources."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def list_versions(
        self, source_id: int, subject: str, decode: Callable[[bytes], Any], version: int | None = None
    ) -> Iterator[SteeringEntry]:
        """Yield the newest versions of a subject, newest first, or one of them alone.

        ``decode`` makes of a body what is compared. A few are read at once: a hundred may have 200 MB.
        """
        own = (_COLUMNS.source_id == source_id) & (_COLUMNS.subject == subject)
        entries = select(_COLUMNS.version, _COLUMNS.recorded_at, _COLUMNS.actor, keys.c.name.label("actor_name"))
        statement = entries.outerjoin(keys, keys.c.key_id == _COLUMNS.actor).where(own)
        with self._transactions.read() as connection:
            rows = connection.execute(statement.order_by(_COLUMNS.version.desc())).all()
            first, end = 0, min(len(rows), MAX_STEERING_VERSIONS)
            if version is not None:
                first = next((place for place in range(end) if rows[place].version == version), end)
                end = min(first + 1, end)
            bodies = map(decode, chain(_bodies(connection, own, rows[first : end + 1]), [b""]))
            now = next(bodies)
            for place in range(first, end):
                row, before = rows[place], next(bodies)
                # Before the first one there was nothing, unless that is kept no more.
                is_known = place + 1 < len(rows) or len(rows) < MAX_STEERING_VERSIONS
                yield SteeringEntry(
                    version=row.version,
                    recorded_at=row.recorded_at,
                    actor=row.actor,
                    actor_name=row.actor_name,
                    changes=differences(before, now) if is_known else (),
                    state=now,
                )
                now = before


def _bodies(connection: Connection, own: ColumnElement[bool], rows: Sequence[Any]) -> Iterator[bytes]:
    """Yield the bodies of versions, a few of which are read at once."""
    versions = [row.version for row in rows]
    for start in range(0, len(versions), READ_TOGETHER):
        some = versions[start : start + READ_TOGETHER]
        statement = select(_COLUMNS.version, _COLUMNS.body).where(own, _COLUMNS.version.in_(some))
        found = {row.version: row.body for row in connection.execute(statement)}
        yield from (zlib.decompress(found[version]) for version in some)


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
        oldest = kept.offset(MAX_STEERING_VERSIONS + 1).limit(1).scalar_subquery()
        connection.execute(delete(steering_versions).where(own, _COLUMNS.version <= oldest))
