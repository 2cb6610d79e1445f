"""What would lists be like under other settings? Found out from a view that nobody else sees; nothing is stored."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from penchant.errors import Fault, Overloaded, UnknownPiece
from penchant.index import Audience
from penchant.live.database import Database
from penchant.live.views import View, Views
from penchant.model import DAY_MS, InteractionType, SourceSettings
from penchant.service.recommend import PersonalQuery, Recommender, SimilarQuery
from penchant.wire import Move, PreviewedList, PreviewWish, RecommendedPiece, SettingsPreview

MAX_PREVIEWS = 2
"""Previews that a process makes at once: each may hold a thread for seconds, and others read in threads, too."""
PREVIEW_WAIT_S = 5.0
"""How long one more waits for its turn."""

Content = list[RecommendedPiece]


class Previews:
    """Lists before and after a change that is not made."""

    def __init__(self, database: Database, views: Views, recommender: Recommender) -> None:
        self._database = database
        self._views = views
        self._recommender = recommender
        self._turns = asyncio.Semaphore(MAX_PREVIEWS)

    async def settings(self, view: View, wish: PreviewWish) -> SettingsPreview:
        """Return the lists that were asked for as they are and as they would be.

        Raises:
            UnknownPiece: the source has no such piece; every fault has its pointer.
            TooFewPieces: the source has one piece only.
            PreviewTooLarge: who likes what would have to be counted from too many interactions.
            Overloaded: too many previews are being made.
        """
        _require_known(view, wish.pieces)
        try:
            async with asyncio.timeout(PREVIEW_WAIT_S):
                await self._turns.acquire()
        except TimeoutError:
            raise Overloaded("Too many previews are being made; ask again soon.", retry_after_s=1) from None
        try:
            return await self._compared(view, wish)
        finally:
            self._turns.release()

    async def _compared(self, view: View, wish: PreviewWish) -> SettingsPreview:
        changed = await self._database.in_thread(changed_view, view, wish)
        views = (view, changed)

        def near(side: View, piece_id: str) -> Content:
            return self._recommender.similar(side, SimilarQuery(piece_id=piece_id, take=wish.take)).content

        return SettingsPreview(
            pieces=[
                _previewed(each, *[await self._database.in_thread(near, side, each) for side in views])
                for each in wish.pieces
            ],
            users=await self._suited(views, wish) if wish.users else [],
        )

    async def _suited(self, views: tuple[View, View], wish: PreviewWish) -> list[PreviewedList]:
        """Return the lists for people, before and after."""
        recommender, promptly = self._recommender, self._database.promptly
        histories = [
            [await promptly(recommender.history, side, user_id, None) for user_id in wish.users] for side in views
        ]
        before = await recommender.audience(views[0], *histories[0])
        audiences = (before, await self._audience(views, before))

        async def listed(place: int, side: int) -> Content:
            query = PersonalQuery(user_id=wish.users[place], take=wish.take)
            known = histories[side][place]
            result = await promptly(recommender.recommended, views[side], query, known, audiences[side])
            return result.content

        return [
            _previewed(user_id, await listed(place, 0), await listed(place, 1))
            for place, user_id in enumerate(wish.users)
        ]

    async def _audience(self, views: tuple[View, View], before: Audience) -> Audience:
        """Return who likes what after the change: counted anew where other interactions count."""
        old, new = (each.settings for each in views)
        if (_positive(old), old.retention_days) == (_positive(new), new.retention_days):
            return before.apart()
        return await self._views.audience_under(views[0], new, self._recommender.now(views[0]) // DAY_MS)


def changed_view(view: View, wish: PreviewWish) -> View:
    """Return the view as it would be after the changes wished for, sharing its pieces alone."""
    settings = wish.settings(view.settings)
    blacklist = view.blacklist if wish.blacklist is None else wish.blacklist
    snapshot = view.snapshot.apart()
    snapshot.prepare(settings.category_weights)
    return replace(
        view,
        snapshot=snapshot,
        settings=settings,
        whitelist=view.whitelist if wish.whitelist is None else wish.whitelist,
        blacklist=blacklist,
        hidden=frozenset(blacklist),
    )


def _previewed(asked: str, before: Content, after: Content) -> PreviewedList:
    return PreviewedList(id=asked, before=before, after=after, moves=moves(before, after))


def moves(before: Sequence[RecommendedPiece], after: Sequence[RecommendedPiece]) -> list[Move]:
    """Return the pieces whose rank differs: by their rank after, then those that are gone, by their rank before."""
    old = {each.id: rank for rank, each in enumerate(before, start=1)}
    new = {each.id: rank for rank, each in enumerate(after, start=1)}
    ids = [*new, *(each for each in old if each not in new)]
    found = [Move(id=each, before=old.get(each), after=new.get(each)) for each in ids]
    return [move for move in found if move.before != move.after]


def _positive(settings: SourceSettings) -> frozenset[InteractionType]:
    return frozenset(kind for kind, weight in settings.interaction_weights.items() if weight > 0)


def _require_known(view: View, pieces: Sequence[str]) -> None:
    detail = "The source has no piece with this id."
    faults = [
        Fault(pointer=f"/pieces/{place}", detail=detail)
        for place, each in enumerate(pieces)
        if each not in view.snapshot
    ]
    if faults:
        raise UnknownPiece(f"{faults[0].pointer}: {detail}", faults=faults)
