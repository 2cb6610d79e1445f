"""Baselines are what their papers say, computed in another way."""

from dataclasses import replace

import numpy as np
import pytest

from evaluation.conftest import drawn, made
from penchant.model import SourceSettings
from penchant_engine.index import FloatArray, IntArray
from penchant_lab import contenders
from penchant_lab.histories import Knowledge, SourceHistory, relevant_pieces
from penchant_lab.metrics import NOTHING
from penchant_lab.splits import RELEVANT, SplitRule, split

EVERYBODY = np.arange(30)


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    history = drawn(30, 20, 6)
    return Knowledge.of(history, np.ones(len(history.events), dtype=np.bool_), history.settings)


def likes_of(knowledge: Knowledge) -> FloatArray:
    dense = np.zeros((knowledge.history.person_count, knowledge.piece_count))
    for person in range(knowledge.history.person_count):
        dense[person, knowledge.likes[person]] = 1
    return dense


def linear(knowledge: Knowledge, method: str, value: float) -> FloatArray:
    pieces = np.flatnonzero(knowledge.liked_counts)
    gram = contenders.shared_likes(knowledge, pieces, by_person=method == "RP3beta")
    fit = {"EASE": contenders.by_ease, "RP3beta": contenders.by_walks}.get(method, contenders.by_neighbours)
    return fit(knowledge, pieces, gram, value)(EVERYBODY).astype(np.float64)


def test_ease_is_the_best_linear_model_without_self_similarity(knowledge: Knowledge) -> None:
    likes, penalty = likes_of(knowledge), 3.0
    expected = np.zeros((knowledge.piece_count, knowledge.piece_count))
    for piece in range(knowledge.piece_count):
        # Ridge regression of each piece on all others, by itself.
        others = np.flatnonzero(np.arange(knowledge.piece_count) != piece)
        system = likes[:, others].T @ likes[:, others] + penalty * np.eye(len(others))
        expected[others, piece] = np.linalg.solve(system, likes[:, others].T @ likes[:, piece])

    assert linear(knowledge, "EASE", penalty) == pytest.approx(likes @ expected, abs=1e-5)


def test_ials_scores_by_the_factors_that_fit_likes_best(knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contenders, "FACTORS", 4)
    likes, unliked = likes_of(knowledge), 0.3
    pieces = np.flatnonzero(likes.any(axis=0))
    liked = likes[:, pieces]

    def best(targets: FloatArray, others: FloatArray) -> FloatArray:
        # Weighted ridge regression of each row by itself, as a whole.
        found = np.zeros((len(targets), 4))
        for row, target in enumerate(targets):
            shrinkage = contenders.SHRINKAGE * (target.sum() + unliked * len(others))
            system = others.T @ np.diag(target + unliked) @ others + shrinkage * np.eye(4)
            found[row] = np.linalg.solve(system, others.T @ target)
        return found

    factors = np.random.default_rng(0).normal(0, 0.1 / 2, (len(pieces), 4))
    for _ in range(contenders.ROUNDS):
        factors = best(liked.T, best(liked, factors))
    scores = contenders.by_factors(knowledge, pieces, unliked)(EVERYBODY)

    assert scores[:, pieces] == pytest.approx(best(liked, factors) @ factors.T, abs=1e-3)
    assert not scores[:, np.setdiff1d(np.arange(knowledge.piece_count), pieces)].any()


def test_item_knn_adds_up_damped_cosines_of_neighbours(knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contenders, "NEIGHBOURS", 5)
    likes = likes_of(knowledge)
    norms = np.linalg.norm(likes, axis=0)
    similar = likes.T @ likes / (np.outer(norms, norms) + 2)
    np.fill_diagonal(similar, 0)
    for row in similar:
        row[row < np.sort(row)[-5]] = 0

    assert linear(knowledge, "item-kNN", 2.0) == pytest.approx(likes @ similar, abs=1e-5)


def test_rp3beta_adds_up_the_chances_of_walks(knowledge: Knowledge) -> None:
    likes = likes_of(knowledge)
    # From a piece to one of those who like it, and on to one of the pieces that this person likes.
    walks = (likes / likes.sum(axis=0)).T @ (likes / likes.sum(axis=1, keepdims=True)) / likes.sum(axis=0) ** 0.4
    np.fill_diagonal(walks, 0)

    assert linear(knowledge, "RP3beta", 0.4) == pytest.approx(likes @ walks, abs=1e-5)


def test_lists_are_the_full_sort_without_what_is_seen(knowledge: Knowledge) -> None:
    scores = np.random.default_rng(0).integers(0, 4, (30, 20)).astype(np.float32)

    lists = contenders.best_unseen(scores.copy(), knowledge, EVERYBODY)

    for person, listed in enumerate(lists.tolist()):
        unseen = sorted(set(range(20)) - set(knowledge.seen[person].tolist()))
        expected = sorted(unseen, key=lambda piece: (-scores[person, piece], piece))
        assert listed == expected + [NOTHING] * (20 - len(expected))


def test_chance_is_the_same_every_time_but_not_for_everybody(knowledge: Knowledge) -> None:
    one, other = (contenders.by_chance(knowledge, 5)(EVERYBODY) for _ in range(2))

    assert (one == other).all()
    assert (one[0] != one[1]).any()


def test_people_without_likes_get_what_is_popular(knowledge: Knowledge) -> None:
    alone = replace(knowledge, events=knowledge.events.take(knowledge.events.people != 7))
    pieces = np.flatnonzero(alone.liked_counts)
    ease = contenders.by_ease(alone, pieces, contenders.shared_likes(alone, pieces), 3.0)

    scores = contenders.or_popular(ease, alone)(EVERYBODY)

    assert (scores[7] == alone.liked_counts).all()
    assert (np.delete(scores, 7, axis=0) == np.delete(ease(EVERYBODY), 7, axis=0)).all()


def test_popular_is_what_most_people_like(knowledge: Knowledge) -> None:
    assert (contenders.by_popularity(knowledge)(EVERYBODY)[7] == likes_of(knowledge).sum(axis=0)).all()


def judged(rows: list[tuple[str, str, str, int]]) -> tuple[Knowledge, list[int], list[IntArray]]:
    history: SourceHistory = made(rows, ["a", "b", "c"])
    held_out = np.asarray([row[3] >= 10 for row in rows])
    knowledge = Knowledge.of(history, ~held_out, SourceSettings())
    people, relevant = relevant_pieces(knowledge, held_out, RELEVANT)
    return knowledge, people.tolist(), relevant


def test_a_later_dislike_takes_a_like_back() -> None:
    knowledge, _, _ = judged(
        [("u", "a", "RateLike", 1), ("u", "a", "RateDislike", 2), ("u", "b", "RateDislike", 1), ("u", "b", "Watch", 2)]
    )

    assert knowledge.likes[0].tolist() == []
    assert knowledge.seen[0].tolist() == [0, 1]
    assert knowledge.met.tolist() == [1, 1, 0]


def test_relevant_is_what_is_liked_later_and_was_not_known() -> None:
    _, people, relevant = judged(
        [
            ("u", "a", "RateLike", 1),
            ("u", "b", "Click", 1),
            ("u", "a", "RateLike", 11),
            ("u", "b", "Bookmark", 11),
            ("u", "c", "Watch", 11),
            ("u", "gone", "RateLike", 11),
            ("w", "c", "RateLike", 12),
            ("w", "c", "Purchase", 13),
        ]
    )

    assert people == [0, 1]
    assert [each.tolist() for each in relevant] == [[1], [2]]


def test_nobody_is_asked_where_nothing_is_held_out(alike: SourceHistory) -> None:
    parts = split(alike.events, SplitRule(share=0.0))
    knowledge = Knowledge.of(alike, parts.known, alike.settings)

    people, relevant = relevant_pieces(knowledge, parts.held_out, RELEVANT)

    assert (len(people), relevant) == (0, [])
