"""Tuning: candidates for settings are replayed for some people, and the best is judged by other people.

Two splits by the same rule, one within the other; what a step judges by is never part of what it knows:

    all interactions   |------------------ known -------------------|-- held out --|
    choosing           |-------- known --------|---- held out ------|                 every candidate, by a third
    judging            |------------------ known -------------------|-- held out --|  the best alone, by the others

The best is proposed only if `objections`, the one rule, has none.
The search goes up a hill: a change of one setting is tried from the best so far, and becomes the best if it gains.
While the lists of one candidate are awaited, those of the next ones are made as if it gained nothing, which is mostly
so. What the search finds does not depend on it.

Changes of settings that tuning tries: each of one thing, in one order.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from penchant.errors import InvalidInput
from penchant.model import SourceSettings
from penchant_engine.computed import computed
from penchant_engine.index import FloatArray, IntArray
from penchant_engine.model import WHOLE, WORDS_CATEGORY, Blend, InteractionType, OrderUse
from penchant_lab import metrics
from penchant_lab.histories import TYPES, Knowledge, SourceHistory
from penchant_lab.list_work import MethodLists
from penchant_lab.metrics import Estimate
from penchant_lab.served import PreparedSource, ServedSource, full_like_of
from penchant_lab.splits import judged_settings, split
from penchant_lab.trials import EvaluationRequest, JudgedPeople, Tell, mean_ndcg, nothing_to_judge, sample_people

BLENDS = (
    (0.1, 0.8, 0.1), (0.0, 0.9, 0.1), (0.05, 0.9, 0.05), (0.1, 0.9, 0.0), (0.1, 0.6, 0.3), (0.1, 0.3, 0.6),
    (0.0, 0.6, 0.4), (0.2, 0.7, 0.1), (0.3, 0.6, 0.1), (0.3, 0.4, 0.3), (0.5, 0.4, 0.1), (0.7, 0.2, 0.1),
    (0.9, 0.0, 0.1),
)  # fmt: skip
"""Content, audience and popularity: a coarse net over what sources of all kinds may want."""
HALF_LIVES = (0.0, 30.0, 90.0, 365.0)
NEW_PIECE_HALF_LIVES = (0.0, 7.0, 30.0, 120.0)
CATEGORY_WEIGHTS = (0.0, 0.5, 1.0, 2.0, 4.0)
WORD_WEIGHTS = (0.0, 0.25, 0.5, 1.0)
"""Of words of texts: beside good tags more harms (D175 of docs/decisions.md)."""
MAX_CATEGORIES = 6
"""Categories that are tried: those with the most keywords in pieces."""
TYPE_FACTORS = (0.0, 0.33, 3.0)
"""What the weight of a type of interaction is tried to be multiplied by."""
MAX_TYPE_WEIGHT = 100
DELIBERATE = (
    InteractionType.PURCHASE,
    InteractionType.WATCH,
    InteractionType.RATE_LIKE,
    InteractionType.RATE_DISLIKE,
)
"""What people do on purpose, so that it has to count: who only rates would otherwise have an empty profile."""
NEARBY = 0.1
"""How far blends are drawn around the best, once the net is used up."""

ORDER = "order of likes"

Change = Callable[[SourceSettings], SourceSettings]


def changes(history: SourceHistory, knowledge: Knowledge, seed: int) -> Iterator[tuple[str, Change]]:
    """Give changes one after the other, each of one thing: first a coarse net, then draws near the best."""
    for content, audience, popularity in BLENDS:
        yield "blend", _replacing(blend=Blend(content=content, audience=audience, popularity=popularity))
    for kind in (TYPES[number] for number in np.unique(knowledge.events.types).tolist()):
        for factor in TYPE_FACTORS:
            yield f"weight of {kind.value}", _weighing(kind, factor)
    for days in HALF_LIVES:
        yield "half-life", _replacing(half_life_days=days)
    for days in NEW_PIECE_HALF_LIVES:
        yield "half-life of new pieces", _replacing(new_piece_half_life_days=days)
    for use in (OrderUse.AUTO, OrderUse.OFF):
        yield ORDER, _replacing(order=use)
    for category in _categories(history):
        for weight in WORD_WEIGHTS if category == WORDS_CATEGORY else CATEGORY_WEIGHTS:
            yield f"weight of {category}", _categorising(category, weight)
    # Without end: the caller stops by time, or by the number of candidates.
    random = np.random.default_rng([seed, 5])
    while True:
        yield "blend nearby", _nearby(random.normal(0, NEARBY, 3).tolist())


def _replacing(**members: Any) -> Change:
    return lambda settings: replace(settings, **members)


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


def weight_faults(weights: Mapping[InteractionType, float]) -> list[str]:
    """Return which weights are not to be proposed, a sentence each.

    No act counts for its opposite, and what is `DELIBERATE` counts: its weight is not 0.
    """
    faults = []
    for kind, weight in weights.items():
        side = "above" if kind.default_weight > 0 else "below"
        strength = weight if kind.default_weight > 0 else -weight
        if kind in DELIBERATE and strength <= 0:
            faults.append(f"{kind.value} weighs {weight:g}; only weights {side} 0 are proposed for it.")
        elif strength < 0:
            faults.append(f"{kind.value} weighs {weight:g}; only 0 and weights {side} 0 are proposed for it.")
    return faults


def _weighing(kind: InteractionType, factor: float) -> Change:
    def change(settings: SourceSettings) -> SourceSettings:
        weight = round(min(MAX_TYPE_WEIGHT, max(-MAX_TYPE_WEIGHT, settings.interaction_weights[kind] * factor)), 2)
        # Settings as they were are not tried.
        if weight_faults({kind: weight}):
            return settings
        return replace(settings, interaction_weights={**settings.interaction_weights, kind: weight})

    return change


def _categorising(category: str, weight: float) -> Change:
    def change(settings: SourceSettings) -> SourceSettings:
        weights = {name: value for name, value in settings.category_weights.items() if name != category}
        usual = replace(settings, category_weights=weights).category_factors.get(category, 1)
        return replace(settings, category_weights=weights if weight == usual else {**weights, category: weight})

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
    changed: list[tuple[str, object, object]] = []
    for name in dict.fromkeys((*before, *after)):
        one, other = before.get(name), after.get(name)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            changed += [(f"{name}.{inner}", *both) for inner, *both in changed_members(one, other)]  # type: ignore[misc]
        elif one != other:
            changed.append((name, one, other))
    return changed


CANDIDATES = 60
SECONDS = 300.0
PEOPLE = 1_000
TEST_PEOPLE = 3_000
CHOOSING_SHARE = 1 / 3
"""The share of people who may choose; all others may judge, and none does both."""
UNCHANGING = 100
"""Changes beyond the candidates: more of them than this can leave settings as they are."""
FIRST_SHARE = 4
"""A candidate that is clearly worse for one in so many people is not asked for by the others."""
RANGE = 250
"""People of an item: some tenths of a second of lists."""
KEPT = 3
"""Audiences that a process keeps: those of the settings in force, of the best, and of a candidate."""
EARLY, LATE, TEST = range(3)
"""Groups of people: the first to try a candidate, the others, and those who judge the best."""
CLEARLY = 2.0
"""How many standard errors are clear."""
WORTHWHILE = 0.5
"""How many standard errors a change has to gain: so proposals hold no whims, which change much and gain nothing
(D69 of docs/decisions.md)."""
MIN_JUDGES = 200
"""People who have to judge settings that are proposed: over fewer it says little (D148 of docs/decisions.md)."""
AHEAD = 32
"""Candidates of which lists may be made before it is known from which settings they start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningRequest:
    """How to tune, and with how much effort; ``test_people`` judge the best, and no other."""

    trial: EvaluationRequest
    candidates: int = CANDIDATES
    seconds: float = SECONDS
    test_people: int = TEST_PEOPLE


class PeopleRange(NamedTuple):
    """People of one group."""

    group: int
    people: IntArray


@dataclass(frozen=True, eq=False, kw_only=True)
class TuningTrial:
    """Both splits: ``part`` is known where candidates are chosen, ``training`` where the best is judged.

    Those who choose (``validation``) and those who judge (``test``) have nobody in common. ``order`` is the setting in
    force, which a split at random turns off and leaves untried.
    """

    part: Knowledge
    validation: JudgedPeople
    training: Knowledge
    test: JudgedPeople
    changes: Sequence[tuple[str, Change]]
    order: OrderUse

    @classmethod
    def of(cls, history: SourceHistory, request: TuningRequest) -> "TuningTrial":
        """Return the splits of a history.

        Raises:
            InvalidInput: there is no person to judge by.
        """
        parts = split(history.events, request.trial.split, request.trial.relevant)
        judged_by = judged_settings(history.settings, request.trial.split)
        known = Knowledge.of(history, parts.known, judged_by)
        # A stream of its own, as each draw has.
        draw = np.random.default_rng([request.trial.split.seed, 9]).random(history.person_count)
        chooses = draw < CHOOSING_SHARE
        judged = replace(request.trial, people=request.test_people)
        test, _ = sample_people(known, parts.held_out, judged, ~chooses)
        inner = replace(history, events=known.events)
        inner_parts = split(inner.events, request.trial.split, request.trial.relevant)
        part = Knowledge.of(inner, inner_parts.known, judged_by)
        validation, _ = sample_people(part, inner_parts.held_out, request.trial, chooses)
        choosing, judging = len(validation.people), len(test.people)
        if not choosing and not judging:
            raise InvalidInput(nothing_to_judge(history, request.trial))
        if not choosing or not judging:
            raise InvalidInput(
                f"{history.name} has too few people: {choosing} to try settings on, {judging} others to judge them by."
            )
        all_changes = changes(history, part, request.trial.split.seed)
        if judged_by is not history.settings:
            all_changes = (each for each in all_changes if each[0] != ORDER)
        return cls(
            part=part,
            validation=validation,
            training=known,
            test=test,
            changes=list(islice(all_changes, request.candidates + UNCHANGING)),
            order=history.settings.order,
        )

    def settings(self, mask: int) -> SourceSettings:
        """Return the settings that some changes make, one after the other."""
        settings = self.part.settings
        for number, (_, change) in enumerate(self.changes):
            if mask >> number & 1:
                settings = change(settings)
        return settings

    def only_scales(self, one: SourceSettings, other: SourceSettings) -> bool:
        """Return whether only the weight of the one type that counts differs, in a history of whole interactions.

        A like counts beside a full one, and a taste beside its greatest keyword: that changes neither.
        """
        if replace(other, interaction_weights=one.interaction_weights) != one:
            return False
        counted = {kind for kind in self.kinds if one.interaction_weights[kind]}
        left = {kind for kind in self.kinds if other.interaction_weights[kind]}
        return len(counted) == 1 and left <= counted and bool((self.training.events.portions == WHOLE).all())

    @computed
    def kinds(self) -> Sequence[InteractionType]:
        """The types that occur."""
        return [TYPES[number] for number in np.unique(self.training.events.types).tolist()]

    def rows(self, group: int) -> IntArray:
        """Return where a group stands among the people of its split."""
        if group == TEST:
            return np.arange(len(self.test.people))
        # Spread over all: people stand in the order of their first interaction.
        is_early = np.arange(len(self.validation.people)) % FIRST_SHARE == 0
        return np.flatnonzero(is_early if group == EARLY else ~is_early)

    @property
    def item_count(self) -> int:
        """How many items there are, of all settings that changes can make."""
        return len(self.ranges) << len(self.changes)

    @computed
    def ranges(self) -> list[PeopleRange]:
        """All people, group by group."""
        sides = ((EARLY, self.validation), (LATE, self.validation), (TEST, self.test))
        ranges = []
        for group, side in sides:
            people = side.people[self.rows(group)]
            ranges += [PeopleRange(group, people[begin : begin + RANGE]) for begin in range(0, len(people), RANGE)]
        return ranges

    def items(self, mask: int, *groups: int) -> list[int]:
        """Return the items of some groups under the settings that some changes make."""
        numbers = (number for number, each in enumerate(self.ranges) if each.group in groups)
        return [mask * len(self.ranges) + number for number in numbers]


class CandidateLists:
    """Makes what settings in the making would have people shown.

    An item is numbered by the changes that made the settings (bit i for change i) and by a range of people, so that
    the number alone says what is to be done, and items can be asked for in any order, as the search comes to them.
    """

    def __init__(self, trial: TuningTrial) -> None:
        self._trial = trial
        self._prepared: dict[bool, list[PreparedSource]] = {False: [], True: []}
        self._last: tuple[tuple[int, bool], ServedSource] | None = None

    @classmethod
    def of(cls, history: SourceHistory, request: TuningRequest) -> "CandidateLists":
        """Return what makes the lists of a history."""
        return cls(TuningTrial.of(history, request))

    def make(self, item: int) -> MethodLists:
        """Return the lists of an item; what was made ready for the last ones is kept."""
        mask, number = divmod(item, len(self._trial.ranges))
        group, people = self._trial.ranges[number]
        return MethodLists(self._served(mask, is_test=group == TEST).lists(people))

    def _served(self, mask: int, *, is_test: bool) -> ServedSource:
        if self._last is None or self._last[0] != (mask, is_test):
            knowledge = self._trial.training if is_test else self._trial.part
            knowledge = replace(knowledge, settings=self._trial.settings(mask))
            self._last = (mask, is_test), ServedSource(knowledge, self._source(knowledge, is_test=is_test))
        return self._last[1]

    def _source(self, knowledge: Knowledge, *, is_test: bool) -> PreparedSource:
        """Return what is prepared for settings, out of what is kept if it is there."""
        kept = self._prepared[is_test]
        prepared = next((each for each in kept if each.is_for(knowledge.settings)), None)
        if prepared is None:
            prepared = kept[0].under(knowledge) if kept else PreparedSource.of(knowledge)
        else:
            kept.remove(prepared)
        self._prepared[is_test] = [prepared, *kept[: KEPT - 1]]
        return prepared


Gather = Callable[[Sequence[int], Iterable[int]], Sequence[MethodLists]]
"""Gives the lists of items, in their order; meanwhile those of other ones may be made, which are likely to be next."""


def obstacles(settings: SourceSettings, people: int) -> list[str]:
    """Return what speaks against proposing settings whatever they gain, a sentence each.

    ``people`` are those who judge.
    """
    few = f"{people:,} people can judge; {MIN_JUDGES} are needed."
    return [few] * (people < MIN_JUDGES) + weight_faults(settings.interaction_weights)


def objections(before: SourceSettings, after: SourceSettings, people: int, gain: Estimate) -> list[str]:
    """Return why ``after`` is not proposed instead of ``before``, a sentence each; without one it is.

    ``gain`` is that of NDCG@10 among so many people, by whom nothing was chosen.
    """
    reasons = obstacles(after, people)
    if after == before:
        return reasons or ["No other settings did better where they were tried."]
    if not gain.low > 0:
        reasons.append(f"Those who judged gained {gain}; the whole interval has to lie above 0.")
    return reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningResult:
    """The result of tuning: ``settings`` are the best where they were chosen, ``better`` whether they are proposed.

    ``gain`` is how much greater NDCG@10 is, person by person, for those who judge; ``sure_gain`` the lower bound for
    those who choose, corrected for how many were tried. ``full_like`` says what weights of types count beside.
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
    full_like: str

    @property
    def objections(self) -> list[str]:
        """Why the settings are not proposed."""
        return objections(self.before, self.settings, self.test_people, self.gain)

    @property
    def better(self) -> bool:
        """Whether the settings are proposed."""
        return not self.objections


@dataclass(slots=True, eq=False, kw_only=True)
class _Search:
    """The best settings so far, and what is left to spend.

    ``best`` are the changes that made them, as a mask, ``gains`` those of the best by person.
    """

    trial: TuningTrial
    request: TuningRequest
    gather: Gather
    now: Callable[[], float]
    until: float
    best: int = 0
    gains: FloatArray = field(default_factory=lambda: np.zeros(0))
    tried: int = 0

    @property
    def is_over(self) -> bool:
        return self.tried >= self.request.candidates or self.now() >= self.until

    def candidates(self, begin: int) -> Iterator[int]:
        """Yield the changes from a number on that make other settings of the best, by which lists may be others."""
        settings = self.trial.settings(self.best)
        for number in range(begin, len(self.trial.changes)):
            changed = self.trial.changes[number][1](settings)
            if changed != settings and not self.trial.only_scales(settings, changed):
                yield number

    def run(self, tell: Tell) -> None:
        number = -1
        while not self.is_over:
            number = next(self.candidates(number + 1), -1)
            if number < 0:
                return
            tell(self.trial.changes[number][0], self.tried, self.request.candidates)
            self.attempt(number)

    def attempt(self, number: int) -> None:
        """Try a change, and make it part of the best so far if it gains enough."""
        self.tried += 1
        mask = self.best | 1 << number
        # First a quarter of the people: a candidate that is clearly worse costs only that.
        early, late = self.trial.rows(EARLY), self.trial.rows(LATE)
        gains = self.gains.copy()
        gains[early] = self.gains_of(mask, EARLY, self._following(number))
        lead = gains[early] - self.gains[early]
        first = max(1, len(gains) // FIRST_SHARE)
        if lead.mean() < -CLEARLY * lead.std() / np.sqrt(first):
            return
        gains[late] = self.gains_of(mask, LATE, self._following(number))
        # Person by person against the best: what counts is the spread of the differences, not that of the gains.
        lead = gains - self.gains
        if lead.mean() > WORTHWHILE * lead.std() / np.sqrt(len(lead)):
            self.best, self.gains = mask, gains

    def gains_of(self, mask: int, group: int, likely: Iterable[int] = ()) -> FloatArray:
        """Return NDCG@10 of a group, in the order of its people; ``likely`` is what may be asked for next."""
        judges = self.trial.test if group == TEST else self.trial.validation
        rows = self.trial.rows(group).tolist()
        if not rows:
            return np.zeros(0)
        lists = self.gather(self.trial.items(mask, group), likely)
        # Of all at once: the figures of one person then do not depend on how people are cut into ranges.
        return mean_ndcg(np.concatenate([part.lists for part in lists]), [judges.relevant[row] for row in rows])

    def _following(self, number: int) -> Iterator[int]:
        """Yield the items that come after a change if the best stays as it is."""
        ahead = min(AHEAD, self.request.candidates - self.tried)
        for following in islice(self.candidates(number + 1), ahead):
            yield from self.trial.items(self.best | 1 << following, EARLY)


def tune(
    trial: TuningTrial, request: TuningRequest, gather: Gather, tell: Tell, now: Callable[[], float]
) -> TuningResult:
    """Return the best settings that were found in time, judged by people by whom nothing was chosen.

    Nothing is tried where no settings could be proposed.
    ``now`` is a monotonic clock, in seconds; a request's time begins with the call.
    """
    search = _Search(trial=trial, request=request, gather=gather, now=now, until=now() + request.seconds)
    tell("the settings in force", 0, request.candidates)
    search.gains = np.zeros(len(trial.validation.people))
    for group in (EARLY, LATE):
        search.gains[trial.rows(group)] = search.gains_of(0, group)
    before = search.gains
    if not obstacles(trial.training.settings, len(trial.test.people)):
        search.run(tell)
    tell("judging", request.candidates, request.candidates)
    return _judged(search, before)


def gather_here(trial: TuningTrial) -> Gather:
    """Return what makes lists in this process."""
    lists = CandidateLists(trial)
    return lambda needed, _likely: [lists.make(item) for item in needed]


def _judged(search: _Search, before: FloatArray) -> TuningResult:
    """Return the result, with the best settings judged by people and interactions that the search did not see."""
    trial, seed = search.trial, search.request.trial.split.seed
    earlier = search.gains_of(0, TEST)
    later = search.gains_of(search.best, TEST) if search.best else earlier
    return TuningResult(
        before=_with_order(trial.training.settings, trial),
        settings=_with_order(trial.settings(search.best), trial),
        tried=search.tried,
        validation_people=len(trial.validation.people),
        test_people=len(trial.test.people),
        validation_gain=_estimate(search.gains - before, seed),
        sure_gain=metrics.certain_gain(search.gains - before, search.tried),
        test_before=_estimate(earlier, seed),
        test_after=_estimate(later, seed),
        gain=_estimate(later - earlier, seed),
        full_like=full_like_of(replace(trial.training, settings=trial.settings(search.best))),
    )


def _estimate(values: FloatArray, seed: int) -> Estimate:
    estimated = metrics.estimate(values, seed)
    assert estimated is not None  # noqa: S101  # there is a person
    return estimated


def _with_order(settings: SourceSettings, trial: TuningTrial) -> SourceSettings:
    """Return settings as they are proposed: with the order in force where none was tried."""
    return replace(settings, order=trial.order) if all(name != ORDER for name, _ in trial.changes) else settings
