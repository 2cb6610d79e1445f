"""The bounded cache against its definition: a list of entries, the one used least recently first."""

from hypothesis import given
from hypothesis import strategies as st

from penchant_engine.bounded_cache import BoundedCache

KEYS = st.integers(0, 4)
LIMIT = 10
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.integers(0, LIMIT + 2)),
        st.tuples(st.just("reweigh"), KEYS, st.integers(0, LIMIT + 2)),
        st.tuples(st.sampled_from(["get", "peek", "pop"]), KEYS, st.just(0)),
    )
)


@given(STEPS)
def test_it_holds_what_was_used_last_within_its_limit(steps: list[tuple[str, int, int]]) -> None:
    cache: BoundedCache[int, int] = BoundedCache(LIMIT)
    expected: list[tuple[int, int, int]] = []

    for number, (step, key, weight) in enumerate(steps):
        there = next((entry for entry in expected if entry[0] == key), None)
        if step == "put":
            cache.put(key, number, weight)
            expected = [entry for entry in expected if entry[0] != key] + [(key, number, weight)]
        elif step == "reweigh":
            cache.reweigh(key, weight)
            expected = [(*entry[:2], weight) if entry[0] == key else entry for entry in expected]
        else:
            assert getattr(cache, step)(key) == (None if there is None else there[1])
            if there is not None and step != "peek":
                expected.remove(there)
                expected += [there] if step == "get" else []
        while sum(entry[2] for entry in expected) > LIMIT:
            expected.pop(0)

        assert cache.items() == [entry[:2] for entry in expected]
        assert list(cache) == [entry[0] for entry in expected]
        assert (len(cache), cache.weight) == (len(expected), sum(entry[2] for entry in expected))


def test_an_entry_weighs_one_unless_told() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    for number, name in enumerate("abc"):
        cache.put(name, number)

    assert cache.items() == [("b", 1), ("c", 2)]
