"""People: what they did with the pieces of a source, and said of themselves: recorded, listed, exported and erased.

Interactions are read by one statement, so that nothing that is written meanwhile repeats or halves them.
"""

import contextlib
import itertools
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from penchant.clock import SYSTEM_CLOCK, Clock
from penchant.errors import StorageUnavailable
from penchant.live.database import AsyncStorage
from penchant.live.people_cache import PeopleCache
from penchant.live.views import View, Views
from penchant.model import NewInteraction
from penchant.service.access import Access
from penchant.storage import (
    EraseUser,
    InteractionQuery,
    InteractionReceipt,
    PeopleChange,
    RecordInteractions,
    ReplacePreferences,
    StoredPerson,
    TakeBack,
)
from penchant.telemetry import Metrics
from penchant.wire import decode_preferences, decode_stored_settings
from penchant.wire.preferences import encode_preferences
from penchant.wire.stored import is_public
from penchant_engine.model import DAY_MS, InteractionType, Preferences, StoredInteraction


class InteractionSelection(msgspec.Struct, frozen=True, kw_only=True):
    """Which of a person's interactions are listed."""

    piece_id: str | None = None
    type: InteractionType | None = None
    catalogs: frozenset[str] | None = None
    skip: int = 0
    limit: int = 10


class TakenBack(msgspec.Struct, frozen=True, kw_only=True):
    """What a person takes back: of one type with a piece all, or what an event id or a moment tells."""

    user_id: str
    type: InteractionType
    piece_id: str
    event_id: str | None = None
    occurred_at: int | None = None


def oldest_kept(view: View, now: int) -> int:
    """Return the first millisecond whose interactions count: retention goes by UTC dates."""
    return view.settings.oldest_day(now // DAY_MS) * DAY_MS


class People:
    """The interactions of people with the pieces of a source."""

    def __init__(
        self,
        database: AsyncStorage,
        views: Views,
        metrics: Metrics,
        *,
        cache: PeopleCache | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._database = database
        self._views = views
        self._metrics = metrics
        self._cache = cache
        self._clock = clock

    def now(self) -> int:
        """Return the moment in milliseconds since 1970 UTC."""
        return self._clock.now_ms()

    async def record(
        self, access: Access, source: str, interactions: Sequence[NewInteraction], *, looks_up: bool = False
    ) -> InteractionReceipt:
        """Store interactions, all or none, but those of people who are switched off; returns after the commit.

        With ``looks_up`` the outcome knows of the first one whether its piece is there.
        """
        outcome = await self._database.change(
            RecordInteractions(
                account_id=access.account_id,
                source=source,
                actor=access.key_id,
                interactions=interactions,
                by_page=access.is_browser,
                looks_up=looks_up,
                recent_from=self.now() - DAY_MS,
            )
        )
        self._metrics.interactions_recorded.inc(len(interactions) - outcome.duplicates - outcome.unstored)
        return outcome

    def is_unknown(self, outcome: InteractionReceipt) -> bool:
        """Return whether the source has no piece of what was recorded, or none that the page which sent it may know."""
        return not outcome.is_known or (outcome.piece is not None and not is_public(outcome.piece, self.now()))

    def expired(self, outcome: InteractionReceipt) -> int:
        """Return how many of the interactions that were recorded are past their retention, and count for nothing."""
        settings = decode_stored_settings(outcome.settings)
        oldest = settings.oldest_day(self.now() // DAY_MS) * DAY_MS
        return sum(moment < oldest for moment in outcome.moments)

    async def listed(self, view: View, user_id: str, selection: InteractionSelection) -> list[StoredInteraction]:
        """Return the selected interactions of a person, newest first, all of one moment."""
        if selection.catalogs is None:
            return await self._database.promptly(self._read, view, self._query(view, user_id, selection))
        query = self._query(view, user_id, selection, pages=False)
        return await self._database.in_thread(self._read_in_catalogs, view, query, selection)

    async def export(self, view: View, user_id: str, limit: int | None = None) -> StoredPerson:
        """Return all that is stored of a person and not past its retention; of interactions the newest, if limited."""
        query = replace(self._query(view, user_id, InteractionSelection(), pages=False), limit=limit)
        return await self._database.in_thread(self._database.storage.people.read, view.head.source_id, query)

    async def preferences(self, view: View, user_id: str) -> Preferences:
        """Return what a person has said."""
        read = self._database.storage.people.read_preferences
        return decode_preferences(await self._database.read(read, view.head.source_id, user_id))

    async def replace_preferences(
        self, access: Access, source: str, user_id: str, preferences: Preferences
    ) -> PeopleChange:
        """Store what a person has said, or remove it where that is nothing; returns after the commit."""
        outcome = await self._database.change(
            ReplacePreferences(
                account_id=access.account_id,
                source=source,
                actor=access.key_id,
                user_id=user_id,
                preferences=encode_preferences(preferences),
                is_personal=preferences.personal,
            )
        )
        self._metrics.preferences_replaced.inc()
        return outcome

    async def take_back(self, access: Access, source: str, chosen: TakenBack) -> PeopleChange:
        """Delete what a person did of one type with a piece, and begin to make lists that know nothing of it."""
        outcome = await self._database.change(
            TakeBack(account_id=access.account_id, source=source, actor=access.key_id, **msgspec.structs.asdict(chosen))
        )
        if outcome.deleted:
            if self._cache is not None:
                self._cache.forget_person(access.account_id, source, chosen.user_id)
            self._views.refresh_soon(access.account_id, source)
        return outcome

    async def erase(self, access: Access, source: str, user_id: str) -> PeopleChange:
        """Delete all that is stored of a person, and begin to make lists that know nothing of it."""
        outcome = await self._database.change(
            EraseUser(account_id=access.account_id, source=source, actor=access.key_id, user_id=user_id)
        )
        if self._cache is not None:
            self._cache.forget_person(access.account_id, source, user_id)
        self._views.refresh_soon(access.account_id, source)
        # With the answer, where nobody reads just now; otherwise soon, by the task `erased-log`.
        with contextlib.suppress(StorageUnavailable):
            await self._database.in_thread(self._database.storage.upkeep.forget_log)
        return outcome

    def _query(
        self, view: View, user_id: str, selection: InteractionSelection, *, pages: bool = True
    ) -> InteractionQuery:
        return InteractionQuery(
            user_id=user_id,
            since=oldest_kept(view, self.now()),
            piece_id=selection.piece_id,
            type=selection.type,
            limit=selection.limit if pages else None,
            skip=selection.skip if pages else 0,
        )

    def _read(self, view: View, query: InteractionQuery) -> list[StoredInteraction]:
        return self._database.storage.people.list_interactions(view.head.source_id, query)

    def _read_in_catalogs(
        self, view: View, query: InteractionQuery, selection: InteractionSelection
    ) -> list[StoredInteraction]:
        """Return a page of those interactions whose piece is in one of the selected catalogs now."""
        catalogs = selection.catalogs or frozenset()
        # All are read in one statement and cut here: catalogs are known to the snapshot, not to the database.
        matching = (each for each in self._read(view, query) if view.snapshot.in_catalogs(each.piece_id, catalogs))
        return list(itertools.islice(matching, selection.skip, selection.skip + selection.limit))
