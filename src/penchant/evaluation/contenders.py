"""Contenders: the methods that are compared, each made ready from what is known, and the lists they give."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from penchant.evaluation import baselines
from penchant.evaluation.baselines import Score, best_unseen
from penchant.evaluation.knowledge import Knowledge
from penchant.evaluation.served import ServedSource
from penchant.evaluation.splits import split
from penchant.evaluation.trials import EvaluationRequest, JudgedPeople, Lists, in_batches, mean_ndcg, sample_people
from penchant.index import IntArray
from penchant.model import Algorithm, InteractionType

PENCHANT, CONTENT = "penchant", "content"
VALIDATION_PEOPLE = 300
VALIDATION_PIECES = 2_000
"""Pieces, those liked most, among which the parameters of fitted methods are chosen: dense matrices of them."""
FITTED = {
    "item-kNN": (0.0, 5.0, 50.0),
    "RP3beta": (0.2, 0.4, 0.6),
    "EASE": (50.0, 200.0, 800.0),
    "iALS": (0.1, 0.3, 1.0),
}
"""Methods with a parameter, and the values that are tried."""
METHODS = ("random", "popular", CONTENT, PENCHANT, *FITTED)
PARAMETERS = {"item-kNN": "damping", "RP3beta": "beta", "EASE": "penalty", "iALS": "unliked"}


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
        if name == "random":
            return Contender(lists=_ranking(baselines.by_chance(knowledge, self._request.split.seed), knowledge))
        if name == "popular":
            return Contender(lists=_ranking(baselines.by_popularity(knowledge), knowledge))
        if self._served is None:
            self._served = ServedSource(knowledge)
        served = self._served
        if name == CONTENT:
            return Contender(lists=lambda people: served.lists(people, Algorithm.COSINE))
        return Contender(lists=served.lists, parameters=_blend(knowledge))


def taking_part(knowledge: Knowledge, request: EvaluationRequest) -> tuple[list[str], list[str]]:
    """Return the methods that a request compares, and what is to be said of those that cannot take part."""
    methods, notes = list[str](), list[str]()
    for name in METHODS:
        if not request.includes(name):
            continue
        hindrance = _hindrance(knowledge, request) if name in FITTED and name != "iALS" else None
        if hindrance is None:
            methods.append(name)
        else:
            notes.append(f"{name}: left out, since {hindrance}.")
    return methods, notes


def _hindrance(knowledge: Knowledge, request: EvaluationRequest) -> str | None:
    """Return why the methods with a dense matrix cannot take part, if so."""
    count = int(np.count_nonzero(knowledge.liked_counts))
    needed = baselines.dense_bytes(count)
    if needed <= request.memory_bytes:
        return None
    return f"{count:,} liked pieces need {needed / 2**30:.1f} GiB (--memory)"


def _fitted(knowledge: Knowledge, request: EvaluationRequest, name: str) -> Contender:
    """Return a method that is fitted to likes, with the parameter of these values that does best."""
    value, narrow = _chosen(knowledge, request, name, FITTED[name])
    known = _narrowed(knowledge, request.relevant) if narrow else knowledge
    parameters = f"{PARAMETERS[name]} {value:g}, {'relevant' if narrow else 'all'} likes"
    score = _fit(known, name, value, np.flatnonzero(known.liked_counts))
    return Contender(lists=_ranking(score, knowledge), parameters=parameters)


def _chosen(knowledge: Knowledge, request: EvaluationRequest, name: str, values: Sequence[float]) -> tuple[float, bool]:
    """Return the parameter that does best on a part of what is known, and whether only relevant types are likes."""
    # Within what is known, as in tuning: what is held out from everybody must not choose a parameter either.
    inner = replace(knowledge.history, events=knowledge.shared)
    parts = split(inner.events, replace(request.split, cold=0.0))
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
    if name == "iALS":
        return baselines.or_popular(baselines.by_factors(knowledge, pieces, value), knowledge)
    fits = {"item-kNN": baselines.by_neighbours, "RP3beta": baselines.by_walks, "EASE": baselines.by_ease}
    gram = baselines.shared_likes(knowledge, pieces, by_person=name == "RP3beta")
    return baselines.or_popular(fits[name](knowledge, pieces, gram, value), knowledge)


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
