"""Package methods: baselines of other projects by name, under their own defaults, where their package is installed.

Each is fitted to the likes of all but newcomers, and folds in everybody's own. No dependency of ours: a module is
imported when its method is asked for.
"""

import importlib
import importlib.util
import warnings
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penchant.errors import Refused
from penchant_engine.index import IntArray
from penchant_lab.histories import Knowledge

Score = Callable[[IntArray], NDArray[np.float32]]


class PackageMethod(NamedTuple):
    """A method of a package: ``fit`` takes what is known and a seed; ``is_dense`` as of a fitted method."""

    package: str
    fit: Callable[[Knowledge, int], Score]
    is_dense: bool = False

    @property
    def parameters(self) -> str:
        """What is to be said of its parameters."""
        return f"{self.package} {version(self.package)}, its defaults for likes, all likes"


def require_packages(methods: Iterable[str]) -> None:
    """Make sure that the packages of methods are there.

    Raises:
        Refused: one is not installed.
    """
    for name in methods:
        method = PACKAGE_METHODS.get(name)
        if method is not None and importlib.util.find_spec(method.package) is None:
            raise Refused(f"The method {name} needs {method.package}: pip install {method.package}")


def _fit_implicit(knowledge: Knowledge, seed: int) -> Score:
    """Return the alternating least squares of implicit (Hu, Koren and Volinsky 2008)."""
    # Of the processor also where there is a graphics card: its figures would be others.
    als: Any = importlib.import_module("implicit.cpu.als")
    with warnings.catch_warnings():
        # It warns of the threads of numpy's own library; how many these are is settled at the start.
        warnings.simplefilter("ignore", RuntimeWarning)
        model = als.AlternatingLeastSquares(random_state=seed, num_threads=1)
        model.fit(_likes_of(knowledge, knowledge.others), show_progress=False)

    def score(people: IntArray) -> NDArray[np.float32]:
        own = _likes_of(knowledge, people)
        factors = model.recalculate_user(np.arange(len(people)), own)
        scores: NDArray[np.float32] = factors @ model.item_factors.T
        scores[np.diff(own.indptr) == 0] = 0
        return scores

    return score


def _likes_of(knowledge: Knowledge, people: IntArray) -> Any:
    """Return the likes of people as a matrix of scipy, a row for each."""
    sparse: Any = importlib.import_module("scipy.sparse")
    rows, pieces = knowledge.likes.pairs(people)
    ones = np.ones(len(rows), dtype=np.float32)
    return sparse.csr_matrix((ones, (rows, pieces)), shape=(len(people), knowledge.piece_count))


def _fit_lenskit(module: str, scorer: str, **config: Any) -> Callable[[Knowledge, int], Score]:
    """Return what fits a scorer of LensKit."""

    def fit(knowledge: Knowledge, seed: int) -> Score:
        data: Any = importlib.import_module("lenskit.data")
        training: Any = importlib.import_module("lenskit.training")
        frames: Any = importlib.import_module("pandas")
        model = getattr(importlib.import_module(module), scorer)(**config)
        rows, pieces = knowledge.likes.pairs(knowledge.others)
        frame = frames.DataFrame({"user_id": knowledge.others[rows], "item_id": pieces})
        model.train(data.from_interactions_df(frame), training.TrainingOptions(rng=seed, device="cpu"))
        everything = data.ItemList(item_ids=np.arange(knowledge.piece_count))

        def score(people: IntArray) -> NDArray[np.float32]:
            scores = np.zeros((len(people), knowledge.piece_count), dtype=np.float32)
            for row, person in enumerate(people.tolist()):
                own = knowledge.likes[person]
                if len(own):
                    query = data.RecQuery(history_items=data.ItemList(item_ids=own))
                    scores[row] = model(query, everything).scores("numpy")
            # What it has no score for it would not recommend.
            scores[np.isnan(scores)] = -np.inf
            return scores

        return score

    return fit


PACKAGE_METHODS: Mapping[str, PackageMethod] = {
    "als": PackageMethod("implicit", _fit_implicit),
    "lenskit-als": PackageMethod("lenskit", _fit_lenskit("lenskit.als", "ImplicitMFScorer")),
    "lenskit-knn": PackageMethod("lenskit", _fit_lenskit("lenskit.knn", "ItemKNNScorer", feedback="implicit")),
    "lenskit-ease": PackageMethod("lenskit", _fit_lenskit("lenskit.knn", "EASEScorer"), is_dense=True),
}
"""By name. None of RecTools, which takes no numpy of today where Python is below 3.13: judge its lists instead."""
