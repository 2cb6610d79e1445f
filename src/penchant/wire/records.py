"""What does a client send and get where the service itself goes by bytes? For programs that use the interface.

The service keeps pieces and settings as they came; a program wants to look into them. Nothing here is checked
beyond its shape: what is acceptable the service says.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from penchant.model import DEFAULT_INTERACTION_WEIGHTS, Blend, SourceSettings

Number = int | float
InteractionType = Literal["Click", "Play", "Watch", "Bookmark", "Preview", "Purchase", "RateLike", "RateDislike"]
_DEFAULTS = SourceSettings()


class Piece(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A piece as it is submitted and returned.

    A category holds keywords, plain (``"noir"``) or as objects (``{"key": "noir", "weight": 80}``), or further
    categories by name. ``filters`` may hold ``catalogs``, ``availableFrom`` and ``availableUntil``.
    """

    id: str
    label: str | None = None
    categories: Mapping[str, Any]
    filters: Mapping[str, Any] = {}
    extras: Mapping[str, Any] = {}


class IdList(msgspec.Struct, frozen=True, kw_only=True):
    """Ids, ascending; ``count`` is how many the source has, also where only some were asked for."""

    count: int
    content: list[str]


class ContentList(msgspec.Struct, frozen=True, kw_only=True):
    """Pieces, ascending by id, and when the source last changed."""

    source: str
    timestamp: str
    content: list[Piece]


class Interaction(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An interaction to store; without a time it happened now, with an event id it is stored once."""

    user_id: str
    type: InteractionType
    content_id: str
    timestamp: datetime | str | None = None
    event_id: str | None = None


class BlendSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How much each part counts in a recommendation; 0 to 100 each, not all 0."""

    content: Number = Blend().content
    audience: Number = Blend().audience
    popularity: Number = Blend().popularity


def _interaction_weights() -> dict[str, Number]:
    return {kind.value: weight for kind, weight in DEFAULT_INTERACTION_WEIGHTS.items()}


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The settings of a source, by default those that a new one has."""

    category_weights: Mapping[str, Number] = {}
    interaction_weights: Mapping[str, Number] = msgspec.field(default_factory=_interaction_weights)
    half_life_days: Number = _DEFAULTS.half_life_days
    retention_days: int = _DEFAULTS.retention_days
    exclude_seen: bool = _DEFAULTS.exclude_seen
    blend: BlendSettings = BlendSettings()
    new_piece_half_life_days: Number = _DEFAULTS.new_piece_half_life_days
    max_per_value: Mapping[str, int] | UnsetType = UNSET


class Likings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What somebody likes and dislikes: ids, and keywords by category."""

    liked: Sequence[str] = ()
    disliked: Sequence[str] = ()
    liked_keywords: Mapping[str, Sequence[str]] = {}
    disliked_keywords: Mapping[str, Sequence[str]] = {}


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """That the service is there."""

    status: str
