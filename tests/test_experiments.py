"""Intervals of experiments have the truth however often one looks, of people who differ."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from experiments_of_people import PIECES, Attack, Trial, bounded, days_of, staged_days_of, unbounded, verdicts_of
from penchant.experiments import (
    ALPHA,
    LEAST_SUCCESSES,
    Arm,
    BoundedRate,
    bounded_arms,
    design_effect,
    difference,
    rate_interval,
    reweighted_rate,
    share_interval,
)
from penchant_rows.storage.placement_counts import GROUPS

Flags = npt.NDArray[np.bool_]
ALIKE_PEOPLE = Trial(experiments=1_000, days=60, people=10, rate=0.3, alike=50.0)
DIFFERENT_PEOPLE = Trial(experiments=1_000, days=60, rate=0.05, alike=0.5)


def told(found: BoundedRate) -> tuple[float, float, float]:
    return float(found.value), float(found.lower), float(found.upper)


def excludes(found: BoundedRate, truth: float) -> Flags:
    return np.asarray((found.lower > truth) | (found.upper < truth))


def at_any_look(trial: Trial, are_so: Callable[[Arm, Arm], Flags]) -> Any:
    """Return the share of experiments of which something holds after any of the days; of several things each."""
    return np.any([are_so(base, other) for base, other in days_of(trial)], axis=0).mean(-1)


def compared(base: Arm, other: Arm) -> BoundedRate:
    return difference(base, other, design_effect(base, other))


@pytest.mark.slow
@pytest.mark.parametrize("trial", (ALIKE_PEOPLE, DIFFERENT_PEOPLE))
def test_of_two_equal_variants_looked_at_daily_hardly_any_differ(trial: Trial) -> None:
    false_alarms = at_any_look(trial, lambda base, other: excludes(compared(base, other), 0))

    assert false_alarms <= ALPHA


def test_without_groups_of_people_equal_variants_differ_far_too_often() -> None:
    trial = Trial(experiments=200, days=60)
    coins = at_any_look(trial, lambda base, other: excludes(difference(base, other, np.ones(())), 0))

    assert coins > 5 * ALPHA


@pytest.mark.slow
def test_the_true_difference_is_inside_at_all_looks() -> None:
    trial = Trial(experiments=500, days=60, people=10, lift=0.2)
    rate = trial.rate * (1 + trial.lift)

    def misses(base: Arm, other: Arm) -> Flags:
        of_rate = rate_interval(other, design_effect(base, other))
        return np.stack([excludes(compared(base, other), rate - trial.rate), excludes(of_rate, rate)])

    assert np.all(at_any_look(trial, misses) <= ALPHA)


@pytest.mark.slow
def test_a_variant_that_is_worse_is_found() -> None:
    trial = Trial(experiments=200, days=60, people=40, lift=-0.2)

    def verdicts(base: Arm, other: Arm) -> Flags:
        found = compared(base, other)
        return np.stack([found.upper < 0, found.lower > 0])

    worse, better = at_any_look(trial, verdicts)

    assert worse > 0.95
    assert better < 0.03


def ever(trial: Trial, side: int, attack: Attack | None = None, *, tailed: bool = False) -> float:
    """Return the share of experiments with a verdict on one side (1: better, -1: worse) after any of the days."""
    found = [verdicts_of(*bounded(arms)) == side for arms in staged_days_of(trial, attack, tailed=tailed)]
    return float(np.mean(np.any(found, axis=0)))


@pytest.mark.slow
@pytest.mark.parametrize("tailed", (False, True))
def test_of_equal_variants_hardly_any_differ_where_nobody_outweighs_others(tailed: bool) -> None:  # noqa: FBT001  # a case
    trial = Trial(experiments=200, days=30, rate=0.15)

    assert ever(trial, 1, tailed=tailed) + ever(trial, -1, tailed=tailed) <= ALPHA


@pytest.mark.slow
def test_who_has_only_a_part_hides_no_lift() -> None:
    trial = Trial(experiments=200, days=30, lift=0.5)
    *_, last = staged_days_of(trial)
    all_counts = unbounded(last)

    before = np.mean(difference(*all_counts, design_effect(*all_counts)).lower > 0)
    after = np.mean(verdicts_of(*bounded(last)) == 1)

    assert after >= before > 0.3


REVIEWED = Trial(experiments=100, days=30, people=3, visits=0.07, rate=0.156, lift=0.9)
"""400 people, 8,000 pieces, rates of 15.6 and 29.6 %."""


@pytest.mark.slow
@pytest.mark.parametrize("people", (1, 10))
@pytest.mark.parametrize("arm", (0, 1))
@pytest.mark.parametrize("succeeds", (True, False))
def test_ten_of_400_people_do_not_turn_a_verdict(people: int, arm: int, succeeds: bool) -> None:  # noqa: FBT001  # a case
    attack = Attack(people=people, arm=arm, succeeds=succeeds)

    assert ever(REVIEWED, -1, attack) == 0


@pytest.mark.slow
@pytest.mark.parametrize("arm", (0, 1))
def test_a_hundred_of_4_000_people_do_not_turn_a_verdict_once_these_have_come(arm: int) -> None:
    attack = Attack(people=100, arm=arm, succeeds=arm == 0, first_day=20)

    assert ever(replace(REVIEWED, experiments=20, people=31), -1, attack) == 0


def test_without_parts_one_person_turns_verdicts() -> None:
    arms = [unbounded(each) for each in staged_days_of(REVIEWED, Attack(people=1))]

    assert np.mean(np.any([compared(*each).upper < 0 for each in arms], axis=0)) > 0.3


def test_stages_count_as_far_as_people_fill_them() -> None:
    def arm(*shown: float) -> Arm:
        return Arm(np.asarray(shown)[:, None] * np.ones(GROUPS), np.zeros((len(shown), GROUPS)))

    pieces = np.array([16.0, 16.0, 32.0, 64.0])

    # Of what the first stage is filled: all, a half, a quarter, and then less; what comes after a gap does not count.
    found = bounded_arms([arm(8, 4, 4, 7), arm(8, 4, 4, 7)], pieces)
    gap = bounded_arms([arm(8, 0, 9, 9)], pieces)

    assert found.kept.tolist() == [True, True, True, False]
    assert float(found.pieces) == 64
    assert found.arms[0].n == 16 * GROUPS
    assert gap.kept.tolist() == [True, False, False, False]
    assert bounded_arms([arm(0, 0, 0, 0)], pieces).arms[0].n == 0


@pytest.mark.slow
def test_shares_that_are_kept_raise_no_alarm_and_others_do() -> None:
    def is_off(base: Arm, other: Arm, kept: float) -> Flags:
        lists = base.shown / PIECES, kept * other.shown / PIECES
        return excludes(share_interval(lists[1], lists[0] + lists[1]), 0.5)

    trial = Trial(experiments=500, days=60, people=20)
    all_kept, some_lost = at_any_look(
        trial, lambda base, other: np.stack([is_off(base, other, kept) for kept in (1.0, 0.8)])
    )

    assert all_kept < 0.01
    assert some_lost > 0.95


def test_nothing_is_told_of_nothing_and_of_little() -> None:
    empty = Arm(np.zeros(GROUPS), np.zeros(GROUPS))
    little = Arm(np.full(GROUPS, 100.0), np.concatenate([np.ones(LEAST_SUCCESSES - 1), np.zeros(GROUPS - 19)]))

    for pair in ((empty, empty), (little, empty), (empty, little)):
        found = compared(*pair)
        assert told(found)[1:] == (-1, 1)
    whole = rate_interval(empty, design_effect(empty))
    assert told(whole) == (0, 0, 1)
    share = share_interval(empty.shown, empty.shown)
    assert told(share)[1:] == (0, 1)


def test_the_interval_is_the_one_of_the_paper() -> None:
    # By hand: 6,400 coins, 1,600 of them successes, alike in all groups.
    arm = Arm(np.full(GROUPS, 100.0), np.full(GROUPS, 25.0))
    rate = 1601 / 6402
    information, prior = 6400 / (rate * (1 - rate)), 1 / (0.1 * rate) ** 2
    radius = np.sqrt((information + prior) * np.log((information + prior) / (prior * 0.05**2))) / information

    found = rate_interval(arm, design_effect(arm))

    assert design_effect(arm) == 1
    assert told(found) == pytest.approx((0.25, 0.25 - radius, 0.25 + radius), rel=1e-12)
    assert 0.016 < radius < 0.022


@pytest.mark.parametrize("share", (0.3, 0.9))
def test_the_interval_of_other_shares_has_the_truth_as_often_as_it_says(share: float) -> None:
    random, logs, people, given = np.random.default_rng(11), 1_000, 600, 0.4
    # People with inclinations of their own, who come more often under the variant.
    inclined = random.beta(2, 18, (logs, people))
    sees = random.random((logs, people)) < given
    shown = (10 * random.poisson(np.where(sees, 3.0, 2.0))).astype(np.float64)
    successes = random.binomial(shown.astype(int), inclined * np.where(sees, 1.3, 1.0)).astype(np.float64)
    truth = 0.1 * (share * 3 * 1.3 + (1 - share) * 2) / (share * 3 + (1 - share) * 2)
    present = 0.1 * (given * 3 * 1.3 + (1 - given) * 2) / (given * 3 + (1 - given) * 2)

    found = reweighted_rate(Arm(shown, successes), np.where(sees, share / given, (1 - share) / (1 - given)))

    assert 0.93 <= 1 - np.mean(excludes(found.rate, truth)) <= 0.97
    assert 0.93 <= 1 - np.mean(excludes(found.difference, truth - present)) <= 0.97
    assert np.abs(found.rate.value.mean() - truth) < 0.001


def test_equal_weights_change_nothing_and_few_heavy_people_count_as_few() -> None:
    arm = Arm(np.full(100, 10.0), np.arange(100.0) % 3)
    weights = np.ones(100)
    weights[:5] = 1_000

    equal, uneven = reweighted_rate(arm, np.full(100, 0.5)), reweighted_rate(arm, weights)

    assert told(equal.difference) == (0, 0, 0)
    assert (float(equal.rate.value), float(equal.people)) == (float(arm.rate), 100)
    assert 5 <= float(uneven.people) < 6
