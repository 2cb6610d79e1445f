"""The records that all parts speak of: pieces, interactions, settings of a source, plans.

Plain values without behaviour beyond what follows from them; no clock, no storage, no JSON.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

MAX_NAME_LENGTH = 200
"""Characters in the name of a source, a category level or a catalog (interface, section 1)."""
MAX_ID_LENGTH = 500
"""Characters in the id of a piece or a person, and in a keyword (interface, section 1)."""
MAX_LABEL_LENGTH = 2_000
"""Characters in a label (interface, section 1)."""
MAX_PIECES_PER_SUBMISSION = 2_000
"""Entries in one submission (specification, Limits)."""
MAX_INTERACTIONS_PER_REQUEST = 10_000
"""Entries in one bulk request of interactions (interface, section 6)."""
MAX_LIST_LENGTH = 10_000
"""Ids on a whitelist or blacklist (interface, section 7)."""
MAX_WEIGHT = 10_000
"""The greatest weight of a keyword (interface, section 3)."""
MAX_TAKE = 30
"""Entries in a list of similar or recommended pieces (specification, Limits)."""
MAX_PROFILE_INTERACTIONS = 10_000
"""How many of a person's latest interactions make the profile (interface, section 6)."""
MAX_SEEDS = 100
"""How many of the latest pieces that a person likes are compared with other people's (interface, section 6)."""
DAY_MS = 86_400_000
"""Milliseconds in a UTC day."""


class Term(NamedTuple):
    """A keyword within a category: the unit of similarity. Nested categories are joined by ``/``."""

    category: str
    keyword: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A content piece as the index sees it.

    ``weights`` maps each term to its effective weight: the submitted one, or for a keyword without weight
    the mean weight of the piece's weighted keywords, rounded half up, at least 1, or 1 where none has a
    weight. ``weighted`` tells whether a keyword was submitted with a weight. Times are milliseconds since
    1970 UTC; ``available_from`` is the submitted moment or else that of the first submission.
    """

    id: str
    weights: Mapping[Term, int]
    weighted: bool = False
    catalogs: frozenset[str] = frozenset()
    available_from: int = 0
    available_until: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedPiece:
    """A piece as it is stored: its id, and the bytes of the JSON object that reads return."""

    id: str
    body: bytes


class Algorithm(enum.Enum):
    """How two pieces are compared."""

    JACCARD = "jaccard"
    COSINE = "cosine"


class InteractionType(enum.Enum):
    """What a person did with a piece."""

    CLICK = "Click"
    PLAY = "Play"
    WATCH = "Watch"
    BOOKMARK = "Bookmark"
    PREVIEW = "Preview"
    PURCHASE = "Purchase"
    RATE_LIKE = "RateLike"
    RATE_DISLIKE = "RateDislike"


RATINGS = frozenset({InteractionType.RATE_LIKE, InteractionType.RATE_DISLIKE})
"""Of a person's ratings of one piece only the latest counts."""

SEEN_TYPES = frozenset(
    {
        InteractionType.WATCH,
        InteractionType.PURCHASE,
        InteractionType.RATE_LIKE,
        InteractionType.RATE_DISLIKE,
        InteractionType.BOOKMARK,
    }
)
"""A piece with one of these is not recommended again to the same person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """A person's interaction with a piece, as it is stored.

    ``occurred_at`` is in milliseconds since 1970 UTC. ``version`` is the number that storage gave it, greater
    for later recorded ones of a source.
    """

    user_id: str
    type: InteractionType
    piece_id: str
    occurred_at: int
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewInteraction:
    """An interaction to store. ``occurred_at`` of ``None`` is now, by the source's own clock."""

    user_id: str
    type: InteractionType
    piece_id: str
    occurred_at: int | None = None
    event_id: str | None = None


class Seed(NamedTuple):
    """A piece that a person likes, and how much: the highest weight of the types of interaction with it."""

    id: str
    weight: float


class ListKind(enum.Enum):
    """The two curated lists of a source."""

    WHITELIST = "whitelist"
    BLACKLIST = "blacklist"


@dataclass(frozen=True, slots=True, kw_only=True)
class Blend:
    """How much each part counts in a recommendation; 0 to 100 each, not all 0."""

    content: float = 0.1
    audience: float = 0.8
    popularity: float = 0.1


DEFAULT_INTERACTION_WEIGHTS: Mapping[InteractionType, float] = MappingProxyType(
    {
        InteractionType.PURCHASE: 5,
        InteractionType.RATE_LIKE: 4,
        InteractionType.WATCH: 3,
        InteractionType.BOOKMARK: 3,
        InteractionType.PLAY: 2,
        InteractionType.CLICK: 1,
        InteractionType.PREVIEW: 1,
        InteractionType.RATE_DISLIKE: -4,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSettings:
    """The settings of a source (interface, section 7). Category weights have at most two decimals.

    ``max_per_value`` tells by category how many pieces of a recommendation may have the same keyword.
    """

    category_weights: Mapping[str, float] = field(default_factory=dict)
    interaction_weights: Mapping[InteractionType, float] = field(default_factory=lambda: DEFAULT_INTERACTION_WEIGHTS)
    half_life_days: float = 90
    retention_days: int = 396
    exclude_seen: bool = True
    blend: Blend = field(default_factory=Blend)
    new_piece_half_life_days: float = 30
    max_per_value: Mapping[str, int] = field(default_factory=dict)


class Feature(enum.Enum):
    """What a plan may include beyond the basics."""

    FILTERS = "filters"
    PERSONALIZED = "personalized"
    PROFILE = "profile"
    INTERACTIONS_LISTING = "interactionsListing"
    LISTS = "lists"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the keys of a plan may do. A limit of ``None`` is no limit."""

    name: str
    features: frozenset[Feature] = frozenset(Feature)
    requests_per_second: int | None = None
    sources: int | None = None
    pieces_per_source: int | None = None
    recommendations_per_month: int | None = None


FULL_PLAN = Plan(name="full")
BASIC_PLAN = Plan(
    name="basic",
    features=frozenset(),
    requests_per_second=1_000,
    sources=1,
    pieces_per_source=2_000,
    recommendations_per_month=100_000,
)
BUILT_IN_PLANS: Mapping[str, Plan] = MappingProxyType({plan.name: plan for plan in (FULL_PLAN, BASIC_PLAN)})
