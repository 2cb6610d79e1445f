"""Explanations where time passes between a view and a look at it, and previews that many ask for."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import numpy as np
import pytest

from acceptance.processes import wait_until
from factories import piece
from penchant.bootstrap import open_services
from penchant.errors import Overloaded, PreviewTooLarge
from penchant.index.segment import MAX_NORMS
from penchant.live import audience_follower
from penchant.live.views import View
from penchant.model import FULL_PLAN, InteractionType, NewInteraction
from penchant.service import Services, shares
from penchant.service.access import Access
from penchant.service.lists.requests import PersonalRequest, SimilarRequest
from penchant.settings import CurrentSettings, NodeSettings
from penchant.wire import PreviewWish, Submission, decode_preview, decode_submission

PATIENCE_S = 60.0
Scene = Callable[[Services, Access, View], Awaitable[None]]


def submission(*pieces: dict[str, Any]) -> Submission:
    return decode_submission(msgspec.json.encode(pieces))


@asynccontextmanager
async def opened(settings: NodeSettings) -> AsyncIterator[tuple[Services, Access]]:
    """Open the services, with a source of two pieces."""
    async with open_services(CurrentSettings(settings)) as services:
        access = Access(
            key_id="k", account_id=services.database.storage.accounts.ensure("one"), plan=FULL_PLAN, admin=False
        )
        await services.content.submit_pieces(access, "s", submission(piece("a", "x"), piece("b", "x")))
        yield services, access


def test_what_is_stored_since_is_not_yet_indexed(settings: NodeSettings) -> None:
    async def scene() -> None:
        async with opened(settings) as (services, access):
            view = await services.views.view(access.account_id, "s")
            receipt = await services.content.submit_pieces(access, "s", submission(piece("c", "x")))

            lists = services.lists
            for ranking in (
                await lists.similar(view, SimilarRequest(piece_id="a")),
                await lists.personal(view, PersonalRequest(user_id="u")),
            ):
                place = await lists.place(access, ranking, "c")
                assert [(each.code, each.remedy) for each in place.reasons] == [
                    ("not-yet-indexed", {"min-version": receipt.version})
                ]
                assert (place.rank, place.score, place.why) == (None, None, None)

    asyncio.run(scene())


def test_a_piece_of_a_source_that_is_gone_is_unknown(settings: NodeSettings) -> None:
    async def scene() -> None:
        async with opened(settings) as (services, access):
            view = await services.views.view(access.account_id, "s")
            await services.content.delete_source(access, "s", "s")

            ranking = await services.lists.similar(view, SimilarRequest(piece_id="a"))
            place = await services.lists.place(access, ranking, "c")

            assert [each.code for each in place.reasons] == ["unknown-piece"]

    asyncio.run(scene())


def test_previews_past_those_under_way_are_turned_away(settings: NodeSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "HEAVY_WAIT_S", 0.0)
    wish: PreviewWish = decode_preview(b'{"pieces":["a"],"users":["u"]}')

    async def scene() -> None:
        async with opened(settings) as (services, access):
            view = await services.views.view(access.account_id, "s")
            asked = [services.previews.settings(view, wish) for _ in range(2)]
            found = await asyncio.gather(*asked, return_exceptions=True)

            assert [type(each) for each in found if isinstance(each, Exception)] == [Overloaded]
            await asyncio.to_thread(wait_until, lambda: services.previews._shares.is_idle)
            assert (await services.previews.settings(view, wish)).pieces[0].moves == []

    asyncio.run(scene())


def test_a_preview_counts_so_many_interactions_anew(settings: NodeSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audience_follower, "MAX_COUNTED", 2)
    clicked = [NewInteraction(user_id="u", type=InteractionType.CLICK, piece_id="a")]
    same = decode_preview(b'{"settings":{"interactionWeights":{"Click":9}},"users":["u"]}')
    other = decode_preview(b'{"settings":{"interactionWeights":{"Click":0}},"users":["u"]}')

    async def scene() -> None:
        async with opened(settings) as (services, access):
            await services.people.record(access, "s", clicked * 2)
            assert await services.previews.settings(await services.views.view(access.account_id, "s"), other)
            await services.people.record(access, "s", clicked)
            view = await services.views.view(access.account_id, "s")
            assert await services.previews.settings(view, same)
            with pytest.raises(PreviewTooLarge):
                await services.previews.settings(view, other)

    asyncio.run(scene())


def test_a_preview_leaves_what_requests_remember_as_it_is(settings: NodeSettings) -> None:
    wishes = [
        decode_preview(
            b'{"settings":{"categoryWeights":{"genre":%d}},"blacklist":["b"],"pieces":["a"],"users":["u"]}' % weight
        )
        for weight in range(2, 3 + MAX_NORMS)
    ]

    async def scene() -> None:
        async with opened(settings) as (services, access):
            view = await services.views.view(access.account_id, "s")
            today = int(time.time() // 86_400)
            audience = await services.views.audience(view, today)
            await services.previews.settings(view, wishes[0])
            popular = audience.popular(view.snapshot.parts, (today, 30), lambda: np.zeros(1))
            norms = [part.segment.norms((1,)) for part in view.snapshot.parts]
            for wish in wishes:
                await services.previews.settings(view, wish)

            assert audience.popular(view.snapshot.parts, (today, 30), lambda: np.zeros(1)) is popular
            assert [part.segment.norms((1,)) for part in view.snapshot.parts] == norms
            assert await services.views.audience(view, today) is audience

    asyncio.run(scene())
