"""What people look through in the index, against a look at every piece."""

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from answers import snapshot_of, stored
from penchant_engine.index import Snapshot
from penchant_engine.index.browsing import (
    CategoryCount,
    TermCount,
    TermPage,
    categories,
    count_terms,
    pieces_having,
    terms_beginning,
)
from penchant_engine.model import IndexedPiece, Term
from strategies import CATALOGUES, KEYWORDS, PIECE_IDS, PIECES

BEGINNINGS = st.frozensets(st.sampled_from(["", "a", "b", "ab", "é", "A"]), min_size=1, max_size=3)


def counted(pieces: list[IndexedPiece]) -> Counter[Term]:
    return Counter(term for piece in pieces for term in piece.weights)


@st.composite
def changed(draw: st.DrawFn) -> tuple[Snapshot, list[IndexedPiece]]:
    """Return a snapshot of several parts, some of whose pieces were replaced or deleted, and what it holds."""
    first = draw(CATALOGUES)
    snapshot = snapshot_of(first)
    held: dict[str, Any] = {piece["id"]: piece for piece in first}
    for piece in draw(st.lists(PIECES, max_size=4, unique_by=lambda piece: str(piece["id"]))):
        # Apart, as segments are that are too large to be merged.
        snapshot = snapshot.apply({piece["id"]: stored(piece)}, max_merged=0)
        held[piece["id"]] = piece
    gone = draw(PIECE_IDS)
    held.pop(gone, None)
    return snapshot.apply({gone: None}, max_merged=0), [stored(piece) for piece in held.values()]


@given(changed(), BEGINNINGS)
def test_terms_are_found_by_their_beginning_the_most_frequent_first(
    state: tuple[Snapshot, list[IndexedPiece]], beginnings: frozenset[str]
) -> None:
    snapshot, pieces = state

    found = terms_beginning(count_terms(snapshot), beginnings, limit=100).terms

    expected = [(t, n) for t, n in counted(pieces).items() if any(t.keyword.startswith(b) for b in beginnings)]
    assert found == [TermCount(*each) for each in sorted(expected, key=lambda each: (-each[1], each[0]))]


def test_of_many_terms_the_most_frequent_are_kept() -> None:
    pieces = [{"id": f"p{n}", "categories": {"c": [f"k{m}" for m in range(n)]}} for n in range(9)]

    found = terms_beginning(count_terms(snapshot_of(pieces)), frozenset({"k"}), limit=2).terms

    assert found == [TermCount(Term("c", "k0"), 8), TermCount(Term("c", "k1"), 7)]


@given(changed(), st.sampled_from(["genre", "tag", "deep/er"]), KEYWORDS, st.none() | PIECE_IDS, st.integers(1, 4))
def test_pieces_of_a_term_come_by_id_a_page_at_a_time(
    state: tuple[Snapshot, list[IndexedPiece]], category: str, keyword: str, after: str | None, limit: int
) -> None:
    snapshot, pieces = state
    term = Term(category, keyword)

    found = pieces_having(snapshot, term, after=after, limit=limit)

    having = sorted(piece.id for piece in pieces if term in piece.weights)
    assert found == [each for each in having if after is None or each > after][:limit]


def test_categories_are_told_with_their_keywords() -> None:
    snapshot = snapshot_of([{"id": "a", "categories": {"b": ["x", "y"], "a": {"z": ["x"]}}}])
    snapshot = snapshot.apply({"b": stored({"id": "b", "categories": {"b": ["x"]}})}, max_merged=0)

    assert categories(snapshot, count_terms(snapshot)) == [CategoryCount("a/z", 1, 1), CategoryCount("b", 2, 2)]
    assert categories(Snapshot.empty(), count_terms(Snapshot.empty())) == []


@given(changed(), st.none() | st.sampled_from(["genre", "tag", "deep/er"]), st.integers(0, 4), st.integers(1, 4))
def test_a_page_of_terms_is_cut_out_of_all_of_them(
    state: tuple[Snapshot, list[IndexedPiece]], category: str | None, skip: int, limit: int
) -> None:
    snapshot, pieces = state

    found = terms_beginning(count_terms(snapshot), frozenset({""}), category=category, skip=skip, limit=limit)

    expected = [(t, n) for t, n in counted(pieces).items() if category in {None, t.category}]
    ordered = [TermCount(*each) for each in sorted(expected, key=lambda each: (-each[1], each[0]))]
    assert found == TermPage(ordered[skip : skip + limit], len(ordered))


@given(changed())
def test_categories_are_counted_by_keyword_and_by_piece(state: tuple[Snapshot, list[IndexedPiece]]) -> None:
    snapshot, pieces = state

    found = categories(snapshot, count_terms(snapshot))

    keywords = Counter(term.category for term in counted(pieces))
    having = Counter(name for piece in pieces for name in {term.category for term in piece.weights})
    assert found == [CategoryCount(name, keywords[name], having[name]) for name in sorted(keywords)]
