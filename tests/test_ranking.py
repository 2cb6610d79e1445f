"""Is a varied list what the definition chooses, one by one?"""

from collections.abc import Iterable

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from penchant.model import Term
from penchant.ranking import Diversity, PieceKeywords, RankedPiece, varied
from variety_reference import Terms, chosen_one_by_one

TERMS = st.frozensets(st.builds(Term, st.sampled_from(["genre", "author"]), st.sampled_from("abc")), max_size=4)
GENRES = tuple(Term("genre", keyword) for keyword in "abc")
CANDIDATES = st.lists(st.tuples(st.integers(-5, 20), TERMS), max_size=9)

UNITS = st.sampled_from([1, 10**9])


def keywords_of(terms: list[Terms]) -> PieceKeywords:
    names = sorted(set().union(*terms), key=str)
    pairs = sorted((place, names.index(term)) for place, own in enumerate(terms) for term in own)
    table = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    return PieceKeywords(count=len(terms), owners=table[:, 0], numbers=table[:, 1], names=names)


@given(CANDIDATES, st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.integers(1, 9), st.integers(0, 2), UNITS)
# Gains of 1/6 and a little more: past the ninth decimal they are a tie, which the better piece wins.
@example([(3 * 10**9, GENRES[:1]), (2 * 10**9, GENRES), (10**9 + 1, ())], 0.5, 3, 0, 1)
def test_each_choice_is_the_best_by_the_definition(
    candidates: list[tuple[int, Iterable[Term]]], diversity: float, take: int, raised: int, unit: int
) -> None:
    units = sorted((number * unit for number, _ in candidates), reverse=True)
    ranked = [RankedPiece(f"p{place}", number) for place, number in enumerate(units)]
    terms = {each.id: frozenset(own) for each, (_, own) in zip(ranked, candidates, strict=True)}

    variety = Diversity(diversity=diversity, most={"author": 1})
    found = varied(np.asarray(units, dtype=np.int64), raised, keywords_of([*terms.values()]), variety, take)

    expected = chosen_one_by_one(ranked, ranked[:raised], terms, diversity, variety.most, take)
    assert [ranked[place] for place in found.places] == expected


def test_keywords_that_no_further_piece_may_have_are_named() -> None:
    author, other = Term("author", "a"), Term("author", "b")
    keywords = keywords_of([frozenset({author}), frozenset({author}), frozenset({other})])

    found = varied(np.asarray([3, 2, 1]), 0, keywords, Diversity(most={"author": 1}), 2)

    assert (found.places, found.full) == ([0, 2], {author, other})


def test_nothing_is_varied_where_nothing_is_asked_for() -> None:
    assert not Diversity()
    assert Diversity(diversity=0.1)
    assert Diversity(most={"genre": 1})
