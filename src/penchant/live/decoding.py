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
    build_segment,
    merge_segments,
    read_pieces,
    segment_of,
)
from penchant.model import PieceFilters
from penchant.storage import PieceChange
from penchant.wire import STORED_FORM, decode_stored_filters, decode_stored_marks, decode_stored_piece

LEAST_READ = 50
"""Pieces from which the kernel is worth its preparations."""
_FORM = BodyForm(*(np.frombuffer(each, dtype=np.uint8) for each in STORED_FORM))


def segment_of_changes(
    changes: Sequence[PieceChange], attributes: Sequence[Attribute] = (), names: Strings = NO_ATTRIBUTES
) -> Segment:
    """Return the segment of stored pieces, whose ids are distinct; the same whether the kernel is ready or not.

    ``attributes`` are those by which the pieces are marked, ``names`` those that the segment tells.
    """

    def built(some: Sequence[PieceChange]) -> Segment:
        return build_segment(
            (decode_stored_piece(change.body, change.first_submitted_at, attributes) for change in some), names
        )

    ordered = sorted(changes, key=lambda change: change.id)
    found = _read(ordered, attributes) if len(changes) >= LEAST_READ else None
    if found is None:
        return built(ordered)
    columns, unusual = found
    segment = segment_of(columns, names)
    if not unusual:
        return segment
    return merge_segments([(part, np.ones(len(part), dtype=np.uint8)) for part in (segment, built(unusual))])


def _read(
    changes: Sequence[PieceChange], attributes: Sequence[Attribute]
) -> tuple[PieceColumns, list[PieceChange]] | None:
    """Return what the kernel has read of pieces, and those that it leaves to be decoded; ``None``: it is not ready."""
    bodies = [change.body for change in changes]
    starts = np.asarray([0, *itertools.accumulate(map(len, bodies))], dtype=np.int64)
    text = b"".join([*bodies, b"\0"])
    read = read_pieces(text, starts, _FORM)
    if read is None:
        return None
    pairs, cuts, terms = read
    known = pairs.filters[:, 0] >= 0
    usual = list(itertools.compress(changes, known.tolist()))
    filters = _filters(text, pairs.filters[known].tolist())
    columns = PieceColumns(
        ids=[change.id for change in usual],
        terms=Strings(cuts, terms).all_encoded(),
        counts=pairs.counts[known],
        piece_terms=pairs.terms,
        piece_weights=pairs.weights,
        weighted=pairs.weighted[known],
        available_from=np.asarray(
            [
                change.first_submitted_at if shown.available_from is None else shown.available_from
                for change, shown in zip(usual, filters, strict=True)
            ],
            dtype=np.int64,
        ),
        filters=filters,
        marks=[decode_stored_marks(change.body, attributes) for change in usual] if attributes else (),
    )
    return columns, list(itertools.compress(changes, (~known).tolist()))


def _filters(text: bytes, places: Sequence[Sequence[int]]) -> list[PieceFilters]:
    """Return the filters that begin and end at these places of a text."""
    # Most catalogues have few different ones.
    decoded: dict[bytes, PieceFilters] = {}
    found: list[PieceFilters] = []
    for begin, end in places:
        written = text[begin:end]
        shown = decoded.get(written)
        if shown is None:
            shown = decoded[written] = decode_stored_filters(written)
        found.append(shown)
    return found
