"""Storage as the rest of the service sees it: reads by noun, changes through the lanes of group commit.

Synchronous and safe for threads. It knows no HTTP, no index, and no clock but the one that stamps changes.
"""

import importlib
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

from penchant.storage.accounts import AccountStore, KeyStore, SessionStore
from penchant.storage.databases.connections import ServerOptions
from penchant.storage.databases.opening import AnyDatabase, Transactions, open_database
from penchant.storage.drafts import DraftStore
from penchant.storage.group_commit import GroupCommit, Lane
from penchant.storage.impressions import ImpressionStore
from penchant.storage.people import PeopleStore
from penchant.storage.placements import PlacementStore
from penchant.storage.secrets import LIST_IDS, TAGS, ensure_secret, read_secret
from penchant.storage.sources import PieceStore, SourceStore
from penchant.storage.steering_versions import SteeringVersionStore
from penchant.storage.transaction import CONTENT_LANE, INTERACTIONS_LANE, Command, Result, StoragePart
from penchant.storage.upkeep.housekeeping import Upkeep
from penchant.telemetry import Metrics

BUILT_IN_PARTS = ("penchant.storage.rows:ROWS",)
"""Parts that come with this release, named as those of a stranger would be: nothing here knows what is in them."""


class Storage:
    """An open database: a store for each noun, and one way in for changes."""

    def __init__(
        self, database: AnyDatabase, metrics: Metrics | None = None, parts: Sequence[StoragePart] | None = None
    ) -> None:
        self._database = database
        self._transactions = transactions = Transactions(database)
        grouping = GroupCommit(transactions, load_parts() if parts is None else parts)
        self._lanes = {name: Lane(name, grouping.carry_out, metrics) for name in (CONTENT_LANE, INTERACTIONS_LANE)}
        self.accounts = AccountStore(transactions)
        self.keys = KeyStore(transactions)
        self.sessions = SessionStore(transactions)
        self.sources = SourceStore(transactions)
        self.pieces = PieceStore(transactions)
        self.people = PeopleStore(transactions)
        self.placements = PlacementStore(transactions)
        self.steering_versions = SteeringVersionStore(transactions)
        self.drafts = DraftStore(transactions)
        self.impressions = ImpressionStore(transactions)
        self.upkeep = Upkeep(transactions, self._lanes)

    @property
    def quick_reads(self) -> bool:
        """Whether a read takes microseconds, so that an event loop may do it itself."""
        return self._database.quick_reads

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

    def submit(self, command: Command[Result]) -> Future[Result]:
        """Queue a command; its future is done once its group is committed and synced to disk.

        Raises:
            Overloaded: too much is queued already.
        """
        return self._lanes[command.lane].enqueue(command)

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

    ``parts`` are what plugins add, `BUILT_IN_PARTS` where nothing is said.

    Raises:
        Refused: there is none, and it is not to be made.
        StorageUnavailable: it cannot be reached or written, or would acknowledge changes before they are synced.
        StorageIncompatible: it is another program's, a newer release's, or the target of an unfinished move.
    """
    return Storage(open_database(folder, database_url, options=options, metrics=metrics, make=make), metrics, parts)


def load_parts() -> tuple[StoragePart, ...]:
    """Return the parts that come with this release."""
    names = (each.split(":") for each in BUILT_IN_PARTS)
    return tuple(getattr(importlib.import_module(module), name) for module, name in names)
