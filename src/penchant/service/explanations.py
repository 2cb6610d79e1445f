"""Explanations: the reasons for what is listed, and the rank of any piece with what keeps it out of a list.

A rank is found in this order, all from one view:

    not in the view        unknown, or stored but not indexed yet
    several hurdles        all are named, with no remedy: no single change helps
    one hurdle             its remedy is tried out, and named only if the piece is then within ``take``
    no hurdle              the rank, and "outranked" where it is past ``take``
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeAlias, TypeVar

from penchant.errors import StorageUnavailable, UnknownPiece, UnknownSource
from penchant.index import Audience, offer_of
from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.model import MAX_TAKE, IndexedPiece
from penchant.service.access import Access
from penchant.service.hurdles import Hurdle
from penchant.service.list_inputs import gathered_at
from penchant.service.listings import Neighbourhood, Suggestions
from penchant.service.nearest import require_neighbours
from penchant.service.recommend import PersonalResult, Recommender
from penchant.service.requests import PersonalRequest, SimilarRequest
from penchant.service.shares import AccountShares
from penchant.wire import ExplainedPiece, ExplainedResult, Place, Reason, RecommendationResult, StatedLikings

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

Listing: TypeAlias = Neighbourhood | Suggestions
Listed: TypeAlias = RecommendationResult | ExplainedResult


@dataclass(frozen=True, slots=True, kw_only=True)
class _ListPosition:
    """The standing of a piece in a list; ``position`` counts from 1, ``None`` where hurdles keep it out."""

    hurdles: Sequence[Hurdle[Any]]
    position: int | None
    score: float
    why: Any


class Explanations:
    """Lists with reasons, and the places of pieces that they do or do not show."""

    def __init__(self, database: AsyncStorage, recommender: Recommender, shares: AccountShares) -> None:
        self._database = database
        self._recommender = recommender
        self._shares = shares

    async def _in_turn(
        self, view: View, function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Return ``function(…)``, run in a thread when it is the turn of the account whose source it is about."""
        async with self._shares.turn(view.head.account_id):
            return await self._database.in_thread(function, *args, **kwargs)

    async def similar(self, view: View, query: SimilarRequest, audience: Audience | None = None) -> ExplainedResult:
        """Return the nearest pieces with reasons, as `Recommender.similar`."""
        require_neighbours(view, query.piece_id)
        return await self._near(Neighbourhood(self._recommender, view, query, audience=audience))

    async def draft(self, view: View, query: SimilarRequest, draft: IndexedPiece) -> ExplainedResult:
        """Return the neighbours that a piece would have, with reasons; ``query`` gives its id, blank for none."""
        return await self._near(Neighbourhood(self._recommender, view, query, draft))

    async def similar_to_each(
        self,
        view: View,
        queries: Sequence[SimilarRequest],
        *,
        explain: bool,
        audience: Audience | None = None,
    ) -> list[Listed | UnknownPiece]:
        """Return the lists for several pieces, from one view; the error in the place of an unknown one.

        Raises:
            TooFewPieces: the source has one piece only, and it is asked for.
        """

        def each(query: SimilarRequest) -> Listed | UnknownPiece:
            try:
                if not explain:
                    return self._recommender.similar(view, query, audience)
                require_neighbours(view, query.piece_id)
                listing = Neighbourhood(self._recommender, view, query, audience=audience)
                return _explained(query.piece_id, listing)
            except UnknownPiece as error:
                return error

        return await self._in_turn(view, lambda: [each(query) for query in queries])

    async def recommend(
        self, view: View, query: PersonalRequest, likings: StatedLikings | None = None
    ) -> PersonalResult[ExplainedResult]:
        """Return what a person may like, with reasons; with ``likings``, a person of whom these alone are known."""
        listing = await self._suggestions(view, query, likings)
        whose = query.user_id if likings is None else None
        result = await self._in_turn(view, _explained, whose, listing)
        return PersonalResult(result, listing.audience_version)

    async def near(
        self, access: Access, view: View, query: SimilarRequest, piece_id: str, audience: Audience | None = None
    ) -> Place:
        """Return where any piece stands in the list of pieces near another, and why.

        Raises:
            UnknownPiece: the source has no piece whose list it would be.
        """
        view.require(query.piece_id)
        if query.piece_id == piece_id:
            reason = Reason(code="same-piece", detail="A piece is never in its own list.", remedy=None)
            return _nowhere(query.piece_id, piece_id, reason)

        # Of the same form as `_suggestions`, which reads storage and has to be awaited.
        async def listing(view: View, query: Any) -> Listing:
            return Neighbourhood(self._recommender, view, query, audience=audience)

        return await self._placed(access, query.piece_id, piece_id, await listing(view, query), listing)

    async def suited(self, access: Access, view: View, query: PersonalRequest, piece_id: str) -> PersonalResult[Place]:
        """Return where any piece stands in the list of what a person may like, and why."""
        listing = await self._suggestions(view, query)
        place = await self._placed(access, query.user_id, piece_id, listing, self._suggestions)
        return PersonalResult(place, listing.audience_version)

    async def _suggestions(
        self, view: View, query: PersonalRequest, likings: StatedLikings | None = None
    ) -> Suggestions:
        history = await self._recommender.known(view, query, likings)
        audience = await self._recommender.audience(view, history, query.min_audience_version)
        # In turn only now: what comes before waits for storage, and would keep a turn from others meanwhile.
        gathered = await self._in_turn(view, gathered_at, view, query, history, audience)
        return Suggestions(view, query, gathered, audience.version)

    async def _near(self, listing: Neighbourhood) -> ExplainedResult:
        return await self._in_turn(listing.view, _explained, listing.query.piece_id or None, listing)

    async def _placed(
        self,
        access: Access,
        whose: str,
        piece_id: str,
        listing: Listing,
        again: Callable[[View, Any], Awaitable[Listing]],
    ) -> Place:
        """Return the place of a piece; ``again`` gives the list after a change."""
        if not listing.view.knows(piece_id):
            return _nowhere(whose, piece_id, await self._missing(access, listing.view, piece_id))
        looked = await self._in_turn(listing.view, _look, listing, piece_id)
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
        """Return the only hurdle; its remedy is tried out first, and named only where it brings the piece in."""
        change = hurdle.change
        reason = Reason(code=hurdle.code, detail=hurdle.detail, remedy=None)
        if change is None:
            return [reason]
        # This makes a second list, in a turn of its own: a remedy is named only if it works.
        listing = await again(change.view, change.query)
        then = await self._in_turn(listing.view, _look, listing, piece_id)
        if then.position is None:
            return [reason]
        if then.position > take:
            return [reason, Reason(code="outranked", detail=_rank_text(then.position, "would then be"), remedy=None)]
        return [Reason(code=hurdle.code, detail=hurdle.detail, remedy=dict(change.remedy))]

    async def _missing(self, access: Access, view: View, piece_id: str) -> Reason:
        """Return why a view does not have a piece: storage may have it already."""
        unknown = Reason(code="unknown-piece", detail="The source has no piece with this id.", remedy=None)
        if piece_id in view.snapshot:
            return unknown  # but not for who asks
        try:
            head, body = await self._database.read(
                self._database.storage.pieces.read, access.account_id, view.head.name, piece_id
            )
        # An explanation is still true of the view: without storage it only says less.
        except (StorageUnavailable, UnknownSource):
            return unknown
        if body is None:
            return unknown
        detail = f"The piece is stored, but this list is of version {view.head.version}."
        return Reason(code="not-yet-indexed", detail=detail, remedy={"min-version": head.version})


def _look(listing: Listing, piece_id: str) -> _ListPosition:
    """Look at a list for a piece that its source has."""
    offer = offer_of(listing.view.snapshot, piece_id)
    if offer is None:
        raise UnknownPiece("The source has no piece with this id.")
    hurdles = listing.hurdles(piece_id, offer)
    position = None if hurdles else _position(listing, piece_id)
    # Rules such as the whitelist have moved only what a list can show at its longest.
    shown = position is not None and position <= MAX_TAKE
    why = listing.why(piece_id, shown=shown)
    return _ListPosition(hurdles=hurdles, position=position, score=listing.score(piece_id), why=why)


def _position(listing: Listing, piece_id: str) -> int:
    """Return the place, from 1, of a piece that nothing keeps out."""
    # In the list its order counts, with whitelist and diversity; behind its end only scores do.
    ids = [each for each, _ in listing.entries]
    return ids.index(piece_id) + 1 if piece_id in ids else listing.standings.ahead(piece_id) + 1


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
