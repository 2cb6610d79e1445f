"""What is known may count as recorded by another type; people are judged by what they did."""

from dataclasses import replace

import numpy as np
import pytest

from penchant.model import SourceSettings
from penchant_engine.model import IndexedPiece, InteractionType
from penchant_lab.histories import NUMBERS, SourceHistory, history_of
from penchant_lab.splits import SplitRule
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


def counts(history: SourceHistory, recorded: InteractionType | None) -> dict[str, int]:
    types = Trial.of(history, replace(REQUEST, recorded=recorded)).knowledge.events.types
    return {kind.value: n for kind, number in NUMBERS.items() if (n := int(np.count_nonzero(types == number)))}


def test_all_that_is_known_may_be_of_one_type(history: SourceHistory) -> None:
    as_it_was = counts(history, None)

    assert as_it_was == {"RateLike": 600, "Watch": 1_000}
    assert counts(history, CLICK) == {"Click": 1_600}
    assert counts(history, InteractionType.PURCHASE) == {"Purchase": 1_600}


def test_who_is_judged_by_what_and_what_they_know_stay(history: SourceHistory) -> None:
    truth, other = (Trial.of(history, replace(REQUEST, recorded=each)) for each in (None, CLICK))

    assert other.people.tolist() == truth.people.tolist()
    assert [each.tolist() for each in other.warm.relevant] == [each.tolist() for each in truth.warm.relevant]
    assert other.knowledge.seen.values.tolist() == truth.knowledge.seen.values.tolist()
