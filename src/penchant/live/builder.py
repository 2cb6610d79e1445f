"""Who builds the segment files? One process of a data folder, the builder; the others only map them.

It reads the content feed from where the last file ends, merges, and publishes. Whatever happens to it, answers
stay right: a worker that finds no file, or an old one, follows the feed itself.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from penchant.errors import UnknownSource
from penchant.index import Segment, Snapshot
from penchant.live.election import Election
from penchant.live.following import apply_feed
from penchant.live.segment_files import Published, SegmentFiles, stamp_of
from penchant.storage import ContentFeed, Cursor, SourceHead, Storage
from penchant.telemetry import Metrics, logger

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
"""Pause between looks at the sources: a hundredth of a core for a thousand of them."""


Build = Callable[[SourceHead, "Published | None"], None]


class Builder:
    """Finds the segment files that are due, and has them built, one source after the other.

    ``build`` does the building: in a process of its own where memory counts, since what a large build has taken
    goes back to the machine with it.
    """

    def __init__(self, storage: Storage, files: SegmentFiles, metrics: Metrics, build: Build | None = None) -> None:
        self._storage = storage
        self._files = files
        self._metrics = metrics
        self._build = build or self.build
        self._paces: dict[int, _Pace] = {}

    def run(self, election: Election) -> None:
        """Build for ever, while this process is the elected one."""
        while True:
            try:
                if election.try_win():
                    self.build_due()
            except Exception:  # noqa: BLE001  # the builder must survive whatever the database does
                self._metrics.failures.labels("builder").inc()
                logger.exception("building the index failed")
            time.sleep(INTERVAL_S)

    def build_due(self) -> int:
        """Build every file that is due, and forget those of sources that are gone; return how many were built."""
        with self._files.writing():
            heads = {head.source_id: head for head in self._storage.large_sources(SMALLEST_FILE)}
            built = 0
            for head in heads.values():
                published = self._files.newest(head)
                pace = self._paces.setdefault(head.source_id, _Pace())
                rested = pace.is_rested(head.version)
                if is_due(head, published, rested=rested) and pace.tried_again_at <= time.monotonic():
                    built += self._try_build(head, published, pace)
            self._forget(heads)
            return built

    def _try_build(self, head: SourceHead, published: Published | None, pace: "_Pace") -> bool:
        """Return whether a file was built; what is wrong with one source holds up no other."""
        started = time.monotonic()
        try:
            with self._metrics.build_seconds.time():
                self._build(head, published)
        except UnknownSource:
            return False
        except Exception:  # noqa: BLE001  # whatever it is, it is tried again
            self._metrics.failures.labels("builder").inc()
            logger.exception("a segment file could not be built")
            pace.tried_again_at = time.monotonic() + RETRY_S
            return False
        ended = time.monotonic()
        pace.rested_at = ended + (ended - started) * REST_RATIO
        self._metrics.segments_built.inc()
        self._metrics.last_build.set(time.time())
        return True

    def build(self, head: SourceHead, published: Published | None) -> None:
        """Build the file of a source from the last one and the changes since; from SQL alone without one.

        Raises:
            UnknownSource: it was deleted meanwhile.
            OSError: the file cannot be written.
        """
        started = time.perf_counter()
        segment = None if published is None else self._files.read(published)
        with self._storage.content_feed(head.account_id, head.name, cursor_of(published, segment)) as feed:
            snapshot, stamp = continued(segment, feed), stamp_of(feed.head)
        self._files.publish(stamp, snapshot.merged())
        fields = {"pieces": snapshot.piece_count, "seconds": round(time.perf_counter() - started, 3)}
        logger.info("built a segment file", extra={"fields": fields})

    def _forget(self, heads: Mapping[int, SourceHead]) -> None:
        for source_id in self._files.sources():
            if source_id not in heads:
                self._files.forget(source_id)
        self._paces = {source_id: pace for source_id, pace in self._paces.items() if source_id in heads}


@dataclass(slots=True)
class _Pace:
    """When a source moved last, and until when its file is left alone: moments of the monotonic clock."""

    version: int = -1
    moved_at: float = 0.0
    rested_at: float = 0.0
    tried_again_at: float = 0.0

    def is_rested(self, version: int) -> bool:
        """Note a source's version; return whether it is quiet, or its last build long ago."""
        now = time.monotonic()
        if self.version != version:
            self.version, self.moved_at = version, now
        return now - self.moved_at >= QUIET_S or self.rested_at <= now


def cursor_of(published: Published | None, segment: Segment | None) -> Cursor | None:
    """Return from where a feed leads on from a file, if its segment could be read."""
    if published is None or segment is None:
        return None
    stamp = published.stamp
    return Cursor(incarnation=stamp.incarnation, epoch=stamp.epoch, version=stamp.version)


def continued(segment: Segment | None, feed: ContentFeed) -> Snapshot:
    """Return what a segment and the changes since hold."""
    return apply_feed(Snapshot.empty() if segment is None else Snapshot.of_segment(segment), feed)


def is_due(head: SourceHead, published: Published | None, *, rested: bool) -> bool:
    """Return whether enough has changed since a file was published, or there is none.

    ``rested`` tells that its building is long ago, so that less is enough.

    A file of a version that the source has not reached is of a history that a restored database does not have.
    """
    if published is None or published.stamp.version > head.version:
        return True
    enough = LEAST_CHANGES if rested else max(LEAST_CHANGES, head.piece_count // CHANGES_SHARE)
    return head.version - published.stamp.version >= enough


def builder_lock(folder: Path) -> Election:
    """Return a candidate for being the builder of a data folder."""
    return Election(folder / LOCK)
