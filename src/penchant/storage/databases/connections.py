"""Connections to a database: how many there may be, how they are counted, and what their errors mean to us."""

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

from sqlalchemy import Engine, QueuePool, event
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from penchant.errors import ConnectionLost, StorageUnavailable
from penchant.telemetry import Metrics, logger

LOST = ("08", "57P")
"""How PostgreSQL's codes begin for a connection that is gone; errors of the network itself have no code."""
LOGGED_EVERY_S = 1.0
"""A database that is away fails every request; one line a second tells as much."""
_logged_at = [0.0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How a process uses a PostgreSQL server.

    ``connections`` are the most that it may hold, ``timeout_s`` is how long it waits for one.
    ``allow_unsynced_commits`` lets it use a server that acknowledges changes before they are on a disk.
    """

    connections: int = 16
    timeout_s: float = 10.0
    allow_unsynced_commits: bool = False


def count_connections(engines: Sequence[Engine], metrics: Metrics) -> None:
    """Count what these engines open from now on."""
    for engine in engines:
        event.listen(engine, "connect", lambda _connection, _record: metrics.connections_opened.inc())


def connections_in_use(engines: Sequence[Engine]) -> int:
    """Return how many connections are taken from the pools of these engines."""
    return sum(engine.pool.checkedout() for engine in engines if isinstance(engine.pool, QueuePool))


class driver_errors:  # noqa: N801  # it is used as a function is
    """Raise the driver's errors as `StorageUnavailable`; all others pass as they are.

    A class, since a generator costs 2 us on the way of every request.
    """

    def __enter__(self) -> None:
        """Begin the block whose errors are translated."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Translate what the driver raised."""
        if isinstance(error, SQLAlchemyError | sqlite3.Error | OSError):
            log_error(error)
            kind_of_error = ConnectionLost if _is_lost(error) else StorageUnavailable
            raise kind_of_error(
                "The database cannot be reached or refused the request; try again in a moment.",
                retry_after_s=1,
            ) from error


def log_error(error: BaseException) -> None:
    """Log why a request was refused, once a second: the first line, since others may hold what was to be stored."""
    now = time.monotonic()
    if now - _logged_at[0] >= LOGGED_EVERY_S:
        _logged_at[0] = now
        message = str(getattr(error, "orig", error)).partition("\n")[0]
        fields = {"error": type(error).__name__, "said": message}
        logger.warning("the database cannot be reached or refused a request", extra={"fields": fields})


def _is_lost(error: BaseException) -> bool:
    if not isinstance(error, DBAPIError) or isinstance(error.orig, sqlite3.Error):
        return False
    code: str | None = getattr(error.orig, "sqlstate", None)
    return error.connection_invalidated or code is None or code.startswith(LOST)
