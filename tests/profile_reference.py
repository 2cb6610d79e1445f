"""Reference of a person's profile and likes, by the definition: dictionaries by name, one interaction after the other.

`penchant_engine.index.people.person` makes the same of arrays, and is compared with this bit by bit.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from penchant.model import SourceSettings
from penchant_engine.model import (
    GREATEST_SCORE,
    HALF,
    SEEN_TYPES,
    InteractionType,
    StoredInteraction,
    Term,
    counted_portion,
    grades_of_weight,
)
from penchant_engine.repeats import piece_values


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


def own_likes(
    interactions: Sequence[StoredInteraction], settings: SourceSettings, exists: Callable[[str], bool], most: int
) -> dict[str, int]:
    """Return the last pieces that a person likes, latest first, those of one moment by id; so many at most.

    A piece is liked that has an interaction of positive weight, unless its latest rating is a dislike.
    ``interactions`` are newest first. Pieces that do not exist count once they do.
    """
    latest: dict[str, int] = {}
    grades: dict[str, int] = {}
    rated: dict[str, InteractionType] = {}
    for interaction in interactions:
        piece_id, kind = interaction.piece_id, interaction.type
        weight = settings.interaction_weights[kind]
        # The first of each piece is its latest, of ratings as well; of grades the greatest counts.
        latest.setdefault(piece_id, interaction.occurred_at)
        if kind.is_rating:
            rated.setdefault(piece_id, kind)
        if weight > 0:
            grade = grades_of_weight(weight)[counted_portion(kind, interaction.portion)]
            grades[piece_id] = max(grade, grades.get(piece_id, 0))
    liked = [piece_id for piece_id in grades if rated.get(piece_id) is not InteractionType.RATE_DISLIKE]
    liked.sort(key=lambda piece_id: (-latest[piece_id], piece_id))
    # Pieces are looked up one by one until there are enough.
    return {piece_id: grades[piece_id] for piece_id in itertools.islice(filter(exists, liked), most)}


def seen(interactions: Sequence[StoredInteraction]) -> frozenset[str]:
    """Return the pieces that a person knows already, by the types of interaction that tell so."""
    return frozenset(each.piece_id for each in interactions if each.type in SEEN_TYPES)


def _rounded(score: float) -> int:
    """Return a score rounded to nine decimals and then to an integer, half away from zero."""
    fraction, whole = math.modf(abs(score))
    return int(math.copysign(whole + (fraction >= HALF), score))
