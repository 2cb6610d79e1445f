"""Kept lists: the latest lists of people, as the JSON that requests get (D240 of docs/decisions.md).

A list follows from the person's figures, the audience, the source's version, the request, the day and the availability
windows. While all of these stay, it is remembered.
"""

from collections.abc import Awaitable, Callable, Hashable
from typing import NamedTuple
from weakref import ReferenceType, ref

from msgspec import Raw, Struct

from penchant.live.people_cache import PeopleCache
from penchant.service.lists.answers import PersonalResult, view_of
from penchant.wire import encode
from penchant_engine.bounded_cache import keep_latest
from penchant_engine.index import Audience
from penchant_engine.lists.personal import PersonalRanking
from penchant_engine.model import DAY_MS

MOST_KEPT = 8
"""Lists that are remembered of a person, and of all people together of whom nothing is stored."""
LARGEST_KEPT_BYTES = 4_096
"""Of the entries of a list that is remembered: thirty take half of it."""
KEPT_BYTES = 600
"""Memory of a list that is remembered beside its entries."""


class EncodedList(Struct):
    """The entries of a list as JSON, and the marks of all that was listed, where the list goes on.

    ``cursor`` is the last one that was made of these, and the id of the person whom it was for.
    """

    content: Raw
    listed: bytes | None
    cursor: tuple[str, str] = ("", "")


class _KeptList(NamedTuple):
    """A list, what it was made of beside the person, and the moments, from and until, for which it holds."""

    encoded: EncodedList
    version: int
    audience: ReferenceType[Audience]
    since: int
    until: int

    def holds_for(self, ranking: PersonalRanking) -> bool:
        """Return whether the list of the same person by the same request would be the same."""
        is_same = self.audience() is ranking.audience and self.version == view_of(ranking.view).head.version
        return is_same and self.since <= ranking.now < self.until


class PersonalLists:
    """The latest lists of people, each kept with the figures that it was made of, and gone with these.

    For the event loop only. What it remembers changes no answer. ``hits`` and ``misses`` count what was and what was
    not remembered.
    """

    def __init__(self, people: PeopleCache) -> None:
        self._people = people
        self.hits = 0
        self.misses = 0

    async def encoded(
        self, ranking: PersonalRanking, key: Hashable, answer: Callable[[PersonalRanking], Awaitable[PersonalResult]]
    ) -> EncodedList:
        """Return a list without reasons for the present, as ``answer`` makes it, whose request ``key`` says in full."""
        kept = ranking.person.derived.get(key)
        if kept is not None and kept[1].holds_for(ranking):
            self.hits += 1
            encoded: EncodedList = kept[1].encoded
            return encoded
        self.misses += 1
        encoded = EncodedList(Raw(encode((await answer(ranking)).content)), ranking.next_marks)
        self._keep(ranking, key, encoded)
        return encoded

    def _keep(self, ranking: PersonalRanking, key: Hashable, encoded: EncodedList) -> None:
        size = len(bytes(encoded.content))
        if size > LARGEST_KEPT_BYTES:
            return
        view, day = view_of(ranking.view), ranking.now // DAY_MS
        since, until = view.snapshot.window(ranking.now)
        since, until = max(since, day * DAY_MS), min(until, (day + 1) * DAY_MS)
        kept = _KeptList(encoded, view.head.version, ref(ranking.audience), since, until)
        keep_latest(ranking.person.derived, key, (KEPT_BYTES + size, kept), MOST_KEPT)
        self._people.reweigh(view, ranking.request.user_id)
