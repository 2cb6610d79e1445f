"""Lists from elsewhere: ours by that way have the same figures, and what none of ours could have is left out."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from evaluation.conftest import drawn, evaluate, made
from penchant.errors import InvalidInput
from penchant_lab.contest import Contest, best_first, made_here
from penchant_lab.foreign_lists import ForeignEntry, ForeignLists
from penchant_lab.histories import SourceHistory
from penchant_lab.list_work import MethodLists
from penchant_lab.metrics import NOTHING
from penchant_lab.splits import SplitRule
from penchant_lab.trials import EvaluationRequest, Trial

METHODS = ("popular", "item-kNN")
REQUEST = EvaluationRequest(split=SplitRule(cold=0.1), methods=METHODS)


def entries_of(contest: Contest, method: str, parts: Sequence[MethodLists]) -> Iterator[ForeignEntry]:
    trial, lists = contest.lists(parts)
    for person, own in zip(trial.people.tolist(), lists[method], strict=True):
        for rank, piece in enumerate(own[own != NOTHING].tolist()):
            yield ForeignEntry(str(contest.history.people[person]), contest.history.ids[piece], rank)


def test_our_lists_from_a_file_have_the_figures_of_our_method() -> None:
    history = drawn(40, 60, 12, groups=3)
    contest = Contest(history, [REQUEST])
    parts = made_here(contest, lambda _what, _done, _total: None)
    lists = [ForeignLists.of(f"their {name}", entries_of(contest, name, parts), history) for name in METHODS]

    found = Contest(history, [REQUEST], lists).evaluated(parts)[0]

    assert [each.name for each in found.methods] == ["popular", "item-kNN", "their popular", "their item-kNN"]
    for ours, theirs in zip(found.methods[:2], found.methods[2:], strict=True):
        assert structs.replace(theirs, name=ours.name, parameters=ours.parameters, seconds=ours.seconds) == ours


@pytest.fixture
def small() -> SourceHistory:
    """Two people who are asked for: u knows a and b and likes c later, w knows c, d and likes a later."""
    rows = [
        (who, piece, "RateLike", day) for who, own in (("u", "abdec"), ("w", "cdeba")) for day, piece in enumerate(own)
    ]
    return made(rows, "abcdefgh")


def lists_of(history: SourceHistory, *entries: tuple[str, str, float]) -> tuple[list[list[str]], str]:
    trial = Trial.of(history, EvaluationRequest(split=SplitRule()))
    lists, told = ForeignLists.of("mine", [ForeignEntry(*each) for each in entries], history).lists(trial)
    assert [history.people[person] for person in trial.people] == ["u", "w"]
    return [[history.ids[piece] for piece in own[own != NOTHING]] for own in lists], told


def test_entries_that_none_of_ours_could_have_are_left_out_and_told(small: SourceHistory) -> None:
    entries = [("u", "x", 1), ("u", "a", 2), ("u", "g", 3), ("u", "c", 4), ("u", "g", 5), ("v", "c", 1)]

    lists, told = lists_of(small, *entries)

    assert lists == [["g", "c"], []]
    assert told == (
        "mine: 1 of the 2 people who are asked for have a list, 1 without one score 0, 1 have less than 20 entries, "
        "left out: 1 of pieces that are not in the source, 1 of pieces that the person knows, 1 that come again in a "
        "list, those of 1 people who are not in the source ('v')."
    )


def test_entries_of_one_place_are_ordered_by_id(small: SourceHistory) -> None:
    lists, told = lists_of(small, ("w", "h", 0), ("w", "a", 0), ("w", "f", -1), ("u", "c", 1))

    assert lists == [["c"], ["f", "a", "h"]]
    assert "1 have entries of equal rank or score, which go by id" in told


def test_lists_of_nobody_who_is_asked_for_are_an_error(small: SourceHistory) -> None:
    with pytest.raises(InvalidInput, match=r"2 people who are asked for, such as 'u', 'w'; it has others, such as '1'"):
        lists_of(small, ("1", "c", 1))


def test_lists_longer_than_ours_are_cut_after_what_is_left_out() -> None:
    history = drawn(10, 60, 12)
    trial = Trial.of(history, EvaluationRequest(split=SplitRule()))
    person = trial.people[0]
    entries = [ForeignEntry(str(history.people[person]), piece, rank) for rank, piece in enumerate(history.ids)]

    lists, _ = ForeignLists.of("all", entries, history).lists(trial)

    known = trial.knowledge.seen[person]
    assert lists[0].tolist() == np.setdiff1d(np.arange(60), known)[:20].tolist()


def test_the_best_comes_first_and_ours_keep_their_order_in_the_report(alike: SourceHistory) -> None:
    found = evaluate(alike, replace(REQUEST, methods=("item-kNN", "popular", "random")))

    assert [each.name for each in found.methods] == ["random", "popular", "item-kNN"]
    assert best_first(found.methods)[0].name == "item-kNN"
