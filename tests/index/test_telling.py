"""What each category tells is lambda of the interface over the terms of that category alone."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import snapshot_of
from penchant.findings import telling_by_category
from penchant_engine.index import Segment
from penchant_engine.index.factors import rarities_of, values_of
from penchant_engine.index.layout import LikeMatrix
from penchant_engine.index.people.likes import like_matrix
from penchant_engine.index.people.statistics import figures_of
from strategies import CATALOGUES, examples

PAIRS = st.sets(st.tuples(st.integers(0, 7), st.integers(0, 10)), max_size=50)


def liked(pairs: set[tuple[int, int]], count: int) -> LikeMatrix:
    kept = np.asarray(sorted((person, piece) for person, piece in pairs if piece < count), dtype=np.int64).reshape(
        -1, 2
    )
    return like_matrix(kept[:, 0], kept[:, 1], np.full(len(kept), 16, dtype=np.uint8), count)


def telling(likes: LikeMatrix, catalogue: Segment, weights: dict[str, float]) -> float:
    values, rarities = values_of(catalogue, weights), rarities_of(np.diff(catalogue.posting_starts), len(catalogue))
    return figures_of(likes, catalogue, values, rarities).telling / 1_000_000


@settings(max_examples=examples(60), deadline=None)
@given(pieces=CATALOGUES, pairs=PAIRS)
def test_each_category_is_judged_as_if_it_were_the_only_one(
    pieces: list[dict[str, Any]], pairs: set[tuple[int, int]]
) -> None:
    catalogue = snapshot_of(pieces).merged()
    likes = liked(pairs, len(catalogue))

    found = telling_by_category(likes, catalogue)

    assert list(found.categories) == sorted(found.categories, key=lambda each: (-each.telling, each.name))
    for each in found.categories:
        # Other categories of weight 0, by the function that makes the source's own figure.
        without = {name: 0.0 for name in catalogue.category_names if name != each.name}
        assert each.telling == pytest.approx(telling(likes, catalogue, without), abs=1e-6)


def themed(people: int) -> tuple[LikeMatrix, Segment]:
    """Likes of people each of whom likes pieces of one theme; a second category says nothing."""
    pieces = [
        {"id": f"p{number:02d}", "categories": {"theme": [f"t{number % 4}"], "noise": [f"n{number * 7 % 5}"]}}
        for number in range(40)
    ]
    pairs = {(person, piece) for person in range(people) for piece in range(person % 4, 40, 4)}
    return liked(pairs, 40), snapshot_of(pieces).merged()


def test_the_category_that_people_choose_by_comes_first() -> None:
    found = telling_by_category(*themed(80))

    assert [each.name for each in found.categories] == ["theme", "noise"]
    assert found.categories[0].telling > 2.5
    assert found.categories[1].telling < 1.2
    assert (found.likes, found.people, found.of) == (800, 80, 80)


def test_of_many_likes_as_many_people_are_looked_at_as_the_bound_allows() -> None:
    likes, catalogue = themed(80)

    found = telling_by_category(likes, catalogue, most=500, categories=1)

    # Twenty entries of each person: every fourth of 80.
    assert (found.likes, found.people, found.of) == (200, 20, 80)
    assert len(found.categories) == 1


def test_without_likes_nothing_is_told() -> None:
    _, catalogue = themed(1)

    assert telling_by_category(liked(set(), 40), catalogue) == ((), 0, 0, 0)
