"""What does a caller see when the database's driver raises? One place turns its errors into ours."""

import contextlib
import sqlite3
from collections.abc import Iterator

from sqlalchemy.exc import SQLAlchemyError

from penchant.errors import StorageUnavailable


@contextlib.contextmanager
def driver_errors() -> Iterator[None]:
    """Raise the driver's errors as `StorageUnavailable`; all others pass as they are."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise StorageUnavailable(
            "The database cannot be reached or refused the request; try again in a moment.",
            retry_after_s=1,
        ) from error
