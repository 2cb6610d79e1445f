"""The index: a cache of a source's pieces that answers similarity exactly, and can always be rebuilt."""

from penchant_engine.index.boosting import Availability, Booster, key_of, matches, offer_of
from penchant_engine.index.browsing import (
    CategoryCount,
    TermCount,
    TermPage,
    categories,
    pieces_having,
    pieces_marked,
    terms_beginning,
)
from penchant_engine.index.building import (
    NO_ATTRIBUTES,
    PieceColumns,
    build_segment,
    merge_segments,
    moments_of,
    segment_of,
    term_key,
    term_table,
)
from penchant_engine.index.compiled.engine import makes_weights
from penchant_engine.index.filling import FillKey, count_before, fill_keys, first_to_fill
from penchant_engine.index.layout import (
    DISTANCE_SCALE,
    NO_SHARES,
    BlendFactors,
    BoolArray,
    FloatArray,
    IntArray,
    Mask,
    SparseShares,
)
from penchant_engine.index.masks import Filter, GivenPieces, rows_of
from penchant_engine.index.part import Part
from penchant_engine.index.people.audience import Audience, LikeShare
from penchant_engine.index.people.event_pages import EventPages
from penchant_engine.index.people.explaining import (
    LEAST_PEOPLE,
    ScoreParts,
    TermShare,
    TermShares,
    blended_parts,
    overlap_parts,
    similarity_shares,
    tellable,
)
from penchant_engine.index.people.figures import FullLike, SourceFigures
from penchant_engine.index.people.likes import LatestEvents, LikeCounts, Likes
from penchant_engine.index.people.order import DIRECTION_SCALE
from penchant_engine.index.people.people_lists import FoundLists, PeopleLists
from penchant_engine.index.people.person import (
    InteractionArrays,
    PersonFigures,
    PlacedTaste,
    figures_of_person,
    graded_pieces,
    keyword_counts,
    profile_of_person,
    strongest_terms,
)
from penchant_engine.index.people.personal import BlendQuery, OverlapQuery, PersonBlend, keyword_parts, liked_terms
from penchant_engine.index.people.popularity import HALF_LIFE_DAYS, PieceCounts, Popularity, shares_of
from penchant_engine.index.people.prospects import PeopleTastes, PieceAppeal
from penchant_engine.index.people.shared_audience import MeanQuery, SharedAudience, SharedLikes, SharedQuery
from penchant_engine.index.people.table import PeopleEvents, PeopleTable, people_table
from penchant_engine.index.people.tally import Tally
from penchant_engine.index.people.weights import AudienceWeights, build_weights
from penchant_engine.index.queries import (
    PartQuery,
    Scan,
    ScanQuery,
    best_of,
    most_listed,
    newness_scan,
    popularity_scan,
    score_scan,
)
from penchant_engine.index.segment import Segment
from penchant_engine.index.similarity import SimilarityQuery
from penchant_engine.index.snapshot import Keep, Merge, Snapshot, has_attributes, is_read_as, mark
from penchant_engine.index.strings import Strings, mark_of, rows_in
