"""Shares by name: equal arrays have one, and changes of any array before make the latest."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from live.test_shard_scans import halves
from penchant.index import FloatArray
from penchant.live.shard_shares import CHUNK, FEW, MOST_CHANGES, NamedShares, ShareNames
from strategies import examples

LENGTH = CHUNK + 100
STEPS = st.lists(
    st.dictionaries(st.sampled_from([0, 1, CHUNK - 1, CHUNK, LENGTH - 1]), st.sampled_from([0.0, 0.5, 0.7])), max_size=9
)


def changed(shares: FloatArray, values: dict[int, float]) -> FloatArray:
    other = shares.copy()
    other[list(values)] = list(values.values())
    return other


@settings(max_examples=examples(100), deadline=None)
@given(steps=STEPS, held=st.sets(st.integers(0, 9)))
def test_changes_of_what_is_held_make_the_latest_shares(steps: list[dict[int, float]], held: set[int]) -> None:
    arrays = [np.zeros(LENGTH)]
    names = [NamedShares.first(arrays[0])]
    for values in steps:
        arrays.append(changed(arrays[-1], values))
        names.append(names[-1].followed_by(arrays[-1]))

    by_name = {names[place].name: arrays[place] for place in held if place < len(names)}
    assert [each.name for each in names] == [NamedShares.first(each).name for each in arrays]
    found = names[-1].changed_since(by_name)
    if found is not None:
        before, rows = found
        latest = by_name[before].copy()
        latest[rows] = arrays[-1][rows]
        assert_array_equal(latest, arrays[-1])
    for one, first in zip(names, arrays, strict=True):
        for other, second in zip(names, arrays, strict=True):
            assert (one.name == other.name) == bool((first == second).all())


def test_shares_that_are_all_zero_have_no_name() -> None:
    assert NamedShares.first(np.zeros(9)).name == b""
    assert NamedShares.first(np.zeros(0)).name == b""


def test_what_changed_long_ago_or_nearly_everywhere_is_told_whole() -> None:
    first = named = NamedShares.first(np.full(LENGTH, 0.5))
    for number in range(MOST_CHANGES):
        named = named.followed_by(changed(named.shares, {number: 1.0}))
    assert named.changed_since([first.name]) is not None
    named = named.followed_by(changed(named.shares, {MOST_CHANGES: 1.0}))
    assert named.changed_since([first.name]) is None

    other = first.followed_by(changed(first.shares, dict.fromkeys(range(LENGTH // FEW + 1), 1.0)))
    assert other.changed_since([first.name]) is None
    assert other.name == NamedShares.first(other.shares).name


def test_a_segment_goes_on_from_its_own_shares() -> None:
    names, (one, other) = ShareNames(), (part.segment for part in halves().parts)
    before = {each: names.named(each, np.full(len(each), 0.5)) for each in (one, other)}

    after = names.named(one, changed(before[one].shares, {3: 1.0}))

    assert names.named(one, after.shares) is after
    (before_name, rows) = after.changed_since([before[one].name]) or (b"", np.zeros(0))
    assert (before_name, rows.tolist()) == (before[one].name, [3])
    assert names.named(other, before[other].shares) is before[other]
