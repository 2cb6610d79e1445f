"""How well any pieces suit a person, who is known by an id or by interactions of one's own."""

import pickle

import numpy as np
import pytest

from penchant_engine import Catalogue, Interactions, InvalidInput, Recommender

DAY_S = 86_400


@pytest.fixture(scope="module")
def interactions() -> Interactions:
    random = np.random.default_rng(44)
    columns = {
        "person": random.integers(0, 30, 400).tolist(),
        "piece": [f"p{each}" for each in random.integers(0, 60, 400)],
        "type": random.choice(["Watch", "RateLike", "RateDislike", "Click"], 400).tolist(),
        "time": (np.arange(400) * DAY_S // 8 + DAY_S).tolist(),
    }
    return Interactions.from_frame(columns, type="type", time="time")


@pytest.fixture(scope="module")
def model(interactions: Interactions) -> Recommender:
    pieces = ({"id": f"p{each}", "categories": {"genre": [str(each % 7), str(each % 3)]}} for each in range(70))
    return Recommender().fit(Catalogue(pieces), interactions)


def own(interactions: Interactions, person: str) -> Interactions:
    rows = np.flatnonzero(interactions.person_of == interactions.people.index(person))
    pieces = [interactions.pieces[each] for each in interactions.piece_of[rows]]
    return Interactions(["somebody"] * len(rows), pieces, interactions.codes[rows], interactions.moments[rows])


def test_scores_are_one_less_those_of_the_list(model: Recommender) -> None:
    for person in model.people:
        for each in model.recommend(person, 70, include_seen=True):
            (score,) = model.score(person, [each.id])

            assert each.score == pytest.approx(1 - max(0, score), abs=1e-12)


def test_scores_order_pieces_as_the_list_does(model: Recommender) -> None:
    listed = model.recommend("3", 70, fill=False, include_seen=True).ids

    scores = model.score("3", listed)

    assert listed
    assert (np.diff(scores) <= 0).all()


def test_pieces_are_scored_in_the_order_given(model: Recommender) -> None:
    pieces = ["p9", "p1", "p9", "p44"]

    together = model.score("3", pieces)

    assert together.tolist() == [model.score("3", [each])[0] for each in pieces]


def test_all_pieces_are_scored_in_the_order_of_their_ids(model: Recommender) -> None:
    pieces = sorted(f"p{each}" for each in range(70))

    assert model.score("3").tolist() == model.score("3", pieces).tolist()


def test_unknown_piece_has_no_score(model: Recommender) -> None:
    assert np.isnan(model.score("3", ["p1", "nowhere"])).tolist() == [False, True]
    assert len(model.score("3", [])) == 0


def test_what_a_person_dislikes_is_below_nothing(model: Recommender) -> None:
    disliked = Interactions(["x"] * 3, ["p0", "p21", "p42"], 8, model.settings.retention_days)

    assert model.score(disliked, ["p63"])[0] <= 0


def test_interactions_of_a_person_say_what_the_id_says(model: Recommender, interactions: Interactions) -> None:
    pieces = [f"p{each}" for each in range(70)]
    for person in model.people:
        by_id, by_interactions = model.score(person, pieces), model.score(own(interactions, person), pieces)

        assert by_interactions.tolist() == by_id.tolist()
        assert model.recommend(own(interactions, person)) == model.recommend(person)


def test_interactions_of_several_people_are_refused(model: Recommender, interactions: Interactions) -> None:
    with pytest.raises(InvalidInput, match="of 30 people"):
        model.recommend(interactions)


def test_no_interactions_are_nobody(model: Recommender) -> None:
    assert model.recommend(Interactions.from_pairs([])).ids == model.recommend(None).ids


def test_pickled_model_answers_the_same(model: Recommender) -> None:
    kept = pickle.dumps(model)

    found = pickle.loads(kept)  # noqa: S301  # what was written just now

    assert [found.recommend(each, explain=True) for each in model.people] == [
        model.recommend(each, explain=True) for each in model.people
    ]


def test_recommender_that_learned_nothing_keeps_its_settings_in_a_pickle() -> None:
    model = Recommender(blend={"audience": 1}, half_life_days=7)

    assert pickle.loads(pickle.dumps(model)).settings == model.settings  # noqa: S301  # as above
