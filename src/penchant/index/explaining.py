"""Explanations: what each term and each part adds to a score, as shares that add up to it.

Nothing here decides what is shown, and no search comes through here: it explains what `engine` has found.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from penchant.index.audience import LikeShare
from penchant.index.layout import BlendFactors
from penchant.index.part import Part
from penchant.index.personal import ListSpec, PersonVector
from penchant.index.popularity import Popularity
from penchant.index.snapshot import FACTOR_SCALE, Snapshot, root_norms
from penchant.model import Algorithm, Term

LEAST_PEOPLE = 3
"""An audience share from fewer people is given without its piece, since it would tell of them."""


class TermShare(NamedTuple):
    """What a term adds to a score."""

    term: Term
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreParts:
    """What each part of a recommendation adds to its s; ``terms`` add up to ``content``.

    ``new`` is what the start credit lifts popularity by.
    """

    content: float
    terms: tuple[TermShare, ...]
    audience: float = 0.0
    likes: tuple[LikeShare, ...] = ()
    popularity: float = 0.0
    new: float = 0.0


def similarity_shares(
    first: Mapping[Term, int],
    second: Mapping[Term, int],
    algorithm: Algorithm,
    category_weights: Mapping[str, float],
) -> tuple[TermShare, ...]:
    """Return what each shared term adds to the similarity of two pieces, given by their effective weights.

    Greatest first, ties by category and keyword, zeros left out. Sums of integers, each divided once.
    """
    factors = {
        category: round(category_weights.get(category, 1) * FACTOR_SCALE)
        for category in {term.category for weights in (first, second) for term in weights}
    }
    shared = first.keys() & second.keys()
    if algorithm is Algorithm.JACCARD:
        total: float = sum(factors[term.category] for term in first.keys() | second.keys())
        shares = {term: factors[term.category] / total for term in shared if total}
    else:
        squares = [
            sum((weight * factors[term.category]) ** 2 for term, weight in weights.items())
            for weights in (first, second)
        ]
        # As the search divides: one root of the product of integers.
        total = math.sqrt(squares[0] * squares[1])
        shares = {term: first[term] * second[term] * factors[term.category] ** 2 / total for term in shared if total}
    return ordered(shares)


@dataclass(frozen=True, slots=True, kw_only=True)
class AudienceShares:
    """Part a of a candidate, and the likes that it is owed to, whose shares add up to it."""

    value: float = 0.0
    likes: tuple[LikeShare, ...] = ()


def blended_parts(
    snapshot: Snapshot,
    person: PersonVector,
    popular: Popularity,
    wanted: ListSpec,
    piece_id: str,
    *,
    liked: AudienceShares,
) -> ScoreParts:
    """Return what the parts add to a piece's s for a person.

    Raises:
        KeyError: no live piece has this id.
    """
    part, place = _found(snapshot, piece_id)
    blending = wanted.blending
    root = float(root_norms(part.segment, wanted.category_weights)[place])
    mean = snapshot.mean_norm(wanted.category_weights)
    terms = content_terms(person, snapshot.terms_of(piece_id) or {}, person.norm * (root + mean / 2))
    # Popularity lies by part, in the order of the snapshot that it was asked for.
    number = snapshot.parts.index(part)
    popularity = (float(popular.shares[number][place]), float(popular.lifted[number][place]))
    return mixed(terms, liked, popularity, blending)


def content_terms(person: PersonVector, weights: Mapping[Term, int], divisor: float) -> dict[Term, float]:
    """Return what each term of a piece adds to part c."""
    if not divisor:
        return {}
    return {
        term: person.values[term] * math.sqrt(weight) / divisor
        for term, weight in weights.items()
        if term in person.values
    }


def mixed(
    terms: Mapping[Term, float], liked: AudienceShares, popularity: tuple[float, float], blending: BlendFactors
) -> ScoreParts:
    """Return what the parts c (by term), a and p of a piece add to its s; p is given as it is and as it is lifted."""
    by_content, by_audience, by_popularity = (
        part / blending.total for part in (blending.content, blending.audience, blending.popularity)
    )
    popular, lifted = popularity
    return ScoreParts(
        content=_plain(math.fsum(terms.values()) * by_content),
        terms=ordered({term: share * by_content for term, share in terms.items()}),
        audience=_plain(liked.value * by_audience),
        likes=tuple(like._replace(share=like.share * by_audience) for like in liked.likes),
        popularity=_plain(popular * by_popularity),
        new=_plain((lifted - popular) * by_popularity),
    )


def overlap_parts(liked: Iterable[Term], weights: Mapping[Term, int]) -> ScoreParts:
    """Return what each shared term adds to the overlap of a piece with the terms that a person likes."""
    wanted = set(liked)
    union = len(wanted | weights.keys())
    if not union:
        return ScoreParts(content=0.0, terms=())
    terms = ordered(dict.fromkeys(wanted & weights.keys(), 1 / union))
    return ScoreParts(content=len(terms) / union, terms=terms)


def tellable(likes: Sequence[LikeShare]) -> tuple[LikeShare, ...]:
    """Return those likes of an audience that may be named, the greatest share first, ties by id.

    What fewer than three people liked together would tell what one of them likes: such a piece is left out, while its
    share stays within that of the part.
    """
    named = [like for like in likes if like.people >= LEAST_PEOPLE and like.share]
    return tuple(sorted(named, key=lambda like: (-like.share, like.id, like.through or "")))


def ordered(shares: Mapping[Term, float]) -> tuple[TermShare, ...]:
    """Return shares, greatest first, ties by category and keyword; zeros are left out."""
    found = [TermShare(term, share) for term, share in shares.items() if share]
    return tuple(sorted(found, key=lambda each: (-each.share, each.term)))


def _plain(share: float) -> float:
    """Return a share without the sign that a zero may have."""
    return share + 0.0


def _found(snapshot: Snapshot, piece_id: str) -> tuple[Part, int]:
    found = snapshot.find(piece_id)
    if found is None:
        raise KeyError(piece_id)
    return found
