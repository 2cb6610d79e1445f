"""Profiles: what a person likes, as terms with integer scores, from that person's interactions."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from penchant.model import (
    DAY_MS,
    GREATEST_SCORE,
    HALF,
    RATINGS,
    SEEN_TYPES,
    GradedLike,
    InteractionType,
    SourceSettings,
    StoredInteraction,
    Term,
)


def taste(
    interactions: Sequence[StoredInteraction],
    *,
    terms_of: Callable[[str], Mapping[Term, int] | None],
    settings: SourceSettings,
    today: int,
    stated: Mapping[Term, float] = MappingProxyType({}),
) -> dict[Term, int]:
    """Return a person's profile: terms with scores from -1000 to 1000, none 0, in ascending order of terms.

    ``interactions`` are those that count, newest first; ``today`` is the UTC day that ages are counted to.
    ``terms_of`` gives the effective weights of a piece, or ``None`` for one that does not exist. What is ``stated``
    counts, at a weight of 1, as much as the keyword of which the interactions say most.
    """
    values = piece_values(interactions, settings, today)
    sums: dict[Term, list[float]] = {}
    for piece_id in sorted(values):
        for term, weight in (terms_of(piece_id) or {}).items():
            sums.setdefault(term, []).append(values[piece_id] * math.sqrt(weight))
    # `fsum` rounds once: no order of additions can change a score.
    scores: dict[Term, float] = {
        term: math.fsum(shares) * settings.category_weights.get(term.category, 1) for term, shares in sums.items()
    }
    strongest = max(map(abs, scores.values()), default=0.0) or 1.0
    for term, liking in stated.items():
        scores[term] = scores.get(term, 0.0) + liking * strongest
    greatest = max(map(abs, scores.values()), default=0.0)
    if not greatest:
        return {}
    scaled = {term: _rounded(scores[term] / greatest * GREATEST_SCORE) for term in sorted(scores)}
    return {term: score for term, score in scaled.items() if score}


def piece_values(interactions: Sequence[StoredInteraction], settings: SourceSettings, today: int) -> dict[str, float]:
    """Return for each piece the sum of type weight x 2^(-age / half-life) over its interactions.

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
        weight = settings.interaction_weights[interaction.type]
        parts.setdefault(interaction.piece_id, []).append(
            weight * _remembered(interaction.occurred_at, settings.half_life_days, today)
        )
    return {piece_id: math.fsum(values) for piece_id, values in parts.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Revisit:
    """A piece that a person may take up again: its value for the taste, and what speaks for it.

    ``began`` tells that the latest Play was not followed by what marks a piece as seen, ``days`` on how many UTC days
    the person did something with it, ``latest`` when last (ms since 1970 UTC).
    """

    piece_id: str
    value: float
    began: bool
    days: int
    latest: int


def revisits(interactions: Sequence[StoredInteraction], settings: SourceSettings, today: int) -> list[Revisit]:
    """Return the pieces that a person began or came back to on another day.

    ``interactions`` are newest first. Only pieces of a value above 0 whose latest rating is no dislike.
    """
    by_piece: dict[str, list[StoredInteraction]] = {}
    for interaction in interactions:
        by_piece.setdefault(interaction.piece_id, []).append(interaction)
    found = []
    for piece_id, value in piece_values(interactions, settings, today).items():
        own = by_piece[piece_id]
        kinds = [each.type for each in own]
        telling = next((kind for kind in kinds if kind is InteractionType.PLAY or kind in SEEN_TYPES), None)
        began = telling is InteractionType.PLAY
        days = len({each.occurred_at // DAY_MS for each in own})
        rating = next((kind for kind in kinds if kind.is_rating), None)
        if value > 0 and rating is not InteractionType.RATE_DISLIKE and (began or days > 1):
            found.append(Revisit(piece_id=piece_id, value=value, began=began, days=days, latest=own[0].occurred_at))
    return found


def own_likes(
    interactions: Sequence[StoredInteraction],
    settings: SourceSettings,
    exists: Callable[[str], bool],
    most: int,
) -> list[GradedLike]:
    """Return the last pieces that a person likes, latest first, those of one moment by id; so many at most.

    A piece is liked that has an interaction of positive weight, unless its latest rating is a dislike.
    ``interactions`` are newest first. Pieces that do not exist count once they do.
    """
    latest: dict[str, int] = {}
    grades: dict[str, int] = {}
    rated: dict[str, InteractionType] = {}
    table = settings.grades
    for interaction in interactions:
        piece_id, kind = interaction.piece_id, interaction.type
        # The first of each piece is its latest, of ratings as well; of grades the greatest counts.
        latest.setdefault(piece_id, interaction.occurred_at)
        if kind.is_rating:
            rated.setdefault(piece_id, kind)
        if kind in table:
            grades[piece_id] = max(table[kind], grades.get(piece_id, 0))
    liked = [piece_id for piece_id in grades if rated.get(piece_id) is not InteractionType.RATE_DISLIKE]
    liked.sort(key=lambda piece_id: (-latest[piece_id], piece_id))
    # Pieces are looked up one by one until there are enough.
    return [GradedLike(piece_id, grades[piece_id]) for piece_id in itertools.islice(filter(exists, liked), most)]


def seen(interactions: Sequence[StoredInteraction]) -> frozenset[str]:
    """Return the pieces that a person knows already, by the types of interaction that tell so."""
    return frozenset(each.piece_id for each in interactions if each.type in SEEN_TYPES)


def _remembered(occurred_at: int, half_life_days: float, today: int) -> float:
    if not half_life_days:
        return 1.0
    age_days = max(0, today - occurred_at // DAY_MS)
    return float(2.0 ** (-age_days / half_life_days))


def _rounded(score: float) -> int:
    """Return a score rounded to nine decimals and then to an integer, half away from zero."""
    fraction, whole = math.modf(abs(score))
    return int(math.copysign(whole + (fraction >= HALF), score))
