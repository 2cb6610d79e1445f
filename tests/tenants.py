"""Services without a server, and an account of them with a source."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from penchant.bootstrap import open_services
from penchant.live.views import View
from penchant.model import FULL_PLAN, NewInteraction
from penchant.service import Services
from penchant.service.access import Access
from penchant.settings import CurrentSettings, NodeSettings
from penchant.wire import decode_submission
from penchant.wire.answers import Receipt
from penchant_engine.model import InteractionType


class Tenant:
    """The account ``one`` of services, and its source ``s``."""

    def __init__(self, services: Services) -> None:
        account_id = services.database.storage.accounts.ensure("one")
        self.services = services
        self.access = Access(key_id="k", account_id=account_id, plan=FULL_PLAN, admin=False)

    async def submit(self, *pieces: dict[str, Any]) -> Receipt:
        """Store pieces."""
        submission = decode_submission(msgspec.json.encode(pieces))
        return await self.services.content.submit_pieces(self.access, "s", submission)

    async def record(self, *done: tuple[str, str, int | None], kind: InteractionType = InteractionType.WATCH) -> None:
        """Store interactions by person, piece and moment in milliseconds, which is now where there is none."""
        await self.services.people.record(self.access, "s", interactions(done, kind))

    async def view(self) -> View:
        """Return the source as it is now."""
        return await self.services.views.view(self.access.account_id, "s")


def interactions(done: Sequence[tuple[str, str, int | None]], kind: InteractionType) -> list[NewInteraction]:
    return [NewInteraction(user_id=user, type=kind, piece_id=piece, occurred_at=at) for user, piece, at in done]


@asynccontextmanager
async def tenant_of(
    settings: NodeSettings, *pieces: dict[str, Any], clock: Callable[[], float] = time.time
) -> AsyncIterator[Tenant]:
    """Open the services, with a source of these pieces."""
    async with open_services(CurrentSettings(settings), clock=clock) as services:
        tenant = Tenant(services)
        await tenant.submit(*pieces)
        yield tenant
