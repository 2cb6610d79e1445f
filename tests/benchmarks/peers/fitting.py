"""Fitting: `Recommender.fit` beside ItemKNN and EASE of LensKit, on the likes of a data set, in turn.

Ours makes all else of a fitted model, too: popularity, the taste of people, what is liked soon after what.
"""

import argparse
from functools import partial
from typing import Any

import pandas as pd
from lenskit.data import from_interactions_df
from lenskit.knn import EASEScorer, ItemKNNScorer
from lenskit.training import TrainingOptions

from benchmarks.peers.rounds import alternate, print_costs, print_versions
from benchmarks.peers.sets import Events, read_set
from penchant_engine import Catalogue, Interactions, Recommender, ready_kernels


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("sets", nargs="*", default=["movielens-small", "goodbooks"])
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument("--without-ease", action="store_true")
    given = arguments.parse_args()
    print_versions("numpy", "lenskit", "torch")
    ready_kernels()
    for name in given.sets:
        pieces, events = read_set(name)
        catalogue, interactions = Catalogue(pieces), interactions_of(events)
        ours = partial(Recommender().fit, catalogue, interactions, threads=given.threads)
        theirs = {
            "lenskit ItemKNN, implicit": ItemKNNScorer(feedback="implicit"),
            "lenskit EASE": EASEScorer(),
        }
        if given.without_ease:
            del theirs["lenskit EASE"]
        for what, likes in (("likes", likes_of(events)), ("all interactions", pairs_of(events))):
            data = from_interactions_df(likes)
            works = {"penchant_engine Recommender.fit": ours} | {
                method: partial(train, scorer, data) for method, scorer in theirs.items()
            }
            ours()
            told = f"{name}: {len(catalogue):,} pieces, {len(interactions):,} interactions"
            print_costs(f"{told}; theirs of {what}, {len(likes):,}", alternate(works, given.rounds))


def interactions_of(events: Events) -> Interactions:
    """Return the interactions of a set."""
    columns = {"person": events.people, "piece": events.pieces, "type": events.kinds, "time": events.moments}
    return Interactions.from_frame(columns, type="type", time="time")


def likes_of(events: Events) -> pd.DataFrame:
    """Return what people rated well, as pairs: what LensKit is to learn from."""
    liked = events.kinds == "RateLike"
    return pairs_of(events._replace(people=events.people[liked], pieces=events.pieces[liked]))


def pairs_of(events: Events) -> pd.DataFrame:
    """Return who did something with what, as distinct pairs."""
    return pd.DataFrame({"user_id": events.people, "item_id": events.pieces}).drop_duplicates()


def train(scorer: Any, data: Any) -> None:
    """Train a scorer of LensKit anew."""
    scorer.train(data, TrainingOptions(rng=1, device="cpu", retrain=True))


if __name__ == "__main__":
    main()
