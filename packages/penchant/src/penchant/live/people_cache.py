"""People cache: what those who asked lately did and what lists take of it, exact with every request.

A source's interactions get versions in the order in which they become visible, and each request has read the version
that is committed. So one small read of what was recorded since the last look brings all remembered people of a source
up to date, whoever of them asks. One person over time:

    absent --`figures`, reads all that the person did--> remembered --an interaction in the feed--> grown by it
       ^                                                     |
       '-- the source's content changed, another UTC day, ---'
           the person's preferences, an erasure, a version that
           is gone, too much at once, memory is short
"""

import asyncio
import functools
from collections.abc import Sequence
from weakref import ReferenceType, WeakKeyDictionary, ref

import msgspec

from penchant.live.database import AsyncStorage
from penchant.live.following import View
from penchant.live.heads import SourceName
from penchant.live.recent_changes import RecentChanges
from penchant.storage import InteractionChange, InteractionQuery, RecordedChanges, SourceHead, source_id, user_key
from penchant.wire import decode_preferences
from penchant_engine.bounded_cache import BoundedCache
from penchant_engine.index import InteractionArrays, Snapshot, UserFeatures
from penchant_engine.index.people.person import user_features
from penchant_engine.model import DAY_MS, MAX_PROFILE_INTERACTIONS, Preferences

ENTRY_BYTES = 3_000
"""Memory of a person beside the arrays' contents: objects, keys and slots of tables."""
SAID_BYTES = 10
"""Memory of preferences for each byte of their JSON: keywords are short, and each is an object in a table."""
MAX_FOLLOWED = 1_000
"""Interactions that are read at a time to bring people up to date: some milliseconds. After more all are forgotten."""
MAX_SOURCES = 10_000
"""Sources whose versions are kept, as many as there may be views."""
QUICK_READ = 200
"""So many interactions are read within the event loop where reads are quick: to wait for a thread takes longer."""
QUICK_INTERACTIONS = 1_000
"""So many, and things said, are turned into figures within the event loop, in about a millisecond; more in a thread."""

_Key = tuple[int, bytes]
"""A person: the source's number, and the key under which storage keeps the person."""


def _key_of(number: int, user_id: str) -> _Key:
    return number, user_key(number, user_id)


class _RememberedPerson(msgspec.Struct, kw_only=True, eq=False):
    """A person's interactions, as of a source's version of content on a UTC day, and the figures once they are made.

    Any change of the content ends it: it may be one of the settings, after which interactions can be gone for good.
    Interactions count from ``since`` on.
    """

    version: int
    today: int
    since: int
    interactions: InteractionArrays
    preferences: Preferences
    preferences_bytes: int
    figures: UserFeatures | None = None
    snapshot: ReferenceType[Snapshot] | None = None

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        # Those of whom nothing is stored share their figures.
        is_own = len(self.interactions) or self.preferences_bytes
        figures_bytes = self.figures.nbytes if self.figures is not None and is_own else 0
        return ENTRY_BYTES + self.preferences_bytes + self.interactions.nbytes + figures_bytes

    def grow(self, changes: Sequence[InteractionChange]) -> None:
        """Add interactions of the feed, unless they were read already."""
        before = self.interactions
        most = MAX_PROFILE_INTERACTIONS
        for version, _, piece_id, kind, occurred_at, portion in changes:
            if occurred_at >= self.since:
                grown = self.interactions.adding(version, piece_id, kind, occurred_at, most, portion)
                self.interactions = grown
        if self.interactions is not before:
            self.figures = self.snapshot = None

    def put(self, figures: UserFeatures, snapshot: Snapshot) -> None:
        self.figures, self.snapshot = figures, ref(snapshot)

    def is_for(self, view: View, today: int) -> bool:
        return (self.version, self.today) == (view.head.version, today)

    def figures_for(self, snapshot: Snapshot) -> UserFeatures | None:
        """Return the figures if they are of this snapshot: the same content may come to lie in other segments."""
        is_same = self.snapshot is not None and self.snapshot() is snapshot
        return self.figures if is_same else None


class _SourceFollowing(msgspec.Struct, eq=False):
    """How far the interactions of a source, by account and name, are followed: up to a version of one history of it."""

    name: tuple[int, str]
    history: tuple[int, int]
    version: int
    lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)


class _PersonReading(msgspec.Struct, eq=False):
    """A person who is being read; what the feed brings meanwhile, and whether an erasure or a jump makes it void."""

    key: _Key
    recorded: list[InteractionChange] = msgspec.field(default_factory=list)
    is_void: bool = False


class PeopleCache:
    """What people did, remembered; beyond ``limit_bytes`` those who asked least recently go.

    For the event loop only. What it remembers changes no answer. ``hits`` and ``misses`` count what was and what was
    not remembered.
    """

    def __init__(
        self, database: AsyncStorage, *, limit_bytes: int, recent_changes: RecentChanges | None = None
    ) -> None:
        self._database = database
        self._recent_changes = recent_changes or RecentChanges(database)
        self._people: BoundedCache[_Key, _RememberedPerson] = BoundedCache(limit_bytes)
        self._sources: dict[int, _SourceFollowing] = {}
        self._readings: set[_PersonReading] = set()
        self._strangers: WeakKeyDictionary[Snapshot, UserFeatures] = WeakKeyDictionary()
        self.hits = 0
        self.misses = 0

    @property
    def nbytes(self) -> int:
        """How much memory the remembered people take."""
        return self._people.weight

    async def figures(self, view: View, user_id: str, today: int) -> UserFeatures:
        """Return what lists take of a person on a UTC day, with all that was committed before the view's head was read.

        Raises:
            StorageUnavailable: the database is away.
        """
        person = await self._person(view, user_id, today)
        figures = person.figures_for(view.snapshot)
        if figures is not None:
            return figures
        taken, said = person.interactions, person.preferences
        make = functools.partial(self._figures_of, view, today, taken, said)
        is_quick = len(taken) + len(said) <= QUICK_INTERACTIONS
        figures = make() if is_quick else await self._database.in_thread(make)
        key = _key_of(view.head.source_id, user_id)
        if person.interactions is taken and self._people.peek(key) is person:
            person.put(figures, view.snapshot)
            self._people.reweigh(key, person.nbytes)
        return figures

    async def history(self, view: View, user_id: str, today: int) -> tuple[InteractionArrays, Preferences]:
        """Return what a person did and said, as of the same moment as `figures`.

        Raises:
            StorageUnavailable: the database is away.
        """
        person = await self._person(view, user_id, today)
        return person.interactions, person.preferences

    def watched(self) -> set[SourceName]:
        """Return the sources of the people who are remembered."""
        numbers = {number for number, _ in self._people}
        return {following.name for number in numbers if (following := self._sources.get(number)) is not None}

    def observe(self, name: SourceName, head: SourceHead | None) -> None:
        """Forget the people of a source that is gone, or in which another process has erased somebody."""
        following = self._sources.get(source_id(*name))
        if following is None:
            return
        history = None if head is None else (head.incarnation, head.epoch)
        if head is None or history != following.history or head.erased_at > following.version:
            self._forget_source(source_id(*name))

    def forget_person(self, account_id: int, source: str, user_id: str) -> None:
        """Forget what was remembered of a person who is erased; the next request to the source forgets all of it."""
        self._forget_one(_key_of(source_id(account_id, source), user_id))

    async def _follow(self, view: View) -> None:
        """Bring all remembered people of a source up to the version of a view's head at least."""
        head = view.head
        history = (head.incarnation, head.epoch)
        following = self._sources.get(head.source_id)
        if following is None or following.history != history:
            if len(self._sources) >= MAX_SOURCES:
                for number in list(self._sources):
                    self._forget_source(number)
                self._sources.clear()
            self._forget_source(head.source_id)
            following = self._sources[head.source_id] = _SourceFollowing(
                (head.account_id, head.name), history, head.interactions_version
            )
        if following.version >= head.interactions_version:
            return
        async with following.lock:
            after, until = following.version, head.interactions_version
            if after >= until:
                return
            # Who was erased is told under a mask: rather all are forgotten.
            if head.erased_at > after or until - after > MAX_FOLLOWED:
                self._forget_source(head.source_id)
            else:
                changes = await self._recent_changes.read(head, after)
                # Another history may have begun meanwhile, and these are none of its interactions.
                if self._sources.get(head.source_id) is following:
                    self._apply(head.source_id, changes)
            following.version = until

    def _apply(self, number: int, changes: RecordedChanges) -> None:
        """Bring the people of a source up to date; who has said something anew is read again."""
        if not changes.is_whole:
            # Somebody's preferences were removed: no row tells whose, as none tells who was erased.
            self._forget_source(number)
            return
        for key in changes.stated:
            self._forget_one((number, key))
        self._grow(number, changes.interactions)

    def _grow(self, number: int, recorded: Sequence[InteractionChange]) -> None:
        """Add what was recorded to the people who did it."""
        for change in recorded:
            key = (number, change.user_key)
            for reading in self._readings:
                if reading.key == key:
                    reading.recorded.append(change)
            person = self._people.peek(key)
            if person is not None:
                person.grow([change])
                self._people.reweigh(key, person.nbytes)

    async def _person(self, view: View, user_id: str, today: int) -> _RememberedPerson:
        """Return a person with all that was committed before the view's head was read; read, where not remembered."""
        await self._follow(view)
        key = _key_of(view.head.source_id, user_id)
        person = self._people.get(key)
        if person is not None and person.is_for(view, today):
            self.hits += 1
            return person
        self.misses += 1
        since = view.source_settings.oldest_day(today) * DAY_MS

        def read(limit: int) -> _RememberedPerson:
            query = InteractionQuery(user_id=user_id, since=since, limit=limit, counted=True)
            stored = self._database.storage.people.read(view.head.source_id, query)
            return _RememberedPerson(
                version=view.head.version,
                today=today,
                since=since,
                interactions=InteractionArrays.of(stored.interactions),
                preferences=decode_preferences(stored.preferences),
                preferences_bytes=SAID_BYTES * len(stored.preferences),
            )

        reading = _PersonReading(key)
        self._readings.add(reading)
        try:
            person = read(QUICK_READ) if self._database.storage.quick_reads else None
            if person is None or len(person.interactions) == QUICK_READ:
                person = await self._database.promptly(read, MAX_PROFILE_INTERACTIONS)
        finally:
            self._readings.discard(reading)
        person.grow(reading.recorded)
        if not reading.is_void:
            self._people.put(key, person, weight=person.nbytes)
        return person

    def _figures_of(self, view: View, today: int, interactions: InteractionArrays, said: Preferences) -> UserFeatures:
        """Return the figures of a person: those of whom nothing is stored share them, as long as a snapshot lasts."""
        if len(interactions) or len(said):
            return user_features(interactions, view.snapshot, view.source_settings, today, said)
        # They go by no setting and no day; threads that make them at once make the same.
        found = self._strangers.get(view.snapshot)
        if found is None:
            found = user_features(interactions, view.snapshot, view.source_settings, today, said)
            self._strangers[view.snapshot] = found
        return found

    def _forget_source(self, number: int) -> None:
        self._recent_changes.forget(number)
        for reading in self._readings:
            reading.is_void |= reading.key[0] == number
        for key in self._people:
            if key[0] == number:
                self._people.pop(key)

    def _forget_one(self, key: _Key) -> None:
        for reading in self._readings:
            reading.is_void |= reading.key == key
        self._people.pop(key)
