"""LensKit components: a scorer and a ranker for its pipelines (`pip install penchant-engine[lenskit]`).

    pipe = lenskit.topn_pipeline(PenchantScorer(), n=10)
    pipe.train(dataset)

An item is a piece, its attributes are keywords: lists, sparse vectors of counts, and texts that several items have.
"""

from typing import Any

import numpy as np
from lenskit.data import Dataset, ItemList, QueryInput, RecQuery, Vocabulary
from lenskit.data.attributes import AttributeSet
from lenskit.pipeline import Component
from lenskit.training import Trainable, TrainingOptions
from pydantic import BaseModel, Field
from scipy import sparse

from penchant_engine.compiling import ready_kernels
from penchant_engine.frames import keywords_of, moments_of
from penchant_engine.index.layout import FloatArray, IntArray
from penchant_engine.interactions import Interactions
from penchant_engine.peers import Keywords, catalogue_of, keywords_of_matrix, kinds_of, texts_of
from penchant_engine.recommender import Recommender

FEW = 0.25
"""Of so small a share of all items each is scored by its own keywords, of more all are."""


class PenchantConfig(BaseModel, extra="forbid"):
    """What the components can be told; all of it changes results."""

    attributes: list[str] | None = None
    """Item attributes that are keywords; by default what is named above. One of vectors is taken where it is named."""
    like_from: float | None = None
    """The rating from which an item is liked, rather than watched."""
    dislike_to: float | None = None
    """The rating up to which an item is disliked."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings of `Recommender`, such as ``{"half_life_days": 365, "blend": {"audience": 1}}``."""


class PenchantScorer(Component[ItemList], Trainable):
    """Scores items by how well they suit a user: by keywords, what all users like, and popularity.

    Every known item has a score, also for users and items without interactions; others have NaN. Of a user whose query
    brings the history of the training, what was trained counts, of any other the items of the query, as of the latest
    interaction where they have no ``timestamp``. ``recommender`` is what was trained: it explains, filters and boosts.
    """

    config: PenchantConfig
    recommender: Recommender
    items: Vocabulary

    def train(self, data: Dataset, options: TrainingOptions | None = None) -> None:
        """Learn from a dataset, unless that was done and the options say not to do it again.

        Raises:
            InvalidInput: ids or settings are not acceptable.
        """
        if hasattr(self, "recommender") and options is not None and not options.retrain:
            return
        ready_kernels()
        ids = texts_of(data.items.ids())
        catalogue = catalogue_of(ids, self._keywords(data))
        done = data.interactions().pandas()
        users, items = (done[f"{name}_num"].to_numpy() for name in ("user", "item"))
        names = texts_of(data.users.ids())
        people = np.asarray(names, dtype=object)
        times = moments_of(done["timestamp"].to_numpy()) if "timestamp" in done else 0
        interactions = Interactions(
            people[users].tolist(), np.asarray(ids, dtype=object)[items].tolist(), self._codes(done), times
        )
        self.recommender = Recommender(**self.config.settings).fit(catalogue, interactions)
        self.items = data.items
        self._users = {name: number for number, name in enumerate(names)}
        self._histories = _histories_of(users, items, len(names))
        self._ids = np.asarray(ids, dtype=object)
        self._numbers = np.argsort(self._ids)
        self._places = np.argsort(self._numbers)

    def __call__(self, query: QueryInput, items: ItemList) -> ItemList:
        """Return the items with their scores, the higher the better."""
        numbers = items.numbers(vocabulary=self.items, missing="negative")
        is_known = numbers >= 0
        known = numbers[is_known]
        person = self._person(RecQuery.create(query))
        scores: FloatArray = np.full(len(items), np.nan)
        if len(known) < FEW * len(self._ids):
            scores[is_known] = self.recommender.score(person, self._ids[known].tolist())
        else:
            scores[is_known] = self.recommender.score(person)[self._places[known]]
        return ItemList(items, scores=scores)

    def _person(self, query: RecQuery) -> str | Interactions | None:
        """Return who asks: the id of a user of the training, or what a query says of one, ``None`` for nothing."""
        done, name = query.query_items, None if query.user_id is None else str(query.user_id)
        if done is None:
            return name
        numbers = done.numbers(vocabulary=self.items, missing="negative")
        if name in self._users and np.array_equal(np.unique(numbers), self._history(name)):
            return name
        is_known = numbers >= 0
        times = done.field("timestamp")
        moments = self.recommender.moment if times is None else moments_of(np.asarray(times))[is_known]
        pieces = self._ids[numbers[is_known]].tolist()
        ratings = done.field("rating")
        ratings = None if ratings is None else np.asarray(ratings)[is_known]
        codes = kinds_of(ratings, len(pieces), self.config.like_from, self.config.dislike_to)
        return Interactions([""] * len(pieces), pieces, codes, moments)

    def _history(self, name: str) -> IntArray:
        """Return the numbers, ascending, of the items of a user in the training."""
        starts, items = self._histories
        user = self._users[name]
        return items[starts[user] : starts[user + 1]]

    def _codes(self, done: Any) -> IntArray:
        ratings = done["rating"].to_numpy() if "rating" in done else None
        return kinds_of(ratings, len(done), self.config.like_from, self.config.dislike_to)

    def _keywords(self, data: Dataset) -> list[list[Keywords]]:
        """Return the keywords of all items, for each attribute that has some."""
        entities = data.entities("item")
        names = self.config.attributes
        found = ((name, entities.attribute(name)) for name in (entities.attributes if names is None else names))
        return [_keywords_of(name, each) for name, each in found if names is not None or _has_keywords(each)]


class PenchantRanker(PenchantScorer):
    """Ranks items for a user without scoring all of them: the list that `Recommender.recommend` makes of them.

    What nothing speaks for comes last, so that there are ``n`` where there are as many items.
    """

    def __call__(self, query: QueryInput, items: ItemList, n: int | None = None) -> ItemList:
        """Return the ``n`` best of some items, all of them by default, in order, with their scores."""
        numbers = items.numbers(vocabulary=self.items, missing="negative")
        is_left_out = np.ones(len(self._ids), dtype=np.bool_)
        is_left_out[numbers[numbers >= 0]] = False
        count = len(self._ids) - int(np.count_nonzero(is_left_out))
        count = count if n is None or n < 0 else min(n, count)
        if not count:
            return ItemList(item_nums=[], vocabulary=self.items, scores=[], ordered=True)
        listed = self.recommender.recommend(
            self._person(RecQuery.create(query)), count, include_seen=True, exclude=self._ids[is_left_out].tolist()
        )
        numbers = self._numbers[np.searchsorted(self._ids[self._numbers], listed.ids)]
        scores = np.fromiter((1 - each.score for each in listed), np.float64, len(listed))
        return ItemList(item_nums=numbers, vocabulary=self.items, scores=scores, ordered=True)


def _histories_of(users: IntArray, items: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """Return where the items of each of ``count`` users begin, and the items, ascending, without repeats."""
    pairs = np.unique(np.stack([users, items], axis=1).astype(np.int64), axis=0)
    return np.searchsorted(pairs[:, 0], np.arange(count + 1)), np.ascontiguousarray(pairs[:, 1])


def _has_keywords(attribute: AttributeSet) -> bool:
    """Return whether an attribute is one of keywords where nobody says so."""
    if attribute.is_scalar and str(attribute.data_type) in {"string", "large_string"}:
        # A title is of one item alone.
        values = attribute.arrow().drop_null()
        return 0 < 2 * len(values.unique()) <= len(values)
    return bool(attribute.is_list or attribute.is_sparse)


def _keywords_of(name: str, attribute: AttributeSet) -> list[Keywords]:
    """Return the keywords of all items by an attribute, in a category of its name."""
    if attribute.is_scalar or attribute.is_list:
        return [{name: keywords_of(cell)} for cell in attribute.arrow().to_pylist()]
    matrix = sparse.csr_array(attribute.scipy())
    names = attribute.dim_names or [*map(str, range(matrix.shape[1]))]
    return keywords_of_matrix(matrix, [(name, each) for each in names])
