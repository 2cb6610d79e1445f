"""Session methods are what their papers say, computed in another way; sessions are in the order of time."""

import math
from itertools import pairwise

import numpy as np
import pytest

from evaluation.conftest import drawn, made
from penchant_engine.index import FloatArray
from penchant_lab.histories import Knowledge
from penchant_lab.sessions import PENALTY, by_order, by_sessions, by_transitions

PEOPLE, DECAY = 30, 3.0


@pytest.fixture(scope="module")
def knowledge() -> Knowledge:
    history = drawn(PEOPLE, 20, 6)
    return Knowledge.of(history, np.ones(len(history.events), dtype=np.bool_), history.settings)


@pytest.fixture(scope="module")
def sessions(knowledge: Knowledge) -> list[list[int]]:
    """Each person's likes as the history tells them: a day apart, in the order of recording."""
    events = knowledge.events
    return [events.pieces[events.people == person].tolist() for person in range(PEOPLE)]


def scored(knowledge: Knowledge, method: str, value: float) -> FloatArray:
    pieces = np.flatnonzero(knowledge.liked_counts)
    fits = {"STAN": by_sessions, "SLIT": by_order}
    fitted = by_transitions(knowledge, pieces, int(value)) if method == "SR" else fits[method](knowledge, pieces, value)
    return fitted(np.arange(PEOPLE)).astype(np.float64)


def test_likes_are_ordered_by_their_latest_positive_interaction_then_by_id() -> None:
    rows = [("u", "c", "Click", 1), ("u", "a", "Click", 2), ("u", "c", "Watch", 3), ("u", "b", "Watch", 3)]
    history = made([*rows, ("u", "d", "RateDislike", 4), ("u", "d", "Click", 5)], "abcd")
    known = Knowledge.of(history, np.ones(len(history.events), dtype=np.bool_), history.settings)

    assert known.ordered_likes[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("reach", (1, 3))
def test_transitions_count_what_followed_the_last_like(
    knowledge: Knowledge, sessions: list[list[int]], reach: int
) -> None:
    expected = np.zeros((PEOPLE, knowledge.piece_count))
    for person, own in enumerate(sessions):
        for other in sessions:
            at = other.index(own[-1]) if own[-1] in other else len(other)
            for gap, piece in enumerate(other[at + 1 : at + 1 + reach], start=1):
                expected[person, piece] += 1 / gap

    assert scored(knowledge, "SR", reach) == pytest.approx(expected, abs=1e-5)


def test_stan_adds_up_what_the_nearest_people_like_near_to_shared_likes(
    knowledge: Knowledge, sessions: list[list[int]]
) -> None:
    expected = np.zeros((PEOPLE, knowledge.piece_count))
    for person, own in enumerate(sessions):
        for other in (each for number, each in enumerate(sessions) if number != person):
            shared = [piece for piece in own if piece in other]
            if not shared:
                continue
            near = sum(math.exp((own.index(piece) + 1 - len(own)) / DECAY) for piece in shared)
            for place, piece in enumerate(other):
                distance = abs(place - other.index(shared[-1]))
                expected[person, piece] += near / math.sqrt(len(own) * len(other)) * math.exp(-distance / DECAY)

    assert scored(knowledge, "STAN", DECAY) == pytest.approx(expected, rel=1e-5)


def test_slit_is_the_ridge_regression_of_later_likes_on_earlier_ones(
    knowledge: Knowledge, sessions: list[list[int]]
) -> None:
    earlier, later = [], []
    for own in sessions:
        for at, _ in enumerate(pairwise(own), start=1):
            row, target = np.zeros((2, knowledge.piece_count))
            row[own[:at]] = [math.exp(-(at - 1 - place) / DECAY) for place in range(at)]
            target[own[at:]] = [math.exp(-(place - at) / DECAY) for place in range(at, len(own))]
            earlier.append(row)
            later.append(target)
    inputs, targets = np.asarray(earlier), np.asarray(later)
    # The least squares of the rows and, for the penalty, of as many rows as there are pieces with nothing later.
    padded = np.vstack([inputs, math.sqrt(PENALTY) * np.eye(knowledge.piece_count)])
    weights = np.linalg.lstsq(padded, np.vstack([targets, np.zeros((knowledge.piece_count,) * 2)]))[0]
    now = np.zeros((PEOPLE, knowledge.piece_count))
    for person, own in enumerate(sessions):
        now[person, own] = [math.exp((place + 1 - len(own)) / DECAY) for place in range(len(own))]

    assert scored(knowledge, "SLIT", DECAY) == pytest.approx(now @ weights, abs=1e-6)
