"""What is read of a person is of one moment, whatever is written while it is read."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

import msgspec
import pytest

from factories import piece
from penchant.bootstrap import open_services
from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.model import FULL_PLAN, InteractionType, NewInteraction, StoredInteraction
from penchant.service import Services
from penchant.service.access import Access
from penchant.service.people import InteractionSelection, People
from penchant.settings import CurrentSettings, NodeSettings
from penchant.wire import decode_submission

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
MANY = 10_001
"""More interactions of a person than were once read at a time."""
Read = Callable[[People, View], Awaitable[list[StoredInteraction]]]


class BusyStorage(AsyncStorage):
    """Storage with a change after each of its reads."""

    def __init__(self, services: Services, change: Callable[[], Awaitable[object]]) -> None:
        super().__init__(services.database.storage, services.metrics)
        self._change_between = change

    async def promptly(
        self, function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        return await self.in_thread(function, *args, **kwargs)

    async def in_thread(
        self, function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        result = await super().in_thread(function, *args, **kwargs)
        await self._change_between()
        return result


async def exported(people: People, view: View) -> list[StoredInteraction]:
    return (await people.export(view, "kim")).interactions


async def listed(people: People, view: View) -> list[StoredInteraction]:
    selection = InteractionSelection(catalogs=frozenset({"web"}), limit=2 * MANY)
    return await people.listed(view, "kim", selection)


@pytest.mark.parametrize("read", (exported, listed))
@pytest.mark.parametrize("erases", (True, False))
def test_a_change_in_between_neither_repeats_nor_halves_what_is_read(
    settings: NodeSettings, read: Read, *, erases: bool
) -> None:
    async def scene() -> list[StoredInteraction]:
        async with open_services(CurrentSettings(settings)) as services:
            account_id = services.database.storage.accounts.ensure("one")
            access = Access(key_id="k", account_id=account_id, plan=FULL_PLAN, admin=False)
            body = msgspec.json.encode([piece("a", "x", filters={"catalogs": ["web"]})])
            await services.content.submit_pieces(access, "s", decode_submission(body))
            watched = [NewInteraction(user_id="kim", type=InteractionType.WATCH, piece_id="a", occurred_at=None)]
            await services.people.record(access, "s", watched * MANY)
            view = await services.views.view(account_id, "s")

            async def change() -> None:
                if erases:
                    await services.people.erase(access, "s", "kim")
                else:
                    await services.people.record(access, "s", watched)

            storage = BusyStorage(services, change)
            try:
                return await read(People(storage, services.views, services.metrics), view)
            finally:
                storage.close()

    versions = Counter(each.version for each in asyncio.run(scene()))

    assert len(versions) == versions.total() == MANY
