#!/bin/sh
# The same lists have three values of NDCG@10, two of Recall@10, and means over other people, by three programs.
#
# Seen on 2026-11-28 with lenskit 2025.8.1 and RecTools 0.19.0 (CPython 3.11.7), under their defaults.
# Anna's list is a, b, c and she likes b and z; Ben likes a and has no list; Carl likes 12 pieces, his list is the first;
# Dora's list is a, and she likes nothing.
# - NDCG: LensKit counts the first two ranks alike, as the paper of 2002 does; RecTools takes for ideal a list of which
#   all k are relevant, also where a person likes one piece, so that a perfect list of one has 0.22. With
#   weight=LogRankWeight(offset=1) and divide_by_achievable=True both are 1 / log2(rank + 1) over the best there is.
# - Recall@10 of Carl: LensKit divides by 10 at most, RecTools by 12.
# - LensKit leaves Ben out of the mean without a word and counts Dora as 0; RecTools counts Ben as 0 and leaves Dora out.
#
# Why it matters here: figures of papers are compared across such programs. The lists of a method that gives none to
# hard people look better by LensKit; figures by RecTools' default look half as good.
#
# Output seen:
#   lenskit  NDCG@10 anna 0.500 carl 0.190, with offset anna 0.387 carl 0.220; Recall@10 carl 0.100; mean of anna carl dora
#   rectools NDCG@10 anna 0.139 carl 0.220, achievable anna 0.387 carl 0.220; Recall@10 carl 0.083; mean of anna ben carl
# Fails if any of it changes. The first part installs PyTorch (5 GB), which LensKit needs.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/given.py" <<'PROGRAM'
import pandas

lists = [("anna", piece, rank) for rank, piece in enumerate("abc", start=1)] + [("carl", "l0", 1), ("dora", "a", 1)]
liked = [("anna", "b"), ("anna", "z"), ("ben", "a")] + [("carl", f"l{number}") for number in range(12)]
lists = pandas.DataFrame(lists, columns=["user_id", "item_id", "rank"])
liked = pandas.DataFrame(liked, columns=["user_id", "item_id"])

def told(name, ndcg, other, adjusted, recall, people):
    one, two = (f"anna {each['anna']:.3f} carl {each['carl']:.3f}" for each in (ndcg, adjusted))
    print(f"{name} NDCG@10 {one}, {other} {two}; Recall@10 carl {recall['carl']:.3f}; mean of {' '.join(people)}")
PROGRAM
cat >"$folder/lenskit.program" <<'PROGRAM'
from lenskit.data import ItemListCollection
from lenskit.metrics import NDCG, Recall, RunAnalysis
from lenskit.metrics.ranking import LogRankWeight
from given import liked, lists, told

runs = RunAnalysis()
runs.add_metric(NDCG(10))
runs.add_metric(NDCG(10, weight=LogRankWeight(offset=1)), label="offset")
runs.add_metric(Recall(10))
seen = runs.measure(*(ItemListCollection.from_df(each, "user_id") for each in (lists, liked))).list_metrics()
told("lenskit ", seen["NDCG@10"], "with offset", seen["offset"], seen["Recall@10"], seen.index)
PROGRAM
cat >"$folder/rectools.program" <<'PROGRAM'
from rectools.metrics import NDCG, Recall
from given import liked, lists, told

plain, adjusted = (NDCG(k=10, divide_by_achievable=each).calc_per_user(lists, liked) for each in (False, True))
told("rectools", plain, "achievable", adjusted, Recall(k=10).calc_per_user(lists, liked), plain.index)
PROGRAM
cd "$folder"
for package in lenskit==2025.8.1 rectools==0.19.0; do
    # RecTools takes no numpy of today here, which LensKit's pyarrow wants: one after the other.
    python3 -m venv --clear "$folder/venv"
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "$package"
    PYTHONPATH="$folder" "$folder/venv/bin/python" -W ignore "${package%%=*}.program" >>"$folder/seen"
done
cat "$folder/seen"
cmp "$folder/seen" - <<'EXPECTED'
lenskit  NDCG@10 anna 0.500 carl 0.190, with offset anna 0.387 carl 0.220; Recall@10 carl 0.100; mean of anna carl dora
rectools NDCG@10 anna 0.139 carl 0.220, achievable anna 0.387 carl 0.220; Recall@10 carl 0.083; mean of anna ben carl
EXPECTED
