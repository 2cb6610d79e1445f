"""Weights builder: makes the weights of busy sources, in a process of the builder."""

import math
import os
import time
from collections.abc import Callable, Collection
from pathlib import Path

from penchant.errors import UnknownSource
from penchant.index import build_weights, engine
from penchant.index.kernel_samples import FINDING, RIDGE
from penchant.index.weights import StandInSearch
from penchant.live.array_files import PublishedFile, Stamp
from penchant.live.builder import Build, FileBuilder, continued, cursor_of
from penchant.live.compiling import load_kernels
from penchant.live.likes_builder import SMALLEST_LIKES, OldestDays, counted_now
from penchant.live.likes_files import LikesFiles, likes_stamp_of
from penchant.live.segment_files import SegmentFiles
from penchant.live.weights_files import StoredWeights, WeightsFiles, WeightsOrigin
from penchant.model import SourceSettings
from penchant.storage import SourceHead, Storage
from penchant.telemetry import Metrics, logger
from penchant.wire import decode_settings

NEEDED_KERNELS = (FINDING, RIDGE)


class WeightsBuilder(FileBuilder[StoredWeights]):
    """Builds the weights files, from the other files of a folder and what came since.

    After a change it is a fifth of a core's work at most; after an erasure it begins at once.
    """

    # Never quiet enough to be built before its rest is over; four times its building leaves a fifth of a core.
    quiet_s = math.inf
    rest_ratio = 4

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
        super().__init__(storage, WeightsFiles(folder), metrics, build)
        self._weights_files = WeightsFiles(folder)
        self._likes_files = LikesFiles(folder)
        self._segment_files = SegmentFiles(folder)
        self._kernels = kernels
        self.elsewhere: StandInSearch = lambda _query: None
        """What has the stand-ins of a build found elsewhere, as `build_weights` takes it."""
        self._days = OldestDays(storage, clock)

    def sources(self) -> list[SourceHead]:
        """Return the sources with many interactions."""
        return self._storage.sources.list_busy(SMALLEST_LIKES)

    def stamp(self, head: SourceHead) -> Stamp:
        """Return the stamp of the interactions."""
        return likes_stamp_of(head)

    def forget_others(self, source_ids: Collection[int]) -> None:
        """Forget what is kept of other sources, as `FileBuilder.forget_others`."""
        super().forget_others(source_ids)
        self._days.keep_only(source_ids)

    def is_due(self, head: SourceHead, published: PublishedFile | None, *, rested: bool) -> bool:
        """Return whether there is no file, or one of other likes or of another catalogue and it has rested."""
        if published is None or head.erased_at > published.stamp.version:
            return True
        if not rested:
            return False
        if published.stamp.version != head.interactions_version:
            return True
        origin = self._weights_files.origin(published)
        return origin is None or not origin.is_current(head, self._days.of(head))

    def build(self, head: SourceHead, published: PublishedFile | None) -> None:
        """Build a weights file, as `FileBuilder.build`; the last one is of no use for it."""
        started = time.perf_counter()
        # The first is waited for; later ones leave the machine to requests.
        made, of = self.made(head, threads=1 if published else os.cpu_count() or 1)
        self._files.publish(likes_stamp_of(of), made)
        figures = made.weights.source_figures
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
        settings = decode_settings(stored) if stored else SourceSettings()
        oldest_day = self._days.of(head)
        newest = self._likes_files.newest(head)
        likes, of = counted_now(self._storage, self._likes_files, (head, newest), oldest_day)
        if (of.incarnation, of.epoch) != (content.head.incarnation, content.head.epoch):
            raise UnknownSource("The source was made again meanwhile.")
        catalogue = snapshot.merged()
        matrix = likes.matrix(catalogue.ids, settings, oldest_day, threads=threads)
        weights = build_weights(matrix, catalogue, settings.category_weights, threads=threads, elsewhere=self.elsewhere)
        origin = WeightsOrigin(version, oldest_day, int(likes.first_day[0]))
        return StoredWeights(weights=weights, origin=origin), of

    def _prepare_kernels(self) -> None:
        """Compile or load the kernels, in this process: numpy would take too long for sources of this size."""
        if engine.is_ready(*NEEDED_KERNELS):
            return
        engine.use({kind: load_kernels(self._kernels, kind) for kind in NEEDED_KERNELS})
