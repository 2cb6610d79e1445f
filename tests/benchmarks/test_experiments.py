"""False alarms and detected lifts of docs/how-to/experiments.md: pytest tests/benchmarks/test_experiments.py -s."""

import numpy as np
import numpy.typing as npt
import pytest

from experiments_of_people import Attack, Trial, bounded, days_of, staged_days_of, unbounded, verdicts_of
from penchant.experiments import design_effect, difference
from penchant_rows.storage.placement_counts import GROUPS

pytestmark = pytest.mark.slow

LOOKS = (7, 14, 30, 60)
Row = tuple[float, ...]


def found_by(trial: Trial, *, textbook: bool = False, coins: bool = False) -> Row:
    """Return the share of experiments that show a difference at any look up to each of some days."""
    ever = np.zeros(trial.experiments, bool)
    shares = []
    for day, (base, other) in enumerate(days_of(trial), 1):
        effect = np.ones(()) if coins else design_effect(base, other)
        estimate = difference(base, other, effect)
        if textbook:
            radius = 1.96 * np.sqrt(effect * (base.coin_variance + other.coin_variance))
            ever |= np.abs(estimate.value) > radius
        else:
            ever |= (estimate.lower > 0) | (estimate.upper < 0)
        if day in LOOKS:
            shares.append(float(ever.mean()))
    return tuple(shares)


def shown(name: str, row: Row) -> str:
    return f"| {name} | " + " | ".join(f"{share:.1%}" for share in row) + " |"


def test_false_alarms_of_equal_variants() -> None:
    for name, trial in (
        ("alike", Trial(experiments=2_000, days=60, people=10, rate=0.3, alike=50.0)),
        ("as in shops", Trial(experiments=2_000, days=60)),
        ("very different", Trial(experiments=2_000, days=60, alike=0.5)),
        ("few events", Trial(experiments=2_000, days=60, rate=0.01)),
    ):
        print()
        print(shown(f"{name}: ours", found_by(trial)))
        print(shown(f"{name}: pieces as coins", found_by(trial, coins=True)))
        print(shown(f"{name}: 95 % intervals of textbooks", found_by(trial, textbook=True)))


def test_lifts_that_are_found() -> None:
    for people in (4, 40, 200):
        print()
        for lift in (0.02, 0.05, 0.1, 0.2, 0.5):
            trial = Trial(experiments=300, days=60, people=people, lift=lift)
            print(shown(f"{people * GROUPS:,} people a variant, {lift:+.0%}", found_by(trial)))


def found_before_and_now(trial: Trial, attack: Attack | None = None, *, tailed: bool = False) -> tuple[Row, Row]:
    """Return the shares of experiments ever better, ever worse, better and worse at the end; all counts, then parts."""
    before, now = [], []
    for arms in staged_days_of(trial, attack, tailed=tailed):
        base, other = unbounded(arms)
        told = difference(base, other, design_effect(base, other))
        before.append((told.lower > 0).astype(int) - (told.upper < 0))
        now.append(verdicts_of(*bounded(arms)))
    return _shares(np.array(before)), _shares(np.array(now))


def _shares(found: npt.NDArray[np.int64]) -> Row:
    whole = ((found == side).any(0).mean() for side in (1, -1))
    last = ((found[-1] == side).mean() for side in (1, -1))
    return tuple(map(float, (*whole, *last)))


def test_parts_in_honest_experiments() -> None:
    print("\never better, ever worse, better at the end, worse at the end; by all counts, then with parts")
    for name, trial, tailed in (
        ("A/A, rate 15 %", Trial(experiments=1_000, days=30, rate=0.15), False),
        ("A/A, rate 5 %, very different", Trial(experiments=1_000, days=30, alike=0.5), False),
        ("A/A, rate 15 %, a few far more often", Trial(experiments=1_000, days=30, rate=0.15), True),
        ("A/A, rate 30 %, alike", Trial(experiments=1_000, days=30, people=10, rate=0.3, alike=50), False),
        ("256 a variant, +20 %", Trial(experiments=300, days=30, lift=0.2), False),
        ("256 a variant, +50 %", Trial(experiments=300, days=30, lift=0.5), False),
        ("640 a variant, a few far more often, +30 %", Trial(experiments=300, days=30, people=10, lift=0.3), True),
        ("2,560 a variant, +5 %", Trial(experiments=100, days=30, people=40, lift=0.05), False),
        ("2,560 a variant, +10 %", Trial(experiments=100, days=30, people=40, lift=0.1), False),
        ("2,560 a variant, +20 %", Trial(experiments=100, days=30, people=40, lift=0.2), False),
    ):
        for row in found_before_and_now(trial, tailed=tailed):
            print(shown(name, row))


def test_parts_under_attack() -> None:
    print("\never better, ever worse, better at the end, worse at the end; by all counts, then with parts")
    for people, experiments in ((3, 200), (31, 30)):
        trial = Trial(experiments=experiments, days=30, people=people, visits=0.07, rate=0.156, lift=0.9)
        for attackers in (0, 1, 10, 100):
            for day in (0, 20):
                for arm, succeeds in ((0, True), (1, False)):
                    attack = Attack(people=attackers, arm=arm, succeeds=succeeds, first_day=day) if attackers else None
                    what = "all succeed in the base" if succeeds else "none succeeds in the variant"
                    for row in found_before_and_now(trial, attack):
                        print(shown(f"{people * GROUPS * 2:,} people, {attackers} from day {day}, {what}", row))
