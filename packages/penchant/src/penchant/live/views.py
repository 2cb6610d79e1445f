"""Views: what requests see of sources, each brought up to date before it is returned, and cached.

Between two awaits of a request its source may be let go, forgotten, deleted and made again. So what is cached is
looked up after an await, never before it; and a request goes on with the view that it has. The way to a view:

    head           one read of the database: what is committed now
    enter          what is cached of the source, from now on the one requested last
    has_reached?   a view that has all of this is returned as it is
    following      otherwise the lock of the source, and has_reached? again, since another may have done the rest
    is_awaited     without a view of this history: the builder is waited for where the source is large
    catch_up       in a thread: from the view or a newer file, then the feed; what comes out replaces the view
"""

import asyncio
import contextlib
import time
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from penchant.errors import IndexNotReady, NotYetVisible, PenchantError, StorageUnavailable, UnknownSource
from penchant.live.audience_follower import AudienceFollower
from penchant.live.counting import StoredLikes
from penchant.live.database import AsyncStorage
from penchant.live.following import Follower, View
from penchant.live.heads import Heads, SourceName
from penchant.live.recent_changes import RecentChanges
from penchant.live.segment_files import Segments
from penchant.live.source_cache import CachedSource, SourceCache
from penchant.model import SourceSettings
from penchant.storage import SourceHead
from penchant.telemetry import Metrics
from penchant.tracing import tracing
from penchant_engine.index import Audience, Likes, PieceCounts
from penchant_engine.model import DAY_MS

__all__ = ["View", "ViewLimits", "Views"]

WAIT_STEP_S = 0.02
"""Pause between looks for a version that another process or node may still commit."""

ADOPTED_TOGETHER = 50
"""Sources that are looked at in one turn of the event loop: a millisecond where each has files."""
CHECKED_AFTER_S = 60.0
"""How long a source stays in the cache, unrequested, before it is looked up whether it still exists."""
CHECKED_TOGETHER = 500
"""Sources that are looked up in a turn: all of a full cache in two minutes."""


class ViewLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long reads wait for a version and go on without the database, and the memory of all views (0: any)."""

    min_version_timeout_s: float
    stale_reads_s: float
    memory_bytes: int = 0


class Views:
    """The views of sources that were requested, each followed by one catch-up at a time.

    ``limits`` may be replaced at any time. What people did is counted out of ``recent_changes`` where that has it.
    """

    def __init__(
        self,
        database: AsyncStorage,
        metrics: Metrics,
        segments: Segments,
        limits: ViewLimits,
        *,
        stored_likes: StoredLikes | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self.heads = Heads(database)
        self._metrics = metrics
        self._segments = segments
        self._follower = Follower(database.storage, segments, metrics)
        self.limits = limits
        self.recent_changes = RecentChanges(database)
        self._monotonic = monotonic
        self._tasks: set[asyncio.Task[None]] = set()
        self._cache = SourceCache(metrics, lambda: self.limits.memory_bytes)
        self._audiences = AudienceFollower(
            database,
            metrics,
            self._cache,
            stored_likes or StoredLikes(metrics),
            self.recent_changes,
            monotonic=monotonic,
        )

    async def adopt(self) -> None:
        """Go over to newer files where there are any: requests do so only for sources that change.

        What goes on from an older file takes memory of this process for all that has changed since.
        """
        for number, source in enumerate(self._cache.sources()):
            if number % ADOPTED_TOGETHER == 0:
                await asyncio.sleep(0)
            # Let go, or made again, while others were looked at.
            if self._cache.find(source.name) is not source:
                continue
            try:
                await self._adopt_segment(source)
                await self._audiences.adopt(source)
            except UnknownSource:
                self._cache.forget(source.name)

    async def _adopt_segment(self, source: CachedSource) -> None:
        view = source.view
        if view is None or self._segments.newer(view.head, view.base_version) is None:
            return
        async with source.following:
            # Another may have replaced the view while this one waited.
            head = view.head if source.view is None else source.view.head
            source.view = await self._database.in_thread(self._follower.catch_up, source.view, head)
            self._cache.update(source)

    async def refresh(self) -> None:
        """Follow what people do in sources requested lately, so that rare requests wait less and erasures count."""
        for source in self._cache.sources():
            if self._audiences.is_followed(source):
                try:
                    await self.refresh_audience(*source.name)
                except UnknownSource:
                    continue

    async def refresh_audience(self, account_id: int, source: str) -> None:
        """Begin to follow what people have done, where the audience of a source was requested lately.

        Raises:
            UnknownSource, StorageUnavailable: as `view`.
        """
        cached = self._cache.find((account_id, source))
        if cached is not None and self._audiences.is_followed(cached):
            view = await self.view(account_id, source)
            await self._audiences.refresh(view, self.today(view))

    def refresh_soon(self, account_id: int, source: str) -> None:
        """Start `refresh_audience` in a task of its own and return at once; its errors are dropped."""

        async def refresh() -> None:
            with contextlib.suppress(PenchantError):
                await self.refresh_audience(account_id, source)

        # An event loop refers to its tasks weakly: one that nothing else refers to may vanish half-way.
        task = asyncio.create_task(refresh())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @staticmethod
    def today(view: View) -> int:
        """Return the UTC day, by the source's own clock where this node's is behind."""
        return max(int(time.time() * 1000), view.head.changed_at) // DAY_MS

    def watched(self) -> list[SourceName]:
        """Return sources that no request has asked for lately: whether they still exist is to be looked up."""
        now = self._monotonic()
        unchecked = [
            source.name
            for source in self._cache.sources()
            if now - max(source.confirmed_at, source.checked_at) >= CHECKED_AFTER_S
        ]
        return unchecked[:CHECKED_TOGETHER]

    def observe(self, name: SourceName, head: SourceHead | None) -> None:
        """Forget a source that is gone, deleted by another process, or made again."""
        source = self._cache.find(name)
        if source is None:
            return
        now = source.checked_at = self._monotonic()
        if head is not None and head is source.confirmed:
            source.confirmed_at = now
            return
        view = source.view
        if head is None or (view is not None and not view.is_of(head)):
            self._cache.forget(name)
        elif view is not None and view.head.version == head.version:
            # Also where what was remembered is sent again, and the view is not asked for.
            source.confirmed, source.confirmed_at = head, now

    def forget(self, account_id: int, source: str) -> None:
        """Forget a source that was deleted; again is no error."""
        self._cache.forget((account_id, source))

    @property
    def lag(self) -> int:
        """How many versions the cached sources are behind what was requested last, all together."""
        return self._cache.lag

    def cached_version(self, account_id: int, source: str) -> int | None:
        """Return the version of a source that this process has; ``None`` where it has none."""
        cached = self._cache.find((account_id, source))
        return None if cached is None or cached.view is None else cached.view.head.version

    async def head(self, account_id: int, source: str, *, min_version: int = 0) -> SourceHead:
        """Return where the source is, once it has reached ``min_version``.

        Raises:
            UnknownSource: the account has no such source.
            NotYetVisible: the version was not reached in time.
            StorageUnavailable: the database is away.
        """
        name, deadline = (account_id, source), 0.0
        while True:
            head = await self.heads.read(name)
            # At once: while the database is away nothing of a history that is known to be lost may go on.
            self.observe(name, head)
            if head is None:
                raise _unknown()
            if head.version >= min_version:
                return head
            deadline = deadline or self._monotonic() + self.limits.min_version_timeout_s
            if self._monotonic() >= deadline:
                raise NotYetVisible(
                    f"The source is at version {head.version}, the read asked for {min_version}.",
                    retry_after_s=1,
                )
            await asyncio.sleep(WAIT_STEP_S)

    async def existing(self, account_id: int, source: str) -> SourceHead | None:
        """Return where a source is; ``None`` where that cannot be found out while the database is away.

        Raises:
            UnknownSource: the account has no such source.
            StorageUnavailable: the database is away, for longer than reads may go on.
        """
        name = (account_id, source)
        try:
            head = await self.heads.read(name)
        except StorageUnavailable:
            self._stale(name, 0)
            return None
        self.observe(name, head)
        if head is None:
            raise _unknown()
        return head

    async def view(
        self, account_id: int, source: str, *, min_version: int = 0, known: SourceHead | None = None
    ) -> View:
        """Return the source as it is committed now, at ``min_version`` at least.

        ``known`` is where it was a moment ago, read by the caller; that will do where it is at ``min_version``.

        Raises:
            UnknownSource, NotYetVisible, StorageUnavailable: as `head`.
            IndexNotReady: the index of a large source is being built.
        """
        name = (account_id, source)
        try:
            head = known
            if head is None or head.version < min_version:
                head = await self.head(account_id, source, min_version=min_version)
        except StorageUnavailable:
            return self._stale(name, min_version)
        cached = self._cache.enter(name)
        # Most heads are those that `observe` has found the view to be of.
        if cached.view is None or (cached.confirmed is not head and not cached.view.has_reached(head)):
            await self._follow(cached, head)
        cached.confirmed_at = self._monotonic()
        view = cached.view
        assert view is not None  # noqa: S101  # _follow sets it
        own = view.head
        if own.version < min_version:
            # The version was lost with its history after the head was read: it is waited for once more.
            return await self.view(account_id, source, min_version=min_version)
        # Interactions change nothing in a view, so the same pieces go on under the newer head.
        if own.interactions_version < head.interactions_version and own.version == head.version and view.is_of(head):
            view = cached.view = replace(view, head=head)
        return view

    async def audience(self, view: View, today: int, *, min_version: int = 0) -> Audience:
        """Return what all people like on a UTC day, as of ``min_version`` of the interactions at least.

        Popularity has what was committed half a second ago; the weights follow as `source_weights` says.

        Raises:
            UnknownSource: the source was deleted meanwhile.
            NotYetVisible: the version was not reached in time.
            StorageUnavailable: the database is away, and nothing was counted before.
        """
        deadline = self._monotonic() + self.limits.min_version_timeout_s
        while min_version > view.head.interactions_version and not view.stale:
            # Another node may still commit it.
            head = await self.head(view.head.account_id, view.head.name)
            view = replace(view, head=view.head._replace(interactions_version=head.interactions_version))
            # The follower says that it is not yet visible, if its weights have not got so far either.
            if self._monotonic() >= deadline:
                break
            await asyncio.sleep(WAIT_STEP_S)
        return await self._audiences.audience(view, today, min_version=min_version, deadline=deadline)

    def settled_audience(self, head: SourceHead, today: int) -> Audience | None:
        """Return the audience of a source where it has all of a head, as `AudienceFollower.settled`."""
        return self._audiences.settled(head, today)

    async def count_likes(self, view: View, today: int, half_life_days: int) -> PieceCounts | None:
        """Return how many people like each piece under another half-life, as `AudienceFollower.count_likes`."""
        return await self._audiences.count_likes(view, today, half_life_days)

    async def likes(self, view: View, today: int) -> Likes | None:
        """Return what people like on a UTC day, as `AudienceFollower.likes`."""
        return await self._audiences.likes(view, view.settings.oldest_day(today))

    def audience_age_s(self, view: View, today: int) -> float | None:
        """Return how old the audience of a source is, as `AudienceFollower.age_s`."""
        return self._audiences.age_s(view, today)

    async def audience_under(self, view: View, settings: SourceSettings, today: int) -> Audience:
        """Return what people like under settings that are not in force, as `AudienceFollower.under`."""
        return await self._audiences.under(view, settings, today)

    async def _follow(self, cached: CachedSource, head: SourceHead) -> None:
        """Bring the view of a source up to a head at least, one catch-up for all requests that wait."""
        # For the builder and for all requests that wait for the lock before this one.
        deadline = self._monotonic() + self.limits.min_version_timeout_s
        async with cached.following:
            if cached.view is not None and cached.view.has_reached(head):
                return
            # Only set where there is something to do: with the view it makes the lag that metrics show.
            cached.requested_version = head.version
            if cached.view is None or not cached.view.is_of(head):
                await self._wait_for_segment(head, deadline)
            try:
                with tracing.span("catch-up"), self._metrics.follow_seconds.labels("content").time():
                    cached.view = await self._database.in_thread(self._follower.catch_up, cached.view, head)
            except UnknownSource:
                self._cache.forget(cached.name)
                raise
            self._cache.update(cached)

    async def _wait_for_segment(self, head: SourceHead, deadline: float) -> None:
        """Wait while the builder builds what would take this process too long."""
        while await self._database.in_thread(self._segments.is_awaited, head):
            if self._monotonic() >= deadline:
                raise IndexNotReady("The index of this source is being built.", retry_after_s=1)
            await asyncio.sleep(WAIT_STEP_S)

    def _stale(self, name: SourceName, min_version: int) -> View:
        # A version that a reader asks for cannot be promised without the database.
        cached = self._cache.find(name)
        if cached is not None and cached.view is not None and not min_version:
            age = self._monotonic() - cached.confirmed_at
            if self.limits.stale_reads_s and age <= self.limits.stale_reads_s:
                return replace(cached.view, stale=True)
        raise StorageUnavailable("The database cannot be reached at the moment.", retry_after_s=1)


def _unknown() -> UnknownSource:
    return UnknownSource("The account has no source of this name; the first submission makes it.")
