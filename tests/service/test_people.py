"""What is read of a person is of one moment, whatever is written while it is read."""

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import ParamSpec, TypeVar

import pytest

from factories import piece
from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.service import Services
from penchant.service.people import InteractionSelection, People
from penchant.settings import NodeSettings
from penchant_engine.model import StoredInteraction
from tenants import tenant_of

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


@pytest.mark.slow
@pytest.mark.parametrize("read", (exported, listed))
@pytest.mark.parametrize("erases", (True, False))
async def test_a_change_in_between_neither_repeats_nor_halves_what_is_read(
    settings: NodeSettings, read: Read, *, erases: bool
) -> None:
    watched = ("kim", "a", None)
    async with tenant_of(settings, piece("a", "x", filters={"catalogs": ["web"]})) as tenant:
        await tenant.record(*[watched] * MANY)
        services, view = tenant.services, await tenant.view()

        async def change() -> None:
            await (services.people.erase(tenant.access, "s", "kim") if erases else tenant.record(watched))

        with closing(BusyStorage(services, change)) as storage:
            found = await read(People(storage, services.views, services.metrics), view)

    versions = Counter(each.version for each in found)
    assert len(versions) == versions.total() == MANY
