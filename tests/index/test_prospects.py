"""How well a piece suits many people by the compiled kernel: the same bits as in one person's list after the other."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penchant.model import SourceSettings
from penchant_engine.index import Audience, Filter, UserFeatures
from penchant_engine.index.compiled import engine
from penchant_engine.index.layout import BlendFactors, PersonPairs
from penchant_engine.index.people import order
from penchant_engine.index.people.person import EffectivePreferences, ValuedRows, profile_of_values
from penchant_engine.index.people.personal import BlendQuery, PersonBlend
from penchant_engine.index.people.popularity import Popularity
from penchant_engine.index.people.target_users import TargetPiece, TargetUsers
from penchant_engine.index.queries import best_of
from penchant_engine.model import NO_PREFERENCES, OrderUse
from people_tables import made, table_of, weights_of
from strategies import examples


@pytest.fixture
def _few_pairs_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take what different people agree on for what it is, though they are few."""
    monkeypatch.setattr(order, "DIRECTION_PRIOR", 1)


@pytest.mark.slow
@pytest.mark.usefixtures("kernels", "_few_pairs_tell")
@settings(max_examples=examples(20), deadline=None)
@given(
    n=st.sampled_from([1, 29, 300]),
    seed=st.integers(0, 2**32 - 1),
    greatest=st.sampled_from([1, 3, 1000]),
    chosen=st.builds(
        SourceSettings,
        category_weights=st.sampled_from([{}, {"a": 0.5}, {"a": 2.25, "b": 0}]),
        half_life_days=st.sampled_from([0, 90]),
    ),
    shares=st.sampled_from([(0.1, 0.8, 0.1), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (5.0, 1.0, 0.0)]),
)
def test_a_piece_suits_everybody_as_each_ones_list_says(
    n: int, seed: int, greatest: int, chosen: SourceSettings, shares: tuple[float, float, float]
) -> None:
    random = np.random.default_rng(seed)
    snapshot = made(n, random, greatest)
    table, popular = table_of(snapshot, random, chosen), np.round(random.random(n), 1)
    audience = Audience(None, weights_of(table, snapshot, chosen))
    row = int(random.integers(0, n))

    def blending(met: int) -> BlendFactors:
        content = shares[0] * (1 + met / 7)
        return BlendFactors(content, *shares[1:], total=content + shares[1] + shares[2])

    def expected(figures: UserFeatures) -> int:
        blend = PersonBlend(
            taste=figures.taste,
            popular=Popularity.without_credits((popular,)),
            liked=audience.alike(snapshot.parts, figures.likes, OrderUse.ON),
            factors=blending(figures.met),
            category_weights=chosen.category_weights,
        )
        ranked = best_of(snapshot.parts, BlendQuery(snapshot, blend, fill=True), Filter(moment=2**60), n)
        return next(-key for key, piece_id in ranked if piece_id == f"{row:06}")

    figures = [table.figures(person, snapshot, chosen) for person in range(len(table))]
    likes = audience.likes_for(f"{row:06}", snapshot.parts[0].segment, OrderUse.ON)
    piece = TargetPiece(row=row, likes=likes, popular=float(popular[row]), blending=blending)
    tastes = TargetUsers(table, snapshot, chosen)

    found = tastes.units_of(piece)

    wanted = [expected(each) for each in figures]
    assert found.units.tolist() == wanted == [tastes.units_for(each, piece) for each in figures]
    assert found.seen.tolist() == [row in each.seen[0] for each in figures]
    assert not found.inexact.any()


@settings(max_examples=examples(20), deadline=None)
@given(
    n=st.sampled_from([1, 29, 300]),
    seed=st.integers(0, 2**32 - 1),
    greatest=st.sampled_from([1, 3, 1000]),
    chosen=st.builds(
        SourceSettings,
        category_weights=st.sampled_from([{}, {"a": 0.5}, {"a": 2.25, "b": 0}]),
        half_life_days=st.sampled_from([0, 90]),
    ),
    gone=st.integers(0, 3),
)
def test_a_taste_by_the_kernel_is_that_by_numpy(  # the fixture, and what is drawn
    kernels: Mapping[Any, Any], n: int, seed: int, greatest: int, chosen: SourceSettings, gone: int
) -> None:
    random = np.random.default_rng(seed)
    whole = made(n, random, greatest)
    table = table_of(whole, random, chosen)
    # Of pieces that are gone terms become rarer.
    snapshot = whole.apply({f"{row:06}": None for row in range(min(gone, n - 1))}, max_merged=0)
    assert snapshot.parts[0].segment is whole.parts[0].segment

    by_kernel = [table.figures(person, snapshot, chosen).taste for person in range(len(table))]
    engine.use({})
    try:
        by_numpy = [table.figures(person, snapshot, chosen).taste for person in range(len(table))]
    finally:
        engine.use(kernels)

    assert [each.norm for each in by_kernel] == [each.norm for each in by_numpy]
    for one, other in zip(by_kernel, by_numpy, strict=True):
        assert [array.tolist() for array in one.by_part[0]] == [array.tolist() for array in other.by_part[0]]


DISTANT = st.builds(
    lambda mantissa, exponent: mantissa * 2.0**-exponent,
    st.sampled_from([1.0, -1.0, 1 / 3, -1 / 3, 0.75, 1 + 2.0**-52, -1 - 2.0**-52]),
    st.sampled_from([0, 1, 12, 52, 53, 54, 60, 104, 105, 106, 107, 160, 300]),
)
"""Values between which two doubles hold no sum, on the edges of rounding and of cancelling out."""


@settings(max_examples=examples(200), deadline=None)
@given(values=st.lists(st.tuples(st.integers(0, 5), DISTANT), max_size=12), weight=st.sampled_from([1.0, 2.25, 0.0]))
def test_values_however_far_apart_are_added_up_as_numpy_does(
    *, kernels: Mapping[Any, Any], values: list[tuple[int, float]], weight: float
) -> None:
    rows, amounts = np.asarray([row for row, _ in values], dtype=np.int64), np.asarray([each for _, each in values])
    snapshot = made(6, np.random.default_rng(1), 3)
    said = EffectivePreferences.of(NO_PREFERENCES, snapshot, SourceSettings(category_weights={"a": weight}))
    pieces = ValuedRows(np.zeros_like(rows), rows, amounts)

    taste = profile_of_values(pieces, said, snapshot)

    try:
        engine.use({})
        by_numpy = profile_of_values(pieces, said, snapshot)
    finally:
        engine.use(kernels)
    assert taste.norm == by_numpy.norm
    assert [each.tolist() for each in taste.by_part[0]] == [each.tolist() for each in by_numpy.by_part[0]]


@pytest.mark.parametrize(
    ("values", "is_held"),
    (
        # What is lost is too little to matter, unless the rest cancels out.
        ([2.0**200, 1.0, 2.0**-200], True),
        ([2.0**200, 1.0, 2.0**-200, -(2.0**200)], False),
    ),
)
def test_what_two_doubles_do_not_hold_is_added_up_by_numpy_where_it_matters(
    *, kernels: Mapping[Any, Any], values: list[float], is_held: bool
) -> None:
    assert kernels
    snapshot = made(29, np.random.default_rng(1), 3)
    segment = snapshot.parts[0].segment
    row = int(np.flatnonzero(np.diff(segment.starts))[0])
    rows, amounts = np.full(len(values), row), np.asarray(values)
    pairs = PersonPairs(np.asarray([0, len(rows)]), rows.astype(np.uint32), amounts)
    said = EffectivePreferences.of(NO_PREFERENCES, snapshot, SourceSettings())

    taste = profile_of_values(ValuedRows(np.zeros_like(rows), rows, amounts), said, snapshot)

    assert (engine.taste(pairs, snapshot.piece_terms({})) is not None) == is_held
    assert taste.by_part[0][0].tolist() == segment.piece(row)[0].tolist()


def test_without_a_kernel_everybody_is_to_be_looked_at_singly(kernels: Mapping[Any, Any]) -> None:
    random, chosen = np.random.default_rng(1), SourceSettings()
    snapshot = made(29, random, 3)
    table = table_of(snapshot, random, chosen)
    audience = Audience(None, weights_of(table, snapshot, chosen))
    likes = audience.likes_for("000001", snapshot.parts[0].segment, OrderUse.ON)
    piece = TargetPiece(row=1, likes=likes, popular=0.0, blending=lambda _: BlendFactors(1.0, 1.0, 1.0, total=3.0))
    engine.use({})

    try:
        found = TargetUsers(table, snapshot, chosen).units_of(piece)
    finally:
        engine.use(kernels)

    assert found.inexact.all()
