"""The index: a cache of a source's pieces that answers similarity exactly, and can always be rebuilt."""

from penchant.index.audience import Audience, Popular, SeedShare
from penchant.index.browsing import CategoryCount, TermCount, categories, pieces_having, terms_beginning
from penchant.index.building import merge_segments
from penchant.index.explaining import Liked, Parts, TermShare, blended_parts, overlap_parts, similarity_shares, tellable
from penchant.index.health import FlatCategory, Reach, Vocabulary, vocabulary
from penchant.index.layout import DISTANCE_SCALE, Blending, BoolArray, FloatArray, IntArray, Mask
from penchant.index.likes import SCOPE_ARRAYS, Likes, Scope
from penchant.index.masks import Filter
from penchant.index.part import Part
from penchant.index.personal import Person, Wanted, recommended, scan_of
from penchant.index.segment import Segment
from penchant.index.snapshot import Asked, Merge, Neighbour, Scan, Snapshot
from penchant.index.standing import Offer, count_ahead, key_of, offer_of
from penchant.index.tally import Tally

__all__ = [
    "DISTANCE_SCALE",
    "SCOPE_ARRAYS",
    "Asked",
    "Audience",
    "Blending",
    "BoolArray",
    "CategoryCount",
    "Filter",
    "FlatCategory",
    "FloatArray",
    "IntArray",
    "Liked",
    "Likes",
    "Mask",
    "Merge",
    "Neighbour",
    "Offer",
    "Part",
    "Parts",
    "Person",
    "Popular",
    "Reach",
    "Scan",
    "Scope",
    "SeedShare",
    "Segment",
    "Snapshot",
    "Tally",
    "TermCount",
    "TermShare",
    "Vocabulary",
    "Wanted",
    "blended_parts",
    "categories",
    "count_ahead",
    "key_of",
    "merge_segments",
    "offer_of",
    "overlap_parts",
    "pieces_having",
    "recommended",
    "scan_of",
    "similarity_shares",
    "tellable",
    "terms_beginning",
    "vocabulary",
]
