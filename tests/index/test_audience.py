"""Who likes what, whatever steps it was counted in, is what the definition by full scan says."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import audience_reference
import oracle
from answers import rows_of_likes, snapshot_of
from penchant.model import SourceSettings
from penchant_engine.index import Audience, Tally
from penchant_engine.index.people import tally
from penchant_engine.index.people.item_item import ItemItemModel, fit_item_item
from penchant_engine.index.people.likes import Likes
from penchant_engine.index.people.popularity import PieceCounts, PieceNumbers
from penchant_engine.index.people.statistics import FullLike
from penchant_engine.index.strings import Strings
from penchant_engine.model import DAY_MS, DEFAULT_INTERACTION_WEIGHTS, WHOLE, InteractionType, OrderUse
from strategies import examples

PEOPLE = st.sampled_from(["u1", "u2", "u3", "u4", "u5"])
PIECES = [f"p{number}" for number in range(6)]
DAYS = st.integers(0, 60)
PORTIONS = st.sampled_from([WHOLE, WHOLE, 1, 25, 50, 99])
EVENTS = st.lists(
    st.one_of(
        st.tuples(
            st.just("record"), PEOPLE, st.sampled_from(PIECES), st.sampled_from(sorted(oracle.WEIGHTS)), DAYS, PORTIONS
        ),
        st.tuples(st.just("erase"), PEOPLE),
        st.tuples(st.just("look"), DAYS),
        st.tuples(st.just("compact")),
    ),
    max_size=40,
)
SETTINGS = st.sampled_from(
    [
        {},
        {"interactionWeights": {"Click": -1, "Watch": 2.55}},
        {"interactionWeights": {"RateDislike": 3, "RateLike": -2, "Play": 0.1}},
    ]
)
TODAY = 70


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "LEAST_MORE", 5)


def settings_of(told: dict[str, Any], oldest: int) -> SourceSettings:
    weights = {InteractionType(kind): weight for kind, weight in told.get("interactionWeights", {}).items()}
    return SourceSettings(interaction_weights={**DEFAULT_INTERACTION_WEIGHTS, **weights}, retention_days=TODAY - oldest)


class Counting:
    """A tally, and beside it what the definition needs."""

    def __init__(self) -> None:
        self.oldest = 0
        self.version = 0
        self.tally = Tally.empty(0)
        self.everyone: dict[str, list[dict[str, Any]]] = {}

    def apply(self, event: tuple[Any, ...]) -> None:
        self.version += 1
        match event:
            case "record", person, piece_id, kind, day, *portions:
                portion = portions[0] if portions else WHOLE
                own = {"type": kind, "contentId": piece_id, "day": day, "version": self.version, "userId": person}
                self.everyone.setdefault(person, []).append(own | {"value": portion / WHOLE})
                what = InteractionType(kind)
                self.tally.record(key_of(person), piece_id, what, day * DAY_MS, self.version, portion)
            case "erase", person:
                self.everyone.pop(person, None)
                self.tally.erase(key_of(person))
            case "look", day:
                self.oldest = max(self.oldest, day - 40)
                self.tally.popularity(settings_of({}, TODAY - day + self.oldest), day)
            case _:
                self.tally = Tally(Likes.of_arrays(self.tally.compacted().arrays()))

    def kept(self) -> dict[str, list[dict[str, Any]]]:
        return {person: [each for each in own if each["day"] >= self.oldest] for person, own in self.everyone.items()}


def counting_of(events: list[tuple[Any, ...]]) -> Counting:
    counting = Counting()
    for event in events:
        counting.apply(event)
    return counting


def rebuilt(counting: Counting) -> Tally:
    made = Tally.empty(counting.oldest)
    for own in counting.kept().values():
        for each in own:
            kind, portion = InteractionType(each["type"]), round(each["value"] * WHOLE)
            moment, version = each["day"] * DAY_MS, each["version"]
            made.record(key_of(each["userId"]), each["contentId"], kind, moment, version, portion)
    return made


def key_of(person: str) -> bytes:
    """Keys whose first words are equal for some people, and whose last bytes are 0."""
    return (b"%d" % (int(person[1]) % 2)).ljust(8, b"\0") + person.encode().ljust(8, b"\0")


@settings(max_examples=examples(200), deadline=None)
@given(events=EVENTS, told=SETTINGS, missing=st.sets(st.sampled_from(PIECES), max_size=2))
def test_likes_and_grades_are_those_of_the_definition(
    events: list[tuple[Any, ...]], told: dict[str, Any], missing: set[str]
) -> None:
    counting = counting_of(events)
    catalogue = [piece_id for piece_id in PIECES if piece_id not in missing]

    chosen = settings_of(told, counting.oldest)
    found = counting.tally.compacted(counting.oldest).matrix(Strings.of(catalogue), chosen, counting.oldest)

    weights: Any = oracle.WEIGHTS | told.get("interactionWeights", {})
    kept = [audience_reference.likes_of(own, set(catalogue), weights, 1_000) for own in counting.kept().values()]
    expected = [{piece_id: like.grade for piece_id, like in liked.items()} for liked in kept]
    assert sorted(sorted(liked.items()) for liked in expected if liked) == sorted(
        sorted(
            zip(
                [catalogue[row] for row in found.pieces[begin:end].tolist()],
                found.grades[begin:end].tolist(),
                strict=True,
            )
        )
        for begin, end in zip(found.person_starts[:-1].tolist(), found.person_starts[1:].tolist(), strict=True)
    )
    by_piece = [
        {catalogue[row]: found.piece_grades[found.piece_starts[row] : found.piece_starts[row + 1]].tolist()}
        for row in range(len(catalogue))
    ]
    assert [sorted(*each.values()) for each in by_piece] == [
        sorted(liked[piece_id] for liked in expected if piece_id in liked) for piece_id in catalogue
    ]


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None)
@given(events=EVENTS, told=SETTINGS)
def test_popularity_is_that_of_the_definition(events: list[tuple[Any, ...]], told: dict[str, Any]) -> None:
    counting = counting_of(events)
    snapshot = snapshot_of([{"id": piece_id, "categories": {}} for piece_id in PIECES])
    weights = oracle.WEIGHTS | told.get("interactionWeights", {})
    people = []
    for piece_id in PIECES:
        total = 0.0
        for own in counting.kept().values():
            positive = [e for e in oracle.telling(own) if e["contentId"] == piece_id and weights[e["type"]] > 0]
            if positive:
                grade = max(audience_reference.grade(weights[e["type"]], oracle.portion(e)) for e in positive)
                total += grade / 16 * 2 ** (-(TODAY - max(e["day"] for e in positive)) / 30)
        people.append(total)

    counts = counting.tally.popularity(settings_of(told, counting.oldest), TODAY)

    assert counts.by_part(snapshot.parts, FullLike().grades)[0].tolist() == pytest.approx(people)
    audience = Audience(counts, ItemItemModel.none())
    most = math.log1p(max(people)) or 1.0
    shares = audience.popular(snapshot.parts, (TODAY, 0.0), lambda: np.zeros(1)).shares[0]
    assert shares.tolist() == pytest.approx([math.log1p(number) / most for number in people])


@settings(max_examples=examples(100), deadline=None)
@given(events=EVENTS)
def test_steps_and_a_rebuild_give_the_same_bytes(events: list[tuple[Any, ...]]) -> None:
    counting = counting_of(events)

    arrays = [each.compacted(counting.oldest).arrays() for each in (counting.tally, rebuilt(counting))]

    assert {name: array.tolist() for name, array in arrays[0].items()} == {
        name: array.tolist() for name, array in arrays[1].items()
    }


@settings(max_examples=examples(200), deadline=None)
@given(
    events=st.lists(EVENTS.filter(bool), max_size=3),
    told=SETTINGS,
    most_late=st.sampled_from([1, 3, tally.MOST_LATE]),
    few=st.sampled_from([0, 1, tally.FEW_EVENTS]),
    half_lives=st.sampled_from([(30,), (30, 0), (7, 30, 0)]),
)
def test_popularity_counted_after_each_step_is_that_of_a_rebuild(
    events: list[list[tuple[Any, ...]]], told: dict[str, Any], most_late: int, few: int, half_lives: tuple[int, ...]
) -> None:
    counting, chosen, grades = Counting(), settings_of(told, 20), FullLike().grades
    parts = snapshot_of([{"id": piece_id, "categories": {}} for piece_id in PIECES]).parts

    def people(counted: Tally, today: int) -> list[list[float]]:
        counts = [counted.popularity(chosen, today, half_life_days=days) for days in half_lives]
        return [each.by_part(parts, grades)[0].tolist() for each in counts]

    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(tally, "MOST_LATE", most_late)
        patching.setattr(tally, "FEW_EVENTS", few)
        found = people(counting.tally, TODAY)
        # Each day has steps of one event, and then one of several.
        for today, several in enumerate(events, TODAY):
            for event in several:
                counting.apply(event)
                found = people(counting.tally, today)
            for event in several[::2]:
                counting.apply(event)
            found = people(counting.tally, today)

    assert found == people(rebuilt(counting), TODAY + max(0, len(events) - 1))


def test_an_earlier_day_needs_another_count() -> None:
    counting = Tally.empty(10)

    assert counting.counts(10)
    assert counting.counts(11)
    assert not counting.counts(9)


def test_of_ratings_of_one_moment_the_later_recorded_counts_across_a_base() -> None:
    counting = counting_of(
        [("record", "u1", "p0", "RateDislike", 3), ("compact",), ("record", "u1", "p0", "RateLike", 3)]
    )
    other = counting_of([("record", "u1", "p0", "RateLike", 3), ("compact",), ("record", "u1", "p0", "RateDislike", 3)])

    counts = [
        len(each.tally.compacted().matrix(Strings.of(PIECES), SourceSettings(), 0).pieces) for each in (counting, other)
    ]

    assert counts == [1, 0]


def test_no_people_make_no_audience() -> None:
    snapshot = snapshot_of([{"id": "a", "categories": {}}])
    audience = Audience(Tally.empty(0).popularity(SourceSettings(), 1), ItemItemModel.none())

    likes = rows_of_likes(snapshot, {"a": 1})
    assert audience.alike(snapshot.parts, likes, OrderUse.ON)[0].of_row(0) == 0.0
    assert audience.like_shares_of(snapshot.parts, likes, OrderUse.ON)("a") == []
    assert audience.popular(snapshot.parts, (1, 30.0), lambda: np.ones(1)).median == 0


def test_an_audience_without_counts_has_no_popularity() -> None:
    snapshot = snapshot_of([{"id": "a", "categories": {}}])

    popular = Audience(None, ItemItemModel.none()).popular(snapshot.parts, (1, 30.0), lambda: np.ones(1))

    assert (popular.shares[0].tolist(), popular.median) == ([0.0], 0.0)


@pytest.mark.slow
@settings(max_examples=examples(100), deadline=None)
@given(events=EVENTS, own=st.lists(st.sampled_from(PIECES), max_size=4, unique=True))
def test_shares_of_likes_add_up_to_the_part(events: list[tuple[Any, ...]], own: list[str]) -> None:
    counting = counting_of([event for event in events if event[0] == "record"])
    snapshot = snapshot_of([{"id": each, "categories": {"t": [each[1], "x"]}} for each in PIECES])
    likes = counting.tally.compacted().matrix(Strings.of(PIECES), SourceSettings(), 0)
    counts = PieceCounts(PieceNumbers(counting.tally.base), {}, len(counting.tally.base.ids))
    audience = Audience(counts, fit_item_item(likes, snapshot.merged(), {}))
    chosen = rows_of_likes(snapshot, {piece_id: 4 + number for number, piece_id in enumerate(own)})

    (found,) = audience.alike(snapshot.parts, chosen, OrderUse.ON)

    owed = audience.like_shares_of(snapshot.parts, chosen, OrderUse.ON)
    for piece_id, share in zip(PIECES, found.by_row(len(PIECES)).tolist(), strict=True):
        shares = owed(piece_id)
        assert math.fsum(each.share for each in shares) == pytest.approx(share, abs=1e-12)
        assert all(each.share and each.id in own for each in shares)
