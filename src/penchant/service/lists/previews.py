"""Previews: lists as they would be under other settings, from a private view; nothing is stored."""

from collections.abc import Sequence
from dataclasses import replace

from penchant.errors import Fault, InvalidInput, PreviewTooLarge, UnknownPiece
from penchant.index import Audience, PersonFigures
from penchant.live.database import AsyncStorage
from penchant.live.views import View, Views
from penchant.model import DAY_MS, SourceSettings
from penchant.service.lists.inputs import LiveInputs
from penchant.service.lists.personal import PersonalRanking
from penchant.service.lists.requests import PersonalRequest, SimilarRequest
from penchant.service.lists.similar import SimilarRanking
from penchant.service.shares import heavy_shares
from penchant.wire import Move, PreviewedList, PreviewWish, RecommendedPiece, SettingsPreview

WEIGHED_BY = ("category_factors", "interaction_weights", "retention_days")
"""Settings that change what a like says of other pieces, or which interactions count."""

Content = list[RecommendedPiece]


class Previews:
    """Lists before and after a change that is not made."""

    def __init__(self, database: AsyncStorage, views: Views, inputs: LiveInputs) -> None:
        self._database = database
        self._views = views
        self._inputs = inputs
        self._shares = heavy_shares("previews are being made")

    async def settings(self, view: View, wish: PreviewWish) -> SettingsPreview:
        """Return the requested lists as they are and as they would be.

        Raises:
            UnknownPiece: the source has no such piece; every fault has its pointer.
            TooFewPieces: the source has one piece only.
            PreviewTooLarge: likes would have to be counted from too many interactions.
            Overloaded: too many previews are being made.
        """
        _require_pieces(view, wish.pieces)
        async with self._shares.turn(view.head.account_id):
            return await self._compared(view, wish)

    async def _compared(self, view: View, wish: PreviewWish) -> SettingsPreview:
        changed = await self._database.in_thread(changed_view, view, wish)
        views = (view, changed)

        async def near(side: View, piece_id: str) -> Content:
            ranking = SimilarRanking(side, SimilarRequest(piece_id=piece_id, take=wish.take), self._inputs.now(side))
            ranking.require()
            return await self._database.in_thread(ranking.content)

        return SettingsPreview(
            pieces=[_previewed(piece_id, *[await near(side, piece_id) for side in views]) for piece_id in wish.pieces],
            users=await self._suited(views, wish) if wish.users else [],
        )

    async def _suited(self, views: tuple[View, View], wish: PreviewWish) -> list[PreviewedList]:
        """Return the lists for people, before and after."""
        inputs = self._inputs
        # One moment for all lists.
        now = inputs.now(views[0])
        requests = [PersonalRequest(user_id=user_id, take=wish.take) for user_id in wish.users]
        people = [[await self._person(side, request, now) for request in requests] for side in views]
        before = await inputs.audience(views[0], now)
        audiences = (before, await self._audience(views, before, now // DAY_MS))

        async def listed(number: int, side: int) -> Content:
            ranking = PersonalRanking(views[side], requests[number], now, people[side][number], audiences[side])
            return await self._database.in_thread(ranking.content)

        return [
            _previewed(user_id, await listed(number, 0), await listed(number, 1))
            for number, user_id in enumerate(wish.users)
        ]

    async def _person(self, side: View, request: PersonalRequest, now: int) -> PersonFigures:
        # Never what is remembered of people, which is of the settings in force.
        history = await self._inputs.history(side, request, now)
        return await self._database.in_thread(history.figures, side, now // DAY_MS)

    async def _audience(self, views: tuple[View, View], before: Audience, today: int) -> Audience:
        """Return what people like after the change: counted and weighed anew where that may be something else."""
        old, new = (view.settings for view in views)
        if all(getattr(old, name) == getattr(new, name) for name in WEIGHED_BY):
            return before.apart()
        try:
            return await self._views.audience_under(views[1], new, today)
        except PreviewTooLarge:
            if (old.positive_types, old.retention_days) != (new.positive_types, new.retention_days):
                raise
            # The same interactions count, so that only what likes say of other pieces stays as it is now.
            return before.apart()


def changed_view(view: View, wish: PreviewWish) -> View:
    """Return the view as it would be after the requested changes, sharing only its pieces."""
    settings = wish.settings(view.settings)
    _require_reading(view.settings, settings)
    blacklist = view.blacklist if wish.blacklist is None else wish.blacklist
    # Norms depend on the weights: prepared apart, they do not push out those that requests need.
    snapshot = view.snapshot.apart()
    snapshot.prepare(settings.category_factors)
    return replace(
        view,
        snapshot=snapshot,
        settings=settings,
        whitelist=view.whitelist if wish.whitelist is None else wish.whitelist,
        blacklist=blacklist,
        blacklisted=frozenset(blacklist),
    )


def _require_reading(before: SourceSettings, after: SourceSettings) -> None:
    """Refuse settings by which pieces would have other keywords: each of them would have to be read anew."""
    faults = [
        Fault(pointer=f"/settings/{name}", detail="What pieces would have is shown by POST /{source}/preview/words.")
        for name in ("words", "vocabulary")
        if getattr(before, name) != getattr(after, name)
    ]
    if faults:
        raise InvalidInput("Lists under other words or another vocabulary are not previewed.", faults=faults)


def _previewed(list_id: str, before: Content, after: Content) -> PreviewedList:
    return PreviewedList(id=list_id, before=before, after=after, moves=moves(before, after))


def moves(before: Sequence[RecommendedPiece], after: Sequence[RecommendedPiece]) -> list[Move]:
    """Return the pieces whose rank differs: by their rank after, then those that are gone, by their rank before."""
    old = {piece.id: rank for rank, piece in enumerate(before, start=1)}
    new = {piece.id: rank for rank, piece in enumerate(after, start=1)}
    ids = [*new, *(piece_id for piece_id in old if piece_id not in new)]
    ranks = [Move(id=piece_id, before=old.get(piece_id), after=new.get(piece_id)) for piece_id in ids]
    return [move for move in ranks if move.before != move.after]


def _require_pieces(view: View, pieces: Sequence[str]) -> None:
    detail = "The source has no piece with this id."
    faults = [
        Fault(pointer=f"/pieces/{number}", detail=detail)
        for number, piece_id in enumerate(pieces)
        if not view.knows(piece_id)
    ]
    if faults:
        raise UnknownPiece(f"{faults[0].pointer}: {detail}", faults=faults)
