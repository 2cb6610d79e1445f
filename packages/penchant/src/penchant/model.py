"""Records that all parts of the service share: what is stored beside pieces, settings of a source, keys, plans.

Plain values without behaviour beyond what follows from them; no clock, no storage, no JSON.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self, TypeVar

import msgspec

from penchant.vocabulary import NO_VOCABULARY, Vocabulary
from penchant_engine.attributes import Attribute, AttributeFilter, steps_of
from penchant_engine.computed import computed
from penchant_engine.model import InteractionType, RankingSettings

Part = TypeVar("Part")

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


class PieceLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How large a submitted piece may be: ``keywords`` of all its categories, and its bytes as JSON, as it came."""

    keywords: int = 10_000
    piece_bytes: int = 1024 * 1024


class EncodedPiece(msgspec.Struct, frozen=True, kw_only=True):
    """A piece as it is stored: its id, the bytes of the JSON object that reads return, and what is kept of words."""

    id: str
    body: bytes
    words: bytes = b""


class NewInteraction(NamedTuple):
    """An interaction to store. ``occurred_at`` of ``None`` is now, by the source's own clock.

    ``shown_in`` is what a package knows of the list from which it came (the hook `list_reader`). ``portion`` is what
    part of the piece was watched, read or listened to, in hundredths; of ratings it says nothing.
    """

    user_id: str
    type: InteractionType
    piece_id: str
    occurred_at: int | None = None
    event_id: str | None = None
    shown_in: object | None = None
    portion: int | None = None


class ListKind(enum.Enum):
    """The two curated lists of a source."""

    WHITELIST = "whitelist"
    BLACKLIST = "blacklist"


class ListChange(msgspec.Struct, frozen=True, kw_only=True):
    """What an edit of a list adds, each id with the one before which it stands (`None`: the end), and what it removes.

    Of two edits from one list each is right whatever the other adds and removes.
    """

    added: Mapping[str, str | None]
    removed: Sequence[str]

    @classmethod
    def between(cls, before: Sequence[str], after: Sequence[str]) -> Self | None:
        """Return what makes one list of another; `None` where ids that are in both stand in another order."""
        kept, removed = set(before) & set(after), [each for each in before if each not in set(after)]
        if [each for each in before if each in kept] != [each for each in after if each in kept]:
            return None
        added, following = dict[str, str | None](), None
        for each in reversed(after):
            if each in kept:
                following = each
            else:
                added[each] = following
        return cls(added=dict(reversed(added.items())), removed=removed)

    def applied(self, ids: Sequence[str]) -> list[str]:
        """Return a list after the edit; what is there already keeps its place."""
        gone = set(self.removed)
        kept = {each: None for each in ids if each not in gone}
        new: dict[str | None, list[str]] = {}
        for each, following in self.added.items():
            if each not in kept:
                new.setdefault(following if following in kept else None, []).append(each)
        return [each for at in (*kept, None) for each in (*new.get(at, ()), *([] if at is None else [at]))]


@dataclass(frozen=True, kw_only=True)
class SourceSettings(RankingSettings):
    """The settings of a source (interface, section 7): what its lists go by, and what the service does beside.

    ``attributes`` tells by key what lists can be filtered by. ``image_attribute`` leads to the address of a piece's
    picture in its extras. ``public_extras`` names the members of extras that pages may read, ``True`` for all; ``None``
    is what the picture's pointer names. ``vocabulary`` tells what keywords count as. ``brought`` are those of packages
    (`of`), ``unread`` those of packages that are not installed, as they are stored.
    """

    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    image_attribute: str | None = None
    public_extras: tuple[str, ...] | Literal[True] | None = None
    vocabulary: Vocabulary = NO_VOCABULARY
    brought: Mapping[type[Any], Any] = field(default_factory=dict)
    unread: Mapping[str, Any] = field(default_factory=dict)

    def of(self, kind: type[Part]) -> Part:
        """Return the settings of this kind that a package brings; its defaults where none are stored."""
        part: Part | None = self.brought.get(kind)
        return kind() if part is None else part

    def having(self, part: Any) -> "SourceSettings":
        """Return these settings with others of a kind that a package brings."""
        others = {kind: each for kind, each in self.brought.items() if kind is not type(part)}
        # Defaults that are stated say no more than those that are not.
        return replace(self, brought=others if part == type(part)() else {**others, type(part): part})

    @computed
    def filters_read(self) -> dict[str, AttributeFilter]:
        """Short filters that were read by these settings lately, by their texts; others add to it."""
        return {}

    @computed
    def category_factors(self) -> Mapping[str, float]:
        """The weights of categories as lists use them, those of packages where none is stated."""
        brought = [getattr(part, "category_factors", {}) for part in self.brought.values()]
        return {key: each for factors in (*brought, self.category_weights) for key, each in factors.items()}

    def is_public_extra(self, name: str) -> bool:
        """Return whether a page may read the member of extras of this name."""
        if self.public_extras is not None:
            return self.public_extras is True or name in self.public_extras
        return self.image_attribute is not None and steps_of(self.image_attribute)[:1] == (name,)


class Role(enum.StrEnum):
    """What somebody may do at the dashboard: look at an account, change it too, or manage keys and plans of all."""

    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"


class Scope(enum.StrEnum):
    """What a key may be limited to; each operation belongs to one (interface, section 2)."""

    READ = "read"
    PERSONAL = "personal"
    INTERACT = "interact"
    WRITE = "write"


VIEWER_SCOPES = frozenset({Scope.READ, Scope.PERSONAL})
"""What somebody needs to look at the pages of the dashboard: nearly all of them show what people like."""
BROWSER_SCOPES = frozenset({Scope.READ, Scope.INTERACT, Scope.PERSONAL})
"""What a browser key can do at most: what changes the catalogue is never a page's work."""


class Feature(enum.Enum):
    """A feature that a plan may include beyond the basics."""

    FILTERS = "filters"
    PERSONALIZED = "personalized"
    PROFILE = "profile"
    INTERACTIONS_LISTING = "interactionsListing"
    LISTS = "lists"
    PLACEMENTS = "placements"


BROUGHT_FEATURES = frozenset({Feature.PLACEMENTS})
"""Features of what packages bring: where none does, no plan has them."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan: the features and limits of its keys. A limit of ``None`` is no limit."""

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
