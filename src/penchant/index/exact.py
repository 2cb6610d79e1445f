"""What exactly do the kernels compute? The same in plain numpy: served until they are compiled, and tested against.

A hundred times slower at a million pieces, as fast at ten thousand. It also counts what no integer sum holds.
"""

import numpy as np

from penchant.index.layout import (
    DISTANCE_SCALE,
    DOT,
    LIKE_SCALE,
    NEW_CONTENT_SHARE,
    OVERLAP_SCALE,
    SCORE_SCALE,
    SQUARE_SCALE,
    Blending,
    BoolArray,
    Choice,
    Crowd,
    Figures,
    FloatArray,
    IntArray,
    Norms,
    Postings,
    Query,
    Taste,
)

Best = tuple[IntArray, IntArray]
"""Keys, ascending, and the places they belong to; equal keys by ascending place."""


def nearest(query: Query, postings: Postings, norms: Norms, choice: Choice) -> Best:
    """Return the nearest pieces: rounded distances as integers, and places."""
    sums = np.zeros(len(choice.mask))
    for term, value in zip(query.terms.tolist(), query.values.tolist(), strict=True):
        cut = slice(postings.starts[term], postings.starts[term + 1])
        sums[postings.pieces[cut]] += value * postings.weights[cut].astype(np.float64) if query.mode == DOT else value
    places = _allowed(choice, sums > 0)
    total, exact = sums[places], norms.exact[places].astype(np.float64)
    similarity = total / (np.sqrt(query.norm * exact) if query.mode == DOT else query.norm + exact - total)
    keys = np.maximum(0, np.rint((1.0 - similarity) * DISTANCE_SCALE).astype(np.int64))
    return smallest(keys, places, choice)


def best(taste: Taste, blending: Blending, postings: Postings, figures: Figures, choice: Choice) -> Best:
    """Return the best recommendations: minus the rounded scores as integers, and places."""
    sums = np.zeros(len(choice.mask))
    for term, value in zip(taste.terms.tolist(), taste.values.tolist(), strict=True):
        cut = slice(postings.starts[term], postings.starts[term + 1])
        sums[postings.pieces[cut]] += value * taste.table[postings.weights[cut]]
    divisor = taste.norm * (figures.roots + taste.mean_norm / 2)
    content = np.divide(sums, divisor, out=np.zeros_like(sums), where=divisor > 0)
    ages = np.clip(blending.today - figures.days.astype(np.int64), 0, len(blending.credits) - 1)
    credit = blending.credits[ages]
    audience = np.maximum(figures.audience, credit * NEW_CONTENT_SHARE * content)
    popularity = np.maximum(figures.popular, credit * blending.median)
    mixed = blending.content * content + blending.audience * audience + blending.popularity * popularity
    places = _allowed(choice)
    return smallest(-np.rint(mixed[places] / blending.total * SCORE_SCALE).astype(np.int64), places, choice)


def overlapping(terms: IntArray, asked: int, starts: IntArray, postings: Postings, choice: Choice) -> Best:
    """Return the pieces that overlap most with ``asked`` terms, of which these are known here.

    Keys are minus the Jaccard similarities in the unit of scores.
    """
    shared = np.zeros(len(choice.mask))
    for term in terms.tolist():
        shared[postings.pieces[postings.starts[term] : postings.starts[term + 1]]] += 1
    union = asked + np.diff(starts) - shared
    similarity = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    places = _allowed(choice)
    return smallest(-np.rint(similarity[places] * SCORE_SCALE).astype(np.int64), places, choice)


def overlaps(crowd: Crowd, seeds: IntArray, values: FloatArray, piece_count: int) -> tuple[IntArray, float]:
    """Return how a person's audience overlaps with each piece's, over its norm, in `OVERLAP_SCALE`, and the norm.

    A person who likes several seeds adds up their values, in the order of the seeds.
    """
    sums, found = np.zeros(len(crowd.inverse)), np.zeros(piece_count, dtype=np.int64)
    for seed, value in zip(seeds.tolist(), values.tolist(), strict=True):
        sums[crowd.piece_people[crowd.piece_starts[seed] : crowd.piece_starts[seed + 1]]] += value
        sums[crowd.more_people[crowd.more_piece_starts[seed] : crowd.more_piece_starts[seed + 1]]] += value
    inverse = crowd.inverse / LIKE_SCALE
    squares = sums * sums * inverse
    greatest = float(squares.max(initial=0.0))
    if not greatest:
        return found, 0.0
    total = int(np.rint(squares / greatest * SQUARE_SCALE).astype(np.int64).sum())
    norm = float(np.sqrt(total / SQUARE_SCALE * greatest))
    weights = np.rint(sums * inverse / norm * OVERLAP_SCALE).astype(np.int64)
    for person in np.flatnonzero(weights).tolist():
        found[crowd.pieces[crowd.starts[person] : crowd.ends[person]]] += weights[person]
        found[crowd.more_pieces[crowd.more_starts[person] : crowd.more_starts[person + 1]]] += weights[person]
    return found, norm


def smallest(keys: IntArray, places: IntArray, choice: Choice) -> Best:
    """Return the smallest keys below the limit with their places, equal keys by place."""
    near = keys < choice.limit
    if len(keys) > choice.take:
        near &= keys <= np.partition(keys, choice.take - 1)[choice.take - 1]
    keys, places = keys[near], places[near]
    order = np.argsort(keys, kind="stable")[: choice.take]
    return keys[order], places[order]


def _allowed(choice: Choice, also: BoolArray | None = None) -> IntArray:
    allowed = choice.mask > 0 if also is None else (choice.mask > 0) & also
    allowed[choice.skipped] = False
    return np.flatnonzero(allowed)
