"""Is a varied list what the definition chooses, one by one?"""

from hypothesis import given
from hypothesis import strategies as st

from penchant.model import Term
from penchant.ranking import Diversity, RankedPiece, varied

Terms = frozenset[Term]
TERMS = st.frozensets(st.builds(Term, st.sampled_from(["genre", "author"]), st.sampled_from("abc")), max_size=4)
CANDIDATES = st.lists(st.tuples(st.integers(-5, 20), TERMS), max_size=9)


def likeness(one: Terms, other: Terms) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


def chosen_one_by_one(
    ranked: list[RankedPiece], terms: dict[str, Terms], diversity: float, take: int, raised: int
) -> list[RankedPiece]:
    chosen, left = ranked[:raised][:take], ranked[raised:]
    best = max((each.units for each in ranked), default=0)

    def gain(each: RankedPiece) -> float:
        alike = max((likeness(terms[each.id], terms[other.id]) for other in chosen), default=0.0)
        return round((1 - diversity) * each.units / (best if best > 0 else 10**9) - diversity * alike, 9)

    while len(chosen) < take:
        authors = {term for each in chosen for term in terms[each.id] if term.category == "author"}
        allowed = [each for each in left if not authors & terms[each.id]]
        if not allowed:
            break
        taken = max(allowed, key=gain)
        left.remove(taken)
        chosen.append(taken)
    return chosen


@given(CANDIDATES, st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.integers(1, 9), st.integers(0, 2))
def test_each_choice_is_the_best_by_the_definition(
    candidates: list[tuple[int, Terms]], diversity: float, take: int, raised: int
) -> None:
    units = sorted((number for number, _ in candidates), reverse=True)
    ranked = [RankedPiece(f"p{place}", number) for place, number in enumerate(units)]
    terms = {each.id: own for each, (_, own) in zip(ranked, candidates, strict=True)}

    found = varied(ranked[:raised], ranked[raised:], terms, Diversity(diversity=diversity, most={"author": 1}), take)

    assert found == chosen_one_by_one(ranked, terms, diversity, take, raised)


def test_nothing_is_varied_where_nothing_is_asked_for() -> None:
    assert not Diversity()
    assert Diversity(diversity=0.1)
    assert Diversity(most={"genre": 1})
