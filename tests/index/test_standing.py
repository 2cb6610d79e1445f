"""Where a piece stands that no list shows, however its source lies in segments."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import TERMS, placed_taste, snapshot_of, stored
from penchant_engine.index import Filter, Snapshot
from penchant_engine.index.boosting import PiecePosition, availability_of, count_ahead, key_of
from penchant_engine.index.layout import BlendFactors, SparseShares
from penchant_engine.index.masks import CandidatePieces
from penchant_engine.index.part import MAX_TASTES
from penchant_engine.index.people.explaining import blended_parts
from penchant_engine.index.people.person import UserProfile
from penchant_engine.index.people.personal import BlendQuery, PersonBlend
from penchant_engine.index.people.popularity import Popularity
from penchant_engine.index.queries import best_of
from penchant_engine.index.similarity import SimilarityQuery
from penchant_engine.model import Algorithm
from strategies import CATALOGUES, CATEGORY_WEIGHTS, PIECES

SHOWN = Filter(moment=1, blacklisted=frozenset({"p3", "p5"}))
ALGORITHMS = st.sampled_from([None, *Algorithm])


def scattered(pieces: list[dict[str, Any]]) -> Snapshot:
    """Return a snapshot of which every piece is a segment of its own."""
    snapshot = Snapshot.empty()
    for piece in pieces:
        snapshot = snapshot.apply({piece["id"]: stored(piece)}, max_merged=0)
    return snapshot


@given(CATALOGUES, ALGORITHMS, CATEGORY_WEIGHTS)
def test_as_many_are_ahead_as_come_before_in_the_list(
    pieces: list[dict[str, Any]], algorithm: Algorithm | None, weights: dict[str, float]
) -> None:
    snapshot = scattered(pieces)
    asked = snapshot.asked(pieces[0]["id"], algorithm, weights)
    others = Filter(moment=1, blacklisted=SHOWN.blacklisted, omitted=frozenset({pieces[0]["id"]}))

    for place, (key, piece_id) in enumerate(snapshot.nearest_to(asked, SHOWN, 30)):
        assert key == key_of(snapshot, piece_id, asked.scan)
        assert count_ahead(snapshot, [PiecePosition(others, key, piece_id)], asked) == place


@given(CATALOGUES, CATEGORY_WEIGHTS)
def test_as_many_suit_better_as_come_before_in_the_list(
    pieces: list[dict[str, Any]], weights: dict[str, float]
) -> None:
    snapshot = scattered(pieces)
    taste = placed_taste(snapshot, {term: place - 9.5 for place, term in enumerate(TERMS)}, norm=7.0)
    factors = BlendFactors(2.0, 1.0, 1.0, total=4.0)
    arrays = tuple(part.segment.roots / 9 for part in snapshot.parts)
    popular = Popularity(shares=arrays, floors=tuple(np.full_like(share, 0.6) for share in arrays), median=0.5)
    alike = tuple(map(SparseShares.of, arrays))
    blend = PersonBlend(taste=taste, popular=popular, liked=alike, factors=factors, category_weights=weights)
    query = BlendQuery(snapshot, blend, fill=True)

    for place, (key, piece_id) in enumerate(best_of(snapshot.parts, query, SHOWN, 30)):
        assert key_of(snapshot, piece_id, query.scan) == key
        assert count_ahead(snapshot, [PiecePosition(SHOWN, key, piece_id)], query) == place
        parts = blended_parts(snapshot, blend, piece_id, owed=lambda _: ())
        total = parts.content + parts.audience + parts.popularity + parts.new
        assert total == pytest.approx(-key / 10**9, abs=1e-9)


def test_a_part_keeps_the_dot_products_of_the_tastes_that_were_used_last() -> None:
    (part,) = scattered([{"id": "p1", "categories": {}}]).parts
    before = part.nbytes
    for taste in (1, 2, 3, 1, 4, 5):
        dots = part.dots_of(taste)
        assert dots is not None
        dots.are_known = True
        part.keep_dots(taste, dots)

    known = [taste for taste in range(6) if (dots := part.dots_of(taste)) is not None and dots.are_known]

    assert known == [1, 3, 4, 5]
    assert part.nbytes == before + MAX_TASTES * 8


@pytest.mark.slow
@given(CATALOGUES, CATEGORY_WEIGHTS)
def test_all_lists_of_a_person_are_what_each_is_alone(
    kernels: object, pieces: list[dict[str, Any]], weights: dict[str, float]
) -> None:
    assert kernels
    snapshot = scattered(pieces)
    taste = placed_taste(snapshot, {term: place - 9.5 for place, term in enumerate(TERMS)}, norm=7.0)
    arrays = tuple(part.segment.roots / 9 for part in snapshot.parts)
    blend = PersonBlend(
        taste=taste,
        popular=Popularity(shares=arrays, floors=arrays, median=0.5),
        liked=tuple(map(SparseShares.of, arrays)),
        factors=BlendFactors(2.0, 1.0, 1.0, total=4.0),
        category_weights=weights,
    )
    having = [Filter(moment=1, having=term) for term in TERMS[:3]]

    for shown in (SHOWN, *having, Filter(moment=1, among=CandidatePieces(["p1", "p4", "p2"])), SHOWN):
        alone = snapshot.isolate()
        found = best_of(snapshot.parts, BlendQuery(snapshot, blend, fill=True), shown, 30)
        assert found == best_of(alone.parts, BlendQuery(alone, blend, fill=True), shown, 30)


@pytest.mark.slow
@given(CATALOGUES, PIECES, ALGORITHMS, CATEGORY_WEIGHTS)
def test_a_draft_is_as_near_as_it_is_once_stored(
    pieces: list[dict[str, Any]], draft: dict[str, Any], algorithm: Algorithm | None, weights: dict[str, float]
) -> None:
    before = scattered([piece for piece in pieces if piece["id"] != draft["id"]])
    after = before.apply({draft["id"]: stored(draft)}, max_merged=0)

    asked = SimilarityQuery.of_unstored(stored(draft), algorithm, weights)

    assert before.nearest_to(asked, SHOWN, 30) == after.nearest_to(
        after.asked(draft["id"], algorithm, weights), SHOWN, 30
    )


@given(CATALOGUES, CATEGORY_WEIGHTS)
def test_a_snapshot_apart_answers_alike(pieces: list[dict[str, Any]], weights: dict[str, float]) -> None:
    snapshot = scattered(pieces).apply({pieces[0]["id"]: None}, max_merged=0)
    apart = snapshot.isolate()

    for piece in pieces[1:]:
        asked, again = (each.asked(piece["id"], None, weights) for each in (snapshot, apart))
        assert apart.nearest_to(again, SHOWN, 30) == snapshot.nearest_to(asked, SHOWN, 30)
    assert apart.document_frequencies(TERMS).tolist() == snapshot.document_frequencies(TERMS).tolist()


def test_what_is_not_there_stands_nowhere() -> None:
    snapshot = snapshot_of([{"id": "a", "categories": {}}])
    asked = snapshot.asked("a", None, {})
    blend = PersonBlend(
        taste=UserProfile(by_part=(), norm=0.0),
        popular=Popularity.without_credits(()),
        liked=(),
        factors=BlendFactors(1.0, 0.0, 0.0, total=1.0),
        category_weights={},
    )

    assert availability_of(snapshot, "no") is None
    assert key_of(snapshot, "no", asked.scan) is None
    with pytest.raises(KeyError):
        blended_parts(snapshot, blend, "no", owed=lambda _: ())
