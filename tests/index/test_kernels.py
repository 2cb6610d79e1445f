"""The compiled kernels against plain numpy: the same ids, in the same order, with the same bits."""

import functools
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penchant_engine.index import strings
from penchant_engine.index.building import build_segment
from penchant_engine.index.compiled import engine, exact
from penchant_engine.index.compiled.engine import SearchThreads
from penchant_engine.index.layout import (
    COUNT,
    DOT,
    FARTHEST,
    NOWHERE,
    SIZE,
    BlendFactors,
    Choice,
    KernelQuery,
    PieceFeatures,
    ProfileDots,
    SparseShares,
    Taste,
)
from penchant_engine.index.segment import Segment
from penchant_engine.index.strings import Strings
from penchant_engine.model import IndexedPiece, Term
from strategies import examples


@functools.lru_cache(maxsize=200)
def made(n: int, seed: int, greatest: int, n_terms: int = 12) -> Segment:
    """Return pieces of few terms, so that most distances tie."""
    random = np.random.default_rng(seed)
    terms = [Term("t", f"{number:02}") for number in range(n_terms)]
    chosen_terms = random.random((n, n_terms)).argsort(axis=1).tolist()
    counts = random.integers(0, min(9, n_terms), n).tolist()
    values = random.integers(0, greatest + 1, (n, n_terms)).tolist()
    days = random.integers(0, 9, n).tolist()
    return build_segment(
        IndexedPiece(
            id=f"{place:06}",
            weights={terms[number]: values[place][number] for number in chosen_terms[place][: counts[place]]},
            available_from=days[place] * 86_400_000,
        )
        for place in range(n)
    )


def chosen(n: int, seed: int, selectivity: float, limit: int) -> Choice:
    random = np.random.default_rng(seed)
    mask = (random.random(n) < selectivity).astype(np.uint8)
    excluded = np.sort(random.choice(n, min(n, 5), replace=False)).astype(np.int64)
    return Choice(mask, excluded, 30, limit)


def same(one: Any, other: Any) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.fixture(scope="module", params=(1, 3), ids="{} threads".format)
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """Search by so many threads, however few pieces there are."""
    with ThreadPoolExecutor(request.param) as pool, pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "SHARED_PIECES", 1)
        engine.share(SearchThreads(request.param, pool.map))
        yield request.param
        engine.share(None)


SIZES = st.sampled_from([1, 31, 32, 33, 64, 1000, 65_536 + 40])
SEEDS = st.integers(0, 2**32 - 1)
SELECTIVITIES = st.sampled_from([1.0, 0.5, 0.01])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ("uint8", "int16", "int32"))
@pytest.mark.parametrize("greatest", (3, 1000))
@settings(max_examples=examples(25), deadline=None)
@given(n=SIZES, seed=SEEDS, selectivity=SELECTIVITIES, limit=st.sampled_from([FARTHEST, 5 * 10**11]))
def test_nearest_is_the_same_bits(  # noqa: PLR0917  # fixtures and strategies arrive as parameters
    kernels: Mapping[Any, Any],
    threads: int,
    kind: str,
    greatest: int,
    n: int,
    seed: int,
    selectivity: float,
    limit: int,
) -> None:
    assert kernels
    assert threads
    segment = made(n, seed % 50 if n < 1000 else 0, greatest)
    choice = chosen(n, seed, selectivity, limit)
    norms = segment.norms((1,) * len(segment.category_names))
    for place in np.random.default_rng(seed).integers(0, n, 5).tolist():
        terms, weights = segment.piece(place)
        for mode in (COUNT,) if kind == "uint8" else (DOT, SIZE):
            values = (weights if mode == DOT else np.ones(len(terms))).astype(kind)
            if mode == DOT and int(values.sum(dtype=np.int64)) * segment.greatest_weight > np.iinfo(kind).max:
                continue
            norm = {COUNT: norms.count, DOT: norms.dot, SIZE: norms.size}[mode]
            query = KernelQuery(mode, terms.astype(np.int64), values, float(norm.exact[place]))

            found = engine.nearest(query, segment.postings, segment.frequent, norm, choice)

            assert same(found, exact.nearest(query, segment.postings, norm, choice))


@pytest.mark.slow
@pytest.mark.parametrize("greatest", (3, 1000))
@settings(max_examples=examples(25), deadline=None)
@given(n=SIZES, seed=SEEDS, selectivity=SELECTIVITIES, limit=st.sampled_from([NOWHERE, 0]))
def test_recommendations_are_the_same_bits(  # noqa: PLR0917  # as above
    kernels: Mapping[Any, Any], threads: int, greatest: int, n: int, seed: int, selectivity: float, limit: int
) -> None:
    assert kernels
    assert threads
    random = np.random.default_rng(seed)
    segment = made(n, seed % 50 if n < 1000 else 0, greatest)
    terms = np.arange(len(segment.terms))
    norm = float(random.choice([0.0, 0.5, 2.0]))
    values = random.normal(size=len(terms)) if norm else np.zeros(len(terms))
    taste = Taste(terms, values, np.sqrt(np.arange(10_001.0)), norm, 1.5)
    content, audience, popularity = random.choice([0.0, 0.1, 0.8, 3.0], 3).tolist()
    total = content + audience + popularity or 1.0
    blending = BlendFactors(content, audience, popularity, total)
    liked = SparseShares.of(random.choice([-0.4, 0.0, 0.3, 1.6], n))
    figures = PieceFeatures(segment.roots, random.choice([0.0, 0.5, 1.0], n), liked)
    choice = chosen(n, seed, selectivity, limit)

    found = engine.best(taste, blending, segment.postings, figures, choice)

    assert same(found, exact.best(taste, blending, segment.postings, figures, choice))
    dots = ProfileDots(np.empty(n))
    for other in (chosen(n, seed + 1, selectivity, limit), choice):
        again = engine.best(taste, blending, segment.postings, figures, other, dots)
        assert dots.are_known
        assert same(again, exact.best(taste, blending, segment.postings, figures, other))
    few = np.flatnonzero(choice.mask)[: n // engine.MANY_PIECES]
    scored = engine.scores(taste, blending, segment.postings, segment.entries, figures, few)
    assert same(scored, exact.scores(taste, blending, segment.postings, figures, few))


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.text(max_size=3), unique=True), st.lists(st.text(max_size=3)))
def test_strings_are_found_where_they_are(kernels: Mapping[Any, Any], table: list[str], wanted: list[str]) -> None:
    assert kernels
    ordered = sorted(table)
    expected = [ordered.index(value) if value in ordered else -1 for value in wanted]

    assert Strings.of(ordered).find_all(Strings.of(wanted)).tolist() == expected


@pytest.mark.parametrize("search_cost", (0, 1_000_000))
@given(st.lists(st.text(max_size=3), unique=True), st.lists(st.text(max_size=3)))
def test_strings_are_found_before_kernels_are_compiled(search_cost: int, table: list[str], wanted: list[str]) -> None:
    ordered = sorted(table)
    expected = [ordered.index(value) if value in ordered else -1 for value in wanted]
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(engine, "find", lambda *_: None)
        patching.setattr(strings, "SEARCH_COST", search_cost)
        assert Strings.of(ordered).find_all(Strings.of(wanted)).tolist() == expected
