"""People as they are stored: nothing of them is, but their interactions."""

from penchant.model import StoredInteraction
from penchant.storage import reads
from penchant.storage.records import InteractionQuery
from penchant.storage.transactions import Transactions


class PeopleStore:
    """The people of all sources."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def list_interactions(self, source_id: int, query: InteractionQuery) -> list[StoredInteraction]:
        """Return a person's interactions, newest first, of one millisecond the later recorded first."""
        with self._transactions.read() as connection:
            return reads.user_interactions(connection, source_id, query)

    def count_by_day(self, source_id: int, *, since: int, limit: int) -> list[tuple[int, int]]:
        """Return UTC days with their numbers of interactions, ascending; of the newest ``limit`` ones at most."""
        with self._transactions.read() as connection:
            return reads.interactions_by_day(connection, source_id, since, limit)
