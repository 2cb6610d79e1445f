"""Methods are judged over the same people; what penchant is judged by is what the service serves."""

import json
import time
from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from evaluation.conftest import drawn, evaluate, made
from penchant.errors import InvalidInput
from penchant.model import SourceSettings
from penchant.wire import encode, format_timestamp
from penchant.wire.stored import decode_stored_piece
from penchant_engine.model import DAY_MS, WHOLE, Algorithm, IndexedPiece, InteractionType
from penchant_lab.contenders import PENCHANT
from penchant_lab.contest import Evaluation, as_json, conclude
from penchant_lab.histories import TYPES, Knowledge, SourceHistory, history_of
from penchant_lab.served import AS_SERVED, ServedSource
from penchant_lab.splits import SplitRule, split
from penchant_lab.trials import EvaluationRequest
from serving import Service

pytestmark = pytest.mark.slow

PLAIN = ("random", "popular", "content", PENCHANT, "item-kNN", "RP3beta", "EASE", "iALS")


@pytest.fixture(scope="module")
def report(alike: SourceHistory) -> Evaluation:
    return evaluate(alike, EvaluationRequest(split=SplitRule(cold=0.1)))


def test_who_shares_likes_is_found_by_all_that_look_at_people(report: Evaluation) -> None:
    gains = {each.name: each.warm_people.ndcg10.value for each in report.methods if each.warm_people.ndcg10}

    assert set(gains) >= set(PLAIN)
    for method in (PENCHANT, "item-kNN", "RP3beta", "EASE", "iALS"):
        assert gains[method] > 2 * max(gains["random"], gains["popular"], gains["content"])


def test_the_same_wish_gives_the_same_figures(alike: SourceHistory, report: Evaluation) -> None:
    again = evaluate(alike, EvaluationRequest(split=SplitRule(cold=0.1)))

    def figures(evaluation: Evaluation) -> list[object]:
        return [{**json.loads(encode(each)), "seconds": 0} for each in evaluation.methods]

    assert figures(again) == figures(report)


def test_warm_and_cold_people_and_pieces_are_told_apart(report: Evaluation) -> None:
    ease, content = report.method("EASE"), report.method("content")

    assert ease is not None
    assert content is not None
    assert report.cold_people_asked == ease.cold_people.people > 0
    assert report.warm_people_asked == ease.warm_people.people > ease.cold_pieces.people > 0
    assert report.cold_pieces > 0
    assert ease.cold_pieces.recall20 is not None
    assert ease.cold_pieces.recall20.value < 0.5
    assert content.cold_shown > 0


def test_it_ends_with_who_did_best_whether_that_is_certain_and_what_to_try(report: Evaluation) -> None:
    by = {each.name: each.penchant_minus for each in report.methods if each.penchant_minus}
    best = max(report.methods, key=lambda each: each.warm_people.ndcg10.value if each.warm_people.ndcg10 else 0)

    first, compared, *advice = conclude(report)

    assert first.startswith(f"Best by NDCG@10 is {best.name} with 0.")
    certain = compared.partition("not certainly different")[0]
    assert f"better than random (by {by['random'].value:.3f})" in certain
    for name, difference in by.items():
        assert (f"{name} (by {abs(difference.value):.3f})" in certain) == (not difference.low <= 0 <= difference.high)
    assert any("penchant tune" in each for each in advice)
    assert any("tell little" in each for each in advice) == (report.warm_people_asked < 200)


def test_penchant_is_compared_with_each_over_the_same_people(report: Evaluation) -> None:
    ours = report.method(PENCHANT)
    assert ours is not None
    for each in report.methods:
        if each.name == PENCHANT:
            assert each.penchant_minus is None
            continue
        assert each.penchant_minus is not None
        assert ours.warm_people.ndcg10 is not None
        assert each.warm_people.ndcg10 is not None
        difference = ours.warm_people.ndcg10.value - each.warm_people.ndcg10.value
        assert each.penchant_minus.value == pytest.approx(difference, abs=1e-4)
        assert each.penchant_minus.low <= each.penchant_minus.value <= each.penchant_minus.high


def test_at_most_so_many_people_are_asked(alike: SourceHistory) -> None:
    found = evaluate(alike, EvaluationRequest(split=SplitRule(cold=0.3), people=7, methods=("popular",)))

    assert (found.warm_people_asked, found.cold_people_asked) == (7, 7)


def test_methods_that_need_too_much_memory_are_left_out_and_named(alike: SourceHistory) -> None:
    found = evaluate(alike, EvaluationRequest(split=SplitRule(), memory_bytes=1_000, methods=("EASE", "popular")))

    assert [each.name for each in found.methods] == ["popular"]
    assert found.notes[0].startswith("EASE: left out, since 80 liked pieces need")


def test_nothing_to_judge_is_told() -> None:
    empty = made([], ["a", "b"])
    with pytest.raises(InvalidInput, match="has no interactions"):
        evaluate(empty, EvaluationRequest(split=SplitRule()))
    watched = made([("u", f"p{number}", "Watch", number) for number in range(9)], [f"p{number}" for number in range(9)])
    with pytest.raises(InvalidInput, match="Nobody in made has RateLike among"):
        evaluate(watched, EvaluationRequest(split=SplitRule(), relevant=(InteractionType.RATE_LIKE,)))


def test_the_json_is_the_report(report: Evaluation) -> None:
    read = json.loads(as_json(report))

    assert [each["name"] for each in read["methods"]] == [each.name for each in report.methods]
    assert read["methods"][3]["warmPeople"]["ndcg10"].keys() == {"value", "low", "high"}


def test_new_pieces_count_as_new_at_the_moment_and_others_not() -> None:
    rows = [("u", "a", "RateLike", 3), ("u", "b", "RateLike", 9), ("w", "b", "Watch", 5)]
    pieces = [IndexedPiece(id=each, weights={}, available_from=20 * DAY_MS) for each in "abc"]
    events = [(person, piece, InteractionType(kind), day * DAY_MS, WHOLE) for person, piece, kind, day in rows]
    history = history_of("made", pieces, events, SourceSettings())
    knowledge = Knowledge.of(history, np.ones(3, dtype=np.bool_), history.settings)

    assert dict(ServedSource(knowledge).prepared.snapshot.day_counts()) == {3: 1, 5: 1, 9: 1}


WORDS = ("love", "war", "tea", "rain", "ships", "bees")


def test_penchant_is_what_the_service_serves(service: Service) -> None:
    """From the known part of a history, asked for at the same moment."""
    now = int(time.time() * 1000)
    bodies = [
        {"id": f"p{number:04d}", "categories": {"theme": [WORDS[number % 6], WORDS[number % 5]]}}
        for number in range(60)
    ]
    history = drawn(40, 60, 10, groups=3)
    events = replace(history.events, times=history.events.times // DAY_MS * 1000 + now - 60_000)
    pieces = [decode_stored_piece(encode(body), now - 60_000) for body in bodies]
    history = replace(history, pieces=pieces, events=events)
    known = split(events, SplitRule(kind="random")).known
    knowledge = Knowledge.of(history, known, history.settings)
    service.submit("s", *bodies)
    rows = [
        {
            "userId": f"u{person}",
            "contentId": history.ids[piece],
            "type": TYPES[kind].value,
            "timestamp": format_timestamp(when),
        }
        for person, piece, kind, when in zip(
            *(column[known].tolist() for column in (events.people, events.pieces, events.types, events.times)),
            strict=True,
        )
    ]
    assert service.post("/s/interactions", json=rows).status_code == 200
    served = ServedSource(knowledge)
    mixed = structs.replace(AS_SERVED, diversity=0.5, calibration=0.5, calibration_category="theme")
    varied = ServedSource(knowledge, served.prepared, mixed)

    for person in (0, 1, 2, 17, 39):
        for algorithm in (None, Algorithm.COSINE):
            algo = "" if algorithm is None else f"?algo={algorithm.value}"
            answer = service.get(f"/s/users/u{person}/recommendation{algo}").json()
            assert served.ids(person, algorithm) == [each["id"] for each in answer["content"]]
        query = "?diversity=0.5&calibration=0.5&calibration-category=theme"
        answer = service.get(f"/s/users/u{person}/recommendation{query}").json()
        assert varied.ids(person) == [each["id"] for each in answer["content"]] != served.ids(person)
