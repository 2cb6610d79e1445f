"""Is the audience, whatever steps it was counted in, that of the definition by full scan?"""

import math
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from answers import snapshot_of
from penchant.index import Audience, Tally, engine, tally
from penchant.index.likes import Likes, Scope
from penchant.model import DAY_MS, Seed

PEOPLE = st.sampled_from(["u1", "u2", "u3", "u4", "u5"])
PIECES = [f"p{number}" for number in range(6)]
DAYS = st.integers(0, 60)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("record"), PEOPLE, st.sampled_from(PIECES), st.sampled_from(sorted(oracle.WEIGHTS)), DAYS),
        st.tuples(st.just("erase"), PEOPLE),
        st.tuples(st.just("look"), DAYS),
        st.tuples(st.just("compact")),
    ),
    max_size=40,
)
SEEDS = st.lists(st.sampled_from(PIECES), max_size=4, unique=True)
POSITIVE = [name for name, weight in oracle.WEIGHTS.items() if weight > 0]
TODAY = 70


@pytest.fixture(params=["numpy", "compiled"])
def searching(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.param == "compiled":
        request.getfixturevalue("kernels")
        yield
        return
    engine.use(None, frozenset())
    yield


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "LEAST_MORE", 5)


class Counting:
    """A tally, and beside it what the definition needs."""

    def __init__(self) -> None:
        self.oldest = 0
        self.tally = Tally.empty(POSITIVE, 0)
        self.everyone: dict[str, list[dict[str, Any]]] = {}

    def apply(self, event: tuple[Any, ...]) -> None:
        match event:
            case "record", person, piece_id, kind, day:
                rating = kind == "RateLike" if kind.startswith("Rate") else None
                self.everyone.setdefault(person, []).append({"type": kind, "contentId": piece_id, "day": day})
                moment, positive = day * DAY_MS, kind in POSITIVE
                self.tally.record(key_of(person), piece_id, moment, positive=positive, rating=rating)
            case "erase", person:
                self.everyone.pop(person, None)
                self.tally.erase(key_of(person))
            case "look", day:
                self.oldest = max(self.oldest, day - 40)
                self.tally.audience(day, self.oldest)
            case _:
                arrays = self.tally.compacted().arrays()
                self.tally = Tally(Likes.of_arrays(arrays))

    def kept(self) -> dict[str, list[dict[str, Any]]]:
        return {person: [each for each in own if each["day"] >= self.oldest] for person, own in self.everyone.items()}

    def audience(self) -> Audience:
        return self.tally.audience(TODAY, self.oldest)


def key_of(person: str) -> bytes:
    """Keys whose first words are equal for some people, and whose last bytes are 0."""
    return (b"%d" % (int(person[1]) % 2)).ljust(8, b"\0") + person.encode().ljust(8, b"\0")


@pytest.mark.usefixtures("searching")
@settings(max_examples=150, deadline=None)
@given(events=EVENTS, seeds=SEEDS)
def test_the_audience_is_that_of_the_definition(events: list[tuple[Any, ...]], seeds: list[str]) -> None:
    counting = Counting()
    for event in events:
        counting.apply(event)
    snapshot = snapshot_of([{"id": piece_id, "categories": {}} for piece_id in PIECES])
    chosen = [Seed(piece_id, float(place + 1)) for place, piece_id in enumerate(seeds)]

    (found,) = counting.audience().liked_alike(snapshot.parts, chosen)

    expected = oracle.audience(oracle.likes(counting.kept()), [(each.id, each.weight) for each in chosen])
    for piece_id, share in zip(PIECES, found.tolist(), strict=True):
        assert share == pytest.approx(expected.get(piece_id, 0.0), abs=1e-10)
        assert math.fsum(each.share for each in counting.audience().owed(chosen, piece_id)) == pytest.approx(share)


@settings(max_examples=150, deadline=None)
@given(events=EVENTS)
def test_popularity_is_that_of_the_definition(events: list[tuple[Any, ...]]) -> None:
    counting = Counting()
    for event in events:
        counting.apply(event)
    snapshot = snapshot_of([{"id": piece_id, "categories": {}} for piece_id in PIECES])
    people = []
    for piece_id in PIECES:
        latest = [
            max((e["day"] for e in own if e["contentId"] == piece_id and e["type"] in POSITIVE), default=None)
            for own in counting.kept().values()
        ]
        people.append(math.fsum(2 ** (-(TODAY - day) / 30) for day in latest if day is not None))

    (found,) = counting.audience().popular(snapshot.parts).shares

    most = math.log1p(max(people)) or 1.0
    assert found.tolist() == pytest.approx([math.log1p(number) / most for number in people])


@pytest.mark.usefixtures("searching")
@settings(max_examples=100, deadline=None)
@given(events=EVENTS, seeds=SEEDS)
def test_steps_and_a_rebuild_give_the_same_bits(events: list[tuple[Any, ...]], seeds: list[str]) -> None:
    counting = Counting()
    for event in events:
        counting.apply(event)
    rebuilt = Tally.empty(POSITIVE, counting.oldest)
    for person, own in reversed(counting.kept().items()):
        for each in own:
            rating = each["type"] == "RateLike" if each["type"].startswith("Rate") else None
            moment, positive = each["day"] * DAY_MS, each["type"] in POSITIVE
            rebuilt.record(key_of(person), each["contentId"], moment, positive=positive, rating=rating)
    snapshot = snapshot_of([{"id": piece_id, "categories": {}} for piece_id in PIECES])
    chosen = [Seed(piece_id, 3.0) for piece_id in seeds]

    answers = [
        [
            each.tolist()
            for each in (*audience.liked_alike(snapshot.parts, chosen), *audience.popular(snapshot.parts).shares)
        ]
        for audience in (counting.audience(), rebuilt.audience(TODAY, counting.oldest))
    ]

    assert answers[0] == answers[1]


def test_pieces_past_the_cap_of_a_person_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "MAX_PIECES", 2)
    counting = Counting()
    for piece_id in ("p0", "p1", "p2", "p1"):
        counting.apply(("record", "u1", piece_id, "Play", 1))
    snapshot = snapshot_of([{"id": piece_id, "categories": {}} for piece_id in PIECES])

    assert [share > 0 for share in counting.audience().popular(snapshot.parts).shares[0]] == [True, True] + [False] * 4
    assert not counting.tally.counts(POSITIVE, 1)


def test_people_past_the_cap_of_a_piece_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "MAX_PEOPLE", 1)
    counting = Counting()
    for person, piece_id in (("u1", "p0"), ("u2", "p0"), ("u2", "p1")):
        counting.apply(("record", person, piece_id, "Play", TODAY))
    snapshot = snapshot_of([{"id": piece_id, "categories": {}} for piece_id in PIECES])

    assert counting.audience().popular(snapshot.parts).shares[0].tolist() == [1, 1, 0, 0, 0, 0]


def test_other_types_or_an_earlier_day_need_another_count() -> None:
    counting = Tally.empty(["Play"], 10)

    assert counting.counts(["Play"], 10)
    assert counting.counts(["Play"], 11)
    assert not counting.counts(["Play"], 9)
    assert not counting.counts(["Play", "Watch"], 10)


def test_no_people_make_no_audience(kernels: ModuleType) -> None:
    assert kernels
    snapshot = snapshot_of([{"id": "a", "categories": {}}])
    audience = Tally.empty(["Play"], 0).audience(1, 0)

    assert audience.liked_alike(snapshot.parts, [Seed("a", 1.0)])[0].tolist() == [0.0]
    assert audience.owed([Seed("a", 1.0)], "a") == []
    assert audience.popular(snapshot.parts).median == 0


def test_likes_that_a_cap_was_met_in_are_not_counted_on_where_days_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "MAX_PIECES", 2)
    counting = Counting()
    for piece_id in PIECES[:2]:
        counting.apply(("record", "u1", piece_id, "Click", 5))
    assert not counting.tally.compacted().scope.capped
    counting.apply(("record", "u1", PIECES[2], "Click", 5))

    again = Tally(Likes.of_arrays(counting.tally.compacted().arrays()))

    assert again.base.scope == Scope(tuple(sorted(POSITIVE)), 0, 5, capped=True)
    assert again.counts(POSITIVE, 0)
    assert not again.counts(POSITIVE, 1)
    assert not again.counts(POSITIVE[1:], 0)
