"""Figures by hand, and by the definition in plain Python."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penchant_lab import metrics

LISTS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 30), min_size=20, max_size=20, unique=True),
        st.lists(st.integers(0, 30), min_size=1, max_size=12, unique=True),
    ),
    min_size=1,
    max_size=5,
)


def test_ndcg_by_hand() -> None:
    lists = np.asarray([[3, 1, 4, metrics.NOTHING]])
    hits = metrics.hits_of(lists, [np.asarray([1, 4, 9])])

    found = metrics.ndcg(hits, np.asarray([3]))

    best = 1 + 1 / math.log2(3) + 1 / 2
    assert hits.tolist() == [[False, True, True, False]]
    assert found[0] == pytest.approx((1 / math.log2(3) + 1 / 2) / best)


def test_lists_of_ids_are_the_same_lists_in_numbers() -> None:
    lists, relevant = metrics.number_lists([["d", "a"], ["s"], []], [{"a"}, ["s", "d", "s"], ["x"]], length=2)

    hits = metrics.hits_of(lists, relevant)

    assert lists.shape == (3, 2)
    assert hits.tolist() == [[False, True], [True, False], [False, False]]
    assert [len(each) for each in relevant] == [1, 2, 1]


@given(rows=LISTS)
def test_ndcg_and_recall_are_those_of_the_definition(rows: list[tuple[list[int], list[int]]]) -> None:
    lists = np.asarray([listed for listed, _ in rows])
    relevant = [np.asarray(sorted(liked)) for _, liked in rows]
    counts = np.asarray([len(liked) for _, liked in rows])
    hits = metrics.hits_of(lists, relevant)

    gains, recalled = metrics.ndcg(hits, counts), metrics.recall(hits, counts)

    for place, (listed, liked) in enumerate(rows):
        gain = sum(1 / math.log2(rank + 2) for rank, piece in enumerate(listed[:10]) if piece in liked)
        best = sum(1 / math.log2(rank + 2) for rank in range(min(10, len(liked))))
        assert gains[place] == pytest.approx(gain / best)
        assert recalled[place] == pytest.approx(len(set(listed) & set(liked)) / len(liked))


def test_coverage_gini_and_novelty_by_hand() -> None:
    lists = np.asarray([[0, 1], [0, 2], [0, metrics.NOTHING]])
    counts = metrics.shown_counts(lists, 4)

    assert counts.tolist() == [3, 1, 1, 0]
    assert metrics.coverage(counts) == 0.75
    # The mean absolute difference over all pairs, halved, over the mean.
    pairs = [abs(one - other) for one in counts for other in counts]
    assert metrics.gini(counts) == pytest.approx(sum(pairs) / len(pairs) / 2 / counts.mean())
    bits = [math.log2(8 / (1 + known)) for known in (3, 0, 3, 7, 3)]
    assert metrics.novelty(lists, np.asarray([3, 0, 7, 0]), 7) == pytest.approx(sum(bits) / 5)


def test_what_a_list_has_of_each_keyword_is_compared_by_hand() -> None:
    # Pieces 0 and 1 have a keyword each, 2 has both, 3 none.
    keywords = metrics.PieceVectors(np.asarray([0, 1, 2, 4, 4]), np.asarray([0, 1, 0, 1]), np.asarray([1, 1, 0.5, 0.5]))
    lists = np.asarray([[0, 1, metrics.NOTHING], [0, 3, metrics.NOTHING], [3, metrics.NOTHING, metrics.NOTHING]])

    found = metrics.miscalibration(lists, [np.asarray([2]), np.asarray([0, 0, 1, 1]), np.asarray([3])], keywords)

    # Of one who likes nothing with a keyword there are no shares.
    by_hand = 0.5 * math.log(0.5 / (0.99 + 0.01 * 0.5)) + 0.5 * math.log(0.5 / (0.01 * 0.5))
    assert found == pytest.approx([0, by_hand])


def test_how_unlike_a_list_is_is_a_mean_over_its_pairs() -> None:
    root = math.sqrt(0.5)
    vectors = metrics.PieceVectors(
        np.asarray([0, 1, 2, 4, 4]), np.asarray([0, 1, 0, 1]), np.asarray([1, 1, root, root])
    )
    lists = np.asarray([[0, 1, 2], [0, 3, metrics.NOTHING], [1, metrics.NOTHING, metrics.NOTHING]])

    found = metrics.intra_list_diversity(lists, vectors)

    assert found == pytest.approx([1 - 2 * root / 3, 1])


def test_shown_alike_has_a_gini_of_0_and_shown_alone_nearly_1() -> None:
    assert metrics.gini(np.full(50, 3)) == pytest.approx(0)
    assert metrics.gini(np.eye(1, 50, dtype=np.int64)[0]) == pytest.approx(0.98)
    assert metrics.gini(np.zeros(50, dtype=np.int64)) == 0


@pytest.mark.slow
def test_an_interval_is_that_of_the_normal_law_for_many_people() -> None:
    values = np.random.default_rng(1).normal(0.3, 0.1, 2_000)

    found = metrics.estimate(values, seed=0)

    assert found is not None
    error = float(values.std() / math.sqrt(len(values)))
    assert found.value == pytest.approx(float(values.mean()))
    assert found.low == pytest.approx(found.value - 1.96 * error, abs=error / 3)
    assert found.high == pytest.approx(found.value + 1.96 * error, abs=error / 3)
    assert found == metrics.estimate(values, seed=0)
    assert metrics.estimate(values[:0], seed=0) is None


@pytest.mark.slow
@pytest.mark.parametrize("people", (200, 400))
@pytest.mark.parametrize("share", (0.02, 0.05, 0.2, 0.8))
def test_an_interval_holds_the_mean_though_few_people_have_hits(people: int, share: float) -> None:
    """Differences as those of lists that gain nothing: NDCG of one hit at a rank by chance, 0 for most people."""
    random = np.random.default_rng(2)
    gains = 1 / np.log2(np.arange(2, 12))
    one, other = (
        np.where(random.random((people, 2_000)) < share, random.choice(gains, (people, 2_000)), 0) for _ in range(2)
    )

    low, high = np.percentile(metrics.drawn_means(one - other, seed=0), (2.5, 97.5), axis=0)

    assert np.mean(low > 0) < 0.05
    assert np.mean(high < 0) < 0.05
    assert 0.9 < np.mean((low <= 0) & (high >= 0)) < 0.98


def test_two_methods_are_compared_person_by_person() -> None:
    theirs = np.random.default_rng(1).random(300)

    difference, ratio = metrics.compared(theirs + 0.01, theirs, seed=0)

    assert difference.low == pytest.approx(0.01)
    assert difference.high == pytest.approx(0.01)
    assert ratio is not None
    assert ratio.low < 1 + 0.01 / theirs.mean() < ratio.high
    assert metrics.compared(theirs, np.zeros(300), seed=0)[1] is None


def test_the_best_of_many_is_certain_only_by_far() -> None:
    differences = np.random.default_rng(1).normal(0.005, 0.02, 200)

    assert metrics.certain_gain(differences, 1) > 0 > metrics.certain_gain(differences, 1_000_000)
    assert metrics.certain_gain(differences[:1], 1) == -math.inf


def test_hit_rate_and_reciprocal_rank_by_hand() -> None:
    hits = np.asarray([[False, True, True], [False, False, False], [True, False, True]])

    assert metrics.hit_rate(hits).tolist() == [1, 0, 1]
    assert metrics.hit_rate(hits, entries=1).tolist() == [0, 0, 1]
    assert metrics.reciprocal_rank(hits).tolist() == [0.5, 0, 1]
    assert metrics.reciprocal_rank(hits, entries=1).tolist() == [0, 0, 1]
