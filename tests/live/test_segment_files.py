"""What is written is read again, by any number of processes; what is damaged is never trusted."""

import dataclasses
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from answers import all_answers, snapshot_of, stored
from penchant.errors import StorageUnavailable
from penchant.live.array_files import ALIGNMENT, PREFIX, DamagedFile, PublishedFile, Stamp, read_file, write_file
from penchant.live.audience_files import KeptDays, LikesFiles
from penchant.live.segment_files import SEGMENT, SegmentFiles
from penchant.storage import SourceHead
from penchant_engine.index import Segment, Snapshot, Tally
from penchant_engine.index.building import build_segment
from strategies import CATALOGUES

STAMP = Stamp(source_id=7, created_at=5, incarnation=1, epoch=2, version=3)
PIECES = [
    {
        "id": f"p{number}",
        "categories": {"genre": ["a", "b"][: number % 3], "tag": [{"key": f"k{number % 4}", "weight": number}]},
        "filters": {"catalogs": ["site"], "availableUntil": "2030-01-01T00:00:00.000Z"},
    }
    for number in range(100)
]
IN_ONE_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def segment_of(pieces: list[dict[str, Any]]) -> Segment:
    return build_segment(stored(piece) for piece in pieces)


def head(**members: int) -> SourceHead:
    changed = {"interactions_version": 0, "piece_count": 100, "changed_at": 0}
    return SourceHead(account_id=1, name="s", **(STAMP._asdict() | changed | members))


def same(one: Segment, other: Segment) -> bool:
    ours, theirs = one.arrays(), other.arrays()
    return ours.keys() == theirs.keys() and all(
        (array.dtype, array.shape) == (theirs[name].dtype, theirs[name].shape) and np.array_equal(array, theirs[name])
        for name, array in ours.items()
    )


@pytest.fixture
def files(tmp_path: Path) -> SegmentFiles:
    return SegmentFiles(tmp_path / "index")


@pytest.fixture
def published(files: SegmentFiles) -> PublishedFile:
    return files.publish(STAMP, segment_of(PIECES))


@IN_ONE_FOLDER
@given(CATALOGUES)
def test_what_is_written_is_read(tmp_path: Path, pieces: list[dict[str, Any]]) -> None:
    segment, path = segment_of(pieces), tmp_path / "written.segment"

    write_file(SEGMENT, path, STAMP, segment)

    assert same(read_file(SEGMENT, path, STAMP), segment)


@pytest.mark.slow
@IN_ONE_FOLDER
@given(CATALOGUES)
def test_a_mapped_segment_answers_as_one_in_memory(tmp_path: Path, pieces: list[dict[str, Any]]) -> None:
    path, ids = tmp_path / "written.segment", [piece["id"] for piece in pieces]
    write_file(SEGMENT, path, STAMP, segment_of(pieces))

    mapped = Snapshot.of_segment(read_file(SEGMENT, path, STAMP))

    assert all_answers(mapped, ids) == all_answers(snapshot_of(pieces), ids)


def test_a_segment_without_pieces_can_be_written_and_read(tmp_path: Path) -> None:
    write_file(SEGMENT, tmp_path / "empty.segment", STAMP, segment_of([]))

    assert same(read_file(SEGMENT, tmp_path / "empty.segment", STAMP), segment_of([]))


def test_a_file_that_was_checked_is_no_memory_of_the_process(tmp_path: Path) -> None:
    likes = LikesFiles(tmp_path)
    moments = np.arange(1 << 20)
    large = likes.publish(STAMP, dataclasses.replace(Tally.empty(7).compacted(), moments=moments))

    read = likes.read(large)

    assert read is not None
    assert resident_bytes(large.path) < moments.nbytes // 8
    assert np.array_equal(read.moments, moments)
    assert resident_bytes(large.path) > moments.nbytes // 2


def resident_bytes(path: Path) -> int:
    """Return how much of a mapped file is in the memory of this process."""
    mappings = Path("/proc/self/smaps").read_text().split(str(path))[1:]
    return sum(int(mapping.partition("Rss:")[2].split()[0]) * 1024 for mapping in mappings)


def test_a_mapped_segment_can_be_written_again(published: PublishedFile, tmp_path: Path) -> None:
    mapped = read_file(SEGMENT, published.path, STAMP)

    write_file(SEGMENT, tmp_path / "again.segment", STAMP, Snapshot.of_segment(mapped).merged())

    assert (tmp_path / "again.segment").read_bytes() == published.path.read_bytes()


@pytest.mark.stress
def test_a_flipped_byte_anywhere_is_seen_or_changes_nothing(published: PublishedFile) -> None:
    sound, segment = published.path.read_bytes(), segment_of(PIECES)
    unseen = 0
    for place in range(len(sound)):
        damaged = bytearray(sound)
        damaged[place] ^= 0x41
        published.path.write_bytes(damaged)
        try:
            assert same(read_file(SEGMENT, published.path, STAMP), segment)
            unseen += 1
        except DamagedFile:
            continue

    assert unseen == padding_of(segment, sound)


def padding_of(segment: Segment, encoded: bytes) -> int:
    """Return how many bytes of a file belong to nothing."""
    header: int = PREFIX.size + PREFIX.unpack_from(encoded)[2]
    return len(encoded) - header - sum(array.nbytes for array in segment.arrays().values())


@pytest.mark.slow
def test_a_file_that_is_cut_short_anywhere_is_seen(published: PublishedFile) -> None:
    sound = published.path.read_bytes()
    last = len(sound) - ALIGNMENT

    for length in [*range(0, last, 13), last]:
        published.path.write_bytes(sound[:length])
        with pytest.raises(DamagedFile):
            read_file(SEGMENT, published.path, STAMP)


@pytest.mark.parametrize("other", [STAMP._replace(**{name: 9}) for name in Stamp._fields], ids=Stamp._fields)
def test_a_file_of_another_source_or_version_is_seen(published: PublishedFile, other: Stamp) -> None:
    with pytest.raises(DamagedFile):
        read_file(SEGMENT, published.path, other)


@pytest.mark.parametrize("pieces", (PIECES, PIECES[:1], []), ids=("many", "one", "none"))
def test_a_spooled_segment_is_the_same_and_leaves_no_file(
    files: SegmentFiles, tmp_path: Path, pieces: list[dict[str, Any]]
) -> None:
    segment = segment_of(pieces)

    spooled = files.spooled(segment)

    assert same(spooled, segment)
    assert not np.shares_memory(spooled.starts, segment.starts)
    assert list((tmp_path / "index").iterdir()) == []


def test_a_segment_that_cannot_be_spooled_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "index").write_bytes(b"no folder")

    with pytest.raises(StorageUnavailable, match="index cannot be written"):
        SegmentFiles(tmp_path / "index").spooled(segment_of(PIECES))


def test_a_file_of_another_format_is_built_anew(files: SegmentFiles, published: PublishedFile) -> None:
    files.kind = replace(SEGMENT, format=SEGMENT.format - 1)

    assert files.read(published) is None
    assert files.newest(head()) is None


@pytest.mark.parametrize("content", (b"", b"x", b"x" * 10_000), ids=("empty", "short", "foreign"))
def test_a_file_that_cannot_be_used_is_removed_and_logged(
    files: SegmentFiles, published: PublishedFile, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    published.path.write_bytes(content)

    with caplog.at_level(logging.WARNING, logger="penchant"):
        assert files.read(published) is None

    assert "a segment file cannot be used" in caplog.text
    assert files.newest(head()) is None
    assert not published.path.exists()


def test_a_file_that_is_gone_is_no_error(
    files: SegmentFiles, published: PublishedFile, caplog: pytest.LogCaptureFixture
) -> None:
    files.forget(7)

    with caplog.at_level(logging.WARNING, logger="penchant"):
        assert files.read(published) is None

    assert "a segment file cannot be read" in caplog.text


def test_the_newest_file_of_the_incarnation_and_epoch_counts(files: SegmentFiles, published: PublishedFile) -> None:
    for version in (9, 10):
        write_file(SEGMENT, published.path.with_name(f"5-1-2-{version}.segment"), STAMP, segment_of([]))

    newest = files.newest(head())

    assert newest is not None
    assert newest.stamp.version == 10
    for other in ({"source_id": 8}, {"created_at": 6}, {"incarnation": 2}, {"epoch": 1}):
        assert files.newest(head(**other)) is None


def test_a_file_that_was_not_finished_is_ignored_and_removed_by_the_next(
    files: SegmentFiles, published: PublishedFile
) -> None:
    left = published.path.with_name("5-1-2-9.4711.tmp")
    left.write_bytes(published.path.read_bytes()[:1000])
    (published.path.parent / "notes.segment").write_text("foreign")
    assert files.newest(head()) == published

    files.publish(STAMP._replace(version=4), segment_of(PIECES))

    assert not left.exists()


def test_publishing_replaces_older_files_under_those_who_read_them(
    files: SegmentFiles, published: PublishedFile
) -> None:
    mapped = files.read(published)
    assert mapped is not None

    new = files.publish(STAMP._replace(incarnation=2, version=4), segment_of(PIECES[:1]))

    assert [*published.path.parent.iterdir()] == [new.path]
    assert same(mapped, segment_of(PIECES))


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "taken.segment"
    (path / "by a folder").mkdir(parents=True)

    with pytest.raises(OSError, match="taken"):
        write_file(SEGMENT, path, STAMP, segment_of(PIECES))

    assert [*tmp_path.iterdir()] == [path]


def test_nothing_of_a_forgotten_source_stays(files: SegmentFiles, published: PublishedFile) -> None:
    published.path.with_name("5-1-2-9.4711.tmp").touch()
    other = files.publish(STAMP._replace(source_id=2**40), segment_of([]))
    assert sorted(files.sources()) == [7, 2**40]

    files.forget(7)

    assert files.sources() == [2**40]
    assert not published.path.parent.exists()
    assert other.path.exists()


def test_a_folder_that_is_missing_holds_no_sources(tmp_path: Path) -> None:
    files = SegmentFiles(tmp_path / "no")
    files.forget(7)

    assert files.sources() == []
    assert files.newest(head()) is None


def test_files_are_for_their_owner_only(published: PublishedFile) -> None:
    assert published.path.parent.stat().st_mode & 0o77 == 0


def test_kinds_of_files_share_a_folder_and_leave_each_other_alone(
    files: SegmentFiles, published: PublishedFile
) -> None:
    likes = LikesFiles(published.path.parent.parent)
    counted = likes.publish(STAMP._replace(version=9), Tally.empty(7).compacted())
    segment = files.publish(STAMP._replace(version=4), segment_of(PIECES))

    assert (files.newest(head()), likes.newest(head())) == (segment, counted)
    assert likes.kept_days(counted) == KeptDays(7, 2**31 - 1)
    likes.forget(7)
    assert likes.newest(head()) is None
    assert likes.kept_days(counted) is None
    assert files.newest(head()) == segment
