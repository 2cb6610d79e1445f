"""Drafts as they are stored: edits that wait, who wrote them, what they edit, and what their publication replaced.

    draft --propose--> proposed --send back--> sent-back       writing one makes it a draft again, from any state
      '----------------'--'--schedule--> scheduled
      '----------------'--'-----------------'--publish--> published --undo--> undone

What a draft edits is told by its *subjects*: ``settings``, ``whitelist``, ``blacklist``, ``placements/NAME`` and
``content/ID``. The *mark* of a subject is a hash of how it stands, by which is seen that it has changed since: no
version tells that of a list or of settings, and what was changed and changed back is as it was.
"""

import hashlib
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, delete, func, insert, select, update

from penchant.errors import Fault, TooManyEntries, invalid_parameter
from penchant.model import MAX_LIST_LENGTH, EncodedPiece, ListChange, ListKind
from penchant.storage.curation import (
    ReplaceSettings,
    keep_versions,
    list_ids,
    steering_of,
    store_list,
    store_settings,
)
from penchant.storage.databases.opening import Transactions
from penchant.storage.piece_writes import (
    bury_pieces,
    find_pieces,
    read_bodies,
    require_room,
    require_rules,
    store_pieces,
)
from penchant.storage.records import NO_KEYWORDS, KeywordRules
from penchant.storage.schema import CONTENT, sources
from penchant.storage.source_reader import rules_of, stored_settings
from penchant.storage.steering_versions import SETTINGS, encode_list
from penchant.storage.transaction import Result, SourceChange, SourceCommand, WriteTransaction
from penchant_rows.errors import (
    DraftChanged,
    FourEyes,
    OutdatedDraft,
    TooManyDrafts,
    TooManyPlacements,
    UnknownDraft,
    WrongDraftState,
)
from penchant_rows.storage.placements import (
    PlacementEdit,
    PlacementRow,
    placements_in_force,
    read_placements,
    remove_placement,
    store_placement,
)
from penchant_rows.storage.tables import OPEN_STATES, drafts

PUBLISHED, UNDONE = "published", "undone"
KEPT_STEPS = 50
"""Steps of a draft that are kept, the newest ones."""
KEPT_CLOSED = 100
"""Drafts of a source that are kept once they were published, the newest ones."""
MAX_LISTED = 100
"""Changed subjects that a refusal lists."""
_MARK_BYTES = 12
_SMALL = [column for column in drafts.c if column not in {drafts.c.body, drafts.c.basis, drafts.c.replaced}]


class StepGrant(NamedTuple):
    """What a group of the settings gave somebody without a key who scheduled a draft."""

    account: str
    role: str
    plan: str
    group: str


class DraftStep(NamedTuple):
    """Something that was done to a draft: ``version`` is that of the source after it, ``due_at`` of a schedule.

    ``grant`` is that of a person who scheduled it, `None` for a key, and in schedules of earlier releases.
    """

    step: str
    actor: str
    recorded_at: int
    note: str = ""
    version: int | None = None
    due_at: int | None = None
    grant: StepGrant | None = None


class DraftRow(msgspec.Struct, frozen=True, kw_only=True):
    """A draft as it is stored: ``writers`` are all who wrote it since it was published, ``steps`` the newest last.

    ``actor`` wrote it last, at ``changed_at``, as this ``revision``. A listing leaves ``body`` empty.
    """

    name: str
    revision: int
    state: str
    title: str
    actor: str
    changed_at: int
    due_at: int | None
    writers: tuple[str, ...]
    steps: tuple[DraftStep, ...]
    body: bytes = b""


class ReplacedState(msgspec.Struct, frozen=True, kw_only=True):
    """What a publication put out of force, what it put in its place by marks, and the versions of placements.

    ``settings`` of ``None`` were not edited; a placement or piece of ``None`` was not there.
    """

    settings: bytes | None = None
    lists: dict[str, list[str]] = {}
    placements: dict[str, tuple[bytes, bytes] | None] = {}
    pieces: dict[str, bytes | None] = {}
    marks: dict[str, bytes] = {}


class DraftBasis(msgspec.Struct, frozen=True, kw_only=True):
    """What publishing a draft, or undoing that, goes by, all read in one transaction."""

    draft: DraftRow
    replaced: ReplacedState | None
    settings: bytes
    placements: Sequence[PlacementRow]


class DueDraft(NamedTuple):
    """A draft whose moment has come: whose, and by which step it was scheduled."""

    account_id: int
    source: str
    name: str
    revision: int
    schedule: DraftStep


class DraftChange(NamedTuple):
    """What came of a draft that was written or moved: the source's content version, and the draft as it is now."""

    version: int
    draft: DraftRow


class DraftPublication(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a publication: the source's content version.

    ``pending`` tells that words of pieces are to be worked out before settings are in force as a whole; ``lists`` are
    those that the publication made of what they had become, where that is not what the draft has.
    """

    version: int
    pending: bool
    lists: Mapping[ListKind, Sequence[str]]


class _ReviewRule(msgspec.Struct, rename="camel"):
    """What stored settings say of who may change the source."""

    four_eyes: bool = False


_decode_rule = msgspec.json.Decoder(_ReviewRule).decode
_encode = msgspec.msgpack.Encoder().encode
_decode_writers = msgspec.msgpack.Decoder(tuple[str, ...]).decode
_decode_steps = msgspec.msgpack.Decoder(tuple[DraftStep, ...]).decode
_decode_marks = msgspec.msgpack.Decoder(dict[str, bytes]).decode
_decode_replaced = msgspec.msgpack.Decoder(ReplacedState).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveDraft(SourceCommand[DraftChange]):
    """Store a draft, in the place of the one of its name; ``body`` is what it edits, as JSON.

    ``subjects`` name what that is: ``settings``, ``whitelist``, ``blacklist``, ``placements/NAME``, ``content/ID``. How
    each stands is noted in the same transaction. Fails with `TooManyDrafts` where the source has ``max_drafts`` others
    that are open, with `DraftChanged` where the draft is not the ``revision`` that it is to replace, if one is named.
    """

    name: str
    title: str
    body: bytes
    subjects: Sequence[str]
    max_drafts: int
    revision: int | None = None

    @property
    def size_bytes(self) -> int:
        """That of what it edits."""
        return len(self.body)

    def apply(self, transaction: WriteTransaction) -> DraftChange:
        """Store it over how what it edits stands now; no change of the source."""
        row = transaction.require_source(self, CONTENT)
        marks = _marks(transaction, row, self.subjects)
        _save_draft(transaction.connection, row.source_id, self, marks, transaction.moment(row))
        transaction.note(self, "draft.save", self.name)
        return DraftChange(row.version, _draft_now(transaction.connection, row.source_id, self.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteDraft(SourceCommand[SourceChange]):
    """Delete a draft; an unknown one is no error. What was published with it stays."""

    name: str

    def apply(self, transaction: WriteTransaction) -> SourceChange:
        """Remove it; no change of the source."""
        row = transaction.require_source(self, CONTENT)
        if transaction.connection.execute(delete(drafts).where(_of_name(row.source_id, self.name))).rowcount:
            transaction.note(self, "draft.delete", self.name)
        return SourceChange(row.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftAct(SourceCommand[Result]):
    """Something that is done to a draft in one of some states; ``step`` is what it is called, ``note`` what is said.

    With a ``revision`` only to the draft as it was written then; ``names_revision`` tells that who asks has seen that
    one. With a ``last_step`` only where nothing was done to it since that. Fails with `UnknownDraft`, `DraftChanged`,
    `WrongDraftState`, and, where two are to look at it (``needs_review``), with `FourEyes` and `InvalidInput`.
    """

    name: str
    step: str
    states: frozenset[str]
    note: str = ""
    revision: int | None = None
    names_revision: bool = False
    last_step: DraftStep | None = None

    @property
    def needs_review(self) -> bool:
        """Whether it puts something in force, with the setting ``fourEyes`` not by a writer of the draft alone."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveDraft(DraftAct[DraftChange]):
    """Take a draft to another state; from ``due_at`` on it is to be published, by the rights in ``grant``."""

    state: str
    due_at: int | None = None
    grant: StepGrant | None = None

    @property
    def needs_review(self) -> bool:
        """Whether it is to be published, be it later."""
        return self.due_at is not None

    def apply(self, transaction: WriteTransaction) -> DraftChange:
        """Note the step, and move the draft; no change of the source."""
        connection, row = transaction.connection, transaction.require_source(self, CONTENT)
        draft = _require_draft(connection, self, row.source_id, stored_settings(connection, row.source_id))
        moment, due_at = transaction.moment(row), self.due_at
        step = DraftStep(self.step, self.actor, moment, self.note, due_at=due_at, grant=self.grant)
        _move_draft(connection, draft, step, self.state, due_at=due_at)
        transaction.note(self, f"draft.{self.step}", self.name)
        return DraftChange(row.version, _draft_now(connection, row.source_id, self.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishDraft(DraftAct[DraftPublication]):
    """Put what a draft edits in force, all of it at one version, or with ``undoes`` what its publication replaced.

    The command has gone by ``settings_seen`` and ``placements_seen``, which are in force; where one of them is another
    by now, it fails with `DraftChanged`. Without ``force`` it fails with `OutdatedDraft` where what the draft edits is
    no longer as it was. ``settings`` and ``lists`` that are ``None`` or missing stay as they are; a list of which there
    is a change is changed by that alone, whatever it is by now, unless it is forced. Pieces of ``removed``
    ids are deleted. Fails with `TooManyPieces` and `TooManyPlacements`, too, and with `KeywordRulesChanged`.
    """

    undoes: bool = False
    force: bool = False
    settings_seen: bytes
    placements_seen: Mapping[str, int]
    settings: bytes | None = None
    defaults: bytes = b"{}"
    word_rule: bytes = b""
    lists: Mapping[ListKind, Sequence[str]] = field(default_factory=dict)
    changes: Mapping[ListKind, ListChange] = field(default_factory=dict)
    placements: Sequence[PlacementEdit] = ()
    pieces: Sequence[EncodedPiece] = ()
    removed: Sequence[str] = ()
    rules: KeywordRules = NO_KEYWORDS
    max_pieces: int | None = None
    max_versions: int
    max_placements: int

    @property
    def size_bytes(self) -> int:
        """The size of the bodies of pieces."""
        return sum(len(piece.body) for piece in self.pieces)

    def apply(self, transaction: WriteTransaction) -> DraftPublication:
        """Put all that a draft edits in force at one version, or what it had replaced.

        Everything is checked, and read for an undo, before the first row is written.
        """
        row = transaction.require_source(self, CONTENT)
        settings = stored_settings(transaction.connection, row.source_id)
        draft = _require_draft(transaction.connection, self, row.source_id, settings)
        in_force = placements_in_force(transaction.connection, row.source_id)
        if (in_force, settings) != (self.placements_seen, self.settings_seen):
            raise DraftChanged("What the draft edits was changed at the same moment; send this again.")
        if self.pieces:
            require_rules(self.rules, rules_of(row))
        subjects = list(_decode_marks(draft.basis))
        changes = {} if self.force else self.changes
        if not self.force:
            free = {kind.value for kind in changes}
            _require_unchanged(draft, _marks(transaction, row, subjects), undoes=self.undoes, free=free)
        _require_places(self, in_force)
        existing = find_pieces(transaction, row, [piece.id for piece in self.pieces])
        created = len(self.pieces) - len(existing)
        require_room(self.max_pieces, row.live + created, created)
        replaced = _standing(transaction, row, subjects)
        merged = {kind: change.applied(replaced.lists[kind.value]) for kind, change in changes.items()}
        for kind, ids in merged.items():
            if len(ids) > MAX_LIST_LENGTH:
                raise TooManyEntries(f"The {kind.value} would have {len(ids)} ids; {MAX_LIST_LENGTH} are accepted.")
        others = {kind: ids for kind, ids in merged.items() if ids != list(self.lists.get(kind, ids))}
        version, pending = self._put_in_force(transaction, row, existing, {**self.lists, **merged})
        # What stands there now tells later whether it has changed since.
        marked = msgspec.structs.replace(replaced, marks=_marks(transaction, row, subjects))
        step = DraftStep(self.step, self.actor, transaction.moment(row), self.note, version)
        state = UNDONE if self.undoes else PUBLISHED
        _move_draft(transaction.connection, draft, step, state, replaced=None if self.undoes else marked)
        transaction.note(self, f"draft.{self.step}", self.name)
        return DraftPublication(version=version, pending=pending, lists=others)

    def _put_in_force(
        self,
        transaction: WriteTransaction,
        row: Any,
        existing: Mapping[str, int],
        listed: Mapping[ListKind, Sequence[str]],
    ) -> tuple[int, bool]:
        """Store everything of a publication; return its version, and whether words are to be worked out."""
        store_pieces(transaction, row, self.pieces, existing)
        gone = sorted(find_pieces(transaction, row, self.removed))
        bury_pieces(transaction, row, gone, row.version + len(self.pieces))
        live = row.live + len(self.pieces) - len(existing) - len(gone)
        is_pending = False
        before = steering_of(transaction, row, listed, settings=self.settings is not None)
        after = {} if self.settings is None else {SETTINGS: self.settings}
        after |= {kind.value: encode_list(ids) for kind, ids in listed.items()}
        if self.settings is not None:
            is_pending = store_settings(transaction, row, self.settings, self.word_rule, live)
        for kind, ids in listed.items():
            store_list(transaction, row, kind, ids)
        version = transaction.raise_version(row, len(self.pieces) + len(gone), live=live)
        keep_versions(transaction, row, self, before, after, version, defaults=self.defaults)
        for edit in self.placements:
            if edit.body is None:
                remove_placement(transaction, row, self, edit.name)
            else:
                made = edit._replace(draft=self.name)
                store_placement(transaction, row, self, made, version=version, max_versions=self.max_versions)
        return version, is_pending


class DraftStore:
    """The drafts of all sources."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def list_of(self, source_id: int) -> list[DraftRow]:
        """Return the drafts of a source without what they edit, those that were changed last first."""
        statement = select(*_SMALL).where(drafts.c.source_id == source_id)
        with self._transactions.read() as connection:
            rows = connection.execute(statement.order_by(drafts.c.moved_at.desc(), drafts.c.name))
            return [_to_row(row) for row in rows]

    def read(self, source_id: int, name: str) -> DraftRow | None:
        """Return a draft; ``None`` where there is none of this name."""
        with self._transactions.read() as connection:
            row = _find(connection, source_id, name)
        return None if row is None else _to_row(row, bytes(row.body))

    def read_basis(self, source_id: int, name: str) -> DraftBasis | None:
        """Return a draft, and what publishing it or undoing that goes by; ``None`` where there is none of this name."""
        with self._transactions.read() as connection:
            row = _find(connection, source_id, name)
            if row is None:
                return None
            return DraftBasis(
                draft=_to_row(row, bytes(row.body)),
                replaced=_decode_replaced(row.replaced) if row.replaced else None,
                settings=stored_settings(connection, source_id),
                placements=read_placements(connection, source_id),
            )

    def list_due(self, limit: int) -> list[DueDraft]:
        """Return drafts of all sources that were to be published by now, the longest waiting first (D235)."""
        statement = (
            select(sources.c.account_id, sources.c.name.label("source"), drafts.c.name, drafts.c.revision)
            .add_columns(drafts.c.steps)
            .join(sources, sources.c.source_id == drafts.c.source_id)
            .where(drafts.c.due_at <= self._transactions.now_ms, sources.c.deleted.is_(False))
            .order_by(drafts.c.due_at, drafts.c.name)
            .limit(limit)
        )
        with self._transactions.read() as connection:
            return [
                DueDraft(row.account_id, row.source, row.name, row.revision, _decode_steps(row.steps)[-1])
                for row in connection.execute(statement)
            ]


def require_review(transaction: WriteTransaction, command: SourceCommand[Any]) -> None:
    """Raise `FourEyes` for a change that nobody else has looked at, where the source asks for that."""
    settings = stored_settings(transaction.connection, transaction.require_source(command, CONTENT).source_id)
    # What is as it was changes nothing: settings that were read can be put back.
    is_change = not isinstance(command, ReplaceSettings) or command.settings != settings
    if is_change and _asks_for_two(settings):
        raise FourEyes(
            "The source has the setting fourEyes: keep the change in a draft (PUT /{source}/drafts/{name}), which "
            "somebody else publishes. To delete the source, turn the setting off by such a draft first."
        )


def open_drafts(connection: Connection, source_id: int) -> list[tuple[str, bytes]]:
    """Return the names of the drafts that wait, and what they edit, as stored JSON, ascending by name."""
    waiting = (drafts.c.source_id == source_id) & drafts.c.state.in_(OPEN_STATES)
    statement = select(drafts.c.name, drafts.c.body).where(waiting).order_by(drafts.c.name)
    return [(row.name, bytes(row.body)) for row in connection.execute(statement)]


def _asks_for_two(settings: bytes) -> bool:
    """Return whether settings, as they are stored, ask for two pairs of eyes."""
    return bool(settings) and _decode_rule(settings).four_eyes


def _require_draft(connection: Connection, command: DraftAct[Any], source_id: int, settings: bytes) -> Any:
    """Return the row of a draft to which something may be done; ``settings`` are the source's.

    Raises:
        UnknownDraft: there is none of this name.
        DraftChanged: it is another revision by now, or something else was done to it.
        WrongDraftState: it may not be done in the state in which it is.
        FourEyes: it may not be done by who wrote it.
        InvalidInput: who asks has not said which revision they have seen.
    """
    row = _find(connection, source_id, command.name)
    if row is None:
        raise UnknownDraft("The source has no draft of this name.")
    if command.revision not in {None, row.revision}:
        raise _changed()
    if row.state not in command.states:
        accepted = ", ".join(sorted(command.states))
        raise WrongDraftState(f"The draft is {row.state}; this is for drafts that are {accepted}.")
    if command.last_step not in {None, _decode_steps(row.steps)[-1]}:
        raise DraftChanged("Something was done to the draft at the same moment; read it, and send this again.")
    if command.needs_review and _asks_for_two(settings):
        if command.actor in _decode_writers(row.writers):
            raise FourEyes("The source has the setting fourEyes, and you wrote this draft; somebody else may do this.")
        if not command.names_revision:
            detail = "The source has the setting fourEyes: name the revision of the draft that you have looked at."
            raise invalid_parameter("revision", detail)
    return row


def _require_unchanged(row: Any, marks: Mapping[str, bytes], *, undoes: bool, free: Collection[str] = ()) -> None:
    """Raise `OutdatedDraft` where marks are not those of when a draft was written, or was published to be undone.

    Subjects that are ``free`` may have changed.
    """
    expected = _decode_replaced(row.replaced).marks if undoes else _decode_marks(row.basis)
    since = "it was published" if undoes else "the draft was written"
    changed = [subject for subject, mark in expected.items() if marks.get(subject) != mark and subject not in free]
    if changed:
        detail = f"It has changed since {since}."
        faults = [Fault(pointer=_pointer(subject), detail=detail) for subject in changed[:MAX_LISTED]]
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise OutdatedDraft(f"What the draft edits has changed since {since}: {changed[0]}{more}.", faults=faults)


def _pointer(subject: str) -> str:
    member, _, name = subject.partition("/")
    return "/".join(["", member, *([name.replace("~", "~0").replace("/", "~1")] if name else [])])


def _mark_of(*parts: bytes | None) -> bytes:
    """Return the mark of something that is stored as these bytes; empty for what is not there."""
    if parts[0] is None:
        return b""
    hashed = hashlib.blake2b(digest_size=_MARK_BYTES)
    for part in parts:
        hashed.update(len(part or b"").to_bytes(8, "big"))
        hashed.update(part or b"")
    return hashed.digest()


def _mark_list(ids: Sequence[str]) -> bytes:
    """Return the mark of a list of ids."""
    return _mark_of(_encode(list(ids)))


def _save_draft(
    connection: Connection, source_id: int, command: SaveDraft, marks: Mapping[str, bytes], now: int
) -> None:
    """Store a draft over how what it edits stands now.

    Who wrote it goes on counting as its writer until it is published: writing it anew makes it nobody else's.

    Raises:
        TooManyDrafts: it would be one too many.
        DraftChanged: it is to replace another revision.
    """
    old = _find(connection, source_id, command.name)
    if command.revision is not None and (old is None or old.revision != command.revision):
        raise _changed()
    if old is None or old.state not in OPEN_STATES:
        held = select(func.count()).where(drafts.c.source_id == source_id, drafts.c.state.in_(OPEN_STATES))
        if connection.execute(held.select_from(drafts)).scalar_one() >= command.max_drafts:
            raise TooManyDrafts(f"A source has up to {command.max_drafts} open drafts; publish or delete one first.")
    writers = () if old is None or old.state == PUBLISHED else _decode_writers(old.writers)
    steps = () if old is None else _decode_steps(old.steps)
    values = {
        "revision": secrets.randbits(62),
        "state": "draft",
        "title": command.title,
        "actor": command.actor,
        "changed_at": now,
        "moved_at": now,
        "due_at": None,
        "writers": _encode(tuple(dict.fromkeys([*writers, command.actor]))),
        "steps": _with_step(steps, DraftStep("save", command.actor, now)),
        "body": command.body,
        "basis": _encode(dict(marks)),
        "replaced": b"",
    }
    if old is None:
        connection.execute(insert(drafts), {"source_id": source_id, "name": command.name} | values)
    else:
        connection.execute(update(drafts).where(_of_name(source_id, command.name)).values(values))


def _move_draft(
    connection: Connection,
    row: Any,
    step: DraftStep,
    state: str,
    *,
    due_at: int | None = None,
    replaced: ReplacedState | None = None,
) -> None:
    """Take a draft to a state, by a step that is noted; of those that are published the oldest ones are forgotten."""
    values: dict[str, Any] = {
        "state": state,
        "moved_at": step.recorded_at,
        "due_at": due_at,
        "steps": _with_step(_decode_steps(row.steps), step),
    }
    if replaced is not None:
        values["replaced"] = _encode(replaced)
    if state == UNDONE:
        values["replaced"] = b""
    connection.execute(update(drafts).where(_of_name(row.source_id, row.name)).values(values))
    if state not in OPEN_STATES:
        closed = (drafts.c.source_id == row.source_id) & drafts.c.state.in_([PUBLISHED, UNDONE])
        names = select(drafts.c.name).where(closed).order_by(drafts.c.moved_at.desc(), drafts.c.name)
        surplus = list(connection.execute(names.offset(KEPT_CLOSED)).scalars())
        if surplus:
            connection.execute(delete(drafts).where(drafts.c.source_id == row.source_id, drafts.c.name.in_(surplus)))


def _marks(transaction: WriteTransaction, row: Any, subjects: Iterable[str]) -> dict[str, bytes]:
    """Return how each subject of a draft stands, as a mark."""
    now = _standing(transaction, row, subjects)
    marks = {} if now.settings is None else {"settings": _mark_of(now.settings)}
    marks |= {kind: _mark_list(ids) for kind, ids in now.lists.items()}
    marks |= {f"placements/{name}": _mark_of(row and row[0]) for name, row in now.placements.items()}
    return marks | {f"content/{piece_id}": _mark_of(body) for piece_id, body in now.pieces.items()}


def _standing(transaction: WriteTransaction, row: Any, subjects: Iterable[str]) -> ReplacedState:
    """Return how each subject of a draft stands, as it is stored."""
    subjects = list(subjects)
    kinds, names = [kind for kind in ListKind if kind.value in subjects], _names_in(subjects, "placements")
    placed = read_placements(transaction.connection, row.source_id) if names else []
    in_force = {each.name: (each.body, each.assignment) for each in placed}
    return ReplacedState(
        settings=stored_settings(transaction.connection, row.source_id) if "settings" in subjects else None,
        lists={kind.value: list_ids(transaction, row, kind.value) for kind in kinds},
        placements={name: in_force.get(name) for name in names},
        pieces=read_bodies(transaction, row, _names_in(subjects, "content")),
    )


def _names_in(subjects: Iterable[str], member: str) -> list[str]:
    """Return the names of subjects of a member, such as those of placements."""
    begin = f"{member}/"
    return [subject.removeprefix(begin) for subject in subjects if subject.startswith(begin)]


def _require_places(command: PublishDraft, in_force: Collection[str]) -> None:
    stored = {each.name for each in command.placements if each.body is not None}
    removed = {each.name for each in command.placements if each.body is None}
    if len((set(in_force) - removed) | stored) > max(len(in_force), command.max_placements):
        raise TooManyPlacements(f"A source has up to {command.max_placements} placements; delete one first.")


def _changed() -> DraftChanged:
    return DraftChanged("The draft was written anew since it was looked at; read it, and send this again.")


def _draft_now(connection: Connection, source_id: int, name: str) -> DraftRow:
    """Return a draft that is there, as a transaction leaves it."""
    row = _find(connection, source_id, name)
    return _to_row(row, bytes(row.body))


def _find(connection: Connection, source_id: int, name: str) -> Any:
    return connection.execute(select(drafts).where(_of_name(source_id, name))).one_or_none()


def _of_name(source_id: int, name: str) -> Any:
    return (drafts.c.source_id == source_id) & (drafts.c.name == name)


def _with_step(steps: Sequence[DraftStep], step: DraftStep) -> bytes:
    return _encode([*steps, step][-KEPT_STEPS:])


def _to_row(row: Any, body: bytes = b"") -> DraftRow:
    return DraftRow(
        name=row.name,
        revision=row.revision,
        state=row.state,
        title=row.title,
        actor=row.actor,
        changed_at=row.changed_at,
        due_at=row.due_at,
        writers=_decode_writers(row.writers),
        steps=_decode_steps(row.steps),
        body=body,
    )
