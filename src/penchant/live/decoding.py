"""Decoding: stored pieces become a segment, by a kernel where it is ready, else piece by piece in Python."""

import itertools
from collections.abc import Sequence

import numpy as np

from penchant.attributes import Attribute
from penchant.index import (
    NO_ATTRIBUTES,
    BodyForm,
    PieceColumns,
    Segment,
    Strings,
    TermReader,
    build_segment,
    merge_segments,
    moments_of,
    segment_of,
)
from penchant.storage import PieceChange
from penchant.wire import STORED_FORM, decode_stored_filters, decode_stored_marks, decode_stored_piece

LEAST_READ = 50
"""Pieces from which the kernel is worth its preparations."""
_FORM = BodyForm(*(np.frombuffer(each, dtype=np.uint8) for each in STORED_FORM))


class PieceReader:
    """Reads stored pieces, whose ids are distinct, some thousands at a time, and makes one segment of all.

    It is the same whether the kernel is ready or not. ``attributes`` are those by which the pieces are marked,
    ``names`` those that the segment tells.
    """

    def __init__(self, attributes: Sequence[Attribute] = (), names: Strings = NO_ATTRIBUTES) -> None:
        self._attributes = attributes
        self._names = names
        self._terms = TermReader()
        self._columns: list[PieceColumns] = []
        self._decoded: list[Segment] = []
        self.count = 0

    def add(self, changes: Sequence[PieceChange]) -> None:
        """Read some pieces, none of which is deleted."""
        self.count += len(changes)
        left = changes if len(changes) < LEAST_READ else self._read(changes)
        if left:
            pieces = (decode_stored_piece(each.body, each.first_submitted_at, self._attributes) for each in left)
            self._decoded.append(build_segment(pieces, self._names))

    def anew(self) -> "PieceReader":
        """Return a reader for other pieces of the same source."""
        return PieceReader(self._attributes, self._names)

    def segment(self) -> Segment | None:
        """Return the segment of all pieces that were read; ``None`` if there were none."""
        if not self.count:
            return None
        segments = self._decoded
        if self._columns:
            segments = [segment_of(self._terms.terms(), self._columns, self._names), *segments]
        if len(segments) == 1:
            return segments[0]
        return merge_segments([(part, np.ones(len(part), dtype=np.uint8)) for part in segments])

    def _read(self, changes: Sequence[PieceChange]) -> Sequence[PieceChange]:
        """Have the kernel read pieces; return those that it leaves to be decoded: all where it is not ready."""
        bodies = [change.body for change in changes]
        starts = np.asarray([0, *itertools.accumulate(map(len, bodies))], dtype=np.int64)
        text = b"".join([*bodies, b"\0"])
        pairs = self._terms.read(text, starts, _FORM)
        if pairs is None:
            return changes
        is_read = pairs.filters[:, 0] >= 0
        usual = changes if is_read.all() else list(itertools.compress(changes, is_read.tolist()))
        # What pieces share is decoded once.
        firsts, filters_of = np.unique(pairs.alike[is_read], return_inverse=True)
        filters = [decode_stored_filters(text[begin:end]) for begin, end in pairs.filters[firsts].tolist()]
        has_begin, begins = moments_of([shown.available_from for shown in filters])
        submitted = np.asarray([change.first_submitted_at for change in usual], dtype=np.int64)
        columns = PieceColumns(
            ids=[change.id for change in usual],
            counts=pairs.counts[is_read],
            piece_terms=pairs.terms,
            piece_weights=pairs.weights,
            weighted=pairs.weighted[is_read],
            available_from=np.where(has_begin[filters_of], begins[filters_of], submitted),
            filters=filters,
            filters_of=filters_of,
            marks=[decode_stored_marks(change.body, self._attributes) for change in usual] if self._attributes else (),
        )
        self._columns.append(columns)
        return list(itertools.compress(changes, (~is_read).tolist()))
