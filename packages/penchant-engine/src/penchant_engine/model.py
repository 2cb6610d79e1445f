"""Records of the engine: pieces, what people did and said, and the settings that lists go by.

Plain values without behaviour beyond what follows from them; no clock, no storage, no JSON.
"""

import enum
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple, Self, TypeVar

from penchant_engine.computed import computed

Key = TypeVar("Key")

WORDS_CATEGORY = "words"
"""The category that words of texts are keywords of."""
MAX_WEIGHT = 10_000
"""The greatest weight of a keyword (interface, section 3)."""
MAX_TAKE = 30
"""Entries in a list of similar or recommended pieces (specification, Limits)."""
PIN, QUOTA = "pin", "quota"
"""The rules of lists by which a piece stands where it does (interface, section 10)."""
MAX_LISTED = 300
"""Entries of a list on all its pages together (interface, section 10)."""
MARK_BYTES = 5
"""Bytes of the mark by which a cursor names a piece (`penchant_engine.index.Strings`)."""
GREATEST_SCORE = 1000
"""What the greatest score of a profile is scaled to (interface, section 6)."""
HALF = 0.4999999995
"""A fraction from here on is a half once it is rounded to nine decimals; no double lies between this and its text."""
MAX_PROFILE_INTERACTIONS = 10_000
"""How many of a person's latest interactions make the profile (interface, section 6)."""
MAX_PROFILE_KEYWORDS = 2_000_000
"""How many keywords the pieces may have together that make a profile: a bound that only made-up people reach."""
LARGE_SOURCE = 50_000
"""Pieces from which fewer likes of a person and fewer neighbours of a piece count (interface, section 6)."""
MAX_LIKES, MAX_LIKES_OF_LARGE = 1_000, 200
"""How many of a person's latest likes count, in a source of fewer pieces and in a large one (interface, section 6)."""
TOP_GRADE = 16
"""The grade of a purchase or a like (interface, section 6)."""
TOP_WEIGHT = 4
"""The weight of a type of interaction from which a like has the top grade."""
DAY_MS = 86_400_000
"""Milliseconds in a UTC day."""


class Term(NamedTuple):
    """A keyword within a category: the unit of similarity. Nested categories are joined by ``/``."""

    category: str
    keyword: str


def by_category(numbers: Mapping[Term, int]) -> dict[str, dict[str, int]]:
    """Return numbers of terms by their categories."""
    found: dict[str, dict[str, int]] = {}
    for term, number in numbers.items():
        found.setdefault(term.category, {})[term.keyword] = number
    return found


class PieceFilters(NamedTuple):
    """What lists filter a piece by; a moment is ``None`` where none was submitted."""

    catalogs: frozenset[str]
    available_from: int | None
    available_until: int | None


def effective_weights(given: dict[Key, int | None]) -> tuple[dict[Key, int], bool]:
    """Return what keywords count for that are given with weights or none, and whether one of them has a weight.

    Those without one count as much as the mean of those that have one in the same piece, 1 where none has.
    """
    weights = {term: weight for term, weight in given.items() if weight is not None}
    if len(weights) == len(given):
        return weights, bool(weights)
    # Rounded half up, in integers: floor(mean + 1/2), at least 1.
    mean = max(1, (2 * sum(weights.values()) + len(weights)) // (2 * len(weights))) if weights else 1
    return {term: mean if weight is None else weight for term, weight in given.items()}, bool(weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedPiece:
    """A content piece as the index sees it.

    ``weights`` maps each term to its effective weight: the submitted one, or for a keyword without weight
    the mean weight of the piece's weighted keywords, rounded half up, at least 1, or 1 where none has a
    weight. ``weighted`` tells whether a keyword was submitted with a weight. Times are milliseconds since
    1970 UTC; ``available_from`` is the submitted moment or else that of the first submission. ``marks`` are those that
    the piece has of the source's attributes.
    """

    id: str
    weights: Mapping[Term, int]
    weighted: bool = False
    catalogs: frozenset[str] = frozenset()
    available_from: int = 0
    available_until: int | None = None
    marks: tuple[str, ...] = ()


class Algorithm(enum.Enum):
    """The measure by which two pieces are compared."""

    JACCARD = "jaccard"
    COSINE = "cosine"


class Basis(enum.Enum):
    """What similar content goes by: the keywords of pieces, the people who like them, or the mean of both."""

    CONTENT = "content"
    AUDIENCE = "audience"
    BOTH = "both"


class OrderUse(enum.StrEnum):
    """Whether lists go by what people like soon after what: where times tell so, always, or never."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class InteractionType(enum.StrEnum):
    """What a person did with a piece.

    This is the one table of interaction types, all else derives from it. A row has the name that the interface shows,
    the code under which storage keeps it, which is never given to another type, the weight by default (interface,
    section 6), whether a piece then counts as seen, so that it is not recommended to the same person again, and
    whether it is a rating, of which a person's latest one of a piece counts.
    """

    CLICK = "Click", 1, 1
    PLAY = "Play", 2, 2
    WATCH = "Watch", 3, 3, True
    BOOKMARK = "Bookmark", 4, 3, True
    PREVIEW = "Preview", 5, 1
    PURCHASE = "Purchase", 6, 5, True
    RATE_LIKE = "RateLike", 7, 4, True, True
    RATE_DISLIKE = "RateDislike", 8, -4, True, True

    code: int
    default_weight: int
    marks_seen: bool
    is_rating: bool

    def __new__(
        cls,
        name: str,
        code: int = 0,
        default_weight: int = 0,
        marks_seen: bool = False,  # noqa: FBT001, FBT002  # a row of the table
        is_rating: bool = False,  # noqa: FBT001, FBT002  # a row of the table
    ) -> Self:
        """Return the type of a row."""
        # The value is the name, so that the wire and the documents show a member as it is.
        member = str.__new__(cls, name)
        member._value_ = name
        member.code = code
        member.default_weight = default_weight
        member.marks_seen = marks_seen
        member.is_rating = is_rating
        return member


INTERACTION_TYPE_NAMES = ", ".join(InteractionType)
"""The names of all types, for what documents and faults say."""
RATINGS = frozenset(kind for kind in InteractionType if kind.is_rating)
"""Of a person's ratings of one piece only the latest counts."""
SEEN_TYPES = frozenset(kind for kind in InteractionType if kind.marks_seen)
"""A piece with one of these is not recommended again to the same person."""


class StoredInteraction(NamedTuple):
    """A person's interaction with a piece, as it is stored.

    ``occurred_at`` is in milliseconds since 1970 UTC. ``version`` is the number that storage gave it, greater
    for later recorded ones of a source. ``event_id`` and ``portion`` are as they were given with it, if they were.
    """

    user_id: str
    type: InteractionType
    piece_id: str
    occurred_at: int
    version: int = 0
    event_id: str | None = None
    portion: int | None = None

    @classmethod
    def of_code(cls, code: int, piece_id: str, occurred_at: int, user_id: str = "") -> "StoredInteraction":
        """Return an interaction of whose type and portion `event_code` has made a number."""
        return cls(user_id, _BY_CODE[code & TYPE_MASK], piece_id, occurred_at, portion=WHOLE - (code >> TYPE_BITS))


_BY_CODE = {kind.code: kind for kind in InteractionType}
WHOLE = 100
"""The portion of what was watched, read or listened to from beginning to end; portions are in hundredths."""
TYPE_BITS, CODE_BITS = 4, 11
"""Bits of the code of a type, and of that of an event."""
TYPE_MASK = (1 << TYPE_BITS) - 1


def counted_portion(kind: InteractionType, portion: int | None) -> int:
    """Return what an interaction's portion counts as: the whole where none was given, and for ratings."""
    return WHOLE if portion is None or kind.is_rating else portion


def event_code(kind: InteractionType, portion: int) -> int:
    """Return what an interaction says as one number: the code of its type, and above it what its portion lacks.

    So without a portion it is the code of the type.
    """
    return kind.code | WHOLE - counted_portion(kind, portion) << TYPE_BITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """What a person has said: keywords liked and disliked, pieces never shown, categories never used.

    ``stated`` has a weight for each keyword: up to 1 for a liked one, down to -1 for a disliked one, never 0. A person
    whose preferences are not ``personal`` is switched off: lists know nothing of one, and nothing more is recorded.
    """

    stated: Mapping[Term, float] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    unused_categories: tuple[str, ...] = ()
    personal: bool = True

    @property
    def counted(self) -> "Preferences":
        """What of it lists go by: nothing while the person is switched off."""
        return self if self.personal else NO_PREFERENCES

    def __bool__(self) -> bool:
        """Return whether anything was said."""
        return len(self) > 0 or not self.personal

    def __len__(self) -> int:
        """Return how many keywords, pieces and categories were named."""
        return len(self.stated) + len(self.hidden) + len(self.unused_categories)


NO_PREFERENCES = Preferences()
"""What was said by those who have said nothing."""


@functools.lru_cache(maxsize=64)
def grades_of_weight(weight: float) -> tuple[int, ...]:
    """Return the grade of a like by portion, from 0 to `WHOLE`: 16 min(1, (w / 4)^2), at least 1.

    w is the weight of the interaction's type, above 0, times the portion; of nothing the grade is 0.
    """
    # In fractions of the decimal text: the grade must not hang on how a float rounds. Halves round up.
    share = Fraction(str(weight)) / TOP_WEIGHT / WHOLE
    squares = [min(share.denominator, share.numerator * portion) ** 2 for portion in range(WHOLE + 1)]
    top = share.denominator**2
    grades = [max(1, (2 * TOP_GRADE * square + top) // (2 * top)) for square in squares]
    return 0, *grades[1:]


def most_likes(piece_count: int) -> int:
    """Return how many of a person's latest likes count in a source of so many pieces."""
    return MAX_LIKES_OF_LARGE if piece_count >= LARGE_SOURCE else MAX_LIKES


@dataclass(frozen=True, slots=True, kw_only=True)
class Blend:
    """How much each part counts in a recommendation; 0 to 100 each, not all 0."""

    content: float = 0.1
    audience: float = 0.8
    popularity: float = 0.1


DEFAULT_INTERACTION_WEIGHTS: Mapping[InteractionType, float] = MappingProxyType(
    {kind: kind.default_weight for kind in sorted(InteractionType, key=lambda kind: -kind.default_weight)}
)
"""The weights of a new source by type, the greatest first; the order is that of settings as they are shown."""


# No slots: what is worked out of settings is kept with them.
@dataclass(frozen=True, kw_only=True)
class RankingSettings:
    """What lists go by. Category weights, 0 to 100, have at most two decimals; other categories weigh 1.

    ``half_life_days`` is that of what a person did, ``retention_days`` how long it counts at all. ``blend`` mixes the
    parts of recommendations. ``max_per_value`` tells by category how many pieces of a recommendation may have the same
    keyword, ``order`` whether the order of likes counts.
    """

    category_weights: Mapping[str, float] = field(default_factory=dict)
    interaction_weights: Mapping[InteractionType, float] = field(default_factory=lambda: DEFAULT_INTERACTION_WEIGHTS)
    half_life_days: float = 90
    retention_days: int = 396
    exclude_seen: bool = True
    blend: Blend = field(default_factory=Blend)
    new_piece_half_life_days: float = 30
    order: OrderUse = OrderUse.AUTO
    max_per_value: Mapping[str, int] = field(default_factory=dict)

    @computed
    def category_factors(self) -> Mapping[str, float]:
        """The weights of categories as lists use them."""
        return self.category_weights

    @computed
    def type_weights(self) -> tuple[float, ...]:
        """The weights of interactions, in the order of the types."""
        return tuple([self.interaction_weights[kind] for kind in InteractionType])

    def without(self, categories: Iterable[str]) -> Self:
        """Return settings under which these categories weigh nothing."""
        unused = dict.fromkeys(categories, 0)
        return replace(self, category_weights={**self.category_weights, **unused}) if unused else self

    def oldest_day(self, today: int) -> int:
        """Return the oldest day that counts on another: retention goes by UTC dates."""
        return today - self.retention_days

    @computed
    def like_weights(self) -> Mapping[InteractionType, tuple[int, ...]]:
        """The weights u of likes by portion, of each type that speaks for a piece."""
        return {kind: grades_of_weight(weight) for kind, weight in self.interaction_weights.items() if weight > 0}

    @computed
    def positive_types(self) -> frozenset[InteractionType]:
        """The types of interaction that speak for a piece."""
        return frozenset(self.like_weights)
