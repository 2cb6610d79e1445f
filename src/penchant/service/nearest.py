"""Nearest pieces: by what a list of similar pieces goes, and what the boosts and the whitelist make of it."""

from penchant import ranking
from penchant.errors import TooFewPieces
from penchant.index import (
    DISTANCE_SCALE,
    Audience,
    Booster,
    Filter,
    Find,
    MeanQuery,
    PartQuery,
    SharedQuery,
    SimilarityQuery,
    best_of,
)
from penchant.live.views import View
from penchant.model import MAX_TAKE, Basis, IndexedPiece
from penchant.service.list_inputs import moment_of, shown_by
from penchant.service.requests import SimilarRequest
from penchant.tracing import tracing
from penchant.wire import RecommendationResult, RecommendedPiece

Entry = tuple[str, float]
"""A piece of a list and its score."""
MINIMUM_POOL = 2
"""Pieces that similar content needs in the source (specification, Limits)."""


def asked_near(view: View, query: SimilarRequest, draft: IndexedPiece | None = None) -> SimilarityQuery:
    """Return the queried piece, or a draft, as what pieces are near to by their keywords.

    Raises:
        UnknownPiece: the source has no such piece.
    """
    weights = view.settings.category_weights
    if draft is not None:
        return SimilarityQuery.of_draft(draft, query.algorithm, weights)
    view.require(query.piece_id)
    return view.snapshot.asked(query.piece_id, query.algorithm, weights)


def query_near(query: SimilarRequest, asked: SimilarityQuery, audience: Audience | None) -> PartQuery:
    """Return what finds similar content by what a request goes by: content alone without an audience."""
    if audience is None:
        return asked
    shared = audience.shared_with(query.piece_id)
    return (SharedQuery if query.by is Basis.AUDIENCE else MeanQuery)(shared, asked)


def nearest_first(view: View, booster: Booster, shown: Filter, find: Find) -> list[Entry]:
    """Return the pieces of least distance under the boosts of a request, whitelisted ones first, in their order."""
    found = booster.best(find, shown, MAX_TAKE)
    nearest = [(piece_id, key / DISTANCE_SCALE if key > 0 else 0.0) for key, piece_id in found]
    if not view.whitelist:
        return nearest
    distances = dict(nearest)
    return [(each, distances[each]) for each in ranking.promoted(list(distances), view.whitelist)]


def similar_pieces(view: View, query: SimilarRequest, now: int, audience: Audience | None) -> RecommendationResult:
    """Return the list of the nearest pieces at a moment; ``audience`` is where it goes by what people like.

    Raises:
        UnknownPiece: the source has no such piece.
        TooFewPieces: the source has fewer than two.
    """
    require_neighbours(view, query.piece_id)
    searched = query_near(query, asked_near(view, query), audience)
    nearest = neighbours_of(view, query, searched, shown_near(view, query, now))
    content = [RecommendedPiece(id=each, score=distance) for each, distance in nearest[: query.take]]
    return RecommendationResult(id=query.piece_id, content=content)


def require_neighbours(view: View, piece_id: str) -> None:
    """Raise `UnknownPiece` or `TooFewPieces` where a source with too few pieces has no list for one."""
    if view.snapshot.piece_count < MINIMUM_POOL:
        view.require(piece_id)
        raise TooFewPieces("The source has one piece only; similar content needs at least two.")


def neighbours_of(view: View, query: SimilarRequest, searched: PartQuery, shown: Filter) -> list[Entry]:
    """Return the nearest pieces, whitelisted ones first: all that ``take`` is cut from; ``searched`` finds them."""
    snapshot = view.snapshot
    booster = Booster(query.boosts, DISTANCE_SCALE, snapshot)
    with tracing.span("search"):
        return nearest_first(view, booster, shown, lambda shown: best_of(snapshot.parts, searched, shown, MAX_TAKE))


def shown_near(view: View, query: SimilarRequest, now: int, *, but: str | None = None) -> Filter:
    """Return which pieces may be shown beside a piece, ``but`` for one."""
    omitted = query.exclude if but is None else query.exclude | {but}
    return shown_by(view, query, moment_of(query.at, now), omitted)
