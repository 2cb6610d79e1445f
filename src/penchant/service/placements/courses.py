"""Courses of experiments: how the differences between variants, and their intervals, have become what they are.

A point of a course goes by all that was shown until the end of its day, with what has come of it since: interactions
are counted on the day on which their piece was shown, so that the last days may still rise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penchant import experiments
from penchant.experiments import BoundedRate
from penchant.service.placements.tallies import VariantTally, arms_of


@dataclass(frozen=True, slots=True, kw_only=True)
class CoursePoint:
    """The difference of a variant from the base by all until the end of a UTC day, counted from 1970.

    ``shown`` is how many pieces known people had been shown by both until then.
    """

    day: int
    shown: int
    value: float
    lower: float
    upper: float

    @property
    def is_told(self) -> bool:
        """Whether there was enough to say anything: any difference at all is possible otherwise."""
        return self.upper - self.lower < 2


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantCourse:
    """The course of a variant, ascending by day."""

    variant: str
    points: Sequence[CoursePoint]


def courses_of(
    tallies: Mapping[str, VariantTally], base: VariantTally, alpha: float, *, most: int
) -> list[VariantCourse]:
    """Return the courses of all variants but the base, each of ``most`` days at most, evenly chosen.

    The first and the last day on which something was shown are among them.
    """
    every = np.unique([day for each in tallies.values() for day, _, _ in each.days]).astype(np.int64)
    days = every[np.linspace(0, len(every) - 1, min(most, len(every))).round().astype(np.int64)]
    arms = arms_of(tallies, days).by_name
    effects = experiments.design_effect(*arms.values())
    base_arm = arms[base.name]
    return [
        VariantCourse(
            variant=name,
            points=_points(days, base_arm.n + arm.n, experiments.difference(base_arm, arm, effects, alpha)),
        )
        for name, arm in arms.items()
        if name != base.name
    ]


def _points(days: npt.NDArray[np.int64], shown: experiments.Numbers, found: BoundedRate) -> list[CoursePoint]:
    rows = zip(*(each.tolist() for each in (days, shown, found.value, found.lower, found.upper)), strict=True)
    return [
        CoursePoint(day=day, shown=int(count), value=value, lower=lower, upper=upper)
        for day, count, value, lower, upper in rows
    ]
