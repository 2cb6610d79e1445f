"""Standing: the key of a piece by any measure, how many others are ahead of it, and where and when it may be shown.

By full scans in numpy, for single questions: two passes where a list takes a fraction of one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from penchant.attributes import AttributeFilter
from penchant.index.best import allowed_rows, count_better
from penchant.index.masks import Filter
from penchant.index.part import Part
from penchant.index.queries import PartQuery, Scan
from penchant.index.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """Where and when a piece may be shown: its catalogs, ascending, and its window in ms since 1970 UTC."""

    catalogs: tuple[str, ...]
    available_from: int
    available_until: int | None


class PiecePosition(NamedTuple):
    """Where a piece would stand among those that a filter shows: behind lesser keys, and by its id among equal ones.

    With an id of "" it is the first of its key.
    """

    shown: Filter
    key: int
    piece_id: str

    def row_in(self, part: Part) -> int:
        """Return the row that a piece of this id has in a part, or would have."""
        return part.segment.ids.position(self.piece_id)


def offer_of(snapshot: Snapshot, piece_id: str) -> Availability | None:
    """Return where and when a live piece may be shown, or ``None`` for an unknown one."""
    found = snapshot.find(piece_id)
    if found is None:
        return None
    part, row = found
    segment = part.segment
    ending = int(np.searchsorted(segment.ending, row))
    ends = ending < len(segment.ending) and int(segment.ending[ending]) == row
    return Availability(
        catalogs=tuple(name for name in segment.catalogs if _holds(segment.catalog(name), row)),
        available_from=int(segment.available_from[row]),
        available_until=int(segment.available_until[ending]) if ends else None,
    )


def matches(snapshot: Snapshot, piece_id: str, matching: AttributeFilter) -> bool:
    """Return whether a filter by attributes holds for a live piece; ``False`` for an unknown one."""
    found = snapshot.find(piece_id)
    return found is not None and found[0].matches(found[1], matching)


def key_of(snapshot: Snapshot, piece_id: str, scan: Scan) -> int | None:
    """Return the key by which a scan orders a live piece, or ``None`` where it never finds that."""
    found = snapshot.find(piece_id)
    if found is None:
        return None
    part, row = found
    keys, _ = scan(part, np.array([row]))
    return int(keys[0]) if len(keys) else None


def count_ahead(snapshot: Snapshot, positions: Sequence[PiecePosition], query: PartQuery) -> int:
    """Return how many of the pieces that a query may find come before these positions, all together."""
    return sum(_count_ahead_in(part, each, query) for each in positions for part in snapshot.parts)


def _count_ahead_in(part: Part, position: PiecePosition, query: PartQuery) -> int:
    rows = allowed_rows(part.allowed(position.shown), query.excluded_in(part, position.shown))
    # Of the same key those with a lesser id are ahead, which is told by their rows.
    return count_better(query.scan(part, rows), position.key, position.row_in(part))


def _holds(rows: np.ndarray, row: int) -> bool:
    at = int(np.searchsorted(rows, row))
    return at < len(rows) and int(rows[at]) == row
