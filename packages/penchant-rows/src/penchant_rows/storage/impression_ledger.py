"""Ledger of impressions: what one transaction reads, adds and changes of what was shown, with the counts that follow.

A piece of a list is one impression, however often it is reported. An interaction is attributed to one of them: of the
list that it names, or of the last one that showed the piece to the person, for as long as that counts. Of each type
only the first one counts, of a piece that a placement showed to a person several times on a day the first one of all
these, so that no count is greater than that of what was shown. What counts say of an impression follows from the
impression (`_counts_of`); whenever it changes, they change by the difference.

A person has a part in a placement, bounded by lists a day; so have the lists for nobody, all together, by pieces.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection, Select, Table, and_, bindparam, case, delete, or_, select, update

from penchant.storage import statements
from penchant.storage.databases.opening import AnyDatabase
from penchant.storage.hashing import list_person, piece_key, user_key
from penchant.storage.parts import RecordedInteraction
from penchant.storage.people import off_list_people
from penchant.storage.schema import INTERACTIONS, counters, sources
from penchant.storage.secrets import LIST_IDS, read_secret
from penchant.storage.transaction import INTERACTIONS_LANE, SourceCommand, WriteTransaction
from penchant_engine.model import DAY_MS, PIN, QUOTA, InteractionType
from penchant_rows.model import IMPRESSION_DAYS, ListIdentity, NewImpression
from penchant_rows.storage.placement_counts import (
    LISTS,
    PINNED_STAGE,
    RAISED,
    SHOWN,
    SUCCEEDED,
    CountAdditions,
    CountKey,
    day_of,
    group_of,
    stage_of,
    stored_kind,
)
from penchant_rows.storage.tables import impressions, placement_counts, placement_people, placement_pieces, placements

MAX_LIST_PIECES = 100
"""Pieces that are taken of a list whose id does not prove what was in it: nobody fills the table with one id."""
LISTS_A_DAY = 20
"""Lists of a placement that count of a person on a day: more than people look at, few for whoever makes them up."""
ANONYMOUS_PIECES_A_DAY = 200_000
"""Pieces of lists for nobody that a source keeps of a day: 1.5 to 4 GB in 30 days; no verdict goes by them."""
KEYS_AT_ONCE = 500
"""Lists, and people, in one look-up: both databases bound the parameters of a statement."""
SUCCESSES = sum(1 << kind.code for kind in InteractionType if kind.default_weight > 0)
"""The bits of the types of interaction that speak for a piece."""
COUNT_DAYS = 800
"""How long counts are kept: two years to compare, and some time to do it."""
_MOMENT_BYTES = 5
"""Seconds since 1970, the first bytes of a list's id (`penchant_rows.wire.list_ids`): so keys of lists sort by it."""


IMPRESSION_BYTES = 400
"""What an impression takes while it waits, about."""


class ImpressionReceipt(NamedTuple):
    """What came of impressions: how many were stored, and were known.

    ``unstored`` were shown to people who are switched off, ``beyond`` were not kept because there were enough that day.
    """

    version: int
    interactions_version: int
    created: int
    duplicates: int
    unstored: int
    beyond: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordImpressions(SourceCommand[ImpressionReceipt]):
    """Store what was shown; a piece of a list that is known already is not stored again.

    For ``window_ms`` afterwards interactions that name no list are attributed to it.
    """

    lane: ClassVar[str] = INTERACTIONS_LANE
    is_batched: ClassVar[bool] = True

    impressions: Sequence[NewImpression]
    window_ms: int
    by_page: bool = False
    """Whether a browser key has sent them."""

    @property
    def size_bytes(self) -> int:
        """About that of the impressions."""
        return IMPRESSION_BYTES * len(self.impressions)

    def apply(self, transaction: WriteTransaction) -> ImpressionReceipt:
        """Store them alone."""
        return self.apply_together(transaction, [self])[0]

    @classmethod
    def apply_together(
        cls, transaction: WriteTransaction, commands: Sequence["RecordImpressions"]
    ) -> list[ImpressionReceipt]:
        """Store the impressions of several commands of one source, each piece of a list once.

        Those of people who are switched off are not stored.
        """
        # The same lock as for interactions: both add to the same counts.
        connection, row = transaction.connection, transaction.require_source(commands[0], INTERACTIONS)
        ledger = ImpressionLedger(connection, transaction.database, row)
        shown_to = {each.identity.person for command in commands for each in command.impressions}
        off = off_list_people(connection, transaction.database, row, shown_to)
        ledger.load_lists([each.identity for command in commands for each in command.impressions])
        receipts = []
        for command in commands:
            before = ledger.beyond
            stored = [each for each in command.impressions if each.identity.person not in off]
            accepted = sum(
                ledger.show(each, counts_until=each.shown_at + command.window_ms, by_page=command.by_page)
                for each in stored
            )
            receipts.append(
                ImpressionReceipt(
                    version=row.version,
                    interactions_version=row.interactions_version,
                    created=accepted,
                    duplicates=len(stored) - accepted,
                    unstored=len(command.impressions) - len(stored),
                    beyond=ledger.beyond - before,
                )
            )
        ledger.store()
        _tick(connection, row.source_id)
        return receipts


def attribute(transaction: WriteTransaction, row: Any, recorded: Sequence[RecordedInteraction]) -> None:
    """Attribute interactions that were just stored to what their people were shown.

    Each comes with the piece in a list that it names, if it does, and whether a browser key has reported it.
    """
    connection = transaction.connection
    ledger = ImpressionLedger(connection, transaction.database, row)
    named = [shown for _, shown, _ in recorded if shown is not None]
    # Most sources have no placements: to them it costs one look.
    if not named and ledger.is_empty():
        return
    secret = read_secret(connection, LIST_IDS)
    people = {
        each.user_id: list_person(secret, user_key(row.source_id, each.user_id))
        for each, shown, _ in recorded
        if shown is None
    }
    pieces: dict[bytes, set[str]] = defaultdict(set)
    for each, shown, _ in recorded:
        person = people[each.user_id] if shown is None else shown.identity.person
        if person:
            pieces[person].add(each.piece_id)
    ledger.load_lists([shown.identity for shown in named])
    ledger.load_people(pieces)
    for each, shown, by_page in recorded:
        if shown is None:
            person = people[each.user_id]
            ledger.attribute_to_last(each.type, each.piece_id, each.occurred_at, person, by_page=by_page)
        else:
            ledger.attribute(each.type, each.occurred_at, shown, by_page=by_page)
    ledger.store()


def forget_impressions(transaction: WriteTransaction, row: Any, user_id: str) -> bool:
    """Delete what a person was shown; return whether there was anything. What was counted of it stays counted."""
    connection = transaction.connection
    secret = read_secret(connection, LIST_IDS)
    if not secret:
        return False
    person = list_person(secret, user_key(row.source_id, user_id))
    # Those of earlier incarnations as well, which housekeeping has not removed yet. Apart: each is a range of an index.
    removed = [
        connection.execute(
            delete(table).where(table.c.source_id == row.source_id, table.c.person == person, is_of)
        ).rowcount
        for table in (impressions, placement_people)
        for is_of in (table.c.incarnation == row.incarnation, table.c.incarnation < row.incarnation)
    ]
    is_there = any(removed)
    if is_there:
        _tick(connection, row.source_id)
    return is_there


def purge_impressions(connection: Connection, source: int, now: int, chunk: int, retention_days: int) -> int:
    """Remove up to ``chunk`` rows of each table that are past their life, or of a deleted source.

    What people were shown goes by the age of the list: as soon as no more is taken in of it.
    """
    head = select(sources.c.incarnation, sources.c.deleted).where(sources.c.source_id == source)
    row = connection.execute(head).one()
    days = min(retention_days, IMPRESSION_DAYS)
    oldest = first_key(now - days * DAY_MS)
    first_day = now // DAY_MS - COUNT_DAYS
    ages: dict[Table, Any] = {
        impressions: impressions.c.list_key < oldest,
        placement_people: placement_people.c.day < now // DAY_MS - days,
        placement_counts: placement_counts.c.day < first_day,
        placement_pieces: placement_pieces.c.last_day < first_day,
    }
    # Rows of one incarnation lie together, those of former ones first.
    present = row.incarnation + 1 if row.deleted else row.incarnation
    removed = 0
    for table, is_old in ages.items():
        own = table.c.source_id == source
        # Two look-ups, each along the key: with both conditions in one, all rows of the source would be read.
        for is_gone in (table.c.incarnation < present, and_(table.c.incarnation == row.incarnation, is_old)):
            removed += statements.remove_chunk(connection, table, and_(own, is_gone), chunk)
    return removed


def first_key(made_at: int) -> bytes:
    """Return what the keys of lists made at a moment (ms since 1970 UTC) or later are not less than."""
    return (max(0, made_at) // 1000).to_bytes(_MOMENT_BYTES, "big")


def made_at_of(list_key: bytes) -> int:
    """Return the moment of a list by its key, in ms since 1970 UTC, cut to a second."""
    return int.from_bytes(list_key[:_MOMENT_BYTES], "big") * 1000


class Impression(msgspec.Struct):
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
    stage: int = 0
    by_page: int = 0
    repeated: bool = False
    raised: bool | None = None
    is_new: bool = False
    is_changed: bool = False


class _PersonPart(msgspec.Struct):
    """How much a person has been shown in a placement (`penchant.storage.schema.placement_people`)."""

    version: int = 0
    day: int = 0
    lists: int = 0
    pieces: int = 0


class ImpressionLedger:
    """The impressions of a source that a transaction needs; its source's counter is locked."""

    def __init__(self, connection: Connection, database: AnyDatabase, row: Any) -> None:
        self._connection = connection
        self._database = database
        self._source: int = row.source_id
        self._incarnation: int = row.incarnation
        self._impressions: dict[tuple[bytes, str], Impression] = {}
        self._of_person: dict[tuple[bytes, str], list[Impression]] = defaultdict(list)
        self._sizes: Counter[bytes] = Counter()
        self._parts: dict[tuple[bytes, str], _PersonPart] = defaultdict(_PersonPart)
        self._changed_parts: set[tuple[bytes, str]] = set()
        self._refused: set[bytes] = set()
        self._versions: dict[str, int] = {}
        self._counts = CountAdditions()
        self.beyond = 0

    def is_empty(self) -> bool:
        """Return whether nothing is stored that could be attributed to."""
        own = {"source": self._source, "incarnation": self._incarnation}
        return not self._database.run(self._connection, _ANY, own)

    def load_lists(self, identities: Collection[ListIdentity]) -> None:
        """Read what was shown of these lists, and the parts of those whom they are for."""
        if not identities:
            return
        for portion in statements.portions({each.key for each in identities}, KEYS_AT_ONCE):
            self._load(select(impressions).where(self._own(), impressions.c.list_key.in_(portion)))
        parts = placement_people.c
        own = (parts.source_id == self._source) & (parts.incarnation == self._incarnation)
        for portion in statements.portions({each.person for each in identities}, KEYS_AT_ONCE):
            for row in self._connection.execute(select(placement_people).where(own, parts.person.in_(portion))):
                part = _PersonPart(version=row.version, day=row.day, lists=row.lists, pieces=row.pieces)
                self._parts[bytes(row.person), row.placement] = part
        in_force = select(placements.c.name, placements.c.version).where(placements.c.source_id == self._source)
        self._versions = {row.name: row.version for row in self._connection.execute(in_force)}

    def load_people(self, pieces: Mapping[bytes, Collection[str]]) -> None:
        """Read where these people were shown these pieces."""
        for portion in statements.portions(pieces, KEYS_AT_ONCE):
            # The source within each alternative: only so SQLite looks each of them up by the index of people.
            shown = or_(*(and_(self._own(), self._shown_to(person, pieces[person])) for person in portion))
            self._load(select(impressions).where(shown))

    def show(self, shown: NewImpression, *, counts_until: int, by_page: bool) -> bool:
        """Note a piece of a list as shown; return ``False`` where it is known, or there are too many already.

        Beyond the part of whom the list is for, and in a list that has too many, nothing is noted.
        """
        identity = shown.identity
        known = self._impressions.get((identity.key, shown.piece_id))
        if known is not None:
            with self._changing(known):
                known.counts_until = max(known.counts_until, counts_until)
                known.position = known.position or shown.position
                if not by_page:
                    known.by_page &= ~1
            return False
        if self._sizes[identity.key] >= MAX_LIST_PIECES:
            return False
        part = self._take_part(identity)
        if part is None:
            self.beyond += 1
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
            stage=stage_of(part.pieces) if identity.person else 0,
            by_page=int(by_page),
            raised=shown.rule == QUOTA or None,
            is_new=True,
        )
        if not self._sizes[identity.key]:
            self._counts.add(_count_key(impression, LISTS, by_page=by_page), 0, group_of(identity.person))
        # Whoever sees a pin is not seen to see more of what rates are by; the bound of all is of everything.
        part.pieces += not (shown.rule == PIN and identity.person)
        if shown.rule == PIN:
            impression.stage = PINNED_STAGE
        self._keep(impression)
        self._count(_counts_of(impression), impression, by=1)
        return True

    def attribute(self, kind: InteractionType, occurred_at: int, shown: NewImpression, *, by_page: bool) -> None:
        """Attribute an interaction to the list that it names; a piece that people do something with was shown.

        To nothing where the list is beyond the part of whom it is for.
        """
        at = max(occurred_at, shown.shown_at)
        self.show(replace(shown, shown_at=at), counts_until=0, by_page=by_page)
        impression = self._impressions.get((shown.identity.key, shown.piece_id))
        if impression is not None:
            self._lead_to(impression, kind, by_page=by_page)

    def attribute_to_last(
        self, kind: InteractionType, piece_id: str, occurred_at: int, person: bytes, *, by_page: bool
    ) -> None:
        """Attribute an interaction to the last list that showed the piece to the person, if that still counts."""
        # By the moment of the list, which is the service's own clock; what is reported as seen may be another's.
        counting = (
            each
            for each in self._of_person.get((person, piece_id), ())
            if made_at_of(each.list_key) <= occurred_at <= each.counts_until
        )
        last = max(counting, key=lambda each: each.list_key, default=None)
        if last is not None:
            self._lead_to(last, kind, by_page=by_page)

    def store(self) -> None:
        """Write what is new and what has changed, and the counts."""
        new = sorted(
            (each for each in self._impressions.values() if each.is_new),
            key=lambda each: (each.list_key, each.piece_id),
        )
        if new:
            self._database.append_rows(self._connection, impressions, [self._to_row(each) for each in new])
            days = {(each.placement, each.variant, each.piece_id, day_of(each.shown_at)) for each in new}
            self._connection.execute(_note_shown(self._database.insert), self._day_rows(days))
        changed = [each for each in self._impressions.values() if each.is_changed and not each.is_new]
        if changed:
            self._connection.execute(_UPDATE, [self._to_change(each) for each in changed])
        if self._changed_parts:
            statement = statements.upsert(self._database.insert, placement_people)
            self._connection.execute(statement, [self._to_part_row(each) for each in sorted(self._changed_parts)])
        self._counts.store(self._connection, self._database.insert, self._source, self._incarnation)

    def _own(self) -> Any:
        return and_(impressions.c.source_id == self._source, impressions.c.incarnation == self._incarnation)

    def _shown_to(self, person: bytes, piece_ids: Collection[str]) -> Any:
        keys = [piece_key(self._source, piece_id) for piece_id in piece_ids]
        return and_(impressions.c.person == person, impressions.c.piece_key.in_(keys))

    def _load(self, statement: Select[Any]) -> None:
        for row in self._connection.execute(statement):
            if (bytes(row.list_key), row.piece_id) not in self._impressions:
                self._keep(Impression(**{name: getattr(row, name) for name in _STORED}))

    def _keep(self, impression: Impression) -> None:
        self._impressions[impression.list_key, impression.piece_id] = impression
        self._sizes[impression.list_key] += 1
        if impression.person:
            self._of_person[impression.person, impression.piece_id].append(impression)

    def _take_part(self, identity: ListIdentity) -> _PersonPart | None:
        """Return the part to which a new piece of a list belongs; ``None`` where that has as much as may count."""
        if identity.key in self._refused:
            return None
        key = (identity.person, identity.placement if identity.person else "")
        part, version = self._parts[key], self._versions.get(key[1], 0)
        # Days only go on: whoever reports late, or names days of before, gets no others for it.
        day = day_of(identity.made_at)
        if part.day < day:
            part.day, part.lists = day, 0
            part.pieces = part.pieces if identity.person else 0
        if part.version != version:
            part.version, part.pieces = version, 0
        is_new = not self._sizes[identity.key]
        if part.lists >= LISTS_A_DAY and is_new if identity.person else part.pieces >= ANONYMOUS_PIECES_A_DAY:
            self._refused.add(identity.key)
            return None
        part.lists += is_new
        self._changed_parts.add(key)
        return part

    def _lead_to(self, impression: Impression, kind: InteractionType, *, by_page: bool) -> None:
        """Note what an impression led to; of a piece and day it is counted with the first one that led to something."""
        first = None if impression.led_to and not impression.repeated else self._first_of_day(impression)
        if first is not None:
            impression.repeated = True
            self._lead_to(first, kind, by_page=by_page)
        bit = 1 << kind.code
        with self._changing(impression):
            if not impression.led_to & bit:
                impression.led_to |= bit
                impression.by_page |= bit * by_page
            elif not by_page:
                impression.by_page &= ~bit

    def _first_of_day(self, impression: Impression) -> Impression | None:
        for each in self._of_person.get((impression.person, impression.piece_id), ()):
            is_same = each.placement == impression.placement and day_of(each.shown_at) == day_of(impression.shown_at)
            if is_same and each is not impression and each.led_to and not each.repeated:
                return each
        return None

    @contextmanager
    def _changing(self, impression: Impression) -> Iterator[None]:
        """Have the counts follow what the block changes of an impression."""
        before, was = replace(impression), _counts_of(impression)
        yield
        if impression != before:
            impression.is_changed = True
            self._count(was, before, by=-1)
            self._count(_counts_of(impression), impression, by=1)

    def _count(self, keys: Iterable[CountKey], impression: Impression, *, by: int) -> None:
        for key in keys:
            self._counts.add(key, impression.position, group_of(impression.person), by=by)

    def _to_row(self, impression: Impression) -> tuple[Any, ...]:
        piece = piece_key(self._source, impression.piece_id)
        own = {"source_id": self._source, "incarnation": self._incarnation, "piece_key": piece}
        own |= {name: getattr(impression, name) for name in _STORED}
        return tuple(own[column.name] for column in impressions.columns)

    def _to_change(self, impression: Impression) -> dict[str, Any]:
        return {
            "of_source": self._source,
            "of_incarnation": self._incarnation,
            "of_list": impression.list_key,
            "of_piece": piece_key(self._source, impression.piece_id),
            "position": impression.position,
            "counts_until": impression.counts_until,
            "led_to": impression.led_to,
            "by_page": impression.by_page,
            "repeated": impression.repeated,
        }

    def _to_part_row(self, key: tuple[bytes, str]) -> dict[str, Any]:
        person, placement = key
        own = {"source_id": self._source, "incarnation": self._incarnation, "person": person, "placement": placement}
        return own | msgspec.structs.asdict(self._parts[key])

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


_STORED = tuple(each.name for each in msgspec.structs.fields(Impression) if each.name in impressions.columns)
"""The columns that an `Impression` has as they are."""
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


def _counts_of(impression: Impression) -> list[CountKey]:
    """Return the counts that an impression is in; what it led to is a page's word where that it was shown is."""
    shown_by_page, led_to = bool(impression.by_page & 1), impression.led_to
    counts = [_count_key(impression, SHOWN, by_page=shown_by_page)]
    if impression.repeated:
        return _with_raised(counts, impression)
    bits = {kind.code: 1 << kind.code for kind in InteractionType} | {SUCCEEDED: SUCCESSES}
    for kind, mask in bits.items():
        if led_to & mask:
            by_page = shown_by_page or not led_to & mask & ~impression.by_page
            counts.append(_count_key(impression, kind, by_page=by_page))
    return _with_raised(counts, impression)


def _with_raised(counts: list[CountKey], impression: Impression) -> list[CountKey]:
    """Return the counts with those that tell apart what a quota raised."""
    return counts + [each._replace(kind=each.kind + RAISED) for each in counts if impression.raised]


def _count_key(impression: Impression, kind: int, *, by_page: bool) -> CountKey:
    # By the day on which it was shown, whenever something comes of it: so rates of days are shares of what was shown.
    return CountKey(
        impression.placement,
        day_of(impression.shown_at),
        impression.variant,
        stored_kind(kind, impression.stage, by_page=by_page),
    )


def _tick(connection: Connection, source: int) -> None:
    """Move the clock of a source's interactions on: by it a move to another database knows of a change."""
    connection.execute(
        update(counters)
        .where(counters.c.source_id == source, counters.c.kind == INTERACTIONS)
        .values(clock=counters.c.clock + 1)
    )


def _note_shown(insert: statements.Insert) -> Any:
    """Return the dialect's insert of a piece that was shown, which widens the days of a row that is there."""
    statement = insert(placement_pieces)
    days, given = placement_pieces.c, statement.excluded
    earlier, later = given.first_day < days.first_day, given.last_day > days.last_day
    return statement.on_conflict_do_update(
        index_elements=[column.name for column in placement_pieces.primary_key.columns],
        set_={
            "first_day": case((earlier, given.first_day), else_=days.first_day),
            "last_day": case((later, given.last_day), else_=days.last_day),
        },
        where=or_(earlier, later),
    )
