"""Contest of methods on one history: all for the same people, against the same held-out interactions.

requests -> Contest -> shares --ContestLists, in any process--> lists -> Contest -> figures

A method that is fitted is one share, since fitting takes most of its time and cannot be cut; what needs no fitting is
cut by people.

Reports of evaluations: figures of methods with their intervals, for people and for machines.
"""

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from penchant.wire import encode
from penchant_engine.computed import computed
from penchant_engine.index import FloatArray, IntArray
from penchant_engine.index.layout import BoolArray
from penchant_lab import metrics
from penchant_lab.contenders import CONTENT, FITTED, PENCHANT, POPULAR, Contenders, taking_part
from penchant_lab.foreign_lists import ForeignLists
from penchant_lab.histories import SourceHistory
from penchant_lab.list_work import MethodLists
from penchant_lab.metrics import Estimate, PieceVectors
from penchant_lab.mixes import describe
from penchant_lab.package_methods import PACKAGE_METHODS
from penchant_lab.served import keywords_of, vectors_of
from penchant_lab.splits import KnowledgeLimits
from penchant_lab.trials import BATCH, EvaluationRequest, Tell, Trial, counts_of, in_batches
from penchant_lab.tuning import MIN_JUDGES

DECIMALS = 5


class MeanFigure(msgspec.Struct, frozen=True, rename="camel"):
    """A mean over people, with the bounds of its 95 % bootstrap interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, estimate: Estimate | None) -> "MeanFigure | None":
        """Return a figure of an estimate."""
        return None if estimate is None else cls(*(round(each, DECIMALS) for each in estimate))


class GroupFigures(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Figures of some people, or of all with some relevant pieces; ``None`` where there are none."""

    people: int
    ndcg10: MeanFigure | None
    recall20: MeanFigure | None
    hit_rate10: MeanFigure | None
    mrr20: MeanFigure | None


class MethodFigures(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Figures of a method. All but ``cold_people`` are of people with known interactions.

    ``penchant_minus`` is by how much penchant's NDCG is greater, ``penchant_ratio`` how many times as great.
    ``ild10`` is how unlike the pieces of a list are, ``miscalibration10`` how far its keywords of a category are from
    those of the person's likes, ``cold_shown`` the share of cold pieces among the entries of lists of 20.
    """

    name: str
    parameters: str
    seconds: float
    warm_people: GroupFigures
    cold_people: GroupFigures
    warm_pieces: GroupFigures
    cold_pieces: GroupFigures
    coverage10: float
    gini10: float
    novelty10: float
    ild10: MeanFigure | None
    miscalibration10: MeanFigure | None
    cold_shown: float
    penchant_minus: MeanFigure | None = None
    penchant_ratio: MeanFigure | None = None


class Evaluation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An evaluation: of what, how it was split, and what each method made of it.

    ``history`` and ``known_likes`` are what little was known of the source and of people, ``asked`` of how many next
    likes of each was asked, if so; ``shared`` counts the known interactions that count for everybody. ``recorded`` is
    the mix or type by which these count as recorded.
    """

    name: str
    split: str
    cold: float
    seed: int
    relevant: list[str]
    pieces: int
    people: int
    interactions: int
    held_out: int
    history: int | None
    known_likes: int | None
    asked: int | None
    recorded: str | None
    shared: int
    cold_pieces: int
    warm_people_asked: int
    cold_people_asked: int
    methods: list[MethodFigures]
    notes: list[str]

    def method(self, name: str) -> MethodFigures | None:
        """Return the figures of a method."""
        return next((each for each in self.methods if each.name == name), None)


def as_json(report: msgspec.Struct | Sequence[msgspec.Struct]) -> bytes:
    """Return a report, or several as an array, for machines, on lines for people."""
    return msgspec.json.format(encode(msgspec.to_builtins(report))) + b"\n"


def best_first(methods: Sequence[MethodFigures]) -> list[MethodFigures]:
    """Return methods by NDCG@10 of known people, the greatest first, those without it last; of equal ones as given."""

    def figure(method: MethodFigures) -> float:
        group = method.warm_people.ndcg10 or method.cold_people.ndcg10
        return -1.0 if group is None else group.value

    return sorted(methods, key=figure, reverse=True)


def conclude(evaluated: Evaluation) -> list[str]:
    """Return in sentences which methods did best, whether that is certain, and what to try next."""
    judged = {each.name: each.warm_people.ndcg10.value for each in evaluated.methods if each.warm_people.ndcg10}
    if not judged:
        return []
    best = max(judged, key=judged.__getitem__)
    sentences = [f"Best by NDCG@10 is {best} with {judged[best]:.3f}."]
    differences = {each.name: each.penchant_minus for each in evaluated.methods if each.penchant_minus}
    if differences:
        sentences.append(_compare(differences))
    if evaluated.warm_people_asked < MIN_JUDGES:
        sentences.append(f"{evaluated.warm_people_asked:,} people tell little: from {MIN_JUDGES} on, differences show.")
    behind = [name for name, by in differences.items() if by.low <= 0]
    if POPULAR in behind:
        sentences.append(
            "Popularity alone is not certainly beaten: more keywords, more interactions, or `penchant tune` may help."
        )
    elif CONTENT in behind:
        sentences.append("Content alone is not certainly beaten: `penchant tune` tries how much audience should count.")
    elif differences:
        sentences.append("`penchant tune` tells whether other settings would do better still.")
    return sentences


def _compare(differences: Mapping[str, MeanFigure]) -> str:
    """Return the sentence that says what penchant is certainly better than, on a par with, certainly worse than."""
    better = {name: by.value for name, by in differences.items() if by.low > 0}
    worse = {name: -by.value for name, by in differences.items() if by.high < 0}
    level = [name for name in differences if name not in better and name not in worse]
    parts = [
        f"certainly {word} than {_series([f'{name} (by {by:.3f})' for name, by in group.items()])}"
        for word, group in (("better", better), ("worse", worse))
        if group
    ]
    if level:
        parts.append(f"not certainly different from {_series(level)}")
    return f"{PENCHANT} is {_series(parts)}."


def _series(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


RANGE = 4 * BATCH
"""People of a share: some tenths of a second of lists."""
COSTLY = ("SLIT", "EASE", "STAN", "iALS", "Markov", "RP3beta", "item-kNN", PENCHANT, CONTENT)
"""Methods whose shares come first, so that no process begins a long one when the others are about to end."""


class MethodShare(NamedTuple):
    """The lists of a method for some of the people who are asked for; ``case`` numbers the requests."""

    case: int
    method: str
    begin: int
    end: int


class Contest:
    """The methods that requests compare on a history: which lists are to be made, and the figures that these give."""

    def __init__(
        self, history: SourceHistory, requests: Sequence[EvaluationRequest], foreign: Sequence[ForeignLists] = ()
    ) -> None:
        """Cut the work; ``foreign`` are lists that are judged beside it.

        Raises:
            InvalidInput: as `Trial.of`.
        """
        self.history = history
        self.requests = requests
        self._keywords = dict[str, PieceVectors]()
        self._trials = [Trial.of(history, request) for request in requests]
        # Before the work, so that a file that cannot be judged ends it at once.
        self._foreign = [[(each.name, *each.lists(trial)) for each in foreign] for trial in self._trials]
        cases = zip(self._trials, requests, strict=True)
        self._methods = [taking_part(trial.knowledge, request) for trial, request in cases]
        self.shares = [
            share
            for case, trial in enumerate(self._trials)
            for share in shares_of(case, self._methods[case][0], len(trial.people))
        ]

    def evaluated(self, parts: Sequence[MethodLists]) -> list[Evaluation]:
        """Return how the methods do, by the lists of all shares in their order: an evaluation for each request."""
        return [self._evaluation(case, parts) for case in range(len(self.requests))]

    def lists(self, parts: Sequence[MethodLists], case: int = 0) -> tuple[Trial, dict[str, IntArray]]:
        """Return the trial of a request, and the lists of its methods, (n_people, 20) in the order of its people."""
        made = {name: self._parts_of(case, name, parts) for name in self._methods[case][0]}
        return self._trials[case], {name: np.concatenate([each.lists for each in own]) for name, own in made.items()}

    def _evaluation(self, case: int, parts: Sequence[MethodLists]) -> Evaluation:
        history, request, trial = self.history, self.requests[case], self._trials[case]
        knowledge, limits = trial.knowledge, request.limits or KnowledgeLimits()
        methods, left_out = self._methods[case]
        notes = []
        if knowledge.settings.order is not history.settings.order:
            notes.append("Held out at random, interactions say nothing of order: the setting `order` is off for this.")
        if len(knowledge.shared) < (limits.history or 0):
            notes.append(f"There are only {len(knowledge.shared):,} interactions of people who are not asked for.")
        if request.recorded:
            notes.append(f"What is known counts as if it had been recorded so: {describe(request.recorded)}.")
        if request.asked is not None:
            notes.append(f"Of each person's later likes no more than the first {request.asked:,} are asked for.")
        judged = [self._judged(case, name, self._parts_of(case, name, parts)) for name in methods]
        for name, lists, told in self._foreign[case]:
            judged.append(self._judged(case, name, [MethodLists(lists)]))
            notes.append(told)
        return Evaluation(
            name=history.name,
            split=request.split.kind,
            cold=request.split.cold,
            seed=request.split.seed,
            relevant=[kind.value for kind in request.relevant],
            pieces=history.piece_count,
            people=history.person_count,
            interactions=len(history.events),
            held_out=trial.held_out,
            history=limits.history,
            known_likes=limits.likes,
            asked=request.asked,
            recorded=request.recorded or None,
            shared=len(knowledge.shared),
            cold_pieces=int(np.count_nonzero(knowledge.met == 0)),
            warm_people_asked=len(trial.warm.people),
            cold_people_asked=len(trial.cold.people),
            methods=_beside_penchant(judged, request.split.seed),
            notes=notes + left_out,
        )

    def _judged(self, case: int, name: str, parts: Sequence[MethodLists]) -> tuple[MethodFigures, FloatArray]:
        """Return the figures of a method, and NDCG@10 of each warm person, for comparisons person by person."""
        trial, seed = self._trials[case], self.requests[case].split.seed
        knowledge = trial.knowledge
        lists = np.concatenate([each.lists for each in parts])
        warm, cold = lists[: len(trial.warm.people)], lists[len(trial.warm.people) :]
        counts = metrics.shown_counts(warm, knowledge.piece_count)
        is_cold = knowledge.met == 0
        group, gains = _group(warm, trial.warm.relevant, seed)
        shown = warm[warm != metrics.NOTHING]
        figures = MethodFigures(
            name=name,
            parameters=parts[0].parameters,
            seconds=round(sum(each.seconds for each in parts), 2),
            warm_people=group,
            cold_people=_group(cold, trial.cold.relevant, seed)[0],
            warm_pieces=_among(warm, trial, ~is_cold, seed),
            cold_pieces=_among(warm, trial, is_cold, seed),
            coverage10=round(metrics.coverage(counts), 5),
            gini10=round(metrics.gini(counts), 5),
            novelty10=round(metrics.novelty(warm, knowledge.met, knowledge.history.person_count), 3),
            ild10=MeanFigure.of(metrics.estimate(metrics.intra_list_diversity(warm, self._vectors), seed)),
            miscalibration10=self._miscalibration(case, warm),
            cold_shown=round(float(is_cold[shown].mean()), 5) if len(shown) else 0.0,
        )
        return figures, gains

    @computed
    def _vectors(self) -> PieceVectors:
        return vectors_of(self.history)

    def _miscalibration(self, case: int, warm: IntArray) -> MeanFigure | None:
        request, trial = self.requests[case], self._trials[case]
        category, likes = request.calibration_category, trial.knowledge.likes
        if not category:
            return None
        if category not in self._keywords:
            self._keywords[category] = keywords_of(self.history, category)
        liked = [likes[person] for person in trial.warm.people.tolist()]
        own = [each[each < self.history.piece_count] for each in liked]
        return MeanFigure.of(
            metrics.estimate(metrics.miscalibration(warm, own, self._keywords[category]), request.split.seed)
        )

    def _parts_of(self, case: int, method: str, parts: Sequence[MethodLists]) -> list[MethodLists]:
        pairs = zip(self.shares, parts, strict=True)
        return [lists for share, lists in pairs if (share.case, share.method) == (case, method)]


class ContestLists:
    """Makes the lists of the shares of requests."""

    def __init__(
        self, history: SourceHistory, request: tuple[Sequence[EvaluationRequest], Sequence[MethodShare]]
    ) -> None:
        self._history = history
        self._requests, self._shares = request
        self._case = -1
        self._people: IntArray
        self._contenders: Contenders

    def make(self, item: int) -> MethodLists:
        """Return the lists of a share; what was made ready for the last request and method is kept."""
        share = self._shares[item]
        if share.case != self._case:
            request = self._requests[share.case]
            trial = Trial.of(self._history, request)
            self._case, self._people = share.case, trial.people
            self._contenders = Contenders(trial.knowledge, request)
        contender = self._contenders.contender(share.method)
        # The time of making lists; a method that is fitted was fitted before.
        began = time.perf_counter()
        lists = in_batches(contender.lists, self._people[share.begin : share.end])
        return MethodLists(lists, contender.parameters, time.perf_counter() - began)


def made_here(contest: Contest, tell: Tell) -> list[MethodLists]:
    """Return the lists of all shares, made by this process."""
    maker = ContestLists(contest.history, (contest.requests, contest.shares))
    parts = []
    for number, share in enumerate(contest.shares):
        tell(share.method, number, len(contest.shares))
        parts.append(maker.make(number))
    return parts


def shares_of(case: int, methods: Sequence[str], people: int) -> list[MethodShare]:
    """Return the shares of a request with so many people."""
    ordered = sorted(methods, key=lambda name: COSTLY.index(name) if name in COSTLY else len(COSTLY))
    return [
        MethodShare(case, method, begin, min(people, begin + size))
        for method in ordered
        for size in (people if method in FITTED or method in PACKAGE_METHODS else RANGE,)
        for begin in range(0, people, size)
    ]


def _among(lists: IntArray, trial: Trial, pieces: BoolArray, seed: int) -> GroupFigures:
    """Return the figures of warm people where only some pieces are relevant."""
    relevant = [each[pieces[each]] for each in trial.warm.relevant]
    rows = [row for row, each in enumerate(relevant) if len(each)]
    return _group(lists[rows], [relevant[row] for row in rows], seed)[0]


def _group(lists: IntArray, relevant: Sequence[IntArray], seed: int) -> tuple[GroupFigures, FloatArray]:
    """Return the figures of some people, and NDCG@10 of each; no figures without people."""
    if not relevant:
        return GroupFigures(people=0, ndcg10=None, recall20=None, hit_rate10=None, mrr20=None), np.zeros(0)
    hits, counts = metrics.hits_of(lists, relevant), counts_of(relevant)
    gains = metrics.ndcg(hits, counts)
    group = GroupFigures(
        people=len(relevant),
        ndcg10=MeanFigure.of(metrics.estimate(gains, seed)),
        recall20=MeanFigure.of(metrics.estimate(metrics.recall(hits, counts), seed)),
        hit_rate10=MeanFigure.of(metrics.estimate(metrics.hit_rate(hits), seed)),
        mrr20=MeanFigure.of(metrics.estimate(metrics.reciprocal_rank(hits), seed)),
    )
    return group, gains


def _beside_penchant(judged: Sequence[tuple[MethodFigures, FloatArray]], seed: int) -> list[MethodFigures]:
    ours = next((gains for figures, gains in judged if figures.name == PENCHANT), None)
    beside = []
    for figures, gains in judged:
        if ours is None or figures.name == PENCHANT or not len(gains):
            beside.append(figures)
            continue
        difference, ratio = metrics.compared(ours, gains, seed)
        minus, times = MeanFigure.of(difference), MeanFigure.of(ratio)
        beside.append(msgspec.structs.replace(figures, penchant_minus=minus, penchant_ratio=times))
    return beside
