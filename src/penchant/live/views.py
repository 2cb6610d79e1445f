"""What does a request see of a source? One immutable view, brought up to date before it is handed out."""

import asyncio
import contextlib
import functools
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from penchant.errors import IndexNotReady, NotYetVisible, StorageUnavailable, UnknownSource
from penchant.index import Audience, Mask, Segment, Snapshot, merge_segments
from penchant.live.audiences import Audiences, Counted, Wanted
from penchant.live.database import Database
from penchant.live.following import apply_feed
from penchant.live.heads import Heads, SourceName
from penchant.live.segments import Segments
from penchant.live.stored_likes import StoredLikes
from penchant.model import SourceSettings
from penchant.storage import Cursor, SourceHead
from penchant.telemetry import Metrics, logger
from penchant.tracing import tracing
from penchant.wire import decode_settings

WAIT_STEP_S = 0.02
"""Pause between looks for a version that another process or node may still commit."""

MAX_COUNTED = 1_000_000
"""Interactions that a preview counts: some seconds of a thread."""

ADOPTING_S = 5.0
"""Pause between looks for files that are newer than what is held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long reads wait and go on, and how much memory the views may take together (0: any)."""

    min_version_timeout_s: float
    stale_reads_s: float
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A source at one version: its pieces, lists and settings, all of the same moment.

    ``hidden`` is the blacklist as a set: the same object for as long as the list stays, so that places are kept.
    ``base_version`` is that of the segment file it started from. ``stale`` tells that the database could not be
    asked whether there is something newer.
    """

    head: SourceHead
    snapshot: Snapshot
    settings: SourceSettings
    whitelist: tuple[str, ...]
    blacklist: tuple[str, ...]
    hidden: frozenset[str]
    base_version: int = 0
    stale: bool = False


@dataclass(slots=True)
class _Held:
    """What is kept of a source between requests."""

    view: View | None = None
    asked_version: int = 0
    confirmed_at: float = 0.0
    counted: Counted | None = None
    counting: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def lag(self) -> int:
        """How many versions the view stands behind what it was last asked for."""
        return 0 if self.view is None else max(0, self.asked_version - self.view.head.version)

    @property
    def nbytes(self) -> int:
        """How much memory it takes, about."""
        snapshot = 0 if self.view is None else self.view.snapshot.nbytes
        return snapshot + (0 if self.counted is None else self.counted.tally.nbytes)


class Views:
    """The views of sources that were asked for, each followed by one catch-up at a time.

    Those asked for least recently are let go when all together pass the memory that they may take. ``limits`` may be
    replaced at any time.
    """

    def __init__(
        self,
        database: Database,
        metrics: Metrics,
        segments: Segments,
        limits: Limits,
        *,
        stored_likes: StoredLikes | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._heads = Heads(database)
        self._audiences = Audiences(database.storage, stored_likes or StoredLikes(metrics), monotonic)
        self._metrics = metrics
        self._segments = segments
        self.limits = limits
        self._monotonic = monotonic
        self._held: OrderedDict[SourceName, _Held] = OrderedDict()
        self._sizes: dict[SourceName, int] = {}
        self._locks: dict[SourceName, asyncio.Lock] = {}

    async def run(self) -> None:
        """Go over to files that were published since, for ever: requests do so only for sources that change."""
        while True:
            await asyncio.sleep(ADOPTING_S)
            try:
                await self.adopt()
            except StorageUnavailable:
                continue
            except Exception:  # noqa: BLE001  # what is held goes on answering
                self._metrics.failures.labels("adopting").inc()
                logger.exception("a newer segment file could not be adopted")

    async def adopt(self) -> None:
        """Start from newer files where there are any; what is held instead takes memory of its own."""
        for name, held in list(self._held.items()):
            view = held.view
            if view is None or self._segments.newer(view.head, view.base_version) is None:
                continue
            async with self._lock(name):
                with contextlib.suppress(UnknownSource):
                    held.view = await self._database.in_thread(self._catch_up, held.view, name, view.head)
                self._keep_within_memory(name, held)
        await self._adopt_likes()

    async def _adopt_likes(self) -> None:
        for name, held in list(self._held.items()):
            view, counted = held.view, held.counted
            if view is None or counted is None or not self._audiences.has_newer(counted, view.head):
                continue
            async with held.counting:
                wanted = Wanted(head=view.head, settings=view.settings, today=counted.today, own_version=0)
                with contextlib.suppress(UnknownSource):
                    held.counted = await self._count(held.counted, wanted, adopting=True)
                self._keep_within_memory(name, held)

    @property
    def lag(self) -> int:
        """How many versions the loaded sources stand behind what they were last asked for, all together."""
        return sum(held.lag for held in self._held.values())

    def held_version(self, account_id: int, source: str) -> int | None:
        """Return the version of a source that this process holds; ``None`` where it holds none."""
        held = self._held.get((account_id, source))
        return None if held is None or held.view is None else held.view.head.version

    async def head(self, account_id: int, source: str, *, min_version: int = 0) -> SourceHead:
        """Return where the source stands, once it has reached ``min_version``.

        Raises:
            UnknownSource: the account has no such source.
            NotYetVisible: the version was not reached in time.
            StorageUnavailable: the database is away.
        """
        deadline = self._monotonic() + self.limits.min_version_timeout_s
        while True:
            head = await self._heads.read((account_id, source))
            if head is None:
                raise UnknownSource("The account has no source of this name; the first submission makes it.")
            if head.version >= min_version:
                return head
            if self._monotonic() >= deadline:
                raise NotYetVisible(
                    f"The source is at version {head.version}, the read asked for {min_version}.",
                    retry_after_s=1,
                )
            await asyncio.sleep(WAIT_STEP_S)

    async def existing(self, account_id: int, source: str) -> SourceHead | None:
        """Return where a source stands; ``None`` where that cannot be known while the database is away.

        Raises:
            UnknownSource: the account has no such source.
            StorageUnavailable: the database is away, for longer than reads may go on.
        """
        try:
            return await self.head(account_id, source)
        except StorageUnavailable:
            self._stale(self._held.get((account_id, source)), 0)
            return None

    async def view(
        self, account_id: int, source: str, *, min_version: int = 0, known: SourceHead | None = None
    ) -> View:
        """Return the source as it is committed now, at ``min_version`` at least.

        ``known`` is where it stood a moment ago, read by whoever asks.

        Raises:
            UnknownSource, NotYetVisible, StorageUnavailable: as `head`.
            IndexNotReady: the index of a large source is being built.
        """
        name = (account_id, source)
        held = self._held.get(name)
        try:
            head = known or await self.head(account_id, source, min_version=min_version)
        except UnknownSource:
            self._forget(name)
            raise
        except StorageUnavailable:
            return self._stale(held, min_version)
        if held is None or not _is_current(held.view, head):
            held = await self._follow(name, head)
        else:
            self._held.move_to_end(name)
        held.confirmed_at = self._monotonic()
        view = held.view
        assert view is not None  # noqa: S101  # _follow sets it
        if view.head.version == head.version and view.head.interactions_version < head.interactions_version:
            view = held.view = replace(view, head=head)
        return view

    async def audience(self, view: View, today: int, own_version: int) -> Audience:
        """Return who likes what on a UTC day, what was committed half a second ago included.

        So is an interaction of this version, the asking person's latest one.

        Raises:
            StorageUnavailable: the database is away, and nothing was counted before.
            IndexNotReady: the audience of a large source is being counted.
        """
        name = (view.head.account_id, view.head.name)
        held = self._held.setdefault(name, _Held())
        wanted = Wanted(head=view.head, settings=view.settings, today=today, own_version=own_version)
        counted = held.counted
        if counted is not None and (view.stale or counted.serves(wanted, self._monotonic())):
            return counted.audience
        if view.stale:
            raise StorageUnavailable("The database cannot be reached at the moment.", retry_after_s=1)
        # What each waits for the builder at most, all others that wait before it included.
        deadline = self._monotonic() + self.limits.min_version_timeout_s
        async with held.counting:
            counted = held.counted
            if counted is None or not counted.serves(wanted, self._monotonic()):
                await self._wait_for_likes(counted, wanted, deadline)
                counted = held.counted = await self._count(counted, wanted)
                self._keep_within_memory(name, held)
            return counted.audience

    async def audience_under(self, view: View, settings: SourceSettings, today: int) -> Audience:
        """Return who likes what under settings that are not in force: counted anew, and kept by nobody.

        Raises:
            PreviewTooLarge: there are more than `MAX_COUNTED` interactions to count.
        """
        wanted = Wanted(head=view.head, settings=settings, today=today, own_version=0)
        counting = functools.partial(self._audiences.count, None, wanted, most=MAX_COUNTED)
        return (await self._database.in_thread(counting)).audience

    async def _count(self, last: Counted | None, wanted: Wanted, *, adopting: bool = False) -> Counted:
        with tracing.span("count"), self._metrics.follow_seconds.labels("interactions").time():
            return await self._database.in_thread(self._audiences.count, last, wanted, adopting=adopting)

    async def _wait_for_likes(self, last: Counted | None, wanted: Wanted, deadline: float) -> None:
        """Wait while the builder counts what would take this process too long."""
        while await self._database.in_thread(self._audiences.is_awaited, last, wanted):
            if self._monotonic() >= deadline:
                raise IndexNotReady("The audience of this source is being counted.", retry_after_s=1)
            await asyncio.sleep(WAIT_STEP_S)

    async def _follow(self, name: SourceName, head: SourceHead) -> _Held:
        async with self._lock(name):
            held = self._held.setdefault(name, _Held())
            self._held.move_to_end(name)
            if not _is_current(held.view, head):
                held.asked_version = head.version
                if not _is_same(held.view, head):
                    await self._wait_for_file(head)
                with tracing.span("catch-up"), self._metrics.follow_seconds.labels("content").time():
                    held.view = await self._database.in_thread(self._catch_up, held.view, name, head)
                self._keep_within_memory(name, held)
            return held

    async def _wait_for_file(self, head: SourceHead) -> None:
        """Wait while the builder builds what would take this process too long."""
        deadline = self._monotonic() + self.limits.min_version_timeout_s
        while await self._database.in_thread(self._segments.is_awaited, head):
            if self._monotonic() >= deadline:
                raise IndexNotReady("The index of this source is being built.", retry_after_s=1)
            await asyncio.sleep(WAIT_STEP_S)

    def _catch_up(self, view: View | None, name: SourceName, head: SourceHead) -> View:
        snapshot, cursor, base_version = Snapshot.empty(), None, 0
        if view is not None and _is_same(view, head):
            snapshot, base_version = view.snapshot, view.base_version
            cursor = Cursor(incarnation=head.incarnation, epoch=head.epoch, version=view.head.version)
        based = self._segments.base(head, base_version)
        if based is not None:
            snapshot, base_version = based.snapshot, based.version
            cursor = Cursor(incarnation=head.incarnation, epoch=head.epoch, version=base_version)
        with self._database.storage.content_feed(*name, cursor) as feed:
            if feed.complete:
                base_version = 0
            snapshot = apply_feed(snapshot, feed, max_merged=self._segments.max_merged(), merge=self._merged)
            curation = feed.curation
            settings = decode_settings(curation.settings) if curation.settings else SourceSettings()
            snapshot.prepare(settings.category_weights)
            kept = view is not None and view.blacklist == curation.blacklist
            return View(
                head=feed.head,
                snapshot=snapshot,
                settings=settings,
                whitelist=curation.whitelist,
                blacklist=curation.blacklist,
                hidden=view.hidden if kept and view is not None else frozenset(curation.blacklist),
                base_version=base_version,
            )

    def _merged(self, parts: Sequence[tuple[Segment, Mask]]) -> Segment:
        with self._metrics.merge_seconds.time():
            return merge_segments(parts)

    def _stale(self, held: _Held | None, min_version: int) -> View:
        if held is not None and held.view is not None and not min_version:
            age = self._monotonic() - held.confirmed_at
            if self.limits.stale_reads_s and age <= self.limits.stale_reads_s:
                return replace(held.view, stale=True)
        raise StorageUnavailable("The database cannot be reached at the moment.", retry_after_s=1)

    def _lock(self, name: SourceName) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())

    def _forget(self, name: SourceName) -> None:
        if self._held.pop(name, None) is not None:
            self._sizes.pop(name, None)
            self._measure()

    def _keep_within_memory(self, name: SourceName, held: _Held) -> None:
        """Let go what was asked for least recently, but never what is asked for now."""
        if self._held.get(name) is held:
            self._sizes[name] = held.nbytes
        most = self.limits.memory_bytes
        while most and sum(self._sizes.values()) > most and len(self._held) > 1:
            oldest = next(iter(self._held))
            if oldest == name:
                self._held.move_to_end(oldest)
                continue
            del self._held[oldest]
            self._sizes.pop(oldest, None)
            if not self._locks[oldest].locked():
                del self._locks[oldest]
            self._metrics.sources_unloaded.inc()
        self._measure()

    def _measure(self) -> None:
        views = [held.view for held in self._held.values() if held.view is not None]
        self._metrics.loaded_sources.set(len(views))
        self._metrics.loaded_pieces.set(sum(view.snapshot.piece_count for view in views))
        self._metrics.loaded_bytes.set(sum(self._sizes.values()))


def _is_same(view: View | None, head: SourceHead) -> bool:
    return view is not None and (view.head.incarnation, view.head.epoch) == (head.incarnation, head.epoch)


def _is_current(view: View | None, head: SourceHead) -> bool:
    return view is not None and _is_same(view, head) and view.head.version >= head.version
