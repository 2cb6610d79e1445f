"""Housekeeping: what it removes, whether a database answers, and where its rows disagree with each other."""

from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import (
    Connection,
    and_,
    delete,
    func,
    literal_column,
    or_,
    select,
    text,
    update,
)
from zstandard import ZstdError

from penchant.errors import StorageIncompatible
from penchant.storage import statements
from penchant.storage.accounts import purge_sessions
from penchant.storage.bodies import BodyReader, Dictionaries
from penchant.storage.databases.connections import NO_ROOM_WARNING, connections_in_use, driver_errors
from penchant.storage.databases.opening import Transactions, now_ms
from penchant.storage.databases.sqlite import ErasedLog
from penchant.storage.group_commit import Lane
from penchant.storage.parts import StoragePart, tables_of, unknown_tables
from penchant.storage.schema import (
    CONTENT,
    ERASURE_CODE,
    INTERACTIONS,
    SOURCE_TABLES,
    accounts,
    audit,
    counters,
    event_ids,
    interactions,
    keys,
    pieces,
    preferences,
    pulls,
    sources,
    taken_back,
)
from penchant.storage.statements import cleared_at
from penchant_engine.model import DAY_MS

PURGE_CHUNK = 1_000
"""Rows of a kind, and of a source, that one step of housekeeping removes."""
TOMBSTONE_LIFE_MS = 7 * DAY_MS
"""How long a deletion stays in the feed: a follower away for longer rebuilds."""
BATCH_ROWS = 500

RetentionDays = Callable[[bytes], int]


class Upkeep:
    """Housekeeping and checks of a database while it is used."""

    def __init__(self, transactions: Transactions, lanes: Mapping[str, Lane]) -> None:
        self._transactions = transactions
        self._database = transactions.database
        self._lanes = lanes

    @property
    def queued(self) -> dict[str, tuple[int, int]]:
        """How many changes wait in each lane, and the size of their bodies."""
        return {name: lane.queued for name, lane in self._lanes.items()}

    @property
    def connections(self) -> int:
        """How many connections are in use."""
        return connections_in_use(self._database.engines)

    def describe(self) -> tuple[str, int | None]:
        """Return which database server or library there is, and the bytes that a server says it takes."""
        with self._transactions.read() as connection:
            dialect = connection.dialect
            size = None
            if dialect.name == "postgresql":
                size = connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one()
            return f"{dialect.name} {'.'.join(map(str, dialect.server_version_info or ()))}", size

    def count_former_pulls(self) -> int:
        """Return how many addresses a service read again and again before penchant-import did (docs/pull.md)."""
        with self._transactions.read() as connection:
            return connection.execute(select(func.count()).select_from(pulls)).scalar_one()

    def ping(self) -> list[str]:
        """Return what an operator should be warned of, once the database has answered.

        Raises:
            StorageUnavailable: it does not answer, or acknowledges changes before they are synced.
        """
        with self._transactions.read() as connection:
            connection.execute(text("SELECT 1"))
        with driver_errors(self._database.outages):
            warnings = self._database.durability_warnings()
        return [*warnings, NO_ROOM_WARNING] if self.lacks_room() else warnings

    def lacks_room(self) -> bool:
        """Return whether the disk is full, as far as this process can tell, or a change found no room just now."""
        return self._database.outages.lacks_room(self._database.free_bytes())

    def purge(
        self,
        retention_days: RetentionDays,
        *,
        audit_days: int = 0,
        now: int | None = None,
        chunk: int = PURGE_CHUNK,
    ) -> int:
        """Remove a chunk of what no answer needs any more, a transaction per source; return the rows removed.

        ``audit_days`` is how long the audit log and keys that have ended are kept; 0: for good.
        """
        with self._transactions.write() as connection:
            if removed := _purge_administration(connection, now or now_ms(), chunk, audit_days):
                self._database.mark_erased()
        with self._transactions.read() as connection:
            numbers = _source_numbers(connection)
        for number in numbers:
            # A transaction for each source and chunk: in between writers get their turn.
            with self._transactions.write() as connection:
                if gone := _purge_source(
                    connection, self._database.parts, number, now or now_ms(), chunk, retention_days
                ):
                    # It is overwritten in the database, but still in the write-ahead log.
                    self._database.mark_erased()
                removed += gone
        return removed

    def erased_log(self) -> ErasedLog | None:
        """Return what of the write-ahead log may hold what was erased, and since when; ``None`` where nothing does."""
        with driver_errors(self._database.outages):
            return self._database.erased_log()

    def forget_log(self) -> bool:
        """Empty the write-ahead log; return whether nobody kept it from that. In no transaction."""
        with driver_errors(self._database.outages):
            return self._database.forget_log()

    def unknown_tables(self) -> list[str]:
        """Return the tables that are of no plugin that is installed: they are kept as they are."""
        with self._transactions.read() as connection:
            return unknown_tables(connection, self._database.parts)

    def check(self) -> list[str]:
        """Return what is wrong with what is stored; nothing where all is well."""
        with driver_errors(self._database.outages):
            problems = self._database.integrity_problems()
        with self._transactions.read() as connection:
            for number in _source_numbers(connection):
                problems += _source_problems(connection, number)
        return problems


def _purge_source(
    connection: Connection,
    parts: Sequence[StoragePart],
    source: int,
    now: int,
    chunk: int,
    retention_days: RetentionDays,
) -> int:
    """Remove up to ``chunk`` rows of each kind that no answer needs any more; return how many went."""
    removed = _purge_pieces(connection, source, now, chunk)
    settings = connection.execute(select(sources.c.settings).where(sources.c.source_id == source)).scalar_one()
    days = retention_days(bytes(settings))
    removed += _purge_interactions(connection, source, now, chunk, days)
    # A late repeat of what was taken back is known for as long as it would count.
    is_old = taken_back.c.taken_at < (now // DAY_MS - days) * DAY_MS
    gone = (taken_back.c.source_id == source) & or_(is_old, taken_back.c.version <= cleared_at(source, INTERACTIONS))
    removed += statements.remove_chunk(connection, taken_back, gone, chunk)
    removed += sum(part.purge(connection, source, now, chunk, days) for part in parts if part.purge is not None)
    removed += _purge_erasures(connection, source, now, chunk)
    removed += _purge_preferences(connection, source, chunk)
    # Of a deleted source all rows are cleared: where nothing was left to remove, its own row may go.
    return removed or _purge_deleted_source(connection, parts, source, now)


def _purge_administration(connection: Connection, now: int, chunk: int, audit_days: int) -> int:
    """Remove up to ``chunk`` rows of each kind that belong to no source; return how many went.

    Sessions that are over; and what lies further back than ``audit_days`` (0: nothing): entries of the
    audit log, and keys that were revoked or have expired, which so are listed as long as the log may name them.
    """
    removed = purge_sessions(connection, now=now, chunk=chunk)
    if not audit_days:
        return removed
    oldest = now - audit_days * DAY_MS
    # The first entries by their number, which ascends with time: found without reading those that stay.
    first = select(audit.c.audit_id, audit.c.recorded_at).order_by(audit.c.audit_id).limit(chunk).subquery()
    old = select(first.c.audit_id).where(first.c.recorded_at < oldest)
    removed += connection.execute(delete(audit).where(audit.c.audit_id.in_(old))).rowcount
    ended_at = func.coalesce(keys.c.revoked_at, keys.c.expires_at)
    ended = select(keys.c.key_id).where(ended_at < oldest).limit(chunk)
    return removed + connection.execute(delete(keys).where(keys.c.key_id.in_(ended))).rowcount


def _source_numbers(connection: Connection) -> list[int]:
    return list(connection.execute(select(sources.c.source_id).order_by(sources.c.source_id)).scalars())


def _purge_pieces(connection: Connection, source: int, now: int, chunk: int) -> int:
    """Remove cleared rows, and old tombstones: a cursor before these must rebuild."""
    cleared = pieces.c.version <= cleared_at(source, CONTENT)
    old = and_(pieces.c.deleted, pieces.c.first_submitted_at < now - TOMBSTONE_LIFE_MS)
    rows = connection.execute(
        select(pieces.c.piece_id, pieces.c.version).where(pieces.c.source_id == source, or_(cleared, old)).limit(chunk)
    ).all()
    if not rows:
        return 0
    # A follower that has not seen a tombstone which goes must begin anew: `SourceReader` compares its cursor with this.
    _raise_purged(connection, source, CONTENT, max(row.version for row in rows))
    # By the condition again, not by ids alone: on PostgreSQL one of these pieces may have been submitted meanwhile, and
    # its row is live then.
    connection.execute(
        delete(pieces).where(
            pieces.c.source_id == source,
            pieces.c.piece_id.in_([row.piece_id for row in rows]),
            or_(cleared, old),
        )
    )
    return len(rows)


def _purge_interactions(connection: Connection, source: int, now: int, chunk: int, retention_days: int) -> int:
    """Remove cleared and expired interactions with their event ids. Followers apply retention by themselves."""
    # Whole days by UTC, as followers count them: both forget an interaction at the same midnight.
    oldest = (now // DAY_MS - retention_days) * DAY_MS
    expired = and_(interactions.c.occurred_at < oldest, interactions.c.type != ERASURE_CODE)
    cleared = interactions.c.version <= cleared_at(source, INTERACTIONS)
    versions = list(
        connection.execute(
            select(interactions.c.version).where(interactions.c.source_id == source, or_(cleared, expired)).limit(chunk)
        ).scalars()
    )
    if not versions:
        return 0
    # ``purged_below`` stays: no follower misses these rows, since it forgets them by their age, or by ``cleared_at``.
    for table in (event_ids, interactions):
        connection.execute(delete(table).where(table.c.source_id == source, table.c.version.in_(versions)))
    return len(versions)


def _purge_erasures(connection: Connection, source: int, now: int, chunk: int) -> int:
    """Remove old erasures, as tombstones: a cursor before these must rebuild."""
    # By a literal, not a bound value: only then the index of erasures is known to have them all.
    old = and_(
        interactions.c.source_id == source,
        interactions.c.type == literal_column(str(ERASURE_CODE)),
        interactions.c.occurred_at < now - TOMBSTONE_LIFE_MS,
    )
    versions = list(connection.execute(select(interactions.c.version).where(old).limit(chunk)).scalars())
    if not versions:
        return 0
    _raise_purged(connection, source, INTERACTIONS, max(versions))
    connection.execute(
        delete(interactions).where(interactions.c.source_id == source, interactions.c.version.in_(versions))
    )
    return len(versions)


def _raise_purged(connection: Connection, source: int, kind: int, version: int) -> None:
    """Note the version up to which records of what is gone are gone themselves."""
    own = and_(counters.c.source_id == source, counters.c.kind == kind, counters.c.purged_below < version)
    connection.execute(update(counters).where(own).values(purged_below=version))


def _purge_preferences(connection: Connection, source: int, chunk: int) -> int:
    """Remove cleared preferences; others stay until they are removed or their person is erased."""
    cleared = preferences.c.version <= cleared_at(source, INTERACTIONS)
    versions = select(preferences.c.version).where(preferences.c.source_id == source, cleared).limit(chunk)
    statement = delete(preferences).where(preferences.c.source_id == source, preferences.c.version.in_(versions))
    return connection.execute(statement).rowcount


def _purge_deleted_source(connection: Connection, parts: Sequence[StoragePart], source: int, now: int) -> int:
    """Remove the row of a source deleted long ago; its account keeps the version below which none is given again."""
    # Under the locks of its counters, so that a source that is made again meanwhile is seen, or waits and is new.
    locked = select(counters.c.kind, counters.c.version).where(counters.c.source_id == source)
    versions = {row.kind: row.version for row in connection.execute(locked.order_by(counters.c.kind).with_for_update())}
    account = connection.execute(
        select(sources.c.account_id).where(
            sources.c.source_id == source, sources.c.deleted, sources.c.changed_at < now - TOMBSTONE_LIFE_MS
        )
    ).scalar_one_or_none()
    if account is None:
        return 0
    floor = versions[CONTENT]
    is_lower = or_(accounts.c.version_floor.is_(None), accounts.c.version_floor < floor)
    connection.execute(update(accounts).where(accounts.c.account_id == account, is_lower).values(version_floor=floor))
    all_tables = (*SOURCE_TABLES, *tables_of(parts, of_sources=True))
    own = (delete(table).where(table.c.source_id == source) for table in all_tables)
    return sum(connection.execute(statement).rowcount for statement in own)


def _body_problems(connection: Connection, source: int, cleared: int) -> list[str]:
    reader = BodyReader(connection, source, Dictionaries())
    statement = select(pieces.c.piece_id, pieces.c.codec, pieces.c.body).where(
        pieces.c.source_id == source, pieces.c.deleted.is_(False), pieces.c.version > cleared
    )
    unreadable = 0
    for row in connection.execution_options(yield_per=BATCH_ROWS).execute(statement):
        try:
            reader.read(row.codec, row.body)
        except (StorageIncompatible, ZstdError):
            unreadable += 1
    return [f"source {source}: {unreadable} stored pieces cannot be read"] if unreadable else []


def _source_problems(connection: Connection, source: int) -> list[str]:
    """Return where the counters of a source disagree with its rows, and which bodies cannot be read."""
    content, recorded = (
        connection.execute(select(counters).where(counters.c.source_id == source, counters.c.kind == kind)).one()
        for kind in (CONTENT, INTERACTIONS)
    )
    # ``live`` is counted up and down with every change, and never counted anew: so a difference would stay.
    live, newest = connection.execute(
        select(
            func.count().filter(pieces.c.deleted.is_(False), pieces.c.version > content.cleared_at),
            func.coalesce(func.max(pieces.c.version), 0),
        ).where(pieces.c.source_id == source)
    ).one()
    newest_interaction = max(
        connection.execute(
            select(func.coalesce(func.max(table.c.version), 0)).where(table.c.source_id == source)
        ).scalar_one()
        for table in (interactions, preferences)
    )
    problems = _body_problems(connection, source, content.cleared_at)
    if live != content.live:
        problems.append(f"source {source}: {content.live} pieces are counted, {live} are stored")
    if newest > content.version:
        problems.append(f"source {source}: a piece has version {newest}, the counter stands at {content.version}")
    if newest_interaction > recorded.version:
        problems.append(
            f"source {source}: an interaction or preference has version {newest_interaction}, "
            f"the counter stands at {recorded.version}"
        )
    return problems
