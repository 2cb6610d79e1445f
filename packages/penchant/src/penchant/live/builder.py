"""Builder: the one process of a data folder that builds the files of the index; the others only map them.

It reads a feed from where the last file ends, merges, and publishes. Whatever happens to it, answers
stay right: a worker that finds no file, or an old one, follows the feed itself. One source over time:

    changes       x xx x  x x x x x                x  x
    rested                         '-- QUIET_S --> yes       or, while changes go on, REST_RATIO x t after a build of t
    due           once LEAST_CHANGES have come and it is rested, or at once after a CHANGES_SHARE-th of its pieces
    failed        nothing for RETRY_S, for this source alone
"""

import functools
import math
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from penchant.errors import UnknownSource
from penchant.live.array_files import ArrayFiles, ArrayRecord, PublishedFile, Stamp, stamp_of
from penchant.live.audience_files import (
    LIKES,
    WEIGHTS,
    LikesFiles,
    StoredWeights,
    WeightsFiles,
    WeightsOrigin,
    count_all,
    count_feed,
    likes_stamp_of,
)
from penchant.live.counting import busy_sources, is_likes_file_due
from penchant.live.database import AsyncStorage
from penchant.live.election import Election
from penchant.live.following import apply_feed, reading_of
from penchant.live.segment_files import ATTRIBUTES, READING, SEGMENT, SegmentFiles
from penchant.live.weighing import FILE_REST_RATIO, is_weights_file_due
from penchant.model import SourceSettings
from penchant.storage import ContentFeed, FeedCursor, InteractionsFeed, SourceHead, Storage
from penchant.telemetry import Metrics, log_failure, logger
from penchant.wire import decode_stored_settings
from penchant_engine.attributes import numbered
from penchant_engine.compiling import load_kernels, use_compiled
from penchant_engine.index import Likes, Segment, Snapshot, Strings, Tally
from penchant_engine.index.compiled import engine
from penchant_engine.index.compiled.samples import FINDING, RIDGE
from penchant_engine.index.people.item_item import StandInSearch, fit_item_item
from penchant_engine.index.snapshot import Keep
from penchant_engine.model import DAY_MS

LOCK = "builder.lock"
SMALLEST_FILE = 5_000
"""Pieces from which a source has a file: smaller ones are built from SQL in a tenth of a second."""
LEAST_CHANGES = 2_000
CHANGES_SHARE = 5
"""A file is replaced at once after as many changes as a fifth of its pieces, and at least so many."""
QUIET_S = 2.0
REST_RATIO = 20
"""After fewer, but as many as `LEAST_CHANGES`, it is replaced once its source has been quiet for so long, or as many
times as long as the last building took have passed: what workers have to apply when they start stays little."""
RETRY_S = 30.0
"""Pause after a build that failed: the disk may be full, and each try costs as much as one that succeeds."""
INTERVAL_S = 0.25
LONGEST_INTERVAL_S = 2.0
"""Pauses between looks at the sources: doubled while nothing changes, so that an idle service stays idle."""
RECHECK_S = 10.0
"""How often sources are looked at though the database shows no change: days pass, builds are to be tried again."""
SEGMENT_KERNELS = (FINDING,)
WEIGHTS_KERNELS = (FINDING, RIDGE)
MOST_READERS = 2
"""Connections over which a first count reads: two keep two cores busy."""


Build = Callable[[SourceHead, "PublishedFile | None"], None]
BuildKind = Callable[[str, SourceHead, "PublishedFile | None"], None]
"""A function that builds a source's file of a kind, in a process of its own for example."""
T = TypeVar("T", bound=ArrayRecord)


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
            cached = self._settings[head.source_id] = moment, decode_stored_settings(stored)
        return cached[1].oldest_day(max(int(self._clock() * 1000), head.changed_at) // DAY_MS)

    def __len__(self) -> int:
        """Return of how many sources the settings are kept."""
        return len(self._settings)

    def keep_only(self, source_ids: Collection[int]) -> None:
        """Forget the settings of all other sources."""
        self._settings = {source_id: read for source_id, read in self._settings.items() if source_id in source_ids}


class FileBuilder(ABC, Generic[T]):
    """Finds the files of a kind that are due, and has them built, one source after the other.

    ``build`` does the building: in a process of its own where memory counts, since what a large build has taken
    goes back to the machine with it. A source counts as rested once nothing has changed for ``quiet_s``, or after
    ``rest_ratio`` times as long as the last building took.
    """

    quiet_s: float | None = None
    rest_ratio: int | None = None

    def __init__(
        self,
        storage: Storage,
        files: ArrayFiles[T],
        metrics: Metrics,
        build: Build | None = None,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._storage = storage
        self._files = files
        self._metrics = metrics
        self._build = build or self.build
        self._monotonic = monotonic
        self._paces: dict[int, _Pace] = {}
        self._days = OldestDays(storage, clock)

    @property
    def kind(self) -> str:
        """What its kind of file is called."""
        return self._files.kind.name

    def writing(self) -> AbstractContextManager[None]:
        """Let no other process write files of the index meanwhile, as `ArrayFiles.writing`."""
        return self._files.writing()

    @property
    def is_quiet(self) -> bool:
        """Whether no source has changed for a while."""
        return all(self._monotonic() - pace.moved_at > QUIET_S for pace in self._paces.values())

    @abstractmethod
    def sources(self) -> list[SourceHead]:
        """Return the sources that have a file."""

    @abstractmethod
    def stamp(self, head: SourceHead) -> Stamp:
        """Return the stamp of a file that holds all of a source."""

    @abstractmethod
    def is_due(self, head: SourceHead, published: PublishedFile | None, *, rested: bool) -> bool:
        """Return whether a file is to be replaced, or there is none; ``rested``: less is enough for that."""

    @abstractmethod
    def build(self, head: SourceHead, published: PublishedFile | None) -> None:
        """Build the file of a source from the last one and the changes since; from SQL alone without one.

        Raises:
            UnknownSource: it was deleted meanwhile.
            OSError, StorageUnavailable: the file cannot be written.
        """

    def build_due(self) -> int:
        """Build every file that is due, and forget those of sources that are gone; return how many were built."""
        # The heads are read under the lock: read before it, they may be older than a file that a command has written.
        with self.writing():
            heads = {head.source_id: head for head in self.sources()}
            built = 0
            for head in heads.values():
                published = self._files.newest(head)
                pace = self._paces.setdefault(head.source_id, _Pace())
                quiet_s = QUIET_S if self.quiet_s is None else self.quiet_s
                rested = pace.is_rested(self.stamp(head).version, self._monotonic(), quiet_s)
                if pace.tried_again_at <= self._monotonic() and self.is_due(head, published, rested=rested):
                    built += self._try_build(head, published, pace)
            self.forget_others(heads)
            return built

    def _try_build(self, head: SourceHead, published: PublishedFile | None, pace: "_Pace") -> bool:
        """Return whether a file was built; what is wrong with one source holds up no other."""
        started = self._monotonic()
        try:
            with self._metrics.build_seconds.time():
                self._build(head, published)
        except UnknownSource:
            return False
        except Exception:  # noqa: BLE001  # whatever it is, it is tried again
            log_failure("a %s file could not be built", self.kind, metrics=self._metrics, where="builder")
            pace.tried_again_at = self._monotonic() + RETRY_S
            return False
        # While changes go on, building takes the same share of a core at most, whatever a build costs.
        ended = self._monotonic()
        pace.rested_at = ended + (ended - started) * (REST_RATIO if self.rest_ratio is None else self.rest_ratio)
        self._metrics.files_built(self.kind).inc()
        self._metrics.last_build.set(time.time())
        return True

    def forget_others(self, source_ids: Collection[int]) -> None:
        """Remove the files of all other sources, and forget what is kept of them."""
        # Also of sources that have become too small for a file, and of what an earlier database left here.
        for source_id in self._files.sources():
            if source_id not in source_ids:
                self._files.forget(source_id)
        self._paces = {source_id: pace for source_id, pace in self._paces.items() if source_id in source_ids}
        self._days.keep_only(source_ids)


class Builder(FileBuilder[Segment]):
    """Builds the segment files, by the kernels of a folder where it has them."""

    def __init__(
        self,
        storage: Storage,
        files: SegmentFiles,
        metrics: Metrics,
        build: Build | None = None,
        *,
        kernels: Path | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(storage, files, metrics, build, monotonic=monotonic)
        self._segment_files = files
        self._kernels = kernels
        self._marked: dict[int, tuple[int, int]] = {}
        """By source the versions, of it and of its file, whose attributes were found to be the same."""

    def sources(self) -> list[SourceHead]:
        """Return the sources with many pieces."""
        return self._storage.sources.list_large(SMALLEST_FILE)

    def stamp(self, head: SourceHead) -> Stamp:
        """Return the stamp of the pieces."""
        return stamp_of(head)

    def is_due(self, head: SourceHead, published: PublishedFile | None, *, rested: bool) -> bool:
        """Return whether enough has changed, or the file is marked, or was read, in another way than it is to be."""
        if is_due(head, published, rested=rested) or published is None:
            return True
        versions = head.version, published.stamp.version
        if self._marked.get(head.source_id) == versions:
            return False
        try:
            _, curation = self._storage.sources.read_curation(head.account_id, head.name)
        except UnknownSource:
            return False
        arrays = self._files.read_part(published, frozenset((*ATTRIBUTES, *READING)))
        if arrays is None:
            return True
        attributes = numbered(decode_stored_settings(curation.settings).attributes.values())
        reading = reading_of(curation).name
        marked_by, read_as = (list(Strings(*(arrays[name] for name in names))) for names in (ATTRIBUTES, READING))
        if marked_by != list(map(str, attributes)) or read_as != ([reading] if reading else []):
            return True
        self._marked[head.source_id] = versions
        return False

    def build(self, head: SourceHead, published: PublishedFile | None) -> None:
        """Build a segment file, as `FileBuilder.build`."""
        started = time.perf_counter()
        if self._kernels is not None:
            use_compiled(self._kernels, SEGMENT_KERNELS)
        files = self._segment_files
        base = None if published is None else files.snapshot(published)
        with self._storage.sources.follow_content(head.account_id, head.name, cursor_of(published, base)) as feed:
            snapshot, stamp = continued(base, feed, files.spooled), stamp_of(feed.head)
        files.publish(stamp, snapshot.merged())
        fields = {"pieces": snapshot.piece_count, "seconds": round(time.perf_counter() - started, 3)}
        logger.info("built a segment file", extra={"fields": fields})


def build_for_ever(
    builders: Sequence[FileBuilder[Any]],
    election: Election,
    metrics: Metrics,
    mark: Callable[[], int | None],
) -> None:
    """Build what is due for ever, while this process is the elected one.

    ``mark`` tells whether the database may have changed, as `Storage.mark`.
    """
    interval_s, seen, looked_at = INTERVAL_S, None, 0.0
    while True:
        # Before the look: what changes or comes to rest during it wants another one.
        marked, is_quiet = mark(), all(builder.is_quiet for builder in builders)
        if marked is None or marked != seen or time.monotonic() - looked_at >= RECHECK_S:
            seen, looked_at = marked if is_quiet else None, time.monotonic()
            # After a build there is mostly another one, of what came meanwhile.
            is_quiet &= not sum(_look(builder, election, metrics) for builder in builders)
        interval_s = min(2 * interval_s, LONGEST_INTERVAL_S) if is_quiet else INTERVAL_S
        time.sleep(interval_s)


def _look(builder: FileBuilder[Any], election: Election, metrics: Metrics) -> int:
    """Build what is due of a kind, if this process is the elected one; return how many files were built."""
    try:
        # Asked each time: a process that lost takes over once the elected one has ended.
        if election.try_win():
            return builder.build_due()
    except Exception:  # noqa: BLE001  # the builder must survive whatever the database does
        log_failure("building the index failed", metrics=metrics, where="builder")
    return 0


class _Pace(msgspec.Struct):
    """When a source moved last, and until when its file is left alone: moments of the monotonic clock."""

    version: int = -1
    moved_at: float = 0.0
    rested_at: float = 0.0
    tried_again_at: float = 0.0

    def is_rested(self, version: int, now: float, quiet_s: float) -> bool:
        """Note a source's version; return whether it is quiet, or its last build long ago."""
        if self.version != version:
            self.version, self.moved_at = version, now
        return now - self.moved_at >= quiet_s or self.rested_at <= now


def cursor_of(published: PublishedFile | None, content: object | None) -> FeedCursor | None:
    """Return the cursor from which a feed leads on from a file; ``None`` without one that could be read."""
    if published is None or content is None:
        return None
    stamp = published.stamp
    return FeedCursor(incarnation=stamp.incarnation, epoch=stamp.epoch, version=stamp.version)


def continued(base: Snapshot | None, feed: ContentFeed, keep: Keep | None = None) -> Snapshot:
    """Return the snapshot of a file and the changes since; with ``keep`` in many segments, as `apply_feed`."""
    # What is merged only once takes least.
    return apply_feed(base or Snapshot.empty(), feed, max_merged=None if keep is None else 0, keep=keep)


def is_due(head: SourceHead, published: PublishedFile | None, *, rested: bool) -> bool:
    """Return whether enough has changed since a file was published, or there is none.

    ``rested`` says that its last building is long ago, so that less is enough. A file of a version that the source has
    not reached is of a history that a restored database does not have.
    """
    if published is None or published.stamp.version > head.version:
        return True
    enough = LEAST_CHANGES if rested else max(LEAST_CHANGES, head.piece_count // CHANGES_SHARE)
    return head.version - published.stamp.version >= enough


def builder_lock(folder: Path) -> Election:
    """Return a candidate for being the builder of a data folder."""
    return Election(folder / LOCK)


class FirstSource:
    """Calls the builder once there is a source: a service without any would hold its 18 MiB for nothing."""

    def __init__(self, database: AsyncStorage, call: Callable[[], None]) -> None:
        self._database = database
        self._call = call
        self._is_there = False

    async def look(self) -> None:
        """Look whether there is a source, until there is one."""
        if not self._is_there:
            self._is_there = bool(await self._database.in_thread(self._database.storage.sources.list_large, 0))
            if self._is_there:
                self._call()


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
        super().__init__(storage, files, metrics, build, clock=clock)
        self._likes_files = files

    def sources(self) -> list[SourceHead]:
        """Return the sources with many interactions."""
        return busy_sources(self._storage)

    def stamp(self, head: SourceHead) -> Stamp:
        """Return the stamp of the interactions."""
        return likes_stamp_of(head)

    def oldest_day(self, head: SourceHead) -> int:
        """Return the oldest day that counts in a source now."""
        return self._days.of(head)

    def is_due(self, head: SourceHead, published: PublishedFile | None, *, rested: bool) -> bool:
        """Return whether a file is to be made anew, as `is_likes_file_due`."""
        days = None if published is None else self._likes_files.kept_days(published)
        if published is None or days is None:
            return True
        return is_likes_file_due(head, published.stamp.version, days, self.oldest_day(head), rested=rested)

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


class WeightsBuilder(FileBuilder[StoredWeights]):
    """Builds the weights files, from the other files of a folder and what came since.

    After a change it is a fifth of a core's work at most; after an erasure it begins at once.
    """

    # Never quiet enough to be built before its rest is over.
    quiet_s = math.inf
    rest_ratio = FILE_REST_RATIO

    def __init__(
        self,
        storage: Storage,
        folder: Path,
        metrics: Metrics,
        build: Build | None = None,
        *,
        kernels: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(storage, WeightsFiles(folder), metrics, build, clock=clock)
        self._weights_files = WeightsFiles(folder)
        self._likes_files = LikesFiles(folder)
        self._segment_files = SegmentFiles(folder)
        self._kernels = kernels
        self.elsewhere: StandInSearch = lambda _query: None
        """What has the stand-ins of a build found elsewhere, as `fit_item_item` takes it."""

    def sources(self) -> list[SourceHead]:
        """Return the sources with many interactions."""
        return busy_sources(self._storage)

    def stamp(self, head: SourceHead) -> Stamp:
        """Return the stamp of the interactions."""
        return likes_stamp_of(head)

    def is_due(self, head: SourceHead, published: PublishedFile | None, *, rested: bool) -> bool:
        """Return whether a file is to be made anew, as `is_weights_file_due`."""
        if published is None:
            return True
        origin = functools.partial(self._weights_files.origin, published)
        return is_weights_file_due(head, published.stamp.version, origin, self._days.of(head), rested=rested)

    def build(self, head: SourceHead, published: PublishedFile | None) -> None:
        """Build a weights file, as `FileBuilder.build`; the last one is of no use for it."""
        started = time.perf_counter()
        # The first is waited for; later ones leave the machine to requests.
        made, of = self.made(head, threads=1 if published else os.cpu_count() or 1)
        self._files.publish(likes_stamp_of(of), made)
        figures = made.weights.source_statistics
        fields = {"likes": figures.likes, "pieces": figures.pieces, "seconds": round(time.perf_counter() - started, 3)}
        logger.info("built a weights file", extra={"fields": fields})

    def made(self, head: SourceHead, *, threads: int = 1) -> tuple[StoredWeights, SourceHead]:
        """Return the weights as of now, and the head that they are of."""
        self._prepare_kernels()
        # Two feeds, read one after the other: the file names the version of each that its weights are of.
        segments = self._segment_files.newest(head)
        base = None if segments is None else self._segment_files.snapshot(segments)
        with self._storage.sources.follow_content(head.account_id, head.name, cursor_of(segments, base)) as content:
            snapshot, version = continued(base, content), content.head.version
            stored = content.curation.settings
        settings = decode_stored_settings(stored)
        oldest_day = self._days.of(head)
        newest = self._likes_files.newest(head)
        likes, of = counted_now(self._storage, self._likes_files, (head, newest), oldest_day)
        if (of.incarnation, of.epoch) != (content.head.incarnation, content.head.epoch):
            raise UnknownSource("The source was made again meanwhile.")
        catalogue = snapshot.merged()
        matrix = likes.matrix(catalogue.ids, settings, oldest_day, threads=threads)
        weights = fit_item_item(matrix, catalogue, settings.category_factors, threads=threads, elsewhere=self.elsewhere)
        origin = WeightsOrigin(version, oldest_day, int(likes.first_day[0]))
        return StoredWeights(weights=weights, origin=origin), of

    def _prepare_kernels(self) -> None:
        """Compile or load the kernels, in this process: numpy would take too long for sources of this size."""
        if engine.is_ready(*WEIGHTS_KERNELS):
            return
        engine.use({kind: load_kernels(self._kernels, kind) for kind in WEIGHTS_KERNELS})


def index_builders(
    storage: Storage,
    folder: Path,
    metrics: Metrics,
    build: BuildKind | None = None,
    *,
    kernels: Path | None = None,
) -> dict[str, FileBuilder[Any]]:
    """Return the builders of the files in a folder by their kind; without ``build`` they build by themselves.

    ``kernels`` is the folder of compiled kernels. Weights come last, since they are made from the other files.
    """

    def elsewhere(kind: str) -> Callable[[SourceHead, PublishedFile | None], None] | None:
        return None if build is None else functools.partial(build, kind)

    builders: list[FileBuilder[Any]] = [
        Builder(storage, SegmentFiles(folder), metrics, elsewhere(SEGMENT.name), kernels=kernels),
        LikesBuilder(storage, LikesFiles(folder), metrics, elsewhere(LIKES.name)),
        WeightsBuilder(storage, folder, metrics, elsewhere(WEIGHTS.name), kernels=kernels),
    ]
    return {builder.kind: builder for builder in builders}
