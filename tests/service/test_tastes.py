"""Tastes of very many keywords are worked out in turns, so that one account's people do not take all threads."""

from collections.abc import AsyncIterator, Awaitable
from typing import Any

import pytest

from factories import piece
from penchant.errors import Overloaded
from penchant.live.views import View
from penchant.service import Services
from penchant.service.lists import inputs
from penchant.settings import NodeSettings
from penchant.wire import StatedLikings
from penchant_engine.index.people import person
from penchant_engine.lists.requests import ListRequest
from penchant_engine.model import DAY_MS, Algorithm
from tenants import Tenant, tenant_of

KEYWORDS = 3
"""From more than so many on a taste takes a turn, in these tests."""


@pytest.fixture
async def tenant(settings: NodeSettings) -> AsyncIterator[Tenant]:
    """The owner of a source where ``few`` likes a piece of two keywords, and ``many`` pieces that have five."""
    async with tenant_of(settings, piece("a", "x", "y"), piece("b", "y", "z", "w"), piece("c", "x", "w")) as opened:
        # What was deleted has no keywords any more, and a piece counts once.
        for user, piece_id in (("few", "a"), ("few", "a"), ("few", "gone"), ("many", "a"), ("many", "b")):
            await opened.record((user, piece_id, None))
        opened.services.lists.inputs.tastes.wait_s = 0.05
        yield opened


def asked(services: Services, view: View, who: str) -> list[Awaitable[Any]]:
    """Return what needs the taste of a person by name."""
    likings = StatedLikings(liked=("a",) if who == "few" else ("a", "b"))
    later = services.lists.now(view) + DAY_MS

    async def recommended(request: ListRequest, likings: StatedLikings | None = None, *, explain: bool) -> Any:
        ranking = await services.lists.personal(view, request, likings)
        return await services.lists.answer(ranking, explain=explain)

    # What is remembered of people is of now.
    return [
        services.lists.profile(view, who, services.lists.now(view)),
        recommended(ListRequest(user_id=who, at=later, algorithm=Algorithm.JACCARD), explain=False),
        recommended(ListRequest(user_id=""), likings, explain=False),
        recommended(ListRequest(user_id=who, at=later), explain=True),
    ]


@pytest.mark.slow
async def test_a_taste_of_many_keywords_waits_for_the_account_s_turn(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    services, view = tenant.services, await tenant.view()
    expected = {who: [await each for each in asked(services, view, who)] for who in ("few", "many")}
    monkeypatch.setattr(inputs, "MANY_KEYWORDS", KEYWORDS)
    give_back = await services.lists.inputs.tastes.take(view.head.account_id)
    assert [await each for each in asked(services, view, "few")] == expected["few"]
    for each in asked(services, view, "many"):
        with pytest.raises(Overloaded):
            await each
    give_back()
    services.lists.inputs.tastes.wait_s = 5.0
    assert [await each for each in asked(services, view, "many")] == expected["many"]


async def test_a_taste_is_made_from_the_latest_pieces_that_have_not_too_many_keywords(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    ages = [("a", 5), ("c", 4), ("b", 3), ("gone", 2), ("c", 1)]

    now = tenant.services.lists.now(await tenant.view())
    await tenant.record(*[("u", piece_id, now - days * DAY_MS) for piece_id, days in ages])
    view = await tenant.view()

    async def taste_of(most: int) -> dict[str, int]:
        monkeypatch.setattr(person, "MAX_PROFILE_KEYWORDS", most)
        found = await tenant.services.lists.profile(view, "u", now)
        return dict(found[0].categories["genre"]) if found else {}

    # c has two keywords, b three, a two more.
    assert sorted(await taste_of(7)) == ["w", "x", "y", "z"]
    assert (await taste_of(7))["y"] > (await taste_of(6))["y"]
    assert await taste_of(6) == await taste_of(5)
    assert sorted(await taste_of(5)) == ["w", "x", "y", "z"]
    assert sorted(await taste_of(4)) == sorted(await taste_of(2)) == ["w", "x"]
    assert await taste_of(1) == {}
