"""Transactions of a database: reads, writes, and reads of one source; the driver's errors come out as ours."""

import contextlib
from collections.abc import Iterator

from sqlalchemy import Connection

from penchant.storage import statements
from penchant.storage.bodies import Dictionaries
from penchant.storage.opening import AnyDatabase
from penchant.storage.reads import SourceReader
from penchant.storage.translation import driver_errors


class Transactions:
    """Opens transactions for all stores of a database; holds its connections and the dictionaries in use."""

    def __init__(self, database: AnyDatabase) -> None:
        self.database = database
        self.dictionaries = Dictionaries()

    @property
    def insert(self) -> statements.Insert:
        """The dialect's INSERT."""
        return self.database.insert

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that sees one moment."""
        with driver_errors(), self.database.reading_engine.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def read_source(self, account_id: int, source: str) -> Iterator[SourceReader]:
        """Open a read transaction over a source.

        Raises:
            UnknownSource: the account has no such source.
        """
        with (
            self.read() as connection,
            contextlib.closing(SourceReader(connection, account_id, source, self.dictionaries)) as reader,
        ):
            yield reader

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction that is committed, and synced, at the end of the block."""
        # The lock first, the transaction within: SQLite would otherwise wait for its own lock by polling.
        with driver_errors(), self.database.exclusive(), self.database.writing_engine.begin() as connection:
            yield connection

    def forget_log(self) -> None:
        """Remove what was overwritten from the log, under the writers' lock; in no transaction, best effort."""
        with driver_errors(), self.database.exclusive():
            self.database.forget_log()
