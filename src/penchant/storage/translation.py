"""Translation of the driver's errors into ours, in one place."""

import sqlite3
import time
from types import TracebackType

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from penchant.errors import ConnectionLost, StorageUnavailable
from penchant.telemetry import logger

LOST = ("08", "57P")
"""How PostgreSQL's codes begin for a connection that is gone; errors of the network itself have no code."""
LOGGED_EVERY_S = 1.0
"""A database that is away fails every request; one line a second tells as much."""
_logged_at = [0.0]


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
            _log(error)
            kind_of_error = ConnectionLost if _is_lost(error) else StorageUnavailable
            raise kind_of_error(
                "The database cannot be reached or refused the request; try again in a moment.",
                retry_after_s=1,
            ) from error


def _log(error: BaseException) -> None:
    """Log what the driver said: its first line, since further ones may hold what was to be stored."""
    now = time.monotonic()
    if now - _logged_at[0] >= LOGGED_EVERY_S:
        _logged_at[0] = now
        said = str(getattr(error, "orig", error)).partition("\n")[0]
        fields = {"error": type(error).__name__, "said": said}
        logger.warning("the database cannot be reached or refused a request", extra={"fields": fields})


def _is_lost(error: BaseException) -> bool:
    """Return whether the connection is gone, rather than one statement refused."""
    if not isinstance(error, DBAPIError) or isinstance(error.orig, sqlite3.Error):
        return False
    code: str | None = getattr(error.orig, "sqlstate", None)
    return error.connection_invalidated or code is None or code.startswith(LOST)
