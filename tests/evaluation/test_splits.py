"""What is held out is known to nobody."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.conftest import drawn, made
from penchant.evaluation.histories import SourceHistory
from penchant.evaluation.splits import SplitRule, split

KINDS = st.sampled_from(["time", "random", "cut"])
PIECES = [f"p{number}" for number in range(8)]
ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c"]), st.sampled_from(PIECES), st.just("Watch"), st.integers(0, 9))
)


@given(rows=ROWS, kind=KINDS, cold=st.sampled_from([0.0, 0.5]), seed=st.integers(0, 5))
def test_every_event_is_known_or_held_out_and_the_same_wish_splits_alike(
    rows: list[tuple[str, str, str, int]], kind: str, cold: float, seed: int
) -> None:
    history = made(rows, PIECES)
    request = SplitRule(kind=kind, cold=cold, seed=seed)  # type: ignore[arg-type]

    known, held_out = split(history.events, request)

    assert (known ^ held_out).all()
    assert (split(made(rows, PIECES).events, request).known == known).all()


@given(rows=ROWS)
def test_by_time_the_last_fifth_of_each_person_is_held_out(rows: list[tuple[str, str, str, int]]) -> None:
    held_out = split(made(rows, PIECES).events, SplitRule()).held_out

    expected = set()
    for person in {row[0] for row in rows}:
        own = sorted((place for place, row in enumerate(rows) if row[0] == person), key=lambda place: rows[place][3])
        expected |= set(own[len(own) - len(own) // 5 :])
    assert set(np.flatnonzero(held_out).tolist()) == expected


def test_a_cut_holds_out_what_happened_after_a_moment(alike: SourceHistory) -> None:
    known, held_out = split(alike.events, SplitRule(kind="cut"))

    assert alike.events.times[known].max() < alike.events.times[held_out].min()
    assert 0 < held_out.mean() <= 0.2


@pytest.mark.parametrize("kind", ("time", "random"))
def test_of_each_person_a_fifth_is_held_out(alike: SourceHistory, kind: str) -> None:
    held_out = split(alike.events, SplitRule(kind=kind)).held_out  # type: ignore[arg-type]

    assert set(np.bincount(alike.events.people[held_out]).tolist()) == {2}


def test_other_seeds_draw_others(alike: SourceHistory) -> None:
    one, other = (split(alike.events, SplitRule(kind="random", seed=seed)).held_out for seed in (0, 1))

    assert (one != other).any()


def test_of_cold_pieces_and_people_nothing_is_known() -> None:
    history = drawn(60, 50, 10)

    known, held_out = split(history.events, SplitRule(cold=0.2))

    for numbers in (history.events.people, history.events.pieces):
        lost = set(numbers[held_out].tolist()) - set(numbers[known].tolist())
        assert 0 < len(lost) < 30
