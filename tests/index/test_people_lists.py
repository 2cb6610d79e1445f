"""Lists of many people by the compiled kernel: the same bits as those of one person after the other."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_cache import KERNELS
from penchant.index import (
    AudienceWeights,
    BlendFactors,
    Filter,
    ListSpec,
    ManyListsSpec,
    PeopleEvents,
    PeopleLists,
    PeopleTable,
    PersonFigures,
    Popularity,
    Snapshot,
    Strings,
    build_weights,
    engine,
    people_table,
    recommended,
)
from penchant.index.audience import Audience
from penchant.index.building import build_segment
from penchant.index.grades import like_matrix
from penchant.index.kernel_samples import LISTS
from penchant.live.compiling import load_kernels
from penchant.model import DAY_MS, IndexedPiece, InteractionType, SourceSettings, Term
from strategies import examples

TODAY, CODES = 20_000, [kind.code for kind in InteractionType]


@pytest.fixture(scope="module")
def list_kernels(kernels: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """All kernels, with those of lists."""
    return {**kernels, **{kind: load_kernels(KERNELS, kind) for kind in LISTS}}


def made(n: int, random: np.random.Generator, greatest: int) -> Snapshot:
    pieces = [
        IndexedPiece(
            id=f"{place:06}",
            weights={
                Term("ab"[term % 2], f"{term:02}"): int(random.integers(1, greatest + 1))
                for term in random.choice(40, random.integers(0, 9), replace=False).tolist()
            },
            available_from=int(random.choice([0, 30_000 * DAY_MS], p=[0.9, 0.1])),
        )
        for place in range(n)
    ]
    return Snapshot.of_segment(build_segment(pieces))


def table_of(snapshot: Snapshot, random: np.random.Generator, chosen: SourceSettings) -> PeopleTable:
    """Return twelve people, from one who did nothing to one who did much, also with pieces that do not exist."""
    count = 40 * 12
    people = (random.random(count) ** 3 * 11).astype(np.int64)
    events = PeopleEvents(
        people=people,
        rows=random.integers(-1, snapshot.piece_count, count),
        codes=random.choice(CODES, count),
        moments=(TODAY - random.integers(0, 300, count)) * DAY_MS,
        versions=np.arange(count),
    )
    ids = Strings.of([f"u{number:02}" for number in range(12)])
    return people_table(ids, events, snapshot.parts[0].segment, chosen, TODAY)


def weights_of(table: PeopleTable, snapshot: Snapshot, chosen: SourceSettings) -> AudienceWeights:
    people = np.repeat(np.arange(len(table)), np.diff(table.starts))
    liked = table.grades > 0
    likes = like_matrix(people[liked], table.rows[liked].astype(np.int64), table.grades[liked], snapshot.piece_count)
    return build_weights(likes, snapshot.parts[0].segment, chosen.category_weights)


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
            alike = (np.zeros(n),)
        popularity = Popularity(shares=(popular,), lifted=(popular,), median=0.0)
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

    together = [
        list(zip(units, ids or (), strict=False))
        for half in found
        if half
        for ids, units in zip(half.ids, half.units.tolist(), strict=True)
    ]
    assert together == one_by_one
