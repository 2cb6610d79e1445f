"""Is a varied list what the definition chooses, one by one?"""

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penchant_engine.model import Term
from penchant_engine.ranking import (
    CALIBRATION,
    DIVERSITY,
    LOOK_AHEAD,
    LOOKED_AT_ONCE,
    Calibration,
    Diversity,
    ListOrder,
    PieceKeywords,
    Preference,
    QuotaCount,
    RankedPiece,
    WorkBudget,
    arranged,
)
from variety_reference import Rules, Tastes, Terms, Variety, chosen_one_by_one, first_list, unit_vectors
from worst_rows import LISTED, SHAPES, order_of_shape, worst_row

TERMS = st.frozensets(st.builds(Term, st.sampled_from(["genre", "author"]), st.sampled_from("abc")), max_size=4)
GENRES = tuple(Term("genre", keyword) for keyword in "abc")
CANDIDATES = st.lists(st.tuples(st.integers(-5, 20), TERMS), max_size=9)

UNITS = st.sampled_from([1, 10**9])
TASTES = st.builds(
    Tastes,
    category=st.sampled_from(["genre", "author"]),
    percent=st.sampled_from([1, 30, 100]),
    amounts=st.dictionaries(st.sampled_from("abcd"), st.integers(1, 1_000), min_size=1),
)


def keywords_of(terms: list[Terms]) -> PieceKeywords:
    vectors = unit_vectors({str(place): dict.fromkeys(own, 1) for place, own in enumerate(terms)})
    names = sorted(set().union(*terms), key=str)
    rows = [(place, names.index(term), vectors[str(place)][term]) for place, own in enumerate(terms) for term in own]
    owners, numbers, units = np.asarray(sorted(rows), dtype=np.int64).reshape(-1, 3).T
    return PieceKeywords(count=len(terms), owners=owners, numbers=numbers, names=names, units=units)


def order_of(units: list[int], terms: list[Terms], **members: Any) -> ListOrder:
    """Return pieces in the order of their s, descending."""
    best, spread = (max(units), max(units) - min(units)) if units else (0, 0)
    usual = {"raised": 0, "best": best, "spread": spread}
    return ListOrder(units=np.asarray(units, dtype=np.int64), keywords=keywords_of(terms), **(usual | members))


@given(
    candidates=CANDIDATES,
    diversity=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    take=st.integers(1, 9),
    raised=st.integers(0, 2),
    unit=UNITS,
    tastes=st.none() | TASTES,
)
# What the second loses by its likeness is what the third is behind it: a tie, which the better piece wins.
@example(
    candidates=[(2, GENRES[:1]), (1, GENRES[:1]), (0, GENRES[1:2])],
    diversity=0.5,
    take=3,
    raised=0,
    unit=1,
    tastes=None,
)
def test_each_choice_is_the_best_by_the_definition(
    *,
    candidates: list[tuple[int, Iterable[Term]]],
    diversity: float,
    take: int,
    raised: int,
    unit: int,
    tastes: Tastes | None,
) -> None:
    units = sorted((number * unit for number, _ in candidates), reverse=True)
    ranked = [RankedPiece(f"p{place}", number) for place, number in enumerate(units)]
    terms = {each.id: frozenset(own) for each, (_, own) in zip(ranked, candidates, strict=True)}

    calibration = tastes and Calibration(category=tastes.category, strength=tastes.percent / 100, tastes=tastes.amounts)
    variety = Diversity(diversity=diversity, most={"author": 1}, calibration=calibration)
    found = arranged(order_of(units, [*terms.values()], raised=min(raised, len(units))), variety, take)

    weights = {piece_id: dict.fromkeys(own, 1) for piece_id, own in terms.items()}
    plain = Variety(diversity, variety.most, unit_vectors(weights), ranked, tastes)
    expected = chosen_one_by_one(ranked, ranked[:raised], plain, take)
    assert [ranked[each.place] for each in found.pieces] == expected


def test_keywords_that_no_further_piece_may_have_are_named() -> None:
    author, other = Term("author", "a"), Term("author", "b")
    terms = [frozenset({author}), frozenset({author}), frozenset({other})]

    found = arranged(order_of([3, 2, 1], terms), Diversity(most={"author": 1}), 2)

    assert ([each.place for each in found.pieces], found.full) == ([0, 2], {author, other})


def test_what_puts_a_piece_before_a_better_one_is_told() -> None:
    terms = [frozenset(GENRES[:1]), frozenset(GENRES[:1]), frozenset(GENRES[1:2])]
    calibration = Calibration(category="genre", strength=0.5, tastes={"a": 1, "b": 1})
    order = order_of([30, 20, 10], terms)

    mixed = arranged(order, Diversity(diversity=1, calibration=calibration), 3).pieces
    alone = arranged(order, Diversity(calibration=calibration), 3).pieces

    assert [each.place for each in mixed] == [each.place for each in alone] == [0, 2, 1]
    assert mixed[1].preferences == [Preference(DIVERSITY), Preference(CALIBRATION, GENRES[1])]
    assert alone[1].preferences == [Preference(CALIBRATION, GENRES[1])]
    assert not mixed[0].preferences
    assert not mixed[2].preferences


def test_nothing_is_varied_where_nothing_is_asked_for() -> None:
    assert not Diversity()
    assert Diversity(diversity=0.1)
    assert Diversity(most={"genre": 1})
    assert Diversity(calibration=Calibration(category="genre", strength=0.1, tastes={"a": 1}))
    assert not Diversity(calibration=Calibration(category="genre", strength=0, tastes={"a": 1}))


AUTHORS = st.frozensets(st.builds(Term, st.just("author"), st.sampled_from("ab")), max_size=2)
NESTED, APART = ((0, 1, 3, 4), (0, 1, 2, 4))
"""What pieces count for, as bits of three quotas: of the second's pieces all are the first's, or none."""


@given(
    terms=st.lists(AUTHORS, min_size=1, max_size=6),
    kinds=st.sampled_from([NESTED, APART]),
    chosen=st.lists(st.integers(0, 3), min_size=6, max_size=6),
    quotas=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=3),
    pins=st.dictionaries(st.integers(0, 3), st.integers(0, 5), max_size=2),
    most=st.sampled_from([{}, {"author": 1}]),
    raised=st.integers(0, 2),
)
@example(
    terms=[frozenset(), frozenset({Term("author", "a")}), frozenset(), frozenset({Term("author", "a")})],
    kinds=NESTED,
    chosen=[0, 3, 0, 2, 0, 0],
    quotas=[(0, 0), (1, 1), (0, 1)],
    pins={},
    most={"author": 1},
    raised=2,
)
def test_a_list_is_the_first_in_the_order_that_meets_its_rules(
    *,
    terms: list[Terms],
    kinds: tuple[int, ...],
    chosen: list[int],
    quotas: list[tuple[int, int]],
    pins: dict[int, int],
    most: dict[str, int],
    raised: int,
) -> None:
    take, count = 4, len(terms)
    bits = [kinds[each] for each in chosen[:count]]
    fixed = {
        at: piece
        for number, (at, piece) in enumerate(pins.items())
        if piece < count and piece not in [*pins.values()][:number]
    }
    counts = [QuotaCount(least=min(least, of + 1), of=of + 1) for of, least in quotas]
    raised = min(raised, count)
    rules = Rules(terms, bits, raised, fixed, [(each.least, each.of) for each in counts], most, take)

    order = order_of(
        [*range(count, 0, -1)], terms, raised=raised, fixed=fixed, quotas=counts, counted=np.asarray(bits, np.int64)
    )
    found = arranged(order, Diversity(most=most), take)

    assert [(each.place, each.rule or None, each.displaced) for each in found.pieces] == first_list(rules)


def test_quotas_that_want_the_same_places_leave_the_list_full() -> None:
    """Three in four of the ways to meet them are dead ends: a search that tried all of them would take for ever."""
    terms = [frozenset({Term("author", f"a{place % 60}"), Term("genre", f"g{place % 7}")}) for place in range(480)]
    bits = np.asarray([(0, 0, 0, 1, 0, 0, 2, 0, 4, 0, 0)[place % 11] for place in range(480)], dtype=np.int64)
    quotas = [QuotaCount(least=8, of=10), QuotaCount(least=8, of=10), QuotaCount(least=8, of=30)]
    order = order_of([*range(480, 0, -1)], terms, quotas=quotas, counted=bits)

    found = arranged(order, Diversity(most={"author": 1, "genre": 6}), 30)

    listed = [each.place for each in found.pieces]
    assert (found.promised, len(listed)) == ([8, 2, 8], 30)
    assert [sum(bits[each] == kind for each in listed[:10]) for kind in (1, 2)] == [8, 2]
    assert sum(bits[each] == 4 for each in listed) >= 8


@given(
    terms=st.lists(AUTHORS, min_size=1, max_size=12),
    kinds=st.sampled_from([NESTED, APART]),
    chosen=st.lists(st.integers(0, 3), min_size=12, max_size=12),
    quotas=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=3),
    pin=st.none() | st.tuples(st.integers(0, 4), st.integers(0, 11)),
    raised=st.integers(0, 3),
    looks=st.integers(0, 300),
)
def test_whatever_work_is_left_what_is_promised_is_met_and_the_list_is_full(
    *,
    terms: list[Terms],
    kinds: tuple[int, ...],
    chosen: list[int],
    quotas: list[tuple[int, int]],
    pin: tuple[int, int] | None,
    raised: int,
    looks: int,
) -> None:
    count, take, most = len(terms), 6, {"author": 2}
    bits = np.asarray([kinds[each] for each in chosen[:count]], np.int64)
    fixed = {pin[0]: pin[1]} if pin is not None and pin[1] < count else {}
    counts = [QuotaCount(least=min(least, of + 1), of=of + 1) for of, least in quotas]
    order = order_of([*range(count, 0, -1)], terms, raised=min(raised, count), fixed=fixed, quotas=counts, counted=bits)

    found = arranged(order, Diversity(most=most), take, WorkBudget(looks, 0))

    listed = [each.place for each in found.pieces]
    late = not any(listed.index(piece) == at for at, piece in fixed.items())
    for number, quota in enumerate(counts):
        met = sum(bits[each] >> number & 1 for each in listed[: quota.of])
        assert met >= found.promised[number] or (fixed and late)
    assert len(listed) == take or all(terms[each] & found.full for each in range(count) if each not in listed)


@pytest.mark.parametrize("pieces", (400, 1_600))
@pytest.mark.parametrize("shape", SHAPES)
def test_rules_that_cannot_be_met_take_no_more_work_than_there_is(shape: str, pieces: int) -> None:
    work = WorkBudget(500, 0)

    found = worst_row(shape, pieces, work=work)

    assert work.left > -LISTED * (LOOK_AHEAD + pieces // LOOKED_AT_ONCE)
    assert len(found.pieces) == len(worst_row(shape, pieces).pieces)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_row_of_four_times_the_pieces_takes_about_four_times_as_long_at_most(shape: str) -> None:
    few, many = (min(cpu_s(shape, pieces) for _ in range(3)) for pieces in (1_000, 4_000))

    assert many < 2 * 4 * few


def cpu_s(shape: str, pieces: int) -> float:
    """Return the CPU that the list of a shape takes."""
    order, variety = order_of_shape(shape, pieces), Diversity(most=SHAPES[shape][1])
    before = time.process_time()
    arranged(order, variety, LISTED)
    return time.process_time() - before
