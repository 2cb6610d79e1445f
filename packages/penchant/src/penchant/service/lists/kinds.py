"""Kinds of lists: how the ranking of a request is made, and, a row each, that of a placement's list.

A new kind is a class of `ListRanking`, a row of `KINDS`, and its document.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from penchant.errors import invalid_parameter
from penchant.live.views import View
from penchant.model import PlacementKind
from penchant.service.lists.inputs import ListInputs
from penchant.service.lists.seeds import (
    Entries,
    RowChoice,
    SeededRow,
    SeedInputs,
    ShownRow,
    rows_because,
    rows_by_keyword,
    shown_row,
)
from penchant.wire import StatedLikings, format_timestamp
from penchant.wire.placements import ListRules
from penchant_engine.index.people.popularity import HALF_LIFE_DAYS
from penchant_engine.lists.personal import PersonalRanking
from penchant_engine.lists.picks import PickRanking
from penchant_engine.lists.plain import AgainRanking, NewRanking, PopularRanking
from penchant_engine.lists.ranking import ListRanking
from penchant_engine.lists.requests import (
    ListRequest,
)
from penchant_engine.lists.similar import SimilarRanking
from penchant_engine.lists.tastes import LEAST_SHOWN
from penchant_engine.model import MAX_TAKE, Basis, IndexedPiece
from penchant_engine.ranking import WorkBudget


async def rank_similar(
    inputs: ListInputs, view: View, request: ListRequest, draft: IndexedPiece | None = None
) -> SimilarRanking:
    """Return what is similar to a piece, or to a draft."""
    now, audience = inputs.now(view), None
    if request.by is not Basis.CONTENT:
        audience = await inputs.audience(view, now, request.min_audience_version)
    return SimilarRanking(view, request, now, audience, draft)


async def rank_personal(
    inputs: ListInputs, view: View, request: ListRequest, likings: StatedLikings | None = None
) -> PersonalRanking:
    """Return what a person may like; with ``likings``, what somebody may like of whom nothing else is known."""
    now = inputs.now(view)
    person = await inputs.person(view, request, now, likings)
    audience = await inputs.audience(view, now, request.min_audience_version)
    return PersonalRanking(view, request, now, person, audience, is_known=likings is None)


async def rank_picks(
    inputs: ListInputs, view: View, request: ListRequest, likings: StatedLikings | None = None
) -> PickRanking:
    """Return given pieces in the order in which they suit a person, or that in which they are given, or between."""
    now = inputs.now(view)
    person = await inputs.person(view, request, now, likings)
    audience = await inputs.audience(view, now, request.min_audience_version)
    return PickRanking(view, request, now, person, audience, is_known=likings is None)


async def rank_popular(inputs: ListInputs, view: View, request: ListRequest) -> PopularRanking:
    """Return what most people like, each of them counting half after the half-life."""
    now = inputs.now(view)
    audience = await inputs.audience(view, now, request.min_audience_version)
    counts = audience.counts
    if counts_trend(request.half_life_days):
        counts = await inputs.trend(view, now, request.half_life_days or 0)
    return PopularRanking(view, request, now, audience, counts)


async def rank_new(inputs: ListInputs, view: View, request: ListRequest) -> NewRanking:
    """Return what became available last."""
    return NewRanking(view, request, inputs.now(view))


async def rank_again(inputs: ListInputs, view: View, request: ListRequest) -> AgainRanking:
    """Return what a person began or came back to on another day."""
    now = inputs.now(view)
    history = await inputs.history(view, request, now)
    request = replace(request, exclude=request.exclude.union(history.preferences.hidden))
    return AgainRanking(view, request, now, history.interactions)


def counts_trend(half_life_days: int | None) -> bool:
    """Return whether a half-life of popularity is another than that by which all recommendations go."""
    return half_life_days not in {None, HALF_LIFE_DAYS}


class PlacementRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for the list of a placement, for a person, beside a piece, for both or for nobody.

    ``explain`` adds reasons to its entries. One that goes on after some pieces has their marks in ``listed``, and says
    in ``about`` which list it was that did (`PlacementAnswer`). ``work`` is what it shares with others, if with any.
    """

    placement: str
    user_id: str | None = None
    content_id: str | None = None
    take: int = MAX_TAKE
    exclude: frozenset[str] = frozenset()
    listed: bytes = b""
    about: str = ""
    min_audience_version: int = 0
    explain: bool = False
    work: WorkBudget | None = None


class ListWish(NamedTuple):
    """What a placement wants listed: a view that is under its rules, these, what was asked of it, and which list."""

    view: View
    rules: ListRules
    request: PlacementRequest
    wanted: ListRequest

    @property
    def similar(self) -> ListRequest:
        """The request for what is similar to the piece of the request.

        Raises:
            InvalidInput: it names none.
        """
        if self.request.content_id is None:
            raise invalid_parameter("content", "The placement lists what is similar to a piece; say which one.")
        return self.wanted


async def _similar(inputs: ListInputs, wish: ListWish) -> SimilarRanking:
    return await rank_similar(inputs, wish.view, wish.similar)


async def _personal_request(inputs: ListInputs, wish: ListWish) -> ListRequest:
    view, rules, user_id = wish.view, wish.rules, wish.request.user_id
    if user_id is None or not rules.rotation:
        return wish.wanted
    # As much of s is left of a piece as was not taken each time that it was shown and passed over.
    passed_over = await inputs.passed_over(view, wish.request.placement, user_id, inputs.now(view))
    sinking = {piece_id: (1 - rules.rotation) ** count for piece_id, count in passed_over.items()}
    return replace(wish.wanted, sinking=sinking)


async def _recommendations(inputs: ListInputs, wish: ListWish) -> PersonalRanking:
    wanted = await _personal_request(inputs, wish)
    # Nothing is known of nobody.
    return await rank_personal(inputs, wish.view, wanted, StatedLikings() if wish.request.user_id is None else None)


async def _picks(inputs: ListInputs, wish: ListWish) -> PickRanking:
    return await rank_picks(inputs, wish.view, wish.wanted, StatedLikings() if wish.request.user_id is None else None)


async def _popular(inputs: ListInputs, wish: ListWish) -> PopularRanking:
    return await rank_popular(inputs, wish.view, wish.wanted)


async def _new(inputs: ListInputs, wish: ListWish) -> NewRanking:
    return await rank_new(inputs, wish.view, wish.wanted)


async def _again(inputs: ListInputs, wish: ListWish) -> AgainRanking | None:
    return None if wish.request.user_id is None else await rank_again(inputs, wish.view, wish.wanted)


async def _because(inputs: ListInputs, wish: ListWish, asked: ListRequest) -> Iterator[SeededRow]:
    audience, now = None, inputs.now(wish.view)
    person = await inputs.person(wish.view, asked, now, None)
    known = SeedInputs(view=wish.view, now=now, person=person, history=await inputs.history(wish.view, asked, now))
    if asked.by is not Basis.CONTENT:
        audience = await inputs.audience(wish.view, known.now, asked.min_audience_version)
    request = replace(wish.wanted, take=max(wish.wanted.take, LEAST_SHOWN))
    return rows_because(known, request, audience, wish.rules.series_category)


async def _keyword(inputs: ListInputs, wish: ListWish, asked: ListRequest) -> Iterator[SeededRow]:
    wanted = replace(asked, take=max(asked.take, LEAST_SHOWN))
    return rows_by_keyword(await rank_personal(inputs, wish.view, wanted))


Ranks = Callable[[ListInputs, ListWish], Awaitable[ListRanking | None]]
"""Ranks the list of a placement; ``None`` where there is nothing to list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingKind:
    """A kind of list that placements show; one that ``is_personal`` leaves out by itself what the person has hidden."""

    rank: Ranks
    is_personal: bool


SeedRows = Callable[[ListInputs, ListWish, ListRequest], Awaitable[Iterator[SeededRow]]]
"""Makes the rows that a placement could show somebody, the most fitting first, of at least `LEAST_SHOWN` entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeededKind:
    """A kind of which a page shows several lists, each about something else that a person likes."""

    rows: SeedRows

    async def choose(self, inputs: ListInputs, wish: ListWish, entries: Entries) -> list[ShownRow]:
        """Return the rows that a page shows the person of a request today; none for nobody."""
        request = wish.request
        if request.user_id is None:
            return []
        rows = await self.rows(inputs, wish, await _personal_request(inputs, wish))
        if request.listed:
            row = next((each for each in rows if each.mark == request.about), None)
            if row is None:
                return []
            found = await shown_row(row, entries, take=request.take, explain=request.explain)
            return [found._replace(content=found.content[: request.take])]
        count = wish.rules.rows or 1
        choice = RowChoice(rows, entries, count=count, take=request.take, explain=request.explain)
        return await choice.shown(format_timestamp(inputs.now(wish.view))[:10], request.user_id)


KINDS: Mapping[PlacementKind, RankingKind | SeededKind] = {
    PlacementKind.SIMILAR: RankingKind(rank=_similar, is_personal=False),
    PlacementKind.RECOMMENDATIONS: RankingKind(rank=_recommendations, is_personal=True),
    PlacementKind.POPULAR: RankingKind(rank=_popular, is_personal=False),
    PlacementKind.NEW: RankingKind(rank=_new, is_personal=False),
    PlacementKind.AGAIN: RankingKind(rank=_again, is_personal=True),
    PlacementKind.PICKS: RankingKind(rank=_picks, is_personal=True),
    PlacementKind.BECAUSE: SeededKind(rows=_because),
    PlacementKind.KEYWORD: SeededKind(rows=_keyword),
}
"""All kinds of lists that placements show."""
