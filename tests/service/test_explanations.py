"""Explanations where time passes between a view and a look at it, and previews that many ask for."""

import asyncio
import time
from collections.abc import AsyncIterator

import numpy as np
import pytest

from acceptance.processes import wait_until
from factories import piece
from penchant.errors import Overloaded, PreviewTooLarge
from penchant.live import audience_follower
from penchant.service import shares
from penchant.service.lists.previews import Previews
from penchant.settings import NodeSettings
from penchant.wire.settings import decode_preview
from penchant_engine.index.segment import MAX_NORMS
from penchant_engine.lists.requests import ListRequest
from penchant_engine.model import InteractionType
from tenants import Tenant, tenant_of


@pytest.fixture
async def tenant(settings: NodeSettings) -> AsyncIterator[Tenant]:
    """The owner of a source of two pieces."""
    async with tenant_of(settings, piece("a", "x"), piece("b", "x")) as opened:
        yield opened


async def test_what_is_stored_since_is_not_yet_indexed(tenant: Tenant) -> None:
    view = await tenant.view()
    receipt = await tenant.submit(piece("c", "x"))

    lists = tenant.services.lists
    for ranking in (
        await lists.similar(view, ListRequest(piece_id="a")),
        await lists.personal(view, ListRequest(user_id="u")),
    ):
        place = await lists.place(tenant.access, ranking, "c")
        assert [(each.code, each.remedy) for each in place.reasons] == [
            ("not-yet-indexed", {"min-version": receipt.version})
        ]
        assert (place.rank, place.score, place.why) == (None, None, None)


async def test_a_piece_of_a_source_that_is_gone_is_unknown(tenant: Tenant) -> None:
    view = await tenant.view()
    await tenant.services.content.delete_source(tenant.access, "s", "s")

    ranking = await tenant.services.lists.similar(view, ListRequest(piece_id="a"))
    place = await tenant.services.lists.place(tenant.access, ranking, "c")

    assert [each.code for each in place.reasons] == ["unknown-piece"]


@pytest.fixture
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is worked out in turns does not wait for one; read where the services are opened."""
    monkeypatch.setattr(shares, "HEAVY_WAIT_S", 0.0)


@pytest.mark.usefixtures("impatience")
async def test_previews_past_those_under_way_are_turned_away(tenant: Tenant) -> None:
    wish = decode_preview(b'{"pieces":["a"],"users":["u"]}')

    view = await tenant.view()
    asked = [tenant.services.of(Previews).settings(view, wish) for _ in range(2)]
    found = await asyncio.gather(*asked, return_exceptions=True)

    assert [type(each) for each in found if isinstance(each, Exception)] == [Overloaded]
    await asyncio.to_thread(wait_until, lambda: tenant.services.of(Previews)._shares.is_idle)
    assert (await tenant.services.of(Previews).settings(view, wish)).pieces[0].moves == []


@pytest.mark.slow
async def test_a_preview_counts_so_many_interactions_anew(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audience_follower, "MAX_COUNTED", 2)
    click = ("u", "a", None)
    # A like by half a click, or by a dislike that counts more, weighs what it did.
    same, *others = (
        decode_preview(b'{"settings":{"interactionWeights":%s},"users":["u"]}' % weights)
        for weights in (b'{"Click":0.5,"RateDislike":-9}', b'{"Click":0}', b'{"Click":9}')
    )

    await tenant.record(click, click, kind=InteractionType.CLICK)
    assert await tenant.services.of(Previews).settings(await tenant.view(), others[0])
    await tenant.record(click, kind=InteractionType.CLICK)
    view = await tenant.view()
    assert await tenant.services.of(Previews).settings(view, same)
    for other in others:
        with pytest.raises(PreviewTooLarge):
            await tenant.services.of(Previews).settings(view, other)


async def test_a_preview_leaves_what_requests_remember_as_it_is(tenant: Tenant) -> None:
    wishes = [
        decode_preview(
            b'{"settings":{"categoryWeights":{"genre":%d}},"blacklist":["b"],"pieces":["a"],"users":["u"]}' % weight
        )
        for weight in range(2, 3 + MAX_NORMS)
    ]

    view = await tenant.view()
    today = int(time.time() // 86_400)
    audience = await tenant.services.views.audience(view, today)
    await tenant.services.of(Previews).settings(view, wishes[0])
    popular = audience.popular(view.snapshot.parts, (today, 30), lambda: np.zeros(1))
    norms = [part.segment.norms((1,)) for part in view.snapshot.parts]
    for wish in wishes:
        await tenant.services.of(Previews).settings(view, wish)

    assert audience.popular(view.snapshot.parts, (today, 30), lambda: np.zeros(1)) is popular
    assert [part.segment.norms((1,)) for part in view.snapshot.parts] == norms
    assert await tenant.services.views.audience(view, today) is audience
