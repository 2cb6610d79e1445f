"""The index: a cache of a source's pieces that answers similarity exactly, and can always be rebuilt."""

from penchant.index.audience import Audience, Popular, SeedShare
from penchant.index.building import merge_segments
from penchant.index.layout import Blending, BoolArray, FloatArray, IntArray, Mask
from penchant.index.likes import SCOPE_ARRAYS, Likes, Scope
from penchant.index.masks import Filter
from penchant.index.part import Part
from penchant.index.personal import Person, Wanted, recommended
from penchant.index.segment import Segment
from penchant.index.snapshot import Merge, Neighbour, Snapshot
from penchant.index.tally import Tally

__all__ = [
    "SCOPE_ARRAYS",
    "Audience",
    "Blending",
    "BoolArray",
    "Filter",
    "FloatArray",
    "IntArray",
    "Likes",
    "Mask",
    "Merge",
    "Neighbour",
    "Part",
    "Person",
    "Popular",
    "Scope",
    "SeedShare",
    "Segment",
    "Snapshot",
    "Tally",
    "Wanted",
    "merge_segments",
    "recommended",
]
