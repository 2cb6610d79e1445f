"""Experiments with people who differ: many at once, day by day, as the counts of groups of people.

A person keeps an inclination and comes again and again, ten pieces a visit; some people come later than others. What a
person does on a day is Poisson, and so is the sum over a group, of which alone the statistics know.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from penchant.experiments import Arm

GROUPS = 64
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
