"""Answers: rankings as the records that the interface writes."""

from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec import UNSET, UnsetType

from penchant.live.views import View
from penchant.wire.answers import AnonymousResult, RecommendationResult, RecommendedPiece, RevisitPiece, RevisitResult
from penchant.wire.explanations import (
    ExplainedPiece,
    ExplainedResult,
    KeywordShare,
    LeftPiece,
    MovingRule,
    PartShare,
    PersonalWhy,
    PieceShare,
    RankResult,
    SimilarWhy,
    TermRest,
)
from penchant_engine.lists.personal import PersonalRanking
from penchant_engine.lists.plain import RepeatRanking
from penchant_engine.lists.ranking import ListRanking
from penchant_engine.lists.reasons import KeywordReason, LikeReason, OtherTerms, PartReason, Reasons, RuleReason
from penchant_engine.lists.reranking import CandidateRanking
from penchant_engine.lists.similar import SimilarRanking
from penchant_engine.moments import format_timestamp
from penchant_engine.views import CatalogueView

Value = TypeVar("Value")
PersonalResult = RecommendationResult | AnonymousResult | ExplainedResult | RankResult
"""The list of a person, with reasons or without; of nobody; or given pieces as they suit a person."""


def result_of(ranking: ListRanking, *, explain: bool = False) -> Any:
    """Return the answer to the request of a ranking, with reasons if they are asked for and the answer has any."""
    request = ranking.request
    if isinstance(ranking, SimilarRanking):
        return similar_result_of(ranking, explain=explain)
    if isinstance(ranking, CandidateRanking):
        content = explained_of(ranking) if explain else content_of(ranking)
        left = [LeftPiece(id=each, why=code) for each, code in ranking.left.items()]
        return RankResult(id=request.user_id, content=content, left=left)
    if isinstance(ranking, PersonalRanking):
        return personal_result_of(ranking, explain=explain)
    if isinstance(ranking, RepeatRanking):
        return RevisitResult(id=request.user_id, content=_taken_up(ranking))
    return AnonymousResult(id=None, content=content_of(ranking))


def view_of(catalogue: CatalogueView) -> View:
    """Return the catalogue of a ranking as what it is in the service, where all of them are views."""
    assert isinstance(catalogue, View)  # noqa: S101  # as said above
    return catalogue


def similar_result_of(ranking: SimilarRanking, *, explain: bool = False) -> RecommendationResult | ExplainedResult:
    """Return what is similar to a piece, which may have no id where it is not stored."""
    piece_id = ranking.request.piece_id
    if explain:
        return ExplainedResult(id=piece_id or None, content=explained_of(ranking))
    return RecommendationResult(id=piece_id, content=content_of(ranking))


def personal_result_of(ranking: PersonalRanking, *, explain: bool = False) -> PersonalResult:
    """Return the list of a person, or of nobody."""
    user_id, is_known = ranking.request.user_id, ranking.is_known
    if explain:
        return ExplainedResult(id=user_id if is_known else None, content=explained_of(ranking))
    if is_known:
        return RecommendationResult(id=user_id, content=content_of(ranking))
    return AnonymousResult(id=None, content=content_of(ranking))


def content_of(ranking: ListRanking) -> list[RecommendedPiece]:
    """Return a list without reasons."""
    return list(map(RecommendedPiece, ranking.listed_ids, ranking.listed_scores))


def explained_of(ranking: ListRanking) -> list[ExplainedPiece]:
    """Return a list with reasons."""
    return [
        ExplainedPiece(id=each.id, score=score, why=why_of(ranking.why(each.id, listed=True)))
        for each, score in zip(ranking.listed, ranking.listed_scores, strict=True)
    ]


def why_of(reasons: Reasons) -> SimilarWhy | PersonalWhy:
    """Return reasons as the interface writes them: by parts, or of similar pieces by keywords."""
    if reasons.parts is not None:
        return PersonalWhy(parts=_parts(reasons.parts), rules=_rules(reasons.rules))
    terms, rest = _terms(reasons.terms or ()), _rest(reasons.rest)
    return SimilarWhy(terms=terms, rest=rest, audience=_or_unset(reasons.audience), rules=_rules(reasons.rules))


def _taken_up(ranking: RepeatRanking) -> list[RevisitPiece[str]]:
    listed = zip(ranking.listed, ranking.listed_scores, strict=True)
    known = [(each.id, score, ranking.repeat_items[each.id]) for each, score in listed]
    return [
        RevisitPiece(
            id=piece_id, score=score, began=each.began, days=each.days, timestamp=format_timestamp(each.latest)
        )
        for piece_id, score, each in known
    ]


def _or_unset(value: Value | None) -> Value | UnsetType:
    return UNSET if value is None else value


def _terms(terms: Sequence[KeywordReason]) -> list[KeywordShare]:
    return [
        KeywordShare(category=each.category, keyword=each.keyword, share=each.share, stated=_or_unset(each.stated))
        for each in terms
    ]


def _rest(rest: OtherTerms | None) -> TermRest | UnsetType:
    return UNSET if rest is None else TermRest(count=rest.others, share=rest.share)


def _likes(pieces: Sequence[LikeReason]) -> list[PieceShare]:
    return [
        PieceShare(
            id=each.id, share=each.share, through=_or_unset(each.through), soon_after=each.is_soon_after or UNSET
        )
        for each in pieces
    ]


def _parts(parts: Sequence[PartReason]) -> list[PartShare]:
    return [
        PartShare(
            part=each.part,
            share=each.share,
            terms=UNSET if each.terms is None else _terms(each.terms),
            rest=_rest(each.rest),
            pieces=UNSET if each.pieces is None else _likes(each.pieces),
        )
        for each in parts
    ]


def _rules(rules: Sequence[RuleReason]) -> list[MovingRule]:
    return [
        MovingRule(
            rule=each.rule,
            position=_or_unset(each.position),
            factor=_or_unset(each.factor),
            keyword=_or_unset(each.keyword),
        )
        for each in rules
    ]
