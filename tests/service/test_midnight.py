"""A request that begins before midnight, UTC, and ends after it, answers as of one of the two days."""

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clocks import DAY_CLOCK, DAY_S, SetClock
from factories import piece
from penchant.clock import Clock
from penchant.errors import QuotaExceeded
from penchant.live.views import View
from penchant.model import Plan, SourceSettings
from penchant.service import Services
from penchant.service.access import Access
from penchant.service.curation import Curation
from penchant.service.lists.answers import content_of
from penchant.service.lists.inputs import LiveInputs
from penchant.service.lists.kinds import rank_personal
from penchant.service.lists.previews import Previews
from penchant.service.usage import Usage
from penchant.settings import NodeSettings
from penchant.wire.answers import RecommendedPiece
from penchant.wire.settings import PreviewWish
from penchant_engine.lists.requests import ListRequest
from penchant_engine.model import DAY_MS
from tenants import Tenant, tenant_of

MIDNIGHT_S = DAY_CLOCK() // DAY_S * DAY_S + DAY_S
BEFORE_S, AFTER_S = MIDNIGHT_S - 0.1, MIDNIGHT_S + 0.1
YEAR_END = datetime(2027, 1, 1, tzinfo=UTC).timestamp()
FORGETFUL = SourceSettings(half_life_days=1, new_piece_half_life_days=1)


def passing(before: int) -> Callable[[], float]:
    """Return a clock that passes midnight after it was read so many times."""
    moments = itertools.chain(itertools.repeat(BEFORE_S, before), itertools.repeat(AFTER_S))
    return lambda: next(moments)


@pytest.fixture
async def tenant(settings: NodeSettings) -> AsyncIterator[Tenant]:
    """The owner of pieces old and new that a few people have watched on different days."""
    pieces = [piece(name, *keywords) for name, keywords in (("a", "xy"), ("b", "x"), ("c", "yz"), ("d", "z"))]
    async with tenant_of(settings, *pieces, clock=lambda: BEFORE_S) as opened:
        await opened.services.of(Curation).replace_settings(opened.access, "s", FORGETFUL)
        for user, piece_id, days in (("u", "a", 0), ("u", "c", 3), ("v", "a", 9), ("v", "b", 1), ("w", "d", 2)):
            await opened.record((user, piece_id, int(BEFORE_S * 1000) - days * DAY_MS))
        yield opened


async def recommended(services: Services, view: View, clock: Callable[[], float]) -> list[RecommendedPiece]:
    services.views.forget(view.head.account_id, "s")
    inputs = LiveInputs(services.database, services.views, clock=clock)
    return content_of(await rank_personal(inputs, view, ListRequest(user_id="u", include_seen=True)))


async def test_a_list_is_of_one_day(tenant: Tenant) -> None:
    view = await tenant.view()
    days = [await recommended(tenant.services, view, SetClock(at)) for at in (BEFORE_S, AFTER_S)]

    spanning = [await recommended(tenant.services, view, passing(before)) for before in range(1, 4)]

    assert days[0] != days[1]
    assert all(each in days for each in spanning)


async def test_a_preview_that_changes_nothing_moves_nothing_at_midnight(tenant: Tenant) -> None:
    services, view = tenant.services, await tenant.view()
    wish = PreviewWish(changes={"retentionDays": 300}, users=("u",))
    for before in range(1, 6):
        services.views.forget(view.head.account_id, "s")
        inputs = LiveInputs(services.database, services.views, clock=passing(before))
        preview = await Previews(services.database, services.views, inputs).settings(view, wish)
        assert preview.users[0].before == preview.users[0].after


async def test_who_is_refused_at_the_end_of_a_month_may_ask_again_at_once(
    tenant: Tenant, settings: NodeSettings
) -> None:
    moments = iter((YEAR_END - 0.1, YEAR_END + 0.1))
    clock = Clock(seconds=lambda: next(moments))
    plan = Plan(name="small", features=frozenset(), recommendations_per_month=0)

    usage = Usage(tenant.services.database, Path(settings.data), clock=clock)
    with closing(usage), pytest.raises(QuotaExceeded) as refused:
        await usage.reserve(Access(key_id="k", account_id=7, plan=plan, admin=False))

    assert refused.value.retry_after_s == 0
