"""Reasons: what adds up to a score, as answers tell it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import UNSET, UnsetType

from penchant.index import ScoreParts, TermShares, tellable
from penchant.model import Term
from penchant.wire import KeywordShare, PartShare, PieceShare, TermRest


def named_terms(
    shares: TermShares, stated: Mapping[Term, float] = MappingProxyType({})
) -> tuple[list[KeywordShare], TermRest | UnsetType]:
    """Return the terms that an explanation names, those marked that the person stated, and what the others add."""

    def liking(term: Term) -> Literal["liked", "disliked"] | UnsetType:
        weight = stated.get(term)
        return UNSET if weight is None else "liked" if weight > 0 else "disliked"

    named = [
        KeywordShare(category=term.category, keyword=term.keyword, share=share, stated=liking(term))
        for term, share in shares.named
    ]
    return named, TermRest(count=shares.others, share=shares.rest) if shares.others else UNSET


def part_shares(parts: ScoreParts, stated: Mapping[Term, float]) -> list[PartShare]:
    """Return what the parts of a blend add, with the keywords that the person stated marked."""
    pieces = [
        PieceShare(id=like.id, share=like.share, through=UNSET if like.through is None else like.through)
        for like in tellable(parts.likes)
    ]
    terms, rest = named_terms(parts.terms, stated)
    return [
        PartShare(part="content", share=parts.content, terms=terms, rest=rest),
        PartShare(part="audience", share=parts.audience, pieces=pieces),
        PartShare(part="popularity", share=parts.popularity),
        PartShare(part="new", share=parts.new),
    ]
