"""Recent changes: what was read last of sources' interactions, so that all who follow them in a request share a read.

A person's own interaction is read for the person (`people_cache`), and then counted for all people (`audiences`) out of
what is remembered here. For the event loop only; what it remembers changes no answer.
"""

from collections.abc import Sequence

import msgspec

from penchant.live.database import AsyncStorage
from penchant.storage import InteractionChange, RecordedChanges, SourceHead
from penchant_engine.bounded_cache import BoundedCache

MAX_REMEMBERED = 100
"""Interactions of a source that are remembered: more are seldom of use to anybody else, and read anew."""
MAX_SOURCES = 100
"""Sources that are remembered: those that were read last, some megabytes at most."""


class _ReadChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The interactions of a history of a source after a version, up to another: all that there are."""

    history: tuple[int, int]
    after: int
    until: int
    interactions: Sequence[InteractionChange]


class RecentChanges:
    """Reads what became of the people of sources, and remembers the interactions that were read last of each."""

    def __init__(self, database: AsyncStorage) -> None:
        self._database = database
        self._read: BoundedCache[int, _ReadChanges] = BoundedCache(MAX_SOURCES)

    async def read(self, head: SourceHead, after: int) -> RecordedChanges:
        """Return what became of people after a version of the interactions, up to that of a head.

        Raises:
            StorageUnavailable: the database is away.
        """
        until = head.interactions_version
        listed = self._database.storage.people.list_recorded
        changes = await self._database.read(listed, head.source_id, after=after, until=until)
        last = self._read.pop(head.source_id)
        if changes.is_whole and len(changes.interactions) <= MAX_REMEMBERED:
            history, interactions, since = (head.incarnation, head.epoch), changes.interactions, after
            # A count may rest while several people read what is their own.
            if last is not None and last.history == history and last.until == after:
                interactions, since = [*last.interactions, *interactions], last.after
                if len(interactions) > MAX_REMEMBERED:
                    since = interactions[-MAX_REMEMBERED - 1].version
                    interactions = interactions[-MAX_REMEMBERED:]
            read = _ReadChanges(history=history, after=since, until=until, interactions=interactions)
            self._read.put(head.source_id, read)
        return changes

    def remembered(self, head: SourceHead, after: int) -> Sequence[InteractionChange] | None:
        """Return the interactions after a version, up to that of a head, where they are all that happened in between.

        ``None`` where somebody was erased since, or they were not read.
        """
        last = self._read.peek(head.source_id)
        if last is None or last.history != (head.incarnation, head.epoch) or head.erased_at > after:
            return None
        if after < last.after or head.interactions_version != last.until:
            return None
        return [each for each in last.interactions if each.version > after]

    def forget(self, source_id: int) -> None:
        """Forget what was read of a source."""
        self._read.pop(source_id)
