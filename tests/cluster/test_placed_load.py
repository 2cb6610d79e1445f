"""The load on shards tells right answers from others: each kind of fault is found where it is so."""

import json
from collections.abc import Mapping

import pytest

from cluster.placed_load import Judge, Question, Sample, window
from faults.client import Answer

LIST = Question("/s/content/p1/similar")
REASON = Question("/s/content/p1/why/p2", is_list=False)
NO_HEADERS: Mapping[str, str] = {}


@pytest.fixture
def judge() -> Judge:
    """Knows versions 5 and 7 of a source, in which a list has two pieces, and then one more."""
    judge = Judge()
    for version, state in ((5, 0), (7, 1)):
        judge.note_version(version, state)
        judge.learn(LIST, listed(version, *"abc"[: 2 + state]))
        judge.learn(REASON, answered(version, {"rank": state}))
    judge.note_version(9, 0)
    return judge


def answered(version: int, body: object, status: int = 200, headers: Mapping[str, str] = NO_HEADERS) -> Answer:
    return Answer(status, {**headers, "x-penchant-version": str(version)}, json.dumps(body).encode())


def listed(version: int, *ids: str, headers: Mapping[str, str] = NO_HEADERS) -> Answer:
    return answered(
        version, {"content": [{"id": each, "score": 0.5} for each in ids], "listId": version}, headers=headers
    )


@pytest.mark.parametrize(
    ("answer", "floor", "outcome"),
    (
        (listed(6, "a", "b"), 5, "right"),
        (listed(7, "a", "b", "c"), 7, "right"),
        (listed(10, "a", "b"), 9, "right"),
        (listed(6, "a", "b", "c"), 5, "wrong"),
        (listed(6, "b", "a"), 5, "wrong"),
        (listed(7, "a", "c"), 7, "partial"),
        (listed(7), 7, "partial"),
        (listed(7, "a", "b", "d"), 7, "wrong"),
        (listed(6, "a", "b"), 7, "wrong"),
        (listed(9, "a", "b", headers={"x-penchant-stale": "true"}), 9, "wrong"),
        (answered(9, {"code": "index-not-ready"}, 503, {"retry-after": "1"}), 9, "503 index-not-ready"),
        (answered(9, {"code": "index-not-ready"}, 503), 9, "503 index-not-ready without retry-after"),
    ),
)
def test_each_kind_of_answer_is_told_apart(judge: Judge, answer: Answer, floor: int, outcome: str) -> None:
    assert judge.outcome(LIST, answer, floor) == outcome
    assert len(judge.examples) == (outcome in {"wrong", "partial"})


def test_all_of_a_reason_has_to_be_right(judge: Judge) -> None:
    assert judge.outcome(REASON, answered(7, {"rank": 1}), 7) == "right"
    assert judge.outcome(REASON, answered(7, {"rank": 0}), 7) == "wrong"


def test_a_state_has_one_right_answer(judge: Judge) -> None:
    with pytest.raises(AssertionError):
        judge.learn(LIST, listed(9, "a"))


def test_a_window_has_the_requests_that_began_within_its_spans() -> None:
    samples = [Sample(began, began / 100, "right") for began in range(10)]

    chosen = window(samples, [(1.0, 3.0), (8.0, 12.0)])

    assert (chosen.counts["right"], chosen.per_second) == (4, 4 / 6)
    assert (chosen.p99_ms, chosen.longest_ms) == (90.0, 90.0)
