"""Answer cache: what was sent to requests that come again, kept while all holds that it follows from.

An answer follows from the request with what its key may see (they are its place), from the version of the source, from
the moment, and, where it is personal, from the person and what people like:

    content, settings, lists   the version of the source
    interactions, said         the person's figures, which are others after each change, and gone with an erasure; or,
                               where nothing was changed, the head of the source
    what people like           the audience, which is another one after each change
    the day, windows           from which moment to which it holds

Without a change of these no request could be answered otherwise. Members of pieces that answers include are kept beside
them, under one limit.
"""

from collections import deque
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, NamedTuple
from weakref import ReferenceType, ref

import msgspec

from penchant.storage import SourceHead
from penchant_engine.bounded_cache import BoundedCache
from penchant_engine.index import Audience, UserFeatures
from penchant_engine.index.snapshot import Snapshot
from penchant_engine.lists.requests import moment_of
from penchant_engine.model import DAY_MS

PersonPlace = tuple[Hashable, str]
ENTRY_BYTES = 900
"""Memory of an answer beside its bytes: its place, its headers and slots of tables."""
CAME_BYTES = 200
"""Memory of that a request came."""


class AnswerBasis(NamedTuple):
    """What an answer was made of beside the source's version: the moments, from and until, for which it holds.

    Of a personal one the figures of the person, too, and what people like, where it goes by that.
    """

    since: int
    until: int
    person: UserFeatures | None = None
    audience: Audience | None = None


def holding_time(snapshot: Snapshot, now: int, at: int | None = None, *, by_day: bool = False) -> tuple[int, int]:
    """Return the moments, from and until, for which a list made now holds, of a day ``at`` or ``by_day`` of today."""
    day = now // DAY_MS * DAY_MS
    if at is not None and moment_of(at, now) != now:
        # Of another day all is as it was at its end; on that day itself it is as now.
        return day, day + DAY_MS
    since, until = snapshot.window(now)
    return (since, until) if at is None and not by_day else (max(since, day), min(until, day + DAY_MS))


class _CachedAnswer(msgspec.Struct):
    """An answer and what it holds for; ``head`` is where the source stood when it was found last."""

    value: Any
    version: int
    since: int
    until: int
    audience: ReferenceType[Audience] | None
    person: ReferenceType[UserFeatures] | None
    head: SourceHead | None = None


class _UnchangedAnswer(NamedTuple):
    """What was sent to a person, out of an answer, when the source stood at a head."""

    value: Any
    head: SourceHead
    answer: _CachedAnswer
    person: ReferenceType[UserFeatures]


class WholeAnswer(NamedTuple):
    """What was sent to a request, as long as its source stands where it stood, and the moments for which it holds.

    One with an ``audience`` holds as long as that is what people like.
    """

    value: Any
    since: int
    until: int
    audience: ReferenceType[Audience] | None = None
    person: ReferenceType[UserFeatures] | None = None


class AnswerCache:
    """Answers by their places; beyond ``limit_bytes`` those go that were asked for least recently.

    For the event loop only. What it keeps changes no answer. ``hits`` and ``misses`` count what was kept and what was
    not.
    """

    def __init__(self, *, limit_bytes: int) -> None:
        self._entries: BoundedCache[Hashable, Any] = BoundedCache(limit_bytes)
        # Places of answers to people whose figures are gone; any thread may be the one that frees these.
        self._gone: deque[Hashable] = deque()
        self.find_members = self._entries.get
        """Finds the members that were kept of a piece by its place; ``None`` where there are none."""
        self.find_whole: Callable[[Hashable], WholeAnswer | None] = self._entries.get
        """Finds what was sent to a request whose bytes were these, be it that it holds no longer."""
        self.hits = 0
        self.misses = 0

    @property
    def nbytes(self) -> int:
        """How much memory the entries take."""
        self._sweep()
        return self._entries.weight

    def knows(self, place: Hashable, person: UserFeatures | None = None) -> bool:
        """Return whether an answer to a person was kept at a place lately; without one, whoever the person was."""
        return self._entries.get(place if person is None else (place, ref(person))) is not None

    def find(
        self,
        place: Hashable,
        version: int,
        now: int,
        person: UserFeatures | None = None,
        audience: Audience | None = None,
    ) -> Any:
        """Return what was sent at a place, if it holds at a version and a moment; ``None`` otherwise.

        A personal answer is found by the figures of the person, one that goes by what people like by the audience.
        """
        cached = self._entries.get(place if person is None else (place, ref(person)))
        if (
            cached is not None
            and cached.version == version
            and cached.since <= now < cached.until
            and (cached.audience is None or cached.audience() is audience)
        ):
            self.hits += 1
            return cached.value
        self.misses += 1
        return None

    def keep(self, place: Hashable, version: int, basis: AnswerBasis, value: Any, nbytes: int) -> None:
        """Keep what was sent at a place, of so many bytes."""
        self._sweep()
        audience = None if basis.audience is None else ref(basis.audience)
        person = None
        if basis.person is not None:
            if self._entries.get(place) is None:
                self._entries.put(place, True, ENTRY_BYTES)
            place = (place, ref(basis.person))
            # It goes with the figures: nothing of who was erased stays.
            person = ref(basis.person, partial(self._note_gone, place))
        answer = _CachedAnswer(value, version, basis.since, basis.until, audience, person)
        self._entries.put(place, answer, ENTRY_BYTES + nbytes)

    def find_unchanged(
        self, own: PersonPlace, head: SourceHead, now: int, settled: Callable[[], Audience | None] | None
    ) -> Any:
        """Return what was sent to a person where the source stands as it stood then, and no moment between counts.

        ``own`` is the place of the answer with the person's id. ``settled`` finds what all people like if it has all of
        the head; ``None`` for answers that do not go by that.
        """
        sent: _UnchangedAnswer | None = self._entries.get(own)
        if sent is None or sent.head != head:
            return None
        answer = sent.answer
        if not answer.since <= now < answer.until:
            return None
        if settled is not None and (answer.audience is None or answer.audience() is not settled()):
            return None
        self.hits += 1
        return sent.value

    def keep_unchanged(
        self,
        own: PersonPlace,
        head: SourceHead,
        person: UserFeatures,
        value: Any,
        nbytes: int,
        settled: Callable[[], Audience | None] | None,
    ) -> None:
        """Keep what was found for a person, whose figures follow from where the source stands and the day.

        Not before it is found twice while the source stands there: where it changes all the time, that is in vain.
        """
        answer: _CachedAnswer | None = self._entries.get((own[0], ref(person)))
        if answer is None:
            return
        if answer.head != head:
            answer.head = head
        elif settled is None or settled() is not None:
            gone = ref(person, partial(self._note_gone, own))
            self._entries.put(own, _UnchangedAnswer(value, head, answer, gone), ENTRY_BYTES + nbytes)

    def keep_whole(self, request: Hashable, place: Hashable, value: Any, nbytes: int) -> None:
        """Keep what was sent to a request, of so many bytes, out of what is kept at the place of its answer.

        Not before it came twice lately: many differ each time in a header.
        """
        came = hash(request)
        if self._entries.peek(came) is None:
            self._entries.put(came, True, CAME_BYTES)
            return
        kept = self._entries.peek(place)
        if isinstance(kept, _CachedAnswer):
            whole = WholeAnswer(value, kept.since, kept.until, kept.audience)
        elif isinstance(kept, _UnchangedAnswer) and (person := kept.person()) is not None:
            gone = ref(person, partial(self._note_gone, request))
            whole = WholeAnswer(value, kept.answer.since, kept.answer.until, kept.answer.audience, gone)
        else:
            return
        self._entries.put(request, whole, ENTRY_BYTES + nbytes)

    def keep_members(self, place: Hashable, members: Any, nbytes: int) -> None:
        """Keep members of a piece, of so many bytes; their place says of which version."""
        self._entries.put(place, members, nbytes)

    def _note_gone(self, place: Hashable, _: ReferenceType[UserFeatures]) -> None:
        self._gone.append(place)

    def _sweep(self) -> None:
        while self._gone:
            self._entries.pop(self._gone.popleft())
