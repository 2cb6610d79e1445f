"""RecTools model: recommendations to users and to items (`pip install penchant-engine[rectools]`).

    model = PenchantModel().fit(dataset)
    model.recommend(users, dataset, k=10, filter_viewed=True)

An item is a piece, its categorical features are keywords with their counts. Direct features are not used.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from rectools import Columns
from rectools.dataset import Dataset, IdMap, SparseFeatures
from rectools.dataset.features import DIRECT_FEATURE_VALUE
from rectools.models.base import FixedColdRecoModelMixin, ModelBase, ModelConfig
from scipy import sparse

from penchant_engine.compiling import ready_kernels
from penchant_engine.errors import TooFewPieces, UnknownPiece
from penchant_engine.frames import moments_of
from penchant_engine.interactions import Interactions
from penchant_engine.peers import Keywords, catalogue_of, keywords_of_matrix, kinds_of, texts_of
from penchant_engine.recommender import Recommender
from penchant_engine.records import PieceList

Entries = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Targets, items and scores side by side."""


class PenchantModelConfig(ModelConfig):
    """What the model can be told; `PenchantModel` says what it is."""

    like_from: float | None = None
    dislike_to: float | None = None
    by: str = "both"
    settings: dict[str, Any] = Field(default_factory=dict)


class PenchantModel(FixedColdRecoModelMixin, ModelBase[PenchantModelConfig]):
    """Recommends by keywords, what all users like, the order of likes and popularity; every parameter changes results.

    An item whose weight is at least ``like_from`` is liked rather than watched, one whose weight is at most
    ``dislike_to`` is disliked. Items are similar ``by`` their content, their audience, or both. ``settings`` are those
    of `Recommender`, which the fitted model has as ``recommender``: it explains, filters and boosts.

    Users who did nothing get what many like. Items without interactions are recommended, and have similar ones, by
    their features. Scores are from 0, where nothing speaks for an item, to 1.
    """

    recommends_for_warm = True
    recommends_for_cold = True
    config_class = PenchantModelConfig
    recommender: Recommender

    def __init__(
        self,
        like_from: float | None = None,
        dislike_to: float | None = None,
        by: str = "both",
        settings: dict[str, Any] | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(verbose=verbose)
        self.like_from, self.dislike_to, self.by, self.settings = like_from, dislike_to, by, dict(settings or {})
        Recommender(**self.settings)

    def _get_config(self) -> PenchantModelConfig:
        return PenchantModelConfig(
            cls=type(self),
            like_from=self.like_from,
            dislike_to=self.dislike_to,
            by=self.by,
            settings=self.settings,
            verbose=self.verbose,
        )

    @classmethod
    def _from_config(cls, config: PenchantModelConfig) -> Self:
        members = {name: getattr(config, name) for name in PenchantModelConfig.model_fields if name != "cls"}
        return cls(**members)

    def _fit(self, dataset: Dataset) -> None:
        ready_kernels()
        items, users = _IdTexts(dataset.item_id_map), _IdTexts(dataset.user_id_map)
        done = dataset.interactions.df
        weights = done[Columns.Weight].to_numpy()
        interactions = Interactions(
            users.texts[done[Columns.User].to_numpy()].tolist(),
            items.texts[done[Columns.Item].to_numpy()].tolist(),
            kinds_of(weights, len(done), self.like_from, self.dislike_to),
            moments_of(done[Columns.Datetime].to_numpy()),
        )
        catalogue = catalogue_of(items.texts.tolist(), _keywords(dataset, len(items.texts)))
        self.recommender = Recommender(**self.settings).fit(catalogue, interactions)

    def _recommend_u2i(
        self,
        user_ids: NDArray[Any],
        dataset: Dataset,
        k: int,
        filter_viewed: bool,  # noqa: FBT001  # as RecTools calls it
        sorted_item_ids_to_recommend: NDArray[Any] | None,
    ) -> Entries:
        items, users = _IdTexts(dataset.item_id_map), _IdTexts(dataset.user_id_map)
        left_out = _left_out(items, sorted_item_ids_to_recommend)
        viewed = dataset.get_user_item_matrix(include_weights=False) if filter_viewed else None
        lists = []
        for user in user_ids.tolist():
            known = () if viewed is None else items.texts[viewed.indices[viewed.indptr[user] : viewed.indptr[user + 1]]]
            excluded = left_out.union(known)
            lists.append(self.recommender.recommend(users.texts[user], k, include_seen=True, exclude=excluded))
        return items.side_by_side(user_ids, lists)

    def _recommend_i2i(
        self,
        target_ids: NDArray[Any],
        dataset: Dataset,
        k: int,
        sorted_item_ids_to_recommend: NDArray[Any] | None,
    ) -> Entries:
        items = _IdTexts(dataset.item_id_map)
        left_out = _left_out(items, sorted_item_ids_to_recommend)
        return items.side_by_side(
            target_ids, [self._similar(items.texts[each], k, left_out) for each in target_ids.tolist()]
        )

    def _recommend_u2i_warm(
        self,
        user_ids: NDArray[Any],
        dataset: Dataset,
        k: int,
        sorted_item_ids_to_recommend: NDArray[Any] | None,
    ) -> Entries:
        entries: Entries = self._recommend_cold(user_ids, dataset, k, sorted_item_ids_to_recommend)
        return entries

    _recommend_i2i_warm = _recommend_i2i

    def _get_cold_reco(
        self, dataset: Dataset, k: int, sorted_item_ids_to_recommend: NDArray[Any] | None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        items = _IdTexts(dataset.item_id_map)
        listed = self.recommender.recommend(None, k, exclude=_left_out(items, sorted_item_ids_to_recommend))
        _, numbers, scores = items.side_by_side(np.zeros(1), [listed])
        return numbers, scores

    def _similar(self, piece: str, k: int, left_out: frozenset[str]) -> PieceList:
        """Return what is similar to an item, nothing to one that was not there when the model was fitted."""
        try:
            return self.recommender.similar(piece, k, by=self.by, exclude=left_out)
        except (UnknownPiece, TooFewPieces):
            return PieceList()


class _IdTexts:
    """The ids of a map as texts, at their internal numbers."""

    def __init__(self, id_map: IdMap) -> None:
        self.texts = np.asarray(texts_of(id_map.get_external_sorted_by_internal()), dtype=object)
        self._numbers = {text: number for number, text in enumerate(self.texts.tolist())}

    def side_by_side(self, targets: NDArray[Any], lists: Sequence[PieceList]) -> Entries:
        """Return the entries of the lists of some targets, of those items that have a number."""
        kept = [[each for each in listed if each.id in self._numbers] for listed in lists]
        entries = [each for listed in kept for each in listed]
        numbers = np.fromiter((self._numbers[each.id] for each in entries), np.int64, len(entries))
        scores = np.fromiter((1 - each.score for each in entries), np.float64, len(entries))
        return np.repeat(targets, [*map(len, kept)]), numbers, scores


def _left_out(items: _IdTexts, shown: NDArray[Any] | None) -> frozenset[str]:
    """Return all items but those that are to be shown, where some are named."""
    if shown is None:
        return frozenset()
    is_left_out = np.ones(len(items.texts), dtype=np.bool_)
    is_left_out[shown] = False
    return frozenset(items.texts[is_left_out].tolist())


def _keywords(dataset: Dataset, count: int) -> list[list[Keywords]]:
    """Return the keywords of all items by their categorical features, where there are some."""
    features = dataset.item_features
    if not isinstance(features, SparseFeatures):
        return []
    names = [*map(tuple, features.names)]
    columns = [place for place, (_, value) in enumerate(names) if value != DIRECT_FEATURE_VALUE]
    found = keywords_of_matrix(
        sparse.csr_array(features.values)[:, columns],
        [(str(names[each][0]), str(names[each][1])) for each in columns],
    )
    # Items that came after the features have none.
    return [found + [{}] * (count - len(found))]
