"""The index: a cache of a source's pieces that answers similarity exactly, and can always be rebuilt."""

from penchant_engine.index.layout import FloatArray, IntArray
from penchant_engine.index.masks import Filter
from penchant_engine.index.people.audience import Audience
from penchant_engine.index.people.likes import Likes
from penchant_engine.index.people.person import InteractionArrays, UserFeatures
from penchant_engine.index.people.popularity import PieceCounts
from penchant_engine.index.people.tally import Tally
from penchant_engine.index.segment import Segment
from penchant_engine.index.snapshot import Snapshot
from penchant_engine.index.strings import Strings

__all__ = [
    "Audience",
    "Filter",
    "FloatArray",
    "IntArray",
    "InteractionArrays",
    "Likes",
    "PieceCounts",
    "Segment",
    "Snapshot",
    "Strings",
    "Tally",
    "UserFeatures",
]
