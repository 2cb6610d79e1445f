"""Revisits: what pieces are worth to a person, and what a person began or keeps coming back to."""

import math
from collections.abc import Sequence

import msgspec

from penchant_engine.model import (
    DAY_MS,
    RATINGS,
    SEEN_TYPES,
    WHOLE,
    InteractionType,
    RankingSettings,
    StoredInteraction,
    counted_portion,
)

_PLAYED = SEEN_TYPES | {InteractionType.PLAY}


def piece_values(interactions: Sequence[StoredInteraction], settings: RankingSettings, today: int) -> dict[str, float]:
    """Return for each piece the sum of type weight x portion x 2^(-age / half-life) over its interactions.

    Of a person's ratings of one piece only the latest counts; ages are differences of UTC dates.
    """
    parts: dict[str, list[float]] = {}
    rated: set[str] = set()
    for interaction in interactions:
        # Newest first, so that a rating seen before is the later one.
        if interaction.type in RATINGS:
            if interaction.piece_id in rated:
                continue
            rated.add(interaction.piece_id)
        portion = counted_portion(interaction.type, interaction.portion)
        weight = settings.interaction_weights[interaction.type] * (portion / WHOLE)
        parts.setdefault(interaction.piece_id, []).append(
            weight * _remembered(interaction.occurred_at, settings.half_life_days, today)
        )
    return {piece_id: math.fsum(values) for piece_id, values in parts.items()}


class RepeatItem(msgspec.Struct, frozen=True, kw_only=True):
    """A piece that a person may take up again: its value for the taste, and what speaks for it.

    ``began`` tells that the latest Play was not followed by what marks a piece as seen, ``days`` on how many UTC days
    the person did something with it, ``latest`` when last (ms since 1970 UTC).
    """

    piece_id: str
    value: float
    began: bool
    days: int
    latest: int


def repeat_items(interactions: Sequence[StoredInteraction], settings: RankingSettings, today: int) -> list[RepeatItem]:
    """Return the pieces that a person began or came back to on another day.

    ``interactions`` are newest first. Only pieces of a value above 0 whose latest rating is no dislike.
    """
    by_piece: dict[str, list[StoredInteraction]] = {}
    for interaction in interactions:
        by_piece.setdefault(interaction.piece_id, []).append(interaction)
    items = []
    for piece_id, value in piece_values(interactions, settings, today).items():
        own = by_piece[piece_id]
        kinds = [each.type for each in own]
        if value <= 0 or _latest(kinds, RATINGS) is InteractionType.RATE_DISLIKE:
            continue
        began = _latest(kinds, _PLAYED) is InteractionType.PLAY
        days = len({each.occurred_at // DAY_MS for each in own}) if len(own) > 1 else 1
        if began or days > 1:
            items.append(RepeatItem(piece_id=piece_id, value=value, began=began, days=days, latest=own[0].occurred_at))
    return items


def _latest(kinds: Sequence[InteractionType], among: frozenset[InteractionType]) -> InteractionType | None:
    """Return the first of some types, newest first, that is among others."""
    for kind in kinds:
        if kind in among:
            return kind
    return None


def _remembered(occurred_at: int, half_life_days: float, today: int) -> float:
    if not half_life_days:
        return 1.0
    age_days = max(0, today - occurred_at // DAY_MS)
    return float(2.0 ** (-age_days / half_life_days))
