"""What do people do, and what is kept of them? Interactions recorded, listed, exported, erased."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penchant.live.database import Database
from penchant.live.views import View, Views
from penchant.model import DAY_MS, Interaction, InteractionType, NewInteraction
from penchant.service.access import Access
from penchant.storage import EraseUser, InteractionQuery, Outcome, RecordInteractions
from penchant.telemetry import Metrics

EXPORT_BATCH = 10_000
"""Interactions that an export reads at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which of a person's interactions are listed."""

    piece_id: str | None = None
    type: InteractionType | None = None
    catalogs: frozenset[str] | None = None
    skip: int = 0
    limit: int = 10


def oldest_kept(view: View, now: int) -> int:
    """Return the first millisecond whose interactions count: retention goes by UTC dates."""
    return (now // DAY_MS - view.settings.retention_days) * DAY_MS


class People:
    """The interactions of people with the pieces of a source."""

    def __init__(
        self,
        database: Database,
        views: Views,
        metrics: Metrics,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._database = database
        self._views = views
        self._metrics = metrics
        self._clock = clock

    def now(self) -> int:
        """Return the moment in milliseconds since 1970 UTC."""
        return int(self._clock() * 1000)

    async def record(self, access: Access, source: str, interactions: Sequence[NewInteraction]) -> Outcome:
        """Store interactions, all or none; returns after the commit."""
        outcome = await self._database.change(
            RecordInteractions(
                account_id=access.account_id, source=source, actor=access.key_id, interactions=interactions
            )
        )
        self._metrics.interactions_recorded.inc(len(interactions) - outcome.duplicates)
        return outcome

    async def listed(self, view: View, user_id: str, selection: Selection) -> list[Interaction]:
        """Return the selected interactions of a person, newest first."""
        if selection.catalogs is None:
            return await self._read(view, user_id, selection, skip=selection.skip, limit=selection.limit)
        matching = [
            interaction
            for interaction in await self._everything(view, user_id, selection)
            if view.snapshot.in_catalogs(interaction.piece_id, selection.catalogs)
        ]
        return matching[selection.skip : selection.skip + selection.limit]

    async def export(self, view: View, user_id: str) -> list[Interaction]:
        """Return all that is stored of a person and not past its retention."""
        return await self._everything(view, user_id, Selection())

    async def erase(self, access: Access, source: str, user_id: str) -> Outcome:
        """Delete all that is stored of a person."""
        return await self._database.change(
            EraseUser(account_id=access.account_id, source=source, actor=access.key_id, user_id=user_id)
        )

    async def _everything(self, view: View, user_id: str, selection: Selection) -> list[Interaction]:
        found: list[Interaction] = []
        while True:
            batch = await self._read(view, user_id, selection, skip=len(found), limit=EXPORT_BATCH)
            found += batch
            if len(batch) < EXPORT_BATCH:
                return found

    async def _read(
        self, view: View, user_id: str, selection: Selection, *, skip: int, limit: int
    ) -> list[Interaction]:
        return await self._database.promptly(
            self._database.storage.user_interactions,
            view.head.source_id,
            InteractionQuery(
                user_id=user_id,
                since=oldest_kept(view, self.now()),
                piece_id=selection.piece_id,
                type=selection.type,
                limit=limit,
                skip=skip,
            ),
        )
