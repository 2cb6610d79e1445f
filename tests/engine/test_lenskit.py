"""LensKit's own tests of components, on a data set that is made here, and what a scorer of ours promises beside.

They need LensKit, and are run by scripts/peers.
"""

import pickle
import warnings
from typing import Any, ClassVar

import numpy as np
import pytest

pytest.importorskip("lenskit")
pytestmark = pytest.mark.filterwarnings("ignore")  # LensKit's and PyTorch's own

import pandas as pd  # noqa: E402  # after the module is known to be there
from lenskit import Pipeline, topn_pipeline  # noqa: E402
from lenskit.basic import TrainingItemsCandidateSelector, UserTrainingHistoryLookup  # noqa: E402
from lenskit.data import ID, Dataset, DatasetBuilder, ItemList, RecQuery, from_interactions_df  # noqa: E402
from lenskit.pipeline import PipelineBuilder  # noqa: E402
from lenskit.testing import BasicComponentTests, ScorerTests  # noqa: E402

from penchant_engine.lenskit import PenchantRanker, PenchantScorer  # noqa: E402

PEOPLE, ITEMS, RATINGS = 200, 400, 8_000


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(44)


@pytest.fixture(scope="session")
def ml_ratings() -> pd.DataFrame:
    """Return ratings of people who have tastes."""
    random = np.random.default_rng(20)
    users, places = random.integers(1, PEOPLE + 1, RATINGS), random.zipf(1.3, RATINGS) % ITEMS
    items = (places // 8 * 8 + users % 8) % ITEMS
    frame = pd.DataFrame({"user_id": users, "item_id": items * 3, "rating": random.integers(1, 11, RATINGS) / 2})
    frame["timestamp"] = pd.to_datetime(1_700_000_000 + np.sort(random.integers(0, 10**7, RATINGS)), unit="s")
    return frame.drop_duplicates(["user_id", "item_id"]).astype({"rating": "f4"})


@pytest.fixture
def ml_100k(ml_ratings: pd.DataFrame) -> pd.DataFrame:
    return ml_ratings


@pytest.fixture(scope="session")
def ml_ds(ml_ratings: pd.DataFrame) -> Dataset:
    builder = DatasetBuilder("made")
    builder.add_entities("item", [3 * each for each in range(ITEMS)])
    items = [3 * each for each in range(ITEMS)]
    builder.add_scalar_attribute("item", "title", items, [f"film {each}" for each in items])
    builder.add_scalar_attribute("item", "country", items, ["fr" if each % 4 else "ch" for each in items])
    builder.add_list_attribute("item", "genres", items, [[f"g{each % 8}", f"g{each % 5}"] for each in range(ITEMS)])
    builder.add_interactions(
        "rating", ml_ratings, entities=["user", "item"], missing="insert", allow_repeats=False, default=True
    )
    return builder.build()


class TestPenchantScorer(BasicComponentTests, ScorerTests):
    component = PenchantScorer
    can_score = "known"
    expected_ndcg = 0.2
    configs: ClassVar[list[dict[str, Any]]] = [
        {"like_from": 4.0, "settings": {"half_life_days": 365}},
        {"attributes": ["genres"]},
    ]


class TestPenchantRanker(BasicComponentTests):
    component = PenchantRanker


def ranking_pipeline(component: PenchantRanker) -> Pipeline:
    builder = PipelineBuilder()
    query = builder.create_input("query", RecQuery, ID, ItemList)
    count = builder.create_input("n", int, None)
    history = builder.add_component("history-lookup", UserTrainingHistoryLookup, query=query)
    items = builder.add_component("candidate-selector", TrainingItemsCandidateSelector, query=history)
    ranked = builder.add_component("recommender", component, query=history, items=items, n=count)
    builder.default_component(ranked)
    return builder.build()


@pytest.fixture(scope="module")
def scoring(ml_ds: Dataset) -> Pipeline:
    pipe = topn_pipeline(PenchantScorer(), n=20)
    pipe.train(ml_ds)
    return pipe


@pytest.fixture(scope="module")
def ranking(ml_ds: Dataset) -> Pipeline:
    pipe = ranking_pipeline(PenchantRanker())
    pipe.train(ml_ds)
    return pipe


def test_ranker_lists_what_the_scorer_ranks(scoring: Pipeline, ranking: Pipeline, ml_ds: Dataset) -> None:
    for user in ml_ds.users.ids()[:50]:
        scored, ranked = (pipe.run(query=user, n=20) for pipe in (scoring, ranking))

        assert len(ranked) == 20
        assert ranked.scores() == pytest.approx(np.maximum(scored.scores(), 0), abs=1e-6)
        assert set(ml_ds.user_row(user).ids()).isdisjoint(ranked.ids())


def test_ranker_lists_given_items_alone(ranking: Pipeline, ml_ds: Dataset) -> None:
    component = ranking.component("recommender")
    items = ItemList(item_nums=[5, 17, 300], vocabulary=ml_ds.items)

    assert set(component(1, items).numbers()) == {5, 17, 300}
    assert len(component(1, items, 2)) == 2
    assert len(component(1, ItemList([-5]))) == 0


def test_history_of_the_training_says_what_the_user_says(scoring: Pipeline, ml_ds: Dataset) -> None:
    scorer = scoring.component("scorer")
    items = ItemList.from_vocabulary(ml_ds.items)
    for user in ml_ds.users.ids()[:20]:
        query = RecQuery(history_items=ml_ds.user_row(user))

        assert scorer(query, items).scores().tolist() == scorer(user, items).scores().tolist()


def test_items_of_a_query_count_more_than_what_was_trained(scoring: Pipeline, ml_ds: Dataset) -> None:
    scorer, items = scoring.component("scorer"), ItemList.from_vocabulary(ml_ds.items)
    query = RecQuery(user_id=ml_ds.users.id(0), history_items=ItemList([3, 24]))

    assert scorer(query, items).scores().tolist() == scorer(ItemList([3, 24]), items).scores().tolist()


def test_lists_and_repeated_texts_are_keywords(scoring: Pipeline) -> None:
    assert scoring.component("scorer").recommender.profile("1").keys() == {"country", "genres"}


def test_ratings_say_what_is_liked(ml_ds: Dataset) -> None:
    scorer = PenchantScorer(like_from=4, dislike_to=2)
    scorer.train(ml_ds)
    recommender = scorer.recommender

    assert any(score < 0 for each in recommender.people for score in recommender.score(each))


def test_items_of_texts_as_ids_are_known() -> None:
    frame = pd.DataFrame({"user_id": ["a", "a", "b"], "item_id": ["x", "y", "y"]})
    scorer = PenchantScorer()
    scorer.train(from_interactions_df(frame))

    assert np.isfinite(scorer("a", ItemList(["x", "y", "z"])).scores()).tolist() == [True, True, False]


def test_pipeline_can_be_pickled(ranking: Pipeline) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pickle.loads(pickle.dumps(ranking))  # noqa: S301  # what was written just now

    assert found.run(query=7, n=5).ids().tolist() == ranking.run(query=7, n=5).ids().tolist()
