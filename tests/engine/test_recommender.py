"""The recommender of the library: learned from interactions, asked, explained, changed, saved and loaded."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from penchant_engine import Blend, Catalogue, Field, Interactions, InvalidInput, Preferences, Recommender, UnknownPiece
from penchant_engine.interactions import DEFAULT_KIND
from penchant_engine.recommender import LEAST_TOGETHER

GENRES = ("crime", "drama", "space", "war")
CATALOGUE = Catalogue(
    [
        {"id": f"{genre}{number}", "categories": {"genre": [genre]}, "attributes": {"year": 1990 + number}}
        for genre in GENRES
        for number in range(8)
    ],
    attributes={"year": "integer"},
)
DONE = {
    "person": [f"{genre}-{fan}" for genre in GENRES for fan in range(6) for _ in range(4)],
    "piece": [f"{genre}{(fan + step) % 8}" for genre in GENRES for fan in range(6) for step in range(4)],
    "when": [f"2026-03-0{1 + step}T00:00:00Z" for _ in GENRES for fan in range(6) for step in range(4)],
}


def fitted(**settings: Any) -> Recommender:
    return Recommender(**settings).fit(CATALOGUE, Interactions.from_frame(DONE, time="when"))


@pytest.fixture(scope="module")
def model() -> Recommender:
    return fitted()


def test_people_are_shown_what_suits_them_and_not_what_they_know(model: Recommender) -> None:
    for genre in GENRES:
        found = model.recommend(f"{genre}-0", 4)

        assert {each.id.rstrip("0123456789") for each in found} == {genre}
        assert not {each.id for each in found} & {f"{genre}{number}" for number in range(4)}
        assert [each.score for each in found] == sorted(each.score for each in found)
    assert len(model.people) == 24


def test_reasons_add_up_to_the_score(model: Recommender) -> None:
    for each in model.recommend("war-2", 5, explain=True):
        assert each.why is not None
        assert each.why.parts is not None
        assert sum(part.share for part in each.why.parts) == pytest.approx(1 - each.score, abs=1e-6)


def test_strangers_get_what_many_like_and_tastes_can_be_told(model: Recommender) -> None:
    assert model.recommend(None, 3).ids == model.recommend("nobody", 3).ids
    assert {each.rstrip("0123456789") for each in model.recommend_for(liked=["war1"], k=3).ids} == {"war"}
    assert not {each.rstrip("0123456789") for each in model.recommend_for(["war1"], ["space1"], 30).ids[:5]} & {"space"}


def test_lists_are_filtered_ranked_and_varied(model: Recommender) -> None:
    assert sorted(model.recommend("war-0", 2, filter=Field("year") >= 1996).ids) == ["war6", "war7"]
    assert "war0" in model.recommend("war-0", 8, include_seen=True).ids
    assert model.rank("war-0", ["space1", "war7", "war0", "none"]).ids == ["war7", "space1"]
    assert len({each[:3] for each in model.recommend("war-0", 6, diversity=1).ids}) > 1
    assert len(model.recommend("war-0", 100).ids) == len(CATALOGUE) - 4


def test_a_profile_is_a_taste_in_words(model: Recommender) -> None:
    assert model.profile("war-0") == {"genre": {"war": 1000}}
    assert model.profile("nobody") == {}


def test_where_a_piece_stands_and_why_not(model: Recommender) -> None:
    first = model.recommend("war-0", 1)[0]

    assert (model.standing("war-0", first.id).rank, model.standing("war-0", first.id).score) == (1, first.score)
    assert [each.code for each in model.standing("war-0", "war0").obstacles] == ["seen"]
    with pytest.raises(UnknownPiece):
        model.standing("war-0", "none")


def test_another_setting_is_tried_beside_the_one_in_force(model: Recommender) -> None:
    before = model.recommend("war-0", 5)

    by_content = model.under(blend={"content": 1})
    relearned = model.under(interaction_weights={DEFAULT_KIND: 0})

    assert by_content.settings.blend == Blend(content=1, audience=0, popularity=0)
    assert all(part.share == 0 for part in by_content.recommend("war-0", 1, explain=True)[0].why.parts[1:])  # type: ignore[union-attr, index]
    assert relearned.profile("war-0") == {}
    assert model.recommend("war-0", 5) == before


def test_what_people_have_said_counts(model: Recommender) -> None:
    said = {"war-0": Preferences(hidden=("war4",))}

    told = Recommender().fit(CATALOGUE, Interactions.from_frame(DONE, time="when"), preferences=said)

    assert "war4" in model.recommend("war-0", 30).ids
    assert "war4" not in told.recommend("war-0", 30).ids


def test_what_was_learned_is_saved_and_read_again(model: Recommender, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    again = Recommender.load(tmp_path / "model")

    assert again.recommend("war-0", 30, explain=True) == model.recommend("war-0", 30, explain=True)
    assert again.recommend("war-0", 3, filter=Field("year") >= 1995) == model.recommend(
        "war-0", 3, filter=Field("year") >= 1995
    )
    assert (again.profile("war-1"), again.popular(5), again.people) == (
        model.profile("war-1"),
        model.popular(5),
        model.people,
    )
    assert again.under(half_life_days=10).people == model.people
    (tmp_path / "model" / "model.json").write_text('{"format": 0}')
    with pytest.raises(InvalidInput, match="of the format 0"):
        Recommender.load(tmp_path / "model")
    with pytest.raises(InvalidInput, match="no model in"):
        Recommender.load(tmp_path)


@pytest.mark.parametrize("frame", (dict, pd.DataFrame, pl.DataFrame, pa.table))
def test_interactions_come_from_every_kind_of_frame(model: Recommender, frame: Callable[[Any], Any]) -> None:
    done = Interactions.from_frame(frame(DONE), time="when")

    assert (len(done), done.people, done.latest) == (96, model.people, 1_772_582_400_000)
    assert Recommender().fit(CATALOGUE, done).recommend("war-0", 30) == model.recommend("war-0", 30)


def test_lists_of_everybody_are_a_frame(model: Recommender) -> None:
    found = model.recommend_frame(k=3, library="pandas")

    assert list(found.columns) == ["person", "rank", "piece", "score"]
    assert len(found) == 3 * 24
    own = found[found["person"] == "war-0"]
    assert [*zip(own["piece"], own["score"], strict=True)] == [each[:2] for each in model.recommend("war-0", 3)]
    assert model.recommend_frame(["war-0"], 2, library="polars").shape == (2, 4)


def test_lists_made_together_are_those_made_one_by_one() -> None:
    many = {
        "person": [f"{person}-{copy}" for copy in range(6) for person in DONE["person"]],
        "piece": [f"{piece[:-1]}{(int(piece[-1]) + copy) % 8}" for copy in range(6) for piece in DONE["piece"]],
    }
    said = {"war-0-1": Preferences(hidden=("war7",))}
    model = Recommender().fit(CATALOGUE, Interactions.from_frame(many), preferences=said)
    people = [*model.people, "nobody"]
    assert len(people) > LEAST_TOGETHER

    found = model.recommend_frame(people, k=7, library="polars", threads=2)

    for person in people:
        own = found.filter(pl.col("person") == person)
        assert [*zip(own["piece"], own["score"], strict=True)] == [each[:2] for each in model.recommend(person, 7)], (
            person
        )


def test_a_matrix_of_interactions_goes_in_and_out() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_array([[1, 0, 1], [0, 1, 0]])

    done = Interactions.from_matrix(matrix, ["kim", "ann"], ["a", "b", "c"])

    assert (done.people, done.pieces, len(done)) == (["ann", "kim"], ["a", "b", "c"], 3)
    assert done.to_matrix().toarray().tolist() == [[0, 1, 0], [1, 0, 1]]


def test_names_of_a_matrix_go_by_their_places_whatever_labels_a_column_has() -> None:
    matrix = np.asarray([[1, 0], [0, 1]])
    people, pieces = pd.Series(["kim", "ann"], index=[1, 0]), pd.Series([7, 8], index=["x", "y"])

    done = Interactions.from_matrix(matrix, people, pieces)

    pairs = zip(done.person_of.tolist(), done.piece_of.tolist(), strict=True)
    assert [(done.people[who], done.pieces[what]) for who, what in pairs] == [("kim", "7"), ("ann", "8")]


def test_a_matrix_with_nan_says_that_nothing_tells_who_met_what() -> None:
    with pytest.raises(InvalidInput, match="NaN: leave them out"):
        Interactions.from_matrix(np.asarray([[1, np.nan]]), ["kim"], ["a", "b"])


@pytest.mark.parametrize(
    ("make", "message"),
    (
        (lambda: Interactions(["a"], [], 1), "1 people and 0 pieces"),
        (lambda: Interactions.from_frame(DONE, person="user"), "no column 'user'"),
        (lambda: Interactions.from_frame(DONE, kind="Look"), "no type of interaction 'Look'"),
        (lambda: Interactions.from_frame({**DONE, "when": [None] * 96}, time="when"), "Row 0 has no moment"),
        (lambda: Interactions.from_frame({**DONE, "part": [2.0] * 96}, portion="part"), "from 0 to 1"),
        (lambda: Interactions.from_frame({**DONE, "part": [float("inf")] * 96}, portion="part"), "from 0 to 1"),
        (lambda: Interactions.from_frame({**DONE, "part": ["half"] * 96}, portion="part"), "from 0 to 1"),
        (lambda: Recommender(blend={"taste": 1}), "A blend has audience, content, popularity"),
        (lambda: Recommender(blends=1), "no setting 'blends'"),
        (lambda: Recommender(half_life_days=0), "1 to 3650"),
        (lambda: Recommender(order="sometimes"), "auto, on, off"),
        (lambda: Recommender(order=["on"]), "auto, on, off"),
        (lambda: Recommender().recommend("kim"), "call fit first"),
        (lambda: fitted().similar("war1", by="smell"), "content, audience, both"),
        (lambda: fitted().rank("war-0", ["war1"], weight=2), "from 0 to 1"),
        (lambda: fitted().recommend("war-0", calibration=0.5), "needs a calibration_category"),
    ),
)
def test_what_is_not_acceptable_is_told_in_words(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()


def test_people_and_pieces_may_be_named_by_whole_numbers() -> None:
    numbered = Catalogue([{"id": str(each), "categories": {"g": ["x"]}} for each in range(3)])
    model = Recommender().fit(numbered, Interactions.from_frame({"person": [7, 7, 8], "piece": [0, 1, 0]}))

    assert model.profile(7) == model.profile("7") == {"g": {"x": 1000}}
    assert model.score(8, [1, 2]).tolist() == model.score("8", ["1", "2"]).tolist()
    assert model.similar(0).ids == model.similar("0").ids
    assert model.standing(8, 2) == model.standing("8", "2")
    assert numbered.standing(0, 1) == numbered.standing("0", "1")
    assert numbered.categories(2) == {"g": {"x": 1}}
    assert numbered.similar_frame([0])["neighbour"].tolist() == ["1", "2"]


def test_preferences_are_those_of_people_by_whatever_they_are_named() -> None:
    numbered = Catalogue([{"id": str(each), "categories": {"g": ["x"]}} for each in range(3)])
    done = Interactions.from_frame({"person": [7, 8], "piece": [0, 1]})

    model = Recommender().fit(numbered, done, preferences={7: Preferences(hidden=("2",))})

    assert (model.recommend(7).ids, model.recommend(8).ids) == (["1"], ["0", "2"])


def test_files_of_several_models_are_none(model: Recommender, tmp_path: Path) -> None:
    model.save(tmp_path / "one")
    model.save(tmp_path / "two")
    (tmp_path / "one" / "people.npz").replace(tmp_path / "two" / "people.npz")

    with pytest.raises(InvalidInput, match="of several models"):
        Recommender.load(tmp_path / "two")
    with pytest.raises(InvalidInput, match="is damaged"):
        Recommender.load(tmp_path / "one")
    (tmp_path / "one" / "model.json").write_text("{")
    with pytest.raises(InvalidInput, match="is damaged"):
        Recommender.load(tmp_path / "one")


@pytest.mark.parametrize(
    ("make", "message"),
    (
        (lambda model: model.recommend_frame("kim"), "people is 'kim': a list"),
        (lambda model: model.score("kim", "war1"), "pieces is 'war1': a list"),
        (lambda model: model.recommend_for(liked="war1"), "liked is 'war1': a list"),
        (lambda model: model.rank("war-0", "war1"), "pieces is 'war1': a list"),
        (lambda model: model.recommend("war-0", known=True), "no option 'known'"),
        (lambda model: model.recommend(["war-0"]), "is no person"),
        (lambda _: Recommender(half_life_days="30"), "a number from 1 to 3650"),
        (lambda _: Recommender(interaction_weights={"Watch": float("nan")}), "a number from -100 to 100"),
        (lambda _: Recommender(max_per_value={"genre": 0}), "whole numbers from 1"),
        (lambda _: Recommender(exclude_seen="no"), "True or False"),
        (lambda _: Recommender(blend=[1, 2, 3]), "A blend has"),  # type: ignore[arg-type]
        (
            lambda _: Recommender().fit(Interactions.from_frame(DONE), CATALOGUE),  # type: ignore[arg-type]
            "a Catalogue and then Interactions",
        ),
        (lambda _: Interactions.from_frame({**DONE, "when": ["2026-03-01"]}, time="when"), "different lengths"),
        (lambda _: Interactions.from_pairs([("kim", "a", "b")]), "Pairs are of"),  # type: ignore[list-item]
        (lambda model: model.recommend_frame(library="duckdb"), "no frames of 'duckdb'"),
    ),
)
def test_a_newcomers_mistakes_are_told(model: Recommender, make: Callable[[Recommender], Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make(model)


def test_somebodys_interactions_without_moments_are_of_now(model: Recommender) -> None:
    given = Interactions.from_pairs([("me", "war1"), ("me", "war2")])

    assert {each.rstrip("0123456789") for each in model.recommend(given, 3).ids} == {"war"}
