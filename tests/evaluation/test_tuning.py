"""Settings are proposed only where they are better beyond doubt."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from evaluation.conftest import drawn, made
from penchant.errors import InvalidInput
from penchant.evaluation import setting_changes
from penchant.evaluation.candidate_lists import TuningRequest, TuningTrial
from penchant.evaluation.histories import SourceHistory, history_of
from penchant.evaluation.setting_changes import changed_members
from penchant.evaluation.splits import SplitRule
from penchant.evaluation.trials import EvaluationRequest
from penchant.evaluation.tuning import TuningResult, gather_here, tune
from penchant.model import DAY_MS, Blend, IndexedPiece, InteractionType, SourceSettings, Term

QUICK = TuningRequest(trial=EvaluationRequest(split=SplitRule(), people=60), candidates=16, seconds=60, test_people=120)


def quietly(_what: str, _done: int, _total: int) -> None:
    pass


def tuned(
    history: SourceHistory, request: TuningRequest = QUICK, now: Callable[[], float] = lambda: 0.0
) -> TuningResult:
    trial = TuningTrial.of(history, request)
    return tune(trial, request, gather_here(trial), quietly, now)


@pytest.fixture(scope="module")
def misled(alike: SourceHistory) -> SourceHistory:
    """A history in which people like the same pieces, under settings that look at popularity alone."""
    return replace(alike, settings=SourceSettings(blend=Blend(content=0, audience=0, popularity=1)))


@pytest.fixture(scope="module")
def found(misled: SourceHistory) -> TuningResult:
    return tuned(misled)


def test_settings_that_are_better_are_found_and_judged_by_others(found: TuningResult) -> None:
    assert found.better
    assert found.settings.blend.audience > found.settings.blend.popularity
    assert found.test_after.value - found.test_before.value == pytest.approx(found.gain.value)
    assert found.gain.low > 0
    assert found.test_after.value > 2 * found.test_before.value
    assert 0 < found.sure_gain < found.validation_gain.value


def test_the_same_seed_finds_the_same(misled: SourceHistory, found: TuningResult) -> None:
    assert tuned(misled) == found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_proposed_where_all_is_chance(seed: int) -> None:
    assert not tuned(drawn(150, 80, 12, seed=seed)).better


@pytest.mark.slow
def test_categories_that_mislead_are_weighed_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """People like pieces of one theme; a second category, of far greater weights, says nothing."""
    monkeypatch.setattr(setting_changes, "BLENDS", ())
    random = np.random.default_rng(0)
    pieces = [
        IndexedPiece(
            id=f"p{number:03d}",
            weights={Term("theme", str(number % 6)): 1}
            | {Term("noise", str(each)): 400 for each in random.choice(12, 3, replace=False).tolist()},
        )
        for number in range(240)
    ]
    rows = [
        (f"u{person}", f"p{piece:03d}", InteractionType.RATE_LIKE, day * DAY_MS)
        for person in range(120)
        for day, piece in enumerate(random.choice(np.arange(person % 6, 240, 6), 10, replace=False).tolist())
    ]
    settings = SourceSettings(blend=Blend(content=1, audience=0, popularity=0))

    request = replace(QUICK, trial=EvaluationRequest(split=SplitRule(), people=120), candidates=30)

    found = tuned(history_of("themes", pieces, rows, settings), request)

    assert found.better
    assert found.settings.category_weights.get("theme", 1) > found.settings.category_weights.get("noise", 1)


def test_a_source_whose_people_like_what_is_new_gets_it_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody knows what is popular; of the rest few people like what is old, and all what nobody knew before."""
    monkeypatch.setattr(setting_changes, "BLENDS", ())
    popular, rare, fresh = ([f"{letter}{number:02d}" for number in range(10)] for letter in "par")
    random = np.random.default_rng(0)
    rows = [("early", each, InteractionType.RATE_LIKE, 300 * DAY_MS) for each in rare[:4]]
    for number in range(80):
        first, then = (random.choice(half, size, replace=False) for half, size in ((fresh[:5], 2), (fresh[5:], 3)))
        liked = [*popular, *first.tolist(), *then.tolist()]
        rows += [
            (f"u{number}", each, InteractionType.RATE_LIKE, (300 + day) * DAY_MS) for day, each in enumerate(liked)
        ]
    dates = dict.fromkeys(popular + rare, 0) | dict.fromkeys(fresh, 1_000 * DAY_MS)
    pieces = [
        IndexedPiece(id=each, weights={Term("genre", "x"): 1}, available_from=date) for each, date in dates.items()
    ]
    settings = SourceSettings(blend=Blend(content=0, audience=0, popularity=1), new_piece_half_life_days=0)

    found = tuned(history_of("news", pieces, rows, settings), replace(QUICK, candidates=30))

    assert found.better
    assert found.settings.new_piece_half_life_days > 0


def test_it_ends_in_time(misled: SourceHistory) -> None:
    clock = itertools.count(step=20.0)

    found = tuned(misled, now=lambda: next(clock))

    assert found.tried <= 3


def test_it_tries_no_more_than_it_may(misled: SourceHistory) -> None:
    assert tuned(misled, replace(QUICK, candidates=2)).tried == 2


def test_nobody_to_judge_by_is_told() -> None:
    with pytest.raises(InvalidInput, match="has no interactions"):
        tuned(made([], ["a"]))


def test_what_changed_is_told_by_path() -> None:
    before = {"halfLifeDays": 90, "blend": {"content": 0.1, "audience": 0.8}, "categoryWeights": {}}
    after = {"halfLifeDays": 90, "blend": {"content": 0.3, "audience": 0.8}, "categoryWeights": {"tag": 2}}

    assert changed_members(before, after) == [("blend.content", 0.1, 0.3), ("categoryWeights.tag", None, 2)]
