"""Writes of the curated lists and the settings of a source."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from sqlalchemy import delete, insert, select, update

from penchant.enrichment import with_absent
from penchant.errors import TooManyEntries
from penchant.model import MAX_LIST_LENGTH, ListKind
from penchant.storage.records import KeywordRules
from penchant.storage.schema import CONTENT, lists, sources
from penchant.storage.source_reader import rules_of, stored_settings
from penchant.storage.steering_versions import SETTINGS, SteeringVersion, encode_list, keep_version
from penchant.storage.transaction import SourceChange, SourceCommand, WriteTransaction


class SettingsChange(NamedTuple):
    """What came of settings: the source's content version, and whether words of pieces are to be worked out first."""

    version: int
    pending: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceList(SourceCommand[SourceChange]):
    """Replace the whitelist or the blacklist."""

    steers: ClassVar[bool] = True

    kind: ListKind
    ids: Sequence[str]

    def apply(self, transaction: WriteTransaction) -> SourceChange:
        """Store the list in the place of the one that there was."""
        row = transaction.require_source(self, CONTENT)
        before = steering_of(transaction, row, [self.kind])
        store_list(transaction, row, self, self.kind, self.ids)
        version = transaction.raise_version(row)
        keep_versions(transaction, row, self, before, version)
        return SourceChange(version)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditList(SourceCommand[SourceChange]):
    """Put a piece at the end of the whitelist or the blacklist, or take it off, whatever else was changed meanwhile.

    Fails with `TooManyEntries` where the list has as many ids as it may. What is so already changes nothing.
    """

    steers: ClassVar[bool] = True

    kind: ListKind
    piece_id: str
    is_listed: bool

    def apply(self, transaction: WriteTransaction) -> SourceChange:
        """Put a piece on a list or take it off, in the audit log under its id."""
        row = transaction.require_source(self, CONTENT)
        kind = self.kind.value
        own = (lists.c.source_id == row.source_id) & (lists.c.kind == kind)
        entries = transaction.connection.execute(select(lists.c.position, lists.c.piece_id).where(own)).all()
        if any(each.piece_id == self.piece_id for each in entries) == self.is_listed:
            return SourceChange(row.version)
        if self.is_listed and len(entries) >= MAX_LIST_LENGTH:
            raise TooManyEntries(f"The list has {len(entries)} ids already; {MAX_LIST_LENGTH} are accepted.")
        if self.is_listed:
            position = max((each.position for each in entries), default=-1) + 1
            entry = {"source_id": row.source_id, "kind": kind, "position": position, "piece_id": self.piece_id}
            transaction.connection.execute(insert(lists), entry)
        else:
            transaction.connection.execute(delete(lists).where(own, lists.c.piece_id == self.piece_id))
        action = f"{kind}.{'add' if self.is_listed else 'remove'}"
        transaction.note(self, action, self.piece_id)
        version = transaction.raise_version(row)
        before = encode_list([each.piece_id for each in sorted(entries)])
        keep_versions(transaction, row, self, {kind: before}, version)
        return SourceChange(version)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceSettings(SourceCommand[SettingsChange]):
    """Replace the source's settings (JSON), and the rule by which pieces are to have words.

    With ``expected`` only where these are still the settings that are stored, and as no act of anybody.
    """

    steers: ClassVar[bool] = True

    settings: bytes
    words: bytes = b""
    expected: bytes | None = None

    def apply(self, transaction: WriteTransaction) -> SettingsChange:
        """Store the settings, unless others than those ``expected`` are there."""
        row = transaction.require_source(self, CONTENT)
        if self.expected is None:
            transaction.note(self, "settings.replace")
        elif stored_settings(transaction.connection, row.source_id) != self.expected:
            return SettingsChange(row.version, pending=False)
        before = steering_of(transaction, row, settings=True)
        is_pending = store_settings(transaction, row, self.settings, self.words, row.live)
        version = transaction.raise_version(row)
        keep_versions(transaction, row, self, before, version)
        return SettingsChange(version, is_pending)


def list_ids(transaction: WriteTransaction, row: Any, kind: str) -> list[str]:
    """Return the ids on a list of a source, in its order."""
    own = (lists.c.source_id == row.source_id) & (lists.c.kind == kind)
    return [*transaction.connection.execute(select(lists.c.piece_id).where(own).order_by(lists.c.position)).scalars()]


def steering_of(
    transaction: WriteTransaction, row: Any, kinds: Iterable[ListKind] = (), *, settings: bool = False
) -> dict[str, bytes]:
    """Return how what steers a source stands, as its versions have it."""
    standing = {kind.value: encode_list(list_ids(transaction, row, kind.value)) for kind in kinds}
    return standing | ({SETTINGS: stored_settings(transaction.connection, row.source_id)} if settings else {})


def keep_versions(
    transaction: WriteTransaction, row: Any, command: SourceCommand[Any], before: Mapping[str, bytes], version: int
) -> None:
    """Keep what steers a source since a change, where that has changed it."""
    kinds = [ListKind(subject) for subject in before if subject != SETTINGS]
    moment = transaction.moment(row)
    for subject, body in steering_of(transaction, row, kinds, settings=SETTINGS in before).items():
        was = SteeringVersion(row.version, row.changed_at, "", before[subject])
        now = SteeringVersion(version, moment, command.actor, body)
        keep_version(transaction.connection, row.source_id, subject, was, now)


def store_list(
    transaction: WriteTransaction, row: Any, command: SourceCommand[Any], kind: ListKind, ids: Sequence[str]
) -> None:
    """Store a list of a source, and note it in the audit log as an act of the command."""
    own = (lists.c.source_id == row.source_id) & (lists.c.kind == kind.value)
    transaction.connection.execute(delete(lists).where(own))
    if ids:
        rows = [
            {"source_id": row.source_id, "kind": kind.value, "position": offset, "piece_id": piece_id}
            for offset, piece_id in enumerate(ids)
        ]
        transaction.connection.execute(insert(lists), rows)
    transaction.note(command, f"{kind.value}.replace")


def store_settings(transaction: WriteTransaction, row: Any, settings: bytes, words: bytes, live: int) -> bool:
    """Store settings, and by which rule pieces are to have words; return whether these are to be worked out."""
    # What packages that are not installed have made stays.
    words = with_absent(bytes(rules_of(row).wanted), words)
    # Without pieces, and without keywords, there is nothing to work out first.
    in_force = words if not live or not words else rules_of(row).in_force
    transaction.connection.execute(
        update(sources)
        .where(sources.c.source_id == row.source_id)
        .values(settings=settings, words=in_force, words_wanted=words)
    )
    return KeywordRules(in_force, words).are_different
