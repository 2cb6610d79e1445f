"""In which order are pieces recommended? Content, audience, popularity and newness, blended (interface, section 6).

Pure arithmetic on arrays that carry one entry a piece; where they come from is the caller's.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from penchant.model import Blend

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

SCORE_SCALE = 10**9
"""Scores are rounded to nine decimals and compared as integers of this unit."""
NEW_CONTENT_SHARE = 0.2
"""How much of its content part a wholly new piece is credited as audience."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Candidates:
    """Pieces in ascending order of ids; every array has shape (n_pieces,).

    ``allowed``: may be shown. ``live``: counts in the source's figures. ``content``: part c. ``people``: how
    many people like it. ``age_days``: UTC days since it became available, negative before.
    """

    ids: Sequence[str]
    allowed: BoolArray
    live: BoolArray
    content: FloatArray
    people: FloatArray
    age_days: IntArray


@dataclass(frozen=True, slots=True)
class Ranked:
    """A recommended piece: ``units`` is its s in units of 1e-9."""

    id: str
    units: int

    @property
    def score(self) -> float:
        """What is shown: 1 - max(0, s), so that lower is better."""
        return (SCORE_SCALE - max(0, self.units)) / SCORE_SCALE


def content_part(dots: FloatArray, norms: FloatArray, taste_norm: float, mean_norm: float) -> FloatArray:
    """Return c: the damped cosine of taste and piece; 0 where either is empty."""
    divisor = taste_norm * (norms + mean_norm / 2)
    return np.divide(dots, divisor, out=np.zeros_like(dots), where=divisor > 0)


def overlap_part(shared: FloatArray, sizes: FloatArray, liked: int) -> FloatArray:
    """Return the Jaccard similarity of each piece's terms and the ``liked`` terms of a person."""
    union = liked + sizes - shared
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)


def blended(candidates: Sequence[Candidates], blend: Blend, half_life_days: float) -> list[FloatArray]:
    """Return s of all candidates: the weighted mean of content, audience and popularity, with start credit.

    The audience part counts as 0 for now, but for the credit of new pieces.
    """
    popularity = _popularity_parts(candidates)
    liked = [
        value
        for p, each in zip(popularity, candidates, strict=True)
        for value in p[each.live & (each.people > 0)].tolist()
    ]
    median = statistics.median(liked) if liked else 0.0
    start = start_credits(candidates, half_life_days)
    total = blend.content + blend.audience + blend.popularity
    scores = []
    for each, p, credit in zip(candidates, popularity, start, strict=True):
        audience = np.maximum(0.0, credit * NEW_CONTENT_SHARE * each.content)
        popular = np.maximum(p, credit * median)
        scores.append((blend.content * each.content + blend.audience * audience + blend.popularity * popular) / total)
    return scores


def start_credits(candidates: Sequence[Candidates], half_life_days: float) -> list[FloatArray]:
    """Return r of all candidates: newness, less as more of the source is new; 0 where the half-life is 0."""
    if not half_life_days:
        return [np.zeros(len(each.ids)) for each in candidates]
    newness = [2.0 ** (-np.maximum(0, each.age_days) / half_life_days) for each in candidates]
    counted = [new[each.live & (each.age_days >= 0)] for new, each in zip(newness, candidates, strict=True)]
    count = sum(len(values) for values in counted)
    mean = math.fsum(value for values in counted for value in values.tolist()) / count if count else 0.0
    return [new * (1 - mean) for new in newness]


def best(candidates: Sequence[Candidates], scores: Sequence[FloatArray], take: int, *, fill: bool) -> list[Ranked]:
    """Return the best allowed pieces: by s rounded to nine decimals, descending, ties by ascending id.

    Without ``fill`` those with s of 0 or less are left out.
    """
    found: list[tuple[int, str]] = []
    for each, score in zip(candidates, scores, strict=True):
        positions = np.flatnonzero(each.allowed)
        units: IntArray = np.rint(score[positions] * SCORE_SCALE).astype(np.int64)
        if not fill:
            positions, units = positions[units > 0], units[units > 0]
        order = np.argsort(-units, kind="stable")[:take]
        found += [
            (-unit, each.ids[place])
            for unit, place in zip(units[order].tolist(), positions[order].tolist(), strict=True)
        ]
    found.sort()
    return [Ranked(piece_id, -negative) for negative, piece_id in found[:take]]


def promoted(ids: Sequence[str], whitelist: Sequence[str]) -> list[str]:
    """Return ids with those on the whitelist first, in its order, the others after them in theirs."""
    present = set(ids)
    first = [piece_id for piece_id in whitelist if piece_id in present]
    raised = set(first)
    return first + [piece_id for piece_id in ids if piece_id not in raised]


def _popularity_parts(candidates: Sequence[Candidates]) -> list[FloatArray]:
    greatest = max((float(each.people[each.live].max()) for each in candidates if each.live.any()), default=0.0)
    if not greatest:
        return [np.zeros(len(each.ids)) for each in candidates]
    return [np.log1p(each.people) / math.log1p(greatest) for each in candidates]
