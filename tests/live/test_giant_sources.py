"""A file is built from segments of some pieces each, which wait on the disk, and is the same as one built at once."""

import resource
from pathlib import Path

import pytest

from live.conftest import Sources, newest_file
from penchant.errors import StorageUnavailable
from penchant.live import following
from penchant.live.array_files import stamp_of
from penchant.live.builder import Builder
from penchant.live.segment_files import SegmentFiles
from penchant.model import SourceSettings
from penchant.storage import source_reader
from penchant.telemetry import Metrics
from penchant_engine.attributes import Attribute, AttributeType
from penchant_engine.index import Segment

CHUNK = 4


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_reader, "BATCH_ROWS", 2)
    monkeypatch.setattr(following, "READ_PIECES", 2)
    monkeypatch.setattr(following, "KEPT_PIECES", CHUNK)


def build(sources: Sources, files: SegmentFiles) -> bytes:
    """Build the file of a source from its last one and the changes since; return its bytes."""
    head = sources.head()
    Builder(sources.storage, files, Metrics()).build(head, files.newest(head))
    return newest_file(files, sources).path.read_bytes()


def rebuilt(sources: Sources, folder: Path) -> bytes:
    """Return the bytes of a file that is made from all pieces at once."""
    return SegmentFiles(folder).publish(stamp_of(sources.head()), sources.rebuilt().merged()).path.read_bytes()


def test_a_file_built_in_chunks_is_the_same_bytes(sources: Sources, tmp_path: Path) -> None:
    files = SegmentFiles(tmp_path / "index")
    sources.submit(*range(30))

    assert build(sources, files) == rebuilt(sources, tmp_path / "other")

    sources.submit(*range(20, 40), extras={"n": "stored again"})
    sources.delete(*range(0, 30, 3))

    assert build(sources, files) == rebuilt(sources, tmp_path / "other")

    sources.configure(SourceSettings(attributes={"n": Attribute(AttributeType.KEYWORD, "/n")}))
    sources.submit(50)

    assert build(sources, files) == rebuilt(sources, tmp_path / "other")


def test_chunks_wait_out_of_memory_and_leave_nothing(
    sources: Sources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spooled, spool = list[int](), SegmentFiles.spooled

    def counting(files: SegmentFiles, segment: Segment) -> Segment:
        spooled.append(len(segment))
        return spool(files, segment)

    monkeypatch.setattr(SegmentFiles, "spooled", counting)
    sources.submit(*range(30))

    build(sources, SegmentFiles(tmp_path / "index"))

    assert sum(spooled) == 30
    assert max(spooled) <= CHUNK + 1
    assert [path.suffix for path in (tmp_path / "index").rglob("*") if path.is_file()] == [".segment"]


def test_a_feed_of_deletions_alone_is_applied_in_chunks(sources: Sources, tmp_path: Path) -> None:
    files = SegmentFiles(tmp_path / "index")
    sources.submit(*range(30))
    build(sources, files)
    sources.delete(*range(25))

    assert build(sources, files) == rebuilt(sources, tmp_path / "other")


def test_an_emptied_source_has_a_file_without_pieces(sources: Sources, tmp_path: Path) -> None:
    files = SegmentFiles(tmp_path / "index")
    sources.submit(*range(10))
    build(sources, files)
    sources.delete(*range(10))
    build(sources, files)

    found = files.snapshot(newest_file(files, sources))
    assert found is not None
    assert found.piece_count == 0


def test_a_build_without_room_says_so_and_leaves_the_last_file(sources: Sources, tmp_path: Path) -> None:
    files = SegmentFiles(tmp_path / "index")
    sources.submit(*range(30))
    first = build(sources, files)
    before = newest_file(files, sources)
    sources.submit(*range(30, 60))

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, hard))
    try:
        with pytest.raises(StorageUnavailable, match="The index cannot be written"):
            build(sources, files)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert files.newest(sources.head()) == before
    assert before.path.read_bytes() == first
    assert [path for path in (tmp_path / "index").rglob("*") if path.is_file()] == [before.path]
