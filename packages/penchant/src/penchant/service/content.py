"""Content: how pieces come in, go out and are read: submissions, deletions, lists, single pieces, the status.

A listing lives across many calls of threads, since its client reads at its own pace:

    waiting for a turn -> opened (a read transaction) -> batch, batch, ... -> closed (the turn is given back)

It is closed at its end, by its client's leaving, or by a batch that takes too long, whose connection is cut. A short
one does all this in one call.

Creations of sources: an account has so many a minute, since each leaves rows and memory behind for a while.
"""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

from msgspec import UNSET

from penchant.enrichment import rule_of
from penchant.errors import RateExceeded, UnknownPiece, UnknownSource, invalid_parameter
from penchant.live.database import AsyncStorage
from penchant.live.keyword_writer import KeywordTasks
from penchant.live.views import View, Views
from penchant.model import EncodedPiece, SourceSettings
from penchant.service.access import Access
from penchant.service.shares import AccountShares
from penchant.settings import CurrentSettings
from penchant.storage import (
    ClearPieces,
    DeletePieces,
    DeleteSource,
    PieceDeletion,
    SourceHead,
    SubmitPieces,
)
from penchant.telemetry import Metrics
from penchant.wire import encode_settings, format_timestamp
from penchant.wire.answers import Receipt, SourceStatus
from penchant.wire.pieces import Submission
from penchant.wire.stored import PieceReading, body_with

MINUTE_S = 60.0


class CreationRate:
    """Counts the sources that accounts make in each minute, in this process; forgotten with the minute."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._minute = 0
        self._counts: dict[int, int] = {}

    @contextlib.contextmanager
    def creating(self, account_id: int, limit: int) -> Iterator[None]:
        """Count the source that the block makes, unless it fails: then nothing is left behind; ``limit`` 0 allows any.

        Raises:
            RateExceeded: the account has made so many in this minute.
        """
        minute, passed_s = divmod(self._monotonic(), MINUTE_S)
        if minute != self._minute:
            self._minute = int(minute)
            self._counts.clear()
        count = self._counts.get(account_id, 0)
        if limit and count >= limit:
            raise RateExceeded(
                f"The account has made {limit} sources in this minute, the most that it may; make more in the next.",
                retry_after_s=MINUTE_S - passed_s,
            )
        # Counted before it is made, so that requests at the same time do not all pass.
        self._counts[account_id] = count + 1
        try:
            yield
        except BaseException:
            if minute == self._minute:
                self._counts[account_id] -= 1
            raise


MAX_LISTINGS = 6
"""Listings that a process reads at once: each holds a connection and a snapshot for as long as its client reads."""
LISTINGS_OF_ACCOUNT = 2
"""Of these an account has at most so many."""
LISTING_WAIT_S = 5.0
"""How long one more waits for its turn."""
BATCH_TIMEOUT_S = 5.0
"""How long a batch may take, a thousand times as long as usual, before the database counts as away."""
BEGINNING = 2
"""Batches that are read as a listing is opened; where there are fewer, that is all."""


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
    """A listing of a source's pieces, read batch by batch.

    A short one is read and closed by the call of a thread that opens it: under load each call waits for its turn.
    Another holds a read transaction, until its last batch was read or it is closed. ``closed`` is called at its end.
    """

    def __init__(
        self,
        database: AsyncStorage,
        opening: AbstractContextManager[ListingSource[Row]],
        closed: Callable[[], None],
    ) -> None:
        self._database = database
        self._opening = opening
        self._closed: Callable[[], None] | None = closed
        self._listing: ListingSource[Row] | None = None
        self._reading: Future[Sequence[Sequence[Row]]] | None = None
        self._beginning: Sequence[Sequence[Row]] = ()
        # What ends the transaction, while there is one.
        self._opened: ExitStack | None = None
        self._rest: Iterator[Sequence[Row]] = iter(())

    @property
    def head(self) -> SourceHead:
        """The source's head that it is read from; there is one once it is open."""
        if self._listing is None:
            raise RuntimeError("not open")
        return self._listing.head

    @property
    def whole(self) -> Sequence[Row] | None:
        """All rows of a short listing; none of one that is still to be read."""
        return None if self._opened else list(itertools.chain.from_iterable(self._beginning))

    async def open(self) -> None:
        """Open it and read its beginning, which may be all."""
        try:
            self._beginning = await self._in_time(self._begin)
        except BaseException:
            await self.close()
            raise
        if self._opened is None:
            await self.close()

    def _begin(self) -> Sequence[Sequence[Row]]:
        with ExitStack() as opened:
            self._listing = opened.enter_context(self._opening)
            self._rest = iter(self._listing.batches)
            beginning = list(itertools.islice(self._rest, BEGINNING))
            if len(beginning) == BEGINNING:
                self._opened = opened.pop_all()
            return beginning

    async def batches(self) -> AsyncIterator[Sequence[Row]]:
        """Yield the batches; those after the beginning are each read in a thread."""
        try:
            batches = self._beginning
            while batches:
                for batch in batches:
                    yield batch
                batches = await self._in_time(self._next) if self._opened else ()
        finally:
            await self.close()

    def _next(self) -> Sequence[Sequence[Row]]:
        return list(itertools.islice(self._rest, 1))

    async def _in_time(self, read: Callable[[], Sequence[Sequence[Row]]]) -> Sequence[Sequence[Row]]:
        # A network that swallows everything would hold the thread, and one of the few listings, for ever.
        deadline = asyncio.get_running_loop().call_later(BATCH_TIMEOUT_S, self._cut)
        self._reading = self._database.submit(read)
        try:
            # Awaited by itself: a task between would take two more turns of a busy event loop.
            return await asyncio.wrap_future(self._reading)
        finally:
            deadline.cancel()

    def _cut(self) -> None:
        if self._listing is not None:
            self._listing.cut()

    async def close(self) -> None:
        """End the read transaction; again is no error."""
        # Taken and cleared with no wait between: of two that close, one ends the transaction.
        closed, self._closed = self._closed, None
        if closed is not None:
            # Shielded, since a request that was cancelled has to give back what it took.
            await asyncio.shield(asyncio.ensure_future(self._end(closed)))

    async def _end(self, closed: Callable[[], None]) -> None:
        try:
            # A cancelled request leaves its read running, and a connection is for one thread at a time.
            if self._reading is not None:
                await asyncio.gather(asyncio.wrap_future(self._reading), return_exceptions=True)
            if self._opened is not None:
                await self._database.in_thread(self._opened.close)
        finally:
            closed()


class Content:
    """The pieces of sources."""

    def __init__(
        self, database: AsyncStorage, views: Views, metrics: Metrics, settings: CurrentSettings, words: KeywordTasks
    ) -> None:
        self._database = database
        self.words = words
        self._settings = settings
        self._creations = CreationRate()
        self._views = views
        self._metrics = metrics
        self.listings = AccountShares(
            "listings are being read", turns=MAX_LISTINGS, of_account=LISTINGS_OF_ACCOUNT, wait_s=LISTING_WAIT_S
        )

    async def submit_pieces(
        self, access: Access, source: str, submission: Submission, settings: SourceSettings | None = None
    ) -> Receipt:
        """Store a submission, all of it or nothing; returns after the commit. A source that is made has the settings.

        Raises:
            TooManySources, TooManyPieces: the plan's limits.
            RateExceeded: the account has made too many sources in this minute.
        """
        command = SubmitPieces(
            **access.command_of(source),
            pieces=submission.pieces,
            makes_source=False,
            max_sources=access.plan.sources,
            max_pieces=access.plan.pieces_per_source,
            settings=b"" if settings is None else encode_settings(settings),
            words=rule_of(settings),
        )
        try:
            outcome = await self.words.submit(command)
        except UnknownSource:
            with self._creations.creating(access.account_id, self._settings.now.source_creations_per_minute):
                outcome = await self.words.submit(replace(command, makes_source=True))
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

    async def delete(self, access: Access, source: str, ids: Sequence[str]) -> PieceDeletion:
        """Delete the pieces with these ids; unknown ones are no error."""
        return await self._database.change(DeletePieces(**access.command_of(source), ids=ids))

    async def clear(self, access: Access, source: str) -> PieceDeletion:
        """Delete every piece of a source."""
        return await self._database.change(ClearPieces(**access.command_of(source)))

    async def delete_source(self, access: Access, source: str, confirm: str | None) -> PieceDeletion:
        """Delete a source with everything in it, if ``confirm`` repeats its name.

        Raises:
            FourEyes: the source asks for two pairs of eyes, which one made anew would not.
        """
        if confirm != source:
            raise invalid_parameter("confirm", "Repeat the source's name here, since this deletes everything in it.")
        outcome = await self._database.change(DeleteSource(**access.command_of(source)))
        # After the commit, or a request between the two would bring the view back.
        self._views.forget(access.account_id, source)
        return outcome

    @staticmethod
    def status(view: View) -> SourceStatus[str]:
        """Return where a source and its index stand."""
        head = view.head
        return SourceStatus(
            source=head.name,
            pieces=head.piece_count,
            version=head.version,
            indexed_version=head.version,
            created_at=format_timestamp(head.created_at),
            updated_at=format_timestamp(head.changed_at),
            words_pending=view.reading.rule != rule_of(view.settings) or UNSET,
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

    async def some(
        self, access: Access, source: str, ids: Sequence[str], *, included: Collection[str] = (), min_version: int = 0
    ) -> tuple[SourceHead, dict[str, bytes]]:
        """Return some pieces as stored, by id, and where the source was then; unknown ones are left out.

        Each has ``included`` keywords of packages as a member, where it has any or would get some.
        """
        await self._views.head(access.account_id, source, min_version=min_version)

        def read() -> tuple[SourceHead, dict[str, bytes]]:
            stored = self._database.storage.pieces
            head, rule, pieces = stored.read_with_rule(access.account_id, source, ids)
            reading = PieceReading(rule)
            return head, {
                piece_id: body_with(piece, reading, included) if included else piece.body
                for piece_id, piece in pieces.items()
            }

        return await self._database.in_thread(read)

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
        page = ListingPage(self._database, opening, await self.listings.take(access.account_id))
        await page.open()
        return page
