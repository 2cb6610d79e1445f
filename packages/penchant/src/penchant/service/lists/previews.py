"""Previews: lists as they would be under other settings, from a private view; nothing is stored."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Self

from msgspec.structs import replace

from penchant.enrichment import encode_keywords, read_anew
from penchant.errors import Fault, InvalidInput, PreviewTooLarge, UnknownPiece
from penchant.live.database import AsyncStorage
from penchant.live.decoding import PieceReader
from penchant.live.views import View, Views
from penchant.model import EncodedPiece, SourceSettings
from penchant.service import Services
from penchant.service.lists.answers import content_of
from penchant.service.lists.inputs import LiveInputs, PersonHistory, stated_history
from penchant.service.lists.kinds import rank_personal, rank_similar
from penchant.service.people import oldest_kept
from penchant.service.shares import heavy_shares
from penchant.storage import KeywordRules, PieceChange
from penchant.wire import StatedLikings
from penchant.wire.answers import RecommendedPiece
from penchant.wire.explanations import Move, PreviewedList, SettingsPreview
from penchant.wire.settings import PreviewWish
from penchant_engine.attributes import numbered
from penchant_engine.bounded_cache import BoundedCache
from penchant_engine.index import Audience, PieceCounts, Snapshot, Strings, UserFeatures
from penchant_engine.lists.requests import ListRequest
from penchant_engine.model import DAY_MS
from penchant_engine.ranking import WorkBudget

WEIGHED_BY = ("category_factors", "like_weights", "retention_days")
"""Settings that change what a like says of other pieces, what it weighs, or which interactions count."""
MAX_KEPT_INTERACTIONS = 20_000
"""Interactions of people that are kept while a preview is made: each person's several lists go by one reading."""

Content = list[RecommendedPiece]
Histories = BoundedCache[tuple[str, int], PersonHistory]
"""What people did, by their id and the first day that counts."""


class Previews:
    """Lists before and after a change that is not made."""

    def __init__(self, database: AsyncStorage, views: Views, inputs: LiveInputs) -> None:
        self._database = database
        self._views = views
        self._inputs = inputs
        self._shares = heavy_shares("previews are being made")

    @classmethod
    def build(cls, services: Services) -> Self:
        """Return what makes previews over the service."""
        return cls(services.database, services.views, services.lists.inputs)

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
        sides = await self.sides(view, changed, with_people=bool(wish.users))
        return SettingsPreview(
            pieces=[await sides.similar(piece_id, wish.take) for piece_id in wish.pieces],
            users=[await sides.personal(user_id, wish.take) for user_id in wish.users],
        )

    async def sides(self, before: View, after: View, *, with_people: bool) -> "TwoSides":
        """Return a source as it is and as it would be, all of one moment; lists of people only ``with_people``.

        Raises:
            PreviewTooLarge: likes would have to be counted from too many interactions.
        """
        inputs, now = self._inputs, self._inputs.now(before)
        audiences: tuple[Audience | None, Audience | None] = (None, None)
        if with_people:
            known = await inputs.audience(before, now)
            audiences = (known.isolate(), await self._audience((before, after), known, now // DAY_MS))
        views = (before, after)
        histories: Histories = BoundedCache(MAX_KEPT_INTERACTIONS)
        made = [SideInputs(self._database, inputs, before, now, audience, histories) for audience in audiences]
        return TwoSides(self._database, views, (made[0], made[1]))

    async def _audience(self, views: tuple[View, View], before: Audience, today: int) -> Audience:
        """Return what people like after the change: counted and weighed anew where that may be something else."""
        old, new = (view.settings for view in views)
        if all(getattr(old, name) == getattr(new, name) for name in WEIGHED_BY):
            return before.isolate()
        try:
            return await self._views.audience_under(views[1], new, today)
        except PreviewTooLarge:
            if (old.like_weights, old.retention_days) != (new.like_weights, new.retention_days):
                raise
            # The same likes count, each for as much, so that only what likes say of other pieces stays as it is now.
            return before.isolate()


class SideInputs:
    """Inputs of lists on one side of a comparison: what is remembered for requests is neither used nor displaced.

    ``view`` is that in force, ``audience`` what people like on this side; both sides share what people did. Each has
    ``work`` for all its lists.
    """

    def __init__(
        self,
        database: AsyncStorage,
        inputs: LiveInputs,
        view: View,
        now: int,
        audience: Audience | None,
        histories: Histories,
    ) -> None:
        self._database = database
        self._inputs = inputs
        self._view = view
        self._now = now
        self._audience = audience
        self._histories = histories
        self.work = WorkBudget()

    def now(self, _: View) -> int:
        """Return the present, one for all lists."""
        return self._now

    async def audience(self, view: View, now: int, _: int) -> Audience:
        """Return what all people like."""
        return (await self._inputs.audience(view, now)).isolate() if self._audience is None else self._audience

    async def count_likes(self, _: View, now: int, half_life_days: int) -> PieceCounts | None:
        """Return how many people like each piece, as of what is in force."""
        return await self._inputs.count_likes(self._view, now, half_life_days)

    async def person(self, view: View, request: ListRequest, now: int, likings: StatedLikings | None) -> UserFeatures:
        """Return what lists take of a person, worked out anew."""
        if likings is None:
            history = await self.history(view, request, now)
        else:
            history = stated_history(view, likings, now)
        return await self._database.in_thread(history.figures, view, now // DAY_MS)

    async def history(self, view: View, request: ListRequest, now: int) -> PersonHistory:
        """Return what counts of a person."""
        key = (request.user_id, oldest_kept(view, now))
        history = self._histories.get(key)
        if history is None:
            history = await self._inputs.history(view, request, now)
            self._histories.put(key, history, 1 + len(history.interactions))
        return history

    async def hidden(self, view: View, user_id: str) -> frozenset[str]:
        """Return the pieces that a person wants to see no more."""
        # Of those who are remembered figures are for views in force.
        said = await self.history(view, ListRequest(user_id=user_id), self._now)
        return frozenset(said.preferences.hidden)


class TwoSides:
    """A source as it is and as it would be: lists of both, by the rankings of requests."""

    def __init__(self, database: AsyncStorage, views: tuple[View, View], inputs: tuple[SideInputs, SideInputs]) -> None:
        self._database = database
        self.views = views
        self.inputs = inputs

    async def similar(self, piece_id: str, take: int) -> PreviewedList:
        """Return what is similar to a piece; nothing on a side that has not the piece.

        Raises:
            TooFewPieces: a side has one piece only.
        """

        async def listed(side: int) -> Content:
            view = self.views[side]
            if not view.knows(piece_id):
                return []
            ranking = await rank_similar(self.inputs[side], view, ListRequest(piece_id=piece_id, take=take))
            ranking.require()
            return await self._database.in_thread(content_of, ranking)

        return await self._previewed(piece_id, listed)

    async def personal(self, user_id: str, take: int) -> PreviewedList:
        """Return what a person may like."""

        async def listed(side: int) -> Content:
            request = ListRequest(user_id=user_id, take=take)
            ranking = await rank_personal(self.inputs[side], self.views[side], request)
            ranking.work = self.inputs[side].work.for_list()
            return await self._database.in_thread(content_of, ranking)

        return await self._previewed(user_id, listed)

    async def _previewed(self, list_id: str, listed: Callable[[int], Awaitable[Content]]) -> PreviewedList:
        before = await listed(0)
        # Of one view both sides are the same: each list is made once.
        after = before if self.views[0] is self.views[1] else await listed(1)
        return PreviewedList(id=list_id, before=before, after=after, moves=moves(before, after))


def changed_view(view: View, wish: PreviewWish) -> View:
    """Return the view as it would be after the requested changes, sharing only its pieces."""
    settings = wish.settings(view.settings)
    _require_reading(view.settings, settings)
    return view_under(view, settings, whitelist=wish.whitelist, blacklist=wish.blacklist)


def view_under(
    view: View,
    settings: SourceSettings,
    *,
    whitelist: tuple[str, ...] | None = None,
    blacklist: tuple[str, ...] | None = None,
    pieces: Sequence[EncodedPiece] = (),
    now: int = 0,
) -> View:
    """Return the view as it would be under settings and lists, and with pieces submitted ``now``; for nobody else."""
    blacklist = view.blacklist if blacklist is None else blacklist
    # Norms depend on the weights: prepared apart, they do not push out those that requests need.
    snapshot = view.snapshot.isolate()
    if pieces:
        snapshot = _with_pieces(view, snapshot, pieces, now)
    snapshot.prepare(settings.category_factors)
    return replace(
        view,
        snapshot=snapshot,
        settings=settings,
        whitelist=view.whitelist if whitelist is None else whitelist,
        blacklist=blacklist,
        blacklisted=frozenset(blacklist),
    )


def _with_pieces(view: View, snapshot: Snapshot, pieces: Sequence[EncodedPiece], now: int) -> Snapshot:
    attributes = numbered(view.source_settings.attributes.values())
    reader = PieceReader(attributes, Strings.of(map(str, attributes)), view.reading)
    rules = KeywordRules(view.reading.rule, view.reading.rule)
    changes = []
    for piece in pieces:
        found = snapshot.find(piece.id)
        # What names no day of its own is shown from its first submission on, which replacing it keeps.
        since = now if found is None else int(found[0].segment.available_from[found[1]])
        changes.append(PieceChange(piece.id, False, since, piece.body, encode_keywords(piece.body, rules)))
    reader.add(changes)
    return snapshot.replace([piece.id for piece in pieces], reader.segment(), max_merged=len(pieces))


def _require_reading(before: SourceSettings, after: SourceSettings) -> None:
    """Refuse settings by which pieces would have other keywords: each of them would have to be read anew."""
    faults = [
        Fault(pointer=f"/settings/{name}", detail="What pieces would have is shown by POST /{source}/preview/words.")
        for name in read_anew(before, after)
        if name != "attributes"
    ]
    if faults:
        raise InvalidInput("Lists under other words or another vocabulary are not previewed.", faults=faults)


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
