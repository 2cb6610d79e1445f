"""Quality: figures of the same lists by the lab and by LensKit, under LensKit's defaults and under our definitions.

Takes the folders of ``penchant evaluate --write-split SPLIT`` and ``--write-lists LISTS``.
"""

import argparse
from pathlib import Path

import pandas as pd
from lenskit.data import ItemListCollection
from lenskit.metrics import NDCG, Recall, RecipRank, RunAnalysis
from lenskit.metrics.ranking import LogRankWeight

from benchmarks.peers.rounds import print_versions
from penchant_lab import metrics

NAMES = {"userId": "user_id", "contentId": "item_id"}


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("split", type=Path)
    arguments.add_argument("lists", type=Path)
    given = arguments.parse_args()
    print_versions("lenskit")
    relevant = _read(given.split / "relevant.csv")
    for path in sorted(given.lists.glob("*.csv")):
        lists = _read(path)
        ours, theirs = _ours(lists, relevant), _theirs(lists, relevant)
        print(f"{path.stem}, {relevant['user_id'].nunique()} people")
        for name, values in ours.items():
            same = theirs[name].reindex(values.index)
            difference = (values - same).abs().max()
            default = theirs.get(f"{name}, defaults")
            told = "" if default is None else f", under its defaults {default.mean():.4f}"
            print(
                f"  {name:10} ours {values.mean():.4f}, theirs {same.mean():.4f}, most of one {difference:.1e}{told}",
                flush=True,
            )


def _read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype={"userId": str, "contentId": str}).rename(columns=NAMES)


def _ours(lists: pd.DataFrame, relevant: pd.DataFrame) -> dict[str, pd.Series]:
    liked = relevant.groupby("user_id")["item_id"].agg(list)
    own = lists.sort_values("rank").groupby("user_id")["item_id"].agg(list).reindex(liked.index)
    rows, pieces = metrics.number_lists([each if isinstance(each, list) else [] for each in own], [*liked])
    hits, counts = metrics.hits_of(rows, pieces), liked.map(len).to_numpy()
    found = {
        "NDCG@10": metrics.ndcg(hits, counts),
        "Recall@20": metrics.recall(hits, counts),
        "MRR@20": metrics.reciprocal_rank(hits),
    }
    return {name: pd.Series(values, index=liked.index) for name, values in found.items()}


def _theirs(lists: pd.DataFrame, relevant: pd.DataFrame) -> dict[str, pd.Series]:
    runs = RunAnalysis()
    runs.add_metric(NDCG(10), label="NDCG@10, defaults")
    runs.add_metric(NDCG(10, weight=LogRankWeight(offset=1)), label="NDCG@10")
    runs.add_metric(Recall(20), label="Recall@20, defaults")
    runs.add_metric(RecipRank(20), label="MRR@20")
    found = runs.measure(*(ItemListCollection.from_df(each, "user_id") for each in (lists, relevant))).list_metrics()
    # It divides by 20 where more is relevant, we by all of it.
    counts = relevant.groupby("user_id").size().reindex(found.index)
    found["Recall@20"] = found["Recall@20, defaults"] * counts.clip(upper=20) / counts
    return {str(name): found[name] for name in found.columns}


if __name__ == "__main__":
    main()
