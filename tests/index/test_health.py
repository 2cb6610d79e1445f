"""What keeps pieces apart, against a look at every pair."""

from typing import Any

import pytest
from hypothesis import given

from answers import snapshot_of
from index.test_browsing import changed, counted
from penchant.findings import FlatCategory, Reach, normal_form, variants, vocabulary
from penchant_engine.index import Filter, Snapshot
from penchant_engine.index.browsing import TermCount
from penchant_engine.model import MAX_TAKE, IndexedPiece, Term

EVERYTHING = Filter(moment=1)


def weights(piece_id: str, **categories: dict[str, int] | list[str]) -> dict[str, Any]:
    return {
        "id": piece_id,
        "categories": {
            name: words if isinstance(words, list) else [{"key": k, "weight": w} for k, w in words.items()]
            for name, words in categories.items()
        },
    }


@given(changed())
def test_keywords_used_once_and_lonely_pieces_are_found(state: tuple[Snapshot, list[IndexedPiece]]) -> None:
    snapshot, pieces = state
    counts = counted(pieces)

    found = vocabulary(snapshot)

    assert found.complete
    assert found.terms == len(counts)
    assert list(found.once) == sorted(term for term, count in counts.items() if count == 1)
    lonely = sorted(piece.id for piece in pieces if all(counts[term] == 1 for term in piece.weights))
    assert (list(found.lonely), found.lonely_count) == (lonely, len(lonely))


@pytest.mark.parametrize(
    ("one", "other"),
    (
        ("Robot", "robots"),
        ("story", "Stories"),
        ("sci-fi", "Sci Fi"),
        ("Café", "cafe"),
        ("women\u2019s lives", "womens lives"),
        ("ß", "SS"),
    ),
)
def test_ways_to_write_a_keyword_have_a_form_in_common(one: str, other: str) -> None:
    assert normal_form(one) == normal_form(other)


@pytest.mark.parametrize(("one", "other"), (("glass", "glas"), ("gas", "ga"), ("-", "."), ("ties", "ty")))
def test_different_keywords_stay_different(one: str, other: str) -> None:
    assert normal_form(one) != normal_form(other)


def test_keywords_that_are_written_alike_are_grouped_by_category() -> None:
    snapshot = snapshot_of(
        [weights("a", c=["robot", "x"], d=["robots"]), weights("b", c=["Robots", "x"]), weights("c", c=["Robots"])]
    )

    found = vocabulary(snapshot)

    assert found.alike == [[TermCount(Term("c", "Robots"), 2), TermCount(Term("c", "robot"), 1)]]
    assert found.alike_count == 1


def test_all_variants_are_listed_and_words_of_texts_are_none() -> None:
    names = [f"k{number}x" for number in range(60)]
    capitals = weights("b", c=[name.upper() for name in names], words=["sharks"])

    found = variants(snapshot_of([weights("a", c=names, words=["shark"]), capitals]))

    assert [[each.term.keyword for each in group] for group in found.groups] == sorted([n.upper(), n] for n in names)
    assert (found.complete, found.useless) == (True, [])


def test_keywords_that_say_nothing_are_those_of_all_pieces_and_those_without_a_letter() -> None:
    pieces = [weights(f"p{n}", c=["all", "ALL"] if n else ["all", "-", "?!"], d=["most"] * (n > 0)) for n in range(10)]

    found = variants(snapshot_of(pieces))

    assert [(each.term.keyword, each.pieces) for each in found.useless] == [("all", 10), ("-", 1), ("?!", 1)]
    assert found.groups == []
    assert variants(snapshot_of(pieces[1:])).groups != []


def test_categories_with_one_weight_are_found_where_there_are_weights() -> None:
    snapshot = snapshot_of(
        [
            weights("a", flat={"x": 5, "y": 5}, steep={"x": 1, "y": 2}),
            weights("b", flat={"z": 5}, single={"x": 3}),
            weights("c", plain=["x", "y"]),
        ]
    )
    split = snapshot_of([weights("a", c={"x": 5})]).apply(
        {piece.id: piece for piece in [stored_piece(weights("b", c={"x": 5}))]}, max_merged=0
    )

    assert vocabulary(snapshot).flat == [FlatCategory(name="flat", weight=5, pairs=3)]
    assert vocabulary(split).flat == [FlatCategory(name="c", weight=5, pairs=2)]


def stored_piece(piece: dict[str, Any]) -> IndexedPiece:
    return IndexedPiece(
        id=piece["id"],
        weights={
            Term(category, word["key"]): word["weight"]
            for category, words in piece["categories"].items()
            for word in words
        },
        weighted=True,
    )


@given(changed())
def test_pieces_in_no_list_are_those_that_none_has(state: tuple[Snapshot, list[IndexedPiece]]) -> None:
    snapshot, pieces = state
    shown = Filter(moment=1, blacklisted=frozenset({"p1"}))
    reach = Reach(snapshot=snapshot, shown=shown, category_weights={}, most=1000)

    while reach.look(2):
        pass

    listed = {
        each.id
        for piece in pieces
        for each in snapshot.nearest(piece.id, shown, algorithm=None, category_weights={}, take=MAX_TAKE)
    }
    expected = sorted({piece.id for piece in pieces} - listed - {"p1"})
    assert reach.looked_at == len(pieces)
    assert reach.unreached() == expected


def test_lists_are_taken_evenly_where_not_all_are_looked_at() -> None:
    snapshot = snapshot_of([weights(f"p{number:03}", c=[f"k{number // 2}"]) for number in range(100)])
    reach = Reach(snapshot=snapshot, shown=EVERYTHING, category_weights={}, most=10)

    while reach.look(3):
        pass

    assert reach.looked_at == 10
    assert reach.reached == {f"p{number:03}" for number in range(1, 100, 10)}
