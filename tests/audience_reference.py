"""The interface page's recommendation by its words, in plain Python: slow, obvious, independent of the index.

Pieces are JSON objects as submitted, with the day of their availability in ``day``; interactions have ``userId``,
``contentId``, ``type``, perhaps ``value``, and ``at`` (milliseconds) or ``day``, in the order of recording. Exact sums
are integers and fractions. Nothing of `penchant_engine.index`, `profiles` or `ranking` is used.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

from oracle import SEEN, WEIGHTS, Piece, Term, effective_weights, portion, profile, stated, telling
from order_reference import Like, Order, factors_of, half_up

DAY_MS = 86_400_000
LARGE = 50_000
Likes = dict[str, dict[str, Like]]
"""What each person likes, by person and piece."""


def grade(weight: float, value: float = 1) -> int:
    share = min(Fraction(1), (Fraction(str(weight)) * Fraction(str(value)) / 4) ** 2)
    return max(1, math.floor(16 * share + Fraction(1, 2)))


def likes_of(own: list[dict[str, Any]], existing: set[str], weights: dict[str, float], most: int) -> dict[str, Like]:
    """One person's likes: the latest ones."""
    by_piece: dict[str, list[tuple[int, int, str, float]]] = defaultdict(list)
    for order, each in enumerate(telling(own)):
        if each["contentId"] in existing:
            moment = each["at"] if "at" in each else each["day"] * DAY_MS
            by_piece[each["contentId"]].append((moment, order, each["type"], portion(each)))
    liked, latest = {}, {}
    for piece_id, events in by_piece.items():
        ratings = sorted(event for event in events if event[2].startswith("Rate"))
        highest = max(grade(weights[kind], value) if weights[kind] > 0 else 0 for _, _, kind, value in events)
        if highest > 0 and not (ratings and ratings[-1][2] == "RateDislike"):
            liked[piece_id] = Like(highest, max(event[0] for event in events if weights[event[2]] > 0))
            latest[piece_id] = max(event[0] for event in events)
    kept = sorted(liked, key=lambda piece_id: (-latest[piece_id], piece_id))[:most]
    return {piece_id: liked[piece_id] for piece_id in kept}


def rounded(share: Fraction | float, unit: int) -> Fraction:
    return Fraction(round(share * unit), unit)


@dataclass
class Catalogue:
    """Vectors of pieces, and how alike they are."""

    pieces: list[Piece]
    category_weights: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ids = sorted(piece["id"] for piece in self.pieces)
        terms = {piece["id"]: effective_weights(piece) for piece in self.pieces}
        frequency = Counter(term for own in terms.values() for term in own)
        self.rarity = {term: math.log(1 + len(self.ids) / count) for term, count in frequency.items()}
        self.vectors: dict[str, dict[Term, float]] = {
            piece_id: {
                term: math.sqrt(weight) * self.category_weights.get(term[0], 1) for term, weight in sorted(own.items())
            }
            for piece_id, own in terms.items()
        }
        self.norms = {piece_id: _norm(vector) for piece_id, vector in self.vectors.items()}
        norms = [self.norms[piece_id] for piece_id in self.ids if self.vectors[piece_id]]
        self.mean = math.fsum(norms) / len(norms) if norms else 0.0

    def content(self, profile: Mapping[Term, float], piece_id: str) -> float:
        """Content c of a piece for a profile."""
        rare = {term: self.rarity[term] * value for term, value in profile.items()}
        divisor = _norm(rare) * (self.norms[piece_id] + self.mean / 2)
        vector = self.vectors[piece_id]
        return math.fsum(value * vector.get(term, 0.0) for term, value in rare.items()) / divisor if divisor else 0.0

    def unit(self, piece_id: str) -> dict[Term, int]:
        """The unit vector by which likeness of likes is measured, in units of 2**-16."""
        vector = {term: math.sqrt(self.rarity[term]) * value for term, value in self.vectors[piece_id].items()}
        norm = _norm(vector)
        return {term: round(65_536 * value / norm) for term, value in vector.items()} if norm else {}


def _norm(vector: dict[Term, float]) -> float:
    return math.sqrt(math.fsum(value**2 for value in vector.values()))


class Reference:
    """The weights, stand-ins and figures of a source."""

    def __init__(
        self,
        pieces: list[Piece],
        interactions: list[dict[str, Any]],
        settings: dict[str, Any] | None = None,
        *,
        most: int | None = None,
        k: int | None = None,
    ) -> None:
        settings = settings or {}
        self.weights: dict[str, float] = WEIGHTS | settings.get("interactionWeights", {})
        self.catalogue = Catalogue(pieces, settings.get("categoryWeights", {}))
        self.existing = set(self.catalogue.ids)
        self.most = most or (200 if len(pieces) >= LARGE else 1_000)
        self.k = k or (50 if len(pieces) >= LARGE else 80)
        own: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for each in interactions:
            own[each["userId"]].append(each)
        self.weighted: Likes = {person: self.liked(events) for person, events in own.items()}
        weights = sorted((like.grade for liked in self.weighted.values() for like in liked.values()), reverse=True)
        half = -(-len(weights) // 2)
        self.full = Fraction(sum(weights[:half]), half) if half else Fraction(16)
        self.likes: Likes = {person: self.graded(liked) for person, liked in self.weighted.items()}
        self.order = Order.of(self.likes.values())
        self.strength = self.order.strength(settings.get("order", "auto"))
        self.successors = self.order.successors()
        self.people = Counter(piece_id for liked in self.likes.values() for piece_id in liked)
        self.overlap: dict[str, Counter[str]] = defaultdict(Counter)
        for liked in self.likes.values():
            for one, v in liked.items():
                for other, w in liked.items():
                    self.overlap[one][other] += v.grade * w.grade
        self.columns = {piece_id: self._solved(piece_id) for piece_id in self.overlap}
        self.figures = Figures.of(self)

    def liked(self, own: list[dict[str, Any]]) -> dict[str, Like]:
        return likes_of(own, self.existing, self.weights, self.most)

    def graded(self, liked: Mapping[str, Like]) -> dict[str, Like]:
        """Likes by weight as likes by grade."""
        return {
            piece_id: Like(min(16, max(1, half_up(16 * like.grade / self.full))), like.at)
            for piece_id, like in liked.items()
        }

    def neighbours(self, piece_id: str) -> list[str]:
        overlap = self.overlap[piece_id]
        others = [other for other in overlap if other != piece_id]
        others.sort(key=lambda other: (-Fraction(overlap[other] ** 2, self.overlap[other][other]), other))
        return sorted(others[: self.k])

    def _solved(self, piece_id: str) -> dict[str, int]:
        """W of a piece by neighbour: Cholesky in doubles, sums from left to right."""
        near = self.neighbours(piece_id)
        matrix = [[float(self.overlap[a][b]) for b in near] for a in near]
        lower: list[list[float]] = []
        for i, row in enumerate(matrix):
            row[i] += 12_800.0
            lower.append([])
            for j in range(i + 1):
                total = row[j]
                for q in range(j):
                    total -= lower[i][q] * lower[j][q]
                lower[i].append(math.sqrt(total) if i == j else total / lower[j][j])
        b = [float(self.overlap[piece_id][a]) for a in near]
        for i in range(len(b)):
            for q in range(i):
                b[i] -= lower[i][q] * b[q]
            b[i] /= lower[i][i]
        for i in reversed(range(len(b))):
            for q in range(i + 1, len(b)):
                b[i] -= lower[q][i] * b[q]
            b[i] /= lower[i][i]
        return {other: round(2**20 * value) for other, value in zip(near, b, strict=True)}

    def evidence(self, piece_id: str) -> Fraction:
        """How much stand-ins count for a piece, e_j."""
        return rounded(Fraction(3, 3 + self.people[piece_id]), 65_536)

    def stand_ins(self, piece_id: str) -> dict[str, Fraction]:
        """The shares u_jm by stand-in m; none where 50 people like the piece."""
        if self.people[piece_id] >= 50:
            return {}
        alike = {m: self.catalogue.content(self.catalogue.vectors[piece_id], m) for m in self.people if m != piece_id}
        best = sorted((m for m in alike if alike[m] > 0), key=lambda m: (-round(alike[m], 12), m))[:10]
        total = math.fsum(alike[m] for m in best) + 0.5
        return {m: rounded(alike[m] / total, 65_536) for m in best}

    def direct(self, own: Mapping[str, Like], piece_id: str) -> Fraction:
        """A of a piece: what a person's likes say of it, and what people like soon after them."""
        factors, weights = factors_of(own, self.strength), self.columns.get(piece_id, {})
        total = 0
        for i, like in own.items():
            total += factors[i].counted * weights.get(i, 0)
            total += self.strength * factors[i].recency * like.grade * self.successors.get(i, {}).get(piece_id, 0)
        return Fraction(total, 2**36)

    def shares(self, own: Mapping[str, Like]) -> dict[str, Fraction]:
        """Part a of every piece for a person's own likes."""
        direct = {piece_id: self.direct(own, piece_id) for piece_id in self.catalogue.ids}
        found = {}
        for piece_id in self.catalogue.ids:
            lent = Fraction(0)
            for m, share in self.stand_ins(piece_id).items():
                grade = own[m].grade if m in own else 0
                lent += share * (direct[m] + self.figures.loan * Fraction(grade, 16))
            found[piece_id] = direct[piece_id] + self.evidence(piece_id) * lent
        return found


@dataclass
class Figures:
    """The figures of a source, exact."""

    likes: int = 0
    worth: int = 0
    pieces: int = 0
    evenness: Fraction = Fraction(1)
    telling: Fraction = Fraction(3, 2)
    kappa: Fraction = Fraction(5, 4)

    @classmethod
    def of(cls, reference: Reference) -> "Figures":
        likes, pieces = sum(map(len, reference.likes.values())), len(reference.catalogue.ids)
        observed = Fraction(sum(n * (n - 1) for n in reference.people.values()), 2)
        expected = Fraction(likes * (likes - 1), 2 * pieces) if pieces else Fraction(0)
        telling = _telling(reference)
        square = min(Fraction(6), max(Fraction(1, 4), telling**2 - 1))
        grades = [like.grade for liked in reference.likes.values() for like in liked.values()]
        return cls(
            likes=likes,
            worth=sum(grades) ** 2 // sum(v**2 for v in grades) if grades else 0,
            pieces=pieces,
            evenness=min(Fraction(1), max(Fraction(1, 64), (observed - expected + 1) / (expected + 1))),
            telling=telling,
            kappa=Fraction(math.floor(square * 100 + Fraction(1, 2)), 100),
        )

    @property
    def loan(self) -> Fraction:
        """L: how much a person's own like of a stand-in counts."""
        return Fraction(3, 10) * self.worth / (self.worth + 500 / self.kappa**2)

    def content_factor(self, met: int) -> Fraction:
        """The factor of the content part for a person who has met so many pieces."""
        density = Fraction(self.worth, self.pieces) if self.pieces else Fraction(0)
        lead = Fraction(3, 2) * self.kappa * Fraction(met, met + 1) - 1
        return 1 + lead * 100 / (100 + density**2)


def _telling(reference: Reference) -> Fraction:
    """Lambda, by the sums of the words, with weights u."""
    units = {piece_id: reference.catalogue.unit(piece_id) for piece_id in reference.people}
    lengths = {piece_id: sum(value**2 for value in unit.values()) for piece_id, unit in units.items()}
    everyone: Counter[Term] = Counter()
    own_squares, totals, alike = 0, [], []
    cap = math.floor(20 * reference.full)
    for liked in reference.weighted.values():
        summed: Counter[Term] = Counter()
        for piece_id, like in liked.items():
            summed.update({term: like.grade * value for term, value in units[piece_id].items()})
        everyone.update(summed)
        square = sum(value**2 for value in summed.values())
        own_squares += square
        total, squares = sum(like.grade for like in liked.values()), sum(like.grade**2 for like in liked.values())
        totals.append(total)
        if len(liked) > 1:
            alone = sum(like.grade**2 * lengths[piece_id] for piece_id, like in liked.items())
            counted = min(total, cap)
            alike.append(
                (
                    counted,
                    (square - alone) // (total**2 - squares),
                    squares if total <= cap else cap**2 * squares // total**2,
                )
            )
    crowds = {
        piece_id: sum(own) ** 2 - sum(u**2 for u in own)
        for piece_id in units
        if (own := [liked[piece_id].grade for liked in reference.weighted.values() if piece_id in liked])
    }
    between = sum(value**2 for value in everyone.values()) - own_squares
    between -= sum(crowd * lengths[piece_id] for piece_id, crowd in crowds.items())
    pairs = sum(totals) ** 2 - sum(total**2 for total in totals) - sum(crowds.values())
    if between <= 0 or pairs <= 0 or not alike:
        return Fraction(3, 2)
    weight = sum(w for w, _, _ in alike)
    likeness = Fraction(sum(w * q for w, q, _ in alike), weight)
    evidence = weight**2 // sum(squares for _, _, squares in alike)
    return (evidence * likeness / Fraction(between, pairs) + 75) / (evidence + 50)


def recommended_parts(
    pieces: list[Piece],
    everyone: dict[str, list[dict[str, Any]]],
    user: str,
    today: int,
    *,
    settings: dict[str, Any] | None = None,
    algorithm: str | None = None,
    include_seen: bool = False,
    said: dict[str, Any] | None = None,
) -> dict[str, dict[str, float]]:
    """What each part adds to s of every piece that may be shown."""
    settings = settings or {}
    types = WEIGHTS | settings.get("interactionWeights", {})
    everyone = {person: telling(own) for person, own in everyone.items()}
    taste = profile(pieces, everyone.get(user, []), today, settings, said)
    terms = {piece["id"]: effective_weights(piece) for piece in pieces}

    events = [each | {"userId": person} for person, own in everyone.items() for each in own]
    reference = Reference(pieces, events, settings)

    def people(piece_id: str) -> float:
        total = 0.0
        for own in everyone.values():
            positive = [e for e in own if e["contentId"] == piece_id and types[e["type"]] > 0]
            if positive:
                u = max(grade(types[e["type"]], portion(e)) for e in positive)
                v = reference.graded({piece_id: Like(u, 0)})[piece_id].grade
                total += v / 16 * 2 ** (-(today - max(e["day"] for e in positive)) / 30)
        return total

    count = {piece["id"]: people(piece["id"]) for piece in pieces}
    most = max(count.values(), default=0)
    content = partial(reference.catalogue.content, taste)
    alike = reference.shares(reference.graded(reference.liked(everyone.get(user, []))))
    figures = reference.figures
    even = float(figures.evenness)
    popularity = {each: math.log(1 + even * n) / math.log(1 + most) if most else 0.0 for each, n in count.items()}
    liked = sorted(popularity[each] for each, n in count.items() if n > 0)
    median = (liked[len(liked) // 2] + liked[(len(liked) - 1) // 2]) / 2 if liked else 0
    half_life = settings.get("newPieceHalfLifeDays", 30)
    newness = {p["id"]: 2 ** (-(today - p["day"]) / half_life) if half_life else 0.0 for p in pieces}
    born = [newness[p["id"]] for p in pieces if p["day"] <= today]
    mean_newness = sum(born) / len(born) if born else 0
    met = len({each["contentId"] for each in everyone.get(user, [])} & reference.existing)
    lead = float(figures.content_factor(met + len(stated(pieces, said or {}, settings))))

    def parts(piece_id: str) -> dict[str, float]:
        if algorithm == "cosine":
            return {"content": content(piece_id), "audience": 0.0, "popularity": 0.0, "new": 0.0}
        if algorithm == "jaccard":
            own, good = set(terms[piece_id]), {term for term, score in taste.items() if score > 0}
            overlap = len(own & good) / len(own | good) if own | good else 0.0
            return {"content": overlap, "audience": 0.0, "popularity": 0.0, "new": 0.0}
        credit = newness[piece_id] * (1 - mean_newness)
        c, a, p = content(piece_id), float(alike[piece_id]), popularity[piece_id]
        blend = {"content": 0.1, "audience": 0.8, "popularity": 0.1} | settings.get("blend", {})
        floor = float(reference.evidence(piece_id)) * credit * median
        total = lead * blend["content"] + blend["audience"] + blend["popularity"]
        shares = {
            "content": lead * blend["content"] * c,
            "audience": blend["audience"] * a,
            "popularity": blend["popularity"] * p,
            "new": blend["popularity"] * (max(p, floor) - p),
        }
        return {part: float(share / total) if total else 0.0 for part, share in shares.items()}

    known = {e["contentId"] for e in everyone.get(user, []) if e["type"] in SEEN}
    hidden = (said or {}).get("hidden", [])
    return {
        str(p["id"]): parts(p["id"]) for p in pieces if (include_seen or p["id"] not in known) and p["id"] not in hidden
    }
