"""The index: a cache of a source's pieces that answers similarity exactly, and can always be rebuilt."""

from penchant.index.popularity import Popularity, PopularityView
from penchant.index.segment import BoolArray, FloatArray, IntArray, Segment
from penchant.index.snapshot import Filter, Neighbour, Part, Snapshot, smallest

__all__ = [
    "BoolArray",
    "Filter",
    "FloatArray",
    "IntArray",
    "Neighbour",
    "Part",
    "Popularity",
    "PopularityView",
    "Segment",
    "Snapshot",
    "smallest",
]
