"""Parts: segments in a snapshot, each with a mask of the pieces that are live in it."""

from collections.abc import Hashable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from penchant_engine.bounded_cache import keep_latest
from penchant_engine.index.arrays import merged
from penchant_engine.index.day_order import DayOrder
from penchant_engine.index.layout import FloatArray, IntArray, Mask, ProfileDots
from penchant_engine.index.masks import Filter, Masks, RowLookup, rows_of
from penchant_engine.index.segment import Segment
from penchant_engine.index.strings import Strings, mark_numbers

NORM_SCALE = 1 << 38
"""Norms are added up as integers of 1 in so many, so that their mean does not depend on how pieces lie in segments:
fine enough for nine decimals of a score, coarse enough for 30 million fractions in 64 bits."""


MAX_TASTES = 4
"""Tastes whose dot products with the pieces a part keeps, those used last: a page has several lists of one person, and
the next page is asked for soon."""
MOST_DOTS = 32_768
"""Pieces of a part that keeps any."""


class Part:
    """A segment in a snapshot. ``live`` has shape (n_pieces,), uint8; it is never written to."""

    def __init__(
        self,
        segment: Segment,
        live: Mask,
        masks: Masks,
        row_lookup: RowLookup,
        day_order: DayOrder,
        gone: IntArray | None,
    ) -> None:
        self.segment = segment
        self.live = live
        self.live_count = int(np.count_nonzero(live))
        self._masks = masks
        self._row_lookup = row_lookup
        self.day_order = day_order
        self._gone = gone
        """How many pieces with each term are gone; shape (n_terms,), or ``None`` for none at all."""
        self._day_counts: Mapping[int, int] | None = None
        self._dots: dict[Hashable, ProfileDots] = {}

    @classmethod
    def whole(cls, segment: Segment) -> "Part":
        """Return a part with every piece live."""
        live = np.ones(len(segment), dtype=np.uint8)
        return cls(segment, live, Masks(segment, live), RowLookup(segment), DayOrder(segment), None)

    def without(self, ids: Strings) -> "Part":
        """Return the part without the pieces of these ids; itself where it has none of them."""
        rows = self.segment.ids.find_all(ids)
        rows = rows[rows >= 0]
        # Or terms of a piece that is gone already would be taken off once more.
        rows = rows[self.live[rows] > 0]
        if not len(rows):
            return self
        live = self.live.copy()
        live[rows] = 0
        gone = np.zeros(len(self.segment.terms), dtype=np.int64) if self._gone is None else self._gone.copy()
        for row in rows.tolist():
            gone[self.segment.piece(row)[0]] += 1
        return Part(self.segment, live, self._masks.without(rows, live), self._row_lookup, self.day_order, gone)

    def isolate(self) -> "Part":
        """Return the same pieces with a memory of their own for what is computed of them."""
        # `replace` shares the arrays and begins with no norms.
        return self.rebase_on(replace(self.segment))

    def rebase_on(self, segment: Segment) -> "Part":
        """Return the same pieces out of another segment that has the same rows."""
        return Part(segment, self.live, Masks(segment, self.live), RowLookup(segment), self.day_order, self._gone)

    @property
    def nbytes(self) -> int:
        """How much memory the part takes."""
        gone = 0 if self._gone is None else self._gone.nbytes
        dots = len(self._dots) * 8 * len(self.segment)
        return self.segment.nbytes + self.live.nbytes + self._masks.nbytes + gone + dots

    def find(self, piece_id: str) -> int | None:
        """Return the row of a live piece."""
        row = self.segment.ids.find(piece_id)
        return row if row is not None and self.live[row] else None

    def allowed(self, shown: Filter) -> Mask:
        """Return which pieces pass a filter but for what it excludes; shape (n_pieces,), never written to."""
        return self._masks.allowed(shown)

    def dots_of(self, taste: Hashable) -> ProfileDots | None:
        """Return the dot products of all pieces with a taste, or room for them; ``None`` where they are too many."""
        # Room is for the caller alone until `keep_dots`: another thread may search for the same person.
        known = self._dots.get(taste)
        if known is None and len(self.segment) <= MOST_DOTS:
            return ProfileDots(np.empty(len(self.segment)))
        return known

    def keep_dots(self, taste: Hashable, dots: ProfileDots) -> None:
        """Remember dot products with a taste, if they are known."""
        if dots.are_known:
            keep_latest(self._dots, taste, dots, MAX_TASTES)

    def marked(self, marks: NDArray[np.uint64]) -> tuple[IntArray, IntArray]:
        """Return the rows of the live pieces whose ids have some mark, and the places of these marks, ascending."""
        rows, places = self._row_lookup.marked(marks)
        is_live = self.live[rows] > 0
        return rows[is_live], places[is_live]

    def window(self, moment: int) -> tuple[int, int]:
        """Return from when until before when the same pieces are available as at a moment; ms since 1970 UTC."""
        return self._masks.window(moment)

    def excluded(self, shown: Filter, own: int | None = None) -> IntArray:
        """Return the rows, ascending, of what a filter excludes, and of the queried piece; some may come twice."""
        rows = self._row_lookup.rows(shown.blacklisted)
        if shown.omitted:
            rows = merged(rows, rows_of(self.segment, shown.omitted))
        if shown.listed:
            # Live or not: masks let through none that is gone.
            listed, _ = self._row_lookup.marked(mark_numbers(shown.listed))
            listed.sort()
            rows = merged(rows, listed)
        if own is not None:
            rows = np.insert(rows, np.searchsorted(rows, own), own) if len(rows) else np.array([own])
        return rows

    def ids_of(self, rows: IntArray, shown: Filter) -> list[str]:
        """Return the ids of the pieces at some rows, which a filter shows."""
        return self.segment.ids.take(rows) if shown.among is None else shown.among.named(self.segment, rows)

    def frequencies(self, terms: IntArray) -> IntArray:
        """Return how many live pieces have each of these terms; 0 for -1."""
        if not len(self.segment.terms):
            return np.zeros(len(terms), dtype=np.int64)
        starts = self.segment.posting_starts
        # -1 looks at term 0 for now.
        known = np.maximum(terms, 0)
        counts = starts[known + 1] - starts[known]
        if self._gone is not None:
            counts = counts - self._gone[known]
        return np.where(terms >= 0, counts, 0)

    def day_counts(self) -> Mapping[int, int]:
        """Return how many live pieces became available on each UTC day."""
        if self._day_counts is None:
            days = self.segment.days[self.live > 0]
            first = int(days.min(initial=0))
            counts = np.bincount(days.astype(np.int64) - first)
            self._day_counts = {first + int(day): int(counts[day]) for day in np.flatnonzero(counts)}
        return self._day_counts

    def norm_total(self, norms: FloatArray) -> tuple[int, int]:
        """Return the sum of the live pieces' norms, in units of 1 / `NORM_SCALE`, and how many have terms.

        Exact in integers, whole numbers and fractions apart so that neither overflows.
        """
        counted = norms[(self.live > 0) & (np.diff(self.segment.starts) > 0)]
        whole = np.floor(counted)
        fractions = np.rint((counted - whole) * NORM_SCALE).astype(np.int64)
        return int(whole.astype(np.int64).sum()) * NORM_SCALE + int(fractions.sum()), len(counted)
