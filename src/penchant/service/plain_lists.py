"""Plain lists: what many people like and what is new, the same for everybody; and lists for many people at once."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from msgspec import UNSET

from penchant.index import (
    DISTANCE_SCALE,
    HALF_LIFE_DAYS,
    Audience,
    Booster,
    FloatArray,
    PieceCounts,
    Scan,
    best_by,
    key_of,
    newness_scan,
    popularity_scan,
    shares_of,
)
from penchant.live.database import AsyncStorage
from penchant.live.views import View, Views
from penchant.model import DAY_MS, MAX_TAKE, PlacementKind
from penchant.service.list_inputs import moment_of, popular_at, shown_by
from penchant.service.listings import boost_rules, raised_rules
from penchant.service.nearest import nearest_first
from penchant.service.recommend import PersonalResult, Recommender
from penchant.service.requests import PersonalRequest, PlainRequest
from penchant.service.shares import heavy_shares
from penchant.wire import AnonymousResult, PartShare, PlacedPiece, PlacedWhy, RecommendationResult

DEFAULT_NEWNESS_DAYS = 30
"""The half-life of what is new where the source's settings turn that off."""


class PlainLists:
    """Lists of a source that are about no person, and those of many people in one answer."""

    def __init__(self, database: AsyncStorage, views: Views, recommender: Recommender) -> None:
        self._database = database
        self._views = views
        self._recommender = recommender
        self._shares = heavy_shares("long lists are being made")

    async def popular(self, view: View, query: PlainRequest) -> PersonalResult[AnonymousResult]:
        """Return what most people like of what may be shown, each of them counting half after the half-life.

        Raises:
            NotYetVisible: the audience version that is asked for was not reached in time.
            Overloaded: too many lists under half-lives of their own are being made.
        """
        now = self._recommender.now(view)
        today = now // DAY_MS
        audience = await self._views.audience(view, today, min_version=query.min_audience_version)
        counts = audience.counts
        if counts_trend(query.half_life_days):
            async with self._shares.turn(view.head.account_id):
                counts = await self._views.trend(view, today, query.half_life_days or 0)
        if counts is None:
            return PersonalResult(AnonymousResult(id=None, content=[]), audience.version)

        result = await self._database.in_thread(popular_pieces, view, query, now, audience, counts)
        return PersonalResult(result, audience.version)

    async def newest(self, view: View, query: PlainRequest) -> AnonymousResult:
        """Return what became available last of what may be shown."""
        now = self._recommender.now(view)
        return await self._database.in_thread(newest_pieces, view, query, now)

    async def for_people(
        self, view: View, query: PersonalRequest, user_ids: Sequence[str]
    ) -> PersonalResult[list[RecommendationResult]]:
        """Return the recommendations of several people, in their order, from one view.

        The version is the least that the audience had for any of them.

        Raises:
            Overloaded: too many such requests are being served.
        """
        async with self._shares.turn(view.head.account_id):
            found = []
            for each in user_ids:
                # A remembered person's list is made without waiting for anything: let others in between.
                await asyncio.sleep(0)
                found.append(await self._recommender.recommend(view, replace(query, user_id=each)))
        results = [
            RecommendationResult(id=user_id, content=each.result.content)
            for user_id, each in zip(user_ids, found, strict=True)
        ]
        return PersonalResult(results, min((each.audience_version for each in found), default=0))


def popular_pieces(
    view: View, query: PlainRequest, now: int, audience: Audience, counts: PieceCounts
) -> AnonymousResult:
    """Return what most people like, by counts that are the audience's or of another half-life; takes some time."""
    parts = view.snapshot.parts
    if counts is audience.counts:
        # Recommendations have worked them out already, for the same parts and day.
        shares: Sequence[FloatArray] = popular_at(view, now, audience).shares
    else:
        shares = shares_of(parts, counts.by_part(parts), audience.figures.evenness)
    return _listed(view, query, now, popularity_scan(parts, shares), PlacementKind.POPULAR)


def newest_pieces(view: View, query: PlainRequest, now: int) -> AnonymousResult:
    """Return what became available last; takes some time."""
    days = query.half_life_days or view.settings.new_piece_half_life_days or DEFAULT_NEWNESS_DAYS
    return _listed(view, query, now, newness_scan(moment_of(query.at, now), days), PlacementKind.NEW)


def counts_trend(half_life_days: int | None) -> bool:
    """Return whether a half-life of popularity is another than that by which all recommendations go."""
    return half_life_days not in {None, HALF_LIFE_DAYS}


def _listed(view: View, query: PlainRequest, now: int, scan: Scan, kind: PlacementKind) -> AnonymousResult:
    """Return what a scan finds, whitelisted pieces among the best first; to be called in a thread."""
    shown = shown_by(view, query, moment_of(query.at, now), query.exclude)
    booster = Booster(query.boosts, DISTANCE_SCALE, view.snapshot)
    nearest = nearest_first(view, booster, shown, lambda shown: best_by(view.snapshot.parts, scan, shown, MAX_TAKE))[
        : query.take
    ]

    def why(piece_id: str) -> PlacedWhy:
        # A piece that is listed has been found by the scan.
        key = key_of(view.snapshot, piece_id, scan) or 0
        part = PartShare(part=kind.value, share=(DISTANCE_SCALE - key) / DISTANCE_SCALE)
        return PlacedWhy(parts=[part], rules=[*raised_rules(view, piece_id), *boost_rules(piece_id, booster)])

    return AnonymousResult(
        id=None,
        content=[
            PlacedPiece(id=each, score=distance, why=why(each) if query.explain else UNSET)
            for each, distance in nearest
        ],
    )
