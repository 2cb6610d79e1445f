"""Definitions of the searches in plain numpy: served until the kernels are compiled, and tested against bit by bit.

A hundred times slower at a million pieces, as fast at ten thousand. They also add up what no integer sum holds.
"""

import numpy as np

from penchant_engine.index.best import Hits, Keys, allowed_rows, smallest
from penchant_engine.index.layout import (
    DISTANCE_SCALE,
    DOT,
    SCORE_SCALE,
    BlendFactors,
    Choice,
    FloatArray,
    IntArray,
    KernelQuery,
    Norms,
    PersonBlends,
    PieceFeatures,
    Postings,
    Taste,
)


def nearest(query: KernelQuery, postings: Postings, norms: Norms, choice: Choice) -> Hits:
    """Return the nearest pieces: rounded distances as integers, and rows."""
    return smallest(distances(query, postings, norms, allowed_rows(choice.mask, choice.excluded)), choice)


def distances(query: KernelQuery, postings: Postings, norms: Norms, rows: IntArray) -> Keys:
    """Return the distances, rounded to integers, of those of some pieces that have a term of a query."""
    # Products and sums of integers, exact in doubles below 2^53 in any order. A piece is in a posting once.
    sums = np.zeros(len(norms.exact))
    for term, value in zip(query.terms.tolist(), query.values.tolist(), strict=True):
        cut = slice(postings.starts[term], postings.starts[term + 1])
        sums[postings.pieces[cut]] += value * postings.weights[cut].astype(np.float64) if query.mode == DOT else value
    rows = rows[sums[rows] > 0]
    total, exact = sums[rows], norms.exact[rows].astype(np.float64)
    similarity = total / (np.sqrt(query.norm * exact) if query.mode == DOT else query.norm + exact - total)
    return np.maximum(0, np.rint((1.0 - similarity) * DISTANCE_SCALE).astype(np.int64)), rows


def best(taste: Taste, blending: BlendFactors, postings: Postings, figures: PieceFeatures, choice: Choice) -> Hits:
    """Return the best recommendations: minus the rounded scores as integers, and rows."""
    rows = allowed_rows(choice.mask, choice.excluded)
    return smallest(scores(taste, blending, postings, figures, rows), choice)


def scores(taste: Taste, blending: BlendFactors, postings: Postings, figures: PieceFeatures, rows: IntArray) -> Keys:
    """Return minus the scores of some pieces, rounded to integers."""
    # Doubles that round: terms one after the other, as the kernel adds them, or scores would differ in the last bits.
    sums = np.zeros(len(figures.roots))
    for term, value in zip(taste.terms.tolist(), taste.values.tolist(), strict=True):
        cut = slice(postings.starts[term], postings.starts[term + 1])
        sums[postings.pieces[cut]] += value * taste.table[postings.weights[cut]]
    return scored(sums[rows], taste, blending, figures, rows)


def scored(dots: FloatArray, taste: Taste, blending: BlendFactors, figures: PieceFeatures, rows: IntArray) -> Keys:
    """Return minus the scores of some pieces with these dot products, rounded to integers."""
    liked = figures.audience.by_row(len(figures.roots))[rows] if len(figures.audience.rows) else 0.0
    divisors = taste.norm * (figures.roots[rows] + taste.mean_norm / 2)
    return -blended(dots, divisors, liked, figures.popular[rows], blending), rows


def blended(
    dots: FloatArray,
    divisors: FloatArray,
    liked: FloatArray | float,
    popular: FloatArray | float,
    blending: BlendFactors | PersonBlends,
) -> IntArray:
    """Return s in its unit from dot products and what they are divided by, part a and part p.

    Of many pieces and one person, or of one piece and many people.
    """
    content = np.divide(dots, divisors, out=np.zeros_like(dots), where=divisors > 0)
    mixed = blending.content * content + blending.audience * liked + blending.popularity * popular
    units: IntArray = np.rint(mixed / blending.total * SCORE_SCALE).astype(np.int64)
    return units


def overlaps(terms: IntArray, asked: int, starts: IntArray, postings: Postings, rows: IntArray) -> Keys:
    """Return how much some pieces overlap with a set of ``asked`` terms; ``terms`` are those that the segment has.

    Keys are minus the Jaccard similarities in the unit of scores.
    """
    shared = np.zeros(len(starts) - 1)
    for term in terms.tolist():
        shared[postings.pieces[postings.starts[term] : postings.starts[term + 1]]] += 1
    own = shared[rows]
    union = asked + np.diff(starts)[rows] - own
    similarity = np.divide(own, union, out=np.zeros_like(own), where=union > 0)
    return -np.rint(similarity * SCORE_SCALE).astype(np.int64), rows
