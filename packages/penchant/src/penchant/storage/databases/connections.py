"""Connections to a database: how many there may be, how they are counted, and what their errors mean to us."""

import errno
import re
import sqlite3
from collections.abc import Sequence
from types import TracebackType

import msgspec
from sqlalchemy import URL, Engine, QueuePool, event, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from penchant.errors import ConnectionLost, InvalidSettings, NoRoom, StorageUnavailable
from penchant.storage.databases.outages import OutageKind, Outages
from penchant.telemetry import Metrics

LOST = ("08", "57P")
"""How PostgreSQL's codes begin for a connection that is gone; errors of the network itself have no code."""
DISK_FULL = "53100"
FULL_ERRORS = {errno.ENOSPC, errno.EDQUOT}
PRIMARY_CODE = 0xFF
"""The part of SQLite's codes that says what it is; the rest says where it happened."""
_PREFIX = re.compile(
    r"(?:connection (?:failed|is bad): )?(?:connection to server (?:at|on socket) \"[^\"]*\"(?:, port \d+)? failed: )?"
    r"(?:FATAL: +)?"
)
"""What the driver says before the cause: the place, which is told by name."""


AWAY = "The database cannot be reached or refused the request; try again in a moment."
NO_ROOM = "There is no room on the disk of the database; nothing was stored. Send it again once there is."

NO_ROOM_WARNING = "The disk of the database is full: changes are refused until there is room. Reads go on."


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a process uses a PostgreSQL server.

    ``connections`` are the most that it may hold, ``timeout_s`` is how long it waits for one.
    ``allow_unsynced_commits`` lets it use a server that acknowledges changes before they are on a disk.
    """

    connections: int = 16
    timeout_s: float = 10.0
    allow_unsynced_commits: bool = False


def parse_address(url: str) -> URL:
    """Return the address of a PostgreSQL database.

    Raises:
        InvalidSettings: it is none. Nothing of it is told, since a part may be the password's.
    """
    try:
        address = make_url(url.replace("postgresql://", "postgresql+psycopg://", 1))
    except (SQLAlchemyError, ValueError):
        address = None
    if not url.startswith("postgresql://") or address is None or "@" in (address.host or ""):
        raise InvalidSettings(
            "The address of the database is not accepted. It is postgresql://USER:PASSWORD@HOST:PORT/NAME; in a user, "
            "password or name @ is written %40, / %2F, : %3A, ? %3F and % itself %25."
        )
    return address


def place_of(address: URL) -> str:
    """Return what people call the database of an address: its name, host and port; nothing of it is secret."""
    hosts = address.host or address.query.get("host") or "a local socket"
    host = hosts if isinstance(hosts, str) else ",".join(hosts)
    host = f"[{host}]" if ":" in host and "," not in host and address.host else host
    port = f":{address.port}" if address.port and address.host else ""
    return f"{address.database or address.username or 'of the user'} on {host}{port}"


def count_connections(engines: Sequence[Engine], metrics: Metrics) -> None:
    """Count what these engines open from now on."""
    for engine in engines:
        event.listen(engine, "connect", lambda _connection, _record: metrics.connections_opened.inc())


def connections_in_use(engines: Sequence[Engine]) -> int:
    """Return how many connections are taken from the pools of these engines."""
    return sum(engine.pool.checkedout() for engine in engines if isinstance(engine.pool, QueuePool))


class driver_errors:  # noqa: N801  # it is used as a function is
    """Raise the driver's errors as `StorageUnavailable`; all others pass as they are.

    Whoever reads may write elsewhere meanwhile, so that errors of files are theirs. ``outages`` names the database,
    and tells of what goes wrong. A class, since a generator costs 2 us on the way of every request.
    """

    __slots__ = ("_outages",)

    def __init__(self, outages: Outages | None = None) -> None:
        self._outages = outages

    def __enter__(self) -> None:
        """Begin the block whose errors are translated."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Translate what the driver raised."""
        if error is None:
            if self._outages is not None:
                self._outages.end_reading()
        elif isinstance(error, SQLAlchemyError | sqlite3.Error):
            raise explain(error, self._outages) from error


def explain(error: BaseException, outages: Outages | None = None) -> StorageUnavailable:
    """Return what an error of a driver, or of a file of the database, means, and note the outage.

    Its first line alone is told, since others may hold what was to be stored.
    """
    original = getattr(error, "orig", None) or error
    said = _PREFIX.sub("", str(original).partition("\n")[0], count=1)
    if isinstance(original, OSError):
        said = original.strerror or said
    if "Connection refused" in said:
        said = f"nobody listens there ({said})"
    name = "The database" if outages is None else f"The database {outages.place}"
    if _lacks_room(original):
        explained: StorageUnavailable = NoRoom(
            NO_ROOM, reason=f"{name} has no room on its disk: {said}.", retry_after_s=1
        )
    elif _is_lost(error):
        # The server says no by itself, for a password's sake, say.
        how = "refuses" if "FATAL: " in str(original) else "cannot be reached"
        explained = ConnectionLost(AWAY, reason=f"{name} {how}: {said}.", retry_after_s=1)
    else:
        explained = StorageUnavailable(AWAY, reason=f"{name} refused: {said}.", retry_after_s=1)
    if outages is not None:
        outages.begin(_kind_of(explained), explained, error.__traceback__)
    return explained


def _kind_of(error: StorageUnavailable) -> OutageKind:
    if isinstance(error, NoRoom):
        return OutageKind.NO_ROOM
    return OutageKind.AWAY if isinstance(error, ConnectionLost) else OutageKind.REFUSING


def _lacks_room(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno in FULL_ERRORS
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE == sqlite3.SQLITE_FULL
    return getattr(error, "sqlstate", None) == DISK_FULL


def _is_lost(error: BaseException) -> bool:
    if not isinstance(error, DBAPIError) or isinstance(error.orig, sqlite3.Error):
        return False
    code: str | None = getattr(error.orig, "sqlstate", None)
    return error.connection_invalidated or code is None or code.startswith(LOST)
