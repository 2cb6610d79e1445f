"""Session methods: baselines that go by the order in which people liked pieces, each person's likes being one session.

Markov chains and sequential rules (Ludewig and Jannach 2018), STAN (Garg et al. 2019) and SLIT (Choi et al. 2021).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from penchant_engine.index import FloatArray, IntArray
from penchant_lab.histories import Knowledge, Runs, runs_of

SESSIONS = 200
"""People nearest to one by whom STAN goes."""
WINDOW = 20
"""Likes before and after a moment that SLIT learns from."""
PENALTY = 200.0
"""The penalty of SLIT: the middle one of EASE's."""

Score = Callable[[IntArray], NDArray[np.float32]]


def by_transitions(knowledge: Knowledge, pieces: IntArray, reach: int) -> Score:
    """Return the method that scores what people liked after the piece that a person liked last.

    A like ``d`` places later, up to ``reach``, counts 1/d: a Markov chain by 1, sequential rules by more.
    """
    column_of = columns_of(knowledge, pieces)
    counts = np.zeros((len(pieces), len(pieces)), dtype=np.float32)
    for own in _sessions(knowledge, knowledge.others, column_of):
        for gap in range(1, min(reach, len(own) - 1) + 1):
            # A person likes a piece once, so that no pair comes twice in one addition.
            counts[own[:-gap], own[gap:]] += np.float32(1 / gap)

    def score(people: IntArray) -> NDArray[np.float32]:
        scores = np.zeros((len(people), knowledge.piece_count), dtype=np.float32)
        for row, own in enumerate(_sessions(knowledge, people, column_of)):
            if len(own):
                scores[row, pieces] = counts[own[-1]]
        return scores

    return score


def by_sessions(knowledge: Knowledge, pieces: IntArray, decay: float) -> Score:
    """Return STAN: what the `SESSIONS` people nearest to one like, near to the likes that both share.

    A shared like counts e^(-r/decay) by its rank r from the person's last one, a piece of a neighbour e^(-d/decay) by
    its distance d from the latest shared like; people are compared by the cosine. The factor that is left out, of the
    age of a session, has no meaning for sessions that are as long as a person's history.
    """
    column_of = columns_of(knowledge, pieces)
    sessions = _sessions(knowledge, knowledge.others, column_of)
    lengths = np.asarray([len(own) for own in sessions], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    values = np.concatenate([*sessions, np.zeros(0, dtype=np.int64)])
    order = np.argsort(values, kind="stable")
    owners = np.repeat(np.arange(len(sessions)), lengths)
    # By piece, who likes it, and at which place of their likes.
    likers = runs_of((values[order], owners[order]), len(pieces))
    places = (np.arange(len(values)) - starts[owners])[order]
    number_of = np.full(knowledge.history.person_count, -1, dtype=np.int64)
    number_of[knowledge.others] = np.arange(len(sessions))

    def nearest(own: IntArray, person: int) -> tuple[IntArray, FloatArray, IntArray]:
        """Return the nearest people, how near they are, and where the latest shared like is among theirs."""
        likenesses, latest = np.zeros(len(sessions)), np.zeros(len(sessions), dtype=np.int64)
        for rank, piece in enumerate(own.tolist()):
            cut = slice(likers.starts[piece], likers.starts[piece + 1])
            likenesses[likers.values[cut]] += np.exp((rank + 1 - len(own)) / decay)
            latest[likers.values[cut]] = places[cut]
        if person >= 0:
            likenesses[person] = 0
        likenesses /= np.sqrt(np.maximum(lengths, 1) * max(1, len(own)))
        near = np.argsort(-likenesses, kind="stable")[:SESSIONS]
        near = near[likenesses[near] > 0]
        return near, likenesses[near], latest[near]

    def score(people: IntArray) -> NDArray[np.float32]:
        scores = np.zeros((len(people), knowledge.piece_count), dtype=np.float32)
        for row, own in enumerate(_sessions(knowledge, people, column_of)):
            sums = np.zeros(len(pieces))
            for other, likeness, place in zip(*nearest(own, int(number_of[people[row]])), strict=True):
                distances = np.abs(np.arange(lengths[other]) - place)
                sums[values[starts[other] : starts[other + 1]]] += likeness * np.exp(-distances / decay)
            scores[row, pieces] = sums
        return scores

    return score


def by_order(knowledge: Knowledge, pieces: IntArray, decay: float) -> Score:
    """Return SLIT, the linear model from what was liked before a moment to what was liked after it.

    B = (S'S + penalty)^-1 S'T over all moments between two likes of a person: rows of S are the likes before, of T
    those after, up to `WINDOW` each, a like ``r`` places from the moment counting e^(-r/decay).
    """
    column_of = columns_of(knowledge, pieces)
    system, targets = np.zeros((2, len(pieces), len(pieces)))
    for own in _sessions(knowledge, knowledge.others, column_of):
        before, after = _around(len(own), decay)
        system[own[:, None], own] += before.T @ before
        targets[own[:, None], own] += before.T @ after
    np.fill_diagonal(system, np.diag(system) + PENALTY)
    weights = np.linalg.solve(system, targets).astype(np.float32)

    def score(people: IntArray) -> NDArray[np.float32]:
        scores = np.zeros((len(people), knowledge.piece_count), dtype=np.float32)
        for row, own in enumerate(_sessions(knowledge, people, column_of)):
            recency = np.exp(np.arange(1 - len(own), 1) / decay).astype(np.float32)
            scores[row, pieces] = recency @ weights[own]
        return scores

    return score


def _around(count: int, decay: float) -> tuple[FloatArray, FloatArray]:
    """Return what each of so many likes counts before and after each moment between two; shapes (count - 1, count)."""
    places = np.arange(count) - np.arange(max(0, count - 1))[:, None]
    # The last one before a moment is at place 0, the first one after it at place 1.
    amounts = np.exp(-np.where(places > 0, places - 1, -places) / decay)
    before: FloatArray = np.where((places <= 0) & (places > -WINDOW), amounts, 0)
    after: FloatArray = np.where((places > 0) & (places <= WINDOW), amounts, 0)
    return before, after


def columns_of(knowledge: Knowledge, pieces: IntArray) -> IntArray:
    """Return by piece its place among some, -1 for none."""
    column_of = np.full(knowledge.piece_count, -1, dtype=np.int64)
    column_of[pieces] = np.arange(len(pieces))
    return column_of


def _sessions(knowledge: Knowledge, people: IntArray, column_of: IntArray) -> list[IntArray]:
    """Return the likes of some people among some pieces, as columns of these, in the order of time."""
    likes: Runs = knowledge.ordered_likes
    sequences = []
    for person in people.tolist():
        own = column_of[likes[person]]
        sequences.append(own[own >= 0])
    return sequences
