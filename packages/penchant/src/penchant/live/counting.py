"""Counting: how many people like each piece as of now, and who counts it, when, and from where.

    interactions of a source        who counts                                 for how long
    fewer than `SMALLEST_LIKES`     each worker, all of it, from SQL           a tenth of a second
    more                            the builder, into a likes file; a worker   what came since
                                    starts from it
    more than `AWAITED_...`         the same, and without a file a worker      until the builder has made one
                                    counts nothing

A worker counts anew for a request that has more than was counted, but rests `REST_RATIO` times as long as it took,
`MAX_LAG_S` at most; an erasure ends a rest. The builder makes a file anew after a share of new interactions, or fewer
once the source rests, after an erasure, and when days have passed out of it (`is_likes_file_due`).
"""

import time
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from penchant.errors import PreviewTooLarge
from penchant.live.array_files import PublishedFile
from penchant.live.audience_files import KeptDays, LikesFiles, WeightsFiles, count_feed
from penchant.live.election import Election
from penchant.model import SourceSettings
from penchant.storage import FeedCursor, InteractionChange, SourceHead, Storage
from penchant.telemetry import Metrics
from penchant_engine.index import Likes, PieceCounts, Tally

SMALLEST_LIKES = 50_000
"""Interactions from which a source has a likes file: fewer are counted from SQL in a tenth of a second
(D20 of docs/decisions.md)."""
LEAST_INTERACTIONS = 20_000
INTERACTIONS_SHARE = 32
"""A file is replaced at once after as many interactions as one in so many, and at least `LEAST_INTERACTIONS`; after
these once the source has rested. So workers, which count on beside it, need not compact by themselves."""
AWAITED_INTERACTIONS = 1_000_000
"""Interactions from which a worker leaves the first count to the builder: fewer are counted in some two seconds."""
BUILDERS_EVENTS = 200_000
"""Events from which a worker leaves it to the builder to put them in order: some fifty milliseconds."""
ROOM = 4
"""Beside such a base so many times as much may gather as beside a smaller one, in case the builder is late."""
TRIES = 3
"""How often a file is looked for: one may be replaced between its finding and its reading."""
MAX_LAG_S = 0.5
"""What people do is counted for others after this time at most, if it is asked for."""
REST_RATIO = 50
"""Within it, a count rests for so many times as long as the last one took: a fiftieth of a core at most."""
SAVED_S = 0.1
"""Counting that a source may save up while it rests for longer: where little happens, everything is counted at once."""
FREE_S = 0.02
"""A count is made within the event loop only where the last one took less than this."""
QUICK_CHANGES = 100
"""So many interactions more are counted within the event loop: to hand them to a thread takes as long."""


def has_likes_file(head: SourceHead) -> bool:
    """Return whether a source has so many interactions that the builder counts them, where there is one."""
    return head.interactions_version >= SMALLEST_LIKES


def busy_sources(storage: Storage) -> list[SourceHead]:
    """Return the sources that have a likes file."""
    return storage.sources.list_busy(SMALLEST_LIKES)


def is_likes_file_due(head: SourceHead, version: int, days: KeptDays, oldest_day: int, *, rested: bool) -> bool:
    """Return whether a likes file of a version, with these days, is to be made anew where this day is the oldest.

    That is where it lacks days that count, or has some that do not; where enough has come; and, once the source has
    rested, where somebody was erased. A version that the source has not reached is of a history that a restored
    database does not have.
    """
    behind = head.interactions_version - version
    if behind < 0 or not days.is_of_use(oldest_day) or days.first_day < oldest_day:
        return True
    if rested and head.erased_at > version:
        return True
    share = 0 if rested else head.interactions_version // INTERACTIONS_SHARE
    return behind >= max(LEAST_INTERACTIONS, share)


class MappedLikes(msgspec.Struct, frozen=True, kw_only=True):
    """Likes out of a file, mapped, and the version of the interactions that they are of."""

    likes: Likes
    version: int


class StoredLikes:
    """The likes files as workers use them; without ``files`` they count all by themselves.

    ``weights`` are the files that the builder makes from them.
    """

    def __init__(
        self,
        metrics: Metrics,
        files: LikesFiles | None = None,
        builder: Election | None = None,
        weights: WeightsFiles | None = None,
    ) -> None:
        self._metrics = metrics
        self._files = files
        self._builder = builder
        self.weights = weights

    def is_awaited(self, head: SourceHead, oldest_day: int) -> bool:
        """Return whether a source has so many interactions that its file, which is not there, is worth waiting for."""
        if self._files is None or head.interactions_version < AWAITED_INTERACTIONS:
            return False
        return self._newest(head, oldest_day) is None and self.has_builder

    def room(self, likes: Likes) -> int:
        """Return how much may gather beside a base, as `Tally.popularity` takes it."""
        return ROOM if len(likes.pieces) >= BUILDERS_EVENTS and self.has_builder else 1

    def newer(self, head: SourceHead, oldest_day: int, than: MappedLikes | None) -> PublishedFile | None:
        """Return a file that is of use and newer than what came out of another one."""
        newest = self._newest(head, oldest_day)
        if newest is None or than is None:
            return None if newest is None else newest[0]
        published, days = newest
        # Of one version a file that keeps fewer days is newer: it was built on a later day.
        is_newer = (published.stamp.version, days.kept_from) > (than.version, int(than.likes.kept_from[0]))
        return published if is_newer else None

    def base(self, head: SourceHead, oldest_day: int, than: MappedLikes | None) -> MappedLikes | None:
        """Return what is in a file that is `newer`."""
        for _ in range(TRIES):
            published = self.newer(head, oldest_day, than)
            if published is None or self._files is None:
                break
            likes = self._files.read(published)
            # Looked up once more: the file read need not be the one whose days were looked at.
            if likes is not None and oldest_day >= int(likes.kept_from[0]):
                self._metrics.likes_mapped.inc()
                return MappedLikes(likes=likes, version=published.stamp.version)
        return None

    @property
    def has_builder(self) -> bool:
        """Whether there are files, and a process that builds them."""
        return self._files is not None and self._builder is not None and self._builder.is_won_by_anyone()

    def _newest(self, head: SourceHead, oldest_day: int) -> tuple[PublishedFile, KeptDays] | None:
        for _ in range(TRIES):
            published = None if self._files is None else self._files.newest(head)
            if published is None or self._files is None:
                break
            days = self._files.kept_days(published)
            # None: it was replaced or found damaged, so another look.
            if days is not None:
                return (published, days) if days.is_of_use(oldest_day) else None
        return None


class AudienceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for an audience: of which source, under which settings, on which UTC day."""

    head: SourceHead
    settings: SourceSettings
    today: int

    @property
    def oldest_day(self) -> int:
        """The oldest day that counts: retention goes by UTC dates."""
        return self.settings.oldest_day(self.today)

    def counts_as(self, settings: SourceSettings) -> bool:
        """Return whether the same interactions count, and as much, under other settings."""
        own = self.settings
        return (own.interaction_weights, own.retention_days) == (settings.interaction_weights, settings.retention_days)


class AudienceCount(msgspec.Struct, frozen=True, kw_only=True):
    """What was counted of a source, from which a later count goes on.

    It took ``took_s`` of a core. ``stored`` is the file that it started from, unless its base was made anew since.
    """

    tally: Tally
    counts: PieceCounts
    cursor: FeedCursor
    settings: SourceSettings
    today: int
    rests_until: float
    took_s: float
    stored: MappedLikes | None = None

    def is_of(self, head: SourceHead) -> bool:
        """Return whether it is of the same history of the source."""
        return (self.cursor.incarnation, self.cursor.epoch) == (head.incarnation, head.epoch)

    def serves(self, request: AudienceRequest, now: float) -> bool:
        """Return whether it answers a request now, a monotonic moment.

        A count of the next day serves a request that began just before midnight.
        """
        head = request.head
        if not self.is_of(head) or self.today < request.today or not request.counts_as(self.settings):
            return False
        # While a count rests, only an erasure ends it: everything else may come half a second late.
        needed = head.erased_at if now < self.rests_until else head.interactions_version
        return self.cursor.version >= needed


class _UncountedTally(msgspec.Struct, frozen=True, kw_only=True):
    """A tally that was brought up to date, from a file or the last count; the work began at a moment of this thread."""

    tally: Tally
    stored: MappedLikes | None
    last: AudienceCount | None
    started: float


class Audiences:
    """Counts from the interactions feed; synchronous, one count of a source at a time."""

    def __init__(
        self,
        storage: Storage,
        files: StoredLikes,
        monotonic: Callable[[], float],
        *,
        thread_time: Callable[[], float] = time.thread_time,
    ) -> None:
        self._storage = storage
        self._files = files
        self._monotonic = monotonic
        self._thread_time = thread_time

    @property
    def has_builder(self) -> bool:
        """Whether another process builds files."""
        return self._files.has_builder

    def is_awaited(self, last: AudienceCount | None, request: AudienceRequest) -> bool:
        """Return whether a count would take so long that the builder's file is waited for."""
        return _usable(last, request) is None and self._files.is_awaited(request.head, request.oldest_day)

    def is_quick(self, last: AudienceCount | None, request: AudienceRequest) -> bool:
        """Return whether to count what came since the last count is a matter of a millisecond."""
        last = _usable(last, request)
        if last is None or last.took_s > FREE_S or last.today != request.today or not request.counts_as(last.settings):
            return False
        coming = request.head.interactions_version - last.cursor.version
        room = self._files.room(last.tally.base)
        return coming <= QUICK_CHANGES and not last.tally.is_full(room=room, coming=coming)

    def has_newer(self, last: AudienceCount, head: SourceHead) -> bool:
        """Return whether there is a file to start from instead of what was counted."""
        return self._files.newer(head, last.settings.oldest_day(last.today), last.stored) is not None

    def count(
        self,
        last: AudienceCount | None,
        request: AudienceRequest,
        *,
        adopting: bool = False,
        quick: bool = False,
        most: int | None = None,
    ) -> AudienceCount:
        """Return what is counted by now, going on from the last count, or from a file where more is to be gained.

        ``adopting``: a newer file is reason enough. ``quick``: what is due to be put in order waits. Should it fail
        half-way, the next one counts some interactions again, which changes nothing.

        Raises:
            PreviewTooLarge: there are more than ``most`` interactions to count.
        """
        started = self._thread_time()
        head, oldest_day = request.head, request.oldest_day
        last = _usable(last, request)
        tally, cursor, stored = (None, None, None) if last is None else (last.tally, last.cursor, last.stored)
        if tally is None or adopting or tally.is_full(room=self._files.room(tally.base)):
            newer = self._files.base(head, oldest_day, stored)
            if newer is not None:
                tally, stored = Tally(newer.likes), newer
                cursor = FeedCursor(incarnation=head.incarnation, epoch=head.epoch, version=newer.version)
        # Without a cursor, and where the feed cannot lead on from it, the tally is begun anew by `count_feed`.
        with self._storage.sources.follow_interactions(head.account_id, head.name, cursor) as feed:
            since = 0 if cursor is None or feed.complete else cursor.version
            if most is not None and feed.head.interactions_version - since > most:
                raise PreviewTooLarge(f"The source has more than {most} interactions to count anew.")
            tally = count_feed(tally, feed, oldest_day)
            now = feed.head
        room = None if quick else self._files.room(tally.base)
        uncounted = _UncountedTally(tally=tally, stored=stored, last=last, started=started)
        return self._counted(replace(request, head=now), uncounted, room=room)

    def extended(
        self, last: AudienceCount, request: AudienceRequest, recorded: Sequence[InteractionChange]
    ) -> AudienceCount:
        """Return the last count with what was recorded since, up to the request's head; for what `is_quick`."""
        started = self._thread_time()
        last.tally.record_all(recorded)
        uncounted = _UncountedTally(tally=last.tally, stored=last.stored, last=last, started=started)
        return self._counted(request, uncounted, room=None)

    def _counted(self, request: AudienceRequest, uncounted: _UncountedTally, *, room: int | None) -> AudienceCount:
        """Return what a tally gives that has all up to the request's head."""
        tally, stored, head = uncounted.tally, uncounted.stored, request.head
        counts = tally.popularity(request.settings, request.today, room=room)
        took = self._thread_time() - uncounted.started
        return AudienceCount(
            tally=tally,
            counts=counts,
            cursor=FeedCursor(incarnation=head.incarnation, epoch=head.epoch, version=head.interactions_version),
            settings=request.settings,
            today=request.today,
            took_s=took,
            rests_until=_rest_after(uncounted.last, took, self._monotonic()),
            # A tally that has compacted since has a base of its own, in memory of this process.
            stored=stored if stored is not None and tally.base is stored.likes else None,
        )


def _rest_after(last: AudienceCount | None, took_s: float, now: float) -> float:
    """Return until when a count rests that took so long; ``last`` is the one before."""
    saved_from = now - REST_RATIO * SAVED_S
    rested = saved_from if last is None else max(saved_from, last.rests_until)
    return min(rested + REST_RATIO * took_s, now + MAX_LAG_S)


def _usable(last: AudienceCount | None, request: AudienceRequest) -> AudienceCount | None:
    """Return the last count where the requested one can go on from it."""
    if last is None or not last.is_of(request.head):
        return None
    return last if last.tally.counts(request.oldest_day) else None
