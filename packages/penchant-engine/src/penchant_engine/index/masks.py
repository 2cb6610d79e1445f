"""Masks: the pieces of a segment that may be shown, a byte for each, made once for all requests with one filter."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from penchant_engine.attributes import (
    AttributeFilter,
    CatalogCondition,
    CategoryCondition,
    Clause,
    ClauseCondition,
    ClauseGroup,
    MarkCondition,
    TermCondition,
)
from penchant_engine.bounded_cache import keep_latest
from penchant_engine.index.arrays import is_first, run_places
from penchant_engine.index.building import term_key
from penchant_engine.index.layout import IntArray, Mask, Numbers
from penchant_engine.index.segment import Segment
from penchant_engine.model import Term

MAX_MASKS = 32
"""Masks kept for a segment beside the one of now, those used last: one for each channel, site or list with a filter,
and up to 16 for a list with boosts."""
MAX_BLACKLISTS = 4
"""Blacklists whose rows are kept for a segment: that of its source, and those before."""
ALWAYS = (np.iinfo(np.int64).min, np.iinfo(np.int64).max)


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which pieces may appear: in one of the catalogs, available at a moment (ms since 1970 UTC), not excluded.

    ``matching`` is a filter that has to hold for them. Pieces with a term of ``without`` may not appear.
    With ``among`` only these pieces may, with ``having`` only those with a term.
    Excluded is what is ``blacklisted``, a set that many requests share, and what is ``omitted`` from one request, such
    as pieces of its parameter ``exclude``, or was ``listed`` before, by marks (`mark_of`), one after the other.
    """

    moment: int
    catalogs: frozenset[str] | None = None
    matching: AttributeFilter | None = None
    blacklisted: frozenset[str] = frozenset()
    omitted: frozenset[str] = frozenset()
    listed: bytes = b""
    without: frozenset[Term] = frozenset()
    among: "CandidatePieces | None" = None
    having: Term | None = None


class CandidatePieces:
    """Pieces that are given by their ids, each once; looked up once in each segment. For one thread at a time."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = ids
        self._rows: dict[Segment, IntArray] = {}

    def rows_in(self, segment: Segment) -> IntArray:
        """Return the row of each piece in a segment, live or not, in the order of the ids; -1 for none."""
        rows = self._rows.get(segment)
        if rows is None:
            rows = self._rows[segment] = segment.ids.find_positions(self._ids)
        return rows

    def named(self, segment: Segment, rows: IntArray) -> list[str]:
        """Return the ids of those at some rows of a segment."""
        names = dict(zip(self.rows_in(segment).tolist(), self._ids, strict=True))
        return list(map(names.__getitem__, rows.tolist()))


class _WindowMask(NamedTuple):
    """A mask and the moments, from and until, for which it holds."""

    mask: Mask
    since: int
    until: int


class Masks:
    """The masks of one segment with its live pieces; what it remembers changes no answer.

    A mask holds from the last beginning or end of a window to the next one. Threads may make the same one at once.
    """

    def __init__(self, segment: Segment, live: Mask, available: _WindowMask | None = None) -> None:
        self._segment = segment
        self._live = live
        self._now = available
        self._kept: dict[tuple[frozenset[str] | None, AttributeFilter | None, int], Mask] = {}

    def without(self, gone: IntArray, live: Mask) -> "Masks":
        """Return the masks after pieces are gone, which ``live`` leaves out already."""
        # Windows are of all pieces of the segment, live or not, so this one stays.
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
        """Return which pieces are live, available, in the catalogs, with and without some terms, among some ids.

        `Part.excluded` has the rest.
        """
        mask = self._offered(shown)
        if shown.having is not None:
            mask = _only(mask, self._segment.having(term_key(*shown.having)))
        if shown.among is not None:
            own = shown.among.rows_in(self._segment)
            mask = _only(mask, own[own >= 0])
        if shown.without:
            mask = mask.copy()
            for term in shown.without:
                mask[self._segment.having(term_key(*term))] = 0
        return mask

    def _offered(self, shown: Filter) -> Mask:
        """Return which pieces are live, available, in the catalogs, and what the filter holds for."""
        available = self._available(shown.moment)
        if shown.catalogs is None and shown.matching is None:
            return available.mask
        # A new window has a new key; masks of the old one go when there are too many.
        key = (shown.catalogs, shown.matching, available.since)
        mask = self._kept.get(key)
        if mask is None:
            mask = self._made(shown, available.mask)
        keep_latest(self._kept, key, mask, MAX_MASKS)
        return mask

    def _made(self, shown: Filter, available: Mask) -> Mask:
        """Return the mask of a filter that has catalogs, conditions, or both."""
        if shown.matching is None:
            mask = available.copy()
        else:
            mask = available & _matching(self._segment, shown.matching.clause)
        if shown.catalogs is not None:
            inside = np.zeros(len(self._segment), dtype=np.uint8)
            for name in shown.catalogs:
                inside[self._segment.catalog(name)] = 1
            mask &= inside
        return mask

    def window(self, moment: int) -> tuple[int, int]:
        """Return from when until before when the same pieces are available as at a moment; ms since 1970 UTC."""
        available = self._available(moment)
        return available.since, available.until

    def _available(self, moment: int) -> _WindowMask:
        # Read once, since another thread may replace it meanwhile.
        now = self._now
        if now is None or not now.since <= moment < now.until:
            now = _available(self._segment, self._live, moment)
            self._now = now
        return now


def _only(mask: Mask, rows: Numbers | IntArray) -> Mask:
    """Return a mask that lets through what another does of some rows alone."""
    chosen = np.zeros(len(mask), dtype=np.uint8)
    chosen[rows] = mask[rows]
    return chosen


def _available(segment: Segment, live: Mask, moment: int) -> _WindowMask:
    """Return what is live and available at a moment, and until when nothing begins or ends."""
    begun = segment.available_from <= moment
    ended = segment.available_until <= moment
    mask = live & begun.view(np.uint8)
    mask[segment.ending[ended]] = 0
    # The last beginning or end up to the moment, and the first one after it.
    begins, ends = segment.available_from, segment.available_until
    since = max(begins[begun].max(initial=ALWAYS[0]), ends[ended].max(initial=ALWAYS[0]))
    until = min(begins[~begun].min(initial=ALWAYS[1]), ends[~ended].min(initial=ALWAYS[1]))
    return _WindowMask(mask, int(since), int(until))


def _matching(segment: Segment, clause: Clause) -> Mask:
    """Return for which pieces of a segment a clause of a filter holds: passes over bytes, and over what is tested."""
    if not isinstance(clause, ClauseGroup):
        mask = np.zeros(len(segment), dtype=np.uint8)
        for rows in _meeting(segment, clause):
            mask[rows] = 1
        return mask
    mask = np.ones(len(segment), dtype=np.uint8)
    for each in clause.must:
        mask &= _matching(segment, each)
    if clause.should:
        either = np.zeros(len(segment), dtype=np.uint8)
        for each in clause.should:
            either |= _matching(segment, each)
        mask &= either
    for each in clause.must_not:
        mask &= _matching(segment, each) ^ 1
    return mask


def _meeting(segment: Segment, condition: ClauseCondition) -> Iterable[Numbers]:
    """Return the rows of a segment that meet a condition, in several runs."""
    match condition:
        case MarkCondition(spans=spans):
            return map(segment.marked, spans)
        case TermCondition(terms):
            return (segment.having(term_key(*each)) for each in terms)
        case CategoryCondition(category):
            return (segment.having_category(category),)
        case CatalogCondition(names):
            return map(segment.catalog, names)


def holds_for(segment: Segment, row: int, clause: Clause) -> bool:
    """Return whether a clause of a filter holds for one piece of a segment: what `_matching` says of it."""
    if not isinstance(clause, ClauseGroup):
        return any(bool((rows == row).any()) for rows in _meeting(segment, clause))
    return (
        all(holds_for(segment, row, each) for each in clause.must)
        and (not clause.should or any(holds_for(segment, row, each) for each in clause.should))
        and not any(holds_for(segment, row, each) for each in clause.must_not)
    )


class RowLookup:
    """The rows of pieces of a segment: by the ids of shared sets, looked up once for each set, and by marks of ids."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._kept: dict[frozenset[str], IntArray] = {}
        self._by_mark: tuple[NDArray[np.uint64], NDArray[np.int32], bool] | None = None

    def rows(self, ids: frozenset[str]) -> IntArray:
        """Return the rows, ascending, of those ids that the segment has."""
        if not ids:
            return _NO_ROWS
        rows = self._kept.get(ids)
        if rows is None:
            if len(self._kept) >= MAX_BLACKLISTS:
                self._kept = {}
            rows = self._kept[ids] = rows_of(self._segment, ids)
        return rows

    def marked(self, marks: NDArray[np.uint64]) -> tuple[IntArray, IntArray]:
        """Return the rows of the pieces that have some mark, and beside them the places of their marks, ascending."""
        # Worked out when it is first needed, and read once: another thread may write it meanwhile, and writes the same.
        found = self._by_mark
        if found is None:
            own = self._segment.ids.marks()
            order = np.argsort(own, kind="stable").astype(np.int32)
            ascending = own[order]
            found = self._by_mark = (ascending, order, bool(len(own) and is_first(ascending).all()))
        ascending, order, are_distinct = found
        begins = np.searchsorted(ascending, marks)
        if are_distinct:
            # As nearly always: one look for each mark is enough.
            here = np.flatnonzero(np.take(ascending, begins, mode="clip") == marks)
            return order[begins[here]].astype(np.int64), here
        counts = np.searchsorted(ascending, marks, "right") - begins
        return order[run_places(begins, counts)].astype(np.int64), np.repeat(np.arange(len(marks)), counts)


_NO_ROWS = np.zeros(0, dtype=np.int64)


def rows_of(segment: Segment, ids: frozenset[str]) -> IntArray:
    """Return the rows, ascending, of those ids that a segment has."""
    if not ids:
        return _NO_ROWS
    # A small segment asks for each of its pieces; else each id is looked up.
    if len(segment) < len(ids):
        return np.asarray([row for row, piece_id in enumerate(segment.ids) if piece_id in ids], dtype=np.int64)
    found = segment.ids.find_positions(ids)
    return np.sort(found[found >= 0])
