"""What RecTools asks of its models in its tests, as far as it applies, of ours.

They need RecTools, and are run by scripts/peers.
"""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rectools")
pytestmark = pytest.mark.filterwarnings("ignore")  # RecTools' own

import pandas as pd  # noqa: E402  # after the module is known to be there
from rectools import Columns  # noqa: E402
from rectools.dataset import Dataset  # noqa: E402
from rectools.exceptions import NotFittedError  # noqa: E402
from rectools.metrics import Recall  # noqa: E402
from rectools.model_selection import TimeRangeSplitter, cross_validate  # noqa: E402
from rectools.models import load_model, model_from_config  # noqa: E402

from penchant_engine import InvalidInput  # noqa: E402
from penchant_engine.rectools import PenchantModel  # noqa: E402

USERS, ITEMS, WARM_ITEM = 60, 40, 999
CONFIG = {"like_from": 4, "dislike_to": 1, "by": "content", "settings": {"half_life_days": 30}, "verbose": 1}


@pytest.fixture(scope="module")
def interactions() -> pd.DataFrame:
    random = np.random.default_rng(13)
    users, places = random.integers(100, 100 + USERS, 900), random.integers(0, ITEMS, 900)
    frame = pd.DataFrame({Columns.User: users, Columns.Item: (places // 4 * 4 + users % 4) * 10})
    frame[Columns.Weight] = random.integers(1, 6, 900)
    frame[Columns.Datetime] = pd.to_datetime("2026-01-01") + pd.to_timedelta(random.integers(0, 60, 900), unit="D")
    return frame.drop_duplicates(Columns.UserItem)


@pytest.fixture(scope="module")
def dataset(interactions: pd.DataFrame) -> Dataset:
    ids = [*sorted(interactions[Columns.Item].unique()), WARM_ITEM]
    genres = pd.DataFrame({"id": ids, "feature": "genre", "value": [f"g{each // 10 % 8}" for each in ids]})
    years = pd.DataFrame({"id": ids, "feature": "year", "value": 1999})
    return Dataset.construct(
        interactions,
        item_features_df=pd.concat([genres, years]),
        cat_item_features=["genre"],
        user_features_df=pd.DataFrame({"id": [100, 7], "feature": "age", "value": 30}),
    )


@pytest.fixture(scope="module")
def model(dataset: Dataset) -> PenchantModel:
    model = PenchantModel()
    model.fit(dataset)
    return model


def test_a_list_has_what_the_library_recommends(model: PenchantModel, dataset: Dataset) -> None:
    for filter_viewed in (True, False):
        table = model.recommend([100, 101], dataset, k=5, filter_viewed=filter_viewed)
        listed = model.recommender.recommend("101", 5, include_seen=not filter_viewed)

        own = table[table[Columns.User] == 101]
        assert own[Columns.Item].astype(str).tolist() == listed.ids
        assert own[Columns.Score].tolist() == pytest.approx([1 - each.score for each in listed], abs=1e-6)
        assert own[Columns.Rank].tolist() == [1, 2, 3, 4, 5]
        assert table.columns.tolist() == [Columns.User, Columns.Item, Columns.Score, Columns.Rank]


def test_viewed_items_are_left_out(model: PenchantModel, dataset: Dataset, interactions: pd.DataFrame) -> None:
    users = dataset.user_id_map.external_ids[:USERS]
    listed, viewed = (
        {*map(tuple, frame[Columns.UserItem].to_numpy().tolist())}
        for frame in (model.recommend(users, dataset, k=ITEMS, filter_viewed=True), interactions)
    )

    assert listed.isdisjoint(viewed)


def test_all_items_are_listed_once_where_so_many_are_asked_for(model: PenchantModel, dataset: Dataset) -> None:
    table = model.recommend([100], dataset, k=500, filter_viewed=False)

    assert sorted(table[Columns.Item]) == sorted(dataset.item_id_map.external_ids)
    assert (np.diff(table[Columns.Score]) <= 0).all()


def test_items_to_recommend_are_the_only_ones(model: PenchantModel, dataset: Dataset) -> None:
    shown = [0, 50, 130, WARM_ITEM]
    for users in ([100, 101], [7], [-1]):
        table = model.recommend(users, dataset, k=3, filter_viewed=False, items_to_recommend=shown)

        assert {*table[Columns.Item]} <= {*shown}
        assert len(table) == 3 * len(users)


def test_who_did_nothing_gets_what_many_like(model: PenchantModel, dataset: Dataset) -> None:
    warm, cold = (
        model.recommend(users, dataset, k=5, filter_viewed=True)[Columns.Item].tolist() for users in ([7], [-1])
    )

    assert warm == cold == [int(each) for each in model.recommender.recommend(None, 5).ids]


def test_items_are_similar_to_items(model: PenchantModel, dataset: Dataset) -> None:
    table = model.recommend_to_items([0, 50], dataset, k=4)

    assert table[Columns.Item].astype(str).tolist() == [
        *model.recommender.similar("0", 4, by="both").ids,
        *model.recommender.similar("50", 4, by="both").ids,
    ]
    assert not (table[Columns.Item] == table[Columns.TargetItem]).any()
    shown = model.recommend_to_items([0], dataset, k=4, items_to_recommend=[0, 10, 80])
    assert {*shown[Columns.Item]} <= {10, 80}


def test_item_without_interactions_has_similar_ones(model: PenchantModel, dataset: Dataset) -> None:
    table = model.recommend_to_items([WARM_ITEM], dataset, k=3)

    assert len(table) == 3
    assert {each // 10 % 8 for each in table[Columns.Item]} == {WARM_ITEM // 10 % 8}


def test_unknown_item_has_what_many_like(model: PenchantModel, dataset: Dataset) -> None:
    table = model.recommend_to_items([-1], dataset, k=3)

    assert table[Columns.Item].astype(str).tolist() == model.recommender.recommend(None, 3).ids


def test_weights_say_what_is_liked(dataset: Dataset) -> None:
    model = PenchantModel(like_from=4, dislike_to=1).fit(dataset)

    assert any(score < 0 for each in model.recommender.people for score in model.recommender.score(each))


def test_second_fit_learns_anew(dataset: Dataset, interactions: pd.DataFrame) -> None:
    once, twice = PenchantModel(), PenchantModel()
    once.fit(dataset)
    twice.fit(Dataset.construct(interactions.head(100))).fit(dataset)

    lists = [each.recommend([100, 105], dataset, k=9, filter_viewed=False) for each in (once, twice)]
    pd.testing.assert_frame_equal(*lists)


def test_dataset_without_features_can_be_learned(interactions: pd.DataFrame) -> None:
    dataset = Dataset.construct(interactions)
    model = PenchantModel().fit(dataset)

    assert len(model.recommend([100], dataset, k=5, filter_viewed=True)) == 5
    assert len(model.recommend_to_items([0], dataset, k=3)) == 3


def test_saved_model_answers_the_same(model: PenchantModel, dataset: Dataset, tmp_path: Path) -> None:
    model.save(tmp_path / "model.pickle")
    for found in (load_model(tmp_path / "model.pickle"), copy.deepcopy(model)):
        assert found.get_config() == model.get_config()
        pd.testing.assert_frame_equal(
            found.recommend([100, -1], dataset, k=5, filter_viewed=True),
            model.recommend([100, -1], dataset, k=5, filter_viewed=True),
        )


@pytest.mark.parametrize("simple_types", (True, False))
@pytest.mark.parametrize("config", (CONFIG, {}))
def test_configuration_comes_back(config: dict[str, Any], *, simple_types: bool) -> None:
    model = PenchantModel.from_config(config)
    found = model.get_config(simple_types=simple_types)

    assert {name: found[name] for name in config} == config
    assert found["cls"] == ("penchant_engine.rectools.PenchantModel" if simple_types else PenchantModel)
    assert PenchantModel.from_config(found).get_config() == model.get_config()
    assert model_from_config(found).get_config() == model.get_config()
    assert PenchantModel.from_params(model.get_params()).get_config() == model.get_config()


def test_default_configuration_is_that_of_the_parameters() -> None:
    assert PenchantModel.from_config({}).get_config() == PenchantModel().get_config()


def test_unknown_settings_are_refused_at_once() -> None:
    with pytest.raises(InvalidInput, match="no setting 'half_live'"):
        PenchantModel(settings={"half_live": 3})


def test_model_must_be_fitted_and_k_positive(model: PenchantModel, dataset: Dataset) -> None:
    with pytest.raises(NotFittedError):
        PenchantModel().recommend([100], dataset, k=5, filter_viewed=True)
    with pytest.raises(ValueError, match="positive"):
        model.recommend([100], dataset, k=0, filter_viewed=True)


def test_cross_validation_judges_it(dataset: Dataset) -> None:
    found = cross_validate(
        dataset=dataset,
        splitter=TimeRangeSplitter("7D", n_splits=2),
        metrics={"recall@5": Recall(k=5)},
        models={"penchant": PenchantModel()},
        k=5,
        filter_viewed=True,
    )

    assert all(0 <= each["recall@5"] <= 1 for each in found["metrics"])
