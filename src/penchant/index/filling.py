"""Fill order: the pieces that nothing speaks for or against, newest days first, and within a day as chance has it.

Chance is a hash of the id and the date of a request (interface, section 10): everybody sees the same order on a day,
another one on the next, and nobody the alphabet (D184 of docs/decisions.md).
"""

from collections.abc import Sequence
from datetime import date
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from penchant.index.best import allowed_rows
from penchant.index.layout import IntArray
from penchant.index.masks import Filter
from penchant.index.part import Part
from penchant.index.queries import PartQuery
from penchant.index.snapshot import Snapshot

FillKey: TypeAlias = tuple[int, int, str]
"""Minus the UTC day from which a piece is shown, its hash, and its id; the least comes first."""
_FIRST_ORDINAL = date(1970, 1, 1).toordinal()


def fill_key(snapshot: Snapshot, piece_id: str, day: int) -> FillKey:
    """Return where a live piece stands in the order of a UTC day.

    Raises:
        LookupError: the snapshot has no such piece.
    """
    found = snapshot.find(piece_id)
    if found is None:
        raise LookupError(piece_id)
    part, row = found
    (key,) = _keys(part, np.array([row]), day)
    return key


def first_to_fill(parts: Sequence[Part], query: PartQuery, shown: Filter, day: int, take: int) -> list[FillKey]:
    """Return the first of the shown pieces whose key by a query is 0; costs a scan, and hashes of a day's pieces."""
    found = [key for part in parts for key in _first(part, _unspoken(part, query, shown), day, take)]
    return sorted(found)[:take]


def count_before(parts: Sequence[Part], query: PartQuery, shown: Filter, day: int, key: FillKey) -> int:
    """Return how many of the shown pieces whose key by a query is 0 come before one; costs as `first_to_fill`."""
    count = 0
    for part in parts:
        rows = _unspoken(part, query, shown)
        days = part.segment.days[rows]
        count += int(np.count_nonzero(days > -key[0]))
        count += sum(each < key for each in _keys(part, rows[days == -key[0]], day))
    return count


def _unspoken(part: Part, query: PartQuery, shown: Filter) -> IntArray:
    """Return the rows, ascending, of a part's shown pieces whose key is 0."""
    keys, rows = query.scan(part, allowed_rows(part.allowed(shown), query.excluded_in(part, shown)))
    neutral: IntArray = rows[keys == 0]
    return neutral


def _first(part: Part, rows: IntArray, day: int, take: int) -> list[FillKey]:
    """Return the keys of at least the first ones of a part's pieces, in no order."""
    days = part.segment.days[rows]
    if len(rows) > take:
        # Only pieces of the newest days can be among them, and only theirs are hashed.
        rows = rows[days >= np.partition(days, len(days) - take)[len(days) - take]]
    hashes = part.day_hashes.of(rows, _dated(day))
    order = np.lexsort((rows, hashes, -part.segment.days[rows].astype(np.int64)))[:take]
    return _keys(part, rows[order], day)


def _keys(part: Part, rows: IntArray, day: int) -> list[FillKey]:
    hashes: NDArray[np.uint64] = part.day_hashes.of(rows, _dated(day))
    days = -part.segment.days[rows].astype(np.int64)
    return list(zip(days.tolist(), hashes.tolist(), part.segment.ids.take(rows), strict=True))


def _dated(day: int) -> bytes:
    """Return what stands before an id in what is hashed: a UTC day as YYYY-MM-DD, and NUL."""
    return f"{date.fromordinal(day + _FIRST_ORDINAL).isoformat()}\0".encode()
