"""Prospects: which people a piece would suit best, for a newsletter or a push."""

import asyncio
from typing import Self

import msgspec

from penchant.errors import UnknownPiece
from penchant.live.database import AsyncStorage
from penchant.live.heads import SourceName
from penchant.live.views import View
from penchant.service import Services
from penchant.service.lists.inputs import LiveInputs
from penchant.service.shares import heavy_shares
from penchant.storage import SourceHead, source_id
from penchant.telemetry import Metrics
from penchant.wire.answers import ProspectList, ProspectScore
from penchant_batch.everybody import Everybody
from penchant_engine.bounded_cache import BoundedCache
from penchant_engine.index import Audience, Filter
from penchant_engine.index.layout import BlendFactors
from penchant_engine.index.people.target_users import TargetPiece
from penchant_engine.lists.personal import blending_of, popular_at
from penchant_engine.lists.requests import moment_of
from penchant_engine.model import DAY_MS
from penchant_engine.ranking import scores_of

MEMORY_BYTES = 64 << 20
"""Memory for people of sources, of which there are 100,000 in 20 MB where each did ten things."""
IDLE_S = 60.0
"""How long they are remembered after the last request for them."""


class ProspectsRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for the people whom a piece would suit best; ``at`` and ``include_seen`` as in `ListRequest`.

    Without ``fill`` people whose s is 0 or less are left out.
    """

    piece_id: str
    take: int
    at: int | None = None
    include_seen: bool | None = None
    fill: bool = True
    min_audience_version: int = 0


class _RememberedPeople(msgspec.Struct, eq=False):
    """The people of a source, and when they were requested last, a moment of the event loop."""

    people: Everybody
    requested_at: float


class Prospects:
    """Lists of people for pieces; one of an account at a time, since each may look at 100,000 people."""

    def __init__(self, database: AsyncStorage, inputs: LiveInputs, metrics: Metrics) -> None:
        self._database = database
        self._inputs = inputs
        self._metrics = metrics
        self._shares = heavy_shares("lists of people are being made")
        self._remembered: BoundedCache[int, _RememberedPeople] = BoundedCache(MEMORY_BYTES)

    @classmethod
    def build(cls, services: Services) -> Self:
        """Return them over the database and the views of the service."""
        return cls(services.database, services.lists.inputs, services.metrics)

    async def of_piece(self, view: View, query: ProspectsRequest) -> tuple[ProspectList, int]:
        """Return the people whom a piece would suit best, by s, the greatest first, ties by id; and what it knows.

        Raises:
            UnknownPiece: the source has no such piece.
            TooManyPeople: there are more people than are looked at.
            IndexNotReady: there are many, and the kernel for them is not there yet.
            Overloaded: too many such lists are being made.
        """
        view.require(query.piece_id)
        now = self._inputs.now(view)
        audience = await self._inputs.audience(view, now, query.min_audience_version)
        moment = moment_of(query.at, now)
        shown = Filter(moment=moment, blacklisted=view.blacklisted)
        if not view.snapshot.shows(query.piece_id, shown):
            # What nobody's list may show is in nobody's list.
            return ProspectList(id=query.piece_id, people=[]), audience.version
        async with self._shares.turn(view.head.account_id):
            everybody = await self._everybody(view, now, None if moment == now else moment)
            listed = await self._database.in_thread(self._listed, view, query, everybody, audience, moment)
            self._charge(view.head.source_id, everybody)
        return listed, audience.version

    def forget_idle(self) -> None:
        """Forget people whom nobody has asked for lately."""
        oldest = asyncio.get_running_loop().time() - IDLE_S
        for number, remembered in self._remembered.items():
            if remembered.requested_at < oldest:
                self._remembered.pop(number)

    def watched(self) -> set[SourceName]:
        """Return the sources of the people who are remembered."""
        heads = [remembered.people.view.head for _, remembered in self._remembered.items()]
        return {(head.account_id, head.name) for head in heads}

    def observe(self, name: SourceName, head: SourceHead | None) -> None:
        """Forget the people of a source that is gone, or in which somebody was erased."""
        remembered = self._remembered.peek(source_id(*name))
        if remembered is None:
            return
        people = remembered.people
        if head is None or not people.view.is_of(head) or head.erased_at > people.version:
            self._remembered.pop(source_id(*name))

    async def _everybody(self, view: View, now: int, until: int | None) -> Everybody:
        """Return the people of a source as they are now, or were at the end of a day; who calls has the turn."""
        storage, number = self._database.storage, view.head.source_id
        loop = asyncio.get_running_loop()

        def read() -> Everybody:
            with self._metrics.follow_seconds.labels("people").time():
                return Everybody.read(storage, view, now, until)

        if until is not None:
            return await self._database.in_thread(read)
        remembered = self._remembered.get(number)
        if (
            remembered is not None
            and remembered.people.is_for(view, now // DAY_MS)
            and await self._database.in_thread(remembered.people.follow, storage, view)
        ):
            remembered.requested_at = loop.time()
            return remembered.people
        self._remembered.pop(number)
        people = await self._database.in_thread(read)
        self._remembered.put(number, _RememberedPeople(people, loop.time()), weight=people.nbytes)
        return people

    def _charge(self, number: int, everybody: Everybody) -> None:
        """Count what the people of a source take now."""
        remembered = self._remembered.peek(number)
        if remembered is not None and remembered.people is everybody:
            self._remembered.reweigh(number, everybody.nbytes)

    def _listed(
        self, view: View, query: ProspectsRequest, everybody: Everybody, audience: Audience, moment: int
    ) -> ProspectList:
        """Return the best of everybody; to be called in a thread."""
        piece = _appeal(view, query.piece_id, everybody, audience, moment)
        with_seen = query.include_seen if query.include_seen is not None else not view.settings.exclude_seen
        above = None if query.fill else 0
        best = everybody.best(self._database.storage, piece, query.take, with_seen=with_seen, above=above)
        scores = scores_of([units for _, units in best])
        people = [ProspectScore(id=each[0], score=score) for each, score in zip(best, scores, strict=True)]
        return ProspectList(id=query.piece_id, people=people)


def _appeal(view: View, piece_id: str, everybody: Everybody, audience: Audience, moment: int) -> TargetPiece:
    """Return what a piece brings to everybody's s: what `PersonalRanking` makes of each person's request."""
    (part,) = everybody.tastes.catalogue.parts
    found = view.snapshot.find(piece_id)
    if found is None:
        raise UnknownPiece("The source has no piece with this id.")
    own, row = found

    def blending(met: int) -> BlendFactors:
        return blending_of(view.settings, None, audience.figures.content_factor(met))

    popularity = popular_at(view, moment, audience)
    return TargetPiece(
        row=part.segment.ids.position(piece_id),
        likes=audience.likes_for(piece_id, part.segment, view.settings.order),
        popular=float(popularity.lifted[view.snapshot.parts.index(own)][row]),
        blending=blending,
    )
