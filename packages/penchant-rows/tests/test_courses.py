"""Courses of experiments: each point is what the results said of the days until then."""

import numpy as np
import pytest

from penchant import experiments
from penchant.wire.times import format_day, parse_date
from penchant_engine.model import DAY_MS, InteractionType
from penchant_rows.service.results import VariantTally, arms_of, courses_of, tallies_of
from penchant_rows.storage.placement_counts import GROUPS, POSITIONS, SHOWN, SUCCEEDED, CountsTable

NAMES = {"base", "b", "c"}


def random_counts(seed: int, days: int) -> CountsTable:
    """Return counts of three variants, on some of the days, ascending by day as they are stored."""
    generator = np.random.default_rng(seed)
    rows = [
        (name, day, kind)
        for day in range(20_000, 20_000 + days)
        for name in sorted(NAMES)
        for kind in (SHOWN, SUCCEEDED)
        if generator.random() < 0.8
    ]
    shown = np.array([kind == SHOWN for _, _, kind in rows])
    groups = generator.poisson(np.where(shown, 3, 0.4)[:, None], (len(rows), GROUPS))
    positions = np.zeros((len(rows), POSITIONS), np.int64)
    positions[:, 1] = groups.sum(1)
    names, numbers, kinds = zip(*rows, strict=True)
    stages = generator.integers(0, 3, len(rows))
    by_page = generator.random(len(rows)) < 0.5
    return CountsTable(np.array(names), np.array(numbers), np.array(kinds), stages, by_page, positions, groups)


def difference(tallies: dict[str, VariantTally], name: str) -> tuple[float, float, float]:
    arms = arms_of(tallies).by_name
    effect = experiments.design_effect(*arms.values())
    found = experiments.difference(arms["base"], arms[name], effect, 0.025)
    return float(found.value), float(found.lower), float(found.upper)


def test_a_point_is_the_difference_by_all_until_its_day() -> None:
    table = random_counts(1, days=12)
    tallies = tallies_of(table, None, NAMES)

    courses = courses_of(tallies, tallies["base"], 0.025, most=100)

    assert list(courses) == ["b", "c"]
    for variant, course in courses.items():
        for point in course:
            until = tallies_of(table.between(0, parse_date(point.day) // DAY_MS), None, NAMES)
            assert (point.value, point.lower, point.upper) == pytest.approx(difference(until, variant))
            arms = arms_of(until).by_name
            assert point.shown == arms["base"].n + arms[variant].n
    assert courses["b"][-1].upper - courses["b"][-1].lower < 2


def test_a_long_course_has_some_of_its_days_with_the_first_and_the_last() -> None:
    tallies = tallies_of(random_counts(2, days=200), None, NAMES)

    days = [point.day for point in courses_of(tallies, tallies["base"], 0.05, most=7)["b"]]

    assert (len(days), days[0], days[-1]) == (7, format_day(20_000), format_day(20_199))
    assert days == sorted(set(days))


def test_what_showed_nothing_has_no_points() -> None:
    tallies = tallies_of(random_counts(3, days=1).between(0, 0), InteractionType.CLICK, NAMES)

    assert courses_of(tallies, tallies["base"], 0.05, most=7) == {"b": [], "c": []}
