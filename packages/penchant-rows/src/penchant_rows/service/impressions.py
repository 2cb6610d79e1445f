"""Impressions: what people were shown, recorded; and which list an interaction came from.

List ids as the service makes and reads them: what placements put into the header `LIST_HEADER` of their answers.

`Services.list_ids` is the one object: ``make`` gives the value for an answer, ``read`` what such a value says,
``position`` where a piece stood in the list, and ``person`` the keyed hash under which impressions know somebody. All
are pure computations of microseconds; the secret is the database's own, and goes with it into backups and moves
(`penchant.storage.secrets`).
"""

import secrets
from collections.abc import Mapping, Sequence

from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.model import SourceSettings
from penchant.service.access import Access
from penchant.storage import SourceHead, list_person, user_key
from penchant.telemetry import Metrics
from penchant.wire import decode_stored_settings
from penchant_engine.model import DAY_MS
from penchant_rows.model import IMPRESSION_DAYS, ListIdentity, NewImpression, StoredImpression
from penchant_rows.service.metrics import RowMetrics
from penchant_rows.storage.impression_ledger import ImpressionReceipt, RecordImpressions
from penchant_rows.storage.impressions import ImpressionStore
from penchant_rows.wire.list_ids import (
    CHANCE_BYTES,
    NO_RULES,
    ProvenPosition,
    decode_list_id,
    encode_list_id,
    position_in_list,
)
from penchant_rows.wire.settings import RowSettings

LIST_HEADER = "x-penchant-list"
"""The header of an answer that is a placement's list."""


class ListIds:
    """Makes and reads the ids of lists, of all sources of a database."""

    def __init__(self, secret: bytes, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._secret = secret
        self._clock = clock

    def make(  # an id says so much
        self,
        head: SourceHead,
        *,
        placement: str,
        variant: str,
        user_id: str | None,
        pieces: Sequence[str],
        rules: Mapping[str, str] = NO_RULES,
    ) -> str:
        """Return the id of a list of a source that is answered now, with these pieces in this order, some by ``rules``.

        ``user_id`` is ``None`` where it is for nobody in particular. Two names of more than
        `penchant_rows.wire.list_ids.MAX_LIST_NAMES_BYTES` bytes together do not fit: `ValueError`.
        """
        person = b"" if user_id is None else self.person(head.source_id, user_id)
        return encode_list_id(
            self._secret,
            _origin(head),
            (placement, variant),
            person=person,
            made_at=self._clock.now_ms(),
            chance=secrets.token_bytes(CHANCE_BYTES),
            pieces=pieces,
            rules=rules,
        )

    def read(self, head: SourceHead, text: str, *, user_id: str | None = None) -> ListIdentity:
        """Return what a list's id says; with ``user_id`` it must not be a list for somebody else.

        Raises:
            ValueError: it is no id of this source's lists, or for another person; the message is for the caller.
        """
        identity = decode_list_id(self._secret, _origin(head), text)
        if user_id is not None and identity.person and identity.person != self.person(head.source_id, user_id):
            raise ValueError("This list was made for another person.")
        return identity

    def position(self, identity: ListIdentity, piece_id: str, reported: int = 0) -> ProvenPosition | None:
        """Return where a piece stands in a list; ``None`` where it was not in it.

        Of lists from before ids proved that it is what was ``reported``, 0 for unknown.
        """
        return position_in_list(self._secret, identity, piece_id, reported)

    def person(self, source_id: int, user_id: str) -> bytes:
        """Return the keyed hash by which list ids and impressions name a person."""
        return list_person(self._secret, user_key(source_id, user_id))


def _origin(head: SourceHead) -> bytes:
    """Return what ids of lists of this source hold on to: of a source that was deleted and made again it is another."""
    return head.source_id.to_bytes(8, "big") + head.incarnation.to_bytes(8, "big")


HOUR_MS = 3_600_000


class Impressions:
    """What people were shown in the lists of placements."""

    def __init__(
        self,
        database: AsyncStorage,
        list_ids: ListIds,
        metrics: Metrics,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._database = database
        self._list_ids = list_ids
        self._row_metrics = metrics.of(RowMetrics)
        self._clock = clock

    async def settings(self, head: SourceHead) -> SourceSettings:
        """Return the settings of a source as they are stored, for which no view of it is needed."""
        stored = await self._database.read(self._database.storage.sources.read_settings, head.source_id)
        return decode_stored_settings(stored)

    def reported_list(self, head: SourceHead, settings: SourceSettings, text: str, user_id: str | None) -> ListIdentity:
        """Return the list of which something is reported.

        Raises:
            ValueError: it is none of this source, is for another person, or too old; the message is for the caller.
        """
        identity = self._list_ids.read(head, text, user_id=user_id)
        days = min(settings.retention_days, IMPRESSION_DAYS)
        if self._is_older(identity, days):
            raise ValueError(f"This list is more than {days} days old, and what was seen of it is kept no longer.")
        return identity

    def named_piece(self, head: SourceHead, text: str, user_id: str, piece_id: str) -> NewImpression | None:
        """Return the piece in the list that a person's interaction with it names.

        ``None`` where it was not in that list, or the list is so old that nothing is kept of it.

        Raises:
            ValueError: it is none of this source, or for another person; the message is for the caller.
        """
        identity = self._list_ids.read(head, text, user_id=user_id)
        place = self._list_ids.position(identity, piece_id)
        if place is None or self._is_older(identity, IMPRESSION_DAYS):
            return None
        return NewImpression(
            identity=identity,
            piece_id=piece_id,
            position=place.position,
            shown_at=identity.made_at,
            rule=place.rule,
        )

    async def record(
        self, access: Access, source: str, settings: SourceSettings, impressions: Sequence[NewImpression]
    ) -> ImpressionReceipt:
        """Store what was seen, all or none; returns after the commit."""
        outcome = await self._database.change(
            RecordImpressions(
                account_id=access.account_id,
                source=source,
                actor=access.key_id,
                impressions=impressions,
                window_ms=settings.of(RowSettings).attribution_window_hours * HOUR_MS,
                by_page=access.is_browser,
            )
        )
        self._row_metrics.impressions_recorded.inc(outcome.created)
        self._row_metrics.impressions_beyond.inc(outcome.beyond)
        return outcome

    async def of_person(self, view: View, user_id: str, lists: int | None = None) -> list[StoredImpression]:
        """Return what a person was shown and is not past its life, newest first; of the newest ``lists`` if given."""
        days = min(view.settings.retention_days, IMPRESSION_DAYS)
        since = self._clock.now_ms() - days * DAY_MS
        read = self._database.storage.store(ImpressionStore).list_of_person
        return await self._database.in_thread(read, view.head.source_id, view.head.incarnation, user_id, since, lists)

    def _is_older(self, identity: ListIdentity, days: int) -> bool:
        return identity.made_at < self._clock.now_ms() - days * DAY_MS
