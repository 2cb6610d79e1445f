"""Lists of everybody: `Recommender.recommend_frame` beside implicit and LensKit; or RecTools, where it is installed.

movielens-small with 16 times as many people; lists of 30 of what the person does not know. What is not asked for all is
asked for some people. RecTools takes no numpy of today, so a run with it has none of the others.
"""

import argparse
import importlib.util
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from benchmarks.peers.rounds import alternate, print_versions
from benchmarks.peers.sets import Events, grow, read_set

K, FACTORS, NEIGHBOURS = 30, 64, 80
FEW = 500
"""People who are asked for by what takes milliseconds for each."""
Work = tuple[Callable[[], object], int]


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--times", type=int, default=16)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--threads", type=int, default=1)
    given = arguments.parse_args()
    pieces, events = read_set("movielens-small")
    grown = grow(events, given.times)
    works: dict[str, Work] = {}
    # RecTools brings an implicit of its own.
    makers = (_rectools,) if importlib.util.find_spec("rectools") else (_ours, _implicit, _lenskit)
    for make in makers:
        works |= make(pieces, grown, given.threads)
    costs = alternate({name: work for name, (work, _) in works.items()}, given.rounds)
    print(
        f"{len(grown.people):,} interactions; threads of numpy's libraries: {os.environ.get('OMP_NUM_THREADS', 'all')}"
    )
    for name, cost in costs.items():
        people = works[name][1]
        told = f"{people / cost.cpu:8,.0f} people a second and core, {people / cost.wall:8,.0f} by the wall"
        print(f"  {name:40} {told}, of {people:,}", flush=True)


def _ours(pieces: Any, events: Events, threads: int) -> Mapping[str, Work]:
    from penchant_engine import Catalogue, Interactions, Recommender, ready_kernels  # noqa: PLC0415  # where installed

    ready_kernels()
    columns = {"person": events.people, "piece": events.pieces, "type": events.kinds, "time": events.moments}
    interactions = Interactions.from_frame(columns, type="type", time="time")
    model = Recommender().fit(Catalogue(pieces), interactions, threads=threads)
    model.recommend_frame(model.people[:10], K)
    return {
        "penchant_engine recommend_frame": (lambda: model.recommend_frame(k=K, threads=threads), len(model.people)),
        "penchant_engine recommend, one by one": (
            lambda: [model.recommend(person, K) for person in model.people[:FEW]],
            FEW,
        ),
    }


def _implicit(_pieces: Any, events: Events, threads: int) -> Mapping[str, Work]:
    from implicit.cpu.als import AlternatingLeastSquares  # noqa: PLC0415  # as above
    from implicit.nearest_neighbours import CosineRecommender  # noqa: PLC0415  # as above

    print_versions("implicit")
    people, rows = np.unique(events.people, return_inverse=True)
    columns = np.unique(events.pieces, return_inverse=True)[1]
    matrix = sparse.csr_matrix((np.ones(len(rows), dtype=np.float32), (rows, columns)))
    everybody, works = np.arange(len(people)), {}
    for model in (
        AlternatingLeastSquares(factors=FACTORS, iterations=1, num_threads=threads),
        CosineRecommender(K=NEIGHBOURS, num_threads=threads),
    ):
        model.fit(matrix, show_progress=False)
        works[f"implicit {type(model).__name__}"] = (
            lambda model=model: model.recommend(everybody, matrix, N=K, filter_already_liked_items=True),
            len(people),
        )
    return works


def _lenskit(_pieces: Any, events: Events, threads: int) -> Mapping[str, Work]:
    from lenskit.als import ImplicitMFScorer  # noqa: PLC0415  # as above
    from lenskit.batch import recommend  # noqa: PLC0415  # as above
    from lenskit.data import from_interactions_df  # noqa: PLC0415  # as above
    from lenskit.knn import ItemKNNScorer  # noqa: PLC0415  # as above
    from lenskit.pipeline import topn_pipeline  # noqa: PLC0415  # as above

    print_versions("lenskit")
    data = from_interactions_df(_pairs(events))
    people, works = np.unique(events.people)[:FEW].tolist(), {}
    for name, scorer in (
        ("ImplicitMF", ImplicitMFScorer(embedding_size=FACTORS, epochs=1)),
        ("ItemKNN", ItemKNNScorer(max_nbrs=NEIGHBOURS, save_nbrs=NEIGHBOURS, feedback="implicit")),
    ):
        pipeline = topn_pipeline(scorer)
        pipeline.train(data)
        works[f"lenskit batch, {name}"] = (
            lambda pipeline=pipeline: recommend(pipeline, people, K, n_jobs=threads),
            len(people),
        )
    return works


def _rectools(_pieces: Any, events: Events, threads: int) -> Mapping[str, Work]:
    from implicit.als import AlternatingLeastSquares  # noqa: PLC0415  # as above
    from rectools.dataset import Dataset  # noqa: PLC0415  # as above
    from rectools.models import ImplicitALSWrapperModel  # noqa: PLC0415  # as above

    print_versions("rectools")
    data = Dataset.construct(_pairs(events).assign(weight=1.0, datetime=pd.Timestamp("2020-01-01")))
    als = AlternatingLeastSquares(factors=FACTORS, iterations=1, num_threads=threads)
    models = {"ALS": ImplicitALSWrapperModel(als, recommend_n_threads=threads)}
    people, works = np.unique(events.people), {}
    for name, model in models.items():
        model.fit(data)
        works[f"rectools {name}"] = (
            lambda model=model: model.recommend(users=people, dataset=data, k=K, filter_viewed=True),
            len(people),
        )
    return works


def _pairs(events: Events) -> pd.DataFrame:
    return pd.DataFrame({"user_id": events.people, "item_id": events.pieces}).drop_duplicates()


if __name__ == "__main__":
    main()
