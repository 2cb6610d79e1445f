"""The exact 30 nearest of a million pieces by cosine, one call each, beside scikit-learn, scipy and others."""

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import faiss
import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sparse_dot_topn import sp_matmul_topn

from benchmarks.peers.rounds import alternate, measure, print_costs, print_versions, resident_bytes
from benchmarks.peers.sets import made_pieces
from penchant_engine import Catalogue, ready_kernels

K = 30
HASHED = 256
"""Dimensions into which keywords are hashed for faiss, whose vectors are dense."""
SLOW_S = 0.3
"""What takes longer for one is asked less."""
Ask = Callable[[int], Any]


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--pieces", type=int, default=1_000_000)
    arguments.add_argument("--queries", type=int, default=50)
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    print_versions("numpy", "scipy", "scikit-learn", "sparse_dot_topn", "faiss-cpu")
    ready_kernels()
    matrix, ids, keywords = made_pieces(given.pieces)
    before, catalogue = resident_bytes(), []
    built = measure(lambda: catalogue.append(Catalogue.from_matrix(matrix, ids, keywords)))
    grown = (resident_bytes() - before) / 2**20
    print(f"Catalogue.from_matrix of {matrix.shape}, {matrix.nnz:,} entries: {built}, {grown:.0f} MiB more", flush=True)
    rows = normalize(matrix.astype(np.float64))
    queries = np.random.default_rng(1).choice(given.pieces, given.queries, replace=False).tolist()
    contenders: dict[str, Ask] = {"penchant_engine": _ours(catalogue[0], ids)} | _exact_ones(rows)
    dense = _faiss(rows)
    print(f"faiss cannot hold {matrix.shape} densely ({4 * np.prod(matrix.shape, dtype=float) / 2**40:.1f} TiB)")
    notes = _check(contenders | dense, rows, queries)
    slow = {name: ask for name, ask in contenders.items() if measure(partial(ask, queries[0])).wall > SLOW_S}
    quick = {name: ask for name, ask in (contenders | dense).items() if name not in slow}
    for some, asked in ((quick, queries), ({"penchant_engine": contenders["penchant_engine"]} | slow, queries[:5])):
        works = {name: partial(_ask_all, ask, asked) for name, ask in some.items()}
        print_costs(f"{K} nearest, {len(asked)} queries", alternate(works, given.rounds), len(asked), notes)


def _ask_all(ask: Ask, queries: list[int]) -> None:
    for row in queries:
        ask(row)


def _ours(catalogue: Catalogue, ids: list[str]) -> Ask:
    def ask(row: int) -> tuple[Any, Any]:
        found = catalogue.similar(ids[row], K, algorithm="cosine")
        return np.asarray([int(each.id[6:]) for each in found]), np.asarray([each.score for each in found])

    return ask


def _exact_ones(rows: Any) -> dict[str, Ask]:
    """Return what finds them exactly; each gets rows of unit length in the form that it is quickest with."""
    columns = rows.T.tocsr()
    # Under ``metric="cosine"`` it makes the rows' lengths anew for each call; by Euclid the order is the same.
    cosine, euclid = (
        NearestNeighbors(n_neighbors=K + 1, metric=metric, algorithm="brute").fit(rows)
        for metric in ("cosine", "euclidean")
    )

    def by_postings(row: int) -> tuple[Any, Any]:
        return _best((rows[row] @ columns).toarray().ravel(), row)

    def by_product(row: int) -> tuple[Any, Any]:
        return _best(rows @ rows[row].toarray().ravel(), row)

    def by_topn(row: int) -> tuple[Any, Any]:
        found = sp_matmul_topn(rows[row], columns, top_n=K + 1, n_threads=1, sort=True)
        others = found.indices != row
        return found.indices[others][:K], 1 - found.data[others][:K]

    def by_sklearn(model: Any, row: int) -> tuple[Any, Any]:
        distances, found = model.kneighbors(rows[row])
        others = found[0] != row
        return found[0][others][:K], distances[0][others][:K]

    return {
        "scipy, q @ X.T": by_postings,
        "scipy, X @ q": by_product,
        "sparse_dot_topn": by_topn,
        "scikit-learn, brute, cosine": lambda row: by_sklearn(cosine, row),
        "scikit-learn, brute, euclidean": lambda row: _of_euclid(by_sklearn(euclid, row)),
    }


def _of_euclid(found: tuple[Any, Any]) -> tuple[Any, Any]:
    return found[0], found[1] ** 2 / 2


def _best(scores: Any, row: int) -> tuple[Any, Any]:
    scores[row] = -1
    best = np.argpartition(-scores, K)[:K]
    best = best[np.argsort(-scores[best], kind="stable")]
    return best, 1 - scores[best]


def _faiss(rows: Any) -> dict[str, Ask]:
    """Return a search of faiss over hashed keywords: exact for these, and near to the keywords themselves."""
    random, width = np.random.default_rng(2), rows.shape[1]
    table = (random.choice([-1.0, 1.0], width), random.integers(0, HASHED, width), np.arange(width + 1))
    hashed = sparse.csr_matrix(table, shape=(width, HASHED)).astype(np.float32)
    dense = normalize(np.ascontiguousarray((rows.astype(np.float32) @ hashed).toarray()))
    index = faiss.IndexFlatIP(HASHED)
    index.add(dense)

    def ask(row: int) -> tuple[Any, Any]:
        scores, found = index.search(dense[row : row + 1], K + 1)
        others = found[0] != row
        return found[0][others][:K], 1 - scores[0][others][:K]

    return {f"faiss flat, {HASHED} hashed dimensions": ask}


def _check(contenders: dict[str, Ask], rows: Any, queries: list[int]) -> dict[str, str]:
    """Return how near to the definition each is: distances of double precision, equal ones by id."""
    notes = {}
    for name, ask in contenders.items():
        same_ids, same_sets, most = 0, 0, 0.0
        for row in queries[:20]:
            distances = 1 - (rows @ rows[row].toarray().ravel())
            distances[row] = 2
            # By twelve decimals: what is equal is so by the definition, not by how sums were rounded.
            expected = np.lexsort((np.arange(len(distances)), distances.round(12)))[:K]
            found, told = ask(row)
            same_ids += found.tolist() == expected.tolist()
            same_sets += len(set(found.tolist()) & set(expected.tolist()))
            most = max(most, float(np.abs(np.sort(distances[found]) - np.sort(distances[expected])).max()))
            most = max(most, float(np.abs(told - distances[found]).max()))
        count = len(queries[:20])
        notes[name] = (
            f"same list {same_ids}/{count}, {same_sets / count / K:.1%} of pieces, distances within {most:.1e}"
        )
    return notes


if __name__ == "__main__":
    main()
