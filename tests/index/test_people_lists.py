"""Lists of many people by the compiled kernel: the same bits as those of one person after the other."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_cache import KERNELS
from penchant.index import (
    BlendFactors,
    Filter,
    ListSpec,
    ManyListsSpec,
    PeopleLists,
    PersonFigures,
    Popularity,
    SparseShares,
    engine,
    recommended,
)
from penchant.index.audience import Audience
from penchant.index.kernel_samples import LISTS
from penchant.live.compiling import load_kernels
from penchant.model import DAY_MS, SourceSettings
from people_tables import TODAY, made, table_of, weights_of
from strategies import examples


@pytest.fixture(scope="module")
def list_kernels(kernels: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """All kernels, with those of lists."""
    return {**kernels, **{kind: load_kernels(KERNELS, kind) for kind in LISTS}}


SETTINGS = st.builds(
    SourceSettings,
    category_weights=st.sampled_from([{}, {"a": 0.5}, {"a": 2.25, "b": 0}]),
    half_life_days=st.sampled_from([0, 90]),
    exclude_seen=st.booleans(),
)


@settings(max_examples=examples(8), deadline=None)
@given(
    n=st.sampled_from([1, 29, 300, 2_000]),
    seed=st.integers(0, 2**32 - 1),
    greatest=st.sampled_from([1, 3, 1000]),
    chosen=SETTINGS,
    shares=st.sampled_from([(0.1, 0.8, 0.1), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (5.0, 1.0, 0.0)]),
    take=st.sampled_from([1, 30]),
)
def test_lists_of_many_are_those_of_each(  # noqa: PLR0917  # fixtures and strategies arrive as parameters
    list_kernels: Mapping[Any, Any],
    n: int,
    seed: int,
    greatest: int,
    chosen: SourceSettings,
    shares: tuple[float, float, float],
    take: int,
) -> None:
    random = np.random.default_rng(seed)
    snapshot = made(n, random, greatest)
    table = table_of(snapshot, random, chosen)
    weights = weights_of(table, snapshot, chosen)
    popular = np.round(random.random(n), 1)
    shown = Filter(moment=TODAY * DAY_MS, blacklisted=frozenset(["000003", "000020"]))

    def blending(met: int) -> BlendFactors:
        content = shares[0] * (1 + met / 7)
        return BlendFactors(content, *shares[1:], total=content + shares[1] + shares[2])

    def expected(figures: PersonFigures) -> list[tuple[int, str]]:
        wanted = ListSpec(
            shown=shown,
            blending=blending(figures.met),
            category_weights=chosen.category_weights,
            take=take,
            fill=True,
            seen=figures.seen if chosen.exclude_seen else (),
        )
        alike = Audience(None, weights).alike(snapshot.parts, figures.liked, figures.grades)
        if not shares[1]:
            alike = (SparseShares.none(),)
        popularity = Popularity.without_credits((popular,))
        return recommended(snapshot, figures.taste, popularity, alike, wanted)

    one_by_one = [expected(table.figures(person, snapshot, chosen)) for person in range(len(table))]
    engine.use(list_kernels)
    try:
        lists = PeopleLists(
            table,
            snapshot,
            weights,
            ManyListsSpec(
                shown=shown,
                settings=chosen,
                excludes_seen=chosen.exclude_seen,
                popular=popular,
                blending=blending,
            ),
        )
        found = [lists.find(begin, begin + 6, take) for begin in (0, 6)]
    finally:
        engine.use({})

    segment = snapshot.parts[0].segment
    together = [
        list(zip(units[:length].tolist(), segment.ids.take(rows[:length]), strict=True))
        for half in found
        if half
        for rows, units, length in zip(half.rows, half.units, half.lengths.tolist(), strict=True)
    ]
    assert together == one_by_one
