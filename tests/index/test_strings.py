"""Tables of strings are united and numbered as if all were Python's objects at once."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penchant_engine.index import strings
from penchant_engine.index.strings import Strings, mark_numbers, mark_of, unite_tables

TABLES = st.lists(st.sets(st.text(max_size=3), max_size=12).map(sorted), max_size=4)


@pytest.fixture(autouse=True, scope="module")
def short_ranges() -> object:
    """Go over tables by ranges of two strings."""
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(strings, "RANGE", 2)
        yield


@pytest.mark.slow
@given(TABLES, st.data())
def test_some_strings_of_several_tables_are_united(values: list[list[str]], data: st.DataObject) -> None:
    chosen = [sorted(data.draw(st.sets(st.sampled_from(range(len(each)))))) if each else [] for each in values]
    taken = [[each[place] for place in places] for each, places in zip(values, chosen, strict=True)]

    united, found = unite_tables(list(map(Strings.of, values)), [np.asarray(each, dtype=np.int64) for each in chosen])

    assert list(united) == sorted(set().union(*taken))
    assert [united.take(places) for places in found] == taken


@given(st.lists(st.text(max_size=40)))
def test_one_string_has_the_mark_that_it_has_in_a_table(values: list[str]) -> None:
    assert mark_numbers(b"".join(map(mark_of, values))).tolist() == Strings.of(values).marks().tolist()


@given(st.sets(st.text(max_size=3)), st.lists(st.lists(st.text(max_size=3), unique=True, max_size=6)))
def test_strings_that_are_asked_for_again_are_where_they_were(table: set[str], asked: list[list[str]]) -> None:
    strings_of = Strings.of(sorted(table))
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(strings, "REMEMBERED", 4)

        for values in asked:
            expected = [sorted(table).index(each) if each in table else -1 for each in values]
            assert strings_of.find_positions(values).tolist() == strings_of.find_positions(values).tolist() == expected
            assert len(strings_of._places) <= 4  # a bound that no answer shows


def test_strings_that_are_long_are_not_remembered() -> None:
    table = Strings.of(["a"])

    assert table.find_positions(["a", "b" * 500]).tolist() == [0, -1]
    assert not table._places  # a bound that no answer shows


@pytest.mark.slow
def test_uniting_takes_little_memory_beside_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "RANGE", 1_000)
    halves = [Strings.of(f"{number:06}" for number in range(half, 200_000, 2)) for half in (0, 1)]
    tracemalloc.start()

    united, found = unite_tables(halves, [np.arange(100_000), np.arange(100_000)])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    # As Python's objects the strings alone would take 8 MB, and the result takes 4.4.
    kept = united.nbytes + sum(each.nbytes for each in found)
    assert most < 2 * kept + 1_000_000
