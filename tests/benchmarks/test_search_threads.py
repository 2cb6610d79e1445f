"""How long does one search of a large segment take by threads? Prints figures (``pytest -s``), of a million pieces.

``PENCHANT_BENCHMARK_PIECES=5000000`` measures so many instead, which takes 8 GB.
"""

import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from answers import placed_taste
from kernel_cache import KERNELS
from penchant_engine.compiling import load_kernels
from penchant_engine.index import Filter, Snapshot, Strings
from penchant_engine.index.arrays import starts_of
from penchant_engine.index.assembling import SegmentColumns, assemble, list_rows
from penchant_engine.index.building import NO_ATTRIBUTES, term_key
from penchant_engine.index.compiled import engine
from penchant_engine.index.compiled.engine import SearchThreads
from penchant_engine.index.compiled.samples import KINDS
from penchant_engine.index.layout import BlendFactors, SparseShares
from penchant_engine.index.people.personal import BlendQuery, PersonBlend
from penchant_engine.index.people.popularity import Popularity
from penchant_engine.index.queries import best_of
from penchant_engine.model import Algorithm, Term
from penchant_lab.bench import catalogue

pytestmark = pytest.mark.slow

PIECES = int(os.environ.get("PENCHANT_BENCHMARK_PIECES", "1000000"))
ROUNDS = 60
TERM_BITS = 24
SHOWN = Filter(moment=1 << 50)


def made_snapshot() -> Snapshot:
    """Return pieces whose keywords are as frequent as those of a made catalogue, drawn at once."""
    random = np.random.default_rng(7)
    names: list[str] = []
    drawn = []
    for kind in sorted(catalogue.categories(PIECES), key=lambda kind: kind.name):
        frequencies = (np.arange(kind.keywords) + 2.0) ** -kind.exponent
        slope = np.cumsum(frequencies / frequencies.sum())
        counts = np.clip(random.poisson(kind.mean - 1, PIECES) + 1, 1, kind.most)
        keywords = np.minimum(np.searchsorted(slope, random.random(int(counts.sum()))), kind.keywords - 1)
        drawn.append((np.repeat(np.arange(PIECES), counts) << TERM_BITS) + len(names) + keywords)
        names += [term_key(kind.name, f"{number:08}") for number in range(kind.keywords)]
    pairs = np.unique(np.concatenate(drawn))
    nothing = list_rows({})
    columns = SegmentColumns(
        ids=Strings.of(f"piece-{row:08}" for row in range(PIECES)),
        terms=Strings.of(names),
        starts=starts_of(np.bincount(pairs >> TERM_BITS, minlength=PIECES)),
        piece_terms=(pairs & ((1 << TERM_BITS) - 1)).astype(np.uint32),
        piece_weights=(1 + random.poisson(2.0, len(pairs))).astype(np.uint16),
        weighted=np.ones(PIECES, dtype=np.uint8),
        available_from=np.zeros(PIECES, dtype=np.int64),
        ending=np.zeros(0, dtype=np.int64),
        available_until=np.zeros(0, dtype=np.int64),
        catalogs=nothing,
        attributes=NO_ATTRIBUTES,
        marks=nothing,
        reading=NO_ATTRIBUTES,
    )
    return Snapshot.of_segment(assemble(columns))


def similar(snapshot: Snapshot, algorithm: Algorithm) -> Callable[[int], object]:
    ids = snapshot.parts[0].segment.ids.take(np.random.default_rng(7).integers(0, PIECES, ROUNDS))
    return lambda turn: snapshot.nearest(ids[turn], SHOWN, algorithm=algorithm, category_weights={}, take=30)


def personal(snapshot: Snapshot) -> Callable[[int], object]:
    """Return what makes the list of somebody who likes twelve pieces."""
    random = np.random.default_rng(7)
    terms: dict[Term, float] = {}
    for piece_id in snapshot.parts[0].segment.ids.take(random.integers(0, PIECES, 12)):
        terms |= {term: float(random.random()) for term in snapshot.terms_of(piece_id) or {}}
    taste = placed_taste(snapshot, dict(sorted(terms.items())), norm=1.0)
    popular = Popularity.without_credits((np.where(random.random(PIECES) < 0.1, random.random(PIECES), 0.0),))
    alike = (SparseShares.of(np.where(random.random(PIECES) < 0.1, random.random(PIECES), 0.0)),)
    blending = BlendFactors(0.1, 0.8, 0.1, total=1.0)
    blend = PersonBlend(taste=taste, popular=popular, liked=alike, factors=blending, category_weights={})
    return lambda _: best_of(snapshot.parts, BlendQuery(snapshot, blend, fill=True), SHOWN, 30)


@pytest.mark.timeout(7200)
def test_what_threads_make_of_one_search() -> None:
    engine.use({kind: load_kernels(KERNELS, kind) for kind in KINDS})
    snapshot, count = made_snapshot(), os.cpu_count() or 1
    searches = {algorithm.value: similar(snapshot, algorithm) for algorithm in Algorithm}
    searches["recommendation"] = personal(snapshot)
    with ThreadPoolExecutor(count) as pool:
        ways = {"one": None, "all": SearchThreads(count, pool.map)}
        for name, search in searches.items():
            taken: dict[str, list[float]] = {way: [] for way in ways}
            search(0)
            # In turn, so that what else the machine does falls on both.
            for turn in range(ROUNDS):
                for way, threads in ways.items():
                    engine.share(threads)
                    began = time.perf_counter()
                    search(turn)
                    taken[way].append((time.perf_counter() - began) * 1000)
            one, several = (statistics.median(each) for each in taken.values())
            ratio = several / one
            print(f"\n{PIECES} pieces, {name}: {one:.2f} ms by one thread, {several:.2f} by {count}: {ratio:.2f} x")
    engine.share(None)
    engine.use({})
