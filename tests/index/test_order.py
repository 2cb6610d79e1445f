"""What people like soon after what is that of the interface's words, whoever counts it and in whatever order."""

import math
import random
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import order_reference
from answers import rows_of_likes, snapshot_of
from audience_reference import Reference
from order_reference import Like, Order, factors_of, ranks_of
from penchant.index import Audience, AudienceWeights, Tally, build_weights
from penchant.index.compiled import engine
from penchant.index.layout import LikeMatrix
from penchant.index.people import order
from penchant.index.people.figures import SourceFigures
from penchant.index.people.likes import like_matrix
from penchant.index.people.order import RECENCY, direction_of, follower_rows, like_factors, order_of
from penchant.model import InteractionType, OrderUse, SourceSettings
from strategies import examples

IDS = [f"p{number:02}" for number in range(30)]
LIKED = st.dictionaries(
    st.sampled_from(IDS), st.builds(Like, st.sampled_from([1, 4, 9, 16]), st.integers(0, 40)), max_size=25
)
EVERYONE = st.lists(LIKED, max_size=12)
KINDS = {1: InteractionType.CLICK, 4: InteractionType.PLAY, 9: InteractionType.WATCH, 16: InteractionType.PURCHASE}
WINDOW_MS = 3_600_000


@pytest.fixture(params=["numpy", "compiled"])
def counting(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.param == "compiled":
        request.getfixturevalue("kernels")
        yield
        return
    engine.use({})
    yield


@pytest.fixture
def _few_pairs_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take what different people agree on for what it is, though they are few."""
    monkeypatch.setattr(order, "DIRECTION_PRIOR", 1)
    monkeypatch.setattr(order_reference, "DIRECTION_PRIOR", 1)


def matrix_of(everyone: list[Mapping[str, Like]]) -> LikeMatrix:
    """Return likes as the product has them."""
    found = [(person, IDS.index(each), *like) for person, liked in enumerate(everyone) for each, like in liked.items()]
    table = np.ascontiguousarray(np.asarray(found, dtype=np.int64).reshape(-1, 4).T)
    people, pieces, grades, moments = table
    return like_matrix(people, pieces, grades.astype(np.uint8), len(IDS), order_of(people, moments))


def tally_of(everyone: Mapping[str, Mapping[str, Like]], order_of_arrival: random.Random | None = None) -> Tally:
    """Return the tally of what people did; each like is one interaction."""
    rows = [(person, piece_id, like) for person, liked in everyone.items() for piece_id, like in liked.items()]
    if order_of_arrival is not None:
        order_of_arrival.shuffle(rows)
    tally = Tally.empty(0)
    for version, (person, piece_id, like) in enumerate(rows, start=1):
        tally.record(person.encode().ljust(16), piece_id, KINDS[like.grade], like.at, version)
    return tally


def weights_of(tally: Tally) -> AudienceWeights:
    catalogue = snapshot_of([{"id": each, "categories": {}} for each in IDS]).merged()
    return build_weights(tally.compacted().matrix(catalogue.ids, SourceSettings(), 0), catalogue, {})


def bytes_of(weights: AudienceWeights) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in weights.arrays().items()}


def sequences(people: int, *, gap_ms: int | None = None) -> list[dict[str, Like]]:
    """Return people who go the same way through the pieces, from somewhere on, at moments of chance or even ones."""
    chance = random.Random(people)
    everyone = []
    for _ in range(people):
        first, at, liked = chance.randrange(len(IDS) - 12), 0, {}
        for each in IDS[first : first + 12]:
            at += gap_ms or chance.randrange(1, WINDOW_MS)
            liked[each] = Like(16, at)
        everyone.append(liked)
    return everyone


def shuffled(everyone: list[dict[str, Like]]) -> list[dict[str, Like]]:
    """Return the same likes, each person's moments dealt anew."""
    chance, found = random.Random(1), []
    for liked in everyone:
        moments = [like.at for like in liked.values()]
        chance.shuffle(moments)
        found.append({each: Like(like.grade, at) for (each, like), at in zip(liked.items(), moments, strict=True)})
    return found


def figures_of(everyone: list[dict[str, Like]]) -> SourceFigures:
    return weights_of(tally_of({f"u{number}": liked for number, liked in enumerate(everyone)})).source_figures


@pytest.mark.usefixtures("counting", "_few_pairs_tell")
@settings(max_examples=examples(200), deadline=None)
@given(everyone=EVERYONE, threads=st.sampled_from([1, 3]))
def test_followers_and_direction_are_those_of_the_words(everyone: list[Mapping[str, Like]], threads: int) -> None:
    likes, expected = matrix_of(everyone), Order.of(everyone)

    found = follower_rows(likes, threads=threads)

    assert found.direction == expected.direction
    assert likes.gaps.tolist() == [sum(expected.gaps.values()), max(expected.gaps.values(), default=0)]
    followers = expected.followers() if expected.direction else {}
    for row, piece_id in enumerate(IDS):
        cut = slice(found.starts[row], found.starts[row + 1])
        others = [IDS[other] for other in found.pieces[cut].tolist()]
        own = {other: value for other, value in followers.get(piece_id, {}).items() if value}
        assert others == sorted(own)
        assert found.values[cut].tolist() == [own[other] for other in others]
        assert found.people[cut].tolist() == [expected.people[piece_id, other] for other in others]


@pytest.mark.usefixtures("counting", "_few_pairs_tell")
@settings(max_examples=examples(60), deadline=None)
@given(everyone=EVERYONE, use=st.sampled_from(OrderUse), person=LIKED)
def test_lists_take_account_of_order_as_the_words_say(
    everyone: list[Mapping[str, Like]], use: OrderUse, person: Mapping[str, Like]
) -> None:
    names = {f"u{number}": liked for number, liked in enumerate(everyone)}
    pieces: list[Any] = [{"id": each, "categories": {"t": [each[1], "x"]}} for each in IDS]
    types = {grade: kind.value for grade, kind in KINDS.items()}
    events = [
        {"userId": name, "contentId": each, "type": types[like.grade], "at": like.at}
        for name, liked in names.items()
        for each, like in liked.items()
    ]
    reference, snapshot = Reference(pieces, events, {"order": use.value}), snapshot_of(pieces)
    matrix = tally_of(names).compacted().matrix(snapshot.merged().ids, SourceSettings(), 0)
    audience = Audience(None, build_weights(matrix, snapshot.merged(), {}))
    own = rows_of_likes(snapshot, {each: like.grade for each, like in person.items()}, ranks_of(person))

    (found,) = audience.alike(snapshot.parts, own, use)

    assert audience.figures.strength(use) == reference.strength
    expected, owed = reference.shares(person), audience.owing(snapshot.parts, own, use)
    for piece_id, share in zip(IDS, found.by_row(len(IDS)).tolist(), strict=True):
        assert share == pytest.approx(float(expected[piece_id]), abs=1e-12)
        assert math.fsum(each.share for each in owed(piece_id)) == pytest.approx(share, abs=1e-12)


@settings(max_examples=examples(200), deadline=None)
@given(liked=LIKED, strength=st.integers(0, 256))
def test_what_likes_count_is_that_of_the_words(liked: Mapping[str, Like], strength: int) -> None:
    grades = np.asarray([like.grade for like in liked.values()], dtype=np.int64)
    people = np.zeros(len(liked), dtype=np.int64)
    ranks = order_of(people, np.asarray([like.at for like in liked.values()], dtype=np.int64)).ranks

    counted, following = like_factors(np.asarray([0, len(liked)]), grades, ranks, strength)

    assert ranks.tolist() == list(ranks_of(liked).values())
    expected = factors_of(liked, strength)
    assert counted.tolist() == [each.counted for each in expected.values()]
    assert following.tolist() == [
        strength * each.recency * like.grade for each, like in zip(expected.values(), liked.values(), strict=True)
    ]


def test_recency_halves_after_every_three_likes() -> None:
    assert list(RECENCY) == [*(round(256 * 2 ** (-rank / 3)) for rank in range(24)), 0]


def test_a_thousand_likes_of_the_top_grade_fit() -> None:
    """So many and so strong a person may have: sums stay far below what words hold."""
    ranks = np.arange(1_000)

    counted, following = like_factors(np.asarray([0, 1_000]), np.full(1_000, 16), ranks, 256)
    alike, soon = like_factors(np.asarray([0, 1_000]), np.full(1_000, 16), ranks * 0, 256)

    assert 0 < counted.min() < counted.max() < 2**26
    assert 4096 * 16_000 - 1_000 <= counted.sum() <= 4096 * 16_000
    assert alike.tolist() == [4096 * 16] * 1_000
    assert following.max() == soon.max() == 256 * 256 * 16


@settings(max_examples=examples(60), deadline=None)
@given(everyone=EVERYONE, seed=st.integers())
def test_any_order_of_arrival_gives_the_same_bytes(everyone: list[dict[str, Like]], seed: int) -> None:
    names = {f"u{number}": liked for number, liked in enumerate(everyone)}

    one, other = (weights_of(tally_of(names, chance)) for chance in (None, random.Random(seed)))

    assert bytes_of(one) == bytes_of(other)


def test_people_of_other_names_give_the_same_bytes() -> None:
    everyone = sequences(300)
    one, other = (
        weights_of(tally_of({str(number * step % 300): liked for number, liked in enumerate(everyone)}))
        for step in (1, 7)
    )

    assert one.source_figures.direction > 100
    assert bytes_of(one) == bytes_of(other)


def test_who_is_erased_was_never_there() -> None:
    everyone = {f"u{number}": liked for number, liked in enumerate(sequences(200))}
    tally = tally_of(everyone)
    before = weights_of(tally)
    for name in list(everyone)[::3]:
        tally.erase(name.encode().ljust(16))
        del everyone[name]

    after = weights_of(tally)

    assert bytes_of(after) == bytes_of(weights_of(tally_of(everyone)))
    assert bytes_of(after) != bytes_of(before)


def test_the_latest_positive_interaction_says_when_a_piece_is_liked() -> None:
    tally, other = Tally.empty(0), Tally.empty(0)
    for version, (piece_id, kind, at) in enumerate(
        (("p00", "Play", 1), ("p01", "Play", 2), ("p00", "RateDislike", 3), ("p00", "RateLike", 4)), start=1
    ):
        tally.record(b"u".ljust(16), piece_id, InteractionType(kind), at, version)
    other.record(b"u".ljust(16), "p00", InteractionType.RATE_LIKE, 4, 1)
    other.record(b"u".ljust(16), "p01", InteractionType.PLAY, 2, 2)

    found, expected = (each.compacted().matrix(weights_of(each).ids, SourceSettings(), 0) for each in (tally, other))

    assert found.ranks.tolist() == expected.ranks.tolist() == [0, 1]
    assert found.gaps.tolist() == [1, 1]


def test_shuffled_likes_have_no_direction() -> None:
    everyone = sequences(400)

    assert figures_of(everyone).direction > 100
    assert figures_of(shuffled(everyone)).direction < 3


def test_made_up_times_count_only_where_the_source_says_so() -> None:
    figures = figures_of(sequences(300, gap_ms=1_000))

    assert figures.has_even_gaps
    assert figures.strength(OrderUse.AUTO) == figures.strength(OrderUse.OFF) == 0
    assert figures.strength(OrderUse.ON) == figures.direction > 100


def test_sums_of_squares_pass_64_bits() -> None:
    """A hundred pieces, each 2^40 times before the next one alone: all of it is direction."""
    totals = np.zeros((100, 5), dtype=np.int64)
    totals[:, 1] = 1 << 40

    assert direction_of(totals) == 255
    totals[:, 3] = 1 << 39
    assert direction_of(totals) == 85


@pytest.mark.usefixtures("counting")
def test_many_likes_of_one_moment_have_ten_pairs_each_at_most() -> None:
    """Of thirty pieces of one moment none comes before the other, and one past ten of them is not soon after."""
    everyone = [
        {each: Like(16, 1 if number < 18 else 2 + number // 29) for number, each in enumerate(IDS)} for _ in range(40)
    ]

    found, expected = follower_rows(matrix_of([*everyone])), Order.of(everyone)

    assert expected.direction == found.direction > 0
    assert np.diff(found.starts).tolist() == [len(expected.followers().get(each, {})) for each in IDS]
