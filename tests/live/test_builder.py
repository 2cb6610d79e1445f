"""Files are built when they are due, from the last one and the changes since, and equal those from SQL alone."""

import logging
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answers import stored
from clocks import TickingClock
from live.conftest import Sources, newest_file
from penchant.live import builder as building
from penchant.live import following
from penchant.live.array_files import PublishedFile, stamp_of
from penchant.live.builder import CHANGES_SHARE, LEAST_CHANGES, QUIET_S, Builder, build_for_ever, builder_lock, is_due
from penchant.live.segment_files import SegmentFiles
from penchant.model import ListKind, SourceSettings
from penchant.storage import ClearPieces, DeleteSource, ReplaceList, source_reader
from penchant.telemetry import Metrics
from penchant_engine.attributes import Attribute, AttributeType
from penchant_engine.index import Snapshot
from strategies import examples

NUMBERS = st.lists(st.integers(0, 15), max_size=6)
CHANGES = st.lists(
    st.tuples(st.sampled_from(["submit", "delete", "build", "clear", "delete source", "purge", "attributes"]), NUMBERS),
    max_size=10,
)


@pytest.fixture(autouse=True)
def small_parts(small_files: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001  # comes first
    # So that a build is of many segments.
    for module, name in (source_reader, "BATCH_ROWS"), (following, "READ_PIECES"), (following, "KEPT_PIECES"):
        monkeypatch.setattr(module, name, 2)


def arrays(snapshot: Snapshot) -> dict[str, Any]:
    return {name: (array.dtype, array.tolist()) for name, array in snapshot.merged().arrays().items()}


def built(files: SegmentFiles, sources: Sources) -> dict[str, Any]:
    """Return the arrays of the newest file."""
    snapshot = files.snapshot(newest_file(files, sources))
    assert snapshot is not None
    return arrays(snapshot)


def version_of(files: SegmentFiles, sources: Sources) -> int:
    return newest_file(files, sources).stamp.version


def test_only_large_sources_have_files(builder: Builder, files: SegmentFiles, sources: Sources) -> None:
    sources.submit(1, 2, source="small")
    sources.submit(1, 2, 3, source="large")

    assert builder.build_due() == 1
    assert files.sources() == [sources.head("large").source_id]


@pytest.mark.parametrize(("pieces", "changes"), ((100, LEAST_CHANGES), (10**6, 10**6 // CHANGES_SHARE)))
def test_a_file_is_due_after_enough_changes(
    sources: Sources, monkeypatch: pytest.MonkeyPatch, pieces: int, changes: int
) -> None:
    monkeypatch.setattr(building, "LEAST_CHANGES", LEAST_CHANGES)
    sources.submit(1)
    head = sources.head()

    def is_due_after(changes: int, *, rested: bool = False) -> bool:
        stamp = stamp_of(head)._replace(version=10)
        now = head._replace(piece_count=pieces, version=10 + changes)
        return is_due(now, PublishedFile(stamp=stamp, path=Path("any")), rested=rested)

    assert [is_due_after(number) for number in (0, changes - 1, changes, -1)] == [False, False, True, True]
    assert [is_due_after(number, rested=True) for number in (LEAST_CHANGES - 1, LEAST_CHANGES)] == [False, True]
    assert is_due(head, None, rested=False)


def test_a_few_changes_are_built_once_their_source_is_quiet(
    files: SegmentFiles, metrics: Metrics, sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "CHANGES_SHARE", 1)
    monkeypatch.setattr(building, "REST_RATIO", 10**9)
    clock = TickingClock()
    builder = Builder(sources.storage, files, metrics, monotonic=clock)
    sources.submit(*range(20))
    assert builder.build_due() == 1

    for number in range(20, 26):
        sources.submit(number)
        assert builder.build_due() == 0
        clock.now += QUIET_S / 2
    clock.now += QUIET_S / 2

    assert [builder.build_due(), builder.build_due()] == [1, 0]


def test_nothing_is_built_twice(builder: Builder, sources: Sources, metrics: Metrics) -> None:
    sources.submit(1, 2, 3)

    assert [builder.build_due(), builder.build_due()] == [1, 0]
    sources.submit(1)
    assert builder.build_due() == 0
    sources.delete(1)
    assert builder.build_due() == 0
    sources.submit(4, 5)
    assert builder.build_due() == 1
    assert metrics.registry.get_sample_value("penchant_segments_built_total") == 2


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(40))
@given(CHANGES)
def test_any_changes_between_files_are_a_rebuild(
    builder: Builder, files: SegmentFiles, sources: Sources, changes: list[tuple[str, list[int]]]
) -> None:
    sources.submit(1, 2, 3)
    for kind, numbers in changes:
        change(builder, sources, kind, numbers)
    sources.submit(1, 2, 3)

    builder.build(sources.head(), files.newest(sources.head()))

    assert built(files, sources) == arrays(sources.rebuilt())
    assert version_of(files, sources) == sources.head().version


def change(builder: Builder, sources: Sources, kind: str, numbers: list[int]) -> None:
    if kind == "submit":
        new = str(len(numbers))
        sources.submit(*dict.fromkeys(numbers), categories={"new": [new]}, extras={"n": new, new: "x"})
    elif kind == "delete":
        sources.delete(*numbers)
    elif kind == "build":
        builder.build_due()
    elif kind == "clear":
        sources.do(ClearPieces(account_id=sources.account, source="s"))
    elif kind == "delete source":
        sources.do(DeleteSource(account_id=sources.account, source="s"))
        sources.submit(*numbers, 1)
    elif kind == "attributes":
        sources.configure(named("n", *map(str, numbers)))
    else:
        sources.purged()


def named(*members: str) -> SourceSettings:
    """Return settings that name these members of extras."""
    return SourceSettings(attributes={each: Attribute(AttributeType.KEYWORD, f"/{each}") for each in members})


def test_other_attributes_are_reason_enough_for_a_build(
    builder: Builder, files: SegmentFiles, sources: Sources
) -> None:
    sources.submit(1, 2, 3, extras={"n": "x"})
    builder.build_due()

    sources.configure(named("n"))

    assert [builder.build_due(), builder.build_due()] == [1, 0]
    assert built(files, sources) == arrays(sources.rebuilt())
    assert built(files, sources)["mark_pieces"][1] == [0, 1, 2]


def test_a_build_continues_from_the_last_file(builder: Builder, files: SegmentFiles, sources: Sources) -> None:
    sources.submit(*range(9))
    known = {"only in the file": stored({"id": "only in the file", "categories": {}})}
    files.publish(stamp_of(sources.head()), sources.rebuilt().apply(known).merged())
    sources.delete(1, 2)

    assert builder.build_due() == 1

    assert built(files, sources) == arrays(sources.rebuilt().apply(known))


def test_lists_are_changes_without_pieces(builder: Builder, files: SegmentFiles, sources: Sources) -> None:
    sources.submit(1, 2, 3)
    builder.build_due()
    for ids in (["p1"], ["p2"]):
        sources.do(ReplaceList(account_id=sources.account, source="s", kind=ListKind.BLACKLIST, ids=ids))

    assert builder.build_due() == 1
    assert version_of(files, sources) == sources.head().version
    assert built(files, sources) == arrays(sources.rebuilt())


@pytest.mark.parametrize("command", (ClearPieces, DeleteSource))
def test_files_of_sources_that_are_gone_or_small_are_forgotten(
    builder: Builder, files: SegmentFiles, sources: Sources, command: type[ClearPieces] | type[DeleteSource]
) -> None:
    sources.submit(1, 2, 3)
    builder.build_due()

    sources.do(command(account_id=sources.account, source="s"))

    assert builder.build_due() == 0
    assert files.sources() == []


def test_a_source_that_is_made_again_has_a_file_of_its_own(
    builder: Builder, files: SegmentFiles, sources: Sources
) -> None:
    sources.submit(1, 2, 3)
    builder.build_due()
    sources.do(DeleteSource(account_id=sources.account, source="s"))
    sources.submit(7, 8, 9)

    assert files.newest(sources.head()) is None
    assert builder.build_due() == 1
    assert built(files, sources) == arrays(sources.rebuilt())


def test_a_damaged_file_is_replaced_from_sql(
    builder: Builder, files: SegmentFiles, sources: Sources, caplog: pytest.LogCaptureFixture
) -> None:
    sources.submit(*range(10))
    builder.build_due()
    published = newest_file(files, sources)
    published.path.write_bytes(published.path.read_bytes()[:-500])
    sources.submit(11, 12)

    with caplog.at_level(logging.WARNING, logger="penchant"):
        assert builder.build_due() == 1

    assert "a segment file cannot be used" in caplog.text
    assert built(files, sources) == arrays(sources.rebuilt())


def test_files_of_a_database_that_was_replaced_are_not_used(
    files: SegmentFiles, sources: Sources, metrics: Metrics, tmp_path: Path
) -> None:
    sources.submit(*range(10))
    Builder(sources.storage, files, metrics).build_due()
    other = Sources(tmp_path / "other")
    other.submit(1, 2, 3, categories={"other": ["x"]})
    other.submit(*range(20))

    assert files.newest(other.head()) is None
    assert Builder(other.storage, files, metrics).build_due() == 1
    assert built(files, other) == arrays(other.rebuilt())
    other.storage.close()


def test_a_file_from_before_a_restore_is_replaced(
    files: SegmentFiles, sources: Sources, metrics: Metrics, tmp_path: Path
) -> None:
    sources.submit(*range(10))
    sources.storage.close()
    shutil.copytree(sources.folder, tmp_path / "backup")
    lost = Sources(sources.folder)
    lost.submit(*range(20, 30))
    Builder(lost.storage, files, metrics).build_due()
    lost.storage.close()

    restored = Sources(tmp_path / "backup")
    assert Builder(restored.storage, files, metrics).build_due() == 1

    assert version_of(files, restored) == restored.head().version
    assert built(files, restored) == arrays(restored.rebuilt())
    restored.storage.close()


def test_builds_are_timed_failed_ones_too(sources: Sources, files: SegmentFiles, metrics: Metrics) -> None:
    def fail(*_: object) -> None:
        raise OSError

    sources.submit(*range(10))
    Builder(sources.storage, files, metrics, fail).build_due()
    assert metrics.registry.get_sample_value("penchant_last_build_timestamp_seconds") == 0
    Builder(sources.storage, files, metrics).build_due()

    assert metrics.registry.get_sample_value("penchant_build_seconds_count") == 2
    assert metrics.registry.get_sample_value("penchant_failures_total", {"where": "builder"}) == 1
    assert (metrics.registry.get_sample_value("penchant_last_build_timestamp_seconds") or 0) > time.time() - 60


def test_one_source_that_cannot_be_built_does_not_hold_up_the_others(
    builder: Builder, files: SegmentFiles, sources: Sources, metrics: Metrics
) -> None:
    for source in ("a", "b", "c"):
        sources.submit(1, 2, 3, source=source)
    for head in (sources.head("a"), sources.head("b")):
        folder = sources.folder / "index" / f"{head.source_id:016x}"
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.write_text("in the way")

    assert [builder.build_due(), builder.build_due()] == [1, 0]
    assert files.newest(sources.head("c")) is not None
    assert metrics.registry.get_sample_value("penchant_failures_total", {"where": "builder"}) == 2


class Ended(Exception):
    """The loop that has no end was ended."""


def test_sources_are_looked_at_when_the_database_has_changed(
    files: SegmentFiles, metrics: Metrics, sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pause in ("QUIET_S", "INTERVAL_S", "LONGEST_INTERVAL_S"):
        monkeypatch.setattr(building, pause, 0.0)
    looks: list[int] = []

    class CountingBuilder(Builder):
        def build_due(self) -> int:
            looks.append(super().build_due())
            return looks[-1]

    turns = iter(range(30))

    def marks() -> int | None:
        turn = next(turns, None)
        if turn is None:
            raise Ended
        if turn == 20:
            sources.submit(4, 5)
        return sources.storage.mark

    sources.submit(1, 2, 3)
    election = builder_lock(sources.folder)
    with pytest.raises(Ended):
        build_for_ever([CountingBuilder(sources.storage, files, metrics)], election, metrics, marks)
    election.close()

    assert (sum(looks), looks[-1]) == (2, 1)
    assert len(looks) < 10


def test_after_a_build_the_next_look_is_soon_since_changes_go_on(
    files: SegmentFiles, metrics: Metrics, sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "QUIET_S", 0.0)
    turns, pauses = iter(range(12)), list[float]()

    def marks() -> int | None:
        turn = next(turns, None)
        if turn is None:
            raise Ended
        if turn == 6:
            sources.submit(1, 2, 3)
        return sources.storage.mark

    monkeypatch.setattr(time, "sleep", pauses.append)
    election = builder_lock(sources.folder)
    with pytest.raises(Ended):
        build_for_ever([Builder(sources.storage, files, metrics)], election, metrics, marks)
    election.close()

    assert pauses[5] == building.LONGEST_INTERVAL_S
    assert (pauses[6], files.newest(sources.head()) is not None) == (building.INTERVAL_S, True)
