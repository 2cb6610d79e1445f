"""Weeks in figures: how much was counted in the seven days before today, what is usual, and how a row fares."""

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass

from penchant_client.records import PlacementResults
from penchant_desk.rows.results import LEAST_SUCCESSES

WEEK = 7
WEEKS = 5
"""This week, and those by which is told what is usual."""
DAYS = WEEKS * WEEK + 1
"""Days that are read, today the last."""
TREND_DAYS = 14
"""Days of the line beside a number."""
USUAL_SWINGS = 2.0
"""How many standard deviations of weeks a week may be away from the others, to be as usual."""
LEAST_CHANGE = 0.1
"""What is less than this share is as usual, however even the other weeks are."""
CERTAIN = 4.0
"""How many standard errors apart the rates of two weeks have to be: twice the usual, as people are shown much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekFigure:
    """How much there was in a week of whole days, and how much today; ``days`` are the last 14 of these, ascending.

    ``before`` is the week before, ``None`` where nothing was counted then. ``is_usual`` is ``None`` where there are too
    few weeks to say.
    """

    week: int
    today: int
    before: int | None
    is_usual: bool | None
    days: Sequence[int]

    @property
    def change(self) -> float | None:
        """By what share it is more than the week before; ``None`` where that had nothing."""
        return (self.week - self.before) / self.before if self.before else None


class RowVerdict(enum.Enum):
    """How a row fares: the kind of verdict, and its words around the name of a variant."""

    def __init__(self, kind: str, words: str) -> None:
        self.kind, self.words = kind, words

    UNSEEN = "", "Not shown yet"
    EARLY = "", "Too early to say"
    UNDECIDED = "", "No difference shown yet"
    STEADY = "", "Steady"
    ROSE = "better", "Opened more often than the week before"
    FELL = "worse", "Opened less often than the week before"
    BETTER = "better", "{} is certainly better"
    WORSE = "worse", "{} is certainly worse"


def week_figure(counts: Sequence[int]) -> WeekFigure:
    """Return what counts by day, ascending and today the last, say of the seven days before today.

    A week is as usual within two standard deviations of those before it, which takes three of them.
    """
    *days, today = counts
    weeks = [sum(days[-WEEK * number :][:WEEK]) for number in range(1, WEEKS + 1)]
    week, *others = weeks
    # Before the first day on which anything was counted there was nothing to be usual.
    known = [count for number, count in enumerate(others) if any(weeks[number + 1 :])]
    is_usual: bool | None = None
    if len(known) >= WEEKS - 2:
        mean = sum(known) / len(known)
        swing = math.sqrt(sum((count - mean) ** 2 for count in known) / (len(known) - 1))
        is_usual = abs(week - mean) <= max(USUAL_SWINGS * swing, LEAST_CHANGE * mean)
    return WeekFigure(
        week=week,
        today=today,
        before=others[0] if any(others) else None,
        is_usual=is_usual,
        days=days[-TREND_DAYS:],
    )


def verdict_of(shown: WeekFigure, opened: WeekFigure) -> RowVerdict:
    """Return how a row without variants fares: by the rates of this week and the one before."""
    if not shown.week + shown.today:
        return RowVerdict.UNSEEN
    before = opened.before or 0
    if min(opened.week, before) < LEAST_SUCCESSES or not shown.before:
        return RowVerdict.EARLY
    rates = opened.week / shown.week, before / shown.before
    whole = (opened.week + before) / (shown.week + shown.before)
    error = math.sqrt(whole * (1 - whole) * (1 / shown.week + 1 / shown.before))
    if not error or abs(rates[0] - rates[1]) <= CERTAIN * error:
        return RowVerdict.STEADY
    return RowVerdict.ROSE if rates[0] > rates[1] else RowVerdict.FELL


def judged(results: PlacementResults) -> tuple[RowVerdict, str]:
    """Return how the variants of a row fare: the first that is certainly better, else one that is certainly worse."""
    for verdict in (RowVerdict.BETTER, RowVerdict.WORSE):
        for variant in results.variants:
            if variant.difference is not None and variant.verdict == verdict.name.lower():
                return verdict, variant.variant
    is_early = min((each.successes for each in results.variants), default=0) < LEAST_SUCCESSES
    return (RowVerdict.EARLY if is_early else RowVerdict.UNDECIDED), ""
