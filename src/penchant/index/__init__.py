"""The index: a cache of a source's pieces that answers similarity exactly, and can always be rebuilt."""

from penchant.index.building import merge_segments
from penchant.index.layout import Blending, BoolArray, FloatArray, IntArray, Mask
from penchant.index.masks import Filter
from penchant.index.part import Part
from penchant.index.personal import Person, Wanted, recommended
from penchant.index.popularity import Popular, Popularity, PopularityView
from penchant.index.segment import Segment
from penchant.index.snapshot import Merge, Neighbour, Snapshot

__all__ = [
    "Blending",
    "BoolArray",
    "Filter",
    "FloatArray",
    "IntArray",
    "Mask",
    "Merge",
    "Neighbour",
    "Part",
    "Person",
    "Popular",
    "Popularity",
    "PopularityView",
    "Segment",
    "Snapshot",
    "Wanted",
    "merge_segments",
    "recommended",
]
