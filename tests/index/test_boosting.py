"""Boosts: the list is that of a full scan by s x factor, and what is ahead of a piece is what comes before it."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from filters_reference import FILTERS, holds
from index.test_marking import NUMBERED, PHASES, filter_of, made
from penchant_engine.attributes import Boost, boost_classes
from penchant_engine.index import Filter
from penchant_engine.index.boosting import Booster
from penchant_engine.index.queries import ScanQuery, best_of, score_scan
from strategies import examples

KEYS = st.lists(st.integers(-7, 7), min_size=12, max_size=12)
BOOSTS = st.lists(st.tuples(FILTERS, st.sampled_from([1, 33, 50, 100, 150, 200, 10_000])), max_size=4)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(200))
@given(PHASES, FILTERS, BOOSTS, KEYS, st.sampled_from([0, 5, 10**12]), st.integers(1, 12))
def test_the_best_are_those_of_greatest_s_by_factor(
    phases: list[Any], clause: dict[str, Any], clauses: list[Any], keys: list[int], zero: int, take: int
) -> None:
    snapshot, pieces = made(phases, NUMBERED)
    key_of = {f"p{number}": zero + key for number, key in enumerate(keys)}
    boosts = tuple(Boost(filter_of(each), factor) for each, factor in clauses)
    booster = Booster(boosts, zero, snapshot)
    query, shown = ScanQuery(score_scan(key_of)), Filter(moment=1, matching=filter_of(clause))
    values = {key: Fraction(zero - key_of[key]) for key, piece in pieces.items() if holds(clause, piece)}
    for each, factor in clauses:
        values |= {key: v * factor / 100 for key, v in values.items() if v > 0 and holds(each, pieces[key])}
    order = sorted(values, key=lambda key: (-values[key], key))

    best = booster.best(lambda shown: best_of(snapshot.parts, query, shown, take), shown, take)

    if clauses:
        classes = [replace(shown, matching=each.matching) for each in boost_classes(shown.matching, boosts)]
        searched = [each for each in classes if best_of(snapshot.parts, query, each, len(keys))]
        assert [each for each, _ in booster.classes(shown)] == searched
    assert [piece_id for _, piece_id in best] == order[:take]
    assert best == [(booster.key(each, key_of[each]), each) for each in order[:take]]
    assert all(abs(zero - key - values[each]) <= 1 and (key < zero) == (values[each] > 0) for key, each in best)
    ahead = [booster.count_ahead(each, key_of[each], shown, query) for each in order]
    assert ahead == list(range(len(order)))


def test_a_boost_moves_what_speaks_for_a_piece_and_nothing_else() -> None:
    languages = {"p0": "fr", "p1": "en", "p2": "en", "p3": "fr"}
    pieces = {key: {"categories": {"genre": ["x"]}, "extras": {"language": each}} for key, each in languages.items()}
    snapshot, _ = made([(pieces, [])], NUMBERED)
    keys = {"p0": -1, "p1": -1, "p2": 2, "p3": 3}
    booster = Booster((Boost(filter_of({"key": "language", "any": ["en"]}), 150),), 0, snapshot)
    query, shown = ScanQuery(score_scan(keys)), Filter(moment=1)

    assert booster.best(lambda shown: best_of(snapshot.parts, query, shown, 4), shown, 4) == [
        (-2, "p1"),
        (-1, "p0"),
        (2, "p2"),
        (3, "p3"),
    ]
    assert [booster.count_ahead(each, keys[each], shown, query) for each in keys] == [1, 0, 2, 3]
