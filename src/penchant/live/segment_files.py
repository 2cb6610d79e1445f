"""Where do segments lie between processes and restarts? In files of arrays, each with all live pieces of a source."""

from pathlib import Path

from penchant.index import Segment
from penchant.live.array_files import ArrayFiles, Kind

SEGMENT = Kind(name="segment", suffix=".segment", magic=b"penchant segment", format=1, of_arrays=Segment.of_arrays)


class SegmentFiles(ArrayFiles[Segment]):
    """The segment files of a data folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, SEGMENT)
