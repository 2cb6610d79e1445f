"""Where does a piece stand that no list shows? Its key by any measure, how many are ahead of it, and where it may show.

By full scans in numpy, for single questions: two passes where a list takes a fraction of one.
"""

from dataclasses import dataclass

import numpy as np

from penchant.index.layout import NOWHERE, Choice
from penchant.index.masks import Filter
from penchant.index.snapshot import Scan, Snapshot

_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Where and when a piece may be shown: its catalogs, ascending, and its window in ms since 1970 UTC."""

    catalogs: tuple[str, ...]
    available_from: int
    available_until: int | None


def offer_of(snapshot: Snapshot, piece_id: str) -> Offer | None:
    """Return where and when a live piece may be shown, or ``None`` for an unknown one."""
    found = snapshot.find(piece_id)
    if found is None:
        return None
    part, place = found
    segment = part.segment
    ending = int(np.searchsorted(segment.ending, place))
    ends = ending < len(segment.ending) and int(segment.ending[ending]) == place
    return Offer(
        catalogs=tuple(name for name in segment.catalogs if _holds(segment.catalog(name), place)),
        available_from=int(segment.available_from[place]),
        available_until=int(segment.available_until[ending]) if ends else None,
    )


def key_of(snapshot: Snapshot, piece_id: str, scan: Scan) -> int | None:
    """Return the key by which a scan orders a live piece, or ``None`` where it never finds that."""
    found = snapshot.find(piece_id)
    if found is None:
        return None
    part, place = found
    alone = np.zeros(len(part.segment), dtype=np.uint8)
    alone[place] = 1
    keys, _ = scan(part, Choice(alone, _NONE, 1, NOWHERE))
    return int(keys[0]) if len(keys) else None


def count_ahead(snapshot: Snapshot, piece_id: str, key: int, shown: Filter, scan: Scan) -> int:
    """Return how many of the shown pieces come before this one: by lesser key, or by an equal key and lesser id."""
    ahead = 0
    for part in snapshot.parts:
        keys, places = scan(part, Choice(part.allowed(shown), part.skipped(shown), len(part.segment), key + 1))
        ahead += int(np.count_nonzero((keys < key) | (places < part.segment.ids.position(piece_id))))
    return ahead


def _holds(places: np.ndarray, place: int) -> bool:
    at = int(np.searchsorted(places, place))
    return at < len(places) and int(places[at]) == place
