"""People as they are stored: nothing of them is, but their interactions and what they have said of themselves."""

from penchant.model import StoredInteraction
from penchant.storage import interaction_reads
from penchant.storage.person_records import RecordedChanges, StoredPerson
from penchant.storage.records import InteractionQuery
from penchant.storage.transactions import Transactions
from penchant.storage.translation import driver_errors


class PeopleStore:
    """The people of all sources."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def list_interactions(self, source_id: int, query: InteractionQuery) -> list[StoredInteraction]:
        """Return a person's interactions, newest first, of one millisecond the later recorded first."""
        with self._transactions.read() as connection:
            return interaction_reads.user_interactions(connection, source_id, query)

    def read(self, source_id: int, query: InteractionQuery) -> StoredPerson:
        """Return a person's interactions, as `list_interactions`, with the preferences."""
        with self._transactions.read() as connection:
            return StoredPerson(
                interaction_reads.user_interactions(connection, source_id, query),
                interaction_reads.user_preferences(connection, source_id, query.user_id),
            )

    def read_preferences(self, source_id: int, user_id: str) -> bytes:
        """Return a person's preferences as stored JSON, empty for none."""
        with self._transactions.read() as connection:
            return interaction_reads.user_preferences(connection, source_id, user_id)

    def list_beginning(self, source_id: int, beginning: str, *, since: int, newest: int, limit: int) -> list[str]:
        """Return the people whose id begins so, ascending, among the ``newest`` interactions and preferences each."""
        with self._transactions.read() as connection:
            return interaction_reads.people_beginning(
                connection, source_id, beginning, since=since, newest=newest, limit=limit
            )

    def list_recorded(self, source_id: int, *, after: int, until: int) -> RecordedChanges:
        """Return what became of people after a version of the interactions, up to another."""
        with driver_errors():
            rows = self._transactions.database.recorded_rows(source_id, after, until)
        return interaction_reads.recorded_changes(rows, after, until)

    def count_by_day(
        self, source_id: int, *, since: int, limit: int, until: int | None = None
    ) -> list[tuple[int, int]]:
        """Return UTC days with their numbers of interactions, ascending; of the newest ``limit`` ones at most.

        Only moments from ``since`` on, and before ``until``, count.
        """
        with self._transactions.read() as connection:
            return interaction_reads.interactions_by_day(connection, source_id, since, limit, until)
