"""Kinds of lists that placements show: those of the service and of packages, and those of several lists about seeds."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from penchant.errors import invalid_parameter
from penchant.live.views import View
from penchant.service.lists.kinds import ListSubject, RankingKind, rank_personal
from penchant.wire import StatedLikings, format_timestamp
from penchant_engine.lists.ranking import ListRanking
from penchant_engine.lists.requests import ListRequest
from penchant_engine.lists.tastes import LEAST_SHOWN
from penchant_engine.model import MAX_TAKE, Basis
from penchant_engine.ranking import WorkBudget
from penchant_rows.model import PlacementKind
from penchant_rows.service.inputs import RowInputs
from penchant_rows.service.seeds import (
    Entries,
    RowChoice,
    SeededRow,
    SeedInputs,
    ShownRow,
    rows_because,
    rows_by_keyword,
    shown_row,
)
from penchant_rows.wire.placements import ListRules


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


async def _personal_request(inputs: RowInputs, wish: ListWish) -> ListRequest:
    view, rules, user_id = wish.view, wish.rules, wish.request.user_id
    if user_id is None or not rules.rotation:
        return wish.wanted
    # As much of s is left of a piece as was not taken each time that it was shown and passed over.
    passed_over = await inputs.passed_over(view, wish.request.placement, user_id, inputs.now(view))
    sinking = {piece_id: (1 - rules.rotation) ** count for piece_id, count in passed_over.items()}
    return replace(wish.wanted, sinking=sinking)


async def rank_list(inputs: RowInputs, kind: RankingKind, wish: ListWish) -> ListRanking | None:
    """Return the ranking of a list of a kind; ``None`` where it is empty.

    Raises:
        InvalidInput: it is about a piece, and the request names none.
    """
    user_id, wanted = wish.request.user_id, wish.wanted
    if kind.subject is ListSubject.PIECE:
        wanted = wish.similar
    if user_id is not None and not kind.subject.is_person:
        # Lists that know nothing of a person are without what the person has hidden all the same.
        hidden = await inputs.hidden(wish.view, user_id)
        return await kind.rank(inputs, wish.view, replace(wanted, exclude=wanted.exclude | hidden))
    if user_id is None and kind.subject is ListSubject.KNOWN_PERSON:
        return None
    if user_id is None and kind.subject is ListSubject.ANYBODY:
        # Nothing is known of nobody.
        return await kind.rank(inputs, wish.view, wanted, StatedLikings())
    if kind.name == PlacementKind.RECOMMENDATIONS:
        wanted = await _personal_request(inputs, wish)
    return await kind.rank(inputs, wish.view, wanted)


async def _because(inputs: RowInputs, wish: ListWish, asked: ListRequest) -> Iterator[SeededRow]:
    audience, now = None, inputs.now(wish.view)
    person = await inputs.person(wish.view, asked, now, None)
    known = SeedInputs(view=wish.view, now=now, person=person, history=await inputs.history(wish.view, asked, now))
    if asked.by is not Basis.CONTENT:
        audience = await inputs.audience(wish.view, known.now, asked.min_audience_version)
    request = replace(wish.wanted, take=max(wish.wanted.take, LEAST_SHOWN))
    return rows_because(known, request, audience, wish.rules.series_category)


async def _keyword(inputs: RowInputs, wish: ListWish, asked: ListRequest) -> Iterator[SeededRow]:
    wanted = replace(asked, take=max(asked.take, LEAST_SHOWN))
    return rows_by_keyword(await rank_personal(inputs, wish.view, wanted))


SeedRows = Callable[[RowInputs, ListWish, ListRequest], Awaitable[Iterator[SeededRow]]]
"""Makes the rows that a placement could show somebody, the most fitting first, of at least `LEAST_SHOWN` entries."""


class SeededKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of which a page shows several lists, each about something else that a person likes."""

    rows: SeedRows

    async def choose(self, inputs: RowInputs, wish: ListWish, entries: Entries) -> list[ShownRow]:
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


SEEDED_KINDS: Mapping[str, SeededKind] = {
    PlacementKind.BECAUSE: SeededKind(rows=_because),
    PlacementKind.KEYWORD: SeededKind(rows=_keyword),
}
"""Kinds of which a page shows several lists, beside all those of one."""
