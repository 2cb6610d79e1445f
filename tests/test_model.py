"""Changes of lists: what makes one list of another, and what becomes of two that are made of one."""

from hypothesis import given
from hypothesis import strategies as st

from penchant.model import ListChange

LISTS = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(LISTS, LISTS)
def test_a_change_makes_one_list_of_another(before: list[str], after: list[str]) -> None:
    change = ListChange.between(before, after)

    kept = [[each for each in one if each in other] for one, other in ((before, after), (after, before))]
    assert (change is None) == (kept[0] != kept[1])
    if change is not None:
        assert change.applied(before) == after


@given(LISTS, LISTS, LISTS)
def test_of_two_changes_of_a_list_both_are_in_force(before: list[str], mine: list[str], theirs: list[str]) -> None:
    first, second = ListChange.between(before, mine), ListChange.between(before, theirs)
    if first is None or second is None:
        return

    merged = second.applied(mine)

    assert len(merged) == len(set(merged))
    added, removed = {*mine, *theirs} - set(before), {each for each in before if not (each in mine and each in theirs)}
    assert set(merged) == (set(before) | added) - removed
