"""Tastes of very many keywords are worked out in turns, so that one account's people do not take all threads."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from factories import piece
from penchant.bootstrap import open_services
from penchant.errors import Overloaded
from penchant.index.people import person
from penchant.live.views import View
from penchant.model import DAY_MS, FULL_PLAN, Algorithm, InteractionType, NewInteraction
from penchant.service import Services
from penchant.service.access import Access
from penchant.service.lists import inputs
from penchant.service.lists.requests import PersonalRequest
from penchant.settings import CurrentSettings, NodeSettings
from penchant.wire import StatedLikings, decode_submission

KEYWORDS = 3
"""From more than so many on a taste takes a turn, in these tests."""


@asynccontextmanager
async def opened(settings: NodeSettings) -> AsyncIterator[tuple[Services, View]]:
    """Open the services, with ``few`` who likes a piece of two keywords, and ``many`` whose pieces have five."""
    async with open_services(CurrentSettings(settings)) as services:
        account_id = services.database.storage.accounts.ensure("one")
        access = Access(key_id="k", account_id=account_id, plan=FULL_PLAN, admin=False)
        pieces = [piece("a", "x", "y"), piece("b", "y", "z", "w"), piece("c", "x", "w")]
        await services.content.submit_pieces(access, "s", decode_submission(msgspec.json.encode(pieces)))
        watched = [
            NewInteraction(user_id=user, type=InteractionType.WATCH, piece_id=piece_id, occurred_at=None)
            # What was deleted has no keywords any more, and a piece counts once.
            for user, piece_id in (("few", "a"), ("few", "a"), ("few", "gone"), ("many", "a"), ("many", "b"))
        ]
        await services.people.record(access, "s", watched)
        services.lists.inputs.tastes.wait_s = 0.05
        yield services, await services.views.view(account_id, "s")


def asked(services: Services, view: View, who: str) -> list[Awaitable[Any]]:
    """Return what needs the taste of a person by name."""
    likings = StatedLikings(liked=("a",) if who == "few" else ("a", "b"))
    later = services.lists.now(view) + DAY_MS

    async def recommended(request: PersonalRequest, likings: StatedLikings | None = None, *, explain: bool) -> Any:
        ranking = await services.lists.personal(view, request, likings)
        return await services.lists.answer(ranking, explain=explain)

    # What is remembered of people is of now.
    return [
        services.lists.profile(view, who),
        recommended(PersonalRequest(user_id=who, at=later, algorithm=Algorithm.JACCARD), explain=False),
        recommended(PersonalRequest(user_id=""), likings, explain=False),
        recommended(PersonalRequest(user_id=who, at=later), explain=True),
    ]


def test_a_taste_of_many_keywords_waits_for_the_account_s_turn(
    settings: NodeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with opened(settings) as (services, view):
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

    asyncio.run(run())


def test_a_taste_is_made_from_the_latest_pieces_that_have_not_too_many_keywords(
    settings: NodeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    ages = [("a", 5), ("c", 4), ("b", 3), ("gone", 2), ("c", 1)]

    async def run() -> None:
        async with opened(settings) as (services, view):
            account_id, now = view.head.account_id, services.lists.now(view)
            watched = [
                NewInteraction(user_id="u", type=InteractionType.WATCH, piece_id=each, occurred_at=now - days * DAY_MS)
                for each, days in ages
            ]
            access = Access(key_id="k", account_id=account_id, plan=FULL_PLAN, admin=False)
            await services.people.record(access, "s", watched)
            later = await services.views.view(account_id, "s")

            async def taste_of(most: int) -> dict[str, int]:
                monkeypatch.setattr(person, "MAX_PROFILE_KEYWORDS", most)
                found = await services.lists.profile(later, "u")
                return dict(found[0].categories["genre"]) if found else {}

            # c has two keywords, b three, a two more.
            assert sorted(await taste_of(7)) == ["w", "x", "y", "z"]
            assert (await taste_of(7))["y"] > (await taste_of(6))["y"]
            assert await taste_of(6) == await taste_of(5)
            assert sorted(await taste_of(5)) == ["w", "x", "y", "z"]
            assert sorted(await taste_of(4)) == sorted(await taste_of(2)) == ["w", "x"]
            assert await taste_of(1) == {}

    asyncio.run(run())
