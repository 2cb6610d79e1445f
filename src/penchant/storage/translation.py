"""What does a caller see when the database's driver raises? One place turns its errors into ours."""

import sqlite3
from types import TracebackType

from sqlalchemy.exc import SQLAlchemyError

from penchant.errors import StorageUnavailable


class driver_errors:  # noqa: N801  # it is used as a function is
    """Raise the driver's errors as `StorageUnavailable`; all others pass as they are.

    A class, since a generator costs 2 us on the way of every request.
    """

    def __enter__(self) -> None:
        """Watch what follows."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Translate what the driver raised."""
        if isinstance(error, SQLAlchemyError | sqlite3.Error | OSError):
            raise StorageUnavailable(
                "The database cannot be reached or refused the request; try again in a moment.",
                retry_after_s=1,
            ) from error
