"""Which of the eight interactions is an action of another system, or a rating?"""

import re
from collections.abc import Mapping
from typing import Any

from penchant.model import InteractionType

ANY = "*"
"""Stands for rows that name no action, in `Choices.types`."""
_NAMES: Mapping[InteractionType, str] = {
    InteractionType.CLICK: "click view read open visit detailview pageview",
    InteractionType.PLAY: "play listen start stream",
    InteractionType.WATCH: "watch watched complete completed finish finished",
    InteractionType.BOOKMARK: "bookmark save saved wishlist watchlist toread cart addtocart cartaddition",
    InteractionType.PREVIEW: "preview trailer hover",
    InteractionType.PURCHASE: "purchase buy bought order checkout",
    InteractionType.RATE_LIKE: "ratelike like star love favorite favourite upvote thumbsup",
    InteractionType.RATE_DISLIKE: "ratedislike dislike downvote thumbsdown",
}
_TYPES = {name: kind for kind, names in _NAMES.items() for name in names.split()}


def type_named(name: str, chosen: Mapping[str, InteractionType]) -> InteractionType | None:
    """Return the interaction of an action, chosen ones first; known ones however they are spelt."""
    return chosen.get(name.lower()) or _TYPES.get(re.sub(r"[^a-z]", "", name.lower())) or chosen.get(ANY)


def type_of_rating(value: Any, scale: float) -> InteractionType:
    """Return what a rating says: four fifths of the scale and more is a like, two fifths and less a dislike.

    Raises:
        ValueError: it is no number from 0 to the scale.
    """
    try:
        rating = float(value)
    except (TypeError, ValueError):
        raise ValueError("Found no number.") from None
    if not 0 <= rating <= scale:
        raise ValueError(f"Found {rating:g}; a rating from 0 to {scale:g} is accepted (--rating-scale).")
    if rating * 5 >= scale * 4:
        return InteractionType.RATE_LIKE
    return InteractionType.RATE_DISLIKE if rating * 5 <= scale * 2 else InteractionType.WATCH
