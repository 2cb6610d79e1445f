"""Files are compared with what the database holds, and a difference has a name."""

import pytest

from answers import stored
from live.conftest import Sources, newest_file
from penchant.live import checking
from penchant.live.array_files import PublishedFile, stamp_of
from penchant.live.audience_files import LikesFiles, likes_stamp_of
from penchant.live.builder import Builder, LikesBuilder
from penchant.live.checking import index_problems
from penchant.live.segment_files import SegmentFiles
from penchant.model import SourceSettings
from penchant.telemetry import Metrics


@pytest.fixture(autouse=True)
def small_checks(small_files: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001  # comes first
    monkeypatch.setattr(checking, "SMALLEST_FILE", 3)


@pytest.fixture
def published(builder: Builder, files: SegmentFiles, sources: Sources) -> PublishedFile:
    sources.submit(*range(9))
    builder.build_due()
    return newest_file(files, sources)


@pytest.mark.slow
@pytest.mark.usefixtures("published")
def test_a_file_and_the_changes_since_are_what_is_stored(sources: Sources) -> None:
    sources.submit(3, 11, categories={"new": ["x"]})
    sources.delete(1)

    assert list(index_problems(sources.storage, sources.folder / "index")) == []


@pytest.mark.usefixtures("published")
def test_a_file_that_differs_is_named(files: SegmentFiles, sources: Sources) -> None:
    lied = {"p1": stored({"id": "p1", "categories": {"genre": ["else"]}})}
    files.publish(stamp_of(sources.head()), sources.rebuilt().apply(lied).merged())

    (problem,) = index_problems(sources.storage, sources.folder / "index")

    assert problem.startswith("Source s: ")
    assert "piece_terms" in problem


def test_a_damaged_file_is_named_and_stays(sources: Sources, published: PublishedFile) -> None:
    content = bytearray(published.path.read_bytes())
    content[len(content) // 2] ^= 1
    published.path.write_bytes(content)

    (problem,) = index_problems(sources.storage, sources.folder / "index")

    assert "damaged" in problem
    assert published.path.exists()


def test_sources_without_a_file_are_no_problem(sources: Sources, published: PublishedFile) -> None:
    sources.submit(*range(9), source="another")
    published.path.unlink()

    assert list(index_problems(sources.storage, sources.folder / "index")) == []


@pytest.fixture
def likes(sources: Sources) -> LikesFiles:
    """A likes file of a source, and interactions and an erasure since."""
    files = LikesFiles(sources.folder / "index")
    sources.submit(1, 2, 3)
    for person in range(5):
        sources.record(f"u{person}", "p1")
        sources.record(f"u{person}", "p2", "RateDislike")
    LikesBuilder(sources.storage, files, Metrics()).build_due()
    sources.record("u1", "p2")
    sources.record("new", "p2", "RateLike")
    sources.erase("u2")
    return files


@pytest.mark.usefixtures("likes")
def test_a_likes_file_and_the_interactions_since_are_what_is_stored(sources: Sources) -> None:
    assert list(index_problems(sources.storage, sources.folder / "index")) == []


def test_a_likes_file_that_differs_is_named_unless_it_is_of_no_more_use(likes: LikesFiles, sources: Sources) -> None:
    old = likes.read(newest_file(likes, sources))
    assert old is not None
    likes.publish(likes_stamp_of(sources.head()), old)

    (problem,) = index_problems(sources.storage, sources.folder / "index")

    assert problem.startswith("Source s: ")
    assert "moments" in problem
    sources.configure(SourceSettings(retention_days=500))
    assert list(index_problems(sources.storage, sources.folder / "index")) == []
