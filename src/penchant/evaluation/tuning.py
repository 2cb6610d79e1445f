"""Tuning: candidates for settings are replayed for some people, and the best is judged by other people.

Two splits by the same rule, one within the other; what a step judges by is never part of what it knows:

    all interactions   |------------------ known -------------------|-- held out --|
    choosing           |-------- known --------|---- held out ------|                 every candidate, by a third
    judging            |------------------ known -------------------|-- held out --|  the best alone, by the others

The best is proposed only if `objections`, the one rule, has none.
The search goes up a hill: a change of one setting is tried from the best so far, and becomes the best if it gains.
Lists are made by whoever there is (`candidate_lists`); while those of one candidate are awaited, those of the next
ones are made as if it gained nothing, which is mostly so. What the search finds does not depend on it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from penchant.evaluation import intervals
from penchant.evaluation.candidate_lists import (
    EARLY,
    FIRST_SHARE,
    LATE,
    TEST,
    CandidateLists,
    TuningRequest,
    TuningTrial,
)
from penchant.evaluation.intervals import Estimate
from penchant.evaluation.setting_changes import weight_faults
from penchant.evaluation.trials import Tell, mean_ndcg
from penchant.index import FloatArray, IntArray
from penchant.model import SourceSettings

CLEARLY = 2.0
"""How many standard errors are clear."""
WORTHWHILE = 0.5
"""How many standard errors a change has to gain: so proposals hold no whims, which change much and gain nothing
(D69 of docs/decisions.md)."""
MIN_JUDGES = 200
"""People who have to judge settings that are proposed: over fewer it says little (D148 of docs/decisions.md)."""
AHEAD = 32
"""Candidates of which lists may be made before it is known from which settings they start."""

Gather = Callable[[Sequence[int], Iterable[int]], Sequence[IntArray]]
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
    found = obstacles(after, people)
    if after == before:
        return found or ["No other settings did better where they were tried."]
    if not gain.low > 0:
        found.append(f"Those who judged gained {gain}; the whole interval has to lie above 0.")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningResult:
    """The result of tuning: ``settings`` are the best where they were chosen, ``better`` whether they are proposed.

    ``gain`` is how much greater NDCG@10 is, person by person, for those who judge; ``sure_gain`` the lower bound for
    those who choose, corrected for how many were tried.
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
        """Yield the changes from a number on that make other settings of the best."""
        settings = self.trial.settings(self.best)
        for number in range(begin, len(self.trial.changes)):
            if self.trial.changes[number][1](settings) != settings:
                yield number

    def run(self, tell: Tell) -> None:
        """Try changes until the time or the candidates are used up."""
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
        early, late = self.trial.places(EARLY), self.trial.places(LATE)
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
        asked = self.trial.test if group == TEST else self.trial.validation
        places = self.trial.places(group).tolist()
        if not places:
            return np.zeros(0)
        lists = self.gather(self.trial.items(mask, group), likely)
        # Of all at once: the figures of one person then do not depend on how people are cut into ranges.
        return mean_ndcg(np.concatenate(lists), [asked.relevant[place] for place in places])

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
        search.gains[trial.places(group)] = search.gains_of(0, group)
    before = search.gains
    if not obstacles(trial.known.settings, len(trial.test.people)):
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
        before=trial.known.settings,
        settings=trial.settings(search.best),
        tried=search.tried,
        validation_people=len(trial.validation.people),
        test_people=len(trial.test.people),
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
