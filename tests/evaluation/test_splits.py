"""What is held out is known to nobody; of newcomers and of young sources only so much is known."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import rows_of_likes
from evaluation.conftest import drawn, evaluate, made
from penchant.errors import InvalidInput
from penchant_engine.index.layout import BoolArray
from penchant_engine.model import DAY_MS, InteractionType, OrderUse
from penchant_lab.contenders import PENCHANT
from penchant_lab.histories import Knowledge, SourceHistory
from penchant_lab.served import ServedSource
from penchant_lab.splits import Kind, KnowledgeLimits, SplitRule, split
from penchant_lab.trials import EvaluationRequest, Trial, known_part

KINDS = st.sampled_from(["time", "random", "cut"])
PIECES = [f"p{number}" for number in range(8)]
ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c"]), st.sampled_from(PIECES), st.just("Watch"), st.integers(0, 9))
)
RATED_ROWS = st.lists(
    st.tuples(
        st.sampled_from("abcdef"),
        st.sampled_from(PIECES),
        st.sampled_from(["RateLike", "RateDislike", "Click"]),
        st.integers(0, 9),
    ),
    min_size=20,
    max_size=60,
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


@given(rows=RATED_ROWS, seed=st.integers(0, 3))
def test_of_each_person_the_next_like_is_held_out_and_nothing_later_is_known(
    rows: list[tuple[str, str, str, int]], seed: int
) -> None:
    events = made(rows, PIECES).events

    known, held_out = split(events, SplitRule(kind="next", seed=seed))

    assert not (known & held_out).any()
    for person in range(int(events.people.max()) + 1):
        own = events.people == person
        if not (own & held_out).any():
            # Whatever is liked is met before, or comes first.
            assert known[own].all()
            continue
        (chosen,) = np.flatnonzero(own & held_out).tolist()
        earlier, later = own & known, own & ~known & ~held_out
        assert rows[chosen][2] == "RateLike"
        assert earlier.any()
        assert events.pieces[chosen] not in events.pieces[earlier]
        assert events.times[earlier].max() <= events.times[chosen] <= events.times[later].min(initial=10 * DAY_MS)


def test_the_next_like_is_the_latest_with_a_piece_that_is_new() -> None:
    rows = [("u", "p0", "Click", 1), ("u", "p1", "RateLike", 2), ("u", "p2", "RateLike", 3), ("u", "p1", "RateLike", 4)]
    rows += [("u", "p3", "Click", 5), ("v", "p0", "RateLike", 1), ("w", "p0", "Click", 1)]

    known, held_out = split(made(rows, PIECES).events, SplitRule(kind="next"))

    assert np.flatnonzero(held_out).tolist() == [2]
    assert np.flatnonzero(known).tolist() == [0, 1, 5, 6]


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


def begun(history: SourceHistory, limits: KnowledgeLimits, kind: str = "time") -> tuple[Knowledge, BoolArray]:
    rule = SplitRule(kind=kind)  # type: ignore[arg-type]
    return known_part(history, EvaluationRequest(split=rule, limits=limits))


@given(rows=RATED_ROWS, kind=KINDS, size=st.integers(0, 30), likes=st.integers(1, 3))
def test_so_much_is_known_and_no_more(rows: list[tuple[str, str, str, int]], kind: str, size: int, likes: int) -> None:
    history = made(rows, PIECES)

    knowledge, held_out = begun(history, KnowledgeLimits(history=size, likes=likes), kind)

    assert knowledge.newcomers is not None
    newcomers = np.flatnonzero(knowledge.newcomers)
    most = split(history.events, SplitRule(kind=kind)).known  # type: ignore[arg-type]
    assert len(knowledge.shared) == min(size, np.count_nonzero(most & ~knowledge.newcomers[history.events.people]))
    assert np.diff(knowledge.likes.starts)[newcomers].tolist() == [likes] * len(newcomers)
    own = knowledge.events.take(knowledge.newcomers[knowledge.events.people])
    assert {(who, what) for who, what in zip(own.people.tolist(), own.pieces.tolist(), strict=True)} == {
        (who, what) for who in newcomers.tolist() for what in knowledge.likes[who].tolist()
    }
    assert len(own) + np.count_nonzero(held_out) == np.count_nonzero(knowledge.newcomers[history.events.people])


def test_known_are_the_first_likes_of_a_newcomer_and_the_first_interactions_of_a_source() -> None:
    rows = [
        (person, f"p{day}", "RateLike", 10 * day + number) for number, person in enumerate("abcd") for day in range(6)
    ]
    history = made(rows, PIECES)

    knowledge, held_out = begun(history, KnowledgeLimits(history=5, likes=2))

    assert knowledge.newcomers is not None
    others, own = np.flatnonzero(~knowledge.newcomers), np.flatnonzero(knowledge.newcomers)
    # Of two others: three first days, but for the later one of the third.
    assert sorted((knowledge.shared.times // DAY_MS).tolist()) == sorted([*others, *(10 + others), 20 + min(others)])
    assert [knowledge.likes[person].tolist() for person in own.tolist()] == [[0, 1]] * 2
    assert np.unique(history.events.pieces[held_out]).tolist() == [2, 3, 4, 5]


@given(rows=RATED_ROWS, asked=st.integers(1, 4), seed=st.integers(0, 3))
def test_asked_are_the_first_of_the_later_likes(rows: list[tuple[str, str, str, int]], asked: int, seed: int) -> None:
    request = EvaluationRequest(split=SplitRule(seed=seed, share=0.5))
    history = made([*rows, *((person, "p0", "Watch", -day) for person in "abcdef" for day in range(9))], PIECES)

    for limits in (None, KnowledgeLimits(likes=1)):
        try:
            whole, part = (Trial.of(history, replace(request, limits=limits, asked=each)) for each in (None, asked))
        except InvalidInput:
            continue
        events, held_out = history.events, known_part(history, replace(request, limits=limits))[1]
        assert part.people.tolist() == whole.people.tolist()
        for person, everything, first in zip(
            whole.people.tolist(), whole.warm.relevant, part.warm.relevant, strict=True
        ):
            assert len(first) == min(asked, len(everything))
            assert set(first.tolist()) <= set(everything.tolist())
            own = held_out & (events.people == person) & events.are((InteractionType.RATE_LIKE,))
            begun_at = {piece: events.times[own & (events.pieces == piece)].min() for piece in everything.tolist()}
            rest = set(everything.tolist()) - set(first.tolist())
            assert max(begun_at[each] for each in first.tolist()) <= min(
                map(begun_at.__getitem__, rest), default=10**18
            )


def test_of_one_moment_chance_says_what_is_asked_for() -> None:
    rows = [("u", piece, "RateLike", day) for piece, day in zip(PIECES[:6], (0, 1, 2, 3, 4, 4), strict=True)]
    history = made([*rows, *(("v", piece, "RateLike", 0) for piece in PIECES)], PIECES)

    first = {
        Trial.of(history, EvaluationRequest(split=SplitRule(seed=seed, share=0.4), asked=1))
        .warm.relevant[0]
        .tolist()[0]
        for seed in range(20)
    }

    assert first == {4, 5}


def test_where_times_are_made_up_people_come_one_after_the_other(by_chance: SourceHistory) -> None:
    knowledge, _ = begun(by_chance, KnowledgeLimits(history=30), "random")

    # Ten known interactions of each person.
    assert np.bincount(np.bincount(knowledge.shared.people)).tolist()[1:] == [0] * 9 + [3]
    latest = [
        knowledge.events.times[knowledge.events.people == each].max() for each in np.unique(knowledge.events.people)
    ]
    assert set(latest) == {knowledge.moment}


def test_newcomers_come_when_the_source_is_as_it_is(alike: SourceHistory) -> None:
    knowledge, _ = begun(alike, KnowledgeLimits(history=100, likes=3))

    assert knowledge.newcomers is not None
    assert knowledge.moment == knowledge.shared.times.max() < alike.events.times.max()
    for person in np.flatnonzero(knowledge.newcomers).tolist():
        own = knowledge.events.times[knowledge.events.people == person]
        assert own.max() == knowledge.moment
        assert own.max() - own.min() == 2 * DAY_MS


def test_newcomers_count_for_nobody_else(alike: SourceHistory) -> None:
    knowledge, _ = begun(alike, KnowledgeLimits(history=400, likes=3))
    alone = replace(knowledge, events=knowledge.shared, newcomers=None)

    assert (knowledge.liked_counts == alone.liked_counts).all()
    assert (knowledge.met == alone.met).all()
    ours, theirs = (ServedSource(each).prepared for each in (knowledge, alone))
    assert ours.audience.figures == theirs.audience.figures
    assert ours.audience.figures.likes == 400
    likes = dict.fromkeys(alike.ids[:20], 16)
    ours_a, theirs_a = (
        each.audience.alike(each.snapshot.parts, rows_of_likes(each.snapshot, likes), OrderUse.ON)[0]
        for each in (ours, theirs)
    )
    assert all(map(np.array_equal, ours_a, theirs_a))
    assert len(ours_a.rows)


@pytest.mark.parametrize(("kind", "use"), (("time", OrderUse.ON), ("cut", OrderUse.ON), ("random", OrderUse.OFF)))
def test_held_out_at_random_interactions_say_nothing_of_order(alike: SourceHistory, kind: Kind, use: OrderUse) -> None:
    history = replace(alike, settings=replace(alike.settings, order=OrderUse.ON))
    request = EvaluationRequest(split=SplitRule(kind=kind), methods=("popular",))

    evaluated = evaluate(history, request)

    assert known_part(history, request)[0].settings.order is use
    assert any("order" in note for note in evaluated.notes) == (use is OrderUse.OFF)


@pytest.fixture(scope="module")
def figures(alike: SourceHistory) -> dict[tuple[int, int], dict[str, float]]:
    request = EvaluationRequest(split=SplitRule(), methods=("popular", PENCHANT, "EASE", "RP3beta", "item-kNN", "iALS"))
    cases = [KnowledgeLimits(history=size, likes=likes) for size in (0, 400) for likes in (1, 3)]
    found = [evaluate(alike, replace(request, limits=each)) for each in cases]
    return {
        (each.history or 0, each.known_likes or 0): {
            method.name: method.warm_people.ndcg10.value for method in each.methods if method.warm_people.ndcg10
        }
        for each in found
    }


@pytest.mark.slow
def test_where_others_are_known_one_like_leads_to_what_they_like(
    figures: dict[tuple[int, int], dict[str, float]],
) -> None:
    for likes in (1, 3):
        for method in (PENCHANT, "EASE", "RP3beta", "item-kNN", "iALS"):
            assert figures[400, likes][method] > 2 * figures[400, likes]["popular"]
    assert figures[400, 1][PENCHANT] > 2 * figures[0, 1][PENCHANT]
    assert {figures[0, 3][each] for each in ("popular", "EASE", "RP3beta", "item-kNN", "iALS")} == {
        figures[0, 3]["popular"]
    }


def test_a_source_that_has_less_is_told(alike: SourceHistory) -> None:
    request = EvaluationRequest(split=SplitRule(), limits=KnowledgeLimits(history=5_000), methods=("popular",))

    found = evaluate(alike, request)

    assert found.notes == ["There are only 600 interactions of people who are not asked for."]
    assert (found.shared, found.warm_people_asked, found.cold_people_asked) == (600, 60, 0)


@pytest.mark.parametrize("rows", ([], [("u", "p1", "RateLike", day) for day in range(9)]))
def test_too_few_to_ask_for_is_told(rows: Sequence[tuple[str, str, str, int]]) -> None:
    request = EvaluationRequest(split=SplitRule(), limits=KnowledgeLimits(likes=3))

    with pytest.raises(InvalidInput, match=r"has no interactions|likes and more, .* has less than two: one to ask for"):
        evaluate(made(rows, PIECES), request)


def test_the_same_request_draws_the_same_newcomers() -> None:
    one, other = (begun(drawn(40, 30, 10), KnowledgeLimits(likes=2))[0].newcomers for _ in range(2))

    assert one is not None
    assert (one == other).all()
    assert one.sum() == 20
