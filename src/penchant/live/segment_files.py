"""Segment files: the live pieces of sources between processes and restarts, those of a large one in several segments.

A file of several has those of the first under their own names, of the others with their number before:

    ids.text, posting_pieces ...    1/ids.text, 1/posting_pieces ...    2/ids.text ...
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from penchant.index import Segment, Snapshot, build_segment
from penchant.live.array_files import ArrayFiles, Arrays, DamagedFile, FileKind, PublishedFile, Stamp, read_arrays
from penchant.settings import MAX_SHARDS

SUFFIX, MAGIC, FORMAT = ".segment", b"penchant segment", 4
SEGMENT = FileKind(name="segment", suffix=SUFFIX, magic=MAGIC, format=FORMAT, of_arrays=Segment.of_arrays)
"""A file of one segment alone."""
NUMBERED = "attributes.starts"
"""An array that every segment has, and by which those of a file are counted."""
ATTRIBUTES = frozenset({NUMBERED, "attributes.text"})
"""The arrays of a segment file that tell of which attributes its marks are."""


@dataclass(frozen=True, slots=True)
class SegmentSet:
    """The segments of one source at one version, which together hold each of its live pieces once."""

    segments: Sequence[Segment]

    @classmethod
    def of_arrays(cls, arrays: Arrays) -> "SegmentSet":
        """Return the segments of the arrays that `arrays` names."""
        return cls([_segment(arrays, place) for place in range(segment_count(arrays))])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of all segments by name."""
        return {
            array_name(place, name): array
            for place, segment in enumerate(self.segments)
            for name, array in segment.arrays().items()
        }


SEGMENTS = FileKind(name="segment", suffix=SUFFIX, magic=MAGIC, format=FORMAT, of_arrays=SegmentSet.of_arrays)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardRule:
    """Sources of so many ``pieces`` and more have files of ``count`` segments; 0: none has."""

    pieces: int = 0
    count: int = 1

    def segments(self, piece_count: int, now: int) -> int:
        """Return of how many segments the file of a source is to be that is of so many now."""
        # One that shrinks a little keeps them, so that a source at the limit is not cut and joined by turns.
        least = self.pieces // 2 if now == self.count else self.pieces
        return self.count if self.pieces and piece_count >= least else 1


class SegmentFiles(ArrayFiles[SegmentSet]):
    """The segment files of a data folder; ``sharding`` says which new ones are of several segments.

    It may be replaced at any time.
    """

    def __init__(self, folder: Path, sharding: ShardRule | None = None) -> None:
        super().__init__(folder, SEGMENTS)
        self.sharding = sharding or ShardRule()

    def snapshot(self, published: PublishedFile) -> Snapshot | None:
        """Return the pieces of a file, mapped, as `read`."""
        found = self.read(published)
        return None if found is None else Snapshot.of_file(found.segments, tuple(published.stamp))

    def spooled_segment(self, segment: Segment) -> Segment:
        """Return the same segment out of a file without a name, as `spooled`."""
        (kept,) = self.spooled(SegmentSet([segment])).segments
        return kept

    def segment_count(self, published: PublishedFile) -> int | None:
        """Return of how many segments a file is; ``None`` where it cannot be used."""
        heading = self.read_part(published, HEADING)
        return None if heading is None else segment_count(heading)

    def segment(self, stamp: Stamp, count: int, place: int) -> Segment:
        """Return one of so many segments of a file, mapped; of the others next to nothing is looked at.

        Raises:
            DamagedFile, OSError: as `read_file`; also where it is of another number of segments.
        """
        names = HEADING | {array_name(place, name) for name in _NAMES}
        arrays = read_arrays(SEGMENTS, self.path(stamp), stamp, names)
        # One of the same version may be cut in another way, after the settings were changed.
        if segment_count(arrays) != count or not 0 <= place < count:
            raise DamagedFile(f"it is of {segment_count(arrays)} segments, not {count}")
        return _segment(arrays, place)


def array_name(place: int, name: str) -> str:
    """Return what an array of the segment at a place of a file is called there."""
    return f"{place}/{name}" if place else name


def segment_count(arrays: Arrays) -> int:
    """Return of how many segments a file is, by its arrays or those that `NUMBERED` names."""
    return sum(name.endswith(NUMBERED) for name in arrays)


def _segment(arrays: Arrays, place: int) -> Segment:
    """Return one of the segments that arrays are of."""
    return Segment.of_arrays({name: arrays[array_name(place, name)] for name in _NAMES})


_NAMES = tuple(build_segment(()).arrays())
HEADING = ATTRIBUTES | {array_name(place, NUMBERED) for place in range(MAX_SHARDS)}
"""What tells of which attributes the marks of a file are, and of how many segments it is."""
