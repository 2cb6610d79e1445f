"""When is it counted anew who likes what, and how? By the builder, from the last likes file and what came since."""

import time
from collections.abc import Callable

from penchant.index import Likes, Tally
from penchant.live.array_files import Published, Stamp
from penchant.live.builder import Build, FileBuilder, cursor_of
from penchant.live.likes_files import Counting, LikesFiles, likes_stamp_of
from penchant.model import DAY_MS, SourceSettings
from penchant.storage import InteractionsFeed, SourceHead, Storage
from penchant.telemetry import Metrics, logger
from penchant.wire import decode_settings

SMALLEST_LIKES = 50_000
"""Interactions from which a source has a likes file: fewer are counted from SQL in a tenth of a second."""
LEAST_INTERACTIONS = 20_000
INTERACTIONS_SHARE = 32
"""A file is replaced at once after as many interactions as one in so many, and at least `LEAST_INTERACTIONS`; after
these once the source has rested. So workers, which count on beside it, need not compact by themselves."""


class LikesBuilder(FileBuilder[Likes]):
    """Builds the likes files, under the settings of their sources and for the present day."""

    def __init__(
        self,
        storage: Storage,
        files: LikesFiles,
        metrics: Metrics,
        build: Build | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(storage, files, metrics, build)
        self._likes_files = files
        self._clock = clock
        self._known: dict[int, tuple[tuple[int, int, int], SourceSettings]] = {}
        """The settings of sources, and the incarnation, epoch and version at which they were read."""

    def sources(self) -> list[SourceHead]:
        """Return the sources with many interactions."""
        return self._storage.busy_sources(SMALLEST_LIKES)

    def stamp(self, head: SourceHead) -> Stamp:
        """Return the stamp of the interactions."""
        return likes_stamp_of(head)

    def is_due(self, head: SourceHead, published: Published | None, *, rested: bool) -> bool:
        """Return whether enough has come, somebody was erased, a day's interactions expired or settings changed."""
        behind = head.interactions_version - (published.stamp.version if published is not None else 0)
        if published is None or behind < 0:
            return True
        scope = self._likes_files.scope(published)
        counting = self.counting(head)
        if scope is None or not counting.is_served_by(scope) or scope.first_day < counting.oldest_day:
            return True
        if rested and head.erased_at > published.stamp.version:
            return True
        share = 0 if rested else head.interactions_version // INTERACTIONS_SHARE
        return behind >= max(LEAST_INTERACTIONS, share)

    def build(self, head: SourceHead, published: Published | None) -> None:
        """Build a likes file, as `FileBuilder.build`."""
        started = time.perf_counter()
        counting = self.counting(head)
        base = None if published is None else self._files.read(published)
        if base is not None and not counting.is_served_by(base.scope):
            base = None
        cursor = cursor_of(published, base)
        with self._storage.interactions_feed(head.account_id, head.name, cursor) as feed:
            likes, stamp = counted(base, feed, counting), likes_stamp_of(feed.head)
        self._files.publish(stamp, likes)
        fields = {"pairs": len(likes.pieces), "seconds": round(time.perf_counter() - started, 3)}
        logger.info("built a likes file", extra={"fields": fields})

    def counting(self, head: SourceHead) -> Counting:
        """Return what counts now; the settings are read again when the source has changed."""
        moment = head.incarnation, head.epoch, head.version
        known = self._known.get(head.source_id)
        if known is None or known[0] != moment:
            stored = self._storage.read_curation(head.account_id, head.name)[1].settings
            known = self._known[head.source_id] = moment, decode_settings(stored) if stored else SourceSettings()
        return Counting.under(known[1], max(int(self._clock() * 1000), head.changed_at) // DAY_MS)


def counted(base: Likes | None, feed: InteractionsFeed, counting: Counting) -> Likes:
    """Return the likes that are in a base and a feed."""
    return counting.apply(None if base is None else Tally(base), feed).compacted(counting.oldest_day)
