"""Whatever led to a snapshot, it answers as one that was built at once."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import TERMS, all_answers, similar, snapshot_of, stored
from penchant.live.array_files import Stamp, read_file, write_file
from penchant.live.segment_files import SEGMENT
from penchant_engine.index import Segment, Snapshot, snapshot
from strategies import CATALOGUES, CATEGORY_WEIGHTS, CHANGES, examples

STAMP = Stamp(*range(len(Stamp._fields)))
MAX_MERGED = st.sampled_from([None, 0, 1, 2, 5])
BASES = st.sampled_from(["no", "memory", "file"])


@pytest.fixture(autouse=True, scope="module")
def small_segments() -> Any:
    """Merge by the ratio of sizes from the first piece on, so that few pieces make many segments."""
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(snapshot, "SMALL_SEGMENT", 0)
        patching.setattr(snapshot, "MERGE_RATIO", 2)
        yield


def mapped(segment: Segment) -> Segment:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "base.segment"
        write_file(SEGMENT, path, STAMP, segment)
        return read_file(SEGMENT, path, STAMP)


def rebased(snapshot: Snapshot, base: str) -> Snapshot:
    """Return the snapshot as it goes on from a segment of its live pieces."""
    if base == "no":
        return snapshot
    merged = snapshot.merged()
    return Snapshot.of_segment(merged if base == "memory" else mapped(merged))


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(250))
@given(st.lists(st.tuples(CHANGES, BASES), max_size=3), MAX_MERGED, CATEGORY_WEIGHTS)
def test_any_changes_upon_any_bases_are_a_rebuild(
    phases: list[tuple[list[tuple[str, Any]], str]], max_merged: int | None, weights: dict[str, float]
) -> None:
    snapshot, pieces = Snapshot.empty(), dict[str, Any]()
    for changes, base in phases:
        for kind, values in changes:
            pieces, applied = changed(pieces, kind, values)
            snapshot = snapshot.apply(applied, max_merged=max_merged)
        snapshot = rebased(snapshot, base)

        rebuilt = snapshot_of(list(pieces.values()))
        assert all_answers(snapshot, sorted(pieces), weights) == all_answers(rebuilt, sorted(pieces), weights)


def changed(pieces: dict[str, Any], kind: str, values: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the pieces after a change, and the change as snapshots take it."""
    if kind == "submit":
        new = {piece["id"]: piece for piece in values}
        return pieces | new, {key: stored(piece) for key, piece in new.items()}
    gone = values if kind == "delete" else list(pieces)
    return {key: piece for key, piece in pieces.items() if key not in gone}, dict.fromkeys(gone)


@pytest.mark.slow
@given(CATALOGUES, CATALOGUES)
def test_merging_gives_the_arrays_of_a_build(first: list[dict[str, Any]], then: list[dict[str, Any]]) -> None:
    pieces = {piece["id"]: piece for piece in first + then}
    apart = snapshot_of(first).apply({piece["id"]: stored(piece) for piece in then}, max_merged=0)

    merged, built = apart.merged().arrays(), snapshot_of(list(pieces.values())).merged().arrays()

    assert {name: array.tolist() for name, array in merged.items()} == {
        name: array.tolist() for name, array in built.items()
    }


def test_segments_above_the_limit_stay_apart() -> None:
    one = snapshot_of([{"id": "a", "categories": {"genre": ["x"]}}])
    other = {"b": stored({"id": "b", "categories": {"genre": ["x"]}})}

    assert len(one.apply(other, max_merged=1).parts) == 2
    assert len(one.apply(other, max_merged=2).parts) == 1


def test_fewer_than_wanted_from_several_segments_are_in_order() -> None:
    snapshot = Snapshot.empty()
    for name in ("c", "a", "b"):
        piece = stored({"id": name, "categories": {"genre": ["x"]}})
        snapshot = snapshot.apply({name: piece}, max_merged=0)

    assert similar(snapshot, "b") == [("a", 0.0), ("c", 0.0)]


def test_a_source_without_pieces_can_be_merged() -> None:
    assert Snapshot.of_segment(Snapshot.empty().merged()).piece_count == 0


def test_pieces_without_keywords_count_for_no_term() -> None:
    plain = snapshot_of([{"id": name, "categories": {}} for name in ("a", "b")])

    after = plain.apply({"a": None}, max_merged=0)

    assert after.document_frequencies(TERMS).tolist() == [0] * len(TERMS)


def test_a_segment_of_which_nothing_lives_is_dropped() -> None:
    snapshot = snapshot_of([{"id": "a", "categories": {"genre": ["x"]}}])

    assert Snapshot.of_segment(snapshot.merged()).apply({"a": None}).parts == ()
    assert similar(Snapshot.empty().apply({"a": stored({"id": "a", "categories": {}})}), "a") == []


def test_the_oldest_and_the_latest_days_are_counted() -> None:
    moments = {"a": "0001-01-01T00:00:00.000Z", "b": "9999-12-31T00:00:00.000Z", "c": "1969-12-31T00:00:00.000Z"}
    snapshot = snapshot_of(
        [{"id": key, "categories": {}, "filters": {"availableFrom": moment}} for key, moment in moments.items()]
    )

    assert sorted(snapshot.day_counts().items()) == [(-719_162, 1), (-1, 1), (2_932_896, 1)]
