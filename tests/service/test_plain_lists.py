"""The lists of many people at once are those that are made one by one, byte for byte."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kernel_cache import KERNELS
from penchant.live.views import View
from penchant.model import SourceSettings
from penchant.service.lists.answers import content_of
from penchant.storage import SourceHead
from penchant.wire import encode
from penchant.wire.answers import RecommendedPiece
from penchant_engine.compiling import load_kernels
from penchant_engine.index import Audience, Filter, PieceCounts, Snapshot
from penchant_engine.index.compiled import engine
from penchant_engine.index.compiled.samples import LISTS, SERVED
from penchant_engine.index.layout import LANES
from penchant_engine.index.people import order, people_lists
from penchant_engine.index.people.table import PeopleTable
from penchant_engine.lists.personal import PersonalRanking
from penchant_engine.lists.plain_lists import PlainLists
from penchant_engine.lists.requests import ListRequest
from penchant_engine.model import DAY_MS, Blend, OrderUse
from people_tables import TODAY, made, table_of, weights_of
from strategies import examples

NOW = TODAY * DAY_MS + 5
PEOPLE = 2 * LANES + 3


@pytest.fixture(scope="module", autouse=True)
def _kernels() -> Iterator[None]:
    engine.use({kind: load_kernels(KERNELS, kind) for kind in (*SERVED, *LISTS)})
    yield
    engine.use({})


@pytest.fixture
def _few_pairs_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take what different people agree on for what it is, though they are few."""
    monkeypatch.setattr(order, "DIRECTION_PRIOR", 1)


def view_of(
    snapshot: Snapshot, chosen: SourceSettings, *, whitelist: tuple[str, ...], blacklist: tuple[str, ...]
) -> View:
    return View(
        head=SourceHead(0, 0, "s", 0, 0, 0, 0, snapshot.piece_count, 0, 0),
        snapshot=snapshot,
        settings=chosen,
        whitelist=whitelist,
        blacklist=blacklist,
        blacklisted=frozenset(blacklist),
    )


def audience_of(snapshot: Snapshot, table: PeopleTable, chosen: SourceSettings, liked: np.ndarray) -> Audience:
    segment = snapshot.parts[0].segment
    return Audience(PieceCounts.of_rows(segment, liked), weights_of(table, snapshot, chosen))


def one_by_one(view: View, table: PeopleTable, audience: Audience, take: int) -> list[bytes]:
    rankings = (
        PersonalRanking(
            view,
            ListRequest(user_id="u", take=take),
            NOW,
            table.figures(person, view.snapshot, view.settings),
            audience,
        )
        for person in range(len(table))
    )
    return [encode(content_of(each)) for each in rankings]


def differing(view: View, table: PeopleTable, audience: Audience, take: int) -> tuple[int, int]:
    """Return how many lists were made together, and how many of these are not as they are one by one."""
    found = [*PlainLists(view, table, audience, NOW, RecommendedPiece).contents(np.arange(len(table)), take)]
    made_together = [
        (encode(each), alone)
        for each, alone in zip(found, one_by_one(view, table, audience, take), strict=True)
        if each is not None
    ]
    return len(made_together), sum(together != alone for together, alone in made_together)


@pytest.mark.slow
@pytest.mark.usefixtures("_few_pairs_tell")
@settings(max_examples=examples(60), deadline=None)
@given(
    n=st.sampled_from([1, 29, 70, 300]),
    seed=st.integers(0, 2**32 - 1),
    greatest=st.sampled_from([1, 3, 1000]),
    take=st.sampled_from([1, 10, 30]),
    chosen=st.builds(
        SourceSettings,
        category_weights=st.sampled_from([{}, {"a": 0.5}, {"a": 2.25, "b": 0}]),
        half_life_days=st.sampled_from([0, 90]),
        new_piece_half_life_days=st.sampled_from([0, 30, 5000]),
        exclude_seen=st.booleans(),
        order=st.sampled_from(OrderUse),
        blend=st.sampled_from(
            [
                Blend(),
                Blend(content=1, audience=0, popularity=0),
                Blend(content=5, audience=1, popularity=0),
                Blend(content=0, audience=0, popularity=1),
                Blend(content=0, audience=1, popularity=0),
            ]
        ),
        max_per_value=st.sampled_from([{}, {}, {}, {"a": 2}]),
    ),
    weights=st.sampled_from(["own", "of before"]),
)
def test_lists_made_together_are_those_made_one_by_one(
    n: int, seed: int, greatest: int, take: int, chosen: SourceSettings, weights: str
) -> None:
    random = np.random.default_rng(seed)
    snapshot = made(n, random, greatest)
    table = table_of(snapshot, random, chosen, many=PEOPLE)
    liked = np.round(random.random(n) * 5 * (random.random(n) < 0.8))
    ids = list(snapshot.parts[0].segment.ids)
    drawn = [str(each) for each in random.permutation(ids)[:7]]
    view = view_of(snapshot, chosen, whitelist=tuple(drawn[: seed % 4]), blacklist=tuple(drawn[5:]))
    audience = audience_of(snapshot, table, chosen, liked)
    if weights == "of before":
        # Some pieces have come since, and others have gone.
        changed = Snapshot.of_segment(snapshot.apply({ids[0]: None} if n > 1 else {}).merged())
        table = table_of(changed, random, chosen, many=PEOPLE)
        counts = np.ones(changed.piece_count)
        audience = Audience(PieceCounts.of_rows(changed.parts[0].segment, counts), audience.weights)
        view = replace(view, snapshot=changed)

    together, wrong = differing(view, table, audience, take)

    assert not wrong
    assert together == 0 or not chosen.max_per_value


def plain(n: int = 300) -> tuple[View, PeopleTable, Audience]:
    random = np.random.default_rng(3)
    chosen = SourceSettings()
    snapshot = made(n, random, 3)
    table = table_of(snapshot, random, chosen, many=PEOPLE)
    view = view_of(snapshot, chosen, whitelist=(), blacklist=())
    return view, table, audience_of(snapshot, table, chosen, np.ones(n))


def test_nearly_all_lists_are_made_together() -> None:
    together, wrong = differing(*plain(), 30)

    assert (together, wrong) == (PEOPLE, 0)


def test_without_kernels_all_lists_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    view, table, audience = plain()
    monkeypatch.setattr(engine._engine, "kernels", {})

    assert not any(PlainLists(view, table, audience, NOW, RecommendedPiece).contents(np.arange(PEOPLE), 30))


def test_lists_of_people_with_preferences_are_left() -> None:
    found = [*PlainLists(*plain(), NOW, RecommendedPiece).contents(np.arange(2, 9), 30, without={4})]

    assert [each is None for each in found] == [False, False, True, False, False, False, False]


def test_lists_by_numbers_that_are_too_large_for_the_kernel_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    view, table, audience = plain()
    # Beside small numbers large ones lose what two doubles do not hold.
    random = np.random.default_rng(1)
    inexact = dataclasses.replace(table, values=random.choice([1.0, 2.0**-80, 3.0, 2.0**90], len(table.rows)))
    with_inexact, wrong_by_inexact = differing(view, inexact, audience, 30)
    monkeypatch.setattr(people_lists, "LENT_BITS", 34)
    with_large, wrong_by_large = differing(view, table, audience, 30)

    assert (wrong_by_inexact, wrong_by_large) == (0, 0)
    assert 0 < with_inexact < PEOPLE
    assert 0 < with_large < PEOPLE


def test_threads_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    view, table, audience = plain()
    monkeypatch.setattr(people_lists, "TOGETHER", 5)
    lists = PlainLists(view, table, audience, NOW, RecommendedPiece)._people_lists
    shown = Filter(moment=NOW)

    one, many = (lists.lists(np.arange(PEOPLE), shown, 30, threads=threads) for threads in (1, 3))

    assert np.array_equal(one.rows, many.rows)
    assert np.array_equal(one.units, many.units)
    assert np.array_equal(one.lengths, many.lengths)
