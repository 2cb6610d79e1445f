"""Upkeep of a database: whether it answers, what is queued, what housekeeping removes, and whether all agrees."""

from collections.abc import Mapping

from sqlalchemy import text

from penchant.storage import maintenance
from penchant.storage.connections import connections_in_use
from penchant.storage.group_commit import Lane, now_ms
from penchant.storage.transactions import Transactions
from penchant.storage.translation import driver_errors

PURGE_CHUNK = 1_000
"""Rows of a kind, and of a source, that one step of housekeeping removes."""


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

    def change_marks(self) -> tuple[int, ...] | None:
        """Return what is no longer the same once any process has changed something, ``None`` where a query must tell.

        Costs some microseconds. Of two changes within a tick of the file system's clock the second may be missed.
        """
        return self._database.change_marks()

    def ping(self) -> list[str]:
        """Return what an operator should be warned of, once the database has answered.

        Raises:
            StorageUnavailable: it does not answer, or acknowledges changes before they are synced.
        """
        with self._transactions.read() as connection:
            connection.execute(text("SELECT 1"))
        with driver_errors():
            return self._database.durability_warnings()

    def purge(
        self,
        retention_days: maintenance.RetentionDays,
        *,
        audit_days: int = 0,
        now: int | None = None,
        chunk: int = PURGE_CHUNK,
    ) -> int:
        """Remove a chunk of what no answer needs any more, a transaction per source; return the rows removed.

        ``audit_days`` is how long the audit log and keys that have ended are kept; 0: for good.
        """
        with self._transactions.write() as connection:
            removed = maintenance.purge_administration(
                connection, now=now or now_ms(), chunk=chunk, audit_days=audit_days
            )
        with self._transactions.read() as connection:
            numbers = maintenance.source_numbers(connection)
        for number in numbers:
            # A transaction for each source and chunk: in between writers get their turn.
            with self._transactions.write() as connection:
                removed += maintenance.purge_source(
                    connection, number, now=now or now_ms(), chunk=chunk, retention_days=retention_days
                )
        # What was purged is overwritten in the database, but may still be in the write-ahead log.
        self._transactions.forget_log()
        return removed

    def check(self) -> list[str]:
        """Return what is wrong with what is stored; nothing where all is well."""
        with driver_errors():
            found = self._database.integrity_problems()
        with self._transactions.read() as connection:
            return found + maintenance.problems(connection)
