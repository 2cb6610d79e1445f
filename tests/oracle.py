"""The interface page's definitions by full scan, in plain Python: slow, obvious, independent of the index.

Pieces are JSON objects as submitted; nothing of `penchant_engine.index`, `profiles` or `ranking` is used.
"""

import math
from fractions import Fraction
from typing import Any

Piece = dict[str, Any]
Term = tuple[str, str]
WEIGHTS = {
    "Purchase": 5, "RateLike": 4, "Watch": 3, "Bookmark": 3, "Play": 2, "Click": 1, "Preview": 1, "RateDislike": -4,
}  # fmt: skip
SEEN = {"Watch", "Purchase", "RateLike", "RateDislike", "Bookmark"}


def submitted_weights(categories: dict[str, Any], path: str = "") -> dict[Term, int | None]:
    """Each term once, with its weight if one was given."""
    found: dict[Term, int | None] = {}
    for name, value in categories.items():
        if isinstance(value, dict):
            inner = submitted_weights(value, f"{path}{name}/")
        else:
            inner = {}
            for item in value:
                key = item if isinstance(item, str) else item.get("key")
                weight = None if isinstance(item, str) else item.get("weight") or None
                if key is not None and inner.get((path + name, key)) is None:
                    inner[path + name, key] = weight
        for term, weight in inner.items():
            found[term] = weight if found.get(term) is None else found[term]
    return found


def is_weighted(piece: Piece) -> bool:
    return any(weight is not None for weight in submitted_weights(piece["categories"]).values())


def effective_weights(piece: Piece) -> dict[Term, int]:
    given = submitted_weights(piece["categories"])
    known = [weight for weight in given.values() if weight is not None]
    mean = max(1, math.floor(Fraction(sum(known), len(known)) + Fraction(1, 2))) if known else 1
    return {term: mean if weight is None else weight for term, weight in given.items()}


def jaccard(first: Piece, second: Piece, category_weights: dict[str, Any]) -> Fraction:
    one, two = set(effective_weights(first)), set(effective_weights(second))

    def size(terms: set[Term]) -> Fraction:
        return sum((Fraction(str(category_weights.get(term[0], 1))) for term in terms), Fraction(0))

    return size(one & two) / size(one | two) if size(one | two) else Fraction(0)


def cosine(first: Piece, second: Piece, category_weights: dict[str, Any]) -> float:
    def vector(piece: Piece) -> dict[Term, Fraction]:
        return {
            term: weight * Fraction(str(category_weights.get(term[0], 1)))
            for term, weight in effective_weights(piece).items()
        }

    one, two = vector(first), vector(second)
    dot = sum((value * two.get(term, 0) for term, value in one.items()), Fraction(0))
    norm = sum(value**2 for value in one.values()) * sum(value**2 for value in two.values())
    return math.sqrt(dot**2 / norm) if norm else 0.0


def similarity_shares(
    first: Piece, second: Piece, algorithm: str, category_weights: dict[str, Any]
) -> dict[Term, float]:
    """What each shared term adds to the similarity."""
    one, two = effective_weights(first), effective_weights(second)

    def factor(term: Term) -> Fraction:
        return Fraction(str(category_weights.get(term[0], 1)))

    if algorithm == "jaccard":
        total = sum(factor(term) for term in one.keys() | two.keys())
        shares = {term: float(factor(term) / total) for term in one.keys() & two.keys() if total}
    else:
        squares = [sum((weight * factor(term)) ** 2 for term, weight in own.items()) for own in (one, two)]
        divisor = math.sqrt(squares[0]) * math.sqrt(squares[1])
        shares = {
            term: float(one[term] * two[term] * factor(term) ** 2) / divisor
            for term in one.keys() & two.keys()
            if divisor
        }
    return {term: share for term, share in shares.items() if share}


def nearest(
    pieces: list[Piece], piece_id: str, algorithm: str | None = None, category_weights: dict[str, Any] | None = None
) -> list[tuple[str, float]]:
    """All pieces with some similarity, by rounded distance and id."""
    by_id = {piece["id"]: piece for piece in pieces}
    query = by_id[piece_id]
    compare: Any = {"jaccard": jaccard, "cosine": cosine}[algorithm or ("cosine" if is_weighted(query) else "jaccard")]
    found = []
    for other in by_id.values():
        similarity = compare(query, other, category_weights or {})
        if other["id"] != piece_id and similarity > 0:
            found.append((round(float(1 - similarity), 12), other["id"]))
    return [(other_id, distance) for distance, other_id in sorted(found)]


def portion(interaction: dict[str, Any]) -> float:
    """What part of a piece an interaction was of; of ratings a value says nothing."""
    value = interaction.get("value")
    return 1 if value is None or interaction["type"].startswith("Rate") else value


def telling(interactions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that count for something."""
    return [each for each in interactions if portion(each) > 0]


def counted_interactions(interactions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of ratings of a piece only the latest; the list is in the order of recording."""
    latest: dict[str, tuple[int, int]] = {}  # of each piece, the day and place of the latest rating
    for place, each in enumerate(interactions):
        if each["type"].startswith("Rate"):
            latest[each["contentId"]] = max(latest.get(each["contentId"], (0, 0)), (each["day"], place))
    return [
        each
        for place, each in enumerate(interactions)
        if not each["type"].startswith("Rate") or latest[each["contentId"]] == (each["day"], place)
    ]


def stated(pieces: list[Piece], said: dict[str, Any], settings: dict[str, Any]) -> dict[Term, float]:
    """The keywords of a person's preferences that count, with their weights."""
    known = {term for piece in pieces for term in effective_weights(piece)}
    weights = settings.get("categoryWeights", {})
    named = {(category, word): w for category, words in said.get("keywords", {}).items() for word, w in words.items()}
    return {
        term: weight
        for term, weight in named.items()
        if term in known and term[0] not in said.get("unusedCategories", []) and weights.get(term[0], 1)
    }


def profile(
    pieces: list[Piece],
    interactions: list[dict[str, Any]],
    today: int,
    settings: dict[str, Any] | None = None,
    said: dict[str, Any] | None = None,
) -> dict[Term, int]:
    """The integers of section 6; each interaction has type, contentId and the day (a number) it occurred on."""
    settings = settings or {}
    half_life = settings.get("halfLifeDays", 90)
    by_id = {piece["id"]: piece for piece in pieces}
    raw: dict[Term, float] = {}
    for each in counted_interactions(interactions):
        if each["contentId"] not in by_id:
            continue
        value = (WEIGHTS | settings.get("interactionWeights", {}))[each["type"]] * portion(each)
        value *= 2 ** (-(today - each["day"]) / half_life) if half_life else 1
        for term, weight in effective_weights(by_id[each["contentId"]]).items():
            factor = settings.get("categoryWeights", {}).get(term[0], 1)
            if term[0] not in (said or {}).get("unusedCategories", []):
                raw[term] = raw.get(term, 0) + value * math.sqrt(weight) * factor
    strongest = max(map(abs, raw.values()), default=0) or 1
    for term, liking in stated(pieces, said or {}, settings).items():
        raw[term] = raw.get(term, 0) + liking * strongest
    largest = max(map(abs, raw.values()), default=0)
    if largest < 1e-300:
        return {}
    scaled = {term: round(value / largest * 1000, 9) for term, value in raw.items()}
    rounded = {term: int(math.copysign(math.floor(abs(value) + 0.5), value)) for term, value in scaled.items()}
    return {term: value for term, value in rounded.items() if value}
