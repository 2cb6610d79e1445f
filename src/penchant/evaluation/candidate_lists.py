"""Candidate lists: what settings in the making would have people shown, as the work of a plan.

An item is numbered by the changes that made the settings (bit i for change i) and by a range of people, so that the
number alone says what is to be done, and items can be asked for in any order, as the search comes to them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from penchant.cluster import Files, Work, WorkPlan
from penchant.errors import InvalidInput
from penchant.evaluation import work_files
from penchant.evaluation.histories import SourceHistory
from penchant.evaluation.knowledge import Knowledge
from penchant.evaluation.metrics import RECALLED
from penchant.evaluation.served import PreparedSource, ServedSource
from penchant.evaluation.setting_changes import Change, changes
from penchant.evaluation.splits import split
from penchant.evaluation.trials import EvaluationRequest, JudgedPeople, asked_people, nothing_to_judge
from penchant.index import IntArray
from penchant.model import SourceSettings
from penchant.service.bulk_lists import KernelChoice

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
TRIAL = "trial"
WORK = "penchant.evaluation.candidate_lists:prepare"


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
    """Both splits: ``part`` is known where candidates are chosen, ``known`` where the best is judged.

    Those who choose (``validation``) and those who judge (``test``) have nobody in common.
    """

    part: Knowledge
    validation: JudgedPeople
    known: Knowledge
    test: JudgedPeople
    changes: Sequence[tuple[str, Change]]

    @classmethod
    def of(cls, history: SourceHistory, request: TuningRequest) -> "TuningTrial":
        """Return the splits of a history.

        Raises:
            InvalidInput: there is no person to judge by.
        """
        parts = split(history.events, request.trial.split)
        known = Knowledge.of(history, parts.known, history.settings)
        # A stream of its own, as each draw has.
        draw = np.random.default_rng([request.trial.split.seed, 9]).random(history.person_count)
        chooses = draw < CHOOSING_SHARE
        judged = replace(request.trial, people=request.test_people)
        test, _ = asked_people(known, parts.held_out, judged, ~chooses)
        inner = replace(history, events=known.events)
        inner_parts = split(inner.events, request.trial.split)
        part = Knowledge.of(inner, inner_parts.known, history.settings)
        validation, _ = asked_people(part, inner_parts.held_out, request.trial, chooses)
        choosing, judging = len(validation.people), len(test.people)
        if not choosing and not judging:
            raise InvalidInput(nothing_to_judge(history, request.trial))
        if not choosing or not judging:
            raise InvalidInput(
                f"{history.name} has too few people: {choosing} to try settings on, {judging} others to judge them by."
            )
        tried = islice(changes(history, part, request.trial.split.seed), request.candidates + UNCHANGING)
        return cls(part=part, validation=validation, known=known, test=test, changes=list(tried))

    def settings(self, mask: int) -> SourceSettings:
        """Return the settings that some changes make, one after the other."""
        settings = self.part.settings
        for number, (_, change) in enumerate(self.changes):
            if mask >> number & 1:
                settings = change(settings)
        return settings

    def places(self, group: int) -> IntArray:
        """Return where a group stands among the people of its split."""
        if group == TEST:
            return np.arange(len(self.test.people))
        # Spread over all: people stand in the order of their first interaction.
        is_early = np.arange(len(self.validation.people)) % FIRST_SHARE == 0
        return np.flatnonzero(is_early if group == EARLY else ~is_early)

    @cached_property
    def ranges(self) -> list[PeopleRange]:
        """All people, group by group."""
        sides = ((EARLY, self.validation), (LATE, self.validation), (TEST, self.test))
        found = []
        for group, side in sides:
            people = side.people[self.places(group)]
            found += [PeopleRange(group, people[begin : begin + RANGE]) for begin in range(0, len(people), RANGE)]
        return found

    def items(self, mask: int, *groups: int) -> list[int]:
        """Return the items of some groups under the settings that some changes make."""
        places = (place for place, each in enumerate(self.ranges) if each.group in groups)
        return [mask * len(self.ranges) + place for place in places]


class CandidateLists:
    """Makes the lists of items; what it has made ready for the last ones it keeps."""

    def __init__(self, trial: TuningTrial) -> None:
        self._trial = trial
        self._prepared: dict[bool, list[PreparedSource]] = {False: [], True: []}
        self._last: tuple[tuple[int, bool], ServedSource] | None = None

    def make(self, item: int) -> IntArray:
        """Return the lists of an item, shape (n_people, 20)."""
        mask, place = divmod(item, len(self._trial.ranges))
        group, people = self._trial.ranges[place]
        return self._served(mask, is_test=group == TEST).lists(people)

    def _served(self, mask: int, *, is_test: bool) -> ServedSource:
        if self._last is None or self._last[0] != (mask, is_test):
            knowledge = self._trial.known if is_test else self._trial.part
            knowledge = replace(knowledge, settings=self._trial.settings(mask))
            self._last = (mask, is_test), ServedSource(knowledge, self._source(knowledge, is_test=is_test))
        return self._last[1]

    def _source(self, knowledge: Knowledge, *, is_test: bool) -> PreparedSource:
        """Return what is prepared for settings, out of what is kept if it is there."""
        kept = self._prepared[is_test]
        found = next((each for each in kept if each.is_for(knowledge.settings)), None)
        if found is None:
            found = kept[0].under(knowledge) if kept else PreparedSource.of(knowledge)
        else:
            kept.remove(found)
        self._prepared[is_test] = [found, *kept[: KEPT - 1]]
        return found


def write_plan(work: tuple[SourceHistory, TuningRequest, KernelChoice], trial: TuningTrial, folder: Path) -> WorkPlan:
    """Write the file of the work, and return its plan."""
    work_files.write_work(folder / TRIAL, work)
    return WorkPlan(work=WORK, files=(TRIAL,), count=len(trial.ranges) << len(trial.changes), size=1)


def prepare(files: Files) -> Work:
    """Return what makes the lists of items."""
    history, request, kernels = work_files.read_work(files[TRIAL])
    kernels.use()
    lists = CandidateLists(TuningTrial.of(history, request))

    def work(item: int, _end: int) -> bytes:
        return lists.make(item).astype("<i8").tobytes()

    return work


def lists_in(content: bytes) -> IntArray:
    """Return the lists of an item out of its bytes."""
    return np.frombuffer(content, dtype="<i8").astype(np.int64).reshape(-1, RECALLED)
