"""Reasons: what makes a piece what it is in a list, as plain records; what there is nothing to tell of is ``None``."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from penchant_engine.index.people.explaining import ScoreParts, TermShares, disclosable
from penchant_engine.model import Term

Stated = Literal["liked", "disliked"]


class KeywordReason(NamedTuple):
    """What a keyword of a category adds to a score; ``stated`` where the person said so."""

    category: str
    keyword: str
    share: float
    stated: Stated | None = None


class OtherTerms(NamedTuple):
    """How many further keywords, ``others``, add to a score that are not named, and what they add together."""

    others: int
    share: float


class LikeReason(NamedTuple):
    """What a liked piece adds to the audience part: directly, or ``through`` a piece that stands in for this one.

    Negative: less, because it was liked. One that ``is_soon_after`` counts since people like it soon after that piece.
    """

    id: str
    share: float
    through: str | None = None
    is_soon_after: bool = False


class PartReason(NamedTuple):
    """What a part adds to a score: content with its keywords, audience with its pieces, popularity, new."""

    part: str
    share: float
    terms: Sequence[KeywordReason] | None = None
    rest: OtherTerms | None = None
    pieces: Sequence[LikeReason] | None = None


class RuleReason(NamedTuple):
    """What moved a piece: a rule by its name, with its place among those of its kind, from 0, factor or keyword."""

    rule: str
    position: int | None = None
    factor: float | None = None
    keyword: str | None = None


class Reasons(NamedTuple):
    """Why a piece is where it is: ``rules`` that moved it, and what its score is made of.

    That is ``parts`` in lists for people, whose shares add up to 1 - score; in lists of similar pieces ``terms``, their
    ``rest`` and what the ``audience`` of both pieces adds.
    """

    rules: Sequence[RuleReason]
    parts: Sequence[PartReason] | None = None
    terms: Sequence[KeywordReason] | None = None
    rest: OtherTerms | None = None
    audience: float | None = None


def named_terms(
    shares: TermShares, stated: Mapping[Term, float] = MappingProxyType({})
) -> tuple[list[KeywordReason], OtherTerms | None]:
    """Return the terms that an explanation names, those marked that the person stated, and what the others add."""

    def liking(term: Term) -> Stated | None:
        weight = stated.get(term)
        return None if weight is None else "liked" if weight > 0 else "disliked"

    named = [KeywordReason(term.category, term.keyword, share, liking(term)) for term, share in shares.named]
    return named, OtherTerms(shares.others, shares.rest) if shares.others else None


def reasons_of_parts(parts: ScoreParts, stated: Mapping[Term, float]) -> list[PartReason]:
    """Return what the parts of a blend add, with the keywords that the person stated marked."""
    pieces = [LikeReason(like.id, like.share, like.through, like.is_soon_after) for like in disclosable(parts.likes)]
    terms, rest = named_terms(parts.terms, stated)
    return [
        PartReason("content", parts.content, terms=terms, rest=rest),
        PartReason("audience", parts.audience, pieces=pieces),
        PartReason("popularity", parts.popularity),
        PartReason("new", parts.new),
    ]
