"""Weights, stand-ins and figures are those of the interface's words, by numpy and compiled, bit by bit."""

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answers import rows_of_likes, snapshot_of
from audience_reference import Reference, grade
from order_reference import Like, ranks_of
from penchant_engine.index import Audience, Segment
from penchant_engine.index.arrays import exact_sum
from penchant_engine.index.compiled import engine
from penchant_engine.index.compiled.ridge_exact import nearest_pieces
from penchant_engine.index.compiled.ridge_kernels import _is_nearer as is_nearer
from penchant_engine.index.layout import LikeSeeds, SparseShares
from penchant_engine.index.people.item_item import ItemItemModel, fit_item_item, no_likes
from penchant_engine.index.people.likes import latest_likes, like_matrix
from penchant_engine.index.people.order import order_of
from penchant_engine.model import WHOLE, OrderUse, grades_of_weight
from strategies import CATALOGUES, CATEGORY_WEIGHTS, examples

KINDS = st.sampled_from(["Click", "Play", "Watch", "Purchase", "RateLike", "RateDislike"])
EVENTS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 10), KINDS, st.integers(0, 3)).map(
        lambda event: {"userId": f"u{event[0]}", "piece": event[1], "type": event[2], "at": event[3]}
    ),
    max_size=60,
)


def segment_of(pieces: list[dict[str, Any]]) -> Segment:
    return snapshot_of(pieces).merged()


def built(reference: Reference, pieces: list[dict[str, Any]], weights: dict[str, float]) -> ItemItemModel:
    """Build weights from the reference's likes, handed over in an order of chance."""
    segment = segment_of(pieces)
    ids = list(segment.ids)
    people = list(enumerate(reference.weighted.values()))
    random.Random(len(people)).shuffle(people)
    found = [
        (person, ids.index(piece_id), *like)
        for person, liked in people
        for piece_id, like in random.Random(person).sample(sorted(liked.items()), len(liked))
    ]
    table = np.asarray(found, dtype=np.int64).reshape(-1, 4)
    owners, rows, grades, moments = np.ascontiguousarray(table[np.argsort(table[:, 0], kind="stable")].T)
    likes = like_matrix(owners, rows, grades.astype(np.uint8), len(ids), order_of(owners, moments))
    return fit_item_item(likes, segment, weights, k=reference.k)


def shares_of(weights: ItemItemModel, own: Mapping[str, Like], use: OrderUse = OrderUse.OFF) -> dict[str, float]:
    """Return part a by what a request sees."""
    ids, ranks = list(weights.ids), ranks_of(own)
    snapshot = snapshot_of([{"id": each, "categories": {}} for each in ids])
    likes = rows_of_likes(snapshot, {each: like.grade for each, like in own.items()}, ranks)
    (found,) = Audience(None, weights).alike(snapshot.parts, likes, use)
    return dict(zip(ids, found.by_row(len(ids)).tolist(), strict=True))


def interactions_in(pieces: list[dict[str, Any]], events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    ids = sorted(piece["id"] for piece in pieces)
    return [each | {"contentId": ids[each["piece"] % len(ids)]} for each in events]


@pytest.mark.slow
@pytest.mark.usefixtures("searching")
@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pieces=CATALOGUES, events=EVENTS, weights=CATEGORY_WEIGHTS, k=st.sampled_from([1, 2, 3, 80]))
def test_any_history_gives_what_the_words_say(
    pieces: list[dict[str, Any]], events: list[dict[str, Any]], weights: dict[str, float], k: int
) -> None:
    reference = Reference(pieces, interactions_in(pieces, events), {"categoryWeights": weights}, k=k)

    found = built(reference, pieces, weights)

    figures = found.source_statistics
    assert (figures.likes, figures.pieces) == (reference.figures.likes, reference.figures.pieces)
    assert figures.worth == reference.figures.worth
    assert Fraction(figures.full_total, figures.full_count) == reference.full
    assert figures.evenness == float(reference.figures.evenness)
    assert Fraction(figures.kappa, 100) == reference.figures.kappa
    assert figures.telling == pytest.approx(float(reference.figures.telling) * 1_000_000, abs=1)
    assert figures.loan == pytest.approx(float(reference.figures.loan))
    for met in (0, 1, 5):
        assert figures.content_factor(met) == pytest.approx(float(reference.figures.content_factor(met)))
    for own in [{}, *reference.weighted.values(), {reference.catalogue.ids[0]: Like(16, 0)}]:
        expected = reference.shares(reference.graded(own))
        shares = shares_of(found, own)
        assert shares.keys() == expected.keys()
        for piece_id, share in shares.items():
            assert share == pytest.approx(float(expected[piece_id]), abs=1e-12)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32),
    people=st.integers(1, 120),
    pieces=st.integers(1, 60),
    k=st.sampled_from([2, 7, 80]),
    threads=st.sampled_from([1, 3]),
    block=st.sampled_from([1, 7, 64]),
    ties=st.sampled_from([1, 4, 1_000]),
    factor_bits=st.sampled_from([1, 20, 34]),
)
def test_numpy_and_the_kernels_give_the_same_bits(  # noqa: PLR0917  # fixtures and strategies arrive as parameters
    kernels: Any, seed: int, people: int, pieces: int, k: int, threads: int, block: int, ties: int, factor_bits: int
) -> None:
    chance = np.random.default_rng(seed)
    liked = chance.random((people, pieces)) < chance.random(pieces) * 0.8
    rows, columns = np.nonzero(liked)
    grades = chance.choice(np.asarray([1, 4, 9, 16], dtype=np.uint8), len(rows))
    segment = segment_of(
        [
            {"id": f"p{i:02}", "categories": {"t": [str(x) for x in set(chance.integers(0, 9, 3).tolist())]}}
            for i in range(pieces)
        ]
    )
    likes = like_matrix(rows, columns, grades, pieces, order_of(rows, chance.integers(0, ties, len(rows))))
    seeds = np.arange(0, pieces, 2)
    amounts = chance.integers(0, 2**factor_bits, (2, len(seeds)))
    own = LikeSeeds(seeds, np.full_like(seeds, 9), *amounts)

    def answers() -> list[bytes]:
        weights = fit_item_item(likes, segment, {}, k=k, threads=threads)
        shares = engine.shares(weights.matrix, own, weights.source_statistics.loan)
        return [*(each.tobytes() for each in shares), *(array.tobytes() for array in weights.arrays().values())]

    engine.use(kernels)
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(engine, "SHARE_BLOCK", block)
        compiled = answers()
    engine.use({})

    assert compiled == answers()


def test_blocks_of_any_size_give_the_same_bits(kernels: Any) -> None:
    chance = np.random.default_rng(3)
    rows, columns = np.nonzero(chance.random((80, 30)) < 0.4)
    likes = like_matrix(rows, columns, np.full(len(rows), 9, dtype=np.uint8), 30)
    squares = np.bincount(columns, minlength=30) * 81
    engine.use(kernels)

    found = [
        [array.tobytes() for array in engine.ridge_rows(likes, squares, 8, block, threads=threads)]
        for block in (1, 7, 30, 99)
        for threads in (1, 2, 5)
    ]

    assert all(each == found[0] for each in found)


def test_grades_round_halves_up_and_are_at_least_one() -> None:
    assert [grades_of_weight(weight)[WHOLE] for weight in (5, 4, 3, 2, 1, 0.1, 3.4)] == [16, 16, 9, 4, 1, 1, 12]
    assert [grades_of_weight(weight / 100)[WHOLE] for weight in range(1, 600)] == [
        grade(weight / 100) for weight in range(1, 600)
    ]


@given(weight=st.integers(1, 10_000), portion=st.integers(1, WHOLE))
def test_a_portion_multiplies_the_weight_of_a_grade(weight: int, portion: int) -> None:
    assert grades_of_weight(weight / 100)[portion] == grade(weight / 100, portion / 100)


def test_only_the_latest_likes_of_a_person_count() -> None:
    people, pieces = np.array([0, 0, 0, 0, 1]), np.array([3, 1, 2, 0, 0])

    counted = latest_likes(people, pieces, np.array([5, 7, 5, 5, 1]), 3)

    assert counted.tolist() == [False, True, True, True, True]
    assert latest_likes(people, pieces, np.zeros(5, np.int64), 4).all()


def test_neighbours_are_told_apart_where_doubles_are_equal() -> None:
    """G_ij^2 / G_ii of two pieces that differ in the seventeenth digit."""
    first, second = (94_906_267, 3), (94_906_266, 3)
    squares = np.array([1, second[1], first[1]])
    overlaps = np.array([[1, second[0], first[0]], [second[0], second[1], 1], [first[0], 1, first[1]]])

    assert is_nearer(first[0], first[1], 2, second[0], second[1], 1)
    assert not is_nearer(second[0], second[1], 1, first[0], first[1], 2)
    assert nearest_pieces(overlaps, 0, 1).tolist() == [2]
    assert squares.tolist() == np.diag(overlaps).tolist()


def test_sums_pass_64_bits() -> None:
    values = np.array([2**62, 2**62, 2**62, 1, -5])

    assert exact_sum(values) == 3 * 2**62 - 4
    assert math.log2(exact_sum(values)) > 63


@pytest.mark.parametrize("fewer", (1, 100), ids=("as many pieces", "few of them"))
@given(chance=st.integers(0, 2**32).map(np.random.default_rng), density=st.sampled_from([0.0, 0.4]))
def test_shares_are_those_of_the_same_pieces_in_any_segment(
    fewer: int, chance: np.random.Generator, density: float
) -> None:
    ids = [f"p{number:03}" for number in range(200)]
    weights = fit_item_item(no_likes(200), segment_of([{"id": each, "categories": {}} for each in ids]), {})
    shares = np.where(chance.random(200) < density, chance.random(200), 0.0)
    own = sorted({*chance.choice(ids, 200 // fewer, replace=False).tolist(), "p0005", "q"})
    segment = segment_of([{"id": each, "categories": {}} for each in own])

    found = weights.shares_in(segment, SparseShares.of(shares))

    by_id = dict(zip(ids, shares.tolist(), strict=True))
    assert found.by_row(len(own)).tolist() == [by_id.get(each, 0.0) for each in own]
    assert [found.of_row(row) for row in range(len(own))] == [by_id.get(each, 0.0) for each in own]
    assert (np.diff(found.rows) > 0).all()
