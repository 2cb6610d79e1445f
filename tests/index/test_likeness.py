"""Likeness maps: alike pieces stand near each other, and nothing of a map is left to chance."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import snapshot_of
from index.test_browsing import changed, counted
from penchant import likeness
from penchant.likeness import GROUPS, SIDE, LikenessMap, likeness_map, sampled_ids
from penchant_engine.index import Snapshot
from penchant_engine.model import IndexedPiece
from strategies import examples


def planted(groups: int, of_each: int, seed: int) -> list[dict[str, Any]]:
    """Return pieces of several kinds: half of their keywords are their kind's, half of them anybody's."""
    chance = random.Random(seed)
    return [
        {
            "id": f"{group}-{number:03}",
            "categories": {
                "theme": sorted({f"{group}-{chance.randrange(15)}" for _ in range(5)}),
                "tag": sorted({f"any-{chance.randrange(80)}" for _ in range(5)}),
            },
        }
        for group in range(groups)
        for number in range(of_each)
    ]


def same(one: LikenessMap, other: LikenessMap) -> bool:
    arrays = ((one.points, other.points), (one.area_of, other.area_of))
    told = [[(each.keywords, each.typical, each.middle) for each in found.areas] for found in (one, other)]
    groups = [{name: (words, of.tolist()) for name, (words, of) in each.groupings.items()} for each in (one, other)]
    return all(np.array_equal(*each) for each in arrays) and told[0] == told[1] and groups[0] == groups[1]


@pytest.mark.slow
@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 1_000_000), st.integers(3, 8))
def test_alike_pieces_stand_nearer_than_unlike_ones(seed: int, groups: int) -> None:
    found = likeness_map(snapshot_of(planted(groups, 40, seed)), {})
    kinds = np.asarray([int(piece_id[0]) for piece_id in found.ids])
    points = found.points.astype(float)
    apart = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    alike = kinds[:, None] == kinds
    np.fill_diagonal(apart, np.inf)

    assert (kinds[apart.argmin(axis=1)] == kinds).mean() > 0.9
    np.fill_diagonal(apart, 0)
    assert apart[alike].mean() < apart[~alike].mean() / 2


@pytest.mark.slow
@settings(max_examples=examples(100), deadline=None)
@given(changed())
def test_a_map_depends_on_the_pieces_alone(state: tuple[Snapshot, list[IndexedPiece]]) -> None:
    snapshot, pieces = state
    counts = counted(pieces)

    found = likeness_map(snapshot, {})

    assert same(found, likeness_map(Snapshot.empty().apply({piece.id: piece for piece in pieces}), {}))
    assert list(found.ids) == sorted(piece.id for piece in pieces)
    apart = [piece_id for piece_id, area in zip(found.ids, found.area_of, strict=True) if area < 0]
    assert apart == sorted(piece.id for piece in pieces if all(counts[term] == 1 for term in piece.weights))
    assert len(found.points) == 0 or int(found.points.max()) <= SIDE


def test_a_large_catalogue_is_sampled_the_same_wherever_pieces_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likeness, "SAMPLED", 50)
    pieces = planted(4, 40, 1)
    whole = snapshot_of(pieces)
    parts = snapshot_of(pieces[:70])
    for piece in snapshot_of(pieces[70:]).parts:
        parts = parts.replace(list(piece.segment.ids), piece.segment, max_merged=0)

    found = likeness_map(whole, {})

    assert len(parts.parts) == 2
    assert same(found, likeness_map(parts, {}))
    assert frozenset(found.ids) == sampled_ids(parts) == sampled_ids(whole)
    assert (len(found.ids), found.pieces) == (50, 160)
    assert {piece_id[0] for piece_id in found.ids} == {"0", "1", "2", "3"}


def test_areas_tell_what_they_are_of() -> None:
    found = likeness_map(snapshot_of(planted(3, 40, 7)), {})

    assert sum(area.pieces for area in found.areas) == 120
    for number, area in enumerate(found.areas):
        kinds = [found.ids[row][0] for row in np.flatnonzero(found.area_of == number).tolist()]
        kind = max(set(kinds), key=kinds.count)
        assert any(each.keyword.startswith(f"{kind}-") for each in area.keywords)
        assert all(found.area_of[row] == number for row in area.typical)


def test_pieces_are_grouped_by_the_rarest_of_a_categorys_frequent_keywords() -> None:
    words = {"a": ["w1"], "b": ["w1", "w2"], "c": ["w1"], "d": ["w2", "w3"], "e": ["other"]}
    pieces = [{"id": key, "categories": {"genre": value}} for key, value in words.items()]

    keywords, group_of = likeness_map(snapshot_of(pieces), {}).groupings["genre"]

    assert keywords == ["w1", "w2", "other", "w3"]
    assert group_of.tolist() == [0, 1, 0, 3, 2]
    assert GROUPS == 4


def test_a_category_that_counts_nothing_makes_nothing_alike() -> None:
    pieces = [{"id": key, "categories": {"c": ["x"]}} for key in "ab"]

    assert likeness_map(snapshot_of(pieces), {"c": 0}).area_of.tolist() == [-1, -1]
    assert likeness_map(snapshot_of(pieces), {}).area_of.tolist() == [0, 0]
