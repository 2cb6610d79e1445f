"""Engine figures: how fast the index is alone, one Python call a query and one thread, beside exact peers.

Loading figures: how fast a source becomes an index out of SQL, as in a worker that finds no segment file.
"""

import importlib.util
import math
from collections.abc import Callable, Sequence
from contextlib import closing
from statistics import median
from typing import Any

import numpy as np

from penchant.live.following import apply_feed
from penchant.live.segment_files import MAX_MERGED
from penchant.storage import SourceHead, Storage, open_storage
from penchant_engine.index import Filter, Segment, Snapshot
from penchant_engine.index.compiled import engine
from penchant_engine.index.layout import BlendFactors, SparseShares
from penchant_engine.index.people.person import UserProfile
from penchant_engine.index.people.personal import BlendQuery, PersonBlend
from penchant_engine.index.people.popularity import Popularity
from penchant_engine.index.queries import best_of
from penchant_engine.model import MAX_TAKE, Algorithm, IndexedPiece
from penchant_lab.bench.report import BenchReport, alternated, p99
from penchant_lab.bench.server import BenchTarget


def measure_loading(report: BenchReport, served: BenchTarget) -> None:
    """Add the figure of the largest source of a service that has ended."""
    with closing(open_storage(folder=served.folder, database_url=served.database)) as storage:
        head = max(storage.sources.list_large(1), key=lambda head: head.piece_count)
        times = alternated({"load": lambda _: _load(storage, head)}, ROUNDS, 1, 0)
    report.add("cost, loading a source from SQL", head.piece_count / median(times["load"]) * 1000, "pieces/s")


def _load(storage: Storage, head: SourceHead) -> None:
    with storage.sources.follow_content(head.account_id, head.name, None) as feed:
        apply_feed(Snapshot.empty(), feed, max_merged=MAX_MERGED)


QUERIES = 300
ROUNDS = 3
MOMENT = 1 << 50
"""A moment at which every piece is available."""
EVERYTHING = Filter(moment=MOMENT)
FILTERS = {
    "a tenth of the pieces": Filter(moment=MOMENT, catalogs=frozenset({"tenth"})),
    "a hundredth of the pieces": Filter(moment=MOMENT, catalogs=frozenset({"hundredth"})),
}
SEED = 7
PROFILE_TERMS = 200
DELTA_SHARE = 0.2


def measure(report: BenchReport, segment: Segment, kernels: Any, seconds: float) -> None:
    """Add the figures of the engine over a segment; ``kernels`` are the compiled ones, ready to use."""
    snapshot = Snapshot.of_segment(segment)
    places = np.random.default_rng(SEED).integers(0, len(segment), QUERIES).tolist()
    for algorithm in Algorithm:
        _measure_nearest(report, snapshot, kernels, algorithm, (places, seconds))
    _measure_personal(report, snapshot, seconds)


def _measure_nearest(
    report: BenchReport, snapshot: Snapshot, kernels: Any, algorithm: Algorithm, chosen: tuple[Sequence[int], float]
) -> None:
    """Add the figures of one algorithm: beside peers, under filters, and with a delta."""
    places, seconds = chosen
    segment = snapshot.parts[0].segment
    ids = segment.ids.take(places)
    name = f"nearest, {algorithm.value}"
    whole = _asking(snapshot, ids, algorithm, EVERYTHING)
    plain = {"numpy": _without(kernels, snapshot, ids, algorithm)}
    contenders = {"penchant": whole} | plain
    # In turn, not one after the other: what else the machine does then slows all of them alike.
    times = alternated(contenders | _peers(segment, places, algorithm), ROUNDS, QUERIES, seconds)
    ours = times.pop("penchant")
    for peer, theirs in times.items():
        report.add(name, median(ours), "ms", p99=p99(ours), against=(peer, median(theirs)))
    for what, shown in FILTERS.items():
        both = alternated(
            {"all": whole, "some": _asking(snapshot, ids, algorithm, shown)}, ROUNDS, QUERIES, seconds / 3
        )
        report.add(f"{name}, {what}", median(both["some"]), "ms", against=("all pieces", median(both["all"])))
    changed = _asking(_changed(snapshot), ids, algorithm, EVERYTHING)
    both = alternated({"clean": whole, "changed": changed}, ROUNDS, QUERIES, seconds / 3)
    report.add(f"{name}, a fifth in a delta", median(both["changed"]), "ms", against=("clean", median(both["clean"])))


def _asking(snapshot: Snapshot, ids: Sequence[str], algorithm: Algorithm, shown: Filter) -> Callable[[int], object]:
    def ask(query: int) -> object:
        return snapshot.nearest(ids[query], shown, algorithm=algorithm, category_weights={}, take=MAX_TAKE)

    ask(0)
    return ask


def _without(kernels: Any, snapshot: Snapshot, ids: Sequence[str], algorithm: Algorithm) -> Callable[[int], object]:
    """Return the function that asks without compiled kernels, which are in use again after each query."""
    ask = _asking(snapshot, ids, algorithm, Filter(moment=MOMENT))

    def plain(query: int) -> object:
        engine.use({})
        try:
            return ask(query)
        finally:
            engine.use(kernels)

    return plain


def _changed(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot after a fifth of its pieces were stored anew, as one delta."""
    segment = snapshot.parts[0].segment
    changes: dict[str, IndexedPiece | None] = {}
    for place in range(int(len(segment) * DELTA_SHARE)):
        piece_id = segment.ids[place]
        weights = snapshot.terms_of(piece_id) or {}
        changes[piece_id] = IndexedPiece(id=piece_id, weights=weights, weighted=True)
    return snapshot.apply(changes, max_merged=len(changes))


def _measure_personal(report: BenchReport, snapshot: Snapshot, seconds: float) -> None:
    """Add the figure of recommendations for made people with large profiles."""
    random = np.random.default_rng(SEED)
    segment = snapshot.parts[0].segment
    people = [_person(segment, random) for _ in range(QUERIES // 10)]
    shares = (np.where(random.random(len(segment)) < 0.1, random.random(len(segment)), 0.0),)
    popular = Popularity.without_credits(shares)
    alike = (SparseShares.of(np.where(random.random(len(segment)) < 0.1, random.random(len(segment)), 0.0)),)
    blending = BlendFactors(0.1, 0.8, 0.1, total=1.0)

    def ask(query: int) -> object:
        blend = PersonBlend(taste=people[query], popular=popular, liked=alike, factors=blending, category_weights={})
        return best_of(snapshot.parts, BlendQuery(snapshot, blend, fill=True), EVERYTHING, MAX_TAKE)

    times = alternated({"penchant": ask}, ROUNDS, len(people), seconds / 3)["penchant"]
    report.add(f"recommendation, profile of {PROFILE_TERMS} terms", median(times), "ms", p99=p99(times))


def _person(segment: Segment, random: np.random.Generator) -> UserProfile:
    """Return the taste of a person who likes some pieces, and dislikes a few."""
    values: dict[int, float] = {}
    while len(values) < PROFILE_TERMS and len(values) < len(segment.terms):
        liked = float(random.choice([4.0, 3.0, 1.0, -4.0]))
        terms, weights = segment.piece(int(random.integers(len(segment))))
        for term, weight in zip(terms.tolist(), weights.tolist(), strict=True):
            values[term] = values.get(term, 0.0) + liked * math.sqrt(weight)
    chosen = sorted(values)[:PROFILE_TERMS]
    array = np.asarray([values[term] for term in chosen])
    return UserProfile(by_part=((np.asarray(chosen), array),), norm=math.sqrt(math.fsum((array * array).tolist())))


def _peers(segment: Segment, places: Sequence[int], algorithm: Algorithm) -> dict[str, Callable[[int], object]]:
    """Return exact peers, where they are installed; they compute cosine, and no ties by id."""
    if algorithm is not Algorithm.COSINE or importlib.util.find_spec("scipy") is None:
        return {}
    from scipy import sparse  # noqa: PLC0415  # a peer to compare with, where it is installed

    norms = np.sqrt(segment.squares)
    scale = np.repeat(1 / np.where(norms > 0, norms, 1), np.diff(segment.starts))
    shape = (len(segment), len(segment.terms))
    rows = sparse.csr_matrix((segment.piece_weights * scale, segment.piece_terms, segment.starts), shape)
    columns = rows.T.tocsr()

    def by_scipy(query: int) -> object:
        scores = np.asarray((rows[places[query]] @ columns).todense()).ravel()
        best = np.argpartition(-scores, MAX_TAKE)[: MAX_TAKE + 1]
        return best[np.argsort(-scores[best])]

    peers: dict[str, Callable[[int], object]] = {"scipy": by_scipy}
    if importlib.util.find_spec("sparse_dot_topn") is not None:
        from sparse_dot_topn import sp_matmul_topn  # noqa: PLC0415  # as above

        def by_topn(query: int) -> object:
            return sp_matmul_topn(rows[places[query]], columns, top_n=MAX_TAKE + 1, n_threads=1, sort=True)

        peers["sparse_dot_topn"] = by_topn
    return peers
