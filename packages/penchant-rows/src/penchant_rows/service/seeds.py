"""Seeds: what rows of a page are about, a piece or a keyword that a person likes, and which of them are shown today.

Rows differ from day to day and not within one: among the first seeds that have enough to show, those with the least
hash of day, person and seed are chosen, and stand in the order of the seeds.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from penchant.live.views import View
from penchant.service.lists.inputs import PersonHistory
from penchant_engine.computed import computed
from penchant_engine.index import Audience, Filter, InteractionArrays, UserFeatures
from penchant_engine.index.people.person import graded_pieces, strongest_terms
from penchant_engine.index.queries import PartQuery
from penchant_engine.lists.marks import mark_count
from penchant_engine.lists.personal import PersonalRanking
from penchant_engine.lists.requests import ListRequest
from penchant_engine.lists.similar import SimilarRanking
from penchant_engine.lists.tastes import LEAST_SHOWN, ShownPieces
from penchant_engine.model import DAY_MS, MAX_LISTED, Term
from penchant_rows.service.answers import unmet_of
from penchant_rows.wire.placement_answers import ListSeed, PlacedPiece, UnmetRule

CHOSEN_FROM = 3
"""Seeds for each row among which those of the day are chosen (interface, section 10)."""

RowRanking = SimilarRanking | PersonalRanking


class SeededRow(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A row that a page could show: what it is about, which ``mark`` says as one text, and since when.

    ``rank`` ranks it without some more pieces; ``has_enough`` tells that it is known to be long enough. ``series`` are
    the terms by which a piece belongs to a series.
    """

    seed: ListSeed
    mark: str
    rank: Callable[[frozenset[str]], RowRanking]
    since: int | None = None
    series: frozenset[Term] = frozenset()
    has_enough: bool = False


class SeedInputs(msgspec.Struct, frozen=True, kw_only=True):
    """What rows about pieces that a person likes are made from, at a moment."""

    view: View
    now: int
    person: UserFeatures
    history: PersonHistory

    @property
    def events(self) -> InteractionArrays:
        """What the person did."""
        return InteractionArrays.of(self.history.interactions)

    def left_out(self) -> frozenset[str]:
        """Return the ids of the pieces that recommendations leave out for the person."""
        rows = self.person.left_out(with_seen=not self.view.settings.exclude_seen)
        parts = zip(self.view.snapshot.parts, rows, strict=False)
        return frozenset(each for part, own in parts for each in part.segment.ids.take(own))


def rows_because(
    inputs: SeedInputs, request: ListRequest, audience: Audience | None, series_category: str | None
) -> Iterator[SeededRow]:
    """Yield rows of what is similar to a piece that the person likes: by grade, then by value, ties by id."""
    view, now = inputs.view, inputs.now
    request = replace(request, exclude=request.exclude | inputs.left_out())
    positive, latest = view.settings.positive_types, dict[str, int]()
    for each in inputs.history.interactions:
        # Newest first.
        if each.type in positive:
            latest.setdefault(each.piece_id, each.occurred_at)

    def rank(piece_id: str, without: frozenset[str]) -> SimilarRanking:
        query = replace(request, piece_id=piece_id, exclude=request.exclude | without)
        return SimilarRanking(view, query, now, audience)

    for liked in graded_pieces(inputs.events, view.snapshot, view.settings, now // DAY_MS):
        if view.knows(liked.id):
            terms = view.snapshot.terms_of(liked.id) or {}
            yield SeededRow(
                seed=ListSeed(content_id=liked.id),
                mark=liked.id,
                rank=partial(rank, liked.id),
                since=latest.get(liked.id),
                series=frozenset(term for term in terms if term.category == series_category),
            )


class KeywordRanking(PersonalRanking):
    """What a person may like among the pieces that have a term, by what ``whole`` has worked out for all of them."""

    def __init__(self, term: Term, whole: PersonalRanking, request: ListRequest) -> None:
        super().__init__(whole.view, request, whole.now, whole.person, whole.audience)
        self._term = term
        self._whole = whole

    @property
    def query(self) -> PartQuery:
        """What the list is searched by: the same for all terms."""
        return self._whole.query

    @computed
    def shown(self) -> Filter:
        """Which pieces may be listed: those that have the term."""
        return replace(super().shown, having=self._term)


def rows_by_keyword(whole: PersonalRanking) -> Iterator[SeededRow]:
    """Yield rows of the best of a person's list that have a keyword of the profile, the strongest first."""
    view, person = whole.view, whole.person
    pieces = ShownPieces(view.snapshot, whole.shown, person.left_out(with_seen=not view.settings.exclude_seen))

    def rank(term: Term, without: frozenset[str]) -> KeywordRanking:
        return KeywordRanking(term, whole, replace(whole.request, exclude=whole.request.exclude | without))

    for term in strongest_terms(person.taste, view.snapshot, view.settings):
        # Counted first: most keywords of a profile are of few pieces, and a count takes no search.
        if pieces.count(term) >= LEAST_SHOWN:
            yield SeededRow(
                seed=ListSeed(category=term.category, keyword=term.keyword),
                mark=f"{term.category}\0{term.keyword}",
                rank=partial(rank, term),
                # Nothing but rules leaves out what may be shown.
                has_enough=not whole.is_arranged,
            )


class ShownRow(NamedTuple):
    """A row that is shown: its pieces, what it knows of people, whether it goes on, and what it does not meet."""

    row: SeededRow
    content: Sequence[PlacedPiece]
    audience_version: int | None
    goes_on: bool
    unmet: list[UnmetRule]


Entries = Callable[..., Awaitable[Sequence[PlacedPiece]]]
"""Returns the entries of a ranking, with reasons if it is told to ``explain``."""


async def shown_row(
    row: SeededRow, entries: Entries, *, take: int, explain: bool, without: frozenset[str] = frozenset()
) -> ShownRow:
    """Return a row with all its entries, made without some more pieces, and whether it goes on after so many."""
    ranking = row.rank(without)
    content = await entries(ranking, explain=explain)
    answered = mark_count(ranking.request.listed) + min(take, len(content))
    goes_on = answered < MAX_LISTED and (ranking.goes_on or len(content) > take)
    return ShownRow(row, content, ranking.audience_version, goes_on, unmet_of(ranking))


class RowChoice:
    """Chooses the rows of a placement for a person and a day (``YYYY-MM-DD``), up to ``count`` of so many entries."""

    def __init__(self, rows: Iterator[SeededRow], entries: Entries, *, count: int, take: int, explain: bool) -> None:
        self._rows = rows
        self._entries = entries
        self._count = count
        self._take = take
        self._explain = explain
        self._pool: list[SeededRow] = []

    async def shown(self, day: str, user_id: str) -> list[ShownRow]:
        """Return the rows, in the order of their seeds; none has a piece that one before it shows.

        One with too few pieces beside those before it is passed over, and another one of the first comes in.
        """
        while True:
            await self._fill()
            by_hash = sorted(self._pool, key=lambda row: _day_hash(day, user_id, row.mark))[: self._count]
            chosen = [row for row in self._pool if row in by_hash]
            shown = await self._filled(chosen)
            if len(shown) == len(chosen):
                return shown
            self._pool.remove(chosen[len(shown)])

    async def _fill(self) -> None:
        """Take the first rows that have enough to show and are of no series that is there already."""
        while len(self._pool) < CHOSEN_FROM * self._count:
            row = next(self._rows, None)
            if row is None:
                return
            is_new = not row.series or all(not row.series <= each.series for each in self._pool)
            if is_new and (row.has_enough or await self._is_long_enough(row.rank(frozenset()))):
                self._pool.append(row)

    async def _is_long_enough(self, ranking: RowRanking) -> bool:
        # Lists of one person follow each other: let others in between.
        await asyncio.sleep(0)
        ranking.require()
        # Counted first: to arrange a list takes up to `MAX_SEARCHES` searches, and a person may like hundreds.
        return ranking.may_list(LEAST_SHOWN) and len(await self._entries(ranking)) >= LEAST_SHOWN

    async def _filled(self, rows: Sequence[SeededRow]) -> list[ShownRow]:
        """Return rows with their entries, up to the first that has too few."""
        shown, listed = set[str](), list[ShownRow]()
        for row in rows:
            without = frozenset(shown)
            found = await shown_row(row, self._entries, take=self._take, explain=self._explain, without=without)
            if len(found.content) < LEAST_SHOWN:
                break
            listed.append(found._replace(content=found.content[: self._take]))
            shown.update(each.id for each in listed[-1].content)
        return listed


def _day_hash(day: str, user_id: str, mark: str) -> bytes:
    return hashlib.blake2b(f"{day}\0{user_id}\0{mark}".encode(), digest_size=8).digest()
