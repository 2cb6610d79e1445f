"""Segment files: the segments of sources between processes and restarts, each with all live pieces of one."""

from pathlib import Path

from penchant.index import Segment
from penchant.live.array_files import ArrayFiles, FileKind

SEGMENT = FileKind(name="segment", suffix=".segment", magic=b"penchant segment", format=3, of_arrays=Segment.of_arrays)


class SegmentFiles(ArrayFiles[Segment]):
    """The segment files of a data folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, SEGMENT)
