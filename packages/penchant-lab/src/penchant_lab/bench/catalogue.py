"""Catalogues to measure: one made from a seed, shaped like those of films, or one from a folder.

Made pieces have about 20 keywords in eight categories whose document frequencies fall as in a language (Zipf);
three in ten resemble an earlier piece, as episodes and editions do.
"""

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SEED = 20_261_121
BATCH = 2_000
SIBLINGS = 0.3
SHARED = 0.65
"""Three in ten pieces take about two thirds of the keywords of an earlier one."""
GREATEST_WEIGHT = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeCategory:
    """A category of made pieces: its keywords, how steeply their frequencies fall, and how many a piece has."""

    name: str
    keywords: int
    exponent: float
    mean: float
    most: int


def categories(pieces: int) -> tuple[MadeCategory, ...]:
    """Return the categories of a made catalogue; people and tags grow in number with it."""
    return (
        MadeCategory(name="genre", keywords=28, exponent=0.9, mean=3.0, most=7),
        MadeCategory(name="country", keywords=60, exponent=1.2, mean=1.2, most=3),
        MadeCategory(name="decade", keywords=12, exponent=1.0, mean=1.0, most=1),
        MadeCategory(name="audience", keywords=6, exponent=0.8, mean=1.0, most=1),
        MadeCategory(name="mood", keywords=70, exponent=0.8, mean=2.5, most=7),
        MadeCategory(name="tag", keywords=max(2_000, min(40_000, pieces // 25)), exponent=1.0, mean=6.0, most=30),
        MadeCategory(name="actor", keywords=max(3_000, pieces // 4), exponent=0.6, mean=4.5, most=18),
        MadeCategory(name="director", keywords=max(1_500, pieces // 8), exponent=0.4, mean=1.0, most=3),
    )


def made(pieces: int) -> Iterator[list[bytes]]:
    """Yield a made catalogue in batches of pieces, each piece as JSON; the same for the same number."""
    random = np.random.default_rng(SEED)
    kinds = categories(pieces)
    slopes = [_slope(kind) for kind in kinds]
    before: list[list[tuple[int, int]]] = []
    for begin in range(0, pieces, BATCH):
        count = min(BATCH, pieces - begin)
        drawn = [_draw(random, kind, slope, count) for kind, slope in zip(kinds, slopes, strict=True)]
        terms = [[(c, t) for c, column in enumerate(drawn) for t in column[place]] for place in range(count)]
        siblings = np.flatnonzero(random.random(count) < SIBLINGS).tolist() if before else []
        for place in siblings:
            # From the batch before alone, so that a catalogue of any size takes the memory of two batches.
            parent = before[int(random.integers(len(before)))]
            kept = [term for term, keep in zip(parent, random.random(len(parent)) < SHARED, strict=True) if keep]
            terms[place] = list(dict.fromkeys(kept + terms[place][: max(1, len(terms[place]) // 3)]))
        before = terms
        weights = 1 + np.minimum(random.poisson(2.0, sum(map(len, terms))), GREATEST_WEIGHT - 1)
        yield _encoded(begin, terms, weights, kinds)


def given(folder: Path) -> Iterator[list[bytes]]:
    """Yield the pieces of ``pieces.ndjson`` or ``pieces.ndjson.gz`` in a folder, in batches."""
    path = next(path for path in (folder / "pieces.ndjson.gz", folder / "pieces.ndjson") if path.exists())
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        batch: list[bytes] = []
        for line in file:
            batch.append(line.strip())
            if len(batch) == BATCH:
                yield batch
                batch = []
        if batch:
            yield batch


def ids_of(batch: Sequence[bytes]) -> list[str]:
    """Return the ids of pieces."""
    return [json.loads(piece)["id"] for piece in batch]


def _slope(kind: MadeCategory) -> NDArray[np.float64]:
    frequencies = (np.arange(kind.keywords) + 2.0) ** -kind.exponent
    return np.cumsum(frequencies / frequencies.sum())


def _draw(random: np.random.Generator, kind: MadeCategory, slope: NDArray[np.float64], count: int) -> list[list[int]]:
    many = np.clip(random.poisson(kind.mean - 1, count) + 1, 1, kind.most)
    keywords = np.minimum(np.searchsorted(slope, random.random(int(many.sum()))), kind.keywords - 1).tolist()
    ends = np.cumsum(many).tolist()
    return [list(dict.fromkeys(keywords[end - n : end])) for end, n in zip(ends, many.tolist(), strict=True)]


def _encoded(
    begin: int, terms: Sequence[Sequence[tuple[int, int]]], weights: NDArray[np.int64], kinds: Sequence[MadeCategory]
) -> list[bytes]:
    """Return pieces as JSON: every tenth in the catalog ``tenth``, every hundredth in ``hundredth``."""
    encoded = []
    rest = iter(weights.tolist())
    for place, own in enumerate(terms, begin):
        lists: dict[str, list[str]] = {}
        for category, keyword in own:
            name = kinds[category].name
            lists.setdefault(name, []).append(f'{{"key":"{name} {keyword}","weight":{next(rest)}}}')
        body = ",".join(f'"{name}":[{",".join(keywords)}]' for name, keywords in lists.items())
        catalogs = '"all"' + (',"tenth"' if place % 10 == 3 else "") + (',"hundredth"' if place % 100 == 7 else "")
        filters = f'"filters":{{"catalogs":[{catalogs}]}}'
        encoded.append(f'{{"id":"piece-{place:08}","categories":{{{body}}},{filters}}}'.encode())
    return encoded
