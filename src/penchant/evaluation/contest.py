"""Contest of methods on one history: all for the same people, against the same held-out interactions."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from penchant.errors import InvalidInput
from penchant.evaluation import baselines, intervals, metrics
from penchant.evaluation.baselines import Score, best_unseen
from penchant.evaluation.histories import SourceHistory
from penchant.evaluation.knowledge import Knowledge, relevant_pieces
from penchant.evaluation.newcomers import KnowledgeLimits, draw_newcomers, known_within
from penchant.evaluation.report import Evaluation, GroupFigures, MeanFigure, MethodFigures
from penchant.evaluation.served import ServedSource
from penchant.evaluation.splits import SplitRule, split
from penchant.index import BoolArray, FloatArray, IntArray
from penchant.model import Algorithm, InteractionType

PENCHANT = "penchant"
RELEVANT = (InteractionType.PURCHASE, InteractionType.RATE_LIKE, InteractionType.BOOKMARK)
"""What counts as liked later: what people do with pieces that they want, not what they do to find out."""
PEOPLE = 3_000
MEMORY_BYTES = 4 << 30
BATCH = 64
"""People whose scores are held at once."""
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
PARAMETERS = {"item-kNN": "damping", "RP3beta": "beta", "EASE": "penalty", "iALS": "unliked"}

Lists = Callable[[IntArray], IntArray]
"""Gives the lists (n_people, 20) of these people."""
Tell = Callable[[str, int, int], None]
"""Shows progress: what is being done, and how many people of how many are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest:
    """What is to be evaluated, and with how much effort. ``methods`` of ``None`` are all.

    With ``limits`` only newcomers are asked for.
    """

    split: SplitRule
    limits: KnowledgeLimits | None = None
    relevant: Sequence[InteractionType] = RELEVANT
    people: int = PEOPLE
    memory_bytes: int = MEMORY_BYTES
    methods: Sequence[str] | None = None

    def includes(self, method: str) -> bool:
        """Return whether a method is asked for."""
        return self.methods is None or method in self.methods


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JudgedPeople:
    """People by whom methods are judged, ascending, and the pieces that each of them liked later."""

    people: IntArray
    relevant: Sequence[IntArray]

    def take(self, which: BoolArray, most: int, random: np.random.Generator) -> "JudgedPeople":
        """Return the people that a mask chooses, or ``most`` of them drawn at random."""
        places = np.flatnonzero(which)
        if len(places) > most:
            places = np.sort(random.choice(places, most, replace=False))
        return JudgedPeople(people=self.people[places], relevant=[self.relevant[place] for place in places.tolist()])


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Contender:
    """A method that is ready: its name, what was chosen for it, and its lists."""

    name: str
    lists: Lists
    parameters: str = ""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Trial:
    """The knowledge and the people by which all methods are judged."""

    knowledge: Knowledge
    warm: JudgedPeople
    cold: JudgedPeople
    seed: int


def evaluate(history: SourceHistory, request: EvaluationRequest, tell: Tell) -> Evaluation:
    """Return how methods do on a history.

    Raises:
        InvalidInput: no person has both known interactions and relevant ones that are held out.
    """
    knowledge, held_out = known_part(history, request)
    warm, cold = asked_people(knowledge, held_out, request)
    if not len(warm.people) and not len(cold.people):
        raise InvalidInput(nothing_to_judge(history, request))
    trial = _Trial(knowledge=knowledge, warm=warm, cold=cold, seed=request.split.seed)
    limits = request.limits or KnowledgeLimits()
    notes: list[str] = []
    if len(knowledge.shared) < (limits.history or 0):
        notes.append(f"There are only {len(knowledge.shared):,} interactions of people who are not asked for.")
    found = [_judged(trial, contender, tell) for contender in _contenders(trial, request, tell, notes)]
    return Evaluation(
        name=history.name,
        split=request.split.kind,
        cold=request.split.cold,
        seed=request.split.seed,
        relevant=[kind.value for kind in request.relevant],
        pieces=history.piece_count,
        people=history.person_count,
        interactions=len(history.events),
        held_out=int(np.count_nonzero(held_out)),
        history=limits.history,
        known_likes=limits.likes,
        shared=len(knowledge.shared),
        cold_pieces=int(np.count_nonzero(knowledge.met == 0)),
        warm_people_asked=len(warm.people),
        cold_people_asked=len(cold.people),
        methods=_beside_penchant(found, request.split.seed),
        notes=notes,
    )


def known_part(history: SourceHistory, request: EvaluationRequest) -> tuple[Knowledge, BoolArray]:
    """Return what is known of a history, and which of its events methods are judged by."""
    parts = split(history.events, request.split)
    knowledge = Knowledge.of(history, parts.known, history.settings)
    if request.limits is None:
        return knowledge, parts.held_out
    people, _ = relevant_pieces(knowledge, parts.held_out, request.relevant)
    able = people[np.diff(knowledge.likes.starts)[people] >= max(1, request.limits.likes or 0)]
    newcomers = draw_newcomers(able, request.people, history.person_count, request.split.seed)
    return known_within(knowledge, parts, request.limits, request.split, newcomers)


def asked_people(
    knowledge: Knowledge, held_out: BoolArray, request: EvaluationRequest
) -> tuple[JudgedPeople, JudgedPeople]:
    """Return the people by whom methods are judged: those with known interactions, and those without (cold)."""
    people, relevant = relevant_pieces(knowledge, held_out, request.relevant)
    everyone = JudgedPeople(people=people, relevant=relevant)
    random = np.random.default_rng([request.split.seed, 2])
    warm = knowledge.active[people] if len(people) else np.zeros(0, dtype=np.bool_)
    return everyone.take(warm, request.people, random), everyone.take(~warm, request.people, random)


def nothing_to_judge(history: SourceHistory, request: EvaluationRequest) -> str:
    """Return why there is no person to judge by."""
    if not len(history.events):
        return f"{history.name} has no interactions; recommendations are judged by what people did."
    types = ", ".join(kind.value for kind in request.relevant)
    if request.limits is not None:
        likes = max(1, request.limits.likes or 0)
        return (
            f"Of people with {likes:,} known likes and more, and {types} among the interactions that are held out, "
            f"{history.name} has less than two: one to ask for, and one who makes the source."
        )
    return (
        f"Nobody in {history.name} has {types} among the interactions that are held out; name other types with "
        "--relevant, or another --split."
    )


def mean_ndcg(lists: IntArray, relevant: Sequence[IntArray]) -> FloatArray:
    """Return NDCG@10 by person."""
    return metrics.ndcg(metrics.hits_of(lists, relevant), _counts(relevant))


def in_batches(lists: Lists, people: IntArray, tell: Callable[[int], None]) -> IntArray:
    """Return the lists of people, some at a time."""
    found = np.full((len(people), metrics.RECALLED), metrics.NOTHING, dtype=np.int64)
    for begin in range(0, len(people), BATCH):
        batch = people[begin : begin + BATCH]
        found[begin : begin + BATCH] = lists(batch)
        tell(begin + len(batch))
    return found


def _contenders(trial: _Trial, request: EvaluationRequest, tell: Tell, notes: list[str]) -> Iterator[Contender]:
    """Yield the requested methods one after the other, each fitted only when its turn comes.

    What cannot take part is said in ``notes``.
    """
    knowledge, seed = trial.knowledge, trial.seed
    plain: dict[str, Callable[[], Score]] = {
        "random": lambda: baselines.by_chance(knowledge, seed),
        "popular": lambda: baselines.by_popularity(knowledge),
    }
    for name, method in plain.items():
        if request.includes(name):
            yield Contender(name=name, lists=_ranking(method(), knowledge))
    if request.includes("content") or request.includes(PENCHANT):
        tell("index", 0, 1)
        served = ServedSource(knowledge)
        if request.includes("content"):
            yield Contender(name="content", lists=lambda people: served.lists(people, Algorithm.COSINE))
        if request.includes(PENCHANT):
            yield Contender(name=PENCHANT, lists=served.lists, parameters=_blend(knowledge))
    for name, values in FITTED.items():
        hindrance = _hindrance(knowledge, request) if name != "iALS" and request.includes(name) else None
        if hindrance is not None:
            notes.append(f"{name}: left out, since {hindrance}.")
        elif request.includes(name):
            yield _fitted(trial, request, tell, (name, values))


def _hindrance(knowledge: Knowledge, request: EvaluationRequest) -> str | None:
    """Return why the methods with a dense matrix cannot take part, if so."""
    count = int(np.count_nonzero(knowledge.liked_counts))
    needed = baselines.dense_bytes(count)
    if needed <= request.memory_bytes:
        return None
    return f"{count:,} liked pieces need {needed / 2**30:.1f} GiB (--memory)"


def _fitted(trial: _Trial, request: EvaluationRequest, tell: Tell, method: tuple[str, Sequence[float]]) -> Contender:
    """Return a method that is fitted to likes, with the parameter of these values that does best."""
    name, values = method
    knowledge = trial.knowledge
    tell(f"{name}: parameters", 0, 1)
    value, narrow = _chosen(knowledge, request, name, values)
    tell(f"{name}: fit", 0, 1)
    known = _narrowed(knowledge, request.relevant) if narrow else knowledge
    parameters = f"{PARAMETERS[name]} {value:g}, {'relevant' if narrow else 'all'} likes"
    score = _fit(known, name, value, np.flatnonzero(known.liked_counts))
    return Contender(name=name, lists=_ranking(score, knowledge), parameters=parameters)


def _chosen(knowledge: Knowledge, request: EvaluationRequest, name: str, values: Sequence[float]) -> tuple[float, bool]:
    """Return the parameter that does best on a part of what is known, and whether only relevant types are likes."""
    # Within what is known, as in tuning: what is held out from everybody must not choose a parameter either.
    inner = replace(knowledge.history, events=knowledge.shared)
    parts = split(inner.events, replace(request.split, cold=0.0))
    part = Knowledge.of(inner, parts.known, knowledge.settings)
    asked, _ = asked_people(part, parts.held_out, replace(request, people=VALIDATION_PEOPLE))
    if not len(asked.people):
        return values[len(values) // 2], False

    def means(known: Knowledge, tried: Sequence[float]) -> dict[float, float]:
        pieces = np.sort(np.argsort(-known.liked_counts, kind="stable")[:VALIDATION_PIECES])
        pieces = pieces[known.liked_counts[pieces] > 0]
        ranked = {value: _ranking(_fit(known, name, value, pieces), part) for value in tried}
        return {value: _mean_of(lists, asked) for value, lists in ranked.items()}

    # One after the other, not all pairs: first the parameter, then for the best one whether fewer types do better.
    wide = means(part, values)
    best = max(values, key=wide.__getitem__)
    return best, means(_narrowed(part, request.relevant), [best])[best] > wide[best]


def _mean_of(lists: Lists, asked: JudgedPeople) -> float:
    return float(mean_ndcg(in_batches(lists, asked.people, lambda _done: None), asked.relevant).mean())


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


def _judged(trial: _Trial, contender: Contender, tell: Tell) -> tuple[MethodFigures, FloatArray]:
    """Return the figures of a method, and NDCG@10 of each warm person, for comparisons person by person."""
    knowledge, total = trial.knowledge, len(trial.warm.people) + len(trial.cold.people)
    # The time of making lists; a method that is fitted was fitted before.
    began = time.perf_counter()
    warm = in_batches(contender.lists, trial.warm.people, lambda done: tell(contender.name, done, total))
    before = len(trial.warm.people)
    cold = in_batches(contender.lists, trial.cold.people, lambda done: tell(contender.name, before + done, total))
    seconds = time.perf_counter() - began
    counts = metrics.shown_counts(warm, knowledge.piece_count)
    is_cold = knowledge.met == 0
    group, gains = _group(warm, trial.warm.relevant, trial.seed)
    shown = warm[warm != metrics.NOTHING]
    figures = MethodFigures(
        name=contender.name,
        parameters=contender.parameters,
        seconds=round(seconds, 2),
        warm_people=group,
        cold_people=_group(cold, trial.cold.relevant, trial.seed)[0],
        warm_pieces=_among(warm, trial, ~is_cold),
        cold_pieces=_among(warm, trial, is_cold),
        coverage10=round(metrics.coverage(counts), 5),
        gini10=round(metrics.gini(counts), 5),
        novelty10=round(metrics.novelty(warm, knowledge.met, knowledge.history.person_count), 3),
        cold_shown=round(float(is_cold[shown].mean()), 5) if len(shown) else 0.0,
    )
    return figures, gains


def _among(lists: IntArray, trial: _Trial, pieces: BoolArray) -> GroupFigures:
    """Return the figures of warm people where only some pieces are relevant."""
    relevant = [each[pieces[each]] for each in trial.warm.relevant]
    places = [place for place, each in enumerate(relevant) if len(each)]
    return _group(lists[places], [relevant[place] for place in places], trial.seed)[0]


def _group(lists: IntArray, relevant: Sequence[IntArray], seed: int) -> tuple[GroupFigures, FloatArray]:
    """Return the figures of some people, and NDCG@10 of each; no figures without people."""
    if not relevant:
        return GroupFigures(people=0, ndcg10=None, recall20=None), np.zeros(0)
    hits, counts = metrics.hits_of(lists, relevant), _counts(relevant)
    gains = metrics.ndcg(hits, counts)
    group = GroupFigures(
        people=len(relevant),
        ndcg10=MeanFigure.of(intervals.estimate(gains, seed)),
        recall20=MeanFigure.of(intervals.estimate(metrics.recall(hits, counts), seed)),
    )
    return group, gains


def _beside_penchant(found: Sequence[tuple[MethodFigures, FloatArray]], seed: int) -> list[MethodFigures]:
    """Return the figures with penchant's compared to each."""
    ours = next((gains for figures, gains in found if figures.name == PENCHANT), None)
    beside = []
    for figures, gains in found:
        if ours is None or figures.name == PENCHANT or not len(gains):
            beside.append(figures)
            continue
        difference, ratio = intervals.compared(ours, gains, seed)
        members = {name: getattr(figures, name) for name in MethodFigures.__struct_fields__}
        members |= {"penchant_minus": MeanFigure.of(difference), "penchant_ratio": MeanFigure.of(ratio)}
        beside.append(MethodFigures(**members))
    return beside


def _counts(relevant: Sequence[IntArray]) -> IntArray:
    return np.asarray([len(each) for each in relevant], dtype=np.int64)


def _blend(knowledge: Knowledge) -> str:
    blend = knowledge.settings.blend
    return f"{blend.content:g} content, {blend.audience:g} audience, {blend.popularity:g} popularity"
