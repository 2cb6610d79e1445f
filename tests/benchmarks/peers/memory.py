"""Memory of a fitted model of many pieces and likes: one library in each process, asked for by name.

Likes are drawn so that popularity falls with the rank to the power of 0.9, as those of ``penchant bench``.
"""

import argparse
import os
from typing import Any

import numpy as np

from benchmarks.peers.rounds import measure, print_versions, resident_bytes
from benchmarks.peers.sets import made_pieces
from penchant_engine import Catalogue, Interactions, Recommender, ready_kernels
from penchant_engine.index.compiled import engine

SLOPE = 0.9
LIKES_OF_ONE = 50


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("library", choices=tuple(_MODELS))
    arguments.add_argument("--pieces", type=int, default=1_000_000)
    arguments.add_argument("--likes", type=int, default=10_000_000)
    arguments.add_argument("--drawn-stand-ins", action="store_true", help="as many, but any: finding them takes hours")
    given = arguments.parse_args()
    if given.drawn_stand_ins:
        engine.stand_ins = _draw_stand_ins  # type: ignore[assignment]  # drawn: it is about memory
    people, pieces = _likes(given.pieces, given.likes)
    before, kept = resident_bytes(), []
    cost = measure(lambda: kept.append(_MODELS[given.library](people, pieces, given.pieces)))
    grown = (resident_bytes() - before) / 2**20
    print(f"{given.library}: {kept[0][1]}, {grown:.0f} MiB more resident, {cost.cpu:.0f} s CPU, {cost.wall:.0f} s")


def _likes(pieces: int, count: int) -> tuple[Any, Any]:
    """Return who likes what, as distinct pairs, shapes (n,)."""
    random = np.random.default_rng(3)
    slope = np.cumsum((np.arange(pieces) + 1.0) ** -SLOPE)
    drawn = random.permutation(pieces)[np.searchsorted(slope / slope[-1], random.random(count)).clip(max=pieces - 1)]
    pairs = np.unique(random.integers(0, count // LIKES_OF_ONE, count) * pieces + drawn)
    return pairs // pieces, pairs % pieces


def _draw_stand_ins(_terms: Any, _postings: Any, norms: Any, pieces: Any, most: int, **_: Any) -> tuple[Any, Any]:
    random, shape = np.random.default_rng(4), (len(pieces), most)
    return random.integers(0, len(norms.roots), shape), random.random(shape)


def _mebibytes(*arrays: Any) -> str:
    return f"{sum(each.nbytes for each in arrays) / 2**20:.0f} MiB of arrays"


def _ours(people: Any, pieces: Any, count: int) -> tuple[Any, str]:
    ready_kernels()
    matrix, ids, keywords = made_pieces(count)
    catalogue = Catalogue.from_matrix(matrix, ids, keywords)
    names = {"person": people, "piece": np.asarray(ids)[pieces]}
    model = Recommender().fit(catalogue, Interactions.from_frame(names, kind="RateLike"))
    source = model._fitted  # its parts are to be told
    assert source is not None
    for name, part in (("weights", source.audience.weights), ("people", source.people)):
        print(f"  {name}: {_mebibytes(*part.arrays().values())}")
    print(f"  content: {_mebibytes(*source.view.snapshot.parts[0].segment.arrays().values())}")
    print(f"  interactions: {_mebibytes(*source.interactions.arrays().values())}", flush=True)
    return model, f"{model.nbytes / 2**20:.0f} MiB of arrays"


def _implicit(people: Any, pieces: Any, count: int) -> tuple[Any, str]:
    from implicit.cpu.als import AlternatingLeastSquares  # noqa: PLC0415  # one a process
    from scipy import sparse  # noqa: PLC0415  # as above

    print_versions("implicit")
    ones = np.ones(len(people), dtype=np.float32)
    likes = sparse.csr_matrix((ones, (people, pieces)), shape=(people.max() + 1, count))
    # The size of a fitted model is that of any number of rounds.
    model = AlternatingLeastSquares(factors=64, iterations=1, num_threads=int(os.environ.get("OMP_NUM_THREADS", "1")))
    model.fit(likes, show_progress=False)
    # Without the likes it recommends what a person knows.
    told = f"{_mebibytes(model.user_factors, model.item_factors)}, of likes {_mebibytes(likes.data, likes.indices)}"
    return (model, likes), told


def _lenskit(people: Any, pieces: Any, count: int) -> tuple[Any, str]:
    import pickle  # noqa: PLC0415  # to measure alone

    import pandas as pd  # noqa: PLC0415  # as above
    from lenskit.data import DatasetBuilder  # noqa: PLC0415  # as above
    from lenskit.knn import ItemKNNScorer  # noqa: PLC0415  # as above
    from lenskit.training import TrainingOptions  # noqa: PLC0415  # as above

    print_versions("lenskit")
    builder = DatasetBuilder()
    builder.add_entities("item", np.arange(count))
    frame = pd.DataFrame({"user_id": people, "item_id": pieces})
    builder.add_interactions("like", frame, entities=["user", "item"], missing="insert", default=True)
    model = ItemKNNScorer(feedback="implicit", max_nbrs=80, save_nbrs=80)
    model.train(builder.build(), TrainingOptions(rng=1, device="cpu"))
    return model, f"{len(pickle.dumps(model, protocol=5)) / 2**20:.0f} MiB pickled"


_MODELS = {"penchant_engine": _ours, "implicit": _implicit, "lenskit": _lenskit}


if __name__ == "__main__":
    main()
