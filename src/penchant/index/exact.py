"""Definitions of the searches in plain numpy: served until the kernels are compiled, and tested against bit by bit.

A hundred times slower at a million pieces, as fast at ten thousand. They also add up what no integer sum holds.
"""

import numpy as np

from penchant.index.best import Hits, smallest
from penchant.index.layout import (
    DISTANCE_SCALE,
    DOT,
    SCORE_SCALE,
    BlendFactors,
    BoolArray,
    Choice,
    IntArray,
    KernelQuery,
    Norms,
    PieceFigures,
    Postings,
    Taste,
)


def nearest(query: KernelQuery, postings: Postings, norms: Norms, choice: Choice) -> Hits:
    """Return the nearest pieces: rounded distances as integers, and rows."""
    # Products and sums of integers, exact in doubles below 2^53 in any order. A piece is in a posting once.
    sums = np.zeros(len(choice.mask))
    for term, value in zip(query.terms.tolist(), query.values.tolist(), strict=True):
        cut = slice(postings.starts[term], postings.starts[term + 1])
        sums[postings.pieces[cut]] += value * postings.weights[cut].astype(np.float64) if query.mode == DOT else value
    rows = allowed_rows(choice, sums > 0)
    total, exact = sums[rows], norms.exact[rows].astype(np.float64)
    similarity = total / (np.sqrt(query.norm * exact) if query.mode == DOT else query.norm + exact - total)
    keys = np.maximum(0, np.rint((1.0 - similarity) * DISTANCE_SCALE).astype(np.int64))
    return smallest(keys, rows, choice)


def best(taste: Taste, blending: BlendFactors, postings: Postings, figures: PieceFigures, choice: Choice) -> Hits:
    """Return the best recommendations: minus the rounded scores as integers, and rows."""
    # Doubles that round: terms one after the other, as the kernel adds them, or scores would differ in the last bits.
    sums = np.zeros(len(choice.mask))
    for term, value in zip(taste.terms.tolist(), taste.values.tolist(), strict=True):
        cut = slice(postings.starts[term], postings.starts[term + 1])
        sums[postings.pieces[cut]] += value * taste.table[postings.weights[cut]]
    divisor = taste.norm * (figures.roots + taste.mean_norm / 2)
    content = np.divide(sums, divisor, out=np.zeros_like(sums), where=divisor > 0)
    liked = figures.audience.by_row(len(sums))
    mixed = blending.content * content + blending.audience * liked + blending.popularity * figures.popular
    rows = allowed_rows(choice)
    return smallest(-np.rint(mixed[rows] / blending.total * SCORE_SCALE).astype(np.int64), rows, choice)


def overlapping(terms: IntArray, asked: int, starts: IntArray, postings: Postings, choice: Choice) -> Hits:
    """Return the pieces that overlap most with a set of ``asked`` terms; ``terms`` are those that the segment has.

    Keys are minus the Jaccard similarities in the unit of scores.
    """
    shared = np.zeros(len(choice.mask))
    for term in terms.tolist():
        shared[postings.pieces[postings.starts[term] : postings.starts[term + 1]]] += 1
    union = asked + np.diff(starts) - shared
    similarity = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    rows = allowed_rows(choice)
    return smallest(-np.rint(similarity[rows] * SCORE_SCALE).astype(np.int64), rows, choice)


def allowed_rows(choice: Choice, also: BoolArray | None = None) -> IntArray:
    """Return the rows, ascending, that a choice lets through, of those that ``also`` marks."""
    allowed = choice.mask > 0 if also is None else (choice.mask > 0) & also
    allowed[choice.excluded] = False
    return np.flatnonzero(allowed)
