"""The numbers of ``docs/explanation/scoring.md``, worked out from the definitions: plain sums over what it submits.

Rows come as they are printed there. Nothing of the service is used.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from audience_reference import Reference
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
        self.reference = Reference(list(pieces), [each | {"day": 0} for each in interactions])
        self.catalogue = self.reference.catalogue
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
        """Return what a person likes, each piece with its grade, in the order of the interactions."""
        grades, own = self.reference.likes[person], [each for each in self.interactions if each["userId"] == person]
        return {each["contentId"]: grades[each["contentId"]].grade for each in own if each["contentId"] in grades}

    @cached_property
    def people(self) -> list[str]:
        """Everybody, in the order of the page."""
        return list(self.reference.likes)

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
        return self.scaled(self.sums)

    @staticmethod
    def scaled(sums: Mapping[Term, float]) -> dict[Term, int]:
        """Return the integers of a profile from what is known of each term."""
        greatest = max(map(abs, sums.values()))
        return {
            term: int(math.copysign(math.floor(abs(value) / greatest * 1000 + 0.5), value))
            for term, value in sums.items()
        }

    def stated(self, keywords: Mapping[str, Mapping[str, float]]) -> dict[Term, float]:
        """Return the sums with what the person says of keywords that are among them."""
        greatest = max(map(abs, self.sums.values()))
        return {
            (category, keyword): value + keywords.get(category, {}).get(keyword, 0) * greatest
            for (category, keyword), value in self.sums.items()
        }

    def frequency(self, term: Term) -> int:
        """Return how many pieces have a term."""
        return sum(term in weights for weights in self.weights.values())

    @cached_property
    def rare(self) -> dict[Term, float]:
        """The profile, each term times how rare it is."""
        return {term: self.catalogue.rarity[term] * value for term, value in self.profile.items()}

    @cached_property
    def content(self) -> dict[str, float]:
        """Part c of every piece."""
        return {piece: self.catalogue.content(self.profile, piece) for piece in self.weights}

    @cached_property
    def liking(self) -> dict[str, float]:
        """How many people liked each piece, each by the grade of the like."""
        everybody = self.reference.likes.values()
        return {piece: sum(own[piece].grade / 16 for own in everybody if piece in own) for piece in self.weights}

    @cached_property
    def popularity(self) -> dict[str, float]:
        """Part p of every piece before any start credit."""
        most, even = max(self.liking.values()), float(self.reference.figures.evenness)
        return {piece: math.log(1 + even * n) / math.log(1 + most) for piece, n in self.liking.items()}

    @cached_property
    def median(self) -> float:
        """The median p of the pieces that anybody liked."""
        liked = sorted(self.popularity[piece] for piece, n in self.liking.items() if n)
        return (liked[len(liked) // 2] + liked[(len(liked) - 1) // 2]) / 2

    def with_credit(self, piece: str) -> float:
        """Return a piece's part p, its start credit counted in."""
        return max(self.popularity[piece], float(self.reference.evidence(piece)) * self.credit[piece] * self.median)

    @cached_property
    def content_factor(self) -> float:
        """Gamma for the person."""
        return float(self.reference.figures.content_factor(len(self.likes(self.person))))

    def direct(self, piece: str) -> float:
        """Return A of a piece for the person."""
        column = self.reference.columns.get(piece, {})
        return sum(grade * column.get(liked, 0) for liked, grade in self.likes(self.person).items()) / (16 * 2**20)

    @cached_property
    def audience(self) -> dict[str, float]:
        """Part a of every piece."""
        shares = self.reference.shares(self.reference.likes[self.person])
        return {piece: float(shares[piece]) for piece in self.weights}

    def blended(self, content: float, audience: float, popularity: float) -> dict[str, float]:
        """Return s of every piece."""
        lead = self.content_factor * content
        total = lead + audience + popularity
        return {
            piece: (lead * self.content[piece] + audience * self.audience[piece] + popularity * self.with_credit(piece))
            / total
            for piece in self.weights
        }
