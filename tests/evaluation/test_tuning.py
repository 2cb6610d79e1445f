"""Settings are proposed only where they are better beyond doubt."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from evaluation.conftest import made
from penchant.errors import InvalidInput
from penchant.model import SourceSettings
from penchant_engine.model import DAY_MS, WHOLE, Blend, IndexedPiece, InteractionType, OrderUse, Term
from penchant_lab import tuning
from penchant_lab.histories import SourceHistory, history_of
from penchant_lab.metrics import Estimate
from penchant_lab.splits import Kind, SplitRule
from penchant_lab.trials import EvaluationRequest
from penchant_lab.tuning import (
    MIN_JUDGES,
    ORDER,
    TuningRequest,
    TuningResult,
    TuningTrial,
    changed_members,
    gather_here,
    objections,
    tune,
    weight_faults,
)

QUICK = TuningRequest(trial=EvaluationRequest(split=SplitRule(), people=60), candidates=8, seconds=60, test_people=240)
CLICKED = replace(QUICK, trial=replace(QUICK.trial, relevant=(InteractionType.CLICK,)))
SURE = Estimate(0.05, 0.01, 0.09)
OTHER = SourceSettings(half_life_days=7)


def quietly(_what: str, _done: int, _total: int) -> None:
    pass


def tuned(
    history: SourceHistory, request: TuningRequest = QUICK, now: Callable[[], float] = lambda: 0.0
) -> TuningResult:
    trial = TuningTrial.of(history, request)
    return tune(trial, request, gather_here(trial), quietly, now)


POPULAR = SourceSettings(blend=Blend(content=0, audience=0, popularity=1))


@pytest.fixture(scope="module")
def misled(many_alike: SourceHistory) -> SourceHistory:
    """A history in which people like the same pieces, under settings that look at popularity alone."""
    return replace(many_alike, settings=POPULAR)


@pytest.fixture(scope="module")
def found(misled: SourceHistory) -> TuningResult:
    return tuned(misled)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "is_tried"), (("time", True), ("random", False)))
def test_the_order_of_likes_is_tried_unless_interactions_are_held_out_at_random(
    many_alike: SourceHistory, kind: Kind, *, is_tried: bool
) -> None:
    history = replace(many_alike, settings=SourceSettings(order=OrderUse.ON))
    request = replace(QUICK, trial=replace(QUICK.trial, split=SplitRule(kind=kind)), candidates=1)
    trial = TuningTrial.of(history, request)

    result = tune(trial, request, gather_here(trial), quietly, lambda: 0.0)

    assert (ORDER in {name for name, _ in trial.changes}) is is_tried
    assert result.before.order is result.settings.order is OrderUse.ON


@pytest.mark.slow
def test_settings_that_are_better_are_found_and_judged_by_others(found: TuningResult) -> None:
    assert found.better
    # Any share from a third on finds the pieces of a group: which of them is ahead is chance.
    assert found.settings.blend.audience >= 0.3
    assert found.test_after.value - found.test_before.value == pytest.approx(found.gain.value)
    assert found.gain.low > 0
    assert found.test_after.value > 5 * found.test_before.value
    assert 0 < found.sure_gain < found.validation_gain.value
    assert found.objections == []


@pytest.mark.slow
def test_the_same_seed_finds_the_same(misled: SourceHistory, found: TuningResult) -> None:
    assert tuned(misled) == found


def weighing(**weights: float) -> SourceSettings:
    """Return settings with some weights of types."""
    of_types = {InteractionType(name): weight for name, weight in weights.items()}
    return SourceSettings(interaction_weights={**SourceSettings().interaction_weights, **of_types})


def test_what_is_certainly_better_has_no_objection() -> None:
    assert objections(SourceSettings(), OTHER, MIN_JUDGES, SURE) == []


@pytest.mark.parametrize(
    ("weights", "is_fault"),
    (
        ({"Purchase": 0}, True),
        ({"RateLike": -0.0}, True),
        ({"Watch": -1}, True),
        ({"RateDislike": 0}, True),
        ({"RateDislike": 4}, True),
        ({"Bookmark": -0.5}, True),
        ({"Click": -1}, True),
        ({"Bookmark": 0, "Play": 0, "Click": 0, "Preview": 0}, False),
        ({"Purchase": 0.01, "RateLike": 100, "Watch": 1, "RateDislike": -0.01}, False),
    ),
)
def test_no_act_counts_for_its_opposite_and_what_is_deliberate_counts(
    weights: dict[str, float], *, is_fault: bool
) -> None:
    told = objections(SourceSettings(), weighing(**weights), MIN_JUDGES, SURE)

    assert [each.split()[0] for each in told] == list(weights) * is_fault


def test_settings_of_which_a_weight_could_not_be_proposed_are_never_tried(by_chance: SourceHistory) -> None:
    """From weights that rounding may bring to 0, or that are wrong already, too."""
    tiny = weighing(Purchase=0.01, RateLike=0.01, RateDislike=-0.01)
    types = np.arange(len(by_chance.events)) % len(InteractionType)
    events = replace(by_chance.events, types=types.astype(np.int8))
    trial = TuningTrial.of(replace(by_chance, events=events), replace(QUICK, candidates=60))

    for before in (SourceSettings(), tiny):
        made = [change(before) for name, change in trial.changes if name.startswith("weight of ")]
        assert len({each.interaction_weights["Click"] for each in made}) == 4  # type: ignore[index]
        assert [fault for each in made for fault in weight_faults(each.interaction_weights)] == []


def test_the_weight_of_a_type_that_counts_alone_is_not_tried() -> None:
    rows = [(f"u{person}", f"p{place}", "Click", place) for person in range(330) for place in range(12)]
    alone = TuningTrial.of(made(rows, [f"p{place}" for place in range(12)]), CLICKED)
    rated = [("u0", "p3", "RateLike", 3), *rows]
    beside = TuningTrial.of(made(rated, [f"p{place}" for place in range(12)]), CLICKED)

    heavier, none = weighing(Click=3), weighing(Click=0)

    assert all(alone.only_scales(SourceSettings(), each) for each in (heavier, weighing(Click=0.33), none))
    assert not any(beside.only_scales(SourceSettings(), each) for each in (heavier, none))
    # Once the other counts for nothing, clicks are alone.
    assert beside.only_scales(weighing(RateLike=0), weighing(RateLike=0, Click=3))
    assert not alone.only_scales(SourceSettings(), replace(heavier, half_life_days=7))


def test_parts_of_pieces_make_a_weight_count() -> None:
    click = InteractionType.CLICK
    rows = [
        (f"u{person}", f"p{place}", click, place * DAY_MS, 50 if place else WHOLE)
        for person in range(330)
        for place in range(12)
    ]
    trial = TuningTrial.of(
        history_of("parts", [IndexedPiece(id=f"p{n}", weights={}) for n in range(12)], rows, SourceSettings()), CLICKED
    )

    assert not trial.only_scales(SourceSettings(), weighing(Click=3))


def test_what_is_told_says_what_a_full_like_is(by_chance: SourceHistory) -> None:
    told = tuned(by_chance, replace(QUICK, candidates=1)).full_like

    assert told == "A like counts by its grade: here good ratings are what people do, so a good rating is a full one."


def test_nobody_chooses_and_judges(misled: SourceHistory) -> None:
    trial = TuningTrial.of(misled, QUICK)

    assert len(trial.validation.people) == 60
    assert len(trial.test.people) >= MIN_JUDGES
    assert not np.intersect1d(trial.validation.people, trial.test.people).size


@pytest.mark.slow
def test_what_judges_like_later_changes_nothing_that_is_chosen(misled: SourceHistory, found: TuningResult) -> None:
    """The last fifth of a judge's interactions is with other pieces; what is found is the same."""
    trial = TuningTrial.of(misled, QUICK)
    events = misled.events
    later = (events.times >= 10 * DAY_MS) & np.isin(events.people, trial.test.people)
    pieces = np.where(later, (events.pieces + 41) % 80, events.pieces)

    other = tuned(replace(misled, events=replace(events, pieces=pieces)))

    assert later.sum() == 2 * len(trial.test.people)
    assert (other.settings, other.tried, other.validation_gain) == (found.settings, found.tried, found.validation_gain)
    assert other.gain != found.gain


def by_chance_alone(seed: int) -> SourceHistory:
    """Return a source in which no settings do better than those in force.

    All pieces are as likely for everybody, whatever was done before, or popular ones more so, and popularity is what
    the settings go by.
    """
    random = np.random.default_rng([seed, 0])
    kinds = [InteractionType.RATE_LIKE]
    shares, settings = np.full(20, 0.05), SourceSettings()
    if seed % 2:
        shares = 1 / np.arange(1, 21) / (1 / np.arange(1, 21)).sum()
        settings = replace(settings, blend=Blend(content=0, audience=0, popularity=1))
        settings = replace(settings, half_life_days=0, new_piece_half_life_days=0)
    else:
        kinds += [InteractionType.PURCHASE, InteractionType.BOOKMARK, InteractionType.CLICK]
    pieces = [
        IndexedPiece(id=f"p{number:02d}", weights={Term("genre", str(random.integers(6))): 1}, available_from=0)
        for number in range(20)
    ]
    rows = [
        (f"u{person}", f"p{piece:02d}", kinds[int(random.integers(len(kinds)))], day * DAY_MS, WHOLE)
        for person in range(640)
        for day, piece in enumerate(random.choice(20, 6, p=shares).tolist())
    ]
    return history_of("chance", pieces, rows, settings)


@pytest.mark.stress
def test_of_60_sources_without_signal_5_in_100_at_most_get_a_proposal() -> None:
    request = replace(QUICK, trial=EvaluationRequest(split=SplitRule(), people=16), candidates=10, test_people=200)

    results = [tuned(by_chance_alone(seed), request) for seed in range(60)]

    assert {each.test_people for each in results} == {200}
    proposed = sum(each.better for each in results)
    # Judges who had something to refuse: elsewhere no candidate was ahead by chance where it was tried.
    judged = sum(each.settings != each.before for each in results)
    assert judged > 30
    assert proposed <= 0.05 * judged


@pytest.mark.slow
def test_categories_that_mislead_are_weighed_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """People like pieces of one theme; a second category, of far greater weights, says nothing."""
    monkeypatch.setattr(tuning, "BLENDS", ())
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
        (f"u{person}", f"p{piece:03d}", InteractionType.RATE_LIKE, day * DAY_MS, WHOLE)
        for person in range(330)
        for day, piece in enumerate(random.choice(np.arange(person % 6, 240, 6), 10, replace=False).tolist())
    ]
    settings = SourceSettings(blend=Blend(content=1, audience=0, popularity=0))

    found = tuned(history_of("themes", pieces, rows, settings), replace(QUICK, candidates=16))

    assert found.better
    assert found.settings.category_weights.get("theme", 1) > found.settings.category_weights.get("noise", 1)


@pytest.mark.slow
def test_a_source_whose_people_like_what_is_new_gets_it_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody knows what is popular; of the rest few people like what is old, and all what nobody knew before."""
    monkeypatch.setattr(tuning, "BLENDS", ())
    popular, rare, fresh = ([f"{letter}{number:02d}" for number in range(10)] for letter in "par")
    random = np.random.default_rng(0)
    rows = [("early", each, InteractionType.RATE_LIKE, 300 * DAY_MS, WHOLE) for each in rare[:4]]
    for number in range(330):
        first, then = (random.choice(half, size, replace=False) for half, size in ((fresh[:5], 2), (fresh[5:], 3)))
        liked = [*popular, *first.tolist(), *then.tolist()]
        rows += [
            (f"u{number}", each, InteractionType.RATE_LIKE, (300 + day) * DAY_MS, WHOLE)
            for day, each in enumerate(liked)
        ]
    dates = dict.fromkeys(popular + rare, 0) | dict.fromkeys(fresh, 1_000 * DAY_MS)
    pieces = [
        IndexedPiece(id=each, weights={Term("genre", "x"): 1}, available_from=date) for each, date in dates.items()
    ]
    settings = SourceSettings(blend=Blend(content=0, audience=0, popularity=1), new_piece_half_life_days=0)

    found = tuned(history_of("news", pieces, rows, settings), replace(QUICK, candidates=16))

    assert found.better
    assert found.settings.new_piece_half_life_days > 0


@pytest.mark.slow
def test_it_ends_in_time(misled: SourceHistory) -> None:
    clock = itertools.count(step=20.0)

    found = tuned(misled, now=lambda: next(clock))

    assert found.tried <= 3


@pytest.mark.slow
def test_it_tries_no_more_than_it_may(misled: SourceHistory) -> None:
    assert tuned(misled, replace(QUICK, candidates=2)).tried == 2


def test_nobody_to_judge_by_is_told() -> None:
    with pytest.raises(InvalidInput, match="has no interactions"):
        tuned(made([], ["a"]))


def test_one_person_cannot_choose_and_judge() -> None:
    pieces = [f"p{number}" for number in range(12)]

    with pytest.raises(InvalidInput, match="made has too few people: "):
        tuned(made([("u", each, "RateLike", day) for day, each in enumerate(pieces)], pieces))


@pytest.mark.slow
def test_nothing_is_tried_under_settings_that_could_not_be_proposed(misled: SourceHistory) -> None:
    found = tuned(replace(misled, settings=weighing(Watch=0)))

    assert found.tried == 0
    assert found.objections == ["Watch weighs 0; only weights above 0 are proposed for it."]


def test_what_changed_is_told_by_path() -> None:
    before = {"halfLifeDays": 90, "blend": {"content": 0.1, "audience": 0.8}, "categoryWeights": {}}
    after = {"halfLifeDays": 90, "blend": {"content": 0.3, "audience": 0.8}, "categoryWeights": {"tag": 2}}

    assert changed_members(before, after) == [("blend.content", 0.1, 0.3), ("categoryWeights.tag", None, 2)]
