"""What does each term and each part add to a score? Shares that add up to it, from the definition by two pieces.

Nothing here decides what is shown, and no search comes through here: it explains what `engine` has found.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from penchant.index.audience import Popular, SeedShare
from penchant.index.layout import NEW_CONTENT_SHARE, Blending
from penchant.index.part import Part
from penchant.index.personal import Person, Wanted
from penchant.index.snapshot import FACTOR_SCALE, Snapshot, root_norms
from penchant.model import Algorithm, Term

LEAST_PEOPLE = 3
"""An audience share from fewer people is given without its piece, since it would tell of them."""


class TermShare(NamedTuple):
    """What a term adds to a score."""

    term: Term
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What each part of a recommendation adds to its s; ``terms`` add up to ``content``.

    ``new`` is what the start credit lifts popularity and audience by.
    """

    content: float
    terms: tuple[TermShare, ...]
    audience: float = 0.0
    seeds: tuple[SeedShare, ...] = ()
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
        total = math.sqrt(squares[0] * squares[1])
        shares = {term: first[term] * second[term] * factors[term.category] ** 2 / total for term in shared if total}
    return ordered(shares)


@dataclass(frozen=True, slots=True, kw_only=True)
class Liked:
    """Part a of a candidate, and the seeds that it is owed to, whose shares add up to it."""

    value: float = 0.0
    seeds: tuple[SeedShare, ...] = ()


def blended_parts(
    snapshot: Snapshot, person: Person, popular: Popular, wanted: Wanted, piece_id: str, *, liked: Liked
) -> Parts:
    """Return what the parts add to a piece's s for a person.

    Raises:
        KeyError: no live piece has this id.
    """
    part, place = _found(snapshot, piece_id)
    blending = wanted.blending
    root = float(root_norms(part.segment, wanted.category_weights)[place])
    mean = snapshot.mean_norm(wanted.category_weights)
    terms = content_terms(person, snapshot.terms_of(piece_id) or {}, person.norm * (root + mean / 2))
    popularity = float(popular.shares[snapshot.parts.index(part)][place])
    age = min(max(blending.today - int(part.segment.days[place]), 0), len(blending.credits) - 1)
    return mixed(terms, liked, popularity, credit=float(blending.credits[age]), blending=blending)


def content_terms(person: Person, weights: Mapping[Term, int], divisor: float) -> dict[Term, float]:
    """Return what each term of a piece adds to part c."""
    if not divisor:
        return {}
    return {
        term: person.values[term] * math.sqrt(weight) / divisor
        for term, weight in weights.items()
        if term in person.values
    }


def mixed(terms: Mapping[Term, float], liked: Liked, popularity: float, *, credit: float, blending: Blending) -> Parts:
    """Return what the parts c (by term), a and p of a piece add to its s, and its start credit r beside them."""
    content = math.fsum(terms.values())
    lifted_audience = max(liked.value, credit * NEW_CONTENT_SHARE * content)
    lifted_popularity = max(popularity, credit * blending.median)
    by_content, by_audience, by_popularity = (
        part / blending.total for part in (blending.content, blending.audience, blending.popularity)
    )
    return Parts(
        content=_plain(content * by_content),
        terms=ordered({term: share * by_content for term, share in terms.items()}),
        audience=_plain(liked.value * by_audience),
        seeds=tuple(seed._replace(share=seed.share * by_audience) for seed in liked.seeds),
        popularity=_plain(popularity * by_popularity),
        new=_plain((lifted_popularity - popularity) * by_popularity + (lifted_audience - liked.value) * by_audience),
    )


def overlap_parts(liked: Iterable[Term], weights: Mapping[Term, int]) -> Parts:
    """Return what each shared term adds to the overlap of a piece with the terms that a person likes."""
    wanted = set(liked)
    union = len(wanted | weights.keys())
    if not union:
        return Parts(content=0.0, terms=())
    terms = ordered(dict.fromkeys(wanted & weights.keys(), 1 / union))
    return Parts(content=len(terms) / union, terms=terms)


def tellable(seeds: Sequence[SeedShare]) -> tuple[SeedShare, ...]:
    """Return those of an audience's pieces that may be named, greatest share first, ties by id.

    What fewer than three people liked together would tell what one of them likes: such a piece is left out, while its
    share stays within that of the part.
    """
    named = [seed for seed in seeds if seed.people >= LEAST_PEOPLE and seed.share]
    return tuple(sorted(named, key=lambda seed: (-seed.share, seed.id)))


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
