"""The index: a cache of a source's pieces that answers similarity exactly, and can always be rebuilt."""

from penchant.index.boosting import Availability, Booster, key_of, matches, offer_of
from penchant.index.browsing import CategoryCount, TermCount, categories, pieces_having, pieces_marked, terms_beginning
from penchant.index.building import (
    NO_ATTRIBUTES,
    PieceColumns,
    build_segment,
    merge_segments,
    moments_of,
    segment_of,
    term_key,
    term_table,
)
from penchant.index.compiled.engine import makes_weights
from penchant.index.filling import FillKey, count_before, fill_keys, first_to_fill
from penchant.index.health import (
    EVERYWHERE,
    EXAMPLES,
    CategorySpread,
    FlatCategory,
    KappaFall,
    KeywordVariants,
    Reach,
    TellingFindings,
    VocabularyFindings,
    kappa_fall,
    normal_form,
    spread_ids,
    telling_by_category,
    unseen_pieces,
    variants,
    vocabulary,
)
from penchant.index.layout import (
    DISTANCE_SCALE,
    NO_SHARES,
    BlendFactors,
    BoolArray,
    FloatArray,
    IntArray,
    Mask,
    SparseShares,
)
from penchant.index.likeness import GROUPS, SIDE, LikenessMap, MapArea, likeness_map, sampled_ids
from penchant.index.masks import Filter, GivenPieces, rows_of
from penchant.index.part import Part
from penchant.index.people.audience import Audience, LikeShare
from penchant.index.people.event_pages import EventPages
from penchant.index.people.explaining import (
    LEAST_PEOPLE,
    ScoreParts,
    TermShare,
    TermShares,
    blended_parts,
    overlap_parts,
    similarity_shares,
    tellable,
)
from penchant.index.people.figures import FullLike, SourceFigures
from penchant.index.people.likes import LatestEvents, LikeCounts, Likes
from penchant.index.people.order import DIRECTION_SCALE
from penchant.index.people.person import (
    InteractionArrays,
    PersonFigures,
    PlacedTaste,
    figures_of_person,
    graded_pieces,
    keyword_counts,
    profile_of_person,
    strongest_terms,
)
from penchant.index.people.personal import BlendQuery, OverlapQuery, PersonBlend, keyword_parts, liked_terms
from penchant.index.people.popularity import HALF_LIFE_DAYS, PieceCounts, Popularity, shares_of
from penchant.index.people.prospects import PeopleTastes, PieceAppeal
from penchant.index.people.shared_audience import (
    MeanQuery,
    SharedAudience,
    SharedLikes,
    SharedQuery,
)
from penchant.index.people.table import PeopleEvents, PeopleTable, people_table
from penchant.index.people.tally import Tally
from penchant.index.people.weights import AudienceWeights, build_weights
from penchant.index.queries import (
    PartQuery,
    Scan,
    ScanQuery,
    best_of,
    most_listed,
    newness_scan,
    popularity_scan,
    score_scan,
)
from penchant.index.segment import Segment
from penchant.index.similarity import SimilarityQuery
from penchant.index.snapshot import Keep, Merge, Snapshot, has_attributes, is_read_as, mark
from penchant.index.strings import Strings, mark_of, rows_in
