"""Fill order: the pieces that nothing speaks for or against, in the order of a day (`day_order`)."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from penchant_engine.index.best import allowed_rows
from penchant_engine.index.layout import IntArray
from penchant_engine.index.masks import Filter
from penchant_engine.index.part import Part
from penchant_engine.index.queries import PartQuery
from penchant_engine.index.snapshot import Snapshot
from penchant_engine.index.strings import Strings

FillKey: TypeAlias = tuple[int, int, str]
"""Minus the UTC day from which a piece is shown, its hash, and its id; the least comes first."""
_NO_ROWS = np.zeros(0, dtype=np.int64)


def fill_keys(snapshot: Snapshot, piece_ids: Sequence[str], day: int) -> list[FillKey]:
    """Return where live pieces stand in the order of a UTC day; in no order.

    Raises:
        LookupError: the snapshot lacks one of them.
    """
    numbers, rows = snapshot.locate(Strings.of(piece_ids))
    if (numbers < 0).any():
        raise LookupError(piece_ids)
    return [key for number, part in enumerate(snapshot.parts) for key in _keys(part, rows[numbers == number], day)]


def first_to_fill(parts: Sequence[Part], query: PartQuery, shown: Filter, day: int, take: int) -> list[FillKey]:
    """Return the first of the shown pieces whose key by a query is 0; mostly few have to be looked at."""
    found = [key for part in parts for key in _keys(part, _first(part, query, shown, day, take), day)]
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


def _first(part: Part, query: PartQuery, shown: Filter, day: int, take: int) -> IntArray:
    """Return the rows of the first ones of a part's pieces in the order of a day, no more than ``take``."""
    mask, excluded = part.allowed(shown), query.excluded_in(part, shown)
    found: list[IntArray] = [_NO_ROWS]
    missing = take
    for ordered in part.day_order.rows(day):
        rows = ordered[(mask[ordered] > 0) & ~np.isin(ordered, excluded)]
        keys, scanned = query.scan(part, np.sort(rows))
        found.append(rows[np.isin(rows, scanned[keys == 0])][:missing])
        missing -= len(found[-1])
        if missing == 0:
            break
    return np.concatenate(found)


def _keys(part: Part, rows: IntArray, day: int) -> list[FillKey]:
    hashes: NDArray[np.uint64] = part.day_order.hashes(rows, day)
    days = -part.segment.days[rows].astype(np.int64)
    return list(zip(days.tolist(), hashes.tolist(), part.segment.ids.take(rows), strict=True))
