"""False alarms and detected lifts of docs/experiments.md: pytest tests/benchmarks/test_experiments.py -s."""

import numpy as np
import pytest

from experiments_of_people import GROUPS, Trial, days_of
from penchant.experiments import design_effect, difference

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
