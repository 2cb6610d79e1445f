"""Impressions: what people were shown, recorded; and which list an interaction came from."""

import time
from collections.abc import Callable, Sequence

from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.model import DAY_MS, IMPRESSION_DAYS, ListIdentity, NewImpression, SourceSettings, StoredImpression
from penchant.service.access import Access
from penchant.service.placements.list_ids import ListIds
from penchant.storage import Outcome, RecordImpressions, SourceHead
from penchant.telemetry import Metrics
from penchant.wire import decode_settings

HOUR_MS = 3_600_000


class Impressions:
    """What people were shown in the lists of placements."""

    def __init__(
        self,
        database: AsyncStorage,
        list_ids: ListIds,
        metrics: Metrics,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._database = database
        self._list_ids = list_ids
        self._metrics = metrics
        self._clock = clock

    async def settings(self, head: SourceHead) -> SourceSettings:
        """Return the settings of a source as they are stored, for which no view of it is needed."""
        stored = await self._database.read(self._database.storage.sources.read_settings, head.source_id)
        return decode_settings(stored or b"{}")

    def reported_list(self, head: SourceHead, settings: SourceSettings, text: str, user_id: str | None) -> ListIdentity:
        """Return the list of which something is reported.

        Raises:
            ValueError: it is none of this source, is for another person, or too old; the message is for the caller.
        """
        found = self._list_ids.read(head, text, user_id=user_id)
        days = min(settings.retention_days, IMPRESSION_DAYS)
        if self._is_older(found, days):
            raise ValueError(f"This list is more than {days} days old, and what was seen of it is kept no longer.")
        return found

    def named_piece(self, head: SourceHead, text: str, user_id: str, piece_id: str) -> NewImpression | None:
        """Return the piece in the list that a person's interaction with it names.

        ``None`` where it was not in that list, or the list is so old that nothing is kept of it.

        Raises:
            ValueError: it is none of this source, or for another person; the message is for the caller.
        """
        found = self._list_ids.read(head, text, user_id=user_id)
        position = self._list_ids.position(found, piece_id)
        if position is None or self._is_older(found, IMPRESSION_DAYS):
            return None
        return NewImpression(identity=found, piece_id=piece_id, position=position, shown_at=found.made_at)

    async def record(
        self, access: Access, source: str, settings: SourceSettings, impressions: Sequence[NewImpression]
    ) -> Outcome:
        """Store what was seen, all or none; returns after the commit."""
        outcome = await self._database.change(
            RecordImpressions(
                account_id=access.account_id,
                source=source,
                actor=access.key_id,
                impressions=impressions,
                window_ms=settings.attribution_window_hours * HOUR_MS,
                by_page=access.is_browser,
            )
        )
        self._metrics.impressions_recorded.inc(outcome.created)
        self._metrics.impressions_beyond.inc(outcome.beyond)
        return outcome

    async def of_person(self, view: View, user_id: str) -> list[StoredImpression]:
        """Return what a person was shown and is not past its life, newest first."""
        days = min(view.settings.retention_days, IMPRESSION_DAYS)
        since = int(self._clock() * 1000) - days * DAY_MS
        read = self._database.storage.impressions.list_of_person
        return await self._database.in_thread(read, view.head.source_id, view.head.incarnation, user_id, since)

    def _is_older(self, identity: ListIdentity, days: int) -> bool:
        return identity.made_at < self._clock() * 1000 - days * DAY_MS
