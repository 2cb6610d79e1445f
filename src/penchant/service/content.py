"""How do pieces come in, go out and get read? Submissions, deletions, lists, single pieces, the status."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from penchant.errors import Overloaded, UnknownPiece, invalid_parameter
from penchant.live.database import Database
from penchant.live.views import View, Views
from penchant.model import EncodedPiece
from penchant.service.access import Access
from penchant.storage import (
    ClearPieces,
    DeletePieces,
    DeleteSource,
    Listing,
    Outcome,
    SourceHead,
    SubmitPieces,
)
from penchant.telemetry import Metrics
from penchant.wire import Receipt, SourceStatus, decode_submission, format_timestamp

MAX_LISTINGS = 6
"""Listings that a process reads at once: each holds a connection and a snapshot for as long as its client reads."""
LISTING_WAIT_S = 5.0
"""How long one more waits for its turn."""
BATCH_TIMEOUT_S = 5.0
"""How long a batch may take, a thousand times as long as usual, before the database counts as away."""


class Page:
    """A page of a source's pieces, read batch by batch; ``head`` is what it was read from.

    It holds a read transaction, until its last batch was read or it is closed.
    """

    def __init__(
        self,
        database: Database,
        opening: AbstractContextManager[Listing],
        listing: Listing,
        closed: Callable[[], None],
    ) -> None:
        self.head = listing.head
        self._database = database
        self._opening: AbstractContextManager[Listing] | None = opening
        self._listing = listing
        self._closed = closed

    async def batches(self) -> AsyncIterator[Sequence[EncodedPiece]]:
        """Yield the batches, each read in a thread."""
        iterator = iter(self._listing.batches)
        try:
            while (batch := await self._next(iterator)) is not None:
                yield batch
        finally:
            await self.close()

    async def _next(self, iterator: Iterator[Sequence[EncodedPiece]]) -> Sequence[EncodedPiece] | None:
        reading = asyncio.ensure_future(self._database.in_thread(next, iterator, None))
        if not (await asyncio.wait([reading], timeout=BATCH_TIMEOUT_S))[0]:
            # A network that swallows everything would hold the thread, and one of the few listings, for ever.
            self._listing.cut()
        return await reading

    async def close(self) -> None:
        """End the read transaction; again is no error."""
        opening, self._opening = self._opening, None
        if opening is not None:
            try:
                await self._database.in_thread(opening.__exit__, None, None, None)
            finally:
                self._closed()


class Content:
    """The pieces of sources."""

    def __init__(self, database: Database, views: Views, metrics: Metrics) -> None:
        self._database = database
        self._views = views
        self._metrics = metrics
        self._listings = asyncio.Semaphore(MAX_LISTINGS)

    async def submit(self, access: Access, source: str, body: bytes) -> Receipt:
        """Store a submission, all of it or nothing; returns after the commit.

        Raises:
            InvalidSyntax, TooManyEntries, InvalidInput: the body is not a submission.
            TooManySources, TooManyPieces: the plan's limits.
        """
        submission = await self._database.in_thread(decode_submission, body)
        outcome = await self._database.change(
            SubmitPieces(
                account_id=access.account_id,
                source=source,
                actor=access.key_id,
                pieces=submission.pieces,
                max_sources=access.plan.sources,
                max_pieces=access.plan.pieces_per_source,
            )
        )
        self._metrics.pieces_submitted.inc(submission.accepted)
        return Receipt(
            source=source,
            version=outcome.version,
            accepted=submission.accepted,
            created=outcome.created,
            replaced=outcome.replaced,
            superseded=submission.superseded,
            ignored=submission.ignored,
        )

    async def delete(self, access: Access, source: str, ids: Sequence[str]) -> Outcome:
        """Delete the pieces with these ids; unknown ones are no error."""
        return await self._database.change(
            DeletePieces(account_id=access.account_id, source=source, actor=access.key_id, ids=ids)
        )

    async def clear(self, access: Access, source: str) -> Outcome:
        """Delete every piece of a source."""
        return await self._database.change(
            ClearPieces(account_id=access.account_id, source=source, actor=access.key_id)
        )

    async def delete_source(self, access: Access, source: str, confirm: str | None) -> Outcome:
        """Delete a source with everything in it, if ``confirm`` repeats its name."""
        if confirm != source:
            raise invalid_parameter("confirm", "Repeat the source's name here, since this deletes everything in it.")
        return await self._database.change(
            DeleteSource(account_id=access.account_id, source=source, actor=access.key_id)
        )

    @staticmethod
    def status(view: View) -> SourceStatus:
        """Return where a source and its index stand."""
        head = view.head
        return SourceStatus(
            source=head.name,
            pieces=head.piece_count,
            version=head.version,
            indexed_version=head.version,
            created_at=format_timestamp(head.created_at),
            updated_at=format_timestamp(head.changed_at),
        )

    async def piece(
        self, access: Access, source: str, piece_id: str, *, min_version: int = 0
    ) -> tuple[SourceHead, bytes]:
        """Return one piece as stored.

        Raises:
            UnknownPiece: the source has no such piece.
        """
        await self._views.head(access.account_id, source, min_version=min_version)
        head, body = await self._database.read(self._database.storage.read_piece, access.account_id, source, piece_id)
        if body is None:
            raise UnknownPiece("The source has no piece with this id.")
        return head, body

    async def ids(
        self, access: Access, source: str, *, skip: int = 0, limit: int | None = None, min_version: int = 0
    ) -> Page:
        """Return a page of the ids of a source, ascending."""
        await self._views.head(access.account_id, source, min_version=min_version)
        return await self._page(self._database.storage.open_ids(access.account_id, source, skip=skip, limit=limit))

    async def pieces(
        self, access: Access, source: str, *, skip: int = 0, limit: int | None = None, min_version: int = 0
    ) -> Page:
        """Return a page of the pieces of a source, ascending by id."""
        await self._views.head(access.account_id, source, min_version=min_version)
        return await self._page(self._database.storage.open_listing(access.account_id, source, skip=skip, limit=limit))

    async def _page(self, opening: AbstractContextManager[Listing]) -> Page:
        try:
            async with asyncio.timeout(LISTING_WAIT_S):
                await self._listings.acquire()
        except TimeoutError:
            raise Overloaded("Too many listings are being read; ask again soon.", retry_after_s=1) from None
        try:
            listing = await self._database.in_thread(opening.__enter__)
        except BaseException:
            self._listings.release()
            raise
        return Page(self._database, opening, listing, self._listings.release)
