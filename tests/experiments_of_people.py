"""Experiments with people who differ: many at once, day by day, as the counts of groups of people.

A person keeps an inclination and comes again and again, ten pieces a visit; some people come later than others. What a
person does on a day is Poisson, and so is the sum over a group, of which alone the statistics know.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penchant.experiments import (
    MOST_OF_FEW,
    MOST_OF_GROUP,
    Arm,
    BoundedArms,
    bounded_arms,
    design_effect,
    difference,
    share_of_few,
    share_of_group,
)
from penchant_rows.storage.placement_counts import GROUPS, STAGE_PIECES, STAGES

PIECES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What experiments are made of: people a group, visits a day, the mean rate, how people differ, and the lift."""

    experiments: int
    days: int
    people: int = 4
    visits: float = 0.3
    rate: float = 0.05
    alike: float = 2.0
    """The smaller, the more people differ: the shape of the gamma law of their inclinations."""
    lift: float = 0.0
    seed: int = 1


def days_of(trial: Trial) -> Iterator[tuple[Arm, Arm]]:
    """Yield base and variant of all experiments after each day."""
    random = np.random.default_rng(trial.seed)
    arms = [_Population(trial, random, factor) for factor in (1.0, 1.0 + trial.lift)]
    for day in range(trial.days):
        first, second = (arm.after(day) for arm in arms)
        yield first, second


class _Population:
    """The people of an arm in all experiments, the later ones of which come after a third of the time."""

    def __init__(self, trial: Trial, random: np.random.Generator, factor: float) -> None:
        shape = (2, trial.experiments, GROUPS, trial.people)
        visits = random.gamma(1.0, trial.visits, shape)
        inclination = random.gamma(trial.alike, trial.rate * factor / trial.alike, shape)
        self._random = random
        self._visits = visits.sum(-1)
        self._successes = (visits * np.minimum(inclination, 1) * PIECES).sum(-1)
        self._later_from = trial.days // 3
        self._arm = Arm(*np.zeros((2, trial.experiments, GROUPS)))

    def after(self, day: int) -> Arm:
        there = 1 if day < self._later_from else 2
        shown = PIECES * self._random.poisson(self._visits[:there].sum(0))
        successes = self._random.poisson(self._successes[:there].sum(0))
        self._arm = Arm(self._arm.shown + shown, self._arm.successes + successes)
        return self._arm


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """Signed people who report as much of one arm as counts of anybody, every day from one on, all of one kind."""

    people: int
    arm: int = 0
    succeeds: bool = True
    first_day: int = 0
    pieces: int = 600
    """Of twenty lists of thirty pieces."""


def staged_days_of(trial: Trial, attack: Attack | None = None, *, tailed: bool = False) -> Iterator[tuple[Arm, Arm]]:
    """Yield base and variant of all experiments after each day, by stages; with a few who come far more often."""
    random = np.random.default_rng(trial.seed)
    crowds = [_Crowd(trial, random, factor, tailed=tailed) for factor in (1.0, 1.0 + trial.lift)]
    attackers = None if attack is None else _Crowd(trial, random, 1.0, people=attack.people)
    for day in range(trial.days):
        for crowd in crowds:
            crowd.come(day)
        arms = [crowd.arm for crowd in crowds]
        if attack is not None and attackers is not None:
            if day >= attack.first_day:
                attackers.report(attack)
            own = arms[attack.arm]
            arms[attack.arm] = Arm(own.shown + attackers.arm.shown, own.successes + attackers.arm.successes)
        yield arms[0], arms[1]


def bounded(arms: tuple[Arm, Arm]) -> tuple[BoundedArms, Arm, Arm]:
    """Return arms of which nobody has more than a part."""
    found = bounded_arms(arms, np.asarray(STAGE_PIECES, dtype=np.float64))
    return found, found.arms[0], found.arms[1]


def unbounded(arms: tuple[Arm, Arm]) -> tuple[Arm, Arm]:
    """Return arms to which all counts that people report, as if there were no stages."""
    first, second = (Arm(arm.shown.sum(-2), arm.successes.sum(-2)) for arm in arms)
    return first, second


class _Crowd:
    """The people of an arm in all experiments, each by themselves."""

    def __init__(
        self, trial: Trial, random: np.random.Generator, factor: float, *, people: int = 0, tailed: bool = False
    ) -> None:
        shape = (trial.experiments, people or trial.people * GROUPS)
        visits = trial.visits * 0.3 * random.pareto(1.3, shape) if tailed else random.gamma(1.0, trial.visits, shape)
        self._visits = np.minimum(visits, 20)
        self._inclination = np.minimum(random.gamma(trial.alike, trial.rate * factor / trial.alike, shape), 1)
        self._random = random
        self._later_from = trial.days // 3
        self._pieces = np.zeros(shape, np.int64)
        groups = random.integers(0, GROUPS, shape) if people else np.broadcast_to(np.arange(shape[1]) % GROUPS, shape)
        self._cells = np.arange(trial.experiments)[:, None] * GROUPS + groups
        self.arm = Arm(*np.zeros((2, trial.experiments, STAGES, GROUPS)))

    def come(self, day: int) -> None:
        shown = PIECES * self._random.poisson(self._visits)
        if day < self._later_from:
            shown[:, shown.shape[1] // 2 :] = 0
        self._add(shown, self._inclination)

    def report(self, attack: Attack) -> None:
        self._add(np.full(self._pieces.shape, attack.pieces), np.full(self._pieces.shape, float(attack.succeeds)))

    def _add(self, shown: npt.NDArray[np.int64], rates: npt.NDArray[np.float64]) -> None:
        after, begin = self._pieces + shown, 0
        counts = np.zeros((2, *self.arm.shown.shape))
        for stage, width in enumerate(STAGE_PIECES.tolist()):
            end = begin + width if stage < STAGES - 1 else np.iinfo(np.int64).max
            of_stage = np.clip(after, begin, end) - np.clip(self._pieces, begin, end)
            is_there = of_stage > 0
            pieces = of_stage[is_there]
            for which, numbers in enumerate((pieces, self._random.binomial(pieces, rates[is_there]))):
                cells = np.bincount(self._cells[is_there], numbers, len(counts[which]) * GROUPS)
                counts[which, :, stage] = cells.reshape(-1, GROUPS)
            begin = end
        self._pieces = after
        self.arm = Arm(self.arm.shown + counts[0], self.arm.successes + counts[1])


def verdicts_of(found: BoundedArms, base: Arm, other: Arm) -> npt.NDArray[np.int64]:
    """Return the verdict of each experiment: 1 for better, -1 for worse, 0 for undecided, also for want of people."""
    told = difference(base, other, design_effect(base, other))
    is_sure = share_of_few(base, other, found.pieces) <= MOST_OF_FEW
    is_sure &= share_of_group(base, other) <= MOST_OF_GROUP
    return np.where(is_sure, (told.lower > 0).astype(np.int64) - (told.upper < 0), 0)
