"""Popularity of pieces that nobody has touched for long: exact, however old the likes are."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import snapshot_of
from penchant.model import SourceSettings
from penchant_engine.index import Snapshot, Strings, Tally
from penchant_engine.index.people.popularity import HALF_LIFE_DAYS, PieceCounts, PopularityMeter, shares_of
from penchant_engine.index.people.statistics import FullLike
from penchant_engine.model import DAY_MS, InteractionType

PIECES = [f"p{number}" for number in range(4)]
LIKES = st.lists(st.tuples(st.sampled_from("uvwxyz"), st.sampled_from(PIECES), st.integers(0, 200)), min_size=1)
TODAY = 40_000
ROUNDING = 6 * 2.0**-37 / math.log1p(2.0**-6)
"""What six people, each rounded to 2^-36, make where the greatest count is 2^-6; below, the unit is finer."""
SETTINGS = SourceSettings(retention_days=36_500)


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return snapshot_of([{"id": piece, "categories": {"g": ["a"]}} for piece in PIECES])


def popularity(snapshot: Snapshot, tally: Tally, half_life: int) -> list[float]:
    people = tally.popularity(SETTINGS, TODAY, half_life_days=half_life).by_part(snapshot.parts, FullLike(9, 1).grades)
    return list(shares_of(snapshot.parts, people, 0.5)[0])


@given(
    likes=LIKES,
    age=st.sampled_from([0, 200, 395, 1_000, 5_000, 20_000]),
    erased=st.sampled_from("uvA"),
    half_life=st.sampled_from([HALF_LIFE_DAYS, 7, 365, 0]),
)
def test_popularity_is_the_definition_s_however_old_the_likes_are(
    snapshot: Snapshot, likes: list[tuple[str, str, int]], age: int, erased: str, half_life: int
) -> None:
    tally = Tally.empty(0)
    for version, (person, piece, days) in enumerate(likes):
        moment = (TODAY - age - days) * DAY_MS
        tally.record(person.encode() * 16, piece, InteractionType.WATCH, moment, version)
    tally.erase(erased.encode() * 16)

    latest: dict[tuple[str, str], int] = {}
    for person, piece, days in likes:
        if person != erased:
            latest[person, piece] = min(days, latest.get((person, piece), days))
    people = {
        piece: math.fsum(
            2.0 ** (-(age + days) / half_life) if half_life else 1.0
            for (_, liked), days in latest.items()
            if liked == piece
        )
        for piece in PIECES
    }
    greatest = math.log1p(max(people.values()))
    expected = [math.log1p(0.5 * people[piece]) / greatest if greatest else 0.0 for piece in PIECES]
    assert popularity(snapshot, tally, half_life) == pytest.approx(expected, rel=1e-8, abs=ROUNDING)


@given(
    steps=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 7.0])), min_size=1, max_size=12
    ),
    gone=st.sampled_from(["p0", "p3", "none"]),
)
def test_popularity_measured_step_by_step_is_that_of_one_look(
    snapshot: Snapshot, steps: list[tuple[int, float]], gone: str
) -> None:
    parts = [snapshot.parts[0].without(Strings.of([gone]))]
    floors = [np.array([0.0, 0.5, 1.0, 2.0])]
    meter, people = PopularityMeter(parts, floors, 0.5), np.array([7.0, 1.0, 1.0, 0.0])
    for row, count in steps:
        people = people.copy()
        people[row] = count

        measured = meter.measure([people])

        shares = shares_of(parts, [people], 0.5)[0]
        liked = shares[(parts[0].live > 0) & (people > 0)]
        median = float(np.median(liked)) if len(liked) else 0.0
        assert measured.shares[0].tolist() == shares.tolist()
        assert measured.median == median
        assert measured.lifted[0].tolist() == np.maximum(shares, floors[0] * median).tolist()


@given(st.lists(st.lists(st.sampled_from(["p0", "p1", "p2", "p3", "gone"]), min_size=1), max_size=5))
def test_counts_stay_as_they_were_while_more_pieces_are_liked(snapshot: Snapshot, steps: list[list[str]]) -> None:
    tally, versions = Tally.empty(0), itertools.count(1)
    found: list[tuple[PieceCounts, list[float]]] = []
    for pieces in steps:
        for version, piece in zip(versions, pieces, strict=False):
            tally.record(b"%016d" % version, piece, InteractionType.WATCH, TODAY * DAY_MS, version)
        counts = tally.popularity(SETTINGS, TODAY)
        liked = [each for earlier in steps[: len(found) + 1] for each in earlier]
        found.append((counts, [float(liked.count(piece)) for piece in PIECES]))

    # The newest is asked first, as requests do; who began before still has an older one.
    for counts, expected in [*found[::-1], *found]:
        assert counts.by_part(snapshot.parts, FullLike(9, 1).grades)[0].tolist() == expected
