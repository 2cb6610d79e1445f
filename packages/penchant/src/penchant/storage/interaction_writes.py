"""Writes of what people do and say: interactions, each stored once and taken back, preferences, and erasures.

To take something back says to followers what an erasure says, and then what is left, at new versions: so they forget it
by what they know already, and nothing but an erasure ever ends what the feed has told (D183 of docs/decisions.md).

Each takes versions of the interactions' counter of its source, which the transaction has locked.
"""

import functools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, select

from penchant.model import NewInteraction
from penchant.storage import statements
from penchant.storage.databases.opening import AnyDatabase
from penchant.storage.hashing import PIECE, USER, event_key, shared_event_key, text_keys, user_key
from penchant.storage.owed_erasures import owe_erasure
from penchant.storage.parts import RecordedInteraction
from penchant.storage.people import off_person, off_users
from penchant.storage.piece_writes import read_bodies
from penchant.storage.schema import (
    CONTENT,
    ERASURE_CODE,
    INTERACTIONS,
    TYPE_CODES,
    event_ids,
    interactions,
    preferences,
    taken_back,
)
from penchant.storage.secrets import ERASURES, ensure_secret, hide_key
from penchant.storage.source_reader import stored_settings
from penchant.storage.transaction import INTERACTIONS_LANE, SourceCommand, WriteTransaction
from penchant_engine.model import InteractionType, StoredInteraction

_EVENTS = """
SELECT event_key, version, (
    SELECT user_key FROM interactions
    WHERE interactions.source_id = event_ids.source_id AND interactions.version = event_ids.version
) AS owner FROM event_ids"""
"""Event ids and whose they are. A join would do as well, but PostgreSQL may read all interactions for one."""
_TAKEN_BACK = "SELECT event_key, version, user_key AS owner FROM taken_back"


INTERACTION_BYTES = 400
"""What an interaction, or another report of a person, takes while it waits, about."""


class PeopleChange(NamedTuple):
    """What came of a change of a person: where the source's content and interactions stand, and how many are gone.

    ``unreached`` are the tables of packages that are not installed, of which an erasure is owed.
    """

    version: int
    interactions_version: int
    deleted: int = 0
    unreached: Sequence[str] = ()


class InteractionReceipt(NamedTuple):
    """What came of interactions: each as it is stored, for a stored event id the one that was stored first.

    ``moments`` are those of new ones, ``settings`` the source's where one is not recent. ``unstored`` are those of
    people who are switched off. What `looks_up` has ``is_known`` and, for a page, the ``piece``.
    """

    version: int
    interactions_version: int
    interactions: tuple[StoredInteraction, ...]
    moments: Sequence[int]
    duplicates: int
    unstored: int
    settings: bytes = b""
    is_known: bool = True
    piece: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordInteractions(SourceCommand[InteractionReceipt]):
    """Store interactions; one whose event id is known already (or repeats in the command) is not stored."""

    lane: ClassVar[str] = INTERACTIONS_LANE
    is_batched: ClassVar[bool] = True

    interactions: Sequence[NewInteraction]
    by_page: bool = False
    """Whether a browser key has sent them."""
    looks_up: bool = False
    """Whether to tell of the first one's piece if it is there: what is sent alone."""
    recent_from: int = 0
    """Where something new is from before this moment, the source's settings tell what becomes of it."""

    @property
    def size_bytes(self) -> int:
        """About that of the interactions."""
        return INTERACTION_BYTES * len(self.interactions)

    def apply(self, transaction: WriteTransaction) -> InteractionReceipt:
        """Store them alone."""
        return self.apply_together(transaction, [self])[0]

    @classmethod
    def apply_together(
        cls, transaction: WriteTransaction, commands: Sequence["RecordInteractions"]
    ) -> list[InteractionReceipt]:
        """Store the interactions of several commands of one source."""
        row = transaction.require_source(commands[0], INTERACTIONS)
        receipts = _record(transaction, row, commands)
        pairs = zip(commands, receipts, strict=True)
        if any(moment < command.recent_from for command, receipt in pairs for moment in receipt.moments):
            settings = stored_settings(transaction.connection, row.source_id)
            receipts = [receipt._replace(settings=settings) for receipt in receipts]
        return _with_pieces(transaction, row, commands, receipts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacePreferences(SourceCommand[PeopleChange]):
    """Replace a person's preferences (JSON); empty removes them. Without ``is_personal`` they switch the person off."""

    lane: ClassVar[str] = INTERACTIONS_LANE

    user_id: str
    preferences: bytes
    is_personal: bool = True

    @property
    def size_bytes(self) -> int:
        """That of the preferences."""
        return len(self.preferences)

    @property
    def forgets(self) -> bool:
        """Whether they are removed."""
        return not self.preferences

    def apply(self, transaction: WriteTransaction) -> PeopleChange:
        """Store them, or remove them; to remove what is not there takes no version."""
        connection, insert_into = transaction.connection, transaction.database.insert
        row = transaction.require_source(self, INTERACTIONS)
        key = user_key(row.source_id, self.user_id)
        version = int(row.interactions_version) + 1
        if self.preferences:
            stored = {
                "source_id": row.source_id,
                "user_key": key,
                "version": version,
                "user_id": self.user_id,
                "body": self.preferences,
                "off_person": None if self.is_personal else off_person(connection, insert_into, key),
            }
            connection.execute(statements.upsert(insert_into, preferences), stored)
        elif not _remove_preferences(connection, row, key):
            return PeopleChange(row.version, version - 1)
        _raise_version(transaction, row, version, _moment(transaction, row))
        return PeopleChange(row.version, version)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeBack(SourceCommand[PeopleChange]):
    """Delete what a person did of one type with a piece: all of it, or what an event id or a moment tells."""

    lane: ClassVar[str] = INTERACTIONS_LANE

    user_id: str
    type: InteractionType
    piece_id: str
    event_id: str | None = None
    occurred_at: int | None = None

    @property
    def forgets(self) -> bool:
        """Always."""
        return True

    def apply(self, transaction: WriteTransaction) -> PeopleChange:
        """Delete them, at the versions of an erasure and of what is left; what is not there takes no version."""
        connection = transaction.connection
        row = transaction.require_source(self, INTERACTIONS)
        source, key = row.source_id, user_key(row.source_id, self.user_id)
        chosen = [_of_person(source, key), interactions.c.version > row.interactions_cleared_at]
        left = select(interactions.c.version).where(*chosen).order_by(interactions.c.version)
        chosen += [interactions.c.type == TYPE_CODES[self.type], interactions.c.piece_id == self.piece_id]
        if self.occurred_at is not None:
            chosen.append(interactions.c.occurred_at == self.occurred_at)
        if self.event_id is not None:
            known = _find_versions(connection, row, _Keys(source), [(self.user_id, self.event_id)])
            chosen.append(interactions.c.version.in_(list(known.values())))
        removed = list(connection.execute(select(interactions.c.version).where(*chosen)).scalars())
        if not removed:
            return PeopleChange(row.version, row.interactions_version)
        now = _moment(transaction, row)
        erased_at = _note_erasure(connection, transaction.database.insert, row, key, now)
        for some in statements.portions(removed):
            own = (event_ids.c.source_id == source) & event_ids.c.version.in_(some)
            keys = connection.execute(delete(event_ids).where(own).returning(event_ids.c.event_key)).scalars()
            events = [{"source_id": source, "event_key": bytes(each), "user_key": key} for each in keys]
            if events:
                noted = [each | {"version": erased_at, "taken_at": now} for each in events]
                connection.execute(statements.upsert(transaction.database.insert, taken_back), noted)
            gone = (interactions.c.source_id == source) & interactions.c.version.in_(some)
            connection.execute(delete(interactions).where(gone))
        moved = [
            {"source": source, "old": old, "new": new}
            for new, old in enumerate(connection.execute(left).scalars(), start=erased_at + 1)
        ]
        if moved:
            for statement in statements.MOVE_INTERACTION, statements.MOVE_EVENT:
                connection.execute(statement, moved)
        version = erased_at + len(moved)
        _raise_version(transaction, row, version, now, erased_at=erased_at)
        return PeopleChange(row.version, version, deleted=len(removed))


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseUser(SourceCommand[PeopleChange]):
    """Delete all that is stored of a person, event ids and what plugins keep included."""

    lane: ClassVar[str] = INTERACTIONS_LANE

    user_id: str

    @property
    def forgets(self) -> bool:
        """Always."""
        return True

    def apply(self, transaction: WriteTransaction) -> PeopleChange:
        """Delete it all, and add an erasure to the feed where followers have something to forget."""
        parts = [part for part in transaction.parts if part.erase is not None]
        followed = any(part.follow is not None and part.follows_people for part in parts)
        row = transaction.require_source(self, INTERACTIONS, *([CONTENT] if followed else []))
        version = _erase(transaction, row, user_key(row.source_id, self.user_id))
        had_more = [part for part in parts if part.erase is not None and part.erase(transaction, row, self.user_id)]
        if version is not None or had_more:
            transaction.note(self, "user.erase")
        is_stale = any(part.follow is not None and part.follows_people for part in had_more)
        return PeopleChange(
            transaction.raise_version(row) if is_stale else row.version,
            version or row.interactions_version,
            unreached=owe_erasure(transaction, row.source_id, self.user_id),
        )


def _record(
    transaction: WriteTransaction, row: Any, commands: Sequence[RecordInteractions]
) -> list[InteractionReceipt]:
    """Store the interactions of several commands; return a receipt for each.

    Those with a known event id are stored already, and of people who are switched off nothing is.
    ``row`` is the source's, with its interactions counter locked. All commands together cost a few statements,
    so that a group of single interactions is stored as fast as one request with many.
    """
    connection, database = transaction.connection, transaction.database
    now, keys = _moment(transaction, row), _Keys(row.source_id)
    new = [each for command in commands for each in command.interactions]
    off = off_users(connection, database, row, {each.user_id for each in new})
    begin = functools.partial(_InteractionRecorder, row, now, keys, off)
    is_new = all(each.event_id is None for each in new) or (
        # As nearly always, none of the event ids is there: to store them tells that, without a look-up of each (D238 of
        # docs/decisions.md). Of people who are off none is stored, and so nothing told.
        row.own_events and not off and not transaction.run(statements.ANY_TAKEN_BACK, source=row.source_id)
    )
    if is_new:
        recording = begin({})
        receipts = [recording.take(command) for command in commands]
        is_new = _store_new_events(connection, database, row, recording.events)
    if not is_new:
        recording = begin(_read_events(connection, database, row, keys, new))
        receipts = [recording.take(command) for command in commands]
        # Replaced, not only inserted: a row of this key may be left from before a clearing, which does not count.
        if recording.events:
            database.upsert_rows(connection, event_ids, recording.events)
    if recording.stored:
        database.append_rows(connection, interactions, _to_rows(row.source_id, keys, recording.stored))
        # Of nothing of a piece nothing came (D188 of docs/decisions.md).
        counted = [each for each in recording.stored if each[0].portion != 0 or each[0].type.is_rating]
        for part in transaction.parts:
            if counted and part.record is not None:
                part.record(transaction, row, counted)
        _raise_version(transaction, row, recording.version, now)
    return receipts


def _with_pieces(
    transaction: WriteTransaction,
    row: Any,
    commands: Sequence[RecordInteractions],
    receipts: Sequence[InteractionReceipt],
) -> list[InteractionReceipt]:
    """Return receipts that tell of pieces, to commands that look them up: one look-up for all."""
    ids: dict[str, bool] = {}
    for command in commands:
        if command.looks_up:
            piece_id = command.interactions[0].piece_id
            ids[piece_id] = ids.get(piece_id, False) or command.by_page
    if not ids:
        return list(receipts)
    looked_up = transaction.run(statements.KNOWN_PIECES, source=row.source_id, cleared_at=row.cleared_at, ids=list(ids))
    known = {piece_id for (piece_id,) in looked_up}
    by_page = [each for each, is_by_page in ids.items() if is_by_page and each in known]
    bodies = read_bodies(transaction, row, by_page) if by_page else {}
    told, plain = list(receipts), known - bodies.keys()
    for place, command in enumerate(commands):
        # Nearly all are known, and what they have by default says so.
        if command.looks_up and (piece_id := command.interactions[0].piece_id) not in plain:
            body = bodies.get(piece_id) if command.by_page else None
            told[place] = told[place]._replace(is_known=piece_id in known, piece=body)
    return told


class _Keys:
    """The keys of a source's people, pieces and events, each made once for all that a transaction wants it for."""

    def __init__(self, source: int) -> None:
        self.user = functools.cache(text_keys(source, USER))
        self.piece = functools.cache(text_keys(source, PIECE))
        self.event = functools.cache(functools.partial(event_key, source))


def _store_new_events(
    connection: Connection, database: AnyDatabase, row: Any, events: Sequence[tuple[int, bytes, int]]
) -> bool:
    """Store event ids, and return whether all are new; of others none is stored, and those that were stay."""
    if not events or database.insert_missing_rows(connection, event_ids, events) == len(events):
        return True
    added = (event_ids.c.source_id == row.source_id) & (event_ids.c.version > row.interactions_version)
    connection.execute(delete(event_ids).where(added))
    return False


class _InteractionRecorder:
    """Gives versions to new interactions, in order, and recognises those that are stored already.

    ``events`` are those that are stored, by person and event id; ``off`` are people of whom nothing is.
    """

    def __init__(
        self, row: Any, now: int, keys: _Keys, off: frozenset[str], events: dict[tuple[str, str], StoredInteraction]
    ) -> None:
        self._row = row
        self._now = now
        self._keys = keys
        self._events = events
        self._off = off
        self._unstored = 0
        self.version = int(row.interactions_version)
        self.stored: list[RecordedInteraction] = []
        self.events: list[tuple[int, bytes, int]] = []

    def take(self, command: RecordInteractions) -> InteractionReceipt:
        before, unstored_before, by_page = len(self.stored), self._unstored, command.by_page
        answered = tuple([self._take(each, by_page=by_page) for each in command.interactions])
        unstored = self._unstored - unstored_before
        duplicates = len(answered) - (len(self.stored) - before) - unstored
        return InteractionReceipt(
            version=self._row.version,
            interactions_version=self.version,
            interactions=answered,
            moments=[interaction.occurred_at for interaction, *_ in self.stored[before:]],
            duplicates=duplicates,
            unstored=unstored,
        )

    def _take(self, new: NewInteraction, *, by_page: bool) -> StoredInteraction:
        """Return an interaction as it is stored: with the next version, or as it was when its event id came first.

        One that is not stored has the version 0.
        """
        user_id, kind, piece_id, occurred_at, event_id, shown_in, portion = new
        event = None if event_id is None else (user_id, event_id)
        if event is not None and event in self._events:
            return self._events[event]
        is_off = user_id in self._off
        version = 0 if is_off else self.version + 1
        moment = self._now if occurred_at is None else occurred_at
        # By place, as names cost more than all else here.
        interaction = StoredInteraction._make((user_id, kind, piece_id, moment, version, event_id, portion))
        if is_off:
            self._unstored += 1
            return interaction
        self.version = version
        self.stored.append((interaction, shown_in, by_page))
        if event is not None:
            # Of two of a person with the same event id in one group, of whichever requests, the second is a duplicate.
            self._events[event] = interaction
            self.events.append((self._row.source_id, self._keys.event(*event), version))
        return interaction


def _erase(transaction: WriteTransaction, row: Any, key: bytes) -> int | None:
    """Delete what a person did and said, add an erasure to the feed, and return its version.

    ``None``, and no row, where nothing is stored of the person: followers have nothing to forget then.
    """
    connection = transaction.connection
    is_live = interactions.c.version > row.interactions_cleared_at
    own = select(interactions.c.version).where(_of_person(row.source_id, key), is_live)
    is_there = connection.execute(own.limit(1)).first()
    # Cleared rows go as well, though they make no erasure: housekeeping may not have removed them yet.
    delete_interactions(connection, row.source_id, key)
    had_preferences = _remove_preferences(connection, row, key)
    if is_there is None and not had_preferences:
        return None
    now = _moment(transaction, row)
    version = _note_erasure(connection, transaction.database.insert, row, key, now)
    _raise_version(transaction, row, version, now, erased_at=version)
    return version


def _note_erasure(connection: Connection, insert_into: statements.Insert, row: Any, key: bytes, now: int) -> int:
    """Add an erasure of a person to the feed, and return its version."""
    version = int(row.interactions_version) + 1
    hidden, number = hide_key(ensure_secret(connection, insert_into, ERASURES), key)
    erasure = {
        "source_id": row.source_id,
        "version": version,
        "user_key": hidden,
        "piece_key": number,
        "type": ERASURE_CODE,
        "occurred_at": now,
        "user_id": "",
        "piece_id": "",
    }
    connection.execute(insert(interactions), erasure)
    return version


def delete_interactions(connection: Connection, source: int, key: bytes) -> None:
    """Delete the interactions of a person with their event ids; erasures stay, and reach followers."""
    own = _of_person(source, key)
    # A statement, not its result: a person may have more interactions than a statement may have parameters.
    versions = select(interactions.c.version).where(own)
    # The event ids first: which ones they are is found by the interactions.
    connection.execute(delete(event_ids).where(event_ids.c.source_id == source, event_ids.c.version.in_(versions)))
    connection.execute(delete(interactions).where(own))
    connection.execute(delete(taken_back).where(taken_back.c.source_id == source, taken_back.c.user_key == key))


def _of_person(source: int, key: bytes) -> ColumnElement[bool]:
    return and_(interactions.c.source_id == source, interactions.c.user_key == key, interactions.c.type != ERASURE_CODE)


def _remove_preferences(connection: Connection, row: Any, key: bytes) -> bool:
    """Delete a person's preferences; return whether there were some that count."""
    own = (preferences.c.source_id == row.source_id) & (preferences.c.user_key == key)
    version = connection.execute(delete(preferences).where(own).returning(preferences.c.version)).scalar_one_or_none()
    # Those from before a clearing, which housekeeping has yet to remove, do not count.
    return version is not None and version > row.interactions_cleared_at


def _moment(transaction: WriteTransaction, row: Any) -> int:
    """Return the present by the source's own clock of what people do and say, which never goes back."""
    return max(transaction.now, int(row.interactions_clock))


def _raise_version(
    transaction: WriteTransaction, row: Any, version: int, now: int, *, erased_at: int | None = None
) -> None:
    erased = row.erased_at if erased_at is None else erased_at
    transaction.run(statements.RAISE_INTERACTIONS, source=row.source_id, raised=version, moment=now, erased=erased)


def _read_events(
    connection: Connection, database: AnyDatabase, row: Any, keys: _Keys, new: Sequence[NewInteraction]
) -> dict[tuple[str, str], StoredInteraction]:
    """Return what is stored of these people under the event ids of these interactions, in this incarnation."""
    new_by_event = {(each.user_id, each.event_id): each for each in new if each.event_id is not None}
    versions = _find_versions(connection, row, keys, list(new_by_event))
    stored: dict[int, StoredInteraction] = {}
    for some in statements.portions(versions.values()):
        own = (interactions.c.source_id == row.source_id) & interactions.c.version.in_(some)
        for each in connection.execute(select(interactions.c.user_id, *statements.INTERACTION).where(own)):
            interaction = statements.to_interaction(*each)
            stored[interaction.version] = interaction
    versions |= _find_taken_back(connection, database, row, [event for event in new_by_event if event not in versions])
    # An event id without its interaction is still known: to store it again would count it twice.
    return {
        event: stored.get(version) or _unstored(new_by_event[event], version) for event, version in versions.items()
    }


def _find_taken_back(
    connection: Connection, database: AnyDatabase, row: Any, events: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    """Return at which versions events, each a person and an event id, were taken back."""
    source, versions = row.source_id, dict[tuple[str, str], int]()
    if not database.run(connection, statements.ANY_TAKEN_BACK, {"source": source}):
        return versions
    keys: dict[bytes, list[tuple[str, str]]] = defaultdict(list)
    for event in events:
        keys[event_key(source, *event)].append(event)
        keys[shared_event_key(source, event[1])].append(event)
    for each in _by_event_key(connection, _TAKEN_BACK, row, keys):
        theirs = [event for event in keys[bytes(each.event_key)] if user_key(source, event[0]) == bytes(each.owner)]
        versions |= dict.fromkeys(theirs, each.version)
    return versions


def _by_event_key(connection: Connection, statement: str, row: Any, keys: Iterable[bytes]) -> Iterator[Any]:
    """Yield the rows of `_EVENTS` or `_TAKEN_BACK` that a source has under keys, in its present incarnation."""
    # In the driver's words: SQLAlchemy takes longer for thousands of parameters than the database for the rows.
    mark = "?" if connection.dialect.name == "sqlite" else "%s"
    # In order: SQLite puts them into a tree of its own first, which then only grows at its end, and looks them up so.
    for some in statements.portions(sorted(keys)):
        marks = ", ".join([mark] * len(some))
        chosen = f"{statement} WHERE source_id = {mark} AND event_key IN ({marks})"
        for each in connection.exec_driver_sql(chosen, (row.source_id, *some)):
            # Not in the statement: with a bound of versions SQLite would read all rows of the source from there on.
            if each.version > row.interactions_cleared_at:
                yield each


def _find_versions(
    connection: Connection, row: Any, keys: _Keys, events: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    """Return under which versions events, each a person and an event id, are stored.

    Each is looked up under its key, and, where the source may have such, under the one of earlier releases, which many
    people may share: there only a row of this very person counts. Who owns a row is found in the same statement, by one
    look-up in an index, so that others who have the id change neither the statements nor how much they read.
    """
    source = row.source_id
    shared_keys: dict[bytes, dict[bytes, tuple[str, str]]] = defaultdict(dict)
    own_keys = {keys.event(*event): event for event in events}
    for event in () if row.own_events else events:
        shared_keys[shared_event_key(source, event[1])][keys.user(event[0])] = event
    rows = _by_event_key(connection, _EVENTS, row, [*own_keys, *shared_keys])
    versions: dict[tuple[str, str], int] = {}
    # An event is under both keys where nodes of two releases have stored it: what came first is answered.
    for each in sorted(rows, key=lambda each: int(each.version)):
        key, owner = bytes(each.event_key), b"" if each.owner is None else bytes(each.owner)
        owner_event = own_keys.get(key) or shared_keys.get(key, {}).get(owner)
        if owner_event is not None:
            versions.setdefault(owner_event, each.version)
    return versions


def _unstored(new: NewInteraction, version: int) -> StoredInteraction:
    """Return the answer for an event whose interaction has outlived its retention."""
    interaction = StoredInteraction(
        user_id=new.user_id,
        type=new.type,
        piece_id=new.piece_id,
        occurred_at=0,
        version=version,
        portion=new.portion,
    )
    return interaction if new.occurred_at is None else interaction._replace(occurred_at=new.occurred_at)


def _to_rows(source: int, keys: _Keys, stored: Iterable[RecordedInteraction]) -> list[tuple[Any, ...]]:
    """Return interactions in the columns of their table, under the keys of their people and pieces."""
    user, piece = keys.user, keys.piece
    rows = [
        (source, version, user(user_id), piece(piece_id), kind.code, moment, user_id, piece_id, event_id, portion)
        for (user_id, kind, piece_id, moment, version, event_id, portion), _, _ in stored
    ]
    # By person: the index of their interactions is gone through once, which saves a quarter of the time.
    rows.sort(key=itemgetter(2))
    return rows
