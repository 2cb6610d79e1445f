"""Sources as they are stored: where they stand, what they hold as a whole, and the feeds that followers read."""

import contextlib
from collections.abc import Iterator, Sequence

from penchant.storage import reads
from penchant.storage.hashing import source_id
from penchant.storage.records import (
    ContentFeed,
    FeedCursor,
    InteractionsFeed,
    SourceCuration,
    SourceExport,
    SourceHead,
)
from penchant.storage.transactions import Transactions
from penchant.storage.translation import driver_errors


class SourceStore:
    """The sources of all accounts."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def read_head(self, account_id: int, source: str) -> SourceHead | None:
        """Return where a source stands; ``None`` for one that does not exist."""
        with driver_errors():
            row = self._transactions.database.head_row(source_id(account_id, source))
            return reads.to_head(row, account_id, source)

    def read_heads(self, names: Sequence[tuple[int, str]]) -> list[SourceHead | None]:
        """Return where several sources, as account and name, stand; ``None`` for those that do not exist.

        Read before every answer.
        """
        # By number and checked by name: a row of another name with the same number is none of these.
        numbers = [source_id(*name) for name in names]
        with driver_errors():
            rows = {row[0]: row for row in self._transactions.database.head_rows(numbers)}
        return [reads.to_head(rows.get(number), *name) for number, name in zip(numbers, names, strict=True)]

    def list_of(self, account_id: int) -> list[SourceHead]:
        """Return the sources of an account, ascending by name."""
        with self._transactions.read() as connection:
            return reads.list_heads(connection, account_id)

    def list_large(self, minimum: int) -> list[SourceHead]:
        """Return the sources of all accounts with at least so many pieces."""
        with self._transactions.read() as connection:
            return reads.large_heads(connection, minimum)

    def list_busy(self, minimum: int) -> list[SourceHead]:
        """Return the sources of all accounts in which so many interactions were recorded, whatever became of them."""
        with self._transactions.read() as connection:
            return reads.busy_heads(connection, minimum)

    def read_curation(self, account_id: int, source: str) -> tuple[SourceHead, SourceCuration]:
        """Return the lists and settings, with the head they were read at."""
        with self._transactions.read_source(account_id, source) as reader:
            return reader.head, reader.curation()

    def read_settings(self, source_id: int) -> bytes:
        """Return the settings of a source as they are stored; empty for the defaults."""
        with self._transactions.read() as connection:
            return reads.stored_settings(connection, source_id)

    @contextlib.contextmanager
    def open_export(self, account_id: int, source: str) -> Iterator[SourceExport]:
        """Open all of a source, to be read batch by batch."""
        with self._transactions.read_source(account_id, source) as reader:
            yield reader.export()

    @contextlib.contextmanager
    def follow_content(self, account_id: int, source: str, cursor: FeedCursor | None) -> Iterator[ContentFeed]:
        """Open the content's changes after a cursor."""
        with self._transactions.read_source(account_id, source) as reader:
            yield reader.content_feed(cursor)

    @contextlib.contextmanager
    def follow_interactions(
        self, account_id: int, source: str, cursor: FeedCursor | None
    ) -> Iterator[InteractionsFeed]:
        """Open the interactions and erasures after a cursor."""
        with self._transactions.read_source(account_id, source) as reader:
            yield reader.interactions_feed(cursor)
