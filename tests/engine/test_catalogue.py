"""The catalogue of the library: pieces and frames in, exact neighbours out, and errors that say what is wrong."""

import math
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penchant_engine
from penchant_engine import Catalogue, Condition, Field, InvalidInput, Keywords, TooFewPieces, UnknownPiece

FILMS = {
    "id": ["alien", "gravity", "moon", "heat"],
    "genre": [["horror", "space"], ["drama", "space"], ["space"], ["crime"]],
    "mood": [None, "dark", "dark", ""],
    "year": [1979, 2013, 2009, 1995],
}
FRAMES: dict[str, Callable[[Any], Any]] = {
    "columns": dict,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.fixture
def films() -> Catalogue:
    return Catalogue.from_frame(FILMS, categories=["genre", "mood"], attributes={"year": "integer"})


@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_frame_gives_the_same_catalogue(films: Catalogue, kind: str) -> None:
    made = Catalogue.from_frame(FRAMES[kind](FILMS), categories=["genre", "mood"], attributes={"year": "integer"})

    assert made.ids == films.ids == ["alien", "gravity", "heat", "moon"]
    assert [made.categories(each) for each in made.ids] == [films.categories(each) for each in films.ids]
    assert made.categories("heat") == {"genre": {"crime": 1}}
    assert made.similar("moon", filter=Field("year") > 2009) == films.similar("moon", filter=Field("year") > 2009)


def test_the_nearest_come_first_with_their_distance(films: Catalogue) -> None:
    found = films.similar("moon", explain=True)

    # Of {space, dark} with {space, dark, drama} two in three are shared, with {horror, space} one in three.
    assert [(each.id, round(each.score, 9)) for each in found] == [("gravity", 0.333333333), ("alien", 0.666666667)]
    why = found[0].why
    assert why is not None
    assert why.terms is not None
    assert sorted(each.keyword for each in why.terms) == ["dark", "space"]
    assert math.isclose(sum(each.share for each in why.terms), 1 - found[0].score, abs_tol=1e-9)


def test_weights_make_it_a_cosine() -> None:
    pieces = [
        {"id": name, "categories": {"tag": weights}} for name, weights in (("a", {"x": 3, "y": 4}), ("b", {"x": 1}))
    ]

    (found,) = Catalogue(pieces).similar("a")

    assert math.isclose(found.score, 1 - 3 / 5, abs_tol=1e-9)
    assert Catalogue(pieces).similar("a", algorithm="jaccard")[0].score != found.score


def test_a_piece_that_is_not_stored_is_asked_about(films: Catalogue) -> None:
    found = films.similar({"categories": {"genre": ["space"], "mood": ["dark"]}})

    assert (found[0].id, found[0].score) == ("moon", 0.0)
    assert found[1:] == films.similar("moon")


def test_options_filter_raise_and_leave_out(films: Catalogue) -> None:
    assert films.similar("moon", exclude=["gravity"]).ids == ["alien"]
    assert films.similar("moon", filter=~Field("year").any_of(2013) & Field("year").exists()).ids == ["alien"]
    assert films.similar("moon", boosts=[(Field("year") < 1980, 3)]).ids == ["alien", "gravity"]
    assert films.weighted({"mood": 0}).similar("moon").ids == ["alien", "gravity"]
    assert films.similar("moon", 1).ids == ["gravity"]


@pytest.mark.parametrize(
    ("condition", "expected"),
    (
        (Keywords("genre").any_of("drama", "horror"), ["gravity", "alien"]),
        (Keywords("genre").all_of("drama", "horror"), []),
        (Keywords("genre").all_of("drama", "space"), ["gravity"]),
        (~Keywords("genre").any_of("drama") & Keywords("genre").exists(), ["alien"]),
        (Keywords("people").exists(), []),
    ),
)
def test_keywords_are_conditions(films: Catalogue, condition: Condition, expected: list[str]) -> None:
    assert films.similar("moon", filter=condition).ids == expected


def test_windows_go_by_a_moment() -> None:
    pieces: list[dict[str, Any]] = [{"id": name, "categories": {"g": ["x"]}} for name in "abc"]
    pieces[1]["available_until"] = "2026-01-02"
    pieces[2]["available_from"] = datetime(2026, 1, 2, tzinfo=UTC)
    catalogue = Catalogue(pieces)

    assert catalogue.similar("a", at="2026-01-01T12:00:00Z").ids == ["b"]
    assert catalogue.similar("a", at="2026-01-02").ids == ["c"]
    # By default it is when the last one came.
    assert catalogue.similar("a").ids == ["c"]


def test_changes_give_another_catalogue(films: Catalogue) -> None:
    more = films.changed([{"id": "dune", "categories": {"genre": ["space"], "mood": ["dark"]}}], removed=["gravity"])

    assert more.similar("moon").ids == ["dune", "alien"]
    assert films.similar("moon").ids == ["gravity", "alien"]
    assert (len(more), len(films), "dune" in more, "dune" in films) == (4, 4, True, False)


def test_where_a_piece_stands_and_what_keeps_it_out(films: Catalogue) -> None:
    assert films.standing("moon", "alien").rank == 2
    (obstacle,) = films.standing("moon", "heat").obstacles
    assert (obstacle.code, films.standing("moon", "heat").rank) == ("nothing-in-common", None)
    assert [each.code for each in films.standing("moon", "gravity", exclude=["gravity"]).obstacles] == ["excluded"]
    with pytest.raises(UnknownPiece):
        films.standing("moon", "none")


def test_lists_become_frames_of_the_library_they_came_from() -> None:
    made = Catalogue.from_frame(pl.DataFrame(FILMS), categories=["genre"]).similar_frame(["moon"], 2)

    assert isinstance(made, pl.DataFrame)
    assert made.columns == ["piece", "rank", "neighbour", "distance"]
    assert made["neighbour"].to_list() == ["alien", "gravity"]
    assert Catalogue.from_frame(FILMS, categories=["genre"]).similar("moon").to_frame("pyarrow").num_rows == 2


def test_a_matrix_goes_in_and_comes_out() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_array(np.asarray([[3, 4, 0], [1, 0, 0], [0, 0, 7]]))

    catalogue = Catalogue.from_matrix(matrix, ["a", "b", "c"], ["x", "y", "z"])

    assert catalogue.categories("a") == {"keywords": {"x": 3, "y": 4}}
    out, ids, terms = catalogue.to_matrix()
    assert (ids, [each.keyword for each in terms]) == (["a", "b", "c"], ["x", "y", "z"])
    assert (out.toarray() == matrix.toarray()).all()
    with pytest.raises(InvalidInput, match="whole numbers from 1"):
        Catalogue.from_matrix(matrix * 0.5, ["a", "b", "c"])
    again = Catalogue.from_matrix(out, ids, terms, category="other")
    assert [again.categories(each) for each in ids] == [catalogue.categories(each) for each in ids]


def test_of_a_matrix_what_is_stored_as_zero_is_no_keyword() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_array((np.asarray([0, 1, 2]), np.asarray([0, 1, 1]), np.asarray([0, 2, 3])))

    catalogue = Catalogue.from_matrix(matrix, ["a", "b"], ["x", "y"])

    assert [catalogue.categories(each) for each in "ab"] == [{"keywords": {"y": 1}}, {"keywords": {"y": 2}}]
    assert matrix.nnz == 3


@pytest.mark.parametrize(
    ("make", "message"),
    (
        (lambda: Catalogue([{"id": 3}]), "needs an id, a text"),
        (lambda: Catalogue([{"id": "a", "genres": []}]), "has no 'genres'"),
        (lambda: Catalogue([{"id": "a"}]).similar_frame("a"), "pieces is 'a': a list"),
        (lambda: Catalogue([{"id": "a", "categories": {"g": {"x": 0}}}]), "is not from 1 to 10000"),
        (lambda: Catalogue([{"id": "a", "attributes": {"year": 1}}]), "no attribute 'year'"),
        (lambda: Catalogue(attributes={"year": "date"}), "no type 'date'"),
        (lambda: Catalogue(category_weights={"g": 101}), "0 to 100"),
        (lambda: Catalogue.from_frame(FILMS, categories=["genres"]), "no column 'genres'; it has 'id', 'genre'"),
        (lambda: Catalogue.from_frame([FILMS], categories=["genre"]), r"found builtins\.list"),
        (lambda: Catalogue.from_frame({"id": [2.0**53], "genre": ["x"]}, categories=["genre"]), f"from {2**53} on"),
        (
            lambda: Catalogue.from_frame({"id": np.asarray([2**24], np.float32), "genre": ["x"]}, categories=["genre"]),
            f"lose digits from {2**24} on; write texts",
        ),
        (lambda: Catalogue.from_frame({"id": [None], "g": ["x"]}, categories=["g"]), "Row 0 has no id in 'id'"),
        (
            lambda: Catalogue.from_frame({"id": [1.5], "g": ["x"]}, categories=["g"]),
            "neither a text nor a whole number",
        ),
    ),
)
def test_what_is_not_acceptable_is_told_in_words(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()


@pytest.mark.parametrize(
    ("options", "message"),
    (
        ({"k": 0}, "k is 0"),
        ({"algorithm": "bm25"}, "no algorithm 'bm25'"),
        ({"filter": Field("size") > 1}, "no attribute 'size'"),
        ({"filter": Field("year") > "x"}, "is no value of 'year'"),
        ({"filter": Field("year").any_of(float("nan"))}, "is no value of 'year'"),
        ({"filter": Field("year") > 10**400}, "is no value of 'year'"),
        ({"algorithm": ["cosine"]}, "jaccard, cosine are accepted"),
        ({"boosts": [(Field("year") > 1, 0.001)]}, "from 0.01 to 100"),
        ({"boosts": [(Field("year") > 1, 1.001)]}, "two decimals"),
        ({"boosts": (Field("year") > 1, 2)}, "a list of pairs"),
        ({"filters": Field("year") > 1}, "no option .filters.: algorithm"),
        ({"filter": Field("year")}, "is no condition"),
        ({"filter": Keywords("genre")}, "is no condition"),
        ({"filter": True}, "is no condition"),
        ({"exclude": "moon"}, "a list of ids"),
        ({"k": 2.0}, "a whole number"),
        ({"diversity": "x"}, "a number from 0 to 1"),
        ({"diversity": 2}, "from 0 to 1"),
        ({"at": "soon"}, "is no moment"),
    ),
)
def test_options_that_are_not_acceptable_are_told(films: Catalogue, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        films.similar("moon", **options)


def test_a_list_needs_a_piece_and_another_one(films: Catalogue) -> None:
    with pytest.raises(UnknownPiece):
        films.similar("none")
    with pytest.raises(TooFewPieces):
        Catalogue([{"id": "a"}]).similar("a")
    assert Catalogue().ids == []


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=4, unique=True), min_size=2, max_size=40))
def test_neighbours_are_those_of_a_full_comparison(keywords: list[list[str]]) -> None:
    pieces = [{"id": f"{number:02}", "categories": {"g": own}} for number, own in enumerate(keywords)]
    first = set(keywords[0])
    distances = {
        piece["id"]: 1 - len(first & set(own)) / len(first | set(own))
        for piece, own in zip(pieces[1:], keywords[1:], strict=True)
        if first & set(own)
    }

    found = Catalogue(pieces).similar("00", 50)

    assert found.ids == sorted(distances, key=lambda each: (round(distances[each], 12), each))
    assert all(math.isclose(each.score, distances[each.id], abs_tol=1e-9) for each in found)


def test_without_a_folder_that_can_be_written_it_works() -> None:
    pieces = [{"id": each, "categories": {"g": ["x"]}} for each in "ab"]
    program = f"from penchant_engine import Catalogue; print(Catalogue({pieces}).similar('a').ids)"
    environment = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}
    environment["HOME"] = "/dev/null"

    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)

    assert (ran.stdout, ran.stderr) == ("['b']\n", "")


def test_all_that_the_library_names_is_there() -> None:
    for name in penchant_engine.__all__:
        assert getattr(penchant_engine, name).__module__.startswith("penchant_engine.")
    assert dir(penchant_engine) == sorted(penchant_engine.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Recommenders'"):
        penchant_engine.Recommenders  # noqa: B018


@pytest.mark.parametrize(
    "join",
    (
        lambda year: (year >= 2000) and (year < 1960),
        lambda year: 2000 < year < 2020,
        lambda year: not year.exists(),
    ),
)
def test_conditions_are_joined_by_what_keeps_both(join: Callable[[Field], Any]) -> None:
    with pytest.raises(InvalidInput, match="joined by & and"):
        join(Field("year"))


def test_equality_is_a_condition_and_numbers_may_be_of_numpy(films: Catalogue) -> None:
    assert films.similar("moon", filter=Field("year") == 2013).ids == ["gravity"]
    assert films.similar("moon", filter=Field("year") != np.int64(2013)).ids == ["alien"]


def test_cells_hold_what_frames_make_of_keywords() -> None:
    cells = [
        {"x": 3, "y": None},  # as a column of structs has it
        ["x", math.nan, None, 1995.0],
        [{"key": "x", "weight": 3}, {"key": "y"}],
        np.asarray(["x", "y"], dtype=object),
        1995.0,
    ]

    made = Catalogue.from_frame({"id": [0, 1, 2, 3, 4], "g": cells}, categories=["g"])

    assert [made.categories(each)["g"] for each in made.ids] == [
        {"x": 3},
        {"1995": 1, "x": 1},
        {"x": 3, "y": 3},
        {"x": 1, "y": 1},
        {"1995": 1},
    ]
    assert made.similar(0).ids == made.similar("0").ids


@pytest.mark.parametrize(
    ("cell", "message"),
    (
        ([["x"]], "is no keyword"),
        ({"x": 1.5}, "no whole number: scale and round"),
        ({"x": "3"}, "no whole number"),
        ({"x": float("inf")}, "no whole number"),
        ([{"x": 1}], "is no keyword"),
    ),
)
def test_cells_that_hold_something_else_are_refused(cell: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Catalogue.from_frame({"id": ["a"], "g": [cell]}, categories=["g"])


@pytest.mark.parametrize("moment", (1_577_836_800, 1_577_836_800_000, 1_577_836_800_000_000, 1_577_836_800_000_000_000))
def test_numbers_are_moments_in_whatever_unit_they_are(moment: int) -> None:
    columns = {"person": ["kim"], "piece": ["moon"], "when": np.asarray([moment])}

    assert penchant_engine.Interactions.from_frame(columns, time="when").latest == 1_577_836_800_000
    assert penchant_engine.Interactions.from_frame({**columns, "when": [float(moment)]}, time="when").latest == (
        1_577_836_800_000
    )


def test_a_list_is_no_longer_than_there_are_pieces(films: Catalogue) -> None:
    assert films.similar("moon", 10**30) == films.similar("moon", 4)


@pytest.mark.parametrize("pieces", (FILMS, pd.DataFrame(FILMS), "moon", [3]))
def test_frames_are_no_pieces(pieces: Any) -> None:
    with pytest.raises(InvalidInput, match=r"from_frame|is no piece"):
        Catalogue(pieces)
