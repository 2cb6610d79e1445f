"""Factors: what categories count, as integers, the norms of pieces under them, and what terms count by rarity."""

import functools
import math
from collections.abc import Mapping

import numpy as np

from penchant_engine.index.layout import SHARE_SCALE, FloatArray, IntArray
from penchant_engine.index.segment import Factors, Segment, sums_by_piece

FACTOR_SCALE = 100
"""Category weights have at most two decimals; as integers of this unit every sum stays exact."""
FREQUENCIES = 512
"""Document frequencies below which a term's rarity is looked up."""


def factors_of(segment: Segment, category_weights: Mapping[str, float]) -> Factors:
    """Return the category weights of a segment's categories as integers, reduced by what they have in common.

    Distances stay, numbers become small: where no category has a weight of its own every factor is 1.
    """
    if not category_weights:
        return (1,) * len(segment.category_names)
    # All factors are multiples of the unit, so the division leaves nothing.
    scale = factor_unit(category_weights)
    return tuple(round(category_weights.get(name, 1) * FACTOR_SCALE) // scale for name in segment.category_names)


def factor_unit(category_weights: Mapping[str, float]) -> int:
    """Return what a factor of 1 stands for, in hundredths: it depends on the settings alone, not on the pieces."""
    return math.gcd(FACTOR_SCALE, *(round(weight * FACTOR_SCALE) for weight in category_weights.values()))


def root_norms(segment: Segment, category_weights: Mapping[str, float]) -> FloatArray:
    """Return the norms of the square roots of weights, times category weight; shape (n_pieces,)."""
    norms = segment.norms(factors_of(segment, category_weights))
    return norms.scaled_roots(factor_unit(category_weights) / FACTOR_SCALE)


def rarities_of(frequencies: IntArray, count: int) -> FloatArray:
    """Return f = ln(1 + pieces / pieces that have it) by term, from the C library alone: numpy's differs by machine."""
    table = _rarity_table(count)
    rarities = table[np.minimum(frequencies, FREQUENCIES - 1)]
    frequent = np.flatnonzero(frequencies >= FREQUENCIES)
    rarities[frequent] = [math.log(1 + count / each) for each in frequencies[frequent].tolist()]
    return rarities


def values_of(
    segment: Segment, category_weights: Mapping[str, float], entries: IntArray | slice = slice(None)
) -> FloatArray:
    """Return x of entries of a segment, or all: the root of the weight, times category weight; shape (z,)."""
    values = np.sqrt(segment.piece_weights[entries].astype(np.float64))
    if not category_weights:
        return values
    factors = np.asarray([category_weights.get(name, 1) for name in segment.category_names], dtype=np.float64)
    weighted: FloatArray = values * factors[segment.category_of[segment.piece_terms[entries]]]
    return weighted


def unit_vectors(entries: FloatArray, starts: IntArray) -> IntArray:
    """Return the vectors of pieces, ``starts`` (n + 1,) cuts them out of ``entries`` (z,), of length 1; shape (z,).

    In `SHARE_SCALE`: of the roots of f times x they are z of the interface, section 6.
    """
    # Doubles up to here, in the order of the arrays; from the rounding on all is of integers.
    norms = np.sqrt(sums_by_piece(entries * entries, starts))
    divisors = np.repeat(norms, np.diff(starts))
    units = np.divide(SHARE_SCALE * entries, divisors, out=np.zeros_like(entries), where=divisors > 0)
    rounded: IntArray = np.rint(units).astype(np.int64)
    return rounded


@functools.lru_cache(maxsize=8)
def _rarity_table(count: int) -> FloatArray:
    """Return the rarities of so many pieces by frequency, which mostly is small; never written to."""
    return np.asarray([math.log(1 + count / max(1, each)) for each in range(FREQUENCIES)], dtype=np.float64)
