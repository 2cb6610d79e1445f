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
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from penchant.errors import StorageIncompatible, TooManyEntries, TooManyPieces, TooManySources, UnknownSource
from penchant.model import MAX_LIST_LENGTH
from penchant.storage import statements
from penchant.storage.accounts import note
from penchant.storage.bodies import BodyWriter, Dictionaries, forget_dictionaries
from penchant.storage.databases.opening import AnyDatabase
from penchant.storage.hashing import source_id, user_key
from penchant.storage.impression_ledger import forget_impressions, record_impressions
from penchant.storage.interaction_writes import erase, record, replace_preferences, take_back
from penchant.storage.placements import forget_placements, remove_placement, require_turn, store_placement
from penchant.storage.records import (
    AddUsage,
    ClearPieces,
    Command,
    DeletePieces,
    DeletePlacement,
    DeleteSource,
    EditList,
    EraseUser,
    Outcome,
    PieceRow,
    PutPlacement,
    RecordImpressions,
    RecordInteractions,
    ReplaceList,
    ReplacePreferences,
    ReplaceSettings,
    SourceCommand,
    StoreWords,
    SubmitPieces,
    TakeBack,
    WordRules,
    WordRulesChanged,
)
from penchant.storage.schema import CODEC_JSON, CONTENT, INTERACTIONS, accounts, counters, lists, pieces, sources
from penchant.storage.source_reader import rules_of, stored_settings


class WriteTransaction:
    """The transaction of a group: carries out one command after the other."""

    def __init__(self, connection: Connection, database: AnyDatabase, dictionaries: Dictionaries, now: int) -> None:
        self.connection = connection
        self.database = database
        self.dictionaries = dictionaries
        self.now = now

    def execute(self, command: Command) -> Outcome:  # noqa: C901, PLR0911, PLR0912  # one line each
        """Carry out a command.

        Raises:
            UnknownSource, TooManySources, TooManyPieces, TooManyPlacements, PlacementChanged: it may not be done;
                nothing was written for it.
        """
        match command:
            case SubmitPieces():
                return self._write_pieces(command)
            case DeletePieces():
                return self._delete(command)
            case ClearPieces():
                return self._clear(command)
            case DeleteSource():
                return self._delete_source(command)
            case ReplaceList():
                return self._replace_list(command)
            case EditList():
                return self._edit_list(command)
            case ReplaceSettings():
                return self._replace_settings(command)
            case StoreWords():
                return self._store_words(command)
            case PutPlacement():
                return self._put_placement(command)
            case DeletePlacement():
                return self._delete_placement(command)
            case RecordInteractions():
                return self.record([command])[0]
            case ReplacePreferences():
                return self._replace_preferences(command)
            case RecordImpressions():
                return self.record_impressions([command])[0]
            case TakeBack():
                row = self._require(command, INTERACTIONS)
                return take_back(self.connection, self.database, row, command, self.now)
            case EraseUser():
                return self._erase(command)
            case AddUsage():
                fields = {
                    "account_id": command.account_id,
                    "month": command.month,
                    "answers": command.answers,
                }
                self.connection.execute(statements.add_usage(self.database.insert), fields)
                return Outcome()

    def record(self, commands: Sequence[RecordInteractions]) -> list[Outcome]:
        """Carry out commands of one source together.

        Raises:
            UnknownSource: there is no such source; nothing was written.
        """
        row = self._require(commands[0], INTERACTIONS)
        return record(self.connection, self.database, row, commands, self.now)

    def record_impressions(self, commands: Sequence[RecordImpressions]) -> list[Outcome]:
        """Carry out commands of one source together.

        Raises:
            UnknownSource: there is no such source; nothing was written.
        """
        # The same lock as for interactions: both add to the same counts.
        row = self._require(commands[0], INTERACTIONS)
        return record_impressions(self.connection, self.database, row, commands)

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
        note(self.connection, command.account_id, command.actor, "user.erase", command.source, now=self.now)
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
            row = self._make_source(command, row)
        # Whoever made the source meanwhile may have given it other rules.
        _require_rules(command, rules_of(row))
        # Looked up once the counter is locked: who made the source meanwhile may have stored the same pieces.
        existing = self._existing(row, [piece.id for piece in command.pieces])
        created = len(command.pieces) - len(existing)
        if command.max_pieces is not None and created and row.live + created > command.max_pieces:
            raise TooManyPieces(
                f"The plan allows {command.max_pieces} pieces in a source; it would have {row.live + created}."
            )
        now = self._moment(row)
        bodies = [piece.body for piece in command.pieces]
        # Prepared first: a dictionary that this submission is large enough for compresses it, too.
        writer = BodyWriter(self.connection, row.source_id, self.dictionaries)
        writer.prepare(bodies, row.live + created, row.version)
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
            for offset, (piece, body) in enumerate(zip(command.pieces, stored, strict=True), start=1)
        ]
        if rows:
            self.database.upsert_pieces(self.connection, rows)
        version = self._raise_version(row, len(rows), now, live=row.live + created)
        return Outcome(version=version, created=created, replaced=len(existing))

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
        begun = {"settings": command.settings, "words": command.words, "words_wanted": command.words}
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
                "epoch": 1,
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
        note(self.connection, command.account_id, command.actor, "source.create", command.source, now=self.now)
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
                pieces.c.version > row.cleared_at,
            )
            existing |= {row.piece_id: row.first_submitted_at for row in self.connection.execute(statement)}
        return existing

    def _delete(self, command: DeletePieces) -> Outcome:
        """Delete pieces by id: each leaves a tombstone at a version of its own."""
        row = self._require(command, CONTENT)
        now = self._moment(row)
        # A deleted piece stays as a row without body, a tombstone with a version, by which followers hear of it.
        gone = sorted(self._existing(row, list(dict.fromkeys(command.ids))))
        rows = [
            PieceRow(row.source_id, piece_id, row.version + offset, True, now, CODEC_JSON, b"", None)
            for offset, piece_id in enumerate(gone, start=1)
        ]
        if rows:
            self.database.upsert_pieces(self.connection, rows)
        version = self._raise_version(row, len(rows), now, live=row.live - len(rows))
        return Outcome(version=version, deleted=len(rows))

    def _clear(self, command: ClearPieces) -> Outcome:
        row = self._require(command, CONTENT)
        # A clearing costs the same for ten pieces and for a million: it moves a bound, and leaves the rows alone.
        version = self._raise_version(row, 1, self._moment(row), live=0, clear=True)
        forget_dictionaries(self.connection, row.source_id)
        note(self.connection, command.account_id, command.actor, "source.clear", command.source, now=self.now)
        return Outcome(version=version, deleted=row.live)

    def _delete_source(self, command: DeleteSource) -> Outcome:
        """Clear all of a source and mark it as deleted; housekeeping removes its rows.

        Its versions go on from where they are if it is made again.
        """
        row = self._require(command, CONTENT, INTERACTIONS)
        version = self._raise_version(row, 1, self._moment(row), live=0, clear=True)
        forget_dictionaries(self.connection, row.source_id)
        # The interactions are cleared in the same way; they have no ``live`` that would have to be set.
        raised = row.interactions_version + 1
        self.connection.execute(
            update(counters)
            .where(counters.c.source_id == row.source_id, counters.c.kind == INTERACTIONS)
            .values(version=raised, cleared_at=raised)
        )
        self.connection.execute(delete(lists).where(lists.c.source_id == row.source_id))
        forget_placements(self.connection, row.source_id)
        self.connection.execute(
            update(sources)
            .where(sources.c.source_id == row.source_id)
            .values(deleted=True, settings=b"", words=None, words_wanted=None)
        )
        note(self.connection, command.account_id, command.actor, "source.delete", command.source, now=self.now)
        return Outcome(version=version, deleted=row.live)

    def _replace_list(self, command: ReplaceList) -> Outcome:
        """Replace a list as a whole; its order is that of the ids."""
        row = self._require(command, CONTENT)
        kind = command.kind.value
        self.connection.execute(delete(lists).where(lists.c.source_id == row.source_id, lists.c.kind == kind))
        if command.ids:
            rows = [
                {"source_id": row.source_id, "kind": kind, "position": offset, "piece_id": piece_id}
                for offset, piece_id in enumerate(command.ids)
            ]
            self.connection.execute(insert(lists), rows)
        note(self.connection, command.account_id, command.actor, f"{kind}.replace", command.source, now=self.now)
        return Outcome(version=self._raise_version(row, 1, self._moment(row)))

    def _edit_list(self, command: EditList) -> Outcome:
        """Put a piece on a list or take it off, in the audit log under its id."""
        row = self._require(command, CONTENT)
        kind = command.kind.value
        own = (lists.c.source_id == row.source_id) & (lists.c.kind == kind)
        found = self.connection.execute(select(lists.c.position, lists.c.piece_id).where(own)).all()
        if any(each.piece_id == command.piece_id for each in found) == command.is_listed:
            return Outcome(version=row.version)
        if command.is_listed and len(found) >= MAX_LIST_LENGTH:
            raise TooManyEntries(f"The list has {len(found)} ids already; {MAX_LIST_LENGTH} are accepted.")
        if command.is_listed:
            position = max((each.position for each in found), default=-1) + 1
            entry = {"source_id": row.source_id, "kind": kind, "position": position, "piece_id": command.piece_id}
            self.connection.execute(insert(lists), entry)
        else:
            self.connection.execute(delete(lists).where(own, lists.c.piece_id == command.piece_id))
        action = f"{kind}.{'add' if command.is_listed else 'remove'}"
        subject = f"{command.source}/{command.piece_id}"
        note(self.connection, command.account_id, command.actor, action, subject, now=self.now)
        return Outcome(version=self._raise_version(row, 1, self._moment(row)))

    def _replace_settings(self, command: ReplaceSettings) -> Outcome:
        row = self._require(command, CONTENT)
        own = sources.c.source_id == row.source_id
        if command.expected is None:
            note(self.connection, command.account_id, command.actor, "settings.replace", command.source, now=self.now)
        elif stored_settings(self.connection, row.source_id) != command.expected:
            return Outcome(version=row.version)
        rules = rules_of(row)
        # Without pieces, and without words, there is nothing to work out first.
        at_once = not row.live or not command.words
        in_force = command.words if at_once else rules.in_force
        self.connection.execute(
            update(sources).where(own).values(settings=command.settings, words=in_force, words_wanted=command.words)
        )
        version = self._raise_version(row, 1, self._moment(row))
        return Outcome(version=version, pending=WordRules(in_force, command.words).are_different)

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
        store_placement(self.connection, row.source_id, command, version, now)
        self._note_placement(command, "placement.replace")
        return Outcome(version=version)

    def _delete_placement(self, command: DeletePlacement) -> Outcome:
        row = self._require(command, CONTENT)
        if remove_placement(self.connection, row.source_id, command.name):
            self._note_placement(command, "placement.delete")
        return Outcome(version=self._raise_version(row, 1, self._moment(row)))

    def _note_placement(self, command: PutPlacement | DeletePlacement, action: str) -> None:
        subject = f"{command.source}/{command.name}"
        note(self.connection, command.account_id, command.actor, action, subject, now=self.now)

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


def _require_rules(command: SubmitPieces, rules: WordRules) -> None:
    """Raise `WordRulesChanged` unless the pieces of a submission have words by these rules."""
    if command.rules != rules:
        raise WordRulesChanged(rules)
