"""Who likes what, as of now? The tally of a source, brought up to date with the interactions feed."""

from collections.abc import Callable
from dataclasses import dataclass

from penchant.errors import PreviewTooLarge
from penchant.index import Audience, Tally
from penchant.model import RATINGS, InteractionType, SourceSettings
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
    def positive(self) -> frozenset[InteractionType]:
        """The types of interaction that speak for a piece."""
        return frozenset(kind for kind, weight in self.settings.interaction_weights.items() if weight > 0)

    @property
    def oldest_day(self) -> int:
        """The first day whose interactions count: retention goes by UTC dates."""
        return self.today - self.settings.retention_days


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What was counted of a source, from which a later count goes on."""

    tally: Tally
    audience: Audience
    cursor: Cursor
    positive: frozenset[InteractionType]
    today: int
    oldest_day: int
    rests_until: float

    def serves(self, wanted: Wanted, now: float) -> bool:
        """Return whether it answers a request now, a monotonic moment."""
        head, cursor = wanted.head, self.cursor
        if (cursor.incarnation, cursor.epoch) != (head.incarnation, head.epoch):
            return False
        if (self.positive, self.today, self.oldest_day) != (wanted.positive, wanted.today, wanted.oldest_day):
            return False
        needed = max(wanted.own_version, head.erased_at) if now < self.rests_until else head.interactions_version
        return cursor.version >= needed


class Audiences:
    """Counts from the interactions feed; synchronous, one count of a source at a time."""

    def __init__(self, storage: Storage, monotonic: Callable[[], float]) -> None:
        self._storage = storage
        self._monotonic = monotonic

    def count(self, last: Counted | None, wanted: Wanted, *, most: int | None = None) -> Counted:
        """Return what is counted by now, going on from the last count where that leads on.

        Should it fail half-way, the next one counts some interactions again, which changes nothing.

        Raises:
            PreviewTooLarge: there are more than ``most`` interactions to count.
        """
        counted = 0
        started = self._monotonic()
        head, positive, oldest_day = wanted.head, wanted.positive, wanted.oldest_day
        names = [kind.value for kind in positive]
        if last is not None and not last.tally.counts(names, oldest_day):
            last = None
        with self._storage.interactions_feed(head.account_id, head.name, None if last is None else last.cursor) as feed:
            tally = Tally.empty(names, oldest_day) if last is None or feed.complete else last.tally
            for batch in feed.batches:
                counted += len(batch)
                if most is not None and counted > most:
                    raise PreviewTooLarge(f"The source has more than {most} interactions to count anew.")
                for row in batch:
                    if row.type is None:
                        tally.erase(row.user_key)
                    elif row.type in positive or row.type in RATINGS:
                        rating = row.type is InteractionType.RATE_LIKE if row.type in RATINGS else None
                        tally.record(
                            row.user_key, row.piece_id, row.occurred_at, positive=row.type in positive, rating=rating
                        )
            now = feed.head
        audience = tally.audience(wanted.today, oldest_day)
        ended = self._monotonic()
        took = ended - started
        return Counted(
            tally=tally,
            audience=audience,
            cursor=Cursor(incarnation=now.incarnation, epoch=now.epoch, version=now.interactions_version),
            positive=positive,
            today=wanted.today,
            oldest_day=oldest_day,
            rests_until=ended + (min(MAX_LAG_S, REST_RATIO * took) if took > FREE_S else 0.0),
        )
