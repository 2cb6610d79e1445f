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
from typing import Any

import msgspec
from sqlalchemy import Connection, delete, func, insert, select, update

from penchant.errors import (
    DraftChanged,
    Fault,
    FourEyes,
    OutdatedDraft,
    TooManyDrafts,
    UnknownDraft,
    WrongDraftState,
    invalid_parameter,
)
from penchant.model import ListKind
from penchant.storage.databases.opening import Transactions
from penchant.storage.placements import read_placements
from penchant.storage.records import (
    DraftAct,
    DraftBasis,
    DraftRow,
    DraftStep,
    DueDraft,
    ReplacedState,
    SaveDraft,
)
from penchant.storage.schema import OPEN_STATES, drafts, sources
from penchant.storage.source_reader import stored_settings

PUBLISHED, UNDONE = "published", "undone"
KEPT_STEPS = 50
"""Steps of a draft that are kept, the newest ones."""
KEPT_CLOSED = 100
"""Drafts of a source that are kept once they were published, the newest ones."""
MAX_LISTED = 100
"""Changed subjects that a refusal lists."""
_MARK_BYTES = 12
_SMALL = [column for column in drafts.c if column not in {drafts.c.body, drafts.c.basis, drafts.c.replaced}]

_encode = msgspec.msgpack.Encoder().encode
_decode_writers = msgspec.msgpack.Decoder(tuple[str, ...]).decode
_decode_steps = msgspec.msgpack.Decoder(tuple[DraftStep, ...]).decode
_decode_marks = msgspec.msgpack.Decoder(dict[str, bytes]).decode
_decode_replaced = msgspec.msgpack.Decoder(ReplacedState).decode


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


def require_draft(connection: Connection, source_id: int, command: DraftAct, *, four_eyes: bool) -> Any:
    """Return the row of a draft to which something may be done; ``four_eyes`` is the source's setting.

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
    if four_eyes and command.needs_review:
        if command.actor in _decode_writers(row.writers):
            raise FourEyes("The source has the setting fourEyes, and you wrote this draft; somebody else may do this.")
        if not command.names_revision:
            detail = "The source has the setting fourEyes: name the revision of the draft that you have looked at."
            raise invalid_parameter("revision", detail)
    return row


def require_unchanged(row: Any, marks: Mapping[str, bytes], *, undoes: bool, free: Collection[str] = ()) -> None:
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


def subjects_of(row: Any) -> Iterable[str]:
    """Return what a draft edits."""
    return _decode_marks(row.basis)


def mark_of(*parts: bytes | None) -> bytes:
    """Return the mark of something that is stored as these bytes; empty for what is not there."""
    if parts[0] is None:
        return b""
    hashed = hashlib.blake2b(digest_size=_MARK_BYTES)
    for part in parts:
        hashed.update(len(part or b"").to_bytes(8, "big"))
        hashed.update(part or b"")
    return hashed.digest()


def mark_list(ids: Sequence[str]) -> bytes:
    """Return the mark of a list of ids."""
    return mark_of(_encode(list(ids)))


def save_draft(
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


def remove_draft(connection: Connection, source_id: int, name: str) -> bool:
    """Remove a draft; return whether there was one."""
    return bool(connection.execute(delete(drafts).where(_of_name(source_id, name))).rowcount)


def move_draft(
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


def list_kinds(subjects: Iterable[str]) -> list[ListKind]:
    """Return the lists among subjects."""
    named = set(subjects)
    return [kind for kind in ListKind if kind.value in named]


def names_in(subjects: Iterable[str], member: str) -> list[str]:
    """Return the names of subjects of a member, such as those of placements."""
    begin = f"{member}/"
    return [subject.removeprefix(begin) for subject in subjects if subject.startswith(begin)]


def _changed() -> DraftChanged:
    return DraftChanged("The draft was written anew since it was looked at; read it, and send this again.")


def draft_now(connection: Connection, source_id: int, name: str) -> DraftRow:
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
