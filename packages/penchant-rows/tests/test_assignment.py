"""Which people see which variant: by a hash, and nobody changes who need not."""

from collections import Counter
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from penchant_rows.service.versions import BucketRun, bucket_of, reassigned, variant_at
from penchant_rows.wire.placements import BUCKETS
from strategies import examples

NAMES = "abcdefgh"


@st.composite
def shares(draw: st.DrawFn) -> dict[str, int]:
    """Return shares of variants that are 1 together at most."""
    parts = draw(st.lists(st.integers(0, BUCKETS), min_size=1, max_size=8, unique=True))
    cuts = [0, *sorted(parts)]
    return {name: after - before for name, (before, after) in zip(NAMES, pairwise(cuts), strict=False)}


def owners(runs: list[BucketRun]) -> list[str | None]:
    return [variant_at(runs, bucket) for bucket in range(BUCKETS)]


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(shares(), min_size=1, max_size=5))
def test_each_variant_has_its_share_and_no_one_moves_who_need_not(history: list[dict[str, int]]) -> None:
    runs: list[BucketRun] = []
    for wanted in history:
        before, runs = owners(runs), reassigned(runs, wanted)
        after = owners(runs)

        counts, kept = Counter(after), Counter(old for old, new in zip(before, after, strict=True) if old == new)
        assert {name: counts[name] for name in wanted} == wanted
        assert all(kept[name] == min(share, Counter(before)[name]) for name, share in wanted.items())


def test_who_sees_a_variant_that_grows_comes_from_the_base_alone() -> None:
    first = reassigned([], {"a": 2_000, "b": 3_000})

    grown = reassigned(first, {"a": 3_000, "b": 3_000})

    assert first == [(0, 2_000, "a"), (2_000, 5_000, "b")]
    assert grown == [(0, 2_000, "a"), (2_000, 5_000, "b"), (5_000, 6_000, "a")]
    assert reassigned(grown, {"a": 3_000, "b": 2_000}) == [(0, 2_000, "a"), (2_000, 4_000, "b"), (5_000, 6_000, "a")]


def test_a_variant_takes_from_another_only_where_nobody_is_left() -> None:
    halves = reassigned([], {"a": 5_000, "b": 5_000})

    assert reassigned(halves, {"a": 4_000, "b": 6_000}) == [(0, 4_000, "a"), (4_000, 10_000, "b")]


def test_buckets_are_the_same_everywhere_and_even() -> None:
    assert [bucket_of("films", "home", user) for user in ("kim", "robin")] == [3099, 3697]
    assert bucket_of("films", "other", "kim") != bucket_of("films", "home", "kim")

    tenths = Counter(bucket_of("films", "home", f"u{number}") * 10 // BUCKETS for number in range(20_000))

    # Of 20,000 people a tenth are 2,000, give or take 42: six times that.
    assert all(1_750 < tenths[tenth] < 2_250 for tenth in range(10))
