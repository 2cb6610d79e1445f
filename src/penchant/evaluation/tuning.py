"""Tuning: candidates for settings are replayed on a validation split, and the best is judged on another one.

Two splits by the same rule, one within the other; what a step judges by is never part of what it knows:

    all interactions   |------------------ known -------------------|-- held out --|
    choosing           |-------- known --------|---- held out ------|                 for every candidate
    judging            |------------------ known -------------------|-- held out --|  once, for the best alone

The search goes up a hill: a change of one setting is tried from the best so far, and becomes the best if it gains.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from penchant.errors import InvalidInput
from penchant.evaluation import intervals
from penchant.evaluation.contest import (
    EvaluationRequest,
    JudgedPeople,
    asked_people,
    in_batches,
    mean_ndcg,
    nothing_to_judge,
)
from penchant.evaluation.histories import TYPES, SourceHistory
from penchant.evaluation.intervals import Estimate
from penchant.evaluation.knowledge import Knowledge
from penchant.evaluation.served import ServedSource
from penchant.evaluation.splits import split
from penchant.index import BoolArray, FloatArray
from penchant.model import Blend, InteractionType, SourceSettings

CANDIDATES = 60
SECONDS = 300.0
PEOPLE = 1_000
TEST_PEOPLE = 3_000
BLENDS = (
    (0.1, 0.8, 0.1), (0.0, 0.9, 0.1), (0.05, 0.9, 0.05), (0.1, 0.9, 0.0), (0.1, 0.6, 0.3), (0.1, 0.3, 0.6),
    (0.0, 0.6, 0.4), (0.2, 0.7, 0.1), (0.3, 0.6, 0.1), (0.3, 0.4, 0.3), (0.5, 0.4, 0.1), (0.7, 0.2, 0.1),
    (0.9, 0.0, 0.1),
)  # fmt: skip
"""Content, audience and popularity: a coarse net over what sources of all kinds may want."""
HALF_LIVES = (0.0, 30.0, 90.0, 365.0)
NEW_PIECE_HALF_LIVES = (0.0, 7.0, 30.0, 120.0)
CATEGORY_WEIGHTS = (0.0, 0.5, 1.0, 2.0, 4.0)
MAX_CATEGORIES = 6
"""Categories that are tried: those with the most keywords in pieces."""
TYPE_FACTORS = (0.0, 0.33, 3.0)
"""What the weight of a type of interaction is tried to be multiplied by."""
MAX_TYPE_WEIGHT = 100
NEARBY = 0.1
"""How far blends are drawn around the best, once the net is used up."""
FIRST_SHARE = 4
"""A candidate that is clearly worse for one in so many people is not asked for by the others."""
CLEARLY = 2.0
"""How many standard errors are clear."""
WORTHWHILE = 0.5
"""How many standard errors a change has to gain: so proposals hold no whims, which change much and gain nothing
(D69 of docs/decisions.md)."""

Change = Callable[[SourceSettings], SourceSettings]
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningRequest:
    """How to tune, and with how much effort; ``test_people`` judge the best, and no other."""

    trial: EvaluationRequest
    candidates: int = CANDIDATES
    seconds: float = SECONDS
    test_people: int = TEST_PEOPLE


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningResult:
    """The result of tuning: ``settings`` are the best on the validation split, ``better`` whether they are proposed.

    ``gain`` is how much greater NDCG@10 is, person by person; ``sure_gain`` the lower bound on the validation split,
    corrected for how many were tried.
    """

    before: SourceSettings
    settings: SourceSettings
    tried: int
    validation_people: int
    test_people: int
    validation_gain: Estimate
    sure_gain: float
    test_before: Estimate
    test_after: Estimate
    gain: Estimate

    @property
    def better(self) -> bool:
        """Whether the gain on the validation split is certain, and there is none the other way on the test split."""
        return self.settings != self.before and self.sure_gain > 0 and self.gain.value >= 0


@dataclass(slots=True, eq=False, kw_only=True)
class _Search:
    """The best settings so far, and what is left to spend; ``gains`` are those of the best by person."""

    served: ServedSource
    knowledge: Knowledge
    asked: JudgedPeople
    now: Callable[[], float]
    until: float
    most: int
    gains: FloatArray = field(default_factory=lambda: np.zeros(0))
    tried: int = 0

    @property
    def settings(self) -> SourceSettings:
        return self.knowledge.settings

    @property
    def is_over(self) -> bool:
        return self.tried >= self.most or self.now() >= self.until

    def attempt(self, settings: SourceSettings) -> None:
        """Try settings, and make them the best so far if they gain enough."""
        self.tried += 1
        knowledge = replace(self.knowledge, settings=settings)
        served = self.served.under(knowledge)
        # First a quarter of the people: a candidate that is clearly worse costs only that.
        first = max(1, len(self.asked.people) // FIRST_SHARE)
        # Spread over all: people stand in the order of their first interaction.
        early = np.arange(len(self.asked.people)) % FIRST_SHARE == 0
        gains = self.gains.copy()
        gains[early] = gains_of(served, self.asked, early)
        lead = gains[early] - self.gains[early]
        if lead.mean() < -CLEARLY * lead.std() / np.sqrt(first):
            return
        gains[~early] = gains_of(served, self.asked, ~early)
        # Person by person against the best: what counts is the spread of the differences, not that of the gains.
        lead = gains - self.gains
        if lead.mean() > WORTHWHILE * lead.std() / np.sqrt(len(lead)):
            self.served, self.knowledge, self.gains = served, knowledge, gains


def tune(history: SourceHistory, request: TuningRequest, tell: Tell, now: Callable[[], float]) -> TuningResult:
    """Return the best settings that were found in time, judged by people whose later likes were not looked at before.

    ``now`` is a monotonic clock, in seconds.

    Raises:
        InvalidInput: there is no person to judge by.
    """
    started = now()
    parts = split(history.events, request.trial.split)
    known = Knowledge.of(history, parts.known, history.settings)
    test, _ = asked_people(known, parts.held_out, replace(request.trial, people=request.test_people))
    inner = replace(history, events=known.events)
    inner_parts = split(inner.events, request.trial.split)
    part = Knowledge.of(inner, inner_parts.known, history.settings)
    validation, _ = asked_people(part, inner_parts.held_out, request.trial)
    if not len(test.people) or not len(validation.people):
        raise InvalidInput(nothing_to_judge(history, request.trial))
    tell("the settings in force", 0, request.candidates)
    everybody = np.ones(len(validation.people), dtype=np.bool_)
    served = ServedSource(part)
    before = gains_of(served, validation, everybody)
    search = _Search(
        served=served,
        knowledge=part,
        asked=validation,
        now=now,
        until=started + request.seconds,
        most=request.candidates,
        gains=before,
    )
    for what, change in _changes(history, part, request.trial.split.seed):
        if search.is_over:
            break
        # From the best at this moment, which an earlier change of another setting may have made.
        settings = change(search.settings)
        if settings != search.settings:
            tell(what, search.tried, request.candidates)
            search.attempt(settings)
    tell("judging", request.candidates, request.candidates)
    return _judged(search, before, (known, test), request.trial.split.seed)


def gains_of(served: ServedSource, asked: JudgedPeople, which: BoolArray) -> FloatArray:
    """Return NDCG@10 of the people that a mask chooses, in their order."""
    places = np.flatnonzero(which).tolist()
    relevant = [asked.relevant[place] for place in places]
    if not places:
        return np.zeros(0)
    return mean_ndcg(in_batches(served.lists, asked.people[which], lambda _done: None), relevant)


def _judged(search: _Search, before: FloatArray, judges: tuple[Knowledge, JudgedPeople], seed: int) -> TuningResult:
    """Return the result, with the best settings judged by people and interactions that the search did not see."""
    known, test = judges
    everybody = np.ones(len(test.people), dtype=np.bool_)
    old = ServedSource(known)
    earlier = gains_of(old, test, everybody)
    later = earlier
    if search.settings != known.settings:
        later = gains_of(old.under(replace(known, settings=search.settings)), test, everybody)
    return TuningResult(
        before=known.settings,
        settings=search.settings,
        tried=search.tried,
        validation_people=len(search.asked.people),
        test_people=len(test.people),
        validation_gain=_estimate(search.gains - before, seed),
        sure_gain=intervals.certain_gain(search.gains - before, search.tried),
        test_before=_estimate(earlier, seed),
        test_after=_estimate(later, seed),
        gain=_estimate(later - earlier, seed),
    )


def _estimate(values: FloatArray, seed: int) -> Estimate:
    found = intervals.estimate(values, seed)
    assert found is not None  # noqa: S101  # there is a person
    return found


def _changes(history: SourceHistory, knowledge: Knowledge, seed: int) -> Iterator[tuple[str, Change]]:
    """Give changes one after the other, each of one thing: first a coarse net, then draws near the best."""
    for content, audience, popularity in BLENDS:
        yield "blend", _blended(Blend(content=content, audience=audience, popularity=popularity))
    for kind in (TYPES[number] for number in np.unique(knowledge.events.types).tolist()):
        for factor in TYPE_FACTORS:
            yield f"weight of {kind.value}", _weighing(kind, factor)
    for days in HALF_LIVES:
        yield "half-life", _forgetting(days)
    for days in NEW_PIECE_HALF_LIVES:
        yield "half-life of new pieces", _ageing(days)
    for category in _categories(history):
        for weight in CATEGORY_WEIGHTS:
            yield f"weight of {category}", _categorising(category, weight)
    # Without end: the caller stops by time, or by the number of candidates.
    random = np.random.default_rng([seed, 5])
    while True:
        yield "blend nearby", _nearby(random.normal(0, NEARBY, 3).tolist())


def _blended(blend: Blend) -> Change:
    return lambda settings: replace(settings, blend=blend)


def _forgetting(days: float) -> Change:
    return lambda settings: replace(settings, half_life_days=days)


def _ageing(days: float) -> Change:
    return lambda settings: replace(settings, new_piece_half_life_days=days)


def _nearby(steps: Sequence[float]) -> Change:
    """Return the change that moves the shares of the blend by these steps, down to 0 at least."""

    def change(settings: SourceSettings) -> SourceSettings:
        blend = settings.blend
        total = blend.content + blend.audience + blend.popularity
        shares = (blend.content / total, blend.audience / total, blend.popularity / total)
        content, audience, popularity = (
            round(max(0.0, share + step), 2) for share, step in zip(shares, steps, strict=True)
        )
        if not content + audience + popularity:
            return settings
        return replace(settings, blend=Blend(content=content, audience=audience, popularity=popularity))

    return change


def _weighing(kind: InteractionType, factor: float) -> Change:
    def change(settings: SourceSettings) -> SourceSettings:
        weight = round(min(MAX_TYPE_WEIGHT, max(-MAX_TYPE_WEIGHT, settings.interaction_weights[kind] * factor)), 2)
        return replace(settings, interaction_weights={**settings.interaction_weights, kind: weight})

    return change


def _categorising(category: str, weight: float) -> Change:
    def change(settings: SourceSettings) -> SourceSettings:
        weights = {name: value for name, value in settings.category_weights.items() if name != category}
        return replace(settings, category_weights=weights if weight == 1 else {**weights, category: weight})

    return change


def _categories(history: SourceHistory) -> Sequence[str]:
    """Return the categories with the most keywords in pieces; of one category alone a weight changes nothing."""
    counts: dict[str, int] = {}
    for piece in history.pieces:
        for term in piece.weights:
            counts[term.category] = counts.get(term.category, 0) + 1
    if len(counts) < 2:
        return ()
    return sorted(counts, key=lambda name: (-counts[name], name))[:MAX_CATEGORIES]


def changed_members(before: Mapping[str, object], after: Mapping[str, object]) -> list[tuple[str, object, object]]:
    """Return which members of settings differ, inner ones by their path, with both values; ``None`` for none."""
    found: list[tuple[str, object, object]] = []
    for name in dict.fromkeys((*before, *after)):
        one, other = before.get(name), after.get(name)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            found += [(f"{name}.{inner}", *both) for inner, *both in changed_members(one, other)]  # type: ignore[misc]
        elif one != other:
            found.append((name, one, other))
    return found
