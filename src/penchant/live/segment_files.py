"""Segment files: the segments of sources between processes and restarts, each with all live pieces of one."""

from pathlib import Path

from penchant.index import Segment, Snapshot
from penchant.live.array_files import ArrayFiles, FileKind, PublishedFile

SEGMENT = FileKind(name="segment", suffix=".segment", magic=b"penchant segment", format=5, of_arrays=Segment.of_arrays)
ATTRIBUTES = ("attributes.starts", "attributes.text")
"""The arrays of a segment file that tell of which attributes its marks are."""


class SegmentFiles(ArrayFiles[Segment]):
    """The segment files of a data folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, SEGMENT)

    def snapshot(self, published: PublishedFile) -> Snapshot | None:
        """Return the pieces of a file, mapped, as `read`."""
        segment = self.read(published)
        return None if segment is None else Snapshot.of_segment(segment)
