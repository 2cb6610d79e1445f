"""Which pieces of a segment may be shown? One byte a piece, made once for all requests that ask alike."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from penchant.index.layout import IntArray, Mask
from penchant.index.segment import Segment
from penchant.index.strings import Strings

MAX_MASKS = 16
"""Masks kept for a segment beside the one of now: one for each channel or site that filters by catalogs."""
MAX_HIDDEN = 4
"""Sets of hidden ids whose places are kept for a segment: its blacklist, and the one before."""
ALWAYS = (np.iinfo(np.int64).min, np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which pieces may appear: in one of the catalogs, available at a moment (ms since 1970 UTC), not hidden.

    ``hidden`` is for sets that many requests share, ``seen`` for those of one request.
    """

    moment: int
    catalogs: frozenset[str] | None = None
    hidden: frozenset[str] = frozenset()
    seen: frozenset[str] = frozenset()


class _Available(NamedTuple):
    """A mask and the moments, from and until, for which it holds."""

    mask: Mask
    since: int
    until: int


class Masks:
    """The masks of one segment with its live pieces; what it remembers changes no answer."""

    def __init__(self, segment: Segment, live: Mask, available: _Available | None = None) -> None:
        self._segment = segment
        self._live = live
        self._now = available
        self._kept: dict[tuple[frozenset[str], int], Mask] = {}

    def without(self, gone: IntArray, live: Mask) -> "Masks":
        """Return the masks after pieces are gone; ``live`` tells so already."""
        if self._now is None:
            return Masks(self._segment, live)
        mask = self._now.mask.copy()
        mask[gone] = 0
        return Masks(self._segment, live, self._now._replace(mask=mask))

    @property
    def nbytes(self) -> int:
        """How much memory the masks take."""
        return (len(self._kept) + 2) * len(self._segment)

    def allowed(self, shown: Filter) -> Mask:
        """Return which pieces are live, available and in the catalogs; hidden ones are `skipped`'s."""
        available = self._available(shown.moment)
        if shown.catalogs is None:
            return available.mask
        place = (shown.catalogs, available.since)
        mask = self._kept.get(place)
        if mask is None:
            mask = np.zeros(len(self._segment), dtype=np.uint8)
            for name in shown.catalogs:
                inside = self._segment.catalog(name)
                mask[inside] = available.mask[inside]
            if len(self._kept) >= MAX_MASKS:
                self._kept = {}
            self._kept[place] = mask
        return mask

    def _available(self, moment: int) -> _Available:
        now = self._now
        if now is None or not now.since <= moment < now.until:
            now = _available(self._segment, self._live, moment)
            self._now = now
        return now


def _available(segment: Segment, live: Mask, moment: int) -> _Available:
    begun = segment.available_from <= moment
    ended = segment.available_until <= moment
    mask = live & begun.view(np.uint8)
    mask[segment.ending[ended]] = 0
    begins, ends = segment.available_from, segment.available_until
    since = max(begins[begun].max(initial=ALWAYS[0]), ends[ended].max(initial=ALWAYS[0]))
    until = min(begins[~begun].min(initial=ALWAYS[1]), ends[~ended].min(initial=ALWAYS[1]))
    return _Available(mask, int(since), int(until))


class Places:
    """Where the ids of shared sets lie in a segment; found once for each set."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._kept: dict[frozenset[str], IntArray] = {}

    def of(self, ids: frozenset[str]) -> IntArray:
        """Return the places, ascending, of those ids that the segment has."""
        if not ids:
            return _NOWHERE
        known = self._kept.get(ids)
        if known is None:
            if len(self._kept) >= MAX_HIDDEN:
                self._kept = {}
            known = self._kept[ids] = places_of(self._segment, ids)
        return known


_NOWHERE = np.zeros(0, dtype=np.int64)


def places_of(segment: Segment, ids: frozenset[str]) -> IntArray:
    """Return the places, ascending, of those ids that a segment has."""
    if not ids:
        return _NOWHERE
    if len(segment) < len(ids):
        return np.asarray([place for place, known in enumerate(segment.ids) if known in ids], dtype=np.int64)
    found = segment.ids.find_all(Strings.of(ids))
    return np.sort(found[found >= 0])
