"""Audience follower: what requests see of what all people like, counted and weighed for each source of the cache.

    interactions feed --count--> tally --popularity--> `PieceCounts` -----------.
                                   |                                            +--> `Audience`, one while both stay
                                   '--compacted--> `Likes` --weigh--> weights --'
    all under the lock `counting` but for `weigh`

Methods belong to the event loop; counting and weighing run in threads.
"""

import functools
import time
from collections.abc import Callable

from penchant.errors import StorageUnavailable, UnknownSource
from penchant.live.audience_files import StoredWeights, weigh
from penchant.live.counting import AudienceCount, AudienceRequest, Audiences, StoredLikes
from penchant.live.database import AsyncStorage
from penchant.live.following import View
from penchant.live.recent_changes import RecentChanges
from penchant.live.source_cache import CachedSource, SourceCache
from penchant.live.weighing import SourceWeights, WeightsFollower
from penchant.model import SourceSettings
from penchant.storage import SourceHead
from penchant.telemetry import Metrics
from penchant.tracing import tracing
from penchant_engine.index import Audience, Likes, PieceCounts
from penchant_engine.index.people.item_item import ItemItemModel

MAX_COUNTED = 1_000_000
"""Interactions that a preview or a page counts: some seconds of a thread."""
REFRESHED_S = 120.0
"""How long after the last request for its audience a source is followed on."""

_NOBODY = ItemItemModel.none()


class AudienceFollower:
    """Counts and weighs the likes of sources as they are requested; one count of a source at a time."""

    def __init__(
        self,
        database: AsyncStorage,
        metrics: Metrics,
        cache: SourceCache,
        stored_likes: StoredLikes,
        recent_changes: RecentChanges,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._metrics = metrics
        self._cache = cache
        self._recent_changes = recent_changes
        self._monotonic = monotonic
        self._audiences = Audiences(database.storage, stored_likes, monotonic)
        self._weights = WeightsFollower(
            database, metrics, stored_likes.weights, lambda: stored_likes.has_builder, monotonic=monotonic
        )

    async def audience(self, view: View, today: int, *, min_version: int = 0, deadline: float = 0.0) -> Audience:
        """Return what all people like on a UTC day: popularity as of half a second ago, weights of `min_version`.

        Raises:
            UnknownSource: the source was deleted meanwhile.
            NotYetVisible: the weights have not reached the version by the deadline, a monotonic moment.
            StorageUnavailable: the database is away, and nothing was counted before.
        """
        settled = self.settled(view.head, today)
        cached = self._cache.enter((view.head.account_id, view.head.name))
        state = cached.weights
        if settled is not None and state.version >= min_version:
            return settled
        state.requested_at = self._monotonic()
        request = AudienceRequest(head=view.head, settings=view.source_settings, today=today)
        # The count comes first: weights are made from its tally.
        count = await self._counted(cached, request, is_stale=view.stale)
        state.begin(view.head)
        if not view.stale:
            await self._weigh(cached, view, request, min_version=min_version)
        if state.version < min_version:
            again = functools.partial(self._weigh, cached, view, request, min_version=min_version)
            await self._weights.reach(state, min_version, deadline, again)
        audience = _remembered(cached, None if count is None else count.counts, state)
        is_whole = count is not None and count.cursor.version >= view.head.interactions_version
        cached.settled = (view.head, today) if is_whole and state.is_current(request) else None
        return audience

    def settled(self, head: SourceHead, today: int) -> Audience | None:
        """Return the audience where it is known to have all of a head on a UTC day, ``None`` else."""
        cached = self._cache.find((head.account_id, head.name))
        if cached is None or (settled := cached.settled_audience(head, today)) is None:
            return None
        cached.weights.requested_at = cached.weights.confirmed_at = self._monotonic()
        return settled

    async def count_likes(self, view: View, today: int, half_life_days: int) -> PieceCounts | None:
        """Return how many people like each piece where one counts half after so many days, 0 for always.

        ``None`` while the builder has yet to make the first file of likes.

        Raises:
            UnknownSource, StorageUnavailable: as `audience`.
        """
        cached = self._cache.enter((view.head.account_id, view.head.name))
        request = AudienceRequest(head=view.head, settings=view.source_settings, today=today)
        count = await self._counted(cached, request, is_stale=view.stale)
        if count is None:
            return None
        # The tally remembers what it has counted, and is for one thread at a time.
        async with cached.counting:
            # A new base would be none of the count's own doing: only what counts anew may make one.
            counting = functools.partial(count.tally.popularity, room=None, half_life_days=half_life_days)
            return await self._database.in_thread(counting, request.settings, today)

    def is_followed(self, source: CachedSource) -> bool:
        """Return whether the audience of a source was asked for lately."""
        return self._monotonic() - source.weights.requested_at <= REFRESHED_S

    async def likes(self, view: View, oldest_day: int) -> Likes | None:
        """Return what people like for figures that need not be of now; ``None`` where the audience was not asked for.

        Of sources with more than `MAX_COUNTED` interactions without what came since the builder's file.
        """
        cached = self._cache.find((view.head.account_id, view.head.name))
        if cached is None:
            return None
        async with cached.counting:
            count = cached.count
            if count is None or not count.is_of(view.head):
                return None
            if count.tally.event_count > MAX_COUNTED:
                return count.tally.base
            return await self._database.in_thread(count.tally.compacted, oldest_day)

    def age_s(self, view: View, today: int) -> float | None:
        """Return how many seconds ago a source's weights were current last, 0 if they are; ``None`` without any."""
        cached = self._cache.find((view.head.account_id, view.head.name))
        if cached is None or cached.weights.made is None:
            return None
        if cached.weights.is_current(AudienceRequest(head=view.head, settings=view.source_settings, today=today)):
            return 0.0
        return max(0.0, self._monotonic() - cached.weights.confirmed_at)

    async def refresh(self, view: View, today: int) -> None:
        """Begin to follow what has changed in a source; waits only where requests would."""
        cached = self._cache.find((view.head.account_id, view.head.name))
        if cached is None:
            return
        request = AudienceRequest(head=view.head, settings=view.source_settings, today=today)
        if not cached.weights.is_current(request):
            await self._weigh(cached, view, request)

    async def under(self, view: View, settings: SourceSettings, today: int) -> Audience:
        """Return what people like under settings that are not in force: counted and weighed anew, and not cached.

        ``view`` has the pieces under these settings.

        Raises:
            PreviewTooLarge: there are more than `MAX_COUNTED` interactions to count.
        """
        request = AudienceRequest(head=view.head, settings=settings, today=today)

        def make() -> Audience:
            count = self._audiences.count(None, request, most=MAX_COUNTED)
            likes = count.tally.compacted(request.oldest_day)
            made = weigh(likes, view.snapshot, settings, view.head.version, request.oldest_day)
            version = 0 if made is None else count.cursor.version
            return Audience(count.counts, _NOBODY if made is None else made.weights, version)

        return await self._database.in_thread(make)

    async def adopt(self, source: CachedSource) -> None:
        """Go over to a newer likes file, if there is one."""
        view, count = source.view, source.count
        if view is None or count is None or not self._audiences.has_newer(count, view.head):
            return
        # Also the way by which memory of its own goes back: the file is shared by all workers.
        async with source.counting:
            request = AudienceRequest(head=view.head, settings=view.source_settings, today=count.today)
            source.count = await self._count(source.count, request, adopting=True)
            self._cache.update(source)

    async def _counted(self, cached: CachedSource, request: AudienceRequest, *, is_stale: bool) -> AudienceCount | None:
        """Return a count that serves a request; ``None`` while the builder has yet to make the first file."""
        count = cached.count
        if count is not None and ((is_stale and count.is_of(request.head)) or count.serves(request, self._monotonic())):
            return count
        if is_stale:
            raise StorageUnavailable("The database cannot be reached at the moment.", retry_after_s=1)
        async with cached.counting:
            # Another request may have counted while this one waited for the lock.
            count = cached.count
            if count is None or not count.serves(request, self._monotonic()):
                is_quick = self._audiences.is_quick(count, request)
                if count is not None and is_quick:
                    recorded = self._recent_changes.remembered(request.head, count.cursor.version)
                    if recorded is not None:
                        # The few bytes that it grows by are charged with the next weights, or file.
                        cached.count = self._audiences.extended(count, request, recorded)
                        return cached.count
                is_quick &= self._database.storage.quick_reads
                if not is_quick and await self._database.in_thread(self._audiences.is_awaited, count, request):
                    return None
                count = await self._recount(cached, request, is_quick=is_quick)
        return count

    async def _recount(
        self, cached: CachedSource, request: AudienceRequest, *, is_quick: bool = False
    ) -> AudienceCount:
        """Count up to now, at once where that is quick; the caller holds the lock."""
        try:
            return self._put(cached, await self._count(cached.count, request, is_quick=is_quick))
        except UnknownSource:
            self._cache.forget(cached.name)
            raise

    def _put(self, cached: CachedSource, count: AudienceCount) -> AudienceCount:
        cached.count = count
        self._cache.update(cached)
        return count

    async def _count(
        self, last: AudienceCount | None, request: AudienceRequest, *, adopting: bool = False, is_quick: bool = False
    ) -> AudienceCount:
        with tracing.span("count"), self._metrics.follow_seconds.labels("interactions").time():
            if is_quick:
                return self._audiences.count(last, request, quick=True)
            return await self._database.in_thread(self._audiences.count, last, request, adopting=adopting)

    async def _weigh(self, cached: CachedSource, view: View, request: AudienceRequest, *, min_version: int = 0) -> None:
        events = 0 if cached.count is None else cached.count.tally.event_count
        make = functools.partial(self._make, cached, view, request)
        await self._weights.follow(cached.weights, request, make, events, min_version=min_version)
        # Most requests find the weights of the last one, and nothing to charge anew.
        if cached.weighed is not cached.weights.made:
            self._cache.update(cached)

    async def _make(
        self, cached: CachedSource, view: View, request: AudienceRequest
    ) -> tuple[StoredWeights | None, int]:
        """Make the weights of a source as of now; return them with the version of the interactions that they are of."""
        oldest_day = request.oldest_day
        async with cached.counting:
            count = cached.count
            if count is None or not count.is_of(view.head) or count.cursor.version < view.head.interactions_version:
                if await self._database.in_thread(self._audiences.is_awaited, count, request):
                    return None, 0
                count = await self._recount(cached, request)
            # It changes the tally, and so needs the lock; what it returns never changes, and is weighed without it.
            likes = await self._database.in_thread(count.tally.compacted, oldest_day)
            version = count.cursor.version
        made = await self._database.in_thread(
            weigh, likes, view.snapshot, request.settings, view.head.version, oldest_day
        )
        return made, version


def _remembered(cached: CachedSource, counts: PieceCounts | None, state: SourceWeights) -> Audience:
    """Return the audience of these counts and weights: the same one for as long as they stay."""
    # The same object, because it remembers popularity for the parts of a snapshot.
    last = cached.audience
    if last is None or last.version != state.version or cached.weighed is not state.made:
        weights = _NOBODY if state.made is None else state.made.weights
        last = cached.audience = Audience(counts, weights, state.version)
        cached.weighed = state.made
    elif last.counts is not counts:
        last = cached.audience = last.recounted(counts)
    return last
