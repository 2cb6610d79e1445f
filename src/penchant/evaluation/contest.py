"""Contest of methods on one history: all for the same people, against the same held-out interactions.

requests -> Contest -> shares --ListMaker, in any process--> lists -> Contest -> figures
"""

from collections.abc import Sequence

import numpy as np

from penchant.evaluation import intervals, metrics
from penchant.evaluation.contenders import PENCHANT, taking_part
from penchant.evaluation.histories import SourceHistory
from penchant.evaluation.list_making import ListMaker, MadeLists, shares_of
from penchant.evaluation.newcomers import KnowledgeLimits
from penchant.evaluation.report import Evaluation, GroupFigures, MeanFigure, MethodFigures
from penchant.evaluation.trials import EvaluationRequest, Tell, Trial, counts_of
from penchant.index import BoolArray, FloatArray, IntArray


class Contest:
    """The methods that requests compare on a history: which lists are to be made, and the figures that these give."""

    def __init__(self, history: SourceHistory, requests: Sequence[EvaluationRequest]) -> None:
        """Cut the work.

        Raises:
            InvalidInput: as `Trial.of`.
        """
        self.history = history
        self.requests = requests
        self._trials = [Trial.of(history, request) for request in requests]
        cases = zip(self._trials, requests, strict=True)
        self._methods = [taking_part(trial.knowledge, request) for trial, request in cases]
        self.shares = [
            share
            for case, trial in enumerate(self._trials)
            for share in shares_of(case, self._methods[case][0], len(trial.people))
        ]

    def evaluated(self, made: Sequence[MadeLists]) -> list[Evaluation]:
        """Return how the methods do, by the lists of all shares in their order: an evaluation for each request."""
        return [self._evaluation(case, made) for case in range(len(self.requests))]

    def _evaluation(self, case: int, made: Sequence[MadeLists]) -> Evaluation:
        history, request, trial = self.history, self.requests[case], self._trials[case]
        knowledge, limits = trial.knowledge, request.limits or KnowledgeLimits()
        methods, left_out = self._methods[case]
        notes = []
        if len(knowledge.shared) < (limits.history or 0):
            notes.append(f"There are only {len(knowledge.shared):,} interactions of people who are not asked for.")
        found = [_judged(trial, request.split.seed, name, self._made_by(case, name, made)) for name in methods]
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
            shared=len(knowledge.shared),
            cold_pieces=int(np.count_nonzero(knowledge.met == 0)),
            warm_people_asked=len(trial.warm.people),
            cold_people_asked=len(trial.cold.people),
            methods=_beside_penchant(found, request.split.seed),
            notes=notes + left_out,
        )

    def _made_by(self, case: int, method: str, made: Sequence[MadeLists]) -> list[MadeLists]:
        """Return what one method has made, in the order of people."""
        pairs = zip(self.shares, made, strict=True)
        return [lists for share, lists in pairs if (share.case, share.method) == (case, method)]


def made_here(contest: Contest, tell: Tell) -> list[MadeLists]:
    """Return the lists of all shares, made by this process."""
    maker = ListMaker(contest.history, contest.requests)
    made = []
    for number, share in enumerate(contest.shares):
        tell(share.method, number, len(contest.shares))
        made.append(maker.make(share))
    return made


def _judged(trial: Trial, seed: int, name: str, made: Sequence[MadeLists]) -> tuple[MethodFigures, FloatArray]:
    """Return the figures of a method, and NDCG@10 of each warm person, for comparisons person by person."""
    knowledge = trial.knowledge
    lists = np.concatenate([each.lists for each in made])
    warm, cold = lists[: len(trial.warm.people)], lists[len(trial.warm.people) :]
    counts = metrics.shown_counts(warm, knowledge.piece_count)
    is_cold = knowledge.met == 0
    group, gains = _group(warm, trial.warm.relevant, seed)
    shown = warm[warm != metrics.NOTHING]
    figures = MethodFigures(
        name=name,
        parameters=made[0].parameters,
        seconds=round(sum(each.seconds for each in made), 2),
        warm_people=group,
        cold_people=_group(cold, trial.cold.relevant, seed)[0],
        warm_pieces=_among(warm, trial, ~is_cold, seed),
        cold_pieces=_among(warm, trial, is_cold, seed),
        coverage10=round(metrics.coverage(counts), 5),
        gini10=round(metrics.gini(counts), 5),
        novelty10=round(metrics.novelty(warm, knowledge.met, knowledge.history.person_count), 3),
        cold_shown=round(float(is_cold[shown].mean()), 5) if len(shown) else 0.0,
    )
    return figures, gains


def _among(lists: IntArray, trial: Trial, pieces: BoolArray, seed: int) -> GroupFigures:
    """Return the figures of warm people where only some pieces are relevant."""
    relevant = [each[pieces[each]] for each in trial.warm.relevant]
    places = [place for place, each in enumerate(relevant) if len(each)]
    return _group(lists[places], [relevant[place] for place in places], seed)[0]


def _group(lists: IntArray, relevant: Sequence[IntArray], seed: int) -> tuple[GroupFigures, FloatArray]:
    """Return the figures of some people, and NDCG@10 of each; no figures without people."""
    if not relevant:
        return GroupFigures(people=0, ndcg10=None, recall20=None), np.zeros(0)
    hits, counts = metrics.hits_of(lists, relevant), counts_of(relevant)
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
