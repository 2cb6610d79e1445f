"""PostgreSQL: how it is connected to, locked and written; everything that only it needs."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    Connection,
    Executable,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    column,
    create_engine,
    event,
    literal_column,
    select,
    table,
    text,
)
from sqlalchemy.dialects import postgresql as dialect
from sqlalchemy.exc import DBAPIError

from penchant.errors import ConnectionLost, StorageUnavailable
from penchant.storage import statements
from penchant.storage.databases.connections import ServerOptions, parse_address, place_of
from penchant.storage.databases.outages import OutageKind, Outages
from penchant.storage.parts import StoragePart
from penchant.storage.schema import PARTIAL_INDEXES
from penchant.telemetry import logger

MIGRATION_LOCK = 0x70656E6368616E74
"""The advisory lock's number: the letters of the project's name."""
COPY_FROM_ROWS = 32
"""Fewer rows go faster without the temporary table."""
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0
"""Pauses between attempts to connect while the database is away: doubled after each that failed."""
STATEMENT_TIMEOUT_S = 120
"""The longest that one statement may take: reading a batch of a feed takes milliseconds."""
IDLE_TIMEOUT_S = 180
"""How long the server lets a transaction wait for us: longer than a slow reader may pause, and not for ever."""
ALIVE = {"keepalives_idle": 3, "keepalives_interval": 2, "keepalives_count": 2, "tcp_user_timeout": 7_000}
"""When each side takes a silent network for cut: after 7 s, where the default is up to two hours."""
SESSION = (
    f"SET statement_timeout = '{STATEMENT_TIMEOUT_S}s';"
    f" SET idle_in_transaction_session_timeout = '{IDLE_TIMEOUT_S}s';"
    " SET tcp_keepalives_idle = 3; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 2;"
    " SET tcp_user_timeout = 7000"
)

BINARY_TYPES = {
    BigInteger: "int8",
    Boolean: "bool",
    Integer: "int4",
    LargeBinary: "bytea",
    SmallInteger: "int2",
    Text: "text",
}
"""How the schema's types are called in a binary COPY."""
LINEAGE = (
    "SELECT (SELECT system_identifier FROM pg_control_system())"
    " || '/' || (SELECT oid FROM pg_database WHERE datname = current_database())"
    " || '/' || substring(pg_walfile_name(pg_current_wal_lsn()) FROM 1 FOR 8)"
)
"""The cluster, the database and the timeline: a promotion, a restore or a recovery changes at least one of them."""
NEW_EPOCH = "UPDATE sources SET epoch = greatest(epoch + 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)"
NOW_MS: ColumnElement[int] = literal_column("(extract(epoch FROM statement_timestamp()) * 1000)::bigint")
"""The milliseconds since 1970 UTC by the server's clock as a statement came in: it may then wait for a row's lock."""
DURABILITY = (
    "SELECT current_setting('synchronous_commit'), current_setting('fsync'), current_setting('full_page_writes'),"
    # The session keeps what was found: a reload of the server's settings must not change it behind our back.
    " set_config('synchronous_commit', current_setting('synchronous_commit'), false)"
)
UNSYNCED = {
    "synchronous_commit": "an acknowledged change may be gone after a crash of the server",
    "fsync": "a crash of the machine may lose acknowledged changes or damage the database",
}
"""What it means that one of these is off: then a 202 would say what is not so."""
TORN_PAGES = (
    "PostgreSQL runs with full_page_writes = off: unless its file system never writes half a page,"
    " a crash of the machine may damage the database."
)
"""Only a warning: on file systems that copy on write it is safe, and nobody can see from here which one it is."""

POOLER_TRIES = 3
SHARED_SESSIONS = (
    "Between here and PostgreSQL is a pooler that shares sessions between connections"
    " (PgBouncer: pool_mode = transaction or statement). Use its session mode (pool_mode = session),"
    " or PostgreSQL's own address: the setting database-connections limits connections already."
)
"""Settings of a session, durability and history are looked at for each connection, and would be another session's."""
STALE_PRIMARY = (
    "The database is on an earlier timeline than this node has seen: it is a primary that another one has replaced."
    " Stop it, or take it out of the address."
)


class PostgresqlDatabase:
    """A PostgreSQL database: pooled connections, rows locked by the transactions themselves.

    Three engines share one pool, and differ in what a transaction sees:

        writing   READ COMMITTED    after waiting for a counter's lock it sees what the transaction before committed
        reading   REPEATABLE READ   all statements of a stream see the moment of the first one
        heads     AUTOCOMMIT        one statement: BEGIN and ROLLBACK would be trips to the server for nothing
    """

    insert = staticmethod(dialect.insert)
    now_ms = NOW_MS
    quick_reads = False
    mark: int | None = None
    """Nothing tells without a question whether somebody has changed something."""
    locks_rows = True
    parts: Sequence[StoragePart] = ()

    def __init__(self, url: str, options: ServerOptions) -> None:
        """Prepare the pool; nothing is connected to before the first use."""
        address = parse_address(url)
        self.outages = Outages(place_of(address))
        # What the address itself says of a silent network is kept.
        given = {name: value for name, value in ALIVE.items() if name not in address.query}
        self.writing_engine = create_engine(
            address,
            pool_size=options.connections,
            max_overflow=0,
            pool_timeout=options.timeout_s,
            isolation_level="READ COMMITTED",
            # What is bound holds people's ids, and errors are logged.
            hide_parameters=True,
            connect_args={"connect_timeout": max(2, round(options.timeout_s / 2))} | given,
        )
        for index, condition in PARTIAL_INDEXES:
            index.dialect_options["postgresql"]["where"] = condition
        self.parallel_reads = options.connections
        self.engines = (self.writing_engine,)
        self.reading_engine = self.writing_engine.execution_options(isolation_level="REPEATABLE READ")
        self._head_engine = self.writing_engine.execution_options(isolation_level="AUTOCOMMIT")
        self._lineage = ""
        self._has_own_sessions = False
        self._durability = DurabilityCheck(allow_unsynced_commits=options.allow_unsynced_commits)
        attempts = Attempts(max(2.0, options.timeout_s / 2))

        @event.listens_for(self.writing_engine, "do_connect")
        def connect(dialect: Any, _record: Any, words: list[Any], named: dict[str, Any]) -> Any:
            def make() -> Any:
                return dialect.connect(*words, **named)

            connection = attempts.make(make)
            try:
                self._set_up(connection, make)
            except BaseException:
                connection.close()
                raise
            return connection

    def _set_up(self, connection: Any, connect: Callable[[], Any]) -> None:
        """Refuse or set up a connection that the pool has opened; ``connect`` opens another one like it.

        Raises:
            StorageUnavailable: it leads to a standby, to a primary that was replaced, to a pooler that shares sessions,
                or to a server that does not sync.
        """
        # A pooler may refuse transactions.
        connection.autocommit = True
        if connection.execute("SELECT pg_is_in_recovery()").fetchone()[0]:
            # Its connections outlive its promotion, and would not see that the history is another one.
            raise ConnectionLost("The database is a standby, which takes no changes.", retry_after_s=1)
        # A pooler gives those who connect a number of its own.
        if not self._has_own_sessions and _session(connection) != connection.info.backend_pid:
            _require_own_session(connection, connect)
        self._has_own_sessions = True
        connection.autocommit = False
        connection.execute(SESSION)
        self._durability.run(connection)
        # A rollback would undo what was set for the session: so it is committed before the history is looked at.
        connection.commit()
        driver = self.writing_engine.dialect.loaded_dbapi
        try:
            lineage: str = connection.execute(LINEAGE).fetchone()[0]
        except (driver.ProgrammingError, driver.NotSupportedError):
            # Some servers tell nobody; then epochs are raised by hand (docs/how-to/operations.md).
            connection.rollback()
            logger.warning("the database does not tell its history", exc_info=True)
            return
        if _is_behind(lineage, self._lineage):
            refusal = StorageUnavailable(STALE_PRIMARY, retry_after_s=1)
            self.outages.begin(OutageKind.REFUSING, refusal, None)
            raise refusal
        # Where that fails the connection is not used: no answer may come of another history under an old epoch.
        self._follow_lineage(connection, lineage)

    def _follow_lineage(self, connection: Any, lineage: str) -> None:
        """Note the history that the rows come from; where it has changed, begin a new epoch of every source.

        After a promotion versions may have gone back, and be given a second time to other changes: whatever was built
        on them before must not go on. Looked at for each new connection, since none outlives its server.
        """
        if lineage == self._lineage or connection.execute("SELECT to_regclass('lineage')").fetchone()[0] is None:
            connection.rollback()
            return
        connection.execute("INSERT INTO lineage VALUES (1, %s) ON CONFLICT (lineage_id) DO NOTHING", [lineage])
        # Of several processes one begins the new epochs; the others wait here, and then find the name changed.
        known = connection.execute("SELECT name FROM lineage WHERE lineage_id = 1 FOR UPDATE").fetchone()[0]
        if known != lineage:
            connection.execute(NEW_EPOCH)
            connection.execute("UPDATE lineage SET name = %s WHERE lineage_id = 1", [lineage])
            logger.warning("the database has another history than before; every source begins a new epoch")
        connection.commit()
        # Only after the commit: where that fails the next connection looks again.
        self._lineage = lineage

    @property
    def origin(self) -> str:
        """Which database this is: host, port and name, without user and password; kept while a move goes on."""
        url = self.writing_engine.url
        host, port = (given or url.query.get(name, "") for name, given in (("host", url.host), ("port", url.port)))
        return f"postgresql:{host}:{port}/{url.database}"

    def writing(self) -> contextlib.AbstractContextManager[Connection]:
        """Give a write transaction, which is committed at the end of the block."""
        return self.writing_engine.begin()

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Nothing to hold: the counter rows are locked within the transaction."""
        yield

    @contextlib.contextmanager
    def migrating(self) -> Iterator[Connection]:
        """Give a write transaction that no other process can be in."""
        with self.writing_engine.begin() as connection:
            connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": MIGRATION_LOCK})
            yield connection

    def head_row(self, source_id: int) -> Sequence[Any] | None:
        """Return the row of `statements.HEAD`."""
        return next(iter(self.head_rows([source_id])), None)

    def head_rows(self, source_ids: Sequence[int]) -> Sequence[Sequence[Any]]:
        """Return the rows of `statements.HEAD` of several sources; those that are missing are left out.

        Asked once more over a new connection where the first one turns out to be cut: this read comes first in
        almost every request, and finds out that the database was started anew.
        """
        try:
            return self._head_rows(source_ids)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            return self._head_rows(source_ids)

    def _head_rows(self, source_ids: Sequence[int]) -> Sequence[Sequence[Any]]:
        with self._head_engine.connect() as connection:
            return connection.execute(statements.HEADS_OF, {"numbers": source_ids}).all()

    def recorded_rows(self, source_id: int, after: int, until: int) -> Sequence[Sequence[Any]]:
        """Return the rows of `statements.RECORDED`."""
        with self._head_engine.connect() as connection:
            bounds = {"source": source_id, "after": after, "until": until}
            return connection.execute(statements.RECORDED, bounds).all()

    def run(self, connection: Connection, statement: Executable, values: Mapping[str, Any]) -> Sequence[Any]:
        """Run a statement that lives as long as the process, and return its rows."""
        result = connection.execute(statement, values)
        return result.all() if result.returns_rows else ()

    def upsert_rows(self, connection: Connection, into: Table, rows: Sequence[Sequence[Any]]) -> None:
        """Insert or replace rows, their values in the order of the table's columns: many through a temporary table."""
        if len(rows) < COPY_FROM_ROWS:
            connection.execute(statements.upsert(self.insert, into), _named(into, rows))
            return
        # COPY knows no conflicts, so that rows go through a table of this session. It is emptied first: this may be the
        # second submission of a transaction.
        staged = f"staged_{into.name}"
        connection.exec_driver_sql(
            f"CREATE TEMPORARY TABLE IF NOT EXISTS {staged} (LIKE {into.name}) ON COMMIT DELETE ROWS"
        )
        connection.exec_driver_sql(f"TRUNCATE {staged}")
        _copy(connection, staged, into, rows)
        names = [each.name for each in into.columns]
        chosen: Any = select(*map(column, names)).select_from(table(staged))
        connection.execute(statements.upsert(self.insert, into).from_select(names, chosen))

    def insert_missing_rows(self, connection: Connection, into: Table, rows: Sequence[Sequence[Any]]) -> int:
        """Insert those rows whose keys are new, and return how many they are."""
        return connection.execute(statements.insert_missing(self.insert, into), _named(into, rows)).rowcount

    def append_rows(self, connection: Connection, table: Table, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows, their values in the order of the table's columns, whose keys are new."""
        if len(rows) < COPY_FROM_ROWS:
            connection.execute(self.insert(table), _named(table, rows))
        else:
            _copy(connection, table.name, table, rows)

    def mark_erased(self) -> None:
        """Nothing to do: the log is the server's."""

    def erased_log(self) -> None:
        """Return nothing: the log is the server's."""

    def forget_log(self) -> bool:
        """Return that nothing is to be done: the log is the server's."""
        return True

    def durability_warnings(self) -> list[str]:
        """Return what the server's present settings may lose.

        Raises:
            StorageUnavailable: commits are not synced, and no setting allows that.
        """
        with self._head_engine.connect() as connection:
            return self._durability.run(connection.connection.driver_connection)

    def free_bytes(self) -> int | None:
        """Return nothing: the disk is the server's."""
        return None

    def integrity_problems(self) -> list[str]:
        """Return nothing: PostgreSQL's own tools check its files."""
        return []

    def close(self) -> None:
        """Close every connection."""
        self.writing_engine.dispose()
        self.outages.close()


def _named(form: Table, rows: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    names = [each.name for each in form.columns]
    return [dict(zip(names, row, strict=True)) for row in rows]


def _is_behind(lineage: str, known: str) -> bool:
    """Return whether this is the history of a database that has gone on, on a later timeline, since it was known."""
    origin, _, timeline = lineage.rpartition("/")
    known_origin, _, known_timeline = known.rpartition("/")
    return origin == known_origin and timeline < known_timeline


def _require_own_session(connection: Any, connect: Callable[[], Any]) -> None:
    """Refuse a pooler that gives this connection's session to others between two transactions.

    Then two transactions of this connection have two sessions, or another connection is given the one that this had.
    Looked at several times, since somebody else may have taken it in between.

    Raises:
        StorageUnavailable: it does.
    """
    with contextlib.closing(connect()) as other:
        other.autocommit = True
        for _ in range(POOLER_TRIES):
            own = _session(connection)
            if _session(connection) != own or _session(other) == own:
                raise StorageUnavailable(SHARED_SESSIONS, retry_after_s=10)


def _session(connection: Any) -> int:
    """Return the number of the session in which the next transaction of a connection is."""
    number: int = connection.execute("SELECT pg_backend_pid()").fetchone()[0]
    return number


def _copy(connection: Connection, name: str, form: Table, rows: Sequence[Sequence[Any]]) -> None:
    """Copy rows into the table of a name, which has the columns of ``form``."""
    names = ", ".join(each.name for each in form.columns)
    driver: Any = connection.connection.driver_connection
    with driver.cursor() as cursor, cursor.copy(f"COPY {name} ({names}) FROM STDIN (FORMAT BINARY)") as copy:
        # A binary COPY converts nothing: what is sent must have exactly the types of the columns.
        copy.set_types([BINARY_TYPES[type(each.type)] for each in form.columns])
        for row in rows:
            copy.write_row(row)


class Attempts:
    """Attempts to connect: while they fail, one at a time and with pauses; callers in between fail at once.

    Otherwise every thread of a busy service would wait for its own timeout while the database is away.

        reachable --(an attempt fails)--> pausing --(the pause is over)--> one thread attempts --(success)--> reachable
                                             ^                                     |
                                             +---------(it fails: a longer pause)--+
    """

    def __init__(self, longest_s: float, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._longest_s = longest_s
        self._monotonic = monotonic
        self._guard = threading.Lock()
        self._failures = 0
        self._next_at = 0.0

    def make(self, connect: Callable[[], Any]) -> Any:
        """Return a connection.

        Raises:
            ConnectionLost: it is too early after a failure.
        """
        with self._guard:
            if self._failures:
                if self._monotonic() < self._next_at:
                    raise ConnectionLost("The database cannot be reached at the moment.", retry_after_s=1)
                # Whoever asks during this attempt is turned away.
                self._next_at = self._monotonic() + self._longest_s
        try:
            connection = connect()
        except Exception:
            with self._guard:
                self._failures += 1
                pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(self._failures - 1, 10))
                self._next_at = self._monotonic() + pause
            raise
        with self._guard:
            self._failures = 0
        return connection


class DurabilityCheck:
    """Checks what a server's settings promise of a commit, at each new connection and for each health request.

    An answer of 202 says that the change is on a disk. With some settings the server says "committed" before that.
    """

    def __init__(self, *, allow_unsynced_commits: bool) -> None:
        self._allow_unsynced_commits = allow_unsynced_commits
        self._logged: set[str] = set()

    def run(self, connection: Any) -> list[str]:
        """Return what an operator should be warned of; each is logged once.

        ``connection`` is the driver's own, or whatever executes text as that does.

        Raises:
            StorageUnavailable: commits are not synced, and no setting allows that.
        """
        *synced, full_page_writes, _ = connection.execute(DURABILITY).fetchone()
        off = [name for name, value in zip(UNSYNCED, synced, strict=True) if value == "off"]
        if off and not self._allow_unsynced_commits:
            raise StorageUnavailable(
                f"PostgreSQL runs with {' and '.join(f'{name} = off' for name in off)}: {UNSYNCED[off[-1]]}. "
                "Turn it on, or accept the loss with the setting allow-unsynced-commits.",
                retry_after_s=10,
            )
        warnings = [f"PostgreSQL runs with {name} = off: {UNSYNCED[name]}." for name in off]
        if full_page_writes == "off":
            warnings.append(TORN_PAGES)
        for warning in warnings:
            self._log_once(warning)
        return warnings

    def _log_once(self, warning: str) -> None:
        if warning not in self._logged:
            self._logged.add(warning)
            logger.warning("%s", warning)
