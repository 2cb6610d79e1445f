"""Event codes: what the code of an interaction says, as tables that whole columns of codes are looked up in.

A code has the type below and what the portion lacks above (`penchant_engine.model.event_code`), so there are few of
them, and under any settings each has one weight and one grade. The tables of settings are made once and never
written to.
"""

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penchant_engine.index.layout import BoolArray, CodeTables, FloatArray
from penchant_engine.model import (
    CODE_BITS,
    TYPE_BITS,
    TYPE_MASK,
    WHOLE,
    InteractionType,
    RankingSettings,
    grades_of_weight,
)

CODES = 1 << CODE_BITS
LACKS_MASK = (CODES - 1) & ~TYPE_MASK
"""The bits of a code that say what its portion lacks, 0 for the whole."""
AGES = 512
"""Ages in days that are worked out at a time."""
_WeightsByType = tuple[float, ...]


def _whatever_portion(kinds: set[InteractionType]) -> BoolArray:
    """Return a mask of the codes of some types."""
    return np.isin(np.arange(CODES) & TYPE_MASK, [kind.code for kind in kinds])


_IS_RATING = _whatever_portion({kind for kind in InteractionType if kind.is_rating})
_MARKS_SEEN = _whatever_portion({kind for kind in InteractionType if kind.marks_seen})


def are_ratings(codes: NDArray[Any]) -> BoolArray:
    """Return which interactions are ratings, by their codes."""
    found: BoolArray = _IS_RATING[codes]
    return found


def marks_seen(codes: NDArray[Any]) -> BoolArray:
    """Return which interactions mark a piece as seen, by their codes."""
    found: BoolArray = _MARKS_SEEN[codes]
    return found


def grades_by_code(settings: RankingSettings) -> NDArray[np.uint8]:
    """Return the grade of a like by code, 0 for those that make no like."""
    return _grades(settings.type_weights)


def weights_by_code(settings: RankingSettings) -> FloatArray:
    """Return the weight of an interaction by code: that of its type times its portion."""
    return _weights(settings.type_weights)


def code_tables(settings: RankingSettings, greatest: int) -> CodeTables:
    """Return what kernels take of settings, for ages in days up to the greatest one at least; never written to."""
    return _code_tables(settings.type_weights, age_count(greatest), settings.half_life_days)


def halved(greatest: int, half_life_days: float) -> FloatArray:
    """Return what is left of a weight by age in days, up to the greatest one at least; never written to."""
    return _halved(age_count(greatest), half_life_days)


def age_count(greatest: int) -> int:
    """Return of how many ages, from 0 on, a table is that has the greatest one: so many that it is mostly the same."""
    return greatest // AGES * AGES + AGES


@functools.lru_cache(maxsize=64)
def _grades(weights: _WeightsByType) -> NDArray[np.uint8]:
    table = np.zeros(CODES, dtype=np.uint8)
    for kind, weight in zip(InteractionType, weights, strict=True):
        if weight > 0:
            table[kind.code : WHOLE << TYPE_BITS : 1 << TYPE_BITS] = grades_of_weight(weight)[:0:-1]
    return table


@functools.lru_cache(maxsize=64)
def _weights(weights: _WeightsByType) -> FloatArray:
    table = np.zeros(CODES)
    portions = np.arange(WHOLE, 0, -1) / WHOLE
    for kind, weight in zip(InteractionType, weights, strict=True):
        table[kind.code : WHOLE << TYPE_BITS : 1 << TYPE_BITS] = weight * portions
    return table


@functools.lru_cache(maxsize=8)
def _halved(ages: int, half_life_days: float) -> FloatArray:
    # By Python's power: numpy's differs in the last bit.
    return np.asarray([2.0 ** (-age / half_life_days) for age in range(ages)], dtype=np.float64)


@functools.lru_cache(maxsize=64)
def _code_tables(weights: _WeightsByType, ages: int, half_life_days: float) -> CodeTables:
    halves = _halved(ages, half_life_days) if half_life_days else np.ones(1)
    return CodeTables(_weights(weights), _grades(weights), _IS_RATING, _MARKS_SEEN, halves)
