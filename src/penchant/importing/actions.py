"""Actions and ratings of other systems, and the types of interaction that they are."""

import re
from collections.abc import Mapping
from typing import Any

from penchant.importing.moments import shown
from penchant.model import InteractionType

ANY = "*"
"""Stands for rows that name no action, in `ImportOptions.types`."""
_SYNONYMS: Mapping[InteractionType, str] = {
    InteractionType.CLICK: "view read open visit detailview pageview",
    InteractionType.PLAY: "listen start stream",
    InteractionType.WATCH: "watched complete completed finish finished",
    InteractionType.BOOKMARK: "save saved wishlist watchlist toread cart addtocart cartaddition",
    InteractionType.PREVIEW: "trailer hover",
    InteractionType.PURCHASE: "buy bought order checkout",
    InteractionType.RATE_LIKE: "like star love favorite favourite upvote thumbsup",
    InteractionType.RATE_DISLIKE: "dislike downvote thumbsdown",
}
"""Further words for a type, in lower case letters only; each type is known by its own name as well."""
_TYPES = {word: kind for kind in InteractionType for word in (kind.lower(), *_SYNONYMS.get(kind, "").split())}


def type_named(name: str, chosen: Mapping[str, InteractionType]) -> InteractionType | None:
    """Return the interaction of an action, chosen ones first; known ones however they are spelt."""
    return chosen.get(name.lower()) or _TYPES.get(re.sub(r"[^a-z]", "", name.lower())) or chosen.get(ANY)


def type_of_rating(value: Any, scale: float, decimal: str = ".") -> InteractionType:
    """Return the interaction of a rating: four fifths of the scale and more is a like, two fifths and less a dislike.

    Raises:
        ValueError: it is no number from 0 to the scale.
    """
    try:
        rating = float(value.replace(decimal, ".") if isinstance(value, str) else value)
    except (TypeError, ValueError):
        raise ValueError(f"Found {shown(value)}, which is no number.") from None
    if not 0 <= rating <= scale:
        raise ValueError(f"Found {rating:g}; a rating from 0 to {scale:g} is accepted (--rating-scale).")
    # Multiplied on both sides, not divided: 0.8 and 0.4 are no doubles.
    if rating * 5 >= scale * 4:
        return InteractionType.RATE_LIKE
    return InteractionType.RATE_DISLIKE if rating * 5 <= scale * 2 else InteractionType.WATCH
