"""Writes of pieces and of whole sources: submissions, deletions, clearings, and the words of texts.

What they change of the source's row and counters is drawn in `penchant.storage.transaction`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from sqlalchemy import delete, func, select, update

from penchant.errors import TooManyPieces, TooManySources, UnknownSource
from penchant.model import EncodedPiece
from penchant.storage import statements
from penchant.storage.bodies import BodyReader, BodyWriter, forget_dictionaries
from penchant.storage.hashing import source_id
from penchant.storage.records import NO_KEYWORDS, KeywordRules, KeywordRulesChanged, PieceRow
from penchant.storage.schema import (
    CODEC_JSON,
    CONTENT,
    INTERACTIONS,
    accounts,
    counters,
    dictionaries,
    lists,
    pieces,
    sources,
    steering_versions,
)
from penchant.storage.source_reader import rules_of
from penchant.storage.transaction import SourceChange, SourceCommand, WriteTransaction


class PieceSubmission(NamedTuple):
    """What came of a submission: the source's content version, and how many of the pieces were new."""

    version: int
    created: int
    replaced: int


class PieceDeletion(NamedTuple):
    """What came of a deletion: the source's content version, and how many pieces there were."""

    version: int
    deleted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitPieces(SourceCommand[PieceSubmission]):
    """Store pieces (ids are distinct), replacing those of the same id.

    Makes the source where it is missing, or fails with `UnknownSource` without ``makes_source``. Fails with
    `TooManySources` or `TooManyPieces` where a limit is given and would be passed by a new source or by new ids, with
    `KeywordRulesChanged` where the pieces have not the keywords of the rules of the source. A source that is made has
    ``settings``, and keywords by the rule ``words``.
    """

    pieces: Sequence[EncodedPiece]
    makes_source: bool = True
    max_sources: int | None = None
    max_pieces: int | None = None
    rules: KeywordRules = NO_KEYWORDS
    settings: bytes = b""
    words: bytes = b""

    @property
    def size_bytes(self) -> int:
        """The size of the bodies."""
        return sum(len(piece.body) for piece in self.pieces)

    def apply(self, transaction: WriteTransaction) -> PieceSubmission:
        """Store the pieces, each at a version of its own, making the source where it is missing."""
        row = transaction.lock_source(self, CONTENT)
        if row is None or row.deleted:
            if not self.makes_source:
                raise UnknownSource("The account has no source of this name; the first submission makes it.")
            require_rules(self.rules, KeywordRules(self.words, self.words))
            _check_sources(transaction, self)
            # Before anything is written: a submission that is refused makes no source.
            require_room(self.max_pieces, len(self.pieces), len(self.pieces))
            row = _make_source(transaction, self, row)
        # Whoever made the source meanwhile may have given it other rules.
        require_rules(self.rules, rules_of(row))
        # Looked up once the counter is locked: who made the source meanwhile may have stored the same pieces.
        existing = find_pieces(transaction, row, [piece.id for piece in self.pieces])
        created = len(self.pieces) - len(existing)
        require_room(self.max_pieces, row.live + created, created)
        store_pieces(transaction, row, self.pieces, existing)
        version = transaction.raise_version(row, len(self.pieces), live=row.live + created)
        return PieceSubmission(version, created, len(existing))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePieces(SourceCommand[PieceDeletion]):
    """Delete the pieces with these ids; unknown ids are no error."""

    ids: Sequence[str]

    def apply(self, transaction: WriteTransaction) -> PieceDeletion:
        """Delete pieces by id: each leaves a tombstone at a version of its own."""
        row = transaction.require_source(self, CONTENT)
        gone = sorted(find_pieces(transaction, row, list(dict.fromkeys(self.ids))))
        bury_pieces(transaction, row, gone, row.version)
        version = transaction.raise_version(row, len(gone), live=row.live - len(gone))
        return PieceDeletion(version, len(gone))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearPieces(SourceCommand[PieceDeletion]):
    """Delete every piece; the source, its lists, settings and interactions stay."""

    def apply(self, transaction: WriteTransaction) -> PieceDeletion:
        """Move the bound of what is live, and leave the rows alone: the same for ten pieces and for a million."""
        row = transaction.require_source(self, CONTENT)
        version = transaction.raise_version(row, live=0, clear=True)
        forget_dictionaries(transaction.connection, row.source_id)
        transaction.note(self, "source.clear")
        return PieceDeletion(version, row.live)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteSource(SourceCommand[PieceDeletion]):
    """Delete the source with everything in it; its versions go on if it is made again."""

    steers: ClassVar[bool] = True

    def apply(self, transaction: WriteTransaction) -> PieceDeletion:
        """Clear all of a source and mark it as deleted; housekeeping removes its rows.

        Its versions go on from where they are if it is made again.
        """
        connection = transaction.connection
        row = transaction.require_source(self, CONTENT, INTERACTIONS)
        version = transaction.raise_version(row, live=0, clear=True)
        # The interactions are cleared in the same way; they have no ``live`` that would have to be set.
        raised = row.interactions_version + 1
        connection.execute(
            update(counters)
            .where(counters.c.source_id == row.source_id, counters.c.kind == INTERACTIONS)
            .values(version=raised, cleared_at=raised)
        )
        for table in (lists, steering_versions, dictionaries, *transaction.emptied_tables):
            connection.execute(delete(table).where(table.c.source_id == row.source_id))
        connection.execute(
            update(sources)
            .where(sources.c.source_id == row.source_id)
            .values(deleted=True, settings=b"", words=None, words_wanted=None)
        )
        transaction.note(self, "source.delete")
        return PieceDeletion(version, row.live)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreKeywords(SourceCommand[SourceChange]):
    """Store words of pieces, by id and version as they were read, worked out by the rule ``wanted``.

    With ``adopts`` that rule is in force from now on, which is one change of the source. Where another rule is wanted
    by now, or a piece was replaced, which brought its words along, nothing of it is stored.
    """

    wanted: bytes
    words: Sequence[tuple[str, int, bytes]] = ()
    adopts: bool = False

    def apply(self, transaction: WriteTransaction) -> SourceChange:
        """Store the words beside their pieces, and with ``adopts`` their rule."""
        row = transaction.require_source(self, CONTENT)
        if rules_of(row).wanted != self.wanted:
            return SourceChange(row.version)
        if self.words:
            values = [
                {"number": row.source_id, "id": piece_id, "read_at": version, "text": words}
                for piece_id, version, words in self.words
            ]
            # By the version, too: a piece that was replaced meanwhile came with words by this rule.
            transaction.connection.execute(statements.STORE_KEYWORDS, values)
        if not self.adopts or rules_of(row).in_force == self.wanted:
            return SourceChange(row.version)
        transaction.connection.execute(
            update(sources).where(sources.c.source_id == row.source_id).values(words=self.wanted)
        )
        return SourceChange(transaction.raise_version(row))


def find_pieces(transaction: WriteTransaction, row: Any, ids: Sequence[str]) -> dict[str, int]:
    """Return the first submission of each of these ids that is live."""
    existing: dict[str, int] = {}
    for portion in statements.portions(ids):
        existing |= transaction.run(
            statements.LIVE_PIECES, source=row.source_id, ids=portion, cleared_at=row.cleared_at
        )
    return existing


def store_pieces(
    transaction: WriteTransaction, row: Any, given: Sequence[EncodedPiece], existing: Mapping[str, int]
) -> None:
    """Store pieces, each at the next version; ``existing`` has the first submission of those that they replace."""
    now, number, bodies = transaction.moment(row), row.source_id, [piece.body for piece in given]
    # Prepared first: a dictionary that this submission is large enough for compresses it, too.
    writer = BodyWriter(transaction.connection, transaction.database, row.source_id, transaction.dictionaries)
    writer.prepare(bodies, row.live + len(given) - len(existing))
    codec, stored = writer.write(bodies)
    # A replaced piece keeps the moment of its first submission; by its new version followers read it again.
    rows = [
        # By place: names would take twice as long.
        PieceRow(number, piece.id, version, False, existing.get(piece.id, now), codec, body, piece.words or None)
        for version, (piece, body) in enumerate(zip(given, stored, strict=True), start=row.version + 1)
    ]
    if rows:
        transaction.database.upsert_rows(transaction.connection, pieces, rows)


def bury_pieces(transaction: WriteTransaction, row: Any, gone: Sequence[str], version: int) -> None:
    """Delete pieces that are live, each at the next version after one."""
    # A deleted piece stays as a row without body, a tombstone with a version, by which followers hear of it.
    now = transaction.moment(row)
    rows = [
        PieceRow(row.source_id, piece_id, version + offset, True, now, CODEC_JSON, b"", None)
        for offset, piece_id in enumerate(gone, start=1)
    ]
    if rows:
        transaction.database.upsert_rows(transaction.connection, pieces, rows)


def read_bodies(transaction: WriteTransaction, row: Any, ids: Sequence[str]) -> dict[str, bytes | None]:
    """Return the bodies of pieces; ``None`` for those that are not live."""
    bodies: dict[str, bytes | None] = dict.fromkeys(ids)
    reader = BodyReader(transaction.connection, row.source_id, transaction.dictionaries)
    live = pieces.c.deleted.is_(False) & (statements.version_of_one > row.cleared_at)
    own = (pieces.c.source_id == row.source_id) & live
    for portion in statements.portions(ids):
        statement = select(pieces.c.piece_id, pieces.c.codec, pieces.c.body)
        rows = transaction.connection.execute(statement.where(own, pieces.c.piece_id.in_(portion)))
        for piece_id, codec, body in rows:
            bodies[piece_id] = reader.read(codec, bytes(body))
    return bodies


def require_room(most: int | None, live: int, created: int) -> None:
    """Raise `TooManyPieces` where new pieces make a source larger than the plan allows."""
    if most is not None and created and live > most:
        raise TooManyPieces(f"The plan allows {most} pieces in a source; it would have {live}.")


def require_rules(given: KeywordRules, rules: KeywordRules) -> None:
    """Raise `KeywordRulesChanged` unless the pieces of a submission have words by these rules."""
    if given != rules:
        raise KeywordRulesChanged(rules)


def _check_sources(transaction: WriteTransaction, command: SubmitPieces) -> None:
    if command.max_sources is None:
        return
    # The account's row is locked, so that two new sources at once are counted one after the other.
    transaction.connection.execute(
        select(accounts.c.name).where(accounts.c.account_id == command.account_id).with_for_update()
    ).all()
    existing = select(func.count()).where(sources.c.account_id == command.account_id, sources.c.deleted.is_(False))
    if transaction.connection.execute(existing.select_from(sources)).scalar_one() >= command.max_sources:
        raise TooManySources(f"The plan allows {command.max_sources} source(s); delete one first.")


def _make_source(transaction: WriteTransaction, command: SubmitPieces, row: Any) -> Any:
    """Make the source, or make a deleted one again under a new incarnation; return its row, locked.

    Another process may do the same at the same time: whichever comes second finds the source made.
    """
    number = source_id(command.account_id, command.source)
    begun: dict[str, Any] = {"settings": command.settings, "words": command.words, "words_wanted": command.words}
    # On PostgreSQL nodes of 0.1.0 may go on beside this one.
    begun["own_events"] = True if transaction.connection.dialect.name == "sqlite" else None
    if row is not None:
        row = transaction.lock_source(command, CONTENT, INTERACTIONS)
        if not row.deleted:
            return row
        # The versions go on; by the new incarnation followers and ETags of the deleted source are told apart.
        transaction.connection.execute(
            update(sources)
            .where(sources.c.source_id == number)
            .values(deleted=False, incarnation=row.incarnation + 1, created_at=transaction.moment(row), **begun)
        )
    else:
        # Versions never go back: where sources of the account were purged, this one may be one of them. An
        # incarnation is never above its versions, so that the one after the floor was never given either.
        floor = _version_floor(transaction, command.account_id)
        source = {
            "source_id": number,
            "account_id": command.account_id,
            "name": command.source,
            "incarnation": floor + 1,
            # Never that of a source of this name which was made in a history that is lost.
            "epoch": transaction.now,
            "deleted": False,
            "created_at": transaction.now,
            "changed_at": transaction.now,
            **begun,
        }
        # There are no counters yet that could be locked. Where another process makes the same source meanwhile,
        # PostgreSQL waits here for its commit, and inserts nothing; the row is read again below.
        insert = statements.insert_missing(transaction.database.insert, sources).returning(sources.c.source_id)
        if transaction.connection.execute(insert, source).first() is None:
            return transaction.lock_source(command, CONTENT)
        for kind in (CONTENT, INTERACTIONS):
            counter = dict.fromkeys(("version", "cleared_at", "purged_below", "live", "clock", "erased_at"), 0)
            counter |= {"source_id": number, "kind": kind, "version": floor if kind == CONTENT else 0}
            transaction.connection.execute(statements.insert_missing(transaction.database.insert, counters), counter)
    transaction.note(command, "source.create")
    return transaction.lock_source(command, CONTENT)


def _version_floor(transaction: WriteTransaction, account_id: int) -> int:
    statement = select(accounts.c.version_floor).where(accounts.c.account_id == account_id)
    return transaction.connection.execute(statement).scalar_one_or_none() or 0
