"""Storage as the rest of the service sees it: reads by noun, changes through the lanes of group commit.

Synchronous and safe for threads. It knows no HTTP, no index, and no clock but the one that stamps changes.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from penchant.storage.accounts import AccountStore, KeyStore, SessionStore
from penchant.storage.databases.connections import ServerOptions
from penchant.storage.databases.opening import AnyDatabase, Transactions, open_database
from penchant.storage.group_commit import GroupCommit, Lane, Waiter
from penchant.storage.owed_erasures import settlements
from penchant.storage.parts import StoragePart
from penchant.storage.people import PeopleStore
from penchant.storage.secrets import LIST_IDS, TAGS, ensure_secret, read_secret
from penchant.storage.sources import PieceStore, SourceStore
from penchant.storage.steering_versions import SteeringVersionStore
from penchant.storage.transaction import CONTENT_LANE, INTERACTIONS_LANE, Command, Result
from penchant.storage.upkeep.housekeeping import Upkeep
from penchant.telemetry import Metrics

Store = TypeVar("Store")


class Storage:
    """An open database: a store for each noun, and one way in for changes."""

    def __init__(self, database: AnyDatabase, metrics: Metrics | None = None) -> None:
        self._database = database
        self._transactions = transactions = Transactions(database)
        grouping = GroupCommit(transactions)
        self._lanes = {name: Lane(name, grouping.carry_out, metrics) for name in (CONTENT_LANE, INTERACTIONS_LANE)}
        self.accounts = AccountStore(transactions)
        self.keys = KeyStore(transactions)
        self.sessions = SessionStore(transactions)
        self.sources = SourceStore(transactions)
        self.pieces = PieceStore(transactions)
        self.people = PeopleStore(transactions)
        self.steering_versions = SteeringVersionStore(transactions)
        self.upkeep = Upkeep(transactions, self._lanes)

    @property
    def quick_reads(self) -> bool:
        """Whether a read takes microseconds, so that an event loop may do it itself."""
        return self._database.quick_reads

    @property
    def mark(self) -> int | None:
        """A number, another one after each change by any process: what was read after it holds as long as it does.

        ``None`` while a change may be under way, and where a query must tell. Costs less than a microsecond.
        """
        return self._database.mark

    @property
    def parallel_reads(self) -> int:
        """How many reads may be under way at once; another one waits for one of them to end."""
        return self._database.parallel_reads

    def tag_secret(self) -> bytes:
        """Return the database's secret for ETags, equal on all nodes; it is made if it is missing."""
        return self._secret(TAGS)

    def list_secret(self) -> bytes:
        """Return the database's secret for list ids, equal on all nodes; it is made if it is missing."""
        return self._secret(LIST_IDS)

    def store(self, kind: Callable[[Transactions], Store]) -> Store:
        """Return a store of a plugin's class, which reads from this database."""
        return kind(self._transactions)

    def submit(self, command: Command[Result]) -> Future[Result]:
        """Queue a command; its future is done once its group is committed and synced to disk.

        Raises:
            Overloaded: too much is queued already.
        """
        return self._lanes[command.lane].submit(command)

    def enqueue(self, command: Command[Any], waiter: Waiter) -> None:
        """Queue a command as `submit` does, for who has another way to wait than a future.

        Raises:
            Overloaded: too much is queued already.
        """
        self._lanes[command.lane].enqueue(command, waiter)

    def settle_erasures(self) -> None:
        """Carry out the erasures that were owed to a package which is installed by now."""
        for settled in [self.submit(each) for each in settlements(self._transactions)]:
            settled.result()

    def close(self) -> None:
        """Commit what is queued and close every connection."""
        for lane in self._lanes.values():
            lane.close()
        self._database.close()

    def _secret(self, name: str) -> bytes:
        with self._transactions.read() as connection:
            secret = read_secret(connection, name)
        if secret:
            return secret
        with self._transactions.write() as connection:
            return ensure_secret(connection, self._transactions.insert, name)


def open_storage(
    *,
    folder: Path,
    database_url: str | None = None,
    options: ServerOptions | None = None,
    metrics: Metrics | None = None,
    make: bool = True,
    parts: Sequence[StoragePart] | None = None,
) -> Storage:
    """Open the database in a folder, or the PostgreSQL database of an address, and bring its schema up to date.

    ``parts`` are what plugins add, those of this release where nothing is said.

    Raises:
        Refused: there is none, and it is not to be made.
        StorageUnavailable: it cannot be reached or written, or would acknowledge changes before they are synced.
        StorageIncompatible: it is another program's, a newer release's, or the target of an unfinished move.
    """
    database = open_database(folder, database_url, options=options, metrics=metrics, make=make, parts=parts)
    storage = Storage(database, metrics)
    storage.settle_erasures()
    return storage
