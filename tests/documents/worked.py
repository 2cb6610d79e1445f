"""The numbers of ``docs/scoring.md``, worked out from the definitions: plain sums over the pieces that it submits.

Rows come as they are printed there. Nothing of the service is used; only what a keyword weighs comes from the oracle.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from oracle import WEIGHTS, effective_weights

Term = tuple[str, str]


def vector_norm(vector: Mapping[Any, float]) -> float:
    return math.sqrt(sum(value**2 for value in vector.values()))


def dot(one: Mapping[Any, float], two: Mapping[Any, float]) -> float:
    return sum(value * two.get(name, 0) for name, value in one.items())


class Worked:
    """The catalogue and the people of the page; all interactions are of today, ``new`` is the one piece of today."""

    def __init__(
        self, pieces: Sequence[Any], interactions: Sequence[Any], *, asked: str, person: str, new: str
    ) -> None:
        self.weights = {piece["id"]: effective_weights(piece) for piece in pieces}
        self.interactions = interactions
        self.asked = asked
        self.person = person
        self.credit = {each: (1.0 if each == new else 0.0) * (1 - 1 / len(pieces)) for each in self.weights}
        self.others = [each for each in self.weights if each != asked]

    def jaccard(self, category_weights: Mapping[str, int] | None = None) -> Iterator[tuple[str, float, float, float]]:
        """Yield each other piece with the weight of shared terms, of all terms, and the distance."""
        by_category = category_weights or {}
        for other in self.others:
            one, two = set(self.weights[self.asked]), set(self.weights[other])
            shared = sum(by_category.get(category, 1) for category, _ in one & two)
            whole = sum(by_category.get(category, 1) for category, _ in one | two)
            yield other, shared, whole, 1 - shared / whole

    def cosine(self) -> Iterator[tuple[str, float, float, float]]:
        """Yield each other piece with the sum of products, its norm, and the distance."""
        asked = self.weights[self.asked]
        for other in self.others:
            weights = self.weights[other]
            product, norm = dot(asked, weights), vector_norm(weights)
            yield other, product, norm, 1 - product / vector_norm(asked) / norm

    def likes(self, person: str) -> dict[str, int]:
        """Return what a person liked, each piece with its highest type weight."""
        liked: dict[str, int] = {}
        for each in self.interactions:
            weight = WEIGHTS[each["type"]]
            if each["userId"] == person and weight > 0:
                liked[each["contentId"]] = max(weight, liked.get(each["contentId"], 0))
        return liked

    @cached_property
    def people(self) -> list[str]:
        """Everybody, in the order of the page."""
        return list(dict.fromkeys(each["userId"] for each in self.interactions))

    @cached_property
    def sums(self) -> dict[Term, float]:
        """What the person's interactions give to each term."""
        sums: dict[Term, float] = {}
        for each in self.interactions:
            if each["userId"] == self.person:
                for term, weight in self.weights[each["contentId"]].items():
                    sums[term] = sums.get(term, 0) + WEIGHTS[each["type"]] * math.sqrt(weight)
        return sums

    @cached_property
    def profile(self) -> dict[Term, int]:
        """The integers of the person's profile."""
        greatest = max(map(abs, self.sums.values()))
        return {term: math.floor(value / greatest * 1000 + 0.5) for term, value in self.sums.items()}

    def frequency(self, term: Term) -> int:
        """Return how many pieces have a term."""
        return sum(term in weights for weights in self.weights.values())

    @cached_property
    def rare(self) -> dict[Term, float]:
        """The profile, each term times how rare it is."""
        count = len(self.weights)
        return {term: math.log(1 + count / self.frequency(term)) * value for term, value in self.profile.items()}

    def roots(self, piece: str) -> dict[Term, float]:
        """Return a piece's terms with the square roots of their weights."""
        return {term: math.sqrt(weight) for term, weight in self.weights[piece].items()}

    @cached_property
    def mean_norm(self) -> float:
        """The mean length of the pieces."""
        return sum(vector_norm(self.roots(each)) for each in self.weights) / len(self.weights)

    @cached_property
    def content(self) -> dict[str, float]:
        """Part c of every piece."""
        return {
            piece: dot(self.rare, roots) / (vector_norm(self.rare) * (vector_norm(roots) + self.mean_norm / 2))
            for piece in self.weights
            for roots in [self.roots(piece)]
        }

    @cached_property
    def liking(self) -> dict[str, int]:
        """How many people liked each piece."""
        return {piece: sum(piece in self.likes(person) for person in self.people) for piece in self.weights}

    @cached_property
    def popularity(self) -> dict[str, float]:
        """Part p of every piece before any start credit."""
        most = max(self.liking.values())
        return {piece: math.log(1 + n) / math.log(1 + most) for piece, n in self.liking.items()}

    @cached_property
    def median(self) -> float:
        """The median p of the pieces that anybody liked."""
        liked = sorted(self.popularity[piece] for piece, n in self.liking.items() if n)
        return (liked[len(liked) // 2] + liked[(len(liked) - 1) // 2]) / 2

    def with_credit(self, piece: str) -> tuple[float, float]:
        """Return a piece's parts a and p, its start credit counted in."""
        credit = self.credit[piece]
        return (
            max(self.audience[piece], credit * 0.2 * self.content[piece]),
            max(self.popularity[piece], credit * self.median),
        )

    def audience_vector(self, piece: str) -> dict[str, float]:
        """Return a piece's vector over people."""
        liking = [person for person in self.people if piece in self.likes(person)]
        return {person: 1 / math.sqrt(len(self.likes(person))) for person in liking}

    @cached_property
    def person_vector(self) -> dict[str, float]:
        """The person's vector over people: of what was liked, the unit vectors times their highest weights."""
        vector: dict[str, float] = {}
        for piece, weight in self.likes(self.person).items():
            of_piece = self.audience_vector(piece)
            for each, value in of_piece.items():
                vector[each] = vector.get(each, 0) + weight * value / vector_norm(of_piece)
        return vector

    @cached_property
    def damping(self) -> float:
        """Ten times the mean of 1/n over the people who liked anything."""
        counts = [len(self.likes(person)) for person in self.people if self.likes(person)]
        return 10 * sum(1 / n for n in counts) / len(counts)

    @cached_property
    def audience(self) -> dict[str, float]:
        """Part a of every piece before any start credit."""
        length = vector_norm(self.person_vector)
        parts = {}
        for piece in self.weights:
            vector = self.audience_vector(piece)
            norm = math.sqrt(vector_norm(vector) ** 2 + self.damping)
            parts[piece] = dot(self.person_vector, vector) / (length * norm)
        return parts

    def blended(self, content: float, audience: float, popularity: float) -> dict[str, float]:
        """Return s of every piece."""
        parts = {piece: self.with_credit(piece) for piece in self.weights}
        total = content + audience + popularity
        return {
            piece: (content * self.content[piece] + audience * a + popularity * p) / total
            for piece, (a, p) in parts.items()
        }
