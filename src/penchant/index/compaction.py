"""Compaction: small segments of a snapshot merge into larger ones from the end, so that their number stays logarithmic.

100,000 | 20,000 | 4,000 | 900      and a change that stores 600 pieces:
100,000 | 20,000 | 4,000 | 1,500    900 and 600 merge; 4,000 is less than four times as many, so it does as well,
125,500                             and so on; mostly it ends sooner, and a piece is merged a logarithmic number
                                    of times
"""

from collections.abc import Callable, Iterable, Sequence

from penchant.index.layout import Mask
from penchant.index.part import Part
from penchant.index.segment import Segment

MERGE_RATIO = 4
"""A segment is merged with its successor unless it is this many times larger: keeps their number logarithmic
(D34 of docs/decisions.md)."""
SMALL_SEGMENT = 1_000
"""Pieces up to which merging costs the same fraction of a millisecond; below, everything is merged."""

Merge = Callable[[Sequence[tuple[Segment, Mask]]], Segment]


def compacted(parts: Iterable[Part], max_merged: int | None, merge: Merge) -> list[Part]:
    """Return the parts with small neighbours merged, and without those that have no live piece left.

    From left to right; each part merges with what lies before it for as long as they belong together.
    """
    kept: list[Part] = []
    for part in parts:
        if not part.live_count:
            continue
        kept.append(part)
        while len(kept) > 1 and _belong_together(kept[-2], kept[-1], max_merged):
            last = [kept.pop(-2), kept.pop()]
            kept.append(Part.whole(merge([(each.segment, each.live) for each in last])))
    return kept


def _belong_together(one: Part, other: Part, max_merged: int | None) -> bool:
    """Return whether neighbours are to be merged."""
    together = one.live_count + other.live_count
    if max_merged is not None and together > max_merged:
        return False
    return together <= SMALL_SEGMENT or len(one.segment) < MERGE_RATIO * len(other.segment)
