"""A row of the weights as a measure: weights of any sign and size, and pieces that came or went since it was made."""

from dataclasses import replace

import numpy as np
import pytest

from answers import EVERYTHING, snapshot_of, stored
from penchant_engine.index import Audience, Snapshot
from penchant_engine.index.people.item_item import ItemItemModel
from penchant_engine.index.people.shared_audience import MeanQuery, SharedLikes, SharedQuery
from penchant_engine.index.queries import PartQuery, best_of
from penchant_engine.index.similarity import SimilarityQuery
from penchant_engine.index.strings import Strings

UNIT = 1 << 20
IDS = ["a", "above", "gone", "less", "q"]
PIECES = [{"id": piece_id, "categories": {"genre": ["x"] if piece_id in "aq" else []}} for piece_id in IDS]


def nearest_by(snapshot: Snapshot, query: PartQuery, take: int = 30) -> list[tuple[str, float]]:
    return [(piece_id, max(0, key) / 10**12) for key, piece_id in best_of(snapshot.parts, query, EVERYTHING, take)]


def asked(snapshot: Snapshot, piece_id: str = "q") -> SimilarityQuery:
    return snapshot.asked(piece_id, None, {})


@pytest.fixture
def audience() -> Audience:
    """What likes of ``q`` say of the others: half, more than all, a quarter, less than nothing."""
    weights = replace(
        ItemItemModel.none(),
        ids=Strings.of(IDS),
        starts=np.array([0, 0, 0, 0, 0, 4]),
        targets=np.arange(4, dtype=np.uint32),
        values=np.array([UNIT // 2, UNIT + 1, UNIT // 4, -5], dtype=np.int32),
        people=np.array([7, 3, 3, 3], dtype=np.uint8),
    )
    return Audience(None, weights, 1)


def test_a_weight_above_all_is_first_and_nearer_than_nothing_is(audience: Audience) -> None:
    snapshot = snapshot_of(PIECES)
    found = nearest_by(snapshot, SharedQuery(audience.shared_with("q"), asked(snapshot)))

    assert found == [("above", 0.0), ("a", 0.5), ("gone", 0.75)]


def test_a_mean_counts_no_weight_below_nothing_or_above_all(audience: Audience) -> None:
    snapshot = snapshot_of(PIECES)
    query = MeanQuery(audience.shared_with("q"), asked(snapshot))

    assert nearest_by(snapshot, query) == [("a", 0.25), ("above", 0.5), ("gone", 0.875)]
    assert nearest_by(snapshot, query, 1) == [("a", 0.25)]


def test_pieces_that_came_or_went_since_are_no_trouble(audience: Audience) -> None:
    later = {"gone": None, "new": stored({"id": "new", "categories": {"genre": ["x"]}})}
    snapshot = snapshot_of(PIECES).apply(later)

    of_q, of_new = (SharedQuery(audience.shared_with(each), asked(snapshot, each)) for each in ("q", "new"))
    assert nearest_by(snapshot, of_q) == [("above", 0.0), ("a", 0.5)]
    assert nearest_by(snapshot, of_new) == []


def test_a_row_says_nothing_of_what_it_does_not_speak_for(audience: Audience) -> None:
    shared = audience.shared_with("q")

    assert shared.likes_of("a") == SharedLikes(0.5, 7)
    assert [shared.likes_of(each) for each in ("less", "q", "unknown")] == [None, None, None]
