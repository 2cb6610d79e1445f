"""Content: how pieces come in, go out and are read: submissions, deletions, lists, single pieces, the status.

A listing lives across many calls of threads, since its client reads at its own pace:

    waiting for a turn -> opened (a read transaction) -> batch, batch, ... -> closed (the turn is given back)

It is closed at its end, by its client's leaving, or by a batch that takes too long, whose connection is cut.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Generic, Protocol, TypeVar

from penchant.errors import UnknownPiece, UnknownSource, invalid_parameter
from penchant.live.database import AsyncStorage
from penchant.live.views import View, Views
from penchant.model import EncodedPiece
from penchant.service.access import Access
from penchant.service.creations import CreationRate
from penchant.service.shares import AccountShares
from penchant.settings import CurrentSettings
from penchant.storage import (
    ClearPieces,
    DeletePieces,
    DeleteSource,
    Outcome,
    SourceHead,
    SubmitPieces,
)
from penchant.telemetry import Metrics
from penchant.wire import Receipt, SourceStatus, Submission, format_timestamp

MAX_LISTINGS = 6
"""Listings that a process reads at once: each holds a connection and a snapshot for as long as its client reads."""
LISTINGS_OF_ACCOUNT = 2
"""Of these an account has at most so many."""
LISTING_WAIT_S = 5.0
"""How long one more waits for its turn."""
BATCH_TIMEOUT_S = 5.0
"""How long a batch may take, a thousand times as long as usual, before the database counts as away."""


Row = TypeVar("Row")
Row_co = TypeVar("Row_co", covariant=True)


class ListingSource(Protocol[Row_co]):
    """A listing that storage opens, to be read batch by batch within one transaction."""

    @property
    def head(self) -> SourceHead:
        """The source's head that it is read from."""

    @property
    def batches(self) -> Iterable[Sequence[Row_co]]:
        """The rows."""

    @property
    def cut(self) -> Callable[[], None]:
        """Ends the connection, from any thread."""


class ListingPage(Generic[Row]):
    """A listing of a source's pieces, read batch by batch; ``head`` is what it was read from.

    It holds a read transaction, until its last batch was read or it is closed.
    """

    def __init__(
        self,
        database: AsyncStorage,
        opening: AbstractContextManager[ListingSource[Row]],
        listing: ListingSource[Row],
        closed: Callable[[], None],
    ) -> None:
        self.head = listing.head
        self._database = database
        self._opening: AbstractContextManager[ListingSource[Row]] | None = opening
        self._listing = listing
        self._closed = closed
        self._reading: asyncio.Future[Sequence[Row] | None] | None = None

    async def batches(self) -> AsyncIterator[Sequence[Row]]:
        """Yield the batches, each read in a thread."""
        iterator = iter(self._listing.batches)
        try:
            while (batch := await self._next(iterator)) is not None:
                yield batch
        finally:
            await self.close()

    async def _next(self, iterator: Iterator[Sequence[Row]]) -> Sequence[Row] | None:
        reading = self._reading = asyncio.ensure_future(self._database.in_thread(next, iterator, None))
        if not (await asyncio.wait([reading], timeout=BATCH_TIMEOUT_S))[0]:
            # A network that swallows everything would hold the thread, and one of the few listings, for ever.
            self._listing.cut()
        return await reading

    async def close(self) -> None:
        """End the read transaction; again is no error."""
        # Taken and cleared with no wait between: of two that close, one ends the transaction.
        opening, self._opening = self._opening, None
        if opening is not None:
            # Shielded, since a request that was cancelled has to give back what it took.
            await asyncio.shield(asyncio.ensure_future(self._end(opening)))

    async def _end(self, opening: AbstractContextManager[ListingSource[Row]]) -> None:
        try:
            # A cancelled request leaves its read running, and a connection is for one thread at a time.
            if self._reading is not None:
                await asyncio.wait([self._reading])
            await self._database.in_thread(opening.__exit__, None, None, None)
        finally:
            self._closed()


class Content:
    """The pieces of sources."""

    def __init__(self, database: AsyncStorage, views: Views, metrics: Metrics, settings: CurrentSettings) -> None:
        self._database = database
        self._settings = settings
        self._creations = CreationRate()
        self._views = views
        self._metrics = metrics
        self.listings = AccountShares(
            "listings are being read", turns=MAX_LISTINGS, of_account=LISTINGS_OF_ACCOUNT, wait_s=LISTING_WAIT_S
        )

    async def submit_pieces(self, access: Access, source: str, submission: Submission) -> Receipt:
        """Store a submission, all of it or nothing; returns after the commit.

        Raises:
            TooManySources, TooManyPieces: the plan's limits.
            RateExceeded: the account has made too many sources in this minute.
        """
        command = SubmitPieces(
            account_id=access.account_id,
            source=source,
            actor=access.key_id,
            pieces=submission.pieces,
            max_sources=access.plan.sources,
            max_pieces=access.plan.pieces_per_source,
        )
        with await self._creating(access, source):
            outcome = await self._database.change(command)
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

    async def _creating(self, access: Access, source: str) -> AbstractContextManager[None]:
        """Return what counts a source that is made, where there is none of this name yet."""
        try:
            await self._views.existing(access.account_id, source)
        except UnknownSource:
            return self._creations.creating(access.account_id, self._settings.now.source_creations_per_minute)
        return nullcontext()

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
        outcome = await self._database.change(
            DeleteSource(account_id=access.account_id, source=source, actor=access.key_id)
        )
        # After the commit, or a request between the two would bring the view back.
        self._views.forget(access.account_id, source)
        return outcome

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
        head, body = await self._database.read(self._database.storage.pieces.read, access.account_id, source, piece_id)
        if body is None:
            raise UnknownPiece("The source has no piece with this id.")
        return head, body

    async def ids(
        self, access: Access, source: str, *, skip: int = 0, limit: int | None = None, min_version: int = 0
    ) -> ListingPage[EncodedPiece]:
        """Return a page of the ids of a source, ascending."""
        await self._views.head(access.account_id, source, min_version=min_version)
        stored = self._database.storage.pieces
        return await self.open_page(access, stored.open_ids(access.account_id, source, skip=skip, limit=limit))

    async def pieces(
        self, access: Access, source: str, *, skip: int = 0, limit: int | None = None, min_version: int = 0
    ) -> ListingPage[EncodedPiece]:
        """Return a page of the pieces of a source, ascending by id."""
        await self._views.head(access.account_id, source, min_version=min_version)
        stored = self._database.storage.pieces
        return await self.open_page(access, stored.open_page(access.account_id, source, skip=skip, limit=limit))

    async def open_page(self, access: Access, opening: AbstractContextManager[ListingSource[Row]]) -> ListingPage[Row]:
        """Open a listing once one of the few that are read at once is free.

        Raises:
            Overloaded: none is free in time.
        """
        give_back = await self.listings.take(access.account_id)
        try:
            listing = await self._database.in_thread(opening.__enter__)
        except BaseException:
            give_back()
            raise
        return ListingPage(self._database, opening, listing, give_back)
