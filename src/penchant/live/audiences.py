"""Who likes what, as of now? The tally of a source, brought up to date with the interactions feed."""

from collections.abc import Callable
from dataclasses import dataclass

from penchant.errors import PreviewTooLarge
from penchant.index import Audience, Tally
from penchant.live.likes_files import Counting
from penchant.live.stored_likes import Stored, StoredLikes
from penchant.model import SourceSettings
from penchant.storage import Cursor, SourceHead, Storage

MAX_LAG_S = 0.5
"""What people do is counted for others after this time at most, if it is asked for."""
REST_RATIO = 10
"""Within it, a count rests for so many times as long as the last one took: a tenth of a core at most."""
FREE_S = 0.02
"""A count that took less than this does not rest: then everything is counted at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Who asks for an audience: of which source, under which settings, on which UTC day.

    ``own_version`` is that of the asking person's latest interaction, which has to be counted.
    """

    head: SourceHead
    settings: SourceSettings
    today: int
    own_version: int

    @property
    def counting(self) -> Counting:
        """What counts under these settings on this day."""
        return Counting.under(self.settings, self.today)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What was counted of a source, from which a later count goes on.

    ``stored`` is the file that it started from, unless its base was made anew since.
    """

    tally: Tally
    audience: Audience
    cursor: Cursor
    counting: Counting
    today: int
    rests_until: float
    stored: Stored | None = None

    def serves(self, wanted: Wanted, now: float) -> bool:
        """Return whether it answers a request now, a monotonic moment.

        So it does one from just before midnight, once the next day is counted.
        """
        head, cursor = wanted.head, self.cursor
        if (cursor.incarnation, cursor.epoch) != (head.incarnation, head.epoch):
            return False
        if self.today < wanted.today or self.counting != Counting.under(wanted.settings, self.today):
            return False
        needed = max(wanted.own_version, head.erased_at) if now < self.rests_until else head.interactions_version
        return cursor.version >= needed


class Audiences:
    """Counts from the interactions feed; synchronous, one count of a source at a time."""

    def __init__(self, storage: Storage, files: StoredLikes, monotonic: Callable[[], float]) -> None:
        self._storage = storage
        self._files = files
        self._monotonic = monotonic

    def is_awaited(self, last: Counted | None, wanted: Wanted) -> bool:
        """Return whether a count would take so long that the builder's is worth waiting for."""
        return _usable(last, wanted) is None and self._files.is_awaited(wanted.head, wanted.counting)

    def has_newer(self, last: Counted, head: SourceHead) -> bool:
        """Return whether there is a file to start from instead of what was counted."""
        return self._files.newer(head, last.counting, last.stored) is not None

    def count(
        self, last: Counted | None, wanted: Wanted, *, adopting: bool = False, most: int | None = None
    ) -> Counted:
        """Return what is counted by now, going on from the last count, or from a file where more is to be gained.

        ``adopting``: a newer file is reason enough. Should it fail half-way, the next one counts some interactions
        again, which changes nothing.

        Raises:
            PreviewTooLarge: there are more than ``most`` interactions to count.
        """
        started = self._monotonic()
        head, counting = wanted.head, wanted.counting
        last = _usable(last, wanted)
        tally, cursor, stored = (None, None, None) if last is None else (last.tally, last.cursor, last.stored)
        if tally is None or adopting or tally.is_full(counting.oldest_day, room=self._files.room(tally.base)):
            newer = self._files.base(head, counting, stored)
            if newer is not None:
                tally, stored = Tally(newer.likes), newer
                cursor = Cursor(incarnation=head.incarnation, epoch=head.epoch, version=newer.version)
        with self._storage.interactions_feed(head.account_id, head.name, cursor) as feed:
            since = 0 if cursor is None or feed.complete else cursor.version
            if most is not None and feed.head.interactions_version - since > most:
                raise PreviewTooLarge(f"The source has more than {most} interactions to count anew.")
            tally = counting.apply(tally, feed)
            now = feed.head
        audience = tally.audience(wanted.today, counting.oldest_day, room=self._files.room(tally.base))
        ended = self._monotonic()
        took = ended - started
        return Counted(
            tally=tally,
            audience=audience,
            cursor=Cursor(incarnation=now.incarnation, epoch=now.epoch, version=now.interactions_version),
            counting=counting,
            today=wanted.today,
            rests_until=ended + (min(MAX_LAG_S, REST_RATIO * took) if took > FREE_S else 0.0),
            stored=stored if stored is not None and tally.base is stored.likes else None,
        )


def _usable(last: Counted | None, wanted: Wanted) -> Counted | None:
    """Return the last count where the wanted one can go on from it."""
    counting, head = wanted.counting, wanted.head
    if last is None or (last.cursor.incarnation, last.cursor.epoch) != (head.incarnation, head.epoch):
        return None
    return last if last.tally.counts(counting.names, counting.oldest_day) else None
