"""Writes of the curated lists and the settings of a source."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import msgspec
from sqlalchemy import delete, func, insert, select, update

from penchant.differences import Change, differences
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
        store_list(transaction, row, self.kind, self.ids)
        version = transaction.raise_version(row)
        after = {self.kind.value: encode_list(self.ids)}
        keep_versions(transaction, row, self, before, after, version)
        return SourceChange(version)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditList(SourceCommand[SourceChange]):
    """Put pieces at the end of the whitelist or the blacklist, or take them off, whatever else was changed meanwhile.

    Fails with `TooManyEntries` where the list would have more ids than it may. What is so already changes nothing.
    """

    steers: ClassVar[bool] = True

    kind: ListKind
    piece_ids: Sequence[str]
    is_listed: bool

    def apply(self, transaction: WriteTransaction) -> SourceChange:
        """Put pieces on a list or take them off; one piece is in the audit log under its id."""
        row = transaction.require_source(self, CONTENT)
        kind = self.kind.value
        own = (lists.c.source_id == row.source_id) & (lists.c.kind == kind)
        before = list_ids(transaction, row, kind)
        listed = set(before)
        changed = [each for each in self.piece_ids if (each in listed) != self.is_listed]
        if not changed:
            return SourceChange(row.version)
        if self.is_listed and len(before) + len(changed) > MAX_LIST_LENGTH:
            raise TooManyEntries(f"The list has {len(before)} ids already; {MAX_LIST_LENGTH} are accepted.")
        if self.is_listed:
            after = [*before, *changed]
            # Past the last one: what was taken off has left gaps.
            last = transaction.connection.execute(select(func.max(lists.c.position)).where(own)).scalar_one()
            first = 0 if last is None else last + 1
            entry = {"source_id": row.source_id, "kind": kind}
            entries = [entry | {"piece_id": each, "position": first + place} for place, each in enumerate(changed)]
            transaction.connection.execute(insert(lists), entries)
        else:
            gone = set(changed)
            after = [each for each in before if each not in gone]
            transaction.connection.execute(delete(lists).where(own, lists.c.piece_id.in_(changed)))
        is_one = len(self.piece_ids) == 1
        if is_one:
            transaction.note(self, f"{kind}.{'add' if self.is_listed else 'remove'}", changed[0])
        version = transaction.raise_version(row)
        states = {kind: encode_list(before)}, {kind: encode_list(after)}
        keep_versions(transaction, row, self, *states, version, notes=not is_one)
        return SourceChange(version)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceSettings(SourceCommand[SettingsChange]):
    """Replace the source's settings (JSON), and the rule by which pieces are to have words.

    With ``expected`` only where these are still the settings that are stored, and as no act of anybody.
    """

    steers: ClassVar[bool] = True

    settings: bytes
    defaults: bytes = b"{}"
    words: bytes = b""
    expected: bytes | None = None

    def apply(self, transaction: WriteTransaction) -> SettingsChange:
        """Store the settings, unless others than those ``expected`` are there."""
        row = transaction.require_source(self, CONTENT)
        before = steering_of(transaction, row, settings=True)
        if self.expected not in {None, before[SETTINGS]}:
            return SettingsChange(row.version, pending=False)
        is_pending = store_settings(transaction, row, self.settings, self.words, row.live)
        version = transaction.raise_version(row)
        notes = self.expected is None
        keep_versions(
            transaction, row, self, before, {SETTINGS: self.settings}, version, defaults=self.defaults, notes=notes
        )
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


def keep_versions(  # noqa: PLR0913  # what a change is
    transaction: WriteTransaction,
    row: Any,
    command: SourceCommand[Any],
    before: Mapping[str, bytes],
    after: Mapping[str, bytes],
    version: int,
    *,
    defaults: bytes = b"{}",
    notes: bool = True,
) -> None:
    """Keep what steers a source since a change, where that has changed it; with ``notes`` also in the audit log.

    ``defaults`` are the settings of which those that are stored may have none.
    """
    moment = transaction.moment(row)
    for subject, body in after.items():
        was = SteeringVersion(row.version, row.changed_at, "", before[subject])
        now = SteeringVersion(version, moment, command.actor, body)
        keep_version(transaction.connection, row.source_id, subject, was, now)
        if notes:
            changes = [] if body == was.body else _changes(subject, was.body, body, defaults)
            text = msgspec.json.encode(changes).decode() if changes else None
            transaction.note(command, f"{subject}.replace", changes=text)


def _changes(subject: str, before: bytes, now: bytes, defaults: bytes) -> list[Change]:
    if subject != SETTINGS:
        return differences(*(msgspec.json.decode(each or b"[]") for each in (before, now)))
    given, old, new = (msgspec.json.decode(each or b"{}") for each in (defaults, before, now))
    return differences(given | old, given | new)


def store_list(transaction: WriteTransaction, row: Any, kind: ListKind, ids: Sequence[str]) -> None:
    """Store a list of a source."""
    own = (lists.c.source_id == row.source_id) & (lists.c.kind == kind.value)
    transaction.connection.execute(delete(lists).where(own))
    if ids:
        rows = [
            {"source_id": row.source_id, "kind": kind.value, "position": offset, "piece_id": piece_id}
            for offset, piece_id in enumerate(ids)
        ]
        transaction.connection.execute(insert(lists), rows)


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
