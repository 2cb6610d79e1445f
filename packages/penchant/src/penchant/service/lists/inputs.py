"""List inputs: what rankings are made from beside a view: a person, all people, and the present.

Requests have them from storage and what is remembered (`LiveInputs`), bulk work from its files.
"""

import functools
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from msgspec.structs import replace

from penchant.live.database import AsyncStorage
from penchant.live.people_cache import QUICK_INTERACTIONS, PeopleCache
from penchant.live.views import View, Views
from penchant.service.people import oldest_kept
from penchant.service.shares import heavy_shares
from penchant.storage import InteractionQuery, SourceHead
from penchant.wire import StatedLikings, decode_preferences
from penchant_engine.index import Audience, InteractionArrays, PieceCounts, Strings, UserFeatures
from penchant_engine.index.people.person import keyword_counts, profile_of_person, user_features
from penchant_engine.lists.requests import ListRequest, moment_of
from penchant_engine.model import (
    DAY_MS,
    MAX_PROFILE_INTERACTIONS,
    InteractionType,
    Preferences,
    StoredInteraction,
    Term,
)

Result = TypeVar("Result")

MANY_KEYWORDS = 20_000
"""Keywords of a person's pieces beyond which the taste takes a turn of the account: a tenth of a second of a thread."""


class PersonHistory(NamedTuple):
    """What a person did at a moment, newest first, and said."""

    interactions: Sequence[StoredInteraction]
    preferences: Preferences

    @classmethod
    def counted(cls, interactions: Sequence[StoredInteraction], preferences: Preferences) -> "PersonHistory":
        """Return what counts of what is stored: of a person who is switched off nothing."""
        return cls(interactions if preferences.personal else (), preferences.counted)

    def figures(self, view: View, today: int) -> UserFeatures:
        """Return what lists of a view take of the person on a UTC day."""
        events = InteractionArrays.of(self.interactions)
        return user_features(events, view.snapshot, view.settings, today, self.preferences)


class ListInputs(Protocol):
    """Where rankings have from what they are made of; ``now`` is the present of one list, in ms since 1970 UTC."""

    def now(self, view: View) -> int:
        """Return the present."""
        ...

    async def audience(self, view: View, now: int, min_version: int) -> Audience:
        """Return what all people like, as of this version of the interactions at least."""
        ...

    async def count_likes(self, view: View, now: int, half_life_days: int) -> PieceCounts | None:
        """Return how many people like each piece, each of them counting half after so many days."""
        ...

    async def person(self, view: View, request: ListRequest, now: int, likings: StatedLikings | None) -> UserFeatures:
        """Return what lists take of a person; with ``likings``, of one of whom these alone are known."""
        ...

    async def history(self, view: View, request: ListRequest, now: int) -> PersonHistory:
        """Return what counts of a person at the moment of a request: preferences are those of now anyway."""
        ...

    async def hidden(self, view: View, user_id: str) -> frozenset[str]:
        """Return the pieces that a person wants to see no more."""
        ...


class LiveInputs:
    """Inputs out of storage, and what is remembered of people who asked lately."""

    def __init__(
        self,
        database: AsyncStorage,
        views: Views,
        *,
        people: PeopleCache | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._database = database
        self._views = views
        self.people = people or PeopleCache(database, limit_bytes=0)
        self._clock = clock
        self.tastes = heavy_shares("tastes of many keywords are being worked out")
        self.long_lists = heavy_shares("long lists are being made")

    def now(self, view: View) -> int:
        """Return the present, by the source's own clock where this node's is behind: it hides no new piece."""
        return self.present(view.head)

    def present(self, head: SourceHead) -> int:
        """Return the present of a source, as `now`."""
        return max(int(self._clock() * 1000), head.changed_at)

    async def audience(self, view: View, now: int, min_version: int = 0) -> Audience:
        """Return what all people like, as of this version of the interactions at least.

        Raises:
            NotYetVisible: the version was not reached in time.
        """
        return await self._views.audience(view, now // DAY_MS, min_version=min_version)

    async def count_likes(self, view: View, now: int, half_life_days: int) -> PieceCounts | None:
        """Return how many people like each piece, each of them counting half after so many days.

        Raises:
            Overloaded: too many are being counted.
        """
        async with self.long_lists.turn(view.head.account_id):
            return await self._views.count_likes(view, now // DAY_MS, half_life_days)

    async def person(
        self, view: View, request: ListRequest, now: int, likings: StatedLikings | None = None
    ) -> UserFeatures:
        """Return what lists take of a person, or of one of whom some likings alone are known.

        Raises:
            Overloaded: their pieces have very many keywords, and too many such tastes are being worked out.
            StorageUnavailable: the database is away.
        """
        moment = moment_of(request.at, now)
        # What people are remembered by is of the present, and by the source's own category weights.
        is_present = moment == now and not view.stale
        is_present &= view.settings.category_factors == view.source_settings.category_factors
        if likings is None and is_present:
            return await self.present_person(view, request.user_id, now)

        def read() -> PersonHistory:
            return self._read(view, request, now) if likings is None else stated_history(view, likings, now)

        def figures(history: PersonHistory) -> UserFeatures:
            return history.figures(view, moment // DAY_MS)

        return await self._worked_out(view, read, figures)

    def settled_audience(self, head: SourceHead, now: int) -> Audience | None:
        """Return what all people like where that has all of a head; ``None`` where it has to be followed first."""
        return self._views.settled_audience(head, now // DAY_MS)

    async def present_person(self, view: View, user_id: str, now: int) -> UserFeatures:
        """Return what lists take of a person now, under the source's own settings; raises as `person`."""
        return await self.people.figures(view, user_id, now // DAY_MS)

    async def profile(self, view: View, user_id: str, now: int) -> dict[Term, int]:
        """Return a person's taste by term; raises as `person`."""
        if view.stale:
            history = await self.history(view, ListRequest(user_id=user_id), now)
            events, said = InteractionArrays.of(history.interactions), history.preferences
        else:
            events, said = await self.people.history(view, user_id, now // DAY_MS)
        make = functools.partial(profile_of_person, events, view.snapshot, view.settings, now // DAY_MS, said)
        if _has_many_keywords(view, events.pieces):
            async with self.tastes.turn(view.head.account_id):
                return await self._database.in_thread(make)
        return make() if len(events) + len(said) <= QUICK_INTERACTIONS else await self._database.in_thread(make)

    async def history(self, view: View, request: ListRequest, now: int) -> PersonHistory:
        """Return what counts of a person at the moment of a request: preferences are those of now anyway."""
        return await self._database.promptly(self._read, view, request, now)

    async def hidden(self, view: View, user_id: str) -> frozenset[str]:
        """Return the pieces of a view that a person wants to see no more; raises as `person`."""
        # Who is remembered is remembered under the source's own settings, which change nothing of this.
        own = view if view.settings is view.source_settings else replace(view, settings=view.source_settings)
        person = await self.person(own, ListRequest(user_id=user_id), self.now(view))
        parts = zip(view.snapshot.parts, person.hidden, strict=False)
        return frozenset(each for part, rows in parts for each in part.segment.ids.take(rows))

    async def _worked_out(
        self, view: View, read: Callable[[], PersonHistory], make: Callable[[PersonHistory], Result]
    ) -> Result:
        """Return what is made of a history; in a turn of the account where that takes long."""

        # In a thread: a person with thousands of interactions must not hold up everybody else.
        def made_quickly() -> Result | PersonHistory:
            history = read()
            pieces = Strings.of(sorted({each.piece_id for each in history.interactions}))
            return history if _has_many_keywords(view, pieces) else make(history)

        outcome = await self._database.promptly(made_quickly)
        if not isinstance(outcome, PersonHistory):
            return outcome
        async with self.tastes.turn(view.head.account_id):
            return await self._database.in_thread(make, outcome)

    def _read(self, view: View, request: ListRequest, now: int) -> PersonHistory:
        moment = moment_of(request.at, now)
        query = InteractionQuery(
            user_id=request.user_id,
            since=oldest_kept(view, now),
            until=None if moment == now else moment,
            limit=MAX_PROFILE_INTERACTIONS,
            counted=True,
        )
        stored = self._database.storage.people.read(view.head.source_id, query)
        return PersonHistory.counted(stored.interactions, decode_preferences(stored.preferences))


def _has_many_keywords(view: View, pieces: Strings) -> bool:
    # Most sources have not so many.
    return (
        view.snapshot.keyword_count > MANY_KEYWORDS and int(keyword_counts(pieces, view.snapshot).sum()) > MANY_KEYWORDS
    )


def stated_history(view: View, likings: StatedLikings, now: int) -> PersonHistory:
    """Return likings as if pieces were rated at this moment, and keywords preferred."""
    rated = dict.fromkeys(likings.disliked, InteractionType.RATE_DISLIKE)
    rated |= dict.fromkeys(likings.liked, InteractionType.RATE_LIKE)
    interactions = [
        StoredInteraction(user_id="", type=kind, piece_id=piece_id, occurred_at=now)
        for piece_id, kind in rated.items()
        if view.knows(piece_id)
    ]
    stated = dict.fromkeys(likings.disliked_keywords, -1.0) | dict.fromkeys(likings.liked_keywords, 1.0)
    return PersonHistory(interactions, Preferences(stated=stated))
