"""Change feed: what became of a source's pieces after a version, for followers elsewhere.

A follower keeps the version that it has reached and the feed's ``history``. Where these no longer lead on (the source
was emptied, restored or made again, or a deletion has left the feed), all pieces come, and what it had counts no more.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Self

import msgspec
from prometheus_client import Counter

from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.live.database import AsyncStorage
from penchant.live.views import Views
from penchant.service import Services
from penchant.service.access import Access
from penchant.service.content import Content, ListingPage
from penchant.service.shares import AccountShares
from penchant.storage import ChangeListing, FeedCursor, PieceChange, SourceHead
from penchant.telemetry import Metrics

MAX_WAITING = 256
"""Requests of a process that wait for changes; each costs some kilobytes and four looks at its source a second."""
MAX_WAITING_OF_ACCOUNT = 64
"""A quarter of them: no account can take the waits of all others."""
POLL_S = 0.25
"""How often a waiting request looks: other processes commit as well, and nothing tells of it. A look takes 10 us."""


class ChangeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A follower's position: ``since`` is ``None`` where it has nothing yet; it waits ``wait_s`` for more."""

    since: int | None
    history: str | None
    wait_s: int


class ChangePage(msgspec.Struct, frozen=True, kw_only=True):
    """The changes, read batch by batch; ``complete`` tells that they are all pieces and the follower begins anew.

    ``sent`` counts them as they are taken.
    """

    page: ListingPage[PieceChange]
    complete: bool
    sent: Counter

    @property
    def head(self) -> SourceHead:
        """The source's head that they were read from."""
        return self.page.head

    async def batches(self) -> AsyncIterator[Sequence[PieceChange]]:
        """Yield the changes, and count those that were taken."""
        async for batch in self.page.batches():
            yield batch
            self.sent.inc(len(batch))


def history_of(head: SourceHead) -> str:
    """Return what names the history of a source: versions of two histories cannot be compared."""
    return f"{head.incarnation}-{head.epoch}"


class Changes:
    """The change feeds of sources."""

    def __init__(
        self,
        database: AsyncStorage,
        views: Views,
        content: Content,
        metrics: Metrics,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._database = database
        self._views = views
        self._content = content
        self._metrics = metrics
        self._clock = clock
        # No wait for a turn to wait: past the limit a follower is refused at once, and asks again.
        self._waits = AccountShares(
            "requests wait for changes", turns=MAX_WAITING, of_account=MAX_WAITING_OF_ACCOUNT, wait_s=0
        )

    @classmethod
    def build(cls, services: Services) -> Self:
        """Return the feeds over the service."""
        return cls(services.database, services.views, services.content, services.metrics, clock=services.clock)

    async def wait(self, access: Access, source: str, request: ChangeRequest, *, min_version: int = 0) -> None:
        """Wait until a source leads past what a follower has, for the request's time at most.

        Raises:
            Overloaded: too many requests wait.
            UnknownSource: there is none, or it was deleted meanwhile.
        """
        deadline = self._clock.monotonic() + request.wait_s
        head = await self._views.head(access.account_id, source, min_version=min_version)
        if not _is_reached(head, request):
            return
        async with self._waits.turn(access.account_id):
            with self._metrics.waiting_followers.track_inprogress():
                while _is_reached(head, request) and (left := deadline - self._clock.monotonic()) > 0:
                    await asyncio.sleep(min(POLL_S, left))
                    head = await self._views.head(access.account_id, source)

    async def after(self, access: Access, source: str, request: ChangeRequest, *, min_version: int = 0) -> ChangePage:
        """Return the changes after what a follower has, none where it has them all.

        Raises:
            Overloaded: too many listings are read.
            UnknownSource: there is none.
        """
        head = await self._views.head(access.account_id, source, min_version=min_version)
        cursor = None
        if request.since is not None and request.history in {None, history_of(head)}:
            # Without a cursor all pieces come. A version of another history is no position in this one.
            cursor = FeedCursor(incarnation=head.incarnation, epoch=head.epoch, version=request.since)
        # A listing page passes on batches alone; whether they are all pieces is noted as the listing is opened.
        completeness: list[bool] = []
        opening = self._database.storage.pieces.open_changes(access.account_id, source, cursor)
        page = await self._content.open_page(access, _noting_completeness(opening, completeness))
        return ChangePage(page=page, complete=completeness[0], sent=self._metrics.changes_sent)


def _is_reached(head: SourceHead, request: ChangeRequest) -> bool:
    """Return whether a follower has all there is."""
    return head.version == request.since and request.history in {None, history_of(head)}


@contextlib.contextmanager
def _noting_completeness(
    opening: AbstractContextManager[ChangeListing], completeness: list[bool]
) -> Iterator[ChangeListing]:
    with opening as listing:
        completeness.append(listing.complete)
        yield listing
