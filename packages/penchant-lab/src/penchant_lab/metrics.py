"""Metrics: figures of lists against what people did afterwards, and intervals of their means.

Lists and what is relevant are numbers (`number_lists` makes them of ids), of which `hits_of` says what met.

Intervals are by the bootstrap over people (Efron 1979), with the same draws for all that is compared.
"""

import math
from collections.abc import Collection, Hashable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from penchant_engine.index import FloatArray, IntArray
from penchant_engine.index.layout import BoolArray

RANKED = 10
"""Entries that NDCG, coverage, Gini and novelty look at."""
RECALLED = 20
"""Entries that recall looks at, and the length of lists."""
NOTHING = -1
"""Fills lists that are too short."""
DRAWS = 1_000
CONFIDENCE = 0.95
_CHUNK = 2_000_000
"""Counts held at once."""


def number_lists(
    lists: Sequence[Sequence[Hashable]], relevant: Sequence[Collection[Hashable]], length: int = RECALLED
) -> tuple[IntArray, list[IntArray]]:
    """Return lists of ids, best first, as numbers, (n_people, length), and what is relevant for each person.

    Longer lists are cut, shorter ones filled with `NOTHING`; equal ids have equal numbers, in both.
    """
    numbers = dict[Hashable, int]()
    rows = np.full((len(lists), length), NOTHING, dtype=np.int64)
    for row, own in enumerate(lists):
        for rank, piece in enumerate(own[:length]):
            rows[row, rank] = numbers.setdefault(piece, len(numbers))
    pieces = [sorted({numbers.setdefault(piece, len(numbers)) for piece in own}) for own in relevant]
    return rows, [np.asarray(own, dtype=np.int64) for own in pieces]


def hits_of(lists: IntArray, relevant: Sequence[IntArray]) -> BoolArray:
    """Return which entries are relevant; ``lists`` (n_people, length), ``relevant`` the distinct pieces of each."""
    width = int(max(lists.max(initial=0), max((int(each.max(initial=0)) for each in relevant), default=0))) + 1
    # A row and a piece as one number, so that one look-up serves all lists. `NOTHING` would be the greatest
    # number of the row before: so it is left out below.
    rows = np.arange(len(lists))[:, None] * width
    relevant_keys = [row * width + each for row, each in enumerate(relevant)]
    is_relevant = np.isin(rows + lists, np.concatenate(relevant_keys) if relevant_keys else np.zeros(0, dtype=np.int64))
    hits: BoolArray = is_relevant & (lists != NOTHING)
    return hits


def ndcg(hits: BoolArray, relevant_counts: IntArray, entries: int = RANKED) -> FloatArray:
    """Return the normalised discounted cumulative gain of each list's first entries: 1 where no list is better.

    An entry at rank i gains 1 / log2(i + 1) where it is relevant (Järvelin and Kekäläinen 2002). Every count is
    above 0.
    """
    gains = 1 / np.log2(np.arange(2, entries + 2))
    best = np.cumsum(gains)[np.minimum(relevant_counts, entries) - 1]
    gain: FloatArray = hits[:, :entries] @ gains[: hits.shape[1]] / best
    return gain


def recall(hits: BoolArray, relevant_counts: IntArray, entries: int = RECALLED) -> FloatArray:
    """Return which share of what is relevant is among each list's first entries. Every count is above 0."""
    share: FloatArray = hits[:, :entries].sum(axis=1) / relevant_counts
    return share


def hit_rate(hits: BoolArray, entries: int = RANKED) -> FloatArray:
    """Return of each list 1 where anything relevant is among its first entries, 0 elsewhere."""
    return np.where(hits[:, :entries].any(axis=1), 1.0, 0.0)


def reciprocal_rank(hits: BoolArray, entries: int = RECALLED) -> FloatArray:
    """Return of each list 1 / the rank of its first relevant entry, 0 where it has none; its mean is MRR."""
    shown = hits[:, :entries]
    inverses: FloatArray = np.where(shown.any(axis=1), 1 / (shown.argmax(axis=1) + 1), 0.0)
    return inverses


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


class PieceVectors(NamedTuple):
    """Unit vectors of pieces: ``starts`` (n_pieces + 1,) cuts ``terms`` and ``entries`` into those of each piece."""

    starts: IntArray
    terms: IntArray
    entries: FloatArray


def intra_list_diversity(lists: IntArray, vectors: PieceVectors, entries: int = RANKED) -> FloatArray:
    """Return how unlike the first entries of each list are: the mean of 1 - cosine over all pairs of them.

    Lists of less than two pieces are left out.
    """
    values = []
    for row in lists[:, :entries]:
        pieces = row[row != NOTHING]
        if len(pieces) < 2:
            continue
        cut = np.concatenate([np.arange(vectors.starts[each], vectors.starts[each + 1]) for each in pieces.tolist()])
        own = vectors.entries[cut]
        # Over ordered pairs: the square of the sum of all vectors, less those of each by itself.
        _, places = np.unique(vectors.terms[cut], return_inverse=True)
        alike = float((np.bincount(places, own) ** 2).sum() - (own**2).sum())
        values.append(1 - alike / (len(pieces) * (len(pieces) - 1)))
    return np.asarray(values)


def miscalibration(
    lists: IntArray, liked: Sequence[IntArray], keywords: PieceVectors, entries: int = RANKED
) -> FloatArray:
    """Return how far the shares of keywords in each list's first entries are from those in what its person likes.

    The divergence of Kullback and Leibler, of which a hundredth of the list's shares is that of the likes (Steck 2018).
    ``keywords`` are parts of pieces that add up to 1, or none; people who like nothing with keywords are left out.
    """

    def shares(pieces: IntArray) -> FloatArray:
        cuts = [np.arange(keywords.starts[each], keywords.starts[each + 1]) for each in pieces.tolist()]
        cut = np.concatenate(cuts) if cuts else np.zeros(0, dtype=np.int64)
        sums = np.bincount(keywords.terms[cut], keywords.entries[cut], int(keywords.terms.max(initial=0)) + 1)
        parts: FloatArray = sums / max(float(sums.sum()), 1e-300)
        return parts

    divergences = []
    for row, own in zip(lists[:, :entries], liked, strict=True):
        p, q = shares(own), shares(row[row != NOTHING])
        some = p > 0
        if some.any():
            divergences.append(float((p[some] * np.log(p[some] / (0.99 * q[some] + 0.01 * p[some]))).sum()))
    return np.asarray(divergences)


class Estimate(NamedTuple):
    """A mean, and the bounds within which 95 % of its draws lie."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return a difference for people, with its sign and its interval."""
        return f"{self.value:+.4f} [{self.low:+.4f}, {self.high:+.4f}]"


def drawn_means(values: FloatArray, seed: int) -> FloatArray:
    """Return the means of columns, (n_people, n_columns), over people drawn with replacement; (`DRAWS`, n_columns)."""
    people = len(values)
    random = np.random.default_rng([seed, 3])
    means = np.empty((DRAWS, values.shape[1]))
    rows = max(1, _CHUNK // people)
    for begin in range(0, DRAWS, rows):
        count = min(rows, DRAWS - begin)
        # How often each person is drawn, instead of who: a mean is then a product of matrices.
        drawn = random.multinomial(people, np.full(people, 1 / people), size=count)
        means[begin : begin + count] = drawn @ values / people
    return means


def estimate(values: FloatArray, seed: int) -> Estimate | None:
    """Return the mean of values of people with its interval; ``None`` without people."""
    if not len(values):
        return None
    return _estimate(float(values.mean()), drawn_means(values[:, None], seed)[:, 0])


def compared(ours: FloatArray, theirs: FloatArray, seed: int) -> tuple[Estimate, Estimate | None]:
    """Return the mean difference of two methods over the same people, and the ratio of their means.

    There is no ratio where theirs is 0.
    """
    # The same draw for both: a person who is hard for one method is mostly hard for the other (a paired bootstrap).
    drawn = drawn_means(np.stack((ours, theirs), axis=1), seed)
    difference = _estimate(float((ours - theirs).mean()), drawn[:, 0] - drawn[:, 1])
    # Where one draw of theirs is 0, its ratio is none, and the interval would be without bound.
    if not drawn[:, 1].all():
        return difference, None
    return difference, _estimate(float(ours.mean() / theirs.mean()), drawn[:, 0] / drawn[:, 1])


def certain_gain(differences: FloatArray, tried: int) -> float:
    """Return the lower bound of a mean gain that was the best of so many tried.

    The level is divided by their number (Bonferroni), by the normal approximation: tails so thin take too many draws.
    """
    if len(differences) < 2:
        return -np.inf
    error = float(differences.std(ddof=1) / np.sqrt(len(differences)))
    return float(differences.mean()) - NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / max(1, tried)) * error


def _estimate(value: float, drawn: FloatArray) -> Estimate:
    tail = (1 - CONFIDENCE) / 2 * 100
    low, high = np.percentile(drawn, (tail, 100 - tail))
    return Estimate(value, float(low), float(high))
