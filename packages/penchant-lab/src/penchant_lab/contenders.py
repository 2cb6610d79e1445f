"""Contenders: the methods that are compared, each made ready from what is known, and the lists they give.

Baselines: methods to compare recommendations with, from the same known interactions, in plain linear algebra.

Each scores all pieces for some people; `best_unseen` makes lists of the scores.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from penchant_engine.index import FloatArray, IntArray
from penchant_engine.model import Algorithm, InteractionType
from penchant_lab.histories import Knowledge, Runs, runs_of
from penchant_lab.metrics import NOTHING, RECALLED
from penchant_lab.package_methods import PACKAGE_METHODS
from penchant_lab.served import AS_SERVED, ServedSource
from penchant_lab.sessions import by_order, by_sessions, by_transitions, columns_of
from penchant_lab.splits import split
from penchant_lab.trials import EvaluationRequest, JudgedPeople, Lists, in_batches, mean_ndcg, sample_people

Scores: TypeAlias = NDArray[np.float32]
Score = Callable[[IntArray], Scores]
"""Gives scores (n_people, n_pieces) of the pieces for these people."""

NEIGHBOURS = 200
"""Neighbours of a piece that item-kNN and RP3beta go by."""
MATRICES = 4
"""Matrices of all pieces by all pieces that EASE holds at once, in double precision."""
FACTORS, ROUNDS, SHRINKAGE = 64, 8, 0.003
"""Factors of iALS, how often they are solved for, and how much they are shrunk for each like."""
_ROWS = 512
_TOGETHER = 40_000


def best_unseen(scores: Scores, knowledge: Knowledge, people: IntArray) -> IntArray:
    """Return each person's best pieces but for those seen, ties by ascending id; shape (n_people, `RECALLED`).

    Lists are filled with `NOTHING` where there are fewer pieces.
    """
    keys = -scores
    keys[knowledge.seen.pairs(people)] = np.inf
    lists = np.full((len(people), RECALLED), NOTHING, dtype=np.int64)
    most = min(RECALLED, keys.shape[1])
    # The score of the last entry, without sorting all: a source may have a hundred thousand pieces.
    bounds = np.partition(keys, most - 1, axis=1)[:, most - 1] if most else keys[:, 0]
    for row, bound in enumerate(bounds.tolist()):
        # As good as the bound, too: of those the lesser ids count.
        columns = np.flatnonzero((keys[row] <= bound) & (keys[row] < np.inf))
        # Stable, over ascending columns: pieces are in the order of their ids.
        best = columns[np.argsort(keys[row, columns], kind="stable")][:most]
        lists[row, : len(best)] = best
    return lists


def by_chance(knowledge: Knowledge, seed: int) -> Score:
    """Return the method that draws scores, for each person the same ones every time."""

    def score(people: IntArray) -> Scores:
        draw = [np.random.default_rng([seed, 4, person]).random(knowledge.piece_count) for person in people.tolist()]
        return np.asarray(draw, dtype=np.float32)

    return score


def by_popularity(knowledge: Knowledge) -> Score:
    """Return the method that gives everybody what most people like."""
    counts = knowledge.liked_counts.astype(np.float32)
    return lambda people: np.tile(counts, (len(people), 1))


def shared_likes(knowledge: Knowledge, pieces: IntArray, *, by_person: bool = False) -> Scores:
    """Return how many people like both of two pieces, for all pairs of some pieces: X'X.

    ``by_person`` counts each person as one over the number of these pieces that the person likes.
    """
    column_of = columns_of(knowledge, pieces)
    gram = np.zeros((len(pieces), len(pieces)), dtype=np.float32)
    for person in knowledge.others.tolist():
        own = column_of[knowledge.likes[person]]
        own = own[own >= 0]
        if len(own):
            gram[own[:, None], own] += np.float32(1 / len(own) if by_person else 1)
    return gram


def by_neighbours(knowledge: Knowledge, pieces: IntArray, gram: Scores, damping: float) -> Score:
    """Return item-kNN: a piece scores the sum of its similarities with what a person likes, where it is a neighbour.

    Neighbours are the `NEIGHBOURS` most similar pieces (Deshpande and Karypis 2004), by the cosine whose divisor is
    raised by ``damping``; ``gram`` is that of these pieces, X'X.
    """
    # Each of these pieces is liked by somebody, so that no divisor is 0.
    norms: Scores = np.sqrt(np.diag(gram))
    weights: Scores = gram / (norms[:, None] * norms + np.float32(damping))
    return _linear(knowledge, pieces, _thinned(weights))


def by_walks(knowledge: Knowledge, pieces: IntArray, gram: Scores, beta: float) -> Score:
    """Return RP3beta (Paudel et al. 2017): walks of three steps from a person over likes, popular ends counting less.

    The chance to come from a piece to another over a person who likes both is divided by the other's number of likes,
    to the power of ``beta``; the `NEIGHBOURS` greatest of a piece count. ``gram`` is `shared_likes` ``by_person``.
    """
    # Each row of a gram by person adds up to how many people like the piece.
    counts = gram.sum(axis=1)
    weights: Scores = gram / counts[:, None] / counts ** np.float32(beta)
    return _linear(knowledge, pieces, _thinned(weights))


def by_ease(knowledge: Knowledge, pieces: IntArray, gram: Scores, penalty: float) -> Score:
    """Return EASE, the linear model without self-similarity (Steck 2019): B = I - P / diag(P), P = (X'X + penalty)^-1.

    ``gram`` is that of these pieces, X'X.
    """
    # In double precision: the inverse of a system this large loses too much in single.
    system: FloatArray = gram.astype(np.float64)
    np.fill_diagonal(system, np.diag(system) + penalty)
    system = np.linalg.inv(system).astype(np.float64, copy=False)
    # By columns: B_ij = -P_ij / P_jj.
    system /= -np.diag(system).copy()
    weights = system.astype(np.float32)
    np.fill_diagonal(weights, 0)
    return _linear(knowledge, pieces, weights)


def by_factors(knowledge: Knowledge, pieces: IntArray, unliked: float) -> Score:
    """Return iALS (Hu, Koren and Volinsky 2008): factors of people and pieces by whose product a like is 1, all else 0.

    What is no like counts ``unliked``; shrinkage goes by how much there is of a person or a piece, as in Rendle et al.
    2021. A person's factors are solved for by the pieces' when scores are asked for.
    """
    column_of = columns_of(knowledge, pieces)

    def likes_of(people: IntArray) -> tuple[IntArray, IntArray]:
        rows, liked = knowledge.likes.pairs(people)
        known = column_of[liked] >= 0
        return rows[known], column_of[liked[known]]

    who, what = likes_of(knowledge.others)
    by_person = runs_of((who, what), len(knowledge.others))
    order = np.lexsort((who, what))
    by_piece = runs_of((what[order], who[order]), len(pieces))
    random = np.random.default_rng(0)
    factors = random.normal(0, 0.1 / np.sqrt(FACTORS), (len(pieces), FACTORS)).astype(np.float32)
    for _ in range(ROUNDS):
        factors = solved_factors(by_piece, solved_factors(by_person, factors, unliked), unliked)

    def score(people: IntArray) -> Scores:
        scores = np.zeros((len(people), knowledge.piece_count), dtype=np.float32)
        scores[:, pieces] = solved_factors(runs_of(likes_of(people), len(people)), factors, unliked) @ factors.T
        return scores

    return score


def solved_factors(likes: Runs, others: Scores, unliked: float) -> Scores:
    """Return the factors of one side that fit likes best, given those of the other one; 0 where there are no likes."""
    counts = np.diff(likes.starts)
    factors = np.zeros((len(counts), others.shape[1]), dtype=np.float32)
    everything = np.float32(unliked) * (others.T @ others)
    for count in np.unique(counts[counts > 0]).tolist():
        shrinkage = np.float32(SHRINKAGE * (count + unliked * len(others))) * np.eye(others.shape[1], dtype=np.float32)
        rows = np.flatnonzero(counts == count)
        # Those with as many likes are solved together, as many at once as take some megabytes.
        for own in np.array_split(rows, math.ceil(len(rows) * (count + others.shape[1]) / _TOGETHER)):
            liked = others[likes.values[likes.starts[own][:, None] + np.arange(count)]]
            systems = liked.transpose(0, 2, 1) @ liked + everything + shrinkage
            factors[own] = np.linalg.solve(systems, liked.sum(axis=1)[:, :, None])[:, :, 0]
    return factors


def dense_bytes(piece_count: int) -> int:
    """Return the memory that EASE, the greater of the dense two, takes for so many pieces."""
    return MATRICES * 8 * piece_count * piece_count


def or_popular(score: Score, knowledge: Knowledge) -> Score:
    """Return the method that gives what most people like to those for whom it knows nothing, and others what it did."""
    popular = by_popularity(knowledge)

    def mixed(people: IntArray) -> Scores:
        scores = score(people)
        unknown = ~scores.any(axis=1)
        scores[unknown] = popular(people[unknown])
        return scores

    return mixed


def _thinned(weights: Scores) -> Scores:
    """Return weights, changed in place, in whose rows only the `NEIGHBOURS` greatest are left, and none of itself."""
    np.fill_diagonal(weights, 0)
    if len(weights) > NEIGHBOURS:
        for begin in range(0, len(weights), _ROWS):
            rows = weights[begin : begin + _ROWS]
            # In strips: a partition copies what it is given. Neighbours as similar as the last one stay, too.
            least = np.partition(rows, len(weights) - NEIGHBOURS, axis=1)[:, len(weights) - NEIGHBOURS]
            rows[rows < least[:, None]] = 0
    return weights


def _linear(knowledge: Knowledge, pieces: IntArray, weights: Scores) -> Score:
    """Return the method that adds up the rows of what a person likes; other pieces score nothing."""
    column_of = columns_of(knowledge, pieces)

    def score(people: IntArray) -> Scores:
        scores = np.zeros((len(people), knowledge.piece_count), dtype=np.float32)
        for row, person in enumerate(people.tolist()):
            own = column_of[knowledge.likes[person]]
            scores[row, pieces] = weights[own[own >= 0]].sum(axis=0)
        return scores

    return score


PENCHANT, CONTENT, POPULAR = "penchant", "content", "popular"
VALIDATION_PEOPLE = 300
VALIDATION_PIECES = 2_000
"""Pieces, those liked most, among which the parameters of fitted methods are chosen: dense matrices of them."""


class FittedMethod(NamedTuple):
    """A method with a parameter: its name, the values that are tried, and what fits it to likes of some pieces.

    What ``is_dense`` holds a matrix of all pieces by all pieces.
    """

    parameter: str
    values: Sequence[float]
    fit: Callable[[Knowledge, IntArray, float], Score]
    is_dense: bool = True


def _fit_neighbours(knowledge: Knowledge, pieces: IntArray, damping: float) -> Score:
    return by_neighbours(knowledge, pieces, shared_likes(knowledge, pieces), damping)


def _fit_walks(knowledge: Knowledge, pieces: IntArray, beta: float) -> Score:
    return by_walks(knowledge, pieces, shared_likes(knowledge, pieces, by_person=True), beta)


def _fit_ease(knowledge: Knowledge, pieces: IntArray, penalty: float) -> Score:
    return by_ease(knowledge, pieces, shared_likes(knowledge, pieces), penalty)


def _fit_transitions(knowledge: Knowledge, pieces: IntArray, reach: float) -> Score:
    return by_transitions(knowledge, pieces, int(reach))


FITTED: Mapping[str, FittedMethod] = {
    "item-kNN": FittedMethod("damping", (0.0, 5.0, 50.0), _fit_neighbours),
    "RP3beta": FittedMethod("beta", (0.2, 0.4, 0.6), _fit_walks),
    "EASE": FittedMethod("penalty", (50.0, 200.0, 800.0), _fit_ease),
    "iALS": FittedMethod("unliked", (0.1, 0.3, 1.0), by_factors, is_dense=False),
    "Markov": FittedMethod("reach", (1.0, 3.0, 10.0), _fit_transitions),
    "STAN": FittedMethod("decay", (5.0, 20.0, 100.0), by_sessions, is_dense=False),
    "SLIT": FittedMethod("decay", (1.0, 5.0, 20.0), by_order),
}
METHODS = ("random", POPULAR, CONTENT, PENCHANT, *FITTED)
"""Ours, in the order in which they are reported; those of other packages follow where they are asked for."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Contender:
    """A method that is ready: its lists, and what was chosen for it."""

    lists: Lists
    parameters: str = ""


class Contenders:
    """The methods that a request compares, each made ready when it is first asked for."""

    def __init__(self, knowledge: Knowledge, request: EvaluationRequest) -> None:
        self._knowledge = knowledge
        self._request = request
        self._served: ServedSource | None = None
        self._ready: tuple[str, Contender] | None = None

    def contender(self, name: str) -> Contender:
        """Return a method; the last one is kept."""
        if self._ready is None or self._ready[0] != name:
            # Let go before the next one is made: it may be a matrix of gigabytes.
            self._ready = None
            self._ready = (name, self._made(name))
        return self._ready[1]

    def _made(self, name: str) -> Contender:
        knowledge = self._knowledge
        if name in FITTED:
            return _fitted(knowledge, self._request, name)
        if name in PACKAGE_METHODS:
            method = PACKAGE_METHODS[name]
            score = or_popular(method.fit(knowledge, self._request.split.seed), knowledge)
            return Contender(lists=_ranking(score, knowledge), parameters=method.parameters)
        if name == "random":
            return Contender(lists=_ranking(by_chance(knowledge, self._request.split.seed), knowledge))
        if name == POPULAR:
            return Contender(lists=_ranking(by_popularity(knowledge), knowledge))
        if self._served is None:
            mixed = structs.replace(
                AS_SERVED,
                diversity=self._request.diversity,
                calibration=self._request.calibration,
                calibration_category=self._request.calibration_category,
            )
            self._served = ServedSource(knowledge, request=mixed)
        served = self._served
        if name == CONTENT:
            return Contender(lists=lambda people: served.lists(people, Algorithm.COSINE))
        parameters = _blend(knowledge)
        if self._request.diversity:
            parameters += f", diversity {self._request.diversity:g}"
        if self._request.calibration:
            parameters += f", calibration {self._request.calibration:g} by {self._request.calibration_category}"
        return Contender(lists=served.lists, parameters=parameters)


def taking_part(knowledge: Knowledge, request: EvaluationRequest) -> tuple[list[str], list[str]]:
    """Return the methods that a request compares, and what is to be said of those that cannot take part."""
    methods, notes = list[str](), list[str]()
    asked = METHODS if request.methods is None else request.methods
    for name in (*METHODS, *PACKAGE_METHODS):
        if name not in asked:
            continue
        fitted = FITTED.get(name) or PACKAGE_METHODS.get(name)
        hindrance = _hindrance(knowledge, request) if fitted and fitted.is_dense else None
        if hindrance is None:
            methods.append(name)
        else:
            notes.append(f"{name}: left out, since {hindrance}.")
    return methods, notes


def _hindrance(knowledge: Knowledge, request: EvaluationRequest) -> str | None:
    """Return why the methods with a dense matrix cannot take part, if so."""
    count = int(np.count_nonzero(knowledge.liked_counts))
    needed = dense_bytes(count)
    if needed <= request.memory_bytes:
        return None
    return f"{count:,} liked pieces need {needed / 2**30:.1f} GiB (--memory)"


def _fitted(knowledge: Knowledge, request: EvaluationRequest, name: str) -> Contender:
    """Return a method that is fitted to likes, with the parameter of these values that does best."""
    value, narrow = _chosen(knowledge, request, name)
    known = _narrowed(knowledge, request.relevant) if narrow else knowledge
    parameters = f"{FITTED[name].parameter} {value:g}, {'relevant' if narrow else 'all'} likes"
    score = _fit(known, name, value, np.flatnonzero(known.liked_counts))
    return Contender(lists=_ranking(score, knowledge), parameters=parameters)


def _chosen(knowledge: Knowledge, request: EvaluationRequest, name: str) -> tuple[float, bool]:
    """Return the parameter that does best on a part of what is known, and whether only relevant types are likes."""
    values = FITTED[name].values
    # Within what is known, as in tuning: what is held out from everybody must not choose a parameter either.
    inner = replace(knowledge.history, events=knowledge.shared)
    parts = split(inner.events, replace(request.split, cold=0.0), request.relevant)
    part = Knowledge.of(inner, parts.known, knowledge.settings)
    judges, _ = sample_people(part, parts.held_out, replace(request, people=VALIDATION_PEOPLE))
    if not len(judges.people):
        return values[len(values) // 2], False

    def means(known: Knowledge, tried: Sequence[float]) -> dict[float, float]:
        pieces = np.sort(np.argsort(-known.liked_counts, kind="stable")[:VALIDATION_PIECES])
        pieces = pieces[known.liked_counts[pieces] > 0]
        ranked = {value: _ranking(_fit(known, name, value, pieces), part) for value in tried}
        return {value: _mean_of(lists, judges) for value, lists in ranked.items()}

    # One after the other, not all pairs: first the parameter, then for the best one whether fewer types do better.
    wide = means(part, values)
    best = max(values, key=wide.__getitem__)
    return best, means(_narrowed(part, request.relevant), [best])[best] > wide[best]


def _mean_of(lists: Lists, judges: JudgedPeople) -> float:
    return float(mean_ndcg(in_batches(lists, judges.people), judges.relevant).mean())


def _fit(knowledge: Knowledge, name: str, value: float, pieces: IntArray) -> Score:
    return or_popular(FITTED[name].fit(knowledge, pieces, value), knowledge)


def _narrowed(knowledge: Knowledge, kinds: Sequence[InteractionType]) -> Knowledge:
    """Return the known interactions as if only these types of interaction spoke for a piece."""
    weights = knowledge.settings.interaction_weights
    fewer = {kind: weight if kind in kinds else min(weight, 0) for kind, weight in weights.items()}
    return replace(knowledge, settings=replace(knowledge.settings, interaction_weights=fewer))


def _ranking(score: Score, knowledge: Knowledge) -> Lists:
    return lambda people: best_unseen(score(people), knowledge, people)


def _blend(knowledge: Knowledge) -> str:
    blend = knowledge.settings.blend
    return f"{blend.content:g} content, {blend.audience:g} audience, {blend.popularity:g} popularity"
