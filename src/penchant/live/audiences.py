"""Audience counts: how many people like each piece as of now, from the tally of a source and its interactions feed."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from penchant.errors import PreviewTooLarge
from penchant.index import PieceCounts, Tally
from penchant.live.likes_files import count_feed
from penchant.live.stored_likes import MappedLikes, StoredLikes
from penchant.model import SourceSettings
from penchant.storage import FeedCursor, InteractionChange, SourceHead, Storage

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


@dataclass(frozen=True, slots=True, kw_only=True)
class AudienceRequest:
    """A request for an audience: of which source, under which settings, on which UTC day."""

    head: SourceHead
    settings: SourceSettings
    today: int

    @property
    def oldest_day(self) -> int:
        """The oldest day that counts: retention goes by UTC dates."""
        return self.today - self.settings.retention_days

    def counts_as(self, settings: SourceSettings) -> bool:
        """Return whether the same interactions count under other settings."""
        own = self.settings
        return (own.positive_types, own.retention_days) == (settings.positive_types, settings.retention_days)


@dataclass(frozen=True, slots=True, kw_only=True)
class AudienceCount:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _UncountedTally:
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
        return self._files.newer(head, last.today - last.settings.retention_days, last.stored) is not None

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
        found = _UncountedTally(tally=tally, stored=stored, last=last, started=started)
        return self._counted(replace(request, head=now), found, room=room)

    def extended(
        self, last: AudienceCount, request: AudienceRequest, recorded: Sequence[InteractionChange]
    ) -> AudienceCount:
        """Return the last count with what was recorded since, up to the request's head; for what `is_quick`."""
        started = self._thread_time()
        last.tally.record_all(recorded)
        found = _UncountedTally(tally=last.tally, stored=last.stored, last=last, started=started)
        return self._counted(request, found, room=None)

    def _counted(self, request: AudienceRequest, found: _UncountedTally, *, room: int | None) -> AudienceCount:
        """Return what a tally gives that has all up to the request's head."""
        tally, stored, head = found.tally, found.stored, request.head
        counts = tally.popularity(request.settings, request.today, room=room)
        took = self._thread_time() - found.started
        return AudienceCount(
            tally=tally,
            counts=counts,
            cursor=FeedCursor(incarnation=head.incarnation, epoch=head.epoch, version=head.interactions_version),
            settings=request.settings,
            today=request.today,
            took_s=took,
            rests_until=_rest_after(found.last, took, self._monotonic()),
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
