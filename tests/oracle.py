"""The interface page's definitions by full scan, in plain Python: slow, obvious, independent of the index.

Pieces are JSON objects as submitted; nothing of `penchant.index`, `profiles` or `ranking` is used.
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
                weight = None if isinstance(item, str) else item.get("weight")
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


def profile(
    pieces: list[Piece], interactions: list[dict[str, Any]], today: int, settings: dict[str, Any] | None = None
) -> dict[Term, int]:
    """The integers of section 6; each interaction has type, contentId and the day (a number) it occurred on."""
    settings = settings or {}
    half_life = settings.get("halfLifeDays", 90)
    by_id = {piece["id"]: piece for piece in pieces}
    raw: dict[Term, float] = {}
    for each in counted_interactions(interactions):
        if each["contentId"] not in by_id:
            continue
        value = (WEIGHTS | settings.get("interactionWeights", {}))[each["type"]]
        value *= 2 ** (-(today - each["day"]) / half_life) if half_life else 1
        for term, weight in effective_weights(by_id[each["contentId"]]).items():
            factor = settings.get("categoryWeights", {}).get(term[0], 1)
            raw[term] = raw.get(term, 0) + value * math.sqrt(weight) * factor
    largest = max(map(abs, raw.values()), default=0)
    if largest < 1e-300:
        return {}
    scaled = {term: round(value / largest * 1000, 9) for term, value in raw.items()}
    rounded = {term: int(math.copysign(math.floor(abs(value) + 0.5), value)) for term, value in scaled.items()}
    return {term: value for term, value in rounded.items() if value}


def likes(everyone: dict[str, list[dict[str, Any]]], settings: dict[str, Any] | None = None) -> dict[str, set[str]]:
    """The pieces that each person likes; interactions are in the order of recording."""
    weights = WEIGHTS | (settings or {}).get("interactionWeights", {})
    found: dict[str, set[str]] = {}
    for person, own in everyone.items():
        positive = {each["contentId"] for each in own if weights[each["type"]] > 0}
        ratings = sorted((e for e in own if e["type"].startswith("Rate")), key=lambda each: int(each["day"]))
        latest = {each["contentId"]: each["type"] for each in ratings}
        liked = {piece_id for piece_id in positive if latest.get(piece_id) != "RateDislike"}
        if liked:
            found[person] = liked
    return found


def seeds(
    own: list[dict[str, Any]], existing: set[str], settings: dict[str, Any] | None = None
) -> list[tuple[str, float]]:
    """The last 100 pieces that a person likes, each with the highest weight of a type."""
    weights = WEIGHTS | (settings or {}).get("interactionWeights", {})
    liked = likes({"": own}, settings).get("", set()) & existing
    latest = {piece_id: max(each["day"] for each in own if each["contentId"] == piece_id) for piece_id in liked}
    ordered = sorted(liked, key=lambda piece_id: (-latest[piece_id], piece_id))[:100]
    return [(piece_id, max(weights[e["type"]] for e in own if e["contentId"] == piece_id)) for piece_id in ordered]


def audience(liked: dict[str, set[str]], chosen: list[tuple[str, float]]) -> dict[str, float]:
    """Part a of every piece that anybody likes."""
    vectors: dict[str, dict[str, float]] = {}
    for person, own in liked.items():
        for piece_id in own:
            vectors.setdefault(piece_id, {})[person] = 1 / math.sqrt(len(own))

    def norm(vector: dict[str, float]) -> float:
        return math.sqrt(sum(value**2 for value in vector.values()))

    user: dict[str, float] = {}
    for piece_id, weight in chosen:
        for person, value in vectors.get(piece_id, {}).items():
            user[person] = user.get(person, 0) + weight * value / norm(vectors[piece_id])
    damping = 10 * sum(1 / len(own) for own in liked.values()) / len(liked) if liked else 0.0
    found = {}
    for piece_id, vector in vectors.items():
        dot = sum(value * user.get(person, 0) for person, value in vector.items())
        found[piece_id] = dot / (norm(user) * math.sqrt(norm(vector) ** 2 + damping)) if norm(user) else 0.0
    return found


def recommend(
    pieces: list[Piece],
    everyone: dict[str, list[dict[str, Any]]],
    user: str,
    today: int,
    *,
    settings: dict[str, Any] | None = None,
    algorithm: str | None = None,
    include_seen: bool = False,
) -> dict[str, float]:
    """S of every piece that may be shown; every piece has the day of its availability in ``day``."""
    parts = recommended_parts(
        pieces, everyone, user, today, settings=settings, algorithm=algorithm, include_seen=include_seen
    )
    return {piece_id: sum(shares.values()) for piece_id, shares in parts.items()}


def recommended_parts(
    pieces: list[Piece],
    everyone: dict[str, list[dict[str, Any]]],
    user: str,
    today: int,
    *,
    settings: dict[str, Any] | None = None,
    algorithm: str | None = None,
    include_seen: bool = False,
) -> dict[str, dict[str, float]]:
    """What each part adds to s of every piece that may be shown."""
    settings = settings or {}
    weights = settings.get("categoryWeights", {})
    taste = profile(pieces, everyone.get(user, []), today, settings)
    terms = {piece["id"]: effective_weights(piece) for piece in pieces}
    frequency = {term: sum(term in own for own in terms.values()) for term in taste}
    rare = {term: math.log(1 + len(pieces) / frequency[term]) * taste[term] for term in taste}

    def root(own: dict[Term, int]) -> dict[Term, float]:
        return {term: math.sqrt(weight) * weights.get(term[0], 1) for term, weight in own.items()}

    def norm(vector: dict[Term, float]) -> float:
        return math.sqrt(sum(value**2 for value in vector.values()))

    norms = [norm(root(own)) for own in terms.values() if own]
    mean_norm = sum(norms) / len(norms) if norms else 0

    def content(piece_id: str) -> float:
        vector = root(terms[piece_id])
        divisor = norm(rare) * (norm(vector) + mean_norm / 2)
        return sum(rare[term] * vector.get(term, 0) for term in rare) / divisor if divisor else 0.0

    def people(piece_id: str) -> float:
        total = 0.0
        for own in everyone.values():
            days = [e["day"] for e in own if e["contentId"] == piece_id and WEIGHTS[e["type"]] > 0]
            total += 2 ** (-(today - max(days)) / 30) if days else 0
        return total

    count = {piece["id"]: people(piece["id"]) for piece in pieces}
    most = max(count.values(), default=0)
    popularity = {each: math.log(1 + n) / math.log(1 + most) if most else 0.0 for each, n in count.items()}
    liked = sorted(popularity[each] for each, n in count.items() if n > 0)
    median = (liked[len(liked) // 2] + liked[(len(liked) - 1) // 2]) / 2 if liked else 0
    alike = audience(
        likes(everyone, settings), seeds(everyone.get(user, []), {piece["id"] for piece in pieces}, settings)
    )
    half_life = settings.get("newPieceHalfLifeDays", 30)
    newness = {p["id"]: 2 ** (-(today - p["day"]) / half_life) if half_life else 0.0 for p in pieces}
    mean_newness = sum(newness.values()) / len(newness) if newness else 0

    def parts(piece_id: str) -> dict[str, float]:
        if algorithm == "cosine":
            return {"content": content(piece_id), "audience": 0.0, "popularity": 0.0, "new": 0.0}
        if algorithm == "jaccard":
            own, good = set(terms[piece_id]), {term for term, score in taste.items() if score > 0}
            overlap = len(own & good) / len(own | good) if own | good else 0.0
            return {"content": overlap, "audience": 0.0, "popularity": 0.0, "new": 0.0}
        credit = newness[piece_id] * (1 - mean_newness)
        c, a, p = content(piece_id), alike.get(piece_id, 0.0), popularity[piece_id]
        blend = {"content": 0.1, "audience": 0.8, "popularity": 0.1} | settings.get("blend", {})
        new = blend["audience"] * (max(a, credit * 0.2 * c) - a) + blend["popularity"] * (max(p, credit * median) - p)
        shares = {
            "content": blend["content"] * c,
            "audience": blend["audience"] * a,
            "popularity": blend["popularity"] * p,
            "new": new,
        }
        return {part: float(share / sum(blend.values())) for part, share in shares.items()}

    known = {e["contentId"] for e in everyone.get(user, []) if e["type"] in SEEN}
    return {str(p["id"]): parts(p["id"]) for p in pieces if include_seen or p["id"] not in known}
