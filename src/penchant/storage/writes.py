"""How is each command carried out? Within the transaction of its group, its source's counters locked first.

A command that may not be done raises before it has written anything, so that its group goes on without it.
"""

import time
from collections.abc import Sequence
from typing import Any, Protocol

from sqlalchemy import Connection, delete, insert, select, update

from penchant.errors import StorageIncompatible, TooManyPieces, TooManySources, UnknownSource
from penchant.storage import statements
from penchant.storage.bodies import BodyWriter, Dictionaries, forget_dictionaries
from penchant.storage.hashing import source_id, user_key
from penchant.storage.interaction_writes import erase, record
from penchant.storage.reads import count_sources
from penchant.storage.records import (
    AddUsage,
    ClearPieces,
    Command,
    DeletePieces,
    DeleteSource,
    EraseUser,
    Outcome,
    PieceRow,
    RecordInteractions,
    ReplaceList,
    ReplaceSettings,
    SourceCommand,
    SubmitPieces,
)
from penchant.storage.schema import (
    CODEC_JSON,
    CONTENT,
    INTERACTIONS,
    accounts,
    audit,
    counters,
    lists,
    pieces,
    sources,
)

LOOKUP_IDS = 5_000
"""Ids in one look-up: both databases bound the parameters of a statement."""


class Database(Protocol):
    """What a write needs of a database beyond SQLAlchemy."""

    @property
    def insert(self) -> statements.Insert:
        """The dialect's INSERT, which knows what to do on a conflict."""

    def upsert_pieces(self, connection: Connection, rows: Sequence[PieceRow]) -> None:
        """Insert or replace rows of pieces."""


class Writing:
    """The transaction of a group: carries out one command after the other."""

    def __init__(self, connection: Connection, database: Database, known: Dictionaries, now: int) -> None:
        self.connection = connection
        self.database = database
        self.known = known
        self.now = now

    def execute(self, command: Command) -> Outcome:  # noqa: PLR0911  # one line for each kind of command
        """Carry out a command.

        Raises:
            UnknownSource, TooManySources, TooManyPieces: it may not be done; nothing was written for it.
        """
        match command:
            case SubmitPieces():
                return self._submit(command)
            case DeletePieces():
                return self._delete(command)
            case ClearPieces():
                return self._clear(command)
            case DeleteSource():
                return self._delete_source(command)
            case ReplaceList():
                return self._replace_list(command)
            case ReplaceSettings():
                return self._replace_settings(command)
            case RecordInteractions():
                return self.record([command])[0]
            case EraseUser():
                row = self._require(command, INTERACTIONS)
                erase(self.connection, row, user_key(row.source_id, command.user_id), self.now)
                self.note(command.account_id, command.actor, "user.erase", command.source)
                return Outcome(version=row.version)
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
        return record(self.connection, self.database.insert, row, commands, self.now)

    def note(self, account_id: int, actor: str, action: str, subject: str) -> None:
        """Write an entry of the audit log."""
        entry = {
            "audit_id": time.time_ns(),
            "recorded_at": self.now,
            "account_id": account_id,
            "actor": actor,
            "action": action,
            "subject": subject,
        }
        self.connection.execute(insert(audit), entry)

    def _row(self, command: SourceCommand, *kinds: int) -> Any:
        """Return the source's row with its counters of these kinds locked, or ``None``."""
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
        row = self._row(command, *kinds)
        if row is None or row.deleted:
            raise UnknownSource("The account has no source of this name; the first submission makes it.")
        return row

    def _submit(self, command: SubmitPieces) -> Outcome:
        row = self._row(command, CONTENT)
        is_new = row is None or row.deleted
        if is_new:
            self._check_sources(command)
        existing = {} if row is None else self._existing(row, [piece.id for piece in command.pieces])
        created = len(command.pieces) - len(existing)
        live = 0 if row is None else row.live
        if command.max_pieces is not None and created and live + created > command.max_pieces:
            raise TooManyPieces(
                f"The plan allows {command.max_pieces} pieces in a source; it would have {live + created}."
            )
        if is_new:
            row = self._make_source(command, row)
        now = self._moment(row)
        bodies = [piece.body for piece in command.pieces]
        writer = BodyWriter(self.connection, row.source_id, self.known)
        writer.prepare(bodies, row.live + created, row.version)
        codec, stored = writer.write(bodies)
        rows = [
            PieceRow(row.source_id, piece.id, row.version + place, False, existing.get(piece.id, now), codec, body)
            for place, (piece, body) in enumerate(zip(command.pieces, stored, strict=True), start=1)
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
        if count_sources(self.connection, command.account_id) >= command.max_sources:
            raise TooManySources(f"The plan allows {command.max_sources} source(s); delete one first.")

    def _make_source(self, command: SubmitPieces, row: Any) -> Any:
        """Make the source, or make a deleted one again under a new incarnation."""
        number = source_id(command.account_id, command.source)
        if row is not None:
            self._row(command, CONTENT, INTERACTIONS)
            self.connection.execute(
                update(sources)
                .where(sources.c.source_id == number)
                .values(deleted=False, incarnation=row.incarnation + 1, created_at=self._moment(row))
            )
        else:
            source = {
                "source_id": number,
                "account_id": command.account_id,
                "name": command.source,
                "incarnation": 1,
                "epoch": 1,
                "deleted": False,
                "settings": b"",
                "created_at": self.now,
                "changed_at": self.now,
            }
            self.connection.execute(statements.insert_missing(self.database.insert, sources), source)
            for kind in (CONTENT, INTERACTIONS):
                counter = dict.fromkeys(("version", "cleared_at", "purged_below", "live", "clock", "erased_at"), 0)
                counter |= {"source_id": number, "kind": kind}
                self.connection.execute(statements.insert_missing(self.database.insert, counters), counter)
        self.note(command.account_id, command.actor, "source.create", command.source)
        return self._row(command, CONTENT)

    def _existing(self, row: Any, ids: Sequence[str]) -> dict[str, int]:
        """Return the first submission of each of these ids that is live."""
        found: dict[str, int] = {}
        for begin in range(0, len(ids), LOOKUP_IDS):
            statement = select(pieces.c.piece_id, pieces.c.first_submitted_at).where(
                pieces.c.source_id == row.source_id,
                pieces.c.piece_id.in_(ids[begin : begin + LOOKUP_IDS]),
                pieces.c.deleted.is_(False),
                pieces.c.version > row.cleared_at,
            )
            found |= {row.piece_id: row.first_submitted_at for row in self.connection.execute(statement)}
        return found

    def _delete(self, command: DeletePieces) -> Outcome:
        row = self._require(command, CONTENT)
        now = self._moment(row)
        gone = sorted(self._existing(row, list(dict.fromkeys(command.ids))))
        rows = [
            PieceRow(row.source_id, piece_id, row.version + place, True, now, CODEC_JSON, b"")
            for place, piece_id in enumerate(gone, start=1)
        ]
        if rows:
            self.database.upsert_pieces(self.connection, rows)
        return Outcome(version=self._raise_version(row, len(rows), now, live=row.live - len(rows)))

    def _clear(self, command: ClearPieces) -> Outcome:
        row = self._require(command, CONTENT)
        version = self._raise_version(row, 1, self._moment(row), live=0, clear=True)
        forget_dictionaries(self.connection, row.source_id)
        self.note(command.account_id, command.actor, "source.clear", command.source)
        return Outcome(version=version)

    def _delete_source(self, command: DeleteSource) -> Outcome:
        row = self._require(command, CONTENT, INTERACTIONS)
        version = self._raise_version(row, 1, self._moment(row), live=0, clear=True)
        forget_dictionaries(self.connection, row.source_id)
        raised = row.interactions_version + 1
        self.connection.execute(
            update(counters)
            .where(counters.c.source_id == row.source_id, counters.c.kind == INTERACTIONS)
            .values(version=raised, cleared_at=raised)
        )
        self.connection.execute(delete(lists).where(lists.c.source_id == row.source_id))
        self.connection.execute(
            update(sources).where(sources.c.source_id == row.source_id).values(deleted=True, settings=b"")
        )
        self.note(command.account_id, command.actor, "source.delete", command.source)
        return Outcome(version=version)

    def _replace_list(self, command: ReplaceList) -> Outcome:
        row = self._require(command, CONTENT)
        kind = command.kind.value
        self.connection.execute(delete(lists).where(lists.c.source_id == row.source_id, lists.c.kind == kind))
        if command.ids:
            rows = [
                {"source_id": row.source_id, "kind": kind, "position": place, "piece_id": piece_id}
                for place, piece_id in enumerate(command.ids)
            ]
            self.connection.execute(insert(lists), rows)
        self.note(command.account_id, command.actor, f"{kind}.replace", command.source)
        return Outcome(version=self._raise_version(row, 1, self._moment(row)))

    def _replace_settings(self, command: ReplaceSettings) -> Outcome:
        row = self._require(command, CONTENT)
        self.connection.execute(
            update(sources).where(sources.c.source_id == row.source_id).values(settings=command.settings)
        )
        self.note(command.account_id, command.actor, "settings.replace", command.source)
        return Outcome(version=self._raise_version(row, 1, self._moment(row)))

    def _moment(self, row: Any) -> int:
        """Return the present by the source's own clock, which never goes back."""
        return max(self.now, int(row.changed_at))

    def _raise_version(self, row: Any, rows: int, now: int, *, live: int | None = None, clear: bool = False) -> int:
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
