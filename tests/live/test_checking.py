"""Files are compared with what the database holds, and a difference has a name."""

import pytest

from answers import stored
from live.conftest import Sources
from penchant.live import builder as building
from penchant.live import checking
from penchant.live.array_files import Published, stamp_of
from penchant.live.builder import Builder
from penchant.live.checking import index_problems
from penchant.live.segment_files import SegmentFiles


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (building, checking):
        monkeypatch.setattr(module, "SMALLEST_FILE", 3)


@pytest.fixture
def published(builder: Builder, files: SegmentFiles, sources: Sources) -> Published:
    sources.submit(*range(9))
    builder.build_due()
    newest = files.newest(sources.head())
    assert newest is not None
    return newest


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


def test_a_damaged_file_is_named_and_stays(sources: Sources, published: Published) -> None:
    content = bytearray(published.path.read_bytes())
    content[len(content) // 2] ^= 1
    published.path.write_bytes(content)

    (problem,) = index_problems(sources.storage, sources.folder / "index")

    assert "damaged" in problem
    assert published.path.exists()


def test_sources_without_a_file_are_no_problem(sources: Sources, published: Published) -> None:
    sources.submit(*range(9), source="another")
    published.path.unlink()

    assert list(index_problems(sources.storage, sources.folder / "index")) == []
