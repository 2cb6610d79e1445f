"""Likes builder: counts anew what people did, from the last likes file and what came since."""

import time
from collections.abc import Callable, Collection
from contextlib import ExitStack

from penchant.errors import UnknownSource
from penchant.index import Likes, Tally
from penchant.live.array_files import PublishedFile, Stamp
from penchant.live.builder import Build, FileBuilder, cursor_of
from penchant.live.likes_files import LikesFiles, count_all, count_feed, likes_stamp_of
from penchant.model import DAY_MS, SourceSettings
from penchant.storage import FeedCursor, InteractionsFeed, SourceHead, Storage
from penchant.telemetry import Metrics, logger
from penchant.wire import decode_settings

SMALLEST_LIKES = 50_000
"""Interactions from which a source has a likes file: fewer are counted from SQL in a tenth of a second
(D20 of docs/decisions.md)."""
LEAST_INTERACTIONS = 20_000
INTERACTIONS_SHARE = 32
"""A file is replaced at once after as many interactions as one in so many, and at least `LEAST_INTERACTIONS`; after
these once the source has rested. So workers, which count on beside it, need not compact by themselves."""
MOST_READERS = 2
"""Connections over which a first count reads: two keep two cores busy."""


class OldestDays:
    """The oldest day that counts in each source, by its settings, which are read again when it has changed."""

    def __init__(self, storage: Storage, clock: Callable[[], float]) -> None:
        self._storage = storage
        self._clock = clock
        self._settings: dict[int, tuple[tuple[int, int, int], SourceSettings]] = {}

    def of(self, head: SourceHead) -> int:
        """Return the oldest UTC day whose interactions count now."""
        # Settings are part of the content: a change of theirs raises its version.
        moment = head.incarnation, head.epoch, head.version
        cached = self._settings.get(head.source_id)
        if cached is None or cached[0] != moment:
            stored = self._storage.sources.read_curation(head.account_id, head.name)[1].settings
            cached = self._settings[head.source_id] = moment, decode_settings(stored) if stored else SourceSettings()
        return max(int(self._clock() * 1000), head.changed_at) // DAY_MS - cached[1].retention_days

    def __len__(self) -> int:
        """Return of how many sources the settings are kept."""
        return len(self._settings)

    def keep_only(self, source_ids: Collection[int]) -> None:
        """Forget the settings of all other sources."""
        self._settings = {source_id: read for source_id, read in self._settings.items() if source_id in source_ids}


class LikesBuilder(FileBuilder[Likes]):
    """Builds the likes files, for the present day."""

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
        self._days = OldestDays(storage, clock)

    def sources(self) -> list[SourceHead]:
        """Return the sources with many interactions."""
        return self._storage.sources.list_busy(SMALLEST_LIKES)

    def stamp(self, head: SourceHead) -> Stamp:
        """Return the stamp of the interactions."""
        return likes_stamp_of(head)

    def oldest_day(self, head: SourceHead) -> int:
        """Return the oldest day that counts in a source now."""
        return self._days.of(head)

    def forget_others(self, source_ids: Collection[int]) -> None:
        """Forget what is kept of other sources, as `FileBuilder.forget_others`."""
        super().forget_others(source_ids)
        self._days.keep_only(source_ids)

    def is_due(self, head: SourceHead, published: PublishedFile | None, *, rested: bool) -> bool:
        """Return whether enough has come, somebody was erased, a day's interactions expired or more are kept."""
        behind = head.interactions_version - (published.stamp.version if published is not None else 0)
        # Below 0 the file is of a history that a restored database does not have.
        if published is None or behind < 0:
            return True
        days, oldest_day = self._likes_files.kept_days(published), self.oldest_day(head)
        if days is None or not days.is_of_use(oldest_day) or days.first_day < oldest_day:
            return True
        if rested and head.erased_at > published.stamp.version:
            return True
        share = 0 if rested else head.interactions_version // INTERACTIONS_SHARE
        return behind >= max(LEAST_INTERACTIONS, share)

    def build(self, head: SourceHead, published: PublishedFile | None) -> None:
        """Build a likes file, as `FileBuilder.build`."""
        started = time.perf_counter()
        oldest_day = self.oldest_day(head)
        # The first is waited for; later ones leave the machine to requests.
        readers = 1 if published else min(MOST_READERS, self._storage.parallel_reads)
        likes, of = counted_now(self._storage, self._likes_files, (head, published), oldest_day, readers=readers)
        self._files.publish(likes_stamp_of(of), likes)
        fields = {"events": len(likes.pieces), "seconds": round(time.perf_counter() - started, 3)}
        logger.info("built a likes file", extra={"fields": fields})


def counted_now(
    storage: Storage,
    files: LikesFiles,
    last: tuple[SourceHead, PublishedFile | None],
    oldest_day: int,
    *,
    readers: int = 1,
) -> tuple[Likes, SourceHead]:
    """Return what people have done by now, from the last file of a source on, and the head that it is of.

    Where all is to be counted anew it is read over so many connections at once.

    Raises:
        UnknownSource: the source was deleted meanwhile.
    """
    head, published = last
    base = None if published is None else files.read(published)
    if base is not None and oldest_day < int(base.kept_from[0]):
        base = None
    with ExitStack() as opened:

        def follow(cursor: FeedCursor | None) -> InteractionsFeed:
            return opened.enter_context(storage.sources.follow_interactions(head.account_id, head.name, cursor))

        feed = follow(cursor_of(published, base))
        if not feed.complete or readers == 1:
            return counted(base, feed, oldest_day), feed.head
        others = [follow(None) for _ in range(readers - 1)]
        if any((each.head.incarnation, each.head.epoch) != (feed.head.incarnation, feed.head.epoch) for each in others):
            raise UnknownSource("The source was made again meanwhile.")
        return count_all([feed, *others], oldest_day), feed.head


def counted(base: Likes | None, feed: InteractionsFeed, oldest_day: int) -> Likes:
    """Return the likes that are in a base and a feed."""
    return count_feed(None if base is None else Tally(base), feed, oldest_day).compacted(oldest_day)
