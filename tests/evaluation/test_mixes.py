"""What is known may count as recorded by other types; people are judged by what they did."""

from dataclasses import replace

import numpy as np
import pytest

from penchant.model import SourceSettings
from penchant_engine.model import IndexedPiece, InteractionType
from penchant_lab.histories import NUMBERS, SourceHistory, history_of
from penchant_lab.mixes import MIXES
from penchant_lab.splits import RELEVANT, SplitRule
from penchant_lab.trials import EvaluationRequest, Trial

CLICK, LIKE = InteractionType.CLICK, InteractionType.RATE_LIKE
REQUEST = EvaluationRequest(split=SplitRule())


@pytest.fixture(scope="module")
def history() -> SourceHistory:
    """Two hundred people, of whose ten interactions each third is a like, the others watches."""
    pieces = [IndexedPiece(id=f"p{number:02}", weights={}) for number in range(40)]
    rows = [
        (person, f"p{(person + place) % 40:02}", LIKE if place % 3 == 0 else InteractionType.WATCH, place * 1_000, 100)
        for person in range(200)
        for place in range(10)
    ]
    return history_of("s", pieces, rows, SourceSettings())


def counts(history: SourceHistory, recorded: str) -> dict[str, int]:
    types = Trial.of(history, replace(REQUEST, recorded=recorded)).knowledge.events.types
    return {kind.value: n for kind, number in NUMBERS.items() if (n := int(np.count_nonzero(types == number)))}


def test_all_that_is_known_may_be_of_one_type(history: SourceHistory) -> None:
    as_it_was = counts(history, "")

    assert as_it_was == {"RateLike": 600, "Watch": 1_000}
    assert counts(history, "Click") == {"Click": 1_600}
    assert counts(history, "Purchase") == {"Purchase": 1_600}


def test_mixes_are_what_their_names_say(history: SourceHistory) -> None:
    found = {name: counts(history, name) for name in MIXES}

    assert found["noise"] == {"Click": 2_080}
    assert found["plays"] == {"Play": 600, "Click": 1_000}
    assert found["mixed"] == {"RateLike": 600, "Click": 1_000}
    assert found["few"] == {"RateLike": 600, "Click": 2_400}
    assert found["shop"]["RateLike"] == pytest.approx(60, abs=30)
    assert found["p90"]["Click"] == pytest.approx(1_440, abs=120)
    assert found["p99"]["Click"] > found["p90"]["Click"]
    assert found["lurkers"].get("Click", 0) == 0, "all are asked for"


@pytest.mark.parametrize("recorded", ("Click", *MIXES))
def test_who_is_judged_by_what_and_what_they_know_stay(history: SourceHistory, recorded: str) -> None:
    truth, other = (Trial.of(history, replace(REQUEST, recorded=each)) for each in ("", recorded))

    assert other.people.tolist() == truth.people.tolist()
    assert [each.tolist() for each in other.warm.relevant] == [each.tolist() for each in truth.warm.relevant]
    assert other.knowledge.seen.values.tolist() == truth.knowledge.seen.values.tolist()


def test_half_of_those_who_are_not_asked_for_lurk(history: SourceHistory) -> None:
    trial = Trial.of(history, replace(REQUEST, recorded="lurkers", people=50))

    clicking = np.unique(trial.knowledge.events.people[trial.knowledge.events.are((CLICK,))])
    assert len(clicking) == pytest.approx(75, abs=25)
    assert not np.isin(clicking, trial.people).any()


def test_chance_is_that_of_the_seed(history: SourceHistory) -> None:
    first, again, other = (
        Trial.of(history, replace(REQUEST, split=SplitRule(seed=seed), recorded="shop")).knowledge.events
        for seed in (1, 1, 2)
    )

    assert first.types.tolist() == again.types.tolist() != other.types.tolist()
    assert RELEVANT[1] is LIKE
