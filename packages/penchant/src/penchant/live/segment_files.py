"""Segment files: the segments of sources between processes and restarts, each with all live pieces of one.

The builder makes them; followers start from the newest one of a source.
"""

from pathlib import Path

import msgspec

from penchant.live.array_files import ArrayFiles, FileKind, PublishedFile
from penchant.live.election import Election
from penchant.storage import SourceHead
from penchant.telemetry import Metrics
from penchant_engine.index import Segment, Snapshot

SEGMENT = FileKind(name="segment", suffix=".segment", magic=b"penchant segment", format=6, of_arrays=Segment.of_arrays)
ATTRIBUTES = ("attributes.starts", "attributes.text")
READING = ("reading.starts", "reading.text")
"""The arrays of a segment file that tell of which attributes its marks are, and how its keywords were read."""


class SegmentFiles(ArrayFiles[Segment]):
    """The segment files of a data folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, SEGMENT)

    def snapshot(self, published: PublishedFile) -> Snapshot | None:
        """Return the pieces of a file, mapped, as `read`."""
        segment = self.read(published)
        return None if segment is None else Snapshot.of_segment(segment)


AWAITED_PIECES = 500_000
"""Pieces from which a follower waits for the builder: fewer are built from SQL in some seconds, nobody being refused
meanwhile (D93 of docs/decisions.md)."""
MAX_MERGED = 20_000
"""Pieces that a follower merges by itself: some tens of milliseconds. The rest is the builder's."""
ADOPTED_CHANGES = 1_000
"""Changes after which a follower looks whether the builder has published a newer file."""


class SnapshotBase(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot out of a segment file, and the version that it is of."""

    snapshot: Snapshot
    version: int


class Segments:
    """The segment files as followers use them; without ``files`` they build all by themselves."""

    def __init__(self, metrics: Metrics, files: SegmentFiles | None = None, builder: Election | None = None) -> None:
        self._metrics = metrics
        self._files = files
        self._builder = builder

    def is_awaited(self, head: SourceHead) -> bool:
        """Return whether a source is so large that its file, which is not there, is worth waiting for."""
        if self._files is None or head.piece_count < AWAITED_PIECES:
            return False
        return self._files.newest(head) is None and self._is_built()

    def max_merged(self) -> int | None:
        """Return how many pieces a follower may merge; ``None``: any, where no builder does it."""
        return MAX_MERGED if self._files is not None and self._is_built() else None

    def newer(self, head: SourceHead, version: int) -> PublishedFile | None:
        """Return a file to start from instead of one of a version: with more changes, enough for a gain."""
        # By versions first, since the look for a file lists a folder.
        if self._files is None or head.version - version < ADOPTED_CHANGES:
            return None
        published = self._files.newest(head)
        return None if published is None or published.stamp.version <= version else published

    def base(self, head: SourceHead, version: int) -> SnapshotBase | None:
        """Return what to start from instead of what began at a version: a file that is `newer`, mapped."""
        published = self.newer(head, version)
        if published is None or self._files is None:
            return None
        snapshot = self._files.snapshot(published)
        if snapshot is None:
            return None
        self._metrics.segments_mapped.inc()
        return SnapshotBase(snapshot=snapshot, version=published.stamp.version)

    def _is_built(self) -> bool:
        return self._builder is not None and self._builder.is_won_by_anyone()
