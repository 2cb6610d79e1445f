"""Sources and pieces as they are stored: where sources stand, what they hold, and the feeds that followers read."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Select, func, or_, select

from penchant.model import EncodedPiece
from penchant.storage import statements
from penchant.storage.databases.connections import driver_errors
from penchant.storage.databases.opening import Transactions
from penchant.storage.hashing import source_id
from penchant.storage.records import (
    ChangeListing,
    ContentFeed,
    EnrichedSource,
    FeedCursor,
    InteractionsFeed,
    KeywordRules,
    PieceListing,
    PieceText,
    SourceCuration,
    SourceExport,
    SourceHead,
)
from penchant.storage.schema import accounts, sources
from penchant.storage.source_reader import BATCH_ROWS, SourceReader, stored_settings, to_head


class SourceStore:
    """The sources of all accounts."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def read_head(self, account_id: int, source: str) -> SourceHead | None:
        """Return where a source stands; ``None`` for one that does not exist."""
        with driver_errors(self._transactions.database.outages):
            row = self._transactions.database.head_row(source_id(account_id, source))
            return to_head(row, account_id, source)

    def read_heads(self, names: Sequence[tuple[int, str]]) -> list[SourceHead | None]:
        """Return where several sources, as account and name, stand; ``None`` for those that do not exist.

        Read before every answer.
        """
        # By number and checked by name: a row of another name with the same number is none of these.
        numbers = [source_id(*name) for name in names]
        with driver_errors(self._transactions.database.outages):
            rows = {row[0]: row for row in self._transactions.database.head_rows(numbers)}
        return [to_head(rows.get(number), *name) for number, name in zip(numbers, names, strict=True)]

    def list_of(self, account_id: int) -> list[SourceHead]:
        """Return the sources of an account, ascending by name."""
        # The heads are read by their numbers, in chunks: both databases bound the parameters of a statement.
        names = (
            select(sources.c.source_id, sources.c.name)
            .where(sources.c.account_id == account_id, sources.c.deleted.is_(False))
            .order_by(sources.c.name)
        )
        rows: dict[int, Any] = {}
        with self._transactions.read() as connection:
            named = connection.execute(names).all()
            for numbers in statements.portions((number for number, _ in named), BATCH_ROWS):
                rows |= {row[0]: row for row in connection.execute(statements.HEADS_OF, {"numbers": numbers})}
        heads = [to_head(rows.get(number), account_id, name) for number, name in named]
        return [head for head in heads if head is not None]

    def accounts_with(self, source: str) -> list[str]:
        """Return the names of the accounts that have a source of this name, ascending."""
        statement = (
            select(accounts.c.name)
            .join(sources, sources.c.account_id == accounts.c.account_id)
            .where(sources.c.name == source, sources.c.deleted.is_(False))
            .order_by(accounts.c.name)
        )
        with self._transactions.read() as connection:
            return list(connection.execute(statement).scalars())

    def list_large(self, minimum: int) -> list[SourceHead]:
        """Return the sources of all accounts with at least so many pieces."""
        return self._list_from(statements.HEADS_FROM, minimum)

    def list_busy(self, minimum: int) -> list[SourceHead]:
        """Return the sources of all accounts in which so many interactions were recorded, whatever became of them."""
        return self._list_from(statements.HEADS_BUSY, minimum)

    def read_curation(self, account_id: int, source: str) -> tuple[SourceHead, SourceCuration]:
        """Return the lists and settings, with the head they were read at."""
        with _open_reader(self._transactions, account_id, source) as reader:
            return reader.head, reader.curation()

    def read_settings(self, source_id: int) -> bytes:
        """Return the settings of a source as they are stored; empty for the defaults."""
        with self._transactions.read() as connection:
            return stored_settings(connection, source_id)

    def list_enriched(self) -> list[EnrichedSource]:
        """Return the sources of all accounts whose pieces have words, or are to have some."""
        columns = (sources.c.account_id, sources.c.name, sources.c.settings, sources.c.words, sources.c.words_wanted)
        some = or_(func.length(sources.c.words) > 0, func.length(sources.c.words_wanted) > 0)
        with self._transactions.read() as connection:
            return [
                EnrichedSource(row[0], row[1], bytes(row[2]), KeywordRules(bytes(row[3] or b""), bytes(row[4] or b"")))
                for row in connection.execute(select(*columns).where(sources.c.deleted.is_(False), some))
            ]

    @contextlib.contextmanager
    def open_export(self, account_id: int, source: str) -> Iterator[SourceExport]:
        """Open all of a source, to be read batch by batch."""
        with _open_reader(self._transactions, account_id, source) as reader:
            yield reader.export()

    @contextlib.contextmanager
    def follow_content(self, account_id: int, source: str, cursor: FeedCursor | None) -> Iterator[ContentFeed]:
        """Open the content's changes after a cursor."""
        with _open_reader(self._transactions, account_id, source) as reader:
            yield reader.content_feed(cursor)

    @contextlib.contextmanager
    def follow_interactions(
        self, account_id: int, source: str, cursor: FeedCursor | None
    ) -> Iterator[InteractionsFeed]:
        """Open the interactions and erasures after a cursor."""
        with _open_reader(self._transactions, account_id, source) as reader:
            yield reader.interactions_feed(cursor)

    def _list_from(self, statement: Select[Any], minimum: int) -> list[SourceHead]:
        with self._transactions.read() as connection:
            heads = [
                to_head(row, row.account_id, row.name) for row in connection.execute(statement, {"minimum": minimum})
            ]
        return [head for head in heads if head is not None]


class PieceStore:
    """The pieces of all sources."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def read(self, account_id: int, source: str, piece_id: str) -> tuple[SourceHead, bytes | None]:
        """Return a piece's body, ``None`` for an unknown one, with the head it was read at."""
        with _open_reader(self._transactions, account_id, source) as reader:
            return reader.head, reader.body(piece_id)

    def read_with_head(
        self, account_id: int, source: str, ids: Sequence[str]
    ) -> tuple[SourceHead, dict[str, EncodedPiece]]:
        """Return some pieces, a thousand at most, with the head that they were read at; unknown ids are left out."""
        head, _, pieces = self.read_with_rule(account_id, source, ids)
        return head, pieces

    def read_with_rule(
        self, account_id: int, source: str, ids: Sequence[str]
    ) -> tuple[SourceHead, bytes, dict[str, EncodedPiece]]:
        """Return some pieces as `read_with_head`, and by which rule they have words then."""
        with _open_reader(self._transactions, account_id, source) as reader:
            return reader.head, reader.rules.in_force, reader.pieces(ids)

    def read_some(self, account_id: int, source: str, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the bodies of some pieces, as `read_with_head`."""
        _, pieces = self.read_with_head(account_id, source, ids)
        return {piece_id: piece.body for piece_id, piece in pieces.items()}

    @contextlib.contextmanager
    def open_newest(self, account_id: int, source: str, *, limit: int) -> Iterator[Iterator[bytes]]:
        """Open the bodies of the pieces that were submitted last, the latest first."""
        with _open_reader(self._transactions, account_id, source) as reader:
            yield reader.newest(limit)

    def read_texts(self, account_id: int, source: str, after: str, limit: int) -> tuple[KeywordRules, list[PieceText]]:
        """Return the rules of words of a source, and its pieces past an id, ascending, with what is kept of theirs."""
        with _open_reader(self._transactions, account_id, source) as reader:
            return reader.rules, reader.texts(after, limit)

    @contextlib.contextmanager
    def open_from(
        self, account_id: int, source: str, *, start: str = "", after: str | None = None, limit: int
    ) -> Iterator[Iterator[Sequence[EncodedPiece]]]:
        """Open the pieces from an id on (``after``: past it), ascending, in batches that are read one by one."""
        with _open_reader(self._transactions, account_id, source) as reader:
            yield reader.following(start=start, after=after, limit=limit)

    @contextlib.contextmanager
    def open_page(
        self, account_id: int, source: str, *, skip: int = 0, limit: int | None = None
    ) -> Iterator[PieceListing]:
        """Open a page of pieces, ascending by id; it is read batch by batch, by one thread at a time."""
        with _open_reader(self._transactions, account_id, source) as reader:
            yield reader.listing(skip=skip, limit=limit, bodies=True)

    @contextlib.contextmanager
    def open_ids(
        self, account_id: int, source: str, *, skip: int = 0, limit: int | None = None
    ) -> Iterator[PieceListing]:
        """Open a page of ids, as `open_page` but without bodies."""
        with _open_reader(self._transactions, account_id, source) as reader:
            yield reader.listing(skip=skip, limit=limit, bodies=False)

    @contextlib.contextmanager
    def open_changes(self, account_id: int, source: str, cursor: FeedCursor | None) -> Iterator[ChangeListing]:
        """Open the changes of the pieces after a cursor, to be sent to a follower elsewhere."""
        with _open_reader(self._transactions, account_id, source) as reader:
            yield reader.changes(cursor)


@contextlib.contextmanager
def _open_reader(transactions: Transactions, account_id: int, source: str) -> Iterator[SourceReader]:
    """Open a read transaction over a source.

    Raises:
        UnknownSource: the account has no such source.
    """
    with (
        transactions.read() as connection,
        contextlib.closing(SourceReader(connection, account_id, source, transactions)) as reader,
    ):
        yield reader
