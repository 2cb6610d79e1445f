"""Writes of each command, within the transaction of its group, its source's counters locked first.

A command that may not be done raises before it has written anything, so that its group goes on without it.

Every change takes the next versions of its source. One submission of three pieces, a to c, then one that replaces b,
then a clearing; rows are overwritten in place, and a clearing touches none of them:

    content counter   version 3, live 3      version 4, live 3      version 5, live 0, cleared_at 5
    row of piece a    1                      1                      1 <= cleared_at: no longer live
    row of piece b    2                      4                      4 <= cleared_at: no longer live
    row of piece c    3                      3                      3 <= cleared_at: no longer live

A follower with the cursor 3 reads the rows above 3, which is b alone. One with a cursor below ``cleared_at`` begins
again from all live rows. Housekeeping removes cleared rows later, chunk by chunk (`storage.upkeep`).

The setting ``fourEyes`` is held here, for every way by which a command comes: `STEERING` ones are refused, and drafts
have the rule of `storage.drafts.require_draft`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, ClassVar

import msgspec
from sqlalchemy import Connection, delete, func, insert, select, update

from penchant.errors import (
    DraftChanged,
    FourEyes,
    StorageIncompatible,
    TooManyEntries,
    TooManyPieces,
    TooManyPlacements,
    TooManySources,
    UnknownSource,
)
from penchant.model import MAX_LIST_LENGTH, EncodedPiece, ListKind
from penchant.storage import statements
from penchant.storage.accounts import note
from penchant.storage.bodies import BodyReader, BodyWriter, Dictionaries, forget_dictionaries
from penchant.storage.databases.opening import AnyDatabase
from penchant.storage.drafts import (
    PUBLISHED,
    UNDONE,
    draft_now,
    list_kinds,
    mark_list,
    mark_of,
    move_draft,
    names_in,
    remove_draft,
    require_draft,
    require_unchanged,
    save_draft,
    subjects_of,
)
from penchant.storage.hashing import source_id, user_key
from penchant.storage.impression_ledger import forget_impressions, record_impressions
from penchant.storage.interaction_writes import erase, record, replace_preferences, take_back
from penchant.storage.placements import (
    note_stops,
    placements_in_force,
    read_placements,
    remove_placement,
    require_turn,
    store_placement,
)
from penchant.storage.records import (
    AddUsage,
    ClearPieces,
    Command,
    DeleteDraft,
    DeletePieces,
    DeletePlacement,
    DeleteSource,
    DraftStep,
    EditList,
    EraseUser,
    MoveDraft,
    NoteStops,
    Outcome,
    PieceRow,
    PlacementRow,
    PublishDraft,
    PutPlacement,
    RecordImpressions,
    RecordInteractions,
    ReplacedState,
    ReplaceList,
    ReplacePreferences,
    ReplaceSettings,
    SaveDraft,
    SourceCommand,
    StoreWords,
    SubmitPieces,
    TakeBack,
    WordRules,
    WordRulesChanged,
)
from penchant.storage.schema import (
    CODEC_JSON,
    CONTENT,
    INTERACTIONS,
    accounts,
    counters,
    dictionaries,
    drafts,
    lists,
    pieces,
    placement_versions,
    placements,
    sources,
)
from penchant.storage.source_reader import rules_of, stored_settings

STEERING = (DeleteSource, ReplaceList, EditList, ReplaceSettings, PutPlacement, DeletePlacement)
"""Commands that change at once what steers a source."""


class _ReviewRule(msgspec.Struct, rename="camel"):
    """What stored settings say of who may change the source."""

    four_eyes: bool = False


_decode_rule = msgspec.json.Decoder(_ReviewRule).decode


def asks_for_two(settings: bytes) -> bool:
    """Return whether settings, as they are stored, ask for two pairs of eyes."""
    return bool(settings) and _decode_rule(settings).four_eyes


class WriteTransaction:
    """The transaction of a group: carries out one command after the other."""

    def __init__(self, connection: Connection, database: AnyDatabase, dictionaries: Dictionaries, now: int) -> None:
        self.connection = connection
        self.database = database
        self.dictionaries = dictionaries
        self.now = now

    def execute(self, command: Command) -> Outcome:
        """Carry out a command.

        Raises:
            UnknownSource, TooManySources, TooManyPieces, TooManyPlacements, PlacementChanged, FourEyes: it may not be
                done; nothing was written for it.
        """
        if isinstance(command, STEERING) and not command.bypasses_review:
            self._require_review(command)
        return self._WRITES[type(command)](self, command)

    def _require_review(self, command: SourceCommand) -> None:
        """Raise `FourEyes` for a change that nobody else has looked at, where the source asks for that."""
        settings = stored_settings(self.connection, self._require(command, CONTENT).source_id)
        # What is as it was changes nothing: settings that were read can be put back.
        is_change = not isinstance(command, ReplaceSettings) or command.settings != settings
        if is_change and asks_for_two(settings):
            raise FourEyes(
                "The source has the setting fourEyes: keep the change in a draft (PUT /{source}/drafts/{name}), which "
                "somebody else publishes. To delete the source, turn the setting off by such a draft first."
            )

    def record(self, commands: Sequence[RecordInteractions]) -> list[Outcome]:
        """Carry out commands of one source together.

        Raises:
            UnknownSource: there is no such source; nothing was written.
        """
        row = self._require(commands[0], INTERACTIONS)
        outcomes = record(self.connection, self.database, row, commands, self.now)
        pairs = zip(commands, outcomes, strict=True)
        if any(moment < command.recent_from for command, outcome in pairs for moment in outcome.moments):
            settings = stored_settings(self.connection, row.source_id)
            outcomes = [replace(outcome, settings=settings) for outcome in outcomes]
        return self._with_pieces(row, commands, outcomes)

    def _with_pieces(
        self, row: Any, commands: Sequence[RecordInteractions], outcomes: Sequence[Outcome]
    ) -> list[Outcome]:
        """Return outcomes that tell of pieces, to commands that look them up: one look-up for all."""
        ids: dict[str, bool] = {}
        for command in commands:
            if command.looks_up:
                piece_id = command.interactions[0].piece_id
                ids[piece_id] = ids.get(piece_id, False) or command.by_page
        if not ids:
            return list(outcomes)
        values = {"source": row.source_id, "cleared_at": row.cleared_at, "ids": list(ids)}
        known = set(self.connection.execute(statements.KNOWN_PIECES, values).scalars())
        by_page = [each for each, is_by_page in ids.items() if is_by_page and each in known]
        bodies = self._bodies(row, by_page) if by_page else {}
        told, plain = list(outcomes), known - bodies.keys()
        for place, command in enumerate(commands):
            # Nearly all are known, and what they have by default says so.
            if command.looks_up and (piece_id := command.interactions[0].piece_id) not in plain:
                body = bodies.get(piece_id) if command.by_page else None
                told[place] = replace(told[place], is_known=piece_id in known, piece=body)
        return told

    def record_impressions(self, commands: Sequence[RecordImpressions]) -> list[Outcome]:
        """Carry out commands of one source together.

        Raises:
            UnknownSource: there is no such source; nothing was written.
        """
        # The same lock as for interactions: both add to the same counts.
        row = self._require(commands[0], INTERACTIONS)
        return record_impressions(self.connection, self.database, row, commands)

    def _record(self, command: RecordInteractions) -> Outcome:
        return self.record([command])[0]

    def _record_impressions(self, command: RecordImpressions) -> Outcome:
        return self.record_impressions([command])[0]

    def _take_back(self, command: TakeBack) -> Outcome:
        row = self._require(command, INTERACTIONS)
        return take_back(self.connection, self.database, row, command, self.now)

    def _add_usage(self, command: AddUsage) -> Outcome:
        self.connection.execute(statements.add_usage(self.database.insert), asdict(command))
        return Outcome()

    def _replace_preferences(self, command: ReplacePreferences) -> Outcome:
        row = self._require(command, INTERACTIONS)
        version = replace_preferences(self.connection, self.database.insert, row, command, self.now)
        return Outcome(version=row.version, interactions_version=version)

    def _erase(self, command: EraseUser) -> Outcome:
        row = self._require(command, INTERACTIONS)
        key = user_key(row.source_id, command.user_id)
        version = erase(self.connection, self.database.insert, row, key, self.now)
        was_shown = forget_impressions(self.connection, row, command.user_id)
        if version is None and not was_shown:
            return Outcome(version=row.version, interactions_version=row.interactions_version)
        self._note(command, "user.erase")
        return Outcome(version=row.version, interactions_version=version or row.interactions_version)

    def _row(self, command: SourceCommand, *kinds: int) -> Any:
        """Return the source's row with its counters of these kinds locked, or ``None``.

        The lock is what makes versions a feed: who holds it gives the next versions and keeps it until the commit, so
        that a smaller version never becomes visible after a greater one, and a follower misses nothing by asking for
        what is above its cursor. The row is read after the lock, since the transaction before may have raised them.
        (SQLite has the same from the file lock, which lets one writer in at a time.)
        """
        number = source_id(command.account_id, command.source)
        self.connection.execute(
            select(counters.c.version)
            .where(counters.c.source_id == number, counters.c.kind.in_(kinds))
            .order_by(counters.c.kind)
            .with_for_update()
        ).all()
        row = self.connection.execute(statements.HEAD, {"source_id": number}).one_or_none()
        if row is not None and (row.account_id, row.name) != (command.account_id, command.source):
            raise StorageIncompatible("This name cannot be told apart from another source's; choose another.")
        return row

    def _require(self, command: SourceCommand, *kinds: int) -> Any:
        """Return the row as `_row` does, of a source that exists.

        Raises:
            UnknownSource: there is none, or it is deleted.
        """
        row = self._row(command, *kinds)
        if row is None or row.deleted:
            raise UnknownSource("The account has no source of this name; the first submission makes it.")
        return row

    def _write_pieces(self, command: SubmitPieces) -> Outcome:
        """Store the pieces of a submission, each at a version of its own, making the source where it is missing."""
        row = self._row(command, CONTENT)
        if row is None or row.deleted:
            _require_rules(command, WordRules(command.words, command.words))
            self._check_sources(command)
            # Before anything is written: a submission that is refused makes no source.
            _require_room(command.max_pieces, len(command.pieces), len(command.pieces))
            row = self._make_source(command, row)
        # Whoever made the source meanwhile may have given it other rules.
        _require_rules(command, rules_of(row))
        # Looked up once the counter is locked: who made the source meanwhile may have stored the same pieces.
        existing = self._existing(row, [piece.id for piece in command.pieces])
        created = len(command.pieces) - len(existing)
        _require_room(command.max_pieces, row.live + created, created)
        now = self._moment(row)
        self._store_pieces(row, command.pieces, existing, now)
        version = self._raise_version(row, len(command.pieces), now, live=row.live + created)
        return Outcome(version=version, created=created, replaced=len(existing))

    def _store_pieces(self, row: Any, given: Sequence[EncodedPiece], existing: Mapping[str, int], now: int) -> None:
        """Store pieces, each at the next version; ``existing`` has the first submission of those that they replace."""
        bodies = [piece.body for piece in given]
        # Prepared first: a dictionary that this submission is large enough for compresses it, too.
        writer = BodyWriter(self.connection, row.source_id, self.dictionaries)
        writer.prepare(bodies, row.live + len(given) - len(existing))
        codec, stored = writer.write(bodies)
        # A replaced piece keeps the moment of its first submission; by its new version followers read it again.
        rows = [
            PieceRow(
                source_id=row.source_id,
                piece_id=piece.id,
                version=row.version + offset,
                deleted=False,
                first_submitted_at=existing.get(piece.id, now),
                codec=codec,
                body=body,
                words=piece.words or None,
            )
            for offset, (piece, body) in enumerate(zip(given, stored, strict=True), start=1)
        ]
        if rows:
            self.database.upsert_rows(self.connection, pieces, rows)

    def _check_sources(self, command: SubmitPieces) -> None:
        if command.max_sources is None:
            return
        # The account's row is locked, so that two new sources at once are counted one after the other.
        self.connection.execute(
            select(accounts.c.name).where(accounts.c.account_id == command.account_id).with_for_update()
        ).all()
        existing = select(func.count()).where(sources.c.account_id == command.account_id, sources.c.deleted.is_(False))
        if self.connection.execute(existing.select_from(sources)).scalar_one() >= command.max_sources:
            raise TooManySources(f"The plan allows {command.max_sources} source(s); delete one first.")

    def _make_source(self, command: SubmitPieces, row: Any) -> Any:
        """Make the source, or make a deleted one again under a new incarnation; return its row, locked.

        Another process may do the same at the same time: whichever comes second finds the source made.
        """
        number = source_id(command.account_id, command.source)
        begun: dict[str, Any] = {"settings": command.settings, "words": command.words, "words_wanted": command.words}
        # On PostgreSQL nodes of 0.1.0 may go on beside this one.
        begun["own_events"] = True if self.connection.dialect.name == "sqlite" else None
        if row is not None:
            row = self._row(command, CONTENT, INTERACTIONS)
            if not row.deleted:
                return row
            # The versions go on; by the new incarnation followers and ETags of the deleted source are told apart.
            self.connection.execute(
                update(sources)
                .where(sources.c.source_id == number)
                .values(deleted=False, incarnation=row.incarnation + 1, created_at=self._moment(row), **begun)
            )
        else:
            # Versions never go back: where sources of the account were purged, this one may be one of them. An
            # incarnation is never above its versions, so that the one after the floor was never given either.
            floor = self._version_floor(command.account_id)
            source = {
                "source_id": number,
                "account_id": command.account_id,
                "name": command.source,
                "incarnation": floor + 1,
                # Never that of a source of this name which was made in a history that is lost (D222).
                "epoch": self.now,
                "deleted": False,
                "created_at": self.now,
                "changed_at": self.now,
                **begun,
            }
            # There are no counters yet that could be locked. Where another process makes the same source meanwhile,
            # PostgreSQL waits here for its commit, and inserts nothing; the row is read again below.
            insert = statements.insert_missing(self.database.insert, sources).returning(sources.c.source_id)
            if self.connection.execute(insert, source).first() is None:
                return self._row(command, CONTENT)
            for kind in (CONTENT, INTERACTIONS):
                counter = dict.fromkeys(("version", "cleared_at", "purged_below", "live", "clock", "erased_at"), 0)
                counter |= {"source_id": number, "kind": kind, "version": floor if kind == CONTENT else 0}
                self.connection.execute(statements.insert_missing(self.database.insert, counters), counter)
        self._note(command, "source.create")
        return self._row(command, CONTENT)

    def _version_floor(self, account_id: int) -> int:
        statement = select(accounts.c.version_floor).where(accounts.c.account_id == account_id)
        return self.connection.execute(statement).scalar_one_or_none() or 0

    def _existing(self, row: Any, ids: Sequence[str]) -> dict[str, int]:
        """Return the first submission of each of these ids that is live."""
        existing: dict[str, int] = {}
        # Live is what `SourceReader` calls live: neither deleted alone nor cleared with all others.
        for portion in statements.portions(ids):
            statement = select(pieces.c.piece_id, pieces.c.first_submitted_at).where(
                pieces.c.source_id == row.source_id,
                pieces.c.piece_id.in_(portion),
                pieces.c.deleted.is_(False),
                statements.version_of_one > row.cleared_at,
            )
            existing |= {row.piece_id: row.first_submitted_at for row in self.connection.execute(statement)}
        return existing

    def _delete(self, command: DeletePieces) -> Outcome:
        """Delete pieces by id: each leaves a tombstone at a version of its own."""
        row = self._require(command, CONTENT)
        now = self._moment(row)
        gone = sorted(self._existing(row, list(dict.fromkeys(command.ids))))
        self._bury(row, gone, row.version, now)
        version = self._raise_version(row, len(gone), now, live=row.live - len(gone))
        return Outcome(version=version, deleted=len(gone))

    def _bury(self, row: Any, gone: Sequence[str], version: int, now: int) -> None:
        """Delete pieces that are live, each at the next version after one."""
        # A deleted piece stays as a row without body, a tombstone with a version, by which followers hear of it.
        rows = [
            PieceRow(row.source_id, piece_id, version + offset, True, now, CODEC_JSON, b"", None)
            for offset, piece_id in enumerate(gone, start=1)
        ]
        if rows:
            self.database.upsert_rows(self.connection, pieces, rows)

    def _clear(self, command: ClearPieces) -> Outcome:
        row = self._require(command, CONTENT)
        # A clearing costs the same for ten pieces and for a million: it moves a bound, and leaves the rows alone.
        version = self._raise_version(row, 1, self._moment(row), live=0, clear=True)
        forget_dictionaries(self.connection, row.source_id)
        self._note(command, "source.clear")
        return Outcome(version=version, deleted=row.live)

    def _delete_source(self, command: DeleteSource) -> Outcome:
        """Clear all of a source and mark it as deleted; housekeeping removes its rows.

        Its versions go on from where they are if it is made again.
        """
        row = self._require(command, CONTENT, INTERACTIONS)
        version = self._raise_version(row, 1, self._moment(row), live=0, clear=True)
        # The interactions are cleared in the same way; they have no ``live`` that would have to be set.
        raised = row.interactions_version + 1
        self.connection.execute(
            update(counters)
            .where(counters.c.source_id == row.source_id, counters.c.kind == INTERACTIONS)
            .values(version=raised, cleared_at=raised)
        )
        for table in (lists, placements, placement_versions, drafts, dictionaries):
            self.connection.execute(delete(table).where(table.c.source_id == row.source_id))
        self.connection.execute(
            update(sources)
            .where(sources.c.source_id == row.source_id)
            .values(deleted=True, settings=b"", words=None, words_wanted=None)
        )
        self._note(command, "source.delete")
        return Outcome(version=version, deleted=row.live)

    def _replace_list(self, command: ReplaceList) -> Outcome:
        row = self._require(command, CONTENT)
        self._store_list(row, command, command.kind, command.ids)
        return Outcome(version=self._raise_version(row, 1, self._moment(row)))

    def _store_list(self, row: Any, command: SourceCommand, kind: ListKind, ids: Sequence[str]) -> None:
        own = (lists.c.source_id == row.source_id) & (lists.c.kind == kind.value)
        self.connection.execute(delete(lists).where(own))
        if ids:
            rows = [
                {"source_id": row.source_id, "kind": kind.value, "position": offset, "piece_id": piece_id}
                for offset, piece_id in enumerate(ids)
            ]
            self.connection.execute(insert(lists), rows)
        self._note(command, f"{kind.value}.replace")

    def _edit_list(self, command: EditList) -> Outcome:
        """Put a piece on a list or take it off, in the audit log under its id."""
        row = self._require(command, CONTENT)
        kind = command.kind.value
        own = (lists.c.source_id == row.source_id) & (lists.c.kind == kind)
        entries = self.connection.execute(select(lists.c.position, lists.c.piece_id).where(own)).all()
        if any(each.piece_id == command.piece_id for each in entries) == command.is_listed:
            return Outcome(version=row.version)
        if command.is_listed and len(entries) >= MAX_LIST_LENGTH:
            raise TooManyEntries(f"The list has {len(entries)} ids already; {MAX_LIST_LENGTH} are accepted.")
        if command.is_listed:
            position = max((each.position for each in entries), default=-1) + 1
            entry = {"source_id": row.source_id, "kind": kind, "position": position, "piece_id": command.piece_id}
            self.connection.execute(insert(lists), entry)
        else:
            self.connection.execute(delete(lists).where(own, lists.c.piece_id == command.piece_id))
        action = f"{kind}.{'add' if command.is_listed else 'remove'}"
        self._note(command, action, command.piece_id)
        return Outcome(version=self._raise_version(row, 1, self._moment(row)))

    def _replace_settings(self, command: ReplaceSettings) -> Outcome:
        row = self._require(command, CONTENT)
        if command.expected is None:
            self._note(command, "settings.replace")
        elif stored_settings(self.connection, row.source_id) != command.expected:
            return Outcome(version=row.version)
        is_pending = self._store_settings(row, command.settings, command.words, row.live)
        return Outcome(version=self._raise_version(row, 1, self._moment(row)), pending=is_pending)

    def _store_settings(self, row: Any, settings: bytes, words: bytes, live: int) -> bool:
        """Store settings, and by which rule pieces are to have words; return whether these are to be worked out."""
        # Without pieces, and without words, there is nothing to work out first.
        in_force = words if not live or not words else rules_of(row).in_force
        self.connection.execute(
            update(sources)
            .where(sources.c.source_id == row.source_id)
            .values(settings=settings, words=in_force, words_wanted=words)
        )
        return WordRules(in_force, words).are_different

    def _store_words(self, command: StoreWords) -> Outcome:
        row = self._require(command, CONTENT)
        if rules_of(row).wanted != command.wanted:
            return Outcome(version=row.version)
        if command.words:
            values = [
                {"number": row.source_id, "id": piece_id, "read_at": version, "text": words}
                for piece_id, version, words in command.words
            ]
            # By the version, too: a piece that was replaced meanwhile came with words by this rule.
            self.connection.execute(statements.STORE_WORDS, values)
        if not command.adopts or rules_of(row).in_force == command.wanted:
            return Outcome(version=row.version)
        self.connection.execute(
            update(sources).where(sources.c.source_id == row.source_id).values(words=command.wanted)
        )
        return Outcome(version=self._raise_version(row, 1, self._moment(row)))

    def _put_placement(self, command: PutPlacement) -> Outcome:
        row = self._require(command, CONTENT)
        require_turn(self.connection, row.source_id, command)
        now = self._moment(row)
        version = self._raise_version(row, 1, now)
        placement = PlacementRow(
            name=command.name,
            version=version,
            recorded_at=now,
            actor=command.actor,
            body=command.body,
            assignment=command.assignment,
        )
        store_placement(self.connection, row.source_id, placement, command.max_versions)
        self._note(command, "placement.replace", command.name)
        return Outcome(version=version)

    def _delete_placement(self, command: DeletePlacement) -> Outcome:
        row = self._require(command, CONTENT)
        if remove_placement(self.connection, row.source_id, command.name):
            self._note(command, "placement.delete", command.name)
        return Outcome(version=self._raise_version(row, 1, self._moment(row)))

    def _note_stops(self, command: NoteStops) -> Outcome:
        row = self._require(command, CONTENT)
        is_new = note_stops(self.connection, row.source_id, command)
        return Outcome(version=self._raise_version(row, 1, self._moment(row)) if is_new else row.version)

    def _save_draft(self, command: SaveDraft) -> Outcome:
        row = self._require(command, CONTENT)
        marks = self._marks(row, command.subjects)
        save_draft(self.connection, row.source_id, command, marks, self._moment(row))
        self._note(command, "draft.save", command.name)
        return Outcome(version=row.version, draft=draft_now(self.connection, row.source_id, command.name))

    def _delete_draft(self, command: DeleteDraft) -> Outcome:
        row = self._require(command, CONTENT)
        if remove_draft(self.connection, row.source_id, command.name):
            self._note(command, "draft.delete", command.name)
        return Outcome(version=row.version)

    def _move_draft(self, command: MoveDraft) -> Outcome:
        row = self._require(command, CONTENT)
        four_eyes = asks_for_two(stored_settings(self.connection, row.source_id))
        draft = require_draft(self.connection, row.source_id, command, four_eyes=four_eyes)
        now, due_at = self._moment(row), command.due_at
        step = DraftStep(command.step, command.actor, now, command.note, due_at=due_at, grant=command.grant)
        move_draft(self.connection, draft, step, command.state, due_at=due_at)
        self._note(command, f"draft.{command.step}", command.name)
        return Outcome(version=row.version, draft=draft_now(self.connection, row.source_id, command.name))

    def _publish_draft(self, command: PublishDraft) -> Outcome:
        """Put all that a draft edits in force at one version, or what it had replaced.

        Everything is checked, and read for an undo, before the first row is written.
        """
        row = self._require(command, CONTENT)
        settings = stored_settings(self.connection, row.source_id)
        draft = require_draft(self.connection, row.source_id, command, four_eyes=asks_for_two(settings))
        in_force = placements_in_force(self.connection, row.source_id)
        if (in_force, settings) != (command.placements_seen, command.settings_seen):
            raise DraftChanged("What the draft edits was changed at the same moment; send this again.")
        if command.pieces:
            _require_rules(command, rules_of(row))
        subjects = list(subjects_of(draft))
        changes = {} if command.force else command.changes
        if not command.force:
            free = {kind.value for kind in changes}
            require_unchanged(draft, self._marks(row, subjects), undoes=command.undoes, free=free)
        _require_places(command, in_force)
        existing = self._existing(row, [piece.id for piece in command.pieces])
        created = len(command.pieces) - len(existing)
        _require_room(command.max_pieces, row.live + created, created)
        replaced = self._standing(row, subjects)
        merged = {kind: change.applied(replaced.lists[kind.value]) for kind, change in changes.items()}
        for kind, ids in merged.items():
            if len(ids) > MAX_LIST_LENGTH:
                raise TooManyEntries(f"The {kind.value} would have {len(ids)} ids; {MAX_LIST_LENGTH} are accepted.")
        others = {kind: ids for kind, ids in merged.items() if ids != list(command.lists.get(kind, ids))}
        command = replace(command, lists={**command.lists, **merged})
        version, pending = self._put_in_force(row, command, existing)
        # What stands there now tells later whether it has changed since.
        marked = msgspec.structs.replace(replaced, marks=self._marks(row, subjects))
        step = DraftStep(command.step, command.actor, self._moment(row), command.note, version)
        state = UNDONE if command.undoes else PUBLISHED
        move_draft(self.connection, draft, step, state, replaced=None if command.undoes else marked)
        self._note(command, f"draft.{command.step}", command.name)
        return Outcome(version=version, pending=pending, lists=others)

    def _put_in_force(self, row: Any, command: PublishDraft, existing: Mapping[str, int]) -> tuple[int, bool]:
        """Store everything of a publication; return its version, and whether words are to be worked out."""
        now = self._moment(row)
        self._store_pieces(row, command.pieces, existing, now)
        gone = sorted(self._existing(row, command.removed))
        self._bury(row, gone, row.version + len(command.pieces), now)
        live = row.live + len(command.pieces) - len(existing) - len(gone)
        is_pending = False
        if command.settings is not None:
            is_pending = self._store_settings(row, command.settings, command.word_rule, live)
            self._note(command, "settings.replace")
        for kind, ids in command.lists.items():
            self._store_list(row, command, kind, ids)
        version = self._raise_version(row, len(command.pieces) + len(gone), now, live=live)
        for name, body, assignment in command.placements:
            if body is None:
                if remove_placement(self.connection, row.source_id, name):
                    self._note(command, "placement.delete", name)
                continue
            placement = PlacementRow(
                name=name,
                version=version,
                recorded_at=now,
                actor=command.actor,
                body=body,
                assignment=assignment,
                draft=command.name,
            )
            store_placement(self.connection, row.source_id, placement, command.max_versions)
            self._note(command, "placement.replace", name)
        return version, is_pending

    def _marks(self, row: Any, subjects: Iterable[str]) -> dict[str, bytes]:
        """Return how each subject of a draft stands, as a mark."""
        now = self._standing(row, subjects)
        marks = {} if now.settings is None else {"settings": mark_of(now.settings)}
        marks |= {kind: mark_list(ids) for kind, ids in now.lists.items()}
        marks |= {f"placements/{name}": mark_of(row and row[0]) for name, row in now.placements.items()}
        return marks | {f"content/{piece_id}": mark_of(body) for piece_id, body in now.pieces.items()}

    def _standing(self, row: Any, subjects: Iterable[str]) -> ReplacedState:
        """Return how each subject of a draft stands, as it is stored."""
        subjects = list(subjects)
        kinds, names = list_kinds(subjects), names_in(subjects, "placements")
        listed: dict[str, list[str]] = {kind.value: [] for kind in kinds}
        statement = select(lists.c.kind, lists.c.piece_id).where(
            lists.c.source_id == row.source_id, lists.c.kind.in_(listed)
        )
        for kind, piece_id in self.connection.execute(statement.order_by(lists.c.position)):
            listed[kind].append(piece_id)
        placed = read_placements(self.connection, row.source_id) if names else []
        in_force = {each.name: (each.body, each.assignment) for each in placed}
        return ReplacedState(
            settings=stored_settings(self.connection, row.source_id) if "settings" in subjects else None,
            lists=listed,
            placements={name: in_force.get(name) for name in names},
            pieces=self._bodies(row, names_in(subjects, "content")),
        )

    def _bodies(self, row: Any, ids: Sequence[str]) -> dict[str, bytes | None]:
        bodies: dict[str, bytes | None] = dict.fromkeys(ids)
        reader = BodyReader(self.connection, row.source_id, self.dictionaries)
        live = pieces.c.deleted.is_(False) & (statements.version_of_one > row.cleared_at)
        own = (pieces.c.source_id == row.source_id) & live
        for portion in statements.portions(ids):
            statement = select(pieces.c.piece_id, pieces.c.codec, pieces.c.body)
            for piece_id, codec, body in self.connection.execute(statement.where(own, pieces.c.piece_id.in_(portion))):
                bodies[piece_id] = reader.read(codec, bytes(body))
        return bodies

    def _note(self, command: SourceCommand, action: str, name: str = "") -> None:
        """Write into the audit log what was done, to the source or to what is called so in it."""
        note(self.connection, command.account_id, command.actor, action, source=command.source, name=name)

    def _moment(self, row: Any) -> int:
        """Return the present by the source's own clock, which never goes back."""
        return max(self.now, int(row.changed_at))

    def _raise_version(self, row: Any, rows: int, now: int, *, live: int | None = None, clear: bool = False) -> int:
        """Raise the content counter past the versions of ``rows`` rows, and return where it stands.

        A change without rows, such as one of the settings, takes one version as well: followers see only by it that
        there is something new. ``clear`` makes everything up to the new version no longer live.
        """
        version = int(row.version) + max(1, rows)
        values: dict[str, int] = {"version": version, "clock": now}
        if live is not None:
            values["live"] = live
        if clear:
            values["cleared_at"] = version
        self.connection.execute(
            update(counters).where(counters.c.source_id == row.source_id, counters.c.kind == CONTENT).values(values)
        )
        self.connection.execute(update(sources).where(sources.c.source_id == row.source_id).values(changed_at=now))
        return version

    _WRITES: ClassVar[Mapping[type[Command], Callable[["WriteTransaction", Any], Outcome]]] = {
        SubmitPieces: _write_pieces,
        DeletePieces: _delete,
        ClearPieces: _clear,
        DeleteSource: _delete_source,
        ReplaceList: _replace_list,
        EditList: _edit_list,
        ReplaceSettings: _replace_settings,
        StoreWords: _store_words,
        PutPlacement: _put_placement,
        DeletePlacement: _delete_placement,
        NoteStops: _note_stops,
        SaveDraft: _save_draft,
        DeleteDraft: _delete_draft,
        MoveDraft: _move_draft,
        PublishDraft: _publish_draft,
        RecordInteractions: _record,
        RecordImpressions: _record_impressions,
        ReplacePreferences: _replace_preferences,
        TakeBack: _take_back,
        EraseUser: _erase,
        AddUsage: _add_usage,
    }
    """What carries out each command."""


def _require_room(most: int | None, live: int, created: int) -> None:
    if most is not None and created and live > most:
        raise TooManyPieces(f"The plan allows {most} pieces in a source; it would have {live}.")


def _require_places(command: PublishDraft, in_force: Collection[str]) -> None:
    stored = {each.name for each in command.placements if each.body is not None}
    removed = {each.name for each in command.placements if each.body is None}
    if len((set(in_force) - removed) | stored) > max(len(in_force), command.max_placements):
        raise TooManyPlacements(f"A source has up to {command.max_placements} placements; delete one first.")


def _require_rules(command: SubmitPieces | PublishDraft, rules: WordRules) -> None:
    """Raise `WordRulesChanged` unless the pieces of a submission have words by these rules."""
    if command.rules != rules:
        raise WordRulesChanged(rules)
