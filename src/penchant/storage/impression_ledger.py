"""Ledger of impressions: what one transaction reads, adds and changes of what was shown, with the counts that follow.

A piece of a list is one impression, however often it is reported. An interaction is attributed to one of them: of the
list that it names, or of the last one that showed the piece to the person, for as long as that counts. Of each type
only the first one counts, so that no count is greater than that of what was shown.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Select, and_, bindparam, or_, select, update

from penchant.model import InteractionType, NewImpression
from penchant.storage import statements
from penchant.storage.dialect import WriteDialect
from penchant.storage.hashing import piece_key
from penchant.storage.list_keys import made_at_of
from penchant.storage.placement_counts import LISTS, SHOWN, SUCCEEDED, CountAdditions, CountKey, day_of, group_of
from penchant.storage.schema import impressions

MAX_LIST_PIECES = 100
"""Pieces that are taken of a list whose id does not prove what was in it: nobody fills the table with one id."""
KEYS_AT_ONCE = 500
"""Lists, and people, in one look-up: both databases bound the parameters of a statement."""
SUCCESSES = sum(1 << kind.code for kind in InteractionType if kind.default_weight > 0)
"""The bits of the types of interaction that speak for a piece."""


@dataclass(slots=True)
class Impression:
    """A row of impressions; the flags say how it differs from what is stored."""

    placement: str
    variant: str
    person: bytes
    list_key: bytes
    piece_id: str
    position: int
    shown_at: int
    counts_until: int
    led_to: int = 0
    is_new: bool = False
    is_changed: bool = False


class ImpressionLedger:
    """The impressions of a source that a transaction needs; its source's counter is locked."""

    def __init__(self, connection: Connection, database: WriteDialect, row: Any) -> None:
        self._connection = connection
        self._database = database
        self._source: int = row.source_id
        self._incarnation: int = row.incarnation
        self._impressions: dict[tuple[bytes, str], Impression] = {}
        self._of_person: dict[tuple[bytes, str], list[Impression]] = defaultdict(list)
        self._sizes: Counter[bytes] = Counter()
        self._counts = CountAdditions()

    def is_empty(self) -> bool:
        """Return whether nothing is stored that could be attributed to."""
        own = {"source": self._source, "incarnation": self._incarnation}
        return self._connection.execute(_ANY, own).first() is None

    def load_lists(self, keys: Collection[bytes]) -> None:
        """Read what was shown of these lists."""
        for portion in _portions(keys):
            self._load(select(impressions).where(self._own(), impressions.c.list_key.in_(portion)))

    def load_people(self, wanted: Mapping[bytes, Collection[str]], since: int) -> None:
        """Read where these people were shown these pieces, as far as it counts at a moment or later."""
        for portion in _portions(wanted):
            # The source within each alternative: only so SQLite looks each of them up by the index of people.
            shown = or_(*(and_(self._own(), self._shown_to(person, wanted[person])) for person in portion))
            self._load(select(impressions).where(shown, impressions.c.counts_until >= since))

    def show(self, shown: NewImpression, *, counts_until: int) -> bool:
        """Note a piece of a list as shown; return ``False`` where it is known, or the list has too many already."""
        identity = shown.identity
        known = self._impressions.get((identity.key, shown.piece_id))
        if known is not None:
            self._find_position(known, shown.position, counts_until)
            return False
        if self._sizes[identity.key] >= MAX_LIST_PIECES:
            return False
        impression = Impression(
            placement=identity.placement,
            variant=identity.variant,
            person=identity.person,
            list_key=identity.key,
            piece_id=shown.piece_id,
            position=shown.position,
            shown_at=shown.shown_at,
            counts_until=counts_until,
            is_new=True,
        )
        if not self._sizes[identity.key]:
            self._counts.add(_count_key(impression, LISTS), 0, group_of(identity.person))
        self._keep(impression)
        self._count(impression, SHOWN)
        return True

    def attribute(self, kind: InteractionType, occurred_at: int, shown: NewImpression) -> None:
        """Attribute an interaction to the list that it names; a piece that people do something with was shown."""
        self.show(replace(shown, shown_at=max(occurred_at, shown.shown_at)), counts_until=0)
        impression = self._impressions.get((shown.identity.key, shown.piece_id))
        if impression is not None:
            self._lead_to(impression, kind)

    def attribute_to_last(self, kind: InteractionType, piece_id: str, occurred_at: int, person: bytes) -> None:
        """Attribute an interaction to the last list that showed the piece to the person, if that still counts."""
        # By the moment of the list, which is the service's own clock; what is reported as seen may be another's.
        counting = (
            each
            for each in self._of_person.get((person, piece_id), ())
            if made_at_of(each.list_key) <= occurred_at <= each.counts_until
        )
        last = max(counting, key=lambda each: each.list_key, default=None)
        if last is not None:
            self._lead_to(last, kind)

    def store(self) -> None:
        """Write what is new and what has changed, and the counts."""
        new = sorted(
            (each for each in self._impressions.values() if each.is_new),
            key=lambda each: (each.list_key, each.piece_id),
        )
        if new:
            self._database.append_rows(self._connection, impressions, [self._to_row(each) for each in new])
            days = {(each.placement, each.variant, each.piece_id, day_of(each.shown_at)) for each in new}
            self._connection.execute(statements.note_shown(self._database.insert), self._day_rows(days))
        changed = [each for each in self._impressions.values() if each.is_changed and not each.is_new]
        if changed:
            self._connection.execute(_UPDATE, [self._to_change(each) for each in changed])
        self._counts.store(self._connection, self._database.insert, self._source, self._incarnation)

    def _own(self) -> Any:
        return and_(impressions.c.source_id == self._source, impressions.c.incarnation == self._incarnation)

    def _shown_to(self, person: bytes, piece_ids: Collection[str]) -> Any:
        keys = [piece_key(self._source, piece_id) for piece_id in piece_ids]
        return and_(impressions.c.person == person, impressions.c.piece_key.in_(keys))

    def _load(self, statement: Select[Any]) -> None:
        for row in self._connection.execute(statement):
            if (bytes(row.list_key), row.piece_id) not in self._impressions:
                self._keep(
                    Impression(
                        placement=row.placement,
                        variant=row.variant,
                        person=bytes(row.person),
                        list_key=bytes(row.list_key),
                        piece_id=row.piece_id,
                        position=row.position,
                        shown_at=row.shown_at,
                        counts_until=row.counts_until,
                        led_to=row.led_to,
                    )
                )

    def _keep(self, impression: Impression) -> None:
        self._impressions[impression.list_key, impression.piece_id] = impression
        self._sizes[impression.list_key] += 1
        if impression.person:
            self._of_person[impression.person, impression.piece_id].append(impression)

    def _find_position(self, impression: Impression, position: int, counts_until: int) -> None:
        """Complete an impression that was known only by an interaction that came before the report."""
        if impression.counts_until < counts_until:
            impression.counts_until, impression.is_changed = counts_until, True
        if impression.position or not position:
            return
        impression.position, impression.is_changed = position, True
        for kind in (SHOWN, *_kinds(impression.led_to)):
            self._counts.move(_count_key(impression, kind), position)

    def _lead_to(self, impression: Impression, kind: InteractionType) -> None:
        bit = 1 << kind.code
        if impression.led_to & bit:
            return
        before = set(_kinds(impression.led_to))
        impression.led_to |= bit
        impression.is_changed = True
        for each in _kinds(impression.led_to):
            if each not in before:
                self._count(impression, each)

    def _count(self, impression: Impression, kind: int) -> None:
        self._counts.add(_count_key(impression, kind), impression.position, group_of(impression.person))

    def _to_row(self, impression: Impression) -> tuple[Any, ...]:
        """Return the columns of a row, in their order."""
        return (
            self._source,
            self._incarnation,
            impression.list_key,
            piece_key(self._source, impression.piece_id),
            impression.person,
            impression.piece_id,
            impression.placement,
            impression.variant,
            impression.position,
            impression.shown_at,
            impression.counts_until,
            impression.led_to,
        )

    def _to_change(self, impression: Impression) -> dict[str, Any]:
        return {
            "of_source": self._source,
            "of_incarnation": self._incarnation,
            "of_list": impression.list_key,
            "of_piece": piece_key(self._source, impression.piece_id),
            "position": impression.position,
            "counts_until": impression.counts_until,
            "led_to": impression.led_to,
        }

    def _day_rows(self, days: Iterable[tuple[str, str, str, int]]) -> list[dict[str, Any]]:
        """Return the rows that widen the days on which pieces were shown, in the order of their keys."""
        return [
            {
                "source_id": self._source,
                "incarnation": self._incarnation,
                "placement": placement,
                "variant": variant,
                "piece_key": piece_key(self._source, piece_id),
                "first_day": day,
                "last_day": day,
            }
            for placement, variant, piece_id, day in sorted(days)
        ]


# Made once: every commit of interactions runs it.
_ANY = (
    select(impressions.c.source_id)
    .where(impressions.c.source_id == bindparam("source"), impressions.c.incarnation == bindparam("incarnation"))
    .limit(1)
)
_UPDATE = update(impressions).where(
    impressions.c.source_id == bindparam("of_source"),
    impressions.c.incarnation == bindparam("of_incarnation"),
    impressions.c.list_key == bindparam("of_list"),
    impressions.c.piece_key == bindparam("of_piece"),
)


def _kinds(led_to: int) -> list[int]:
    """Return the kinds of counts that an impression with these bits is in, beside that of what was shown."""
    kinds = [kind.code for kind in InteractionType if led_to & 1 << kind.code]
    return [*kinds, SUCCEEDED] if led_to & SUCCESSES else kinds


def _count_key(impression: Impression, kind: int) -> CountKey:
    # By the day on which it was shown, whenever something comes of it: so rates of days are shares of what was shown.
    return CountKey(impression.placement, day_of(impression.shown_at), impression.variant, kind)


def _portions(keys: Collection[bytes]) -> Iterable[list[bytes]]:
    found = iter(keys)
    while portion := list(islice(found, KEYS_AT_ONCE)):
        yield portion
