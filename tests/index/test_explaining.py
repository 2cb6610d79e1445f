"""What terms and parts add, by numbers that can be checked by hand; docs/explanation/explanations.md has the same."""

import math

import numpy as np
import pytest

from answers import placed_taste
from penchant_engine.index import Snapshot
from penchant_engine.index.building import term_table
from penchant_engine.index.layout import NO_SHARES, BlendFactors, SparseShares
from penchant_engine.index.people.audience import LikeShare
from penchant_engine.index.people.explaining import (
    MAX_NAMED_TERMS,
    ScoreParts,
    TermShare,
    TermShares,
    blended_parts,
    disclosable,
    overlap_parts,
    similarity_shares,
)
from penchant_engine.index.people.personal import PersonBlend
from penchant_engine.index.people.popularity import Popularity
from penchant_engine.model import Algorithm, IndexedPiece, Term

WAR, LOVE, SEA = (Term("theme", keyword) for keyword in ("war", "love", "sea"))
BLENDING = BlendFactors(0.1, 0.8, 0.1, total=1.0)


Weights = dict[Term, int]


def snapshot_of(**pieces: Weights) -> Snapshot:
    """Return a snapshot of pieces in two segments, so that the first one's terms have other numbers in the second."""
    first, *others = (IndexedPiece(id=name, weights=weights) for name, weights in pieces.items())
    stored = Snapshot.empty().apply({first.id: first}, max_merged=0)
    return stored.apply({each.id: each for each in others}, max_merged=0)


def shared(
    first: Weights, second: Weights, algorithm: Algorithm, category_weights: dict[str, float]
) -> tuple[TermShare, ...]:
    """Return the shares of two pieces, which are the same from either of them."""
    snapshot = snapshot_of(a=first, b=second)
    found, back = (
        similarity_shares(snapshot.asked(own, algorithm, category_weights), snapshot, other)
        for own, other in ("ab", "ba")
    )
    assert found == back
    return found.named


def test_shares_of_cosine_are_products_over_norms() -> None:
    shares = shared({WAR: 80, LOVE: 60}, {WAR: 30, SEA: 40}, Algorithm.COSINE, {})

    assert shares == (TermShare(WAR, 80 * 30 / (100 * 50)),)


def test_shares_of_jaccard_are_category_weights_over_all() -> None:
    first = {Term("genre", "horror"): 1, Term("genre", "sf"): 1, Term("people", "Scott"): 1}
    second = {Term("genre", "noir"): 1, Term("genre", "sf"): 1, Term("people", "Scott"): 1}

    shares = shared(first, second, Algorithm.JACCARD, {"people": 3})

    assert shares == (TermShare(Term("people", "Scott"), 3 / 6), TermShare(Term("genre", "sf"), 1 / 6))


@pytest.mark.parametrize("algorithm", Algorithm)
def test_categories_of_weight_0_have_no_share(algorithm: Algorithm) -> None:
    assert shared({WAR: 2}, {WAR: 3}, algorithm, {"theme": 0}) == ()
    assert shared({}, {}, algorithm, {}) == ()


def parts_of(
    values: dict[Term, float],
    popularity: tuple[float, float],
    weights: Weights,
    audience: float = 0.0,
    likes: tuple[LikeShare, ...] = (),
) -> ScoreParts:
    """Return the parts of one of two pieces for a person, whose taste is as long as to be divided by 1."""
    snapshot = snapshot_of(a=weights, b=weights)
    length = math.sqrt(math.fsum(weights.values()))
    shares, lifted = ((np.asarray([part]), np.asarray([part])) for part in popularity)
    blend = PersonBlend(
        taste=placed_taste(snapshot, dict(sorted(values.items())), norm=1 / (1.5 * length)),
        popular=Popularity(shares=shares, floors=lifted, median=1.0),
        liked=(NO_SHARES, SparseShares.of(np.asarray([audience]))),
        factors=BLENDING,
        category_weights={},
    )
    return blended_parts(snapshot, blend, "b", owed=lambda _: likes)


def test_a_new_piece_is_credited_what_popularity_lacks() -> None:
    parts = parts_of({LOVE: -0.2, SEA: 0.9, WAR: 0.7}, (0.0, 0.36), {WAR: 1, LOVE: 1})

    assert parts.content == pytest.approx(0.05)
    assert (parts.audience, parts.popularity) == (0.0, 0.0)
    assert parts.new == pytest.approx(0.036)
    assert [(each.term, round(each.share, 9)) for each in parts.terms.named] == [(WAR, 0.07), (LOVE, -0.02)]


def test_an_audience_s_share_is_that_of_its_likes() -> None:
    likes = (LikeShare("a", 0.3, 9), LikeShare("b", -0.2, 2, "c"))

    parts = parts_of({WAR: -0.25}, (0.6, 0.6), {WAR: 4}, 0.1, likes)

    assert parts.audience == pytest.approx(0.08)
    assert [(like.id, round(like.share, 9), like.through) for like in parts.likes] == [
        ("a", 0.24, None),
        ("b", -0.16, "c"),
    ]
    assert parts.new == 0.0
    assert parts.content + parts.audience + parts.popularity + parts.new == pytest.approx(-0.05 + 0.08 + 0.06)


def test_pieces_that_fewer_than_three_people_liked_too_are_not_named() -> None:
    likes = (
        LikeShare("c", 0.1, 3),
        LikeShare("a", 0.3, 2),
        LikeShare("b", 0.1, 7),
        LikeShare("d", 0.2, 3, "x"),
        LikeShare("e", 0.0, 5),
        LikeShare("f", -0.1, 9),
    )

    assert [like.id for like in disclosable(likes)] == ["d", "b", "c", "f"]


def test_an_overlap_gives_each_shared_term_one_over_all() -> None:
    snapshot = snapshot_of(a={WAR: 5, SEA: 1}, b={})
    one_third = TermShares(named=(TermShare(WAR, 1 / 3),))

    assert overlap_parts(term_table([LOVE, WAR]), snapshot, "a") == ScoreParts(content=1 / 3, terms=one_third)
    assert overlap_parts(term_table([]), snapshot, "b") == ScoreParts(content=0.0, terms=TermShares())


def test_what_is_not_named_is_counted_and_summed_up() -> None:
    values = {Term("c", f"{number:04}"): (-1.0) ** number * (1 + number // 2) for number in range(MAX_NAMED_TERMS + 6)}

    terms = parts_of(values, (0.0, 0.0), dict.fromkeys(values, 1)).terms

    assert {each.term for each in terms.named} == set(list(values)[6:])
    assert [each.share for each in terms.named] == sorted((each.share for each in terms.named), reverse=True)
    assert terms.others == 6
    assert terms.rest == pytest.approx(0.0)
