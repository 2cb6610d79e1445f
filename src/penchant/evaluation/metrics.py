"""Metrics: figures of lists against what people did afterwards."""

import math
from collections.abc import Sequence

import numpy as np

from penchant.index import BoolArray, FloatArray, IntArray

RANKED = 10
"""Entries that NDCG, coverage, Gini and novelty look at."""
RECALLED = 20
"""Entries that recall looks at, and the length of lists."""
NOTHING = -1
"""Fills lists that are too short."""


def hits_of(lists: IntArray, relevant: Sequence[IntArray]) -> BoolArray:
    """Return which entries are relevant; ``lists`` (n_people, length), ``relevant`` the distinct pieces of each."""
    width = int(max(lists.max(initial=0), max((int(each.max(initial=0)) for each in relevant), default=0))) + 1
    # A row and a piece as one number, so that one look-up serves all lists. `NOTHING` would be the greatest
    # number of the row before: so it is left out below.
    rows = np.arange(len(lists))[:, None] * width
    wanted = [row * width + each for row, each in enumerate(relevant)]
    found = np.isin(rows + lists, np.concatenate(wanted) if wanted else np.zeros(0, dtype=np.int64))
    hits: BoolArray = found & (lists != NOTHING)
    return hits


def ndcg(hits: BoolArray, relevant_counts: IntArray, entries: int = RANKED) -> FloatArray:
    """Return the normalised discounted cumulative gain of each list's first entries: 1 where no list is better.

    An entry at rank i gains 1 / log2(i + 1) where it is relevant (Järvelin and Kekäläinen 2002). Every count is
    above 0.
    """
    gains = 1 / np.log2(np.arange(2, entries + 2))
    best = np.cumsum(gains)[np.minimum(relevant_counts, entries) - 1]
    found: FloatArray = hits[:, :entries] @ gains[: hits.shape[1]] / best
    return found


def recall(hits: BoolArray, relevant_counts: IntArray, entries: int = RECALLED) -> FloatArray:
    """Return which share of what is relevant is among each list's first entries. Every count is above 0."""
    found: FloatArray = hits[:, :entries].sum(axis=1) / relevant_counts
    return found


def shown_counts(lists: IntArray, piece_count: int, entries: int = RANKED) -> IntArray:
    """Return how often each piece is among lists' first entries; shape (n_pieces,)."""
    shown = lists[:, :entries]
    return np.bincount(shown[shown != NOTHING], minlength=piece_count)


def coverage(counts: IntArray) -> float:
    """Return the share of pieces that are in at least one list."""
    return float(np.count_nonzero(counts) / len(counts)) if len(counts) else 0.0


def gini(counts: IntArray) -> float:
    """Return how unequally pieces are shown: 0 where all are shown alike, near 1 where one is shown alone."""
    total = int(counts.sum())
    if not total:
        return 0.0
    ranks = np.arange(1, len(counts) + 1)
    return float(((2 * ranks - len(counts) - 1) * np.sort(counts)).sum() / (len(counts) * total))


def novelty(lists: IntArray, audiences: IntArray, person_count: int, entries: int = RANKED) -> float:
    """Return the mean surprise of entries in bits: -log2 of the share of people who know the piece.

    ``audiences`` counts the people of each piece; one is added to both counts, so that no share is 0.
    """
    shown = lists[:, :entries]
    shown = shown[shown != NOTHING]
    if not len(shown):
        return 0.0
    return float(math.log2(person_count + 1) - np.log2(audiences[shown] + 1).mean())
