"""Why is a piece in a list, and why not? Reasons for what is listed, and the place of any piece beside it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from penchant.errors import StorageUnavailable, UnknownPiece, UnknownSource
from penchant.index import offer_of
from penchant.live.database import Database
from penchant.live.views import View
from penchant.model import MAX_TAKE, Piece
from penchant.service.access import Access
from penchant.service.hurdles import Hurdle
from penchant.service.listings import Neighbourhood, Suggestions
from penchant.service.recommend import PersonalQuery, Recommender, SimilarQuery
from penchant.wire import ExplainedPiece, ExplainedResult, Likings, Place, Reason, RecommendationResult

Listing: TypeAlias = Neighbourhood | Suggestions
Listed: TypeAlias = RecommendationResult | ExplainedResult


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    """What one look at a list says of a piece; ``position`` counts from 1, ``None`` where hurdles keep it out."""

    hurdles: Sequence[Hurdle[Any]]
    position: int | None
    score: float
    why: Any


class Explanations:
    """Lists with reasons, and the places of pieces that they do or do not show."""

    def __init__(self, database: Database, recommender: Recommender) -> None:
        self._database = database
        self._recommender = recommender

    async def similar(self, view: View, query: SimilarQuery) -> ExplainedResult:
        """Return the nearest pieces with reasons; raises as `Recommender.similar`."""
        self._recommender.require_neighbours(view, query.piece_id)
        return await self._database.in_thread(self._near, view, query, None)

    async def draft(self, view: View, query: SimilarQuery, draft: Piece) -> ExplainedResult:
        """Return the neighbours that a piece would have, with reasons; ``query`` gives its id, blank for none."""
        return await self._database.in_thread(self._near, view, query, draft)

    async def similar_to_each(
        self, view: View, queries: Sequence[SimilarQuery], *, explain: bool
    ) -> list[Listed | UnknownPiece]:
        """Return the lists for several pieces, from one view; the error in the place of an unknown one.

        Raises:
            TooFewPieces: the source has one piece only, and it is asked for.
        """

        def each(query: SimilarQuery) -> Listed | UnknownPiece:
            try:
                if not explain:
                    return self._recommender.similar(view, query)
                self._recommender.require_neighbours(view, query.piece_id)
                return self._near(view, query, None)
            except UnknownPiece as error:
                return error

        return await self._database.in_thread(lambda: [each(query) for query in queries])

    async def recommend(self, view: View, query: PersonalQuery, likings: Likings | None = None) -> ExplainedResult:
        """Return what a person may like, with reasons; with ``likings``, somebody of whom nothing else is known."""
        listing = await self._suggestions(view, query, likings)
        return await self._database.in_thread(_explained, query.user_id if likings is None else None, listing)

    async def near(self, access: Access, view: View, query: SimilarQuery, piece_id: str) -> Place:
        """Return where any piece stands in the list of pieces near another, and why.

        Raises:
            UnknownPiece: the source has no piece whose list it would be.
        """
        if query.piece_id not in view.snapshot:
            raise UnknownPiece("The source has no piece with this id.")
        if query.piece_id == piece_id:
            reason = Reason(code="same-piece", detail="A piece is never in its own list.", remedy=None)
            return _nowhere(query.piece_id, piece_id, reason)

        async def listing(view: View, query: Any) -> Listing:
            return Neighbourhood(self._recommender, view, query)

        return await self._placed(access, query.piece_id, piece_id, await listing(view, query), listing)

    async def suited(self, access: Access, view: View, query: PersonalQuery, piece_id: str) -> Place:
        """Return where any piece stands in the list of what a person may like, and why."""
        listing = await self._suggestions(view, query)
        return await self._placed(access, query.user_id, piece_id, listing, self._suggestions)

    async def _suggestions(self, view: View, query: PersonalQuery, likings: Likings | None = None) -> Suggestions:
        history = await self._recommender.known(view, query, likings)
        audience = await self._recommender.audience(view, history)
        gathered = await self._database.in_thread(self._recommender.gather, view, query, history, audience)
        return Suggestions(self._recommender, view, query, gathered)

    def _near(self, view: View, query: SimilarQuery, draft: Piece | None) -> ExplainedResult:
        listing = Neighbourhood(self._recommender, view, query, draft)
        return _explained(query.piece_id or None, listing)

    async def _placed(
        self,
        access: Access,
        whose: str,
        piece_id: str,
        listing: Listing,
        again: Callable[[View, Any], Awaitable[Listing]],
    ) -> Place:
        """Return the place of a piece; ``again`` gives the list after a change."""
        if piece_id not in listing.view.snapshot:
            return _nowhere(whose, piece_id, await self._missing(access, listing.view, piece_id))
        looked = await self._database.in_thread(_look, listing, piece_id)
        take = listing.query.take
        rank = looked.position if looked.position is not None and looked.position <= take else None
        reasons: list[Reason] = []
        if looked.position is not None and rank is None:
            reasons.append(_outranked(listing, looked.position))
        elif len(looked.hurdles) == 1:
            reasons = await self._single(looked.hurdles[0], piece_id, take, again)
        elif looked.hurdles:
            # Several at once: no single change brings the piece in.
            reasons = [Reason(code=each.code, detail=each.detail, remedy=None) for each in looked.hurdles]
        return Place(id=whose, content_id=piece_id, rank=rank, score=looked.score, why=looked.why, reasons=reasons)

    async def _single(
        self, hurdle: Hurdle[Any], piece_id: str, take: int, again: Callable[[View, Any], Awaitable[Listing]]
    ) -> list[Reason]:
        """Return the only hurdle with its remedy, tried out: it is told only where it brings the piece in."""
        change = hurdle.change
        reason = Reason(code=hurdle.code, detail=hurdle.detail, remedy=None)
        if change is None:
            return [reason]
        listing = await again(change.view, change.query)
        then = await self._database.in_thread(_look, listing, piece_id)
        if then.position is None:
            return [reason]
        if then.position > take:
            return [reason, Reason(code="outranked", detail=_rank_text(then.position, "would then be"), remedy=None)]
        return [Reason(code=hurdle.code, detail=hurdle.detail, remedy=dict(change.remedy))]

    async def _missing(self, access: Access, view: View, piece_id: str) -> Reason:
        """Return why a view does not have a piece: storage may have it already."""
        unknown = Reason(code="unknown-piece", detail="The source has no piece with this id.", remedy=None)
        try:
            head, body = await self._database.read(
                self._database.storage.read_piece, access.account_id, view.head.name, piece_id
            )
        except (StorageUnavailable, UnknownSource):
            return unknown
        if body is None:
            return unknown
        detail = f"The piece is stored, but this list is of version {view.head.version}."
        return Reason(code="not-yet-indexed", detail=detail, remedy={"min-version": head.version})


def _look(listing: Listing, piece_id: str) -> _Looked:
    """Look at a list for a piece that its source has."""
    offer = offer_of(listing.view.snapshot, piece_id)
    if offer is None:
        raise UnknownPiece("The source has no piece with this id.")
    hurdles = listing.hurdles(piece_id, offer)
    position = None if hurdles else _position(listing, piece_id)
    shown = position is not None and position <= MAX_TAKE
    why = listing.why(piece_id, shown=shown)
    return _Looked(hurdles=hurdles, position=position, score=listing.score(piece_id), why=why)


def _position(listing: Listing, piece_id: str) -> int:
    """Return the place, from 1, of a piece that nothing keeps out."""
    ids = [each for each, _ in listing.entries]
    return ids.index(piece_id) + 1 if piece_id in ids else listing.ahead(piece_id) + 1


def _explained(whose: str | None, listing: Listing) -> ExplainedResult:
    content = [
        ExplainedPiece(id=piece_id, score=score, why=listing.why(piece_id, shown=True))
        for piece_id, score in listing.entries[: listing.query.take]
    ]
    return ExplainedResult(id=whose, content=content)


def _nowhere(whose: str, piece_id: str, reason: Reason) -> Place:
    return Place(id=whose, content_id=piece_id, rank=None, score=None, why=None, reasons=[reason])


def _outranked(listing: Listing, position: int) -> Reason:
    name = "limit" if isinstance(listing, Neighbourhood) else "take"
    remedy = {name: position} if position <= MAX_TAKE else None
    return Reason(code="outranked", detail=_rank_text(position, "would be"), remedy=remedy)


def _rank_text(position: int, verb: str) -> str:
    return f"Others come before the piece: it {verb} number {position}."
