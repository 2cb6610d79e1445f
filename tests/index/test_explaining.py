"""What terms and parts add, by numbers that can be checked by hand; docs/explanations.md has the same."""

import pytest

from penchant.index import (
    AudienceShares,
    BlendFactors,
    LikeShare,
    ScoreParts,
    TermShare,
    overlap_parts,
    similarity_shares,
    tellable,
)
from penchant.index.explaining import mixed
from penchant.model import Algorithm, Term

WAR, LOVE, SEA = (Term("theme", keyword) for keyword in ("war", "love", "sea"))
BLENDING = BlendFactors(0.1, 0.8, 0.1, total=1.0)


def test_shares_of_cosine_are_products_over_norms() -> None:
    shares = similarity_shares({WAR: 80, LOVE: 60}, {WAR: 30, SEA: 40}, Algorithm.COSINE, {})

    assert shares == (TermShare(WAR, 80 * 30 / (100 * 50)),)


def test_shares_of_jaccard_are_category_weights_over_all() -> None:
    first = {Term("genre", "horror"): 1, Term("genre", "sf"): 1, Term("people", "Scott"): 1}
    second = {Term("genre", "noir"): 1, Term("genre", "sf"): 1, Term("people", "Scott"): 1}

    shares = similarity_shares(first, second, Algorithm.JACCARD, {"people": 3})

    assert shares == (TermShare(Term("people", "Scott"), 3 / 6), TermShare(Term("genre", "sf"), 1 / 6))


@pytest.mark.parametrize("algorithm", Algorithm)
def test_categories_of_weight_0_have_no_share(algorithm: Algorithm) -> None:
    assert similarity_shares({WAR: 2}, {WAR: 3}, algorithm, {"theme": 0}) == ()
    assert similarity_shares({}, {}, algorithm, {}) == ()


def test_a_new_piece_is_credited_what_popularity_lacks() -> None:
    parts = mixed({WAR: 0.7, LOVE: -0.2}, AudienceShares(), (0.0, 0.36), BLENDING)

    assert parts.content == pytest.approx(0.05)
    assert (parts.audience, parts.popularity) == (0.0, 0.0)
    assert parts.new == pytest.approx(0.036)
    assert [(each.term, round(each.share, 9)) for each in parts.terms] == [(WAR, 0.07), (LOVE, -0.02)]


def test_an_audience_s_share_is_that_of_its_likes() -> None:
    liked = AudienceShares(value=0.1, likes=(LikeShare("a", 0.3, 9), LikeShare("b", -0.2, 2, "c")))

    parts = mixed({WAR: -0.5}, liked, (0.6, 0.6), BLENDING)

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

    assert [like.id for like in tellable(likes)] == ["d", "b", "c", "f"]


def test_an_overlap_gives_each_shared_term_one_over_all() -> None:
    assert overlap_parts([WAR, LOVE], {WAR: 5, SEA: 1}) == ScoreParts(content=1 / 3, terms=(TermShare(WAR, 1 / 3),))
    assert overlap_parts([], {}) == ScoreParts(content=0.0, terms=())
