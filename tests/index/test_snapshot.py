"""The index against the definition by full scan."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from answers import snapshot_of, stored
from penchant.errors import UnknownPiece
from penchant_engine.index import Filter, Snapshot
from penchant_engine.index.segment import MAX_NORMS
from penchant_engine.model import Algorithm
from strategies import CATALOGUES, CATEGORY_WEIGHTS, CHANGES

EVERYTHING = Filter(moment=1)
ALGORITHMS = st.sampled_from([None, "jaccard", "cosine"])


def answered(
    snapshot: Snapshot, piece_id: str, algorithm: str | None, weights: dict[str, float], shown: Filter = EVERYTHING
) -> list[tuple[str, float]]:
    chosen = None if algorithm is None else Algorithm(algorithm)
    found = snapshot.nearest(piece_id, shown, algorithm=chosen, category_weights=weights, take=30)
    return [(neighbour.id, neighbour.distance) for neighbour in found]


@given(CATALOGUES, ALGORITHMS, CATEGORY_WEIGHTS)
def test_nearest_is_the_full_scan(
    pieces: list[dict[str, Any]], algorithm: str | None, weights: dict[str, float]
) -> None:
    snapshot = snapshot_of(pieces)

    for piece in pieces:
        expected = oracle.nearest(pieces, piece["id"], algorithm, weights)
        found = answered(snapshot, piece["id"], algorithm, weights)
        assert [each[0] for each in found] == [each[0] for each in expected]
        assert [each[1] for each in found] == pytest.approx([each[1] for each in expected], abs=1e-12)


@given(CHANGES, ALGORITHMS, CATEGORY_WEIGHTS)
def test_any_sequence_of_changes_is_a_rebuild(
    changes: list[tuple[str, Any]], algorithm: str | None, weights: dict[str, float]
) -> None:
    snapshot, pieces = Snapshot.empty(), dict[str, Any]()
    for kind, values in changes:
        if kind == "submit":
            pieces |= {piece["id"]: piece for piece in values}
            snapshot = snapshot.apply({piece["id"]: stored(piece) for piece in values})
        elif kind == "delete":
            pieces = {key: piece for key, piece in pieces.items() if key not in values}
            snapshot = snapshot.apply(dict.fromkeys(values))
        else:
            snapshot = snapshot.apply(dict.fromkeys(pieces))
            pieces = {}
        rebuilt = snapshot_of(list(pieces.values()))
        assert snapshot.piece_count == len(pieces)
        assert snapshot.mean_norm(weights) == rebuilt.mean_norm(weights)
        for piece_id in pieces:
            assert answered(snapshot, piece_id, algorithm, weights) == answered(rebuilt, piece_id, algorithm, weights)


@given(CATALOGUES, st.sets(st.sampled_from(["p0", "p1", "p2", "p3"])), st.integers(0, 3))
def test_filters_give_the_full_scan_of_what_passes(
    pieces: list[dict[str, Any]], blacklisted: set[str], moment: int
) -> None:
    for place, piece in enumerate(pieces):
        begins, ends = place % 3, place % 3 + 2
        piece["filters"] = {
            "catalogs": ["even" if place % 2 == 0 else "odd"],
            "availableFrom": f"1970-01-01T00:00:00.00{begins}Z",
            "availableUntil": f"1970-01-01T00:00:00.00{ends}Z",
        }
    shown = Filter(moment=moment, catalogs=frozenset({"even", "no"}), blacklisted=frozenset(blacklisted))
    passing = {
        piece["id"]
        for place, piece in enumerate(pieces)
        if place % 2 == 0 and place % 3 <= moment < place % 3 + 2 and piece["id"] not in blacklisted
    }

    for piece in pieces:
        full = answered(snapshot_of(pieces), piece["id"], None, {}, shown)
        expected = [each for each in oracle.nearest(pieces, piece["id"]) if each[0] in passing]
        assert [each[0] for each in full] == [each[0] for each in expected]


def test_an_old_snapshot_is_untouched_by_changes() -> None:
    pieces = [{"id": name, "categories": {"genre": ["a"]}} for name in ("p1", "p2")]
    before = snapshot_of(pieces)

    after = before.apply({"p2": None, "p3": stored({"id": "p3", "categories": {"genre": ["a", "new"]}})})

    assert answered(before, "p1", None, {}) == [("p2", 0.0)]
    assert answered(after, "p1", None, {}) == [("p3", 0.5)]
    assert "p2" in before
    assert "p2" not in after


def test_an_unknown_piece_is_an_error() -> None:
    with pytest.raises(UnknownPiece):
        answered(Snapshot.empty(), "no", None, {})


def test_large_weights_stay_exact() -> None:
    pieces = [
        {"id": name, "categories": {"tag": [{"key": f"k{n}", "weight": weight} for n in range(3000)]}}
        for name, weight in (("a", 10_000), ("b", 1))
    ]

    assert answered(snapshot_of(pieces), "a", "cosine", {"tag": 99.99}) == [("b", 0.0)]


def test_means_are_remembered_for_a_few_settings() -> None:
    snapshot = snapshot_of([{"id": "a", "categories": {"c": ["x"]}}])

    for weight in range(1, 40):
        assert snapshot.mean_norm({"c": weight}) == pytest.approx(weight)

    assert len(snapshot._mean_norms) <= MAX_NORMS
