"""Pieces as they are stored: their bodies, one by one, by ids, and in pages."""

import contextlib
from collections.abc import Iterator, Sequence

from penchant.model import EncodedPiece
from penchant.storage.records import ChangeListing, FeedCursor, PieceListing, SourceHead
from penchant.storage.transactions import Transactions


class PieceStore:
    """The pieces of all sources."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def read(self, account_id: int, source: str, piece_id: str) -> tuple[SourceHead, bytes | None]:
        """Return a piece's body, ``None`` for an unknown one, with the head it was read at."""
        with self._transactions.read_source(account_id, source) as reader:
            return reader.head, reader.body(piece_id)

    def read_some(self, account_id: int, source: str, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the bodies of some pieces, a few hundred at most; unknown ids are left out."""
        with self._transactions.read_source(account_id, source) as reader:
            return reader.bodies(ids)

    @contextlib.contextmanager
    def open_from(
        self, account_id: int, source: str, *, start: str = "", after: str | None = None, limit: int
    ) -> Iterator[Iterator[Sequence[EncodedPiece]]]:
        """Open the pieces from an id on (``after``: past it), ascending, in batches that are read one by one."""
        with self._transactions.read_source(account_id, source) as reader:
            yield reader.following(start=start, after=after, limit=limit)

    @contextlib.contextmanager
    def open_page(
        self, account_id: int, source: str, *, skip: int = 0, limit: int | None = None
    ) -> Iterator[PieceListing]:
        """Open a page of pieces, ascending by id; it is read batch by batch, by one thread at a time."""
        with self._transactions.read_source(account_id, source) as reader:
            yield reader.listing(skip=skip, limit=limit, bodies=True)

    @contextlib.contextmanager
    def open_ids(
        self, account_id: int, source: str, *, skip: int = 0, limit: int | None = None
    ) -> Iterator[PieceListing]:
        """Open a page of ids, as `open_page` but without bodies."""
        with self._transactions.read_source(account_id, source) as reader:
            yield reader.listing(skip=skip, limit=limit, bodies=False)

    @contextlib.contextmanager
    def open_changes(self, account_id: int, source: str, cursor: FeedCursor | None) -> Iterator[ChangeListing]:
        """Open the changes of the pieces after a cursor, to be sent to a follower elsewhere."""
        with self._transactions.read_source(account_id, source) as reader:
            yield reader.changes(cursor)
