"""Serving lists: rankings are made, answered and explained, each where and when it holds up nobody else.

Where a piece stands in a list is found in this order, all from one view:

    not in the view        unknown, or stored but not indexed yet
    several exclusions     all are named, with no remedy: no single change helps
    one exclusion          its remedy is tried out, and named only if the piece is then within ``take``
    no exclusion           the rank, and "outranked" where it is past ``take``
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple, ParamSpec, TypeVar

from msgspec import structs

from penchant.errors import StorageUnavailable, UnknownPiece, UnknownSource
from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.service.access import Access
from penchant.service.lists.answer_cache import AnswerCache
from penchant.service.lists.answers import result_of, similar_result_of, view_of, why_of
from penchant.service.lists.inputs import LiveInputs
from penchant.service.lists.kinds import rank_again, rank_new, rank_personal, rank_picks, rank_popular, rank_similar
from penchant.service.lists.paging import ListPages
from penchant.service.shares import page_shares
from penchant.wire import StatedLikings
from penchant.wire.answers import Profile, RecommendationResult, TasteSegment, TasteSegments
from penchant.wire.explanations import ExplainedResult, LeftPiece, Place, RankResult, Reason
from penchant_engine.index import Audience, Filter
from penchant_engine.lists.exclusions import ExclusionReason
from penchant_engine.lists.personal import PersonalRanking
from penchant_engine.lists.plain import NewRanking, PopularRanking, RepeatRanking
from penchant_engine.lists.ranking import ListRanking
from penchant_engine.lists.requests import ListRequest
from penchant_engine.lists.reranking import UNKNOWN
from penchant_engine.lists.similar import SAME_PIECE, SimilarRanking
from penchant_engine.lists.standing import stand
from penchant_engine.lists.tastes import ShownPieces, showable
from penchant_engine.model import MAX_TAKE, Basis, IndexedPiece, by_category
from penchant_engine.ranking import WorkBudget

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Again = Callable[[View, Any], Awaitable[ListRanking]]
"""Makes the ranking of another request, from another view."""


class RankAnswer(NamedTuple):
    """Given pieces as they are ranked, and the version of the interactions of which that knows."""

    result: RankResult
    audience_version: int | None


class Lists:
    """Makes lists, explains them, and says of any piece where it stands; each from one view of a source.

    ``answers`` are those sent lately, ``shares`` those of what takes long to make for people to look at.
    """

    def __init__(self, database: AsyncStorage, inputs: LiveInputs, answers: AnswerCache) -> None:
        self._database = database
        self.inputs = inputs
        self.answers = answers
        self.shares = page_shares()
        self.pages = ListPages(database.storage.list_secret())

    def now(self, view: View) -> int:
        """Return the present of a source, in ms since 1970 UTC."""
        return self.inputs.now(view)

    async def similar(self, view: View, request: ListRequest, unstored: IndexedPiece | None = None) -> SimilarRanking:
        """Return what is similar to a piece, or to one that is not stored.

        Raises:
            NotYetVisible: the audience version that is asked for was not reached in time; so do all others.
        """
        return await rank_similar(self.inputs, view, request, unstored)

    async def personal(self, view: View, request: ListRequest, likings: StatedLikings | None = None) -> PersonalRanking:
        """Return what a person may like; an unknown one gets popular pieces.

        Raises:
            Overloaded: the person's pieces have very many keywords, and too many such tastes are being worked out.
            StorageUnavailable: the database is away.
        """
        return await rank_personal(self.inputs, view, request, likings)

    async def popular(self, view: View, request: ListRequest) -> PopularRanking:
        """Return what most people like.

        Raises:
            Overloaded: too many lists under half-lives of their own are being made.
        """
        return await rank_popular(self.inputs, view, request)

    async def newest(self, view: View, request: ListRequest) -> NewRanking:
        """Return what became available last."""
        return await rank_new(self.inputs, view, request)

    async def again(self, view: View, request: ListRequest) -> RepeatRanking:
        """Return what a person may take up again; raises as `personal`."""
        return await rank_again(self.inputs, view, request)

    async def ranked(self, access: Access, view: View, request: ListRequest, *, explain: bool) -> RankAnswer:
        """Return given pieces as they suit a person, and why some are left out; raises as `answer` and `personal`."""
        ranking = await rank_picks(self.inputs, view, request)
        result: RankResult = await self.answer(ranking, explain=explain)
        unknown = [each.id for each in result.left if each.why == UNKNOWN]
        if unknown:
            reasons = await self._missing(access, view, unknown)
            codes = {each.id: each.why for each in result.left} | {each: why.code for each, why in reasons.items()}
            result = structs.replace(result, left=[LeftPiece(id=each, why=code) for each, code in codes.items()])
        return RankAnswer(result, ranking.audience_version)

    async def answer(self, ranking: ListRanking, *, explain: bool = False) -> Any:
        """Return the answer to a ranking's request; raises as its `require`, and `Overloaded` for reasons."""
        return await self.written(ranking, result_of, explain=explain)

    async def written(self, ranking: ListRanking, make: Callable[..., Result], *, explain: bool = False) -> Result:
        """Return what ``make`` writes of a ranking, with reasons if it is to ``explain``; raises as `answer`."""
        ranking.require()
        if explain:
            return await self._in_turn(view_of(ranking.view), make, ranking, explain=True)
        is_quick = ranking.is_quick and ranking.is_filtered_quickly
        return make(ranking) if is_quick else await self._database.in_thread(make, ranking)

    async def similar_to_each(
        self, view: View, requests: Sequence[ListRequest], *, explain: bool
    ) -> tuple[list[RecommendationResult | ExplainedResult | UnknownPiece], int | None]:
        """Return the lists for several pieces, the error in the place of an unknown one; and what they know of people.

        Raises:
            TooFewPieces: the source has one piece only, and it is asked for.
            Overloaded: too many lists are being explained.
        """
        now = self.now(view)
        audience: Audience | None = None
        if requests and requests[0].by is not Basis.CONTENT:
            # Of one moment for all of them.
            audience = await self.inputs.audience(view, now, requests[0].min_audience_version)

        def each(request: ListRequest) -> RecommendationResult | ExplainedResult | UnknownPiece:
            ranking = SimilarRanking(view, request, now, audience)
            try:
                ranking.require()
            except UnknownPiece as error:
                return error
            return similar_result_of(ranking, explain=explain)

        lists = await self._in_turn(view, lambda: [each(request) for request in requests])
        return lists, None if audience is None else audience.version

    async def recommend_to_each(
        self, view: View, request: ListRequest, user_ids: Sequence[str]
    ) -> tuple[list[RecommendationResult], int]:
        """Return the recommendations of several people, in their order, and the least that the audience knew for any.

        Raises:
            Overloaded: too many such requests are being served.
        """
        results, versions, work = list[RecommendationResult](), list[int](), WorkBudget()
        async with self.inputs.long_lists.turn(view.head.account_id):
            for user_id in user_ids:
                # A remembered person's list is made without waiting for anything: let others in between.
                await asyncio.sleep(0)
                ranking = await self.personal(view, structs.replace(request, user_id=user_id))
                ranking.work = work.for_list()
                results.append(await self.answer(ranking))
                versions.append(ranking.audience_version or 0)
        return results, min(versions, default=0)

    async def profile(self, view: View, user_id: str, now: int) -> list[Profile]:
        """Return a person's taste: one profile, or none where no interaction counts; raises as `personal`."""
        categories = by_category(await self.inputs.profile(view, user_id, now))
        if not categories:
            return []
        return [Profile(source=view.head.name, user_id=user_id, categories=categories)]

    async def segments(self, view: View, user_id: str, category: str, take: int, now: int) -> TasteSegments:
        """Return the keywords of a category that a person likes and has enough to be shown of; raises as `personal`."""
        person = await self.inputs.person(view, ListRequest(user_id=user_id), now)
        profile = await self.inputs.profile(view, user_id, now)
        shown = Filter(moment=now, blacklisted=view.blacklisted)
        pieces = ShownPieces(view.snapshot, shown, person.left_out(with_seen=not view.settings.exclude_seen))
        liked = islice(showable(profile, pieces, category), take)
        segments = [TasteSegment(keyword=term.keyword, score=score) for term, score in liked]
        return TasteSegments(id=user_id, segments=segments)

    async def place(self, access: Access, ranking: SimilarRanking | PersonalRanking, piece_id: str) -> Place:
        """Return where any piece stands in a list, and why.

        Raises:
            UnknownPiece: the source has no piece whose list it would be.
            Overloaded: too many lists are being explained.
        """
        request = ranking.request
        if isinstance(ranking, PersonalRanking):
            return await self._place(access, ranking, request.user_id, piece_id, self.personal)
        ranking.view.require(request.piece_id)
        if request.piece_id == piece_id:
            reason = Reason(code="same-piece", detail=SAME_PIECE, remedy=None)
            return _nowhere(request.piece_id, piece_id, reason)
        return await self._place(access, ranking, request.piece_id, piece_id, self.similar)

    async def _in_turn(
        self, view: View, function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Return ``function(…)``, run in a thread when it is the turn of the account whose source it is about."""
        async with self.shares.turn(view.head.account_id):
            return await self._database.in_thread(function, *args, **kwargs)

    async def _place(self, access: Access, ranking: ListRanking, whose: str, piece_id: str, again: Again) -> Place:
        """Return the place of a piece; ``again`` gives the list after a change."""
        if not ranking.view.knows(piece_id):
            missing = await self._missing(access, view_of(ranking.view), [piece_id])
            return _nowhere(whose, piece_id, missing[piece_id])
        standing = await self._in_turn(view_of(ranking.view), stand, ranking, piece_id)
        position, take = standing.position, ranking.request.take
        rank = position if position is not None and position <= take else None
        reasons: list[Reason] = []
        if position is not None and rank is None:
            reasons.append(_outranked(ranking, position))
        elif len(standing.exclusions) == 1:
            reasons = await self._single(standing.exclusions[0], piece_id, take, again)
        elif standing.exclusions:
            # Several at once: no single change brings the piece in.
            reasons = [Reason(code=each.code, detail=each.detail, remedy=None) for each in standing.exclusions]
        return Place(
            id=whose, content_id=piece_id, rank=rank, score=standing.score, why=why_of(standing.why), reasons=reasons
        )

    async def _single(self, exclusion: ExclusionReason, piece_id: str, take: int, again: Again) -> list[Reason]:
        """Return the only exclusion; its remedy is tried out first, and named only where it brings the piece in."""
        change = exclusion.change()
        reason = Reason(code=exclusion.code, detail=exclusion.detail, remedy=None)
        if change is None:
            return [reason]
        # This makes a second list, in a turn of its own: a remedy is named only if it works.
        ranking = await again(view_of(change.view), change.query)
        then = await self._in_turn(view_of(ranking.view), stand, ranking, piece_id)
        if then.position is None:
            return [reason]
        if then.position > take:
            return [reason, Reason(code="outranked", detail=_rank_text(then.position, "would then be"), remedy=None)]
        return [Reason(code=exclusion.code, detail=exclusion.detail, remedy=dict(change.remedy))]

    async def _missing(self, access: Access, view: View, ids: Sequence[str]) -> dict[str, Reason]:
        """Return of each piece why a view does not have it: storage may have it already."""
        reasons = dict.fromkeys(ids, Reason(code=UNKNOWN, detail="The source has no piece with this id.", remedy=None))
        # Others are in the view, but not for who asks.
        missing = [each for each in ids if each not in view.snapshot]
        if not missing:
            return reasons
        try:
            head, stored = await self._database.read(
                self._database.storage.pieces.read_with_head, access.account_id, view.head.name, missing
            )
        # An explanation is still true of the view: without storage it only says less.
        except (StorageUnavailable, UnknownSource):
            return reasons
        detail = f"The piece is stored, but this list is of version {view.head.version}."
        later = Reason(code="not-yet-indexed", detail=detail, remedy={"min-version": head.version})
        return reasons | dict.fromkeys(stored, later)


def _nowhere(whose: str, piece_id: str, reason: Reason) -> Place:
    return Place(id=whose, content_id=piece_id, rank=None, score=None, why=None, reasons=[reason])


def _outranked(ranking: ListRanking, position: int) -> Reason:
    name = "limit" if isinstance(ranking, SimilarRanking) else "take"
    remedy = {name: position} if position <= MAX_TAKE else None
    return Reason(code="outranked", detail=_rank_text(position, "would be"), remedy=remedy)


def _rank_text(position: int, verb: str) -> str:
    return f"Others come before the piece: it {verb} number {position}."
