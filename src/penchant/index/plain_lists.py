"""Plain lists: what many people like, what is new, and what has a key of its own. Each is a scan of all pieces."""

from collections.abc import Mapping, Sequence

import numpy as np

from penchant.index.best import Keys
from penchant.index.layout import DISTANCE_SCALE, FloatArray, IntArray
from penchant.index.part import Part
from penchant.index.queries import Scan
from penchant.index.strings import Strings
from penchant.model import DAY_MS


def popularity_scan(parts: Sequence[Part], shares: Sequence[FloatArray]) -> Scan:
    """Return the scan of what somebody likes, by 1 - p; ``shares`` are p of all pieces, an array for each part."""
    share_of = dict(zip(parts, shares, strict=True))

    def scan(part: Part, rows: IntArray) -> Keys:
        rows = rows[share_of[part][rows] > 0]
        return np.rint((1.0 - share_of[part][rows]) * DISTANCE_SCALE).astype(np.int64), rows

    return scan


def newness_scan(moment: int, half_life_days: float) -> Scan:
    """Return the scan of all pieces by age at a moment (ms since 1970 UTC), as age / (age + half-life).

    A quotient rather than a power of 2: it is the same double on every machine, and never reaches 1.
    """
    half_life = half_life_days * DAY_MS

    def scan(part: Part, rows: IntArray) -> Keys:
        ages = np.maximum(0, moment - part.segment.available_from[rows]).astype(np.float64)
        return np.rint(ages / (ages + half_life) * DISTANCE_SCALE).astype(np.int64), rows

    return scan


def score_scan(keys: Mapping[str, int]) -> Scan:
    """Return the scan of the pieces of these ids, by these keys."""
    ids = sorted(keys)
    names, values = Strings.of(ids), np.fromiter((keys[each] for each in ids), np.int64, len(ids))

    def scan(part: Part, rows: IntArray) -> Keys:
        own = part.segment.ids.find_all(names)
        found, places, _ = np.intersect1d(own[own >= 0], rows, assume_unique=True, return_indices=True)
        return values[own >= 0][places], found

    return scan
