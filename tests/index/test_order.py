"""What people like soon after what is that of the interface's words, whoever counts it and in whatever order."""

import hashlib
import math
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import order_reference
from answers import rows_of_likes, snapshot_of
from audience_reference import Reference
from order_reference import Like, Order, factors_of, ranks_of
from penchant.model import SourceSettings
from penchant_engine.index import Audience, IntArray, InteractionArrays, Segment, Snapshot, Strings, Tally
from penchant_engine.index.building import build_segment
from penchant_engine.index.compiled import engine
from penchant_engine.index.layout import LikeMatrix
from penchant_engine.index.people import order
from penchant_engine.index.people.item_item import ItemItemModel, fit_item_item
from penchant_engine.index.people.likes import like_matrix
from penchant_engine.index.people.order import RECENCY, OwnLikes, direction_of, like_factors, order_of, successor_rows
from penchant_engine.index.people.person import user_features
from penchant_engine.index.people.statistics import SourceStatistics
from penchant_engine.index.people.table import PeopleEvents, people_table
from penchant_engine.model import (
    DEFAULT_INTERACTION_WEIGHTS,
    IndexedPiece,
    InteractionType,
    OrderUse,
    StoredInteraction,
    Term,
)
from strategies import examples

IDS = [f"p{number:02}" for number in range(30)]
LIKED = st.dictionaries(
    st.sampled_from(IDS), st.builds(Like, st.sampled_from([1, 4, 9, 16]), st.integers(0, 40)), max_size=25
)
EVERYONE = st.lists(LIKED, max_size=12)
KINDS = {1: InteractionType.CLICK, 4: InteractionType.PLAY, 9: InteractionType.WATCH, 16: InteractionType.PURCHASE}
WINDOW_MS = 3_600_000


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


def weights_of(tally: Tally) -> ItemItemModel:
    catalogue = snapshot_of([{"id": each, "categories": {}} for each in IDS]).merged()
    return fit_item_item(tally.compacted().matrix(catalogue.ids, SourceSettings(), 0), catalogue, {})


def bytes_of(weights: ItemItemModel) -> dict[str, bytes]:
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


def figures_of(everyone: list[dict[str, Like]]) -> SourceStatistics:
    return weights_of(tally_of({f"u{number}": liked for number, liked in enumerate(everyone)})).source_statistics


@pytest.mark.slow
@pytest.mark.usefixtures("searching", "_few_pairs_tell")
@settings(max_examples=examples(200), deadline=None)
@given(everyone=EVERYONE, threads=st.sampled_from([1, 3]))
def test_successors_and_direction_are_those_of_the_words(everyone: list[Mapping[str, Like]], threads: int) -> None:
    likes, expected = matrix_of(everyone), Order.of(everyone)

    found = successor_rows(likes, threads=threads)

    assert found.direction == expected.direction
    assert likes.gaps.tolist() == [sum(expected.gaps.values()), max(expected.gaps.values(), default=0)]
    successors = expected.successors() if expected.direction else {}
    for row, piece_id in enumerate(IDS):
        cut = slice(found.starts[row], found.starts[row + 1])
        others = [IDS[other] for other in found.pieces[cut].tolist()]
        own = {other: value for other, value in successors.get(piece_id, {}).items() if value}
        assert others == sorted(own)
        assert found.values[cut].tolist() == [own[other] for other in others]
        assert found.people[cut].tolist() == [expected.people[piece_id, other] for other in others]


@pytest.mark.usefixtures("searching", "_few_pairs_tell")
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
    audience = Audience(None, fit_item_item(matrix, snapshot.merged(), {}))
    own = rows_of_likes(snapshot, {each: like.grade for each, like in person.items()}, ranks_of(person))

    (found,) = audience.alike(snapshot.parts, own, use)

    assert audience.figures.strength(use) == reference.strength
    expected, owed = reference.shares(reference.graded(person)), audience.like_shares_of(snapshot.parts, own, use)
    for piece_id, share in zip(IDS, found.by_row(len(IDS)).tolist(), strict=True):
        assert share == pytest.approx(float(expected[piece_id]), abs=1e-12)
        assert math.fsum(each.share for each in owed(piece_id)) == pytest.approx(share, abs=1e-12)


@settings(max_examples=examples(200), deadline=None)
@given(liked=LIKED, strength=st.integers(0, 256))
def test_what_likes_count_is_that_of_the_words(liked: Mapping[str, Like], strength: int) -> None:
    grades = np.asarray([like.grade for like in liked.values()], dtype=np.int64)
    people = np.zeros(len(liked), dtype=np.int64)
    ranks = order_of(people, np.asarray([like.at for like in liked.values()], dtype=np.int64)).ranks

    counted, following = like_factors(grades, ranks, strength)

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

    counted, following = like_factors(np.full(1_000, 16), ranks, 256)
    alike, soon = like_factors(np.full(1_000, 16), ranks * 0, 256)

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

    assert one.source_statistics.direction > 100
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


@pytest.mark.usefixtures("searching")
def test_many_likes_of_one_moment_have_ten_pairs_each_at_most() -> None:
    """Of thirty pieces of one moment none comes before the other, and one past ten of them is not soon after."""
    everyone = [
        {each: Like(16, 1 if number < 18 else 2 + number // 29) for number, each in enumerate(IDS)} for _ in range(40)
    ]

    found, expected = successor_rows(matrix_of([*everyone])), Order.of(everyone)

    assert expected.direction == found.direction > 0
    assert np.diff(found.starts).tolist() == [len(expected.successors().get(each, {})) for each in IDS]


OF_THE_REVISION_BEFORE = "980ecf5b076ca6df6059b357b0b335f4681b41660c7d896c671afb925775f448"
"""What it gave for `unordered`: the bytes of weights, of the figure that goes by people, and of fifty sums."""


def unordered() -> tuple[Segment, IntArray, IntArray, NDArray[np.uint8]]:
    """Return a catalogue, and likes of chance as people, rows and grades."""
    chance = np.random.default_rng(20261124)
    pieces = [
        IndexedPiece(
            id=f"p{row:03}",
            weights={
                Term("t", f"k{each:02}"): int(chance.integers(1, 9))
                for each in chance.choice(40, 5, replace=False).tolist()
            },
        )
        for row in range(300)
    ]
    people, rows = np.nonzero(chance.random((400, 300)) < chance.random(300) ** 3 * 0.4)
    weights = np.asarray([1, 4, 9, 16, 16, 16, 16], dtype=np.uint8)
    return build_segment(pieces), people, rows, chance.choice(weights, len(rows))


@pytest.mark.slow
@pytest.mark.usefixtures("searching")
@pytest.mark.parametrize("use", OrderUse)
def test_of_mostly_full_likes_without_order_all_is_that_of_the_revision_before_byte_for_byte(use: OrderUse) -> None:
    segment, people, rows, grades = unordered()
    # At moments of chance: nobody agrees with anybody on what comes first.
    order_of_likes = order_of(people, np.random.default_rng(1).integers(0, 1 << 40, len(people)))
    weights = fit_item_item(like_matrix(people, rows, grades, len(segment), order_of_likes), segment, {})
    digest = hashlib.sha256()
    for name in ("starts", "targets", "values", "people", "lent_starts", "borrowers", "lent_shares", "evidence"):
        digest.update(getattr(weights, name).tobytes())
    digest.update(str(weights.source_statistics.pairs).encode())
    audience, parts = Audience(None, weights), Snapshot.of_segment(segment).parts

    for person in range(0, 400, 8):
        own = people == person
        likes = OwnLikes([rows[own]], [grades[own].astype(np.int64)], [order_of_likes.ranks[own].astype(np.int64)])
        for each in engine.shares(weights.matrix, audience._seeds(parts, likes, use), 0.25):
            digest.update(each.tobytes())

    assert weights.source_statistics.direction == 0
    assert digest.hexdigest() == OF_THE_REVISION_BEFORE


@settings(max_examples=examples(60), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    moments=st.sampled_from([3, 1_000]),
    chosen=st.sampled_from([{}, {InteractionType.CLICK: -1}, {InteractionType.RATE_LIKE: -2, InteractionType.PLAY: 0}]),
)
def test_a_person_of_a_table_likes_in_the_same_order(
    seed: int, moments: int, chosen: Mapping[InteractionType, float]
) -> None:
    chance = np.random.default_rng(seed)
    snapshot = snapshot_of([{"id": each, "categories": {}} for each in IDS])
    rules = SourceSettings(interaction_weights={**DEFAULT_INTERACTION_WEIGHTS, **chosen})
    count = 60
    events = PeopleEvents(
        people=np.zeros(count, dtype=np.int64),
        rows=chance.integers(0, len(IDS), count),
        codes=chance.choice([kind.code for kind in InteractionType], count),
        moments=chance.integers(0, moments, count),
        versions=np.arange(count),
    )
    newest = np.lexsort((-events.versions, -events.moments))
    kinds = {kind.code: kind for kind in InteractionType}
    interactions = InteractionArrays.of(
        [
            StoredInteraction(
                user_id="u",
                type=kinds[int(events.codes[number])],
                piece_id=IDS[events.rows[number]],
                occurred_at=int(events.moments[number]),
                version=number,
            )
            for number in newest.tolist()
        ]
    )

    table = people_table(Strings.of(["u"]), events, snapshot.parts[0].segment, rules, 1)

    alone = user_features(interactions, snapshot, rules, 1).likes
    for one, other in zip(alone, table.figures(0, snapshot, rules).likes, strict=True):
        assert [each.tolist() for each in one] == [each.tolist() for each in other]
