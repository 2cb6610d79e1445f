"""Checks of drafts, by the very checks of requests: a batch at a time, and row by row where one has a fault."""

import pickle
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import msgspec

from penchant_engine.errors import Fault, InvalidInput, InvalidSyntax, PenchantError
from penchant_engine.model import InteractionType
from penchant_engine.moments import parse_timestamp
from penchant_import.drafts import CheckedInteraction, Draft, DraftKind
from penchant_import.files import Position, json_problem
from penchant_import.hosting import CheckedBody, CheckedPiece, RequestChecks
from penchant_import.report import InvalidRow, Notes
from penchant_import.rules import UNREADABLE, id_problem, piece_id_of

_OF_OTHERS = "stored as it is: no package that is installed knows it"
MAX_NAMED_IGNORED = 100
"""Left-out members that one submission names: from here on each piece is looked at by itself."""
MAX_SPOOL_BYTES = 4 * 1024**3
"""What checked batches may take on disk; of larger imports the files are read twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedBatch:
    """What of a batch may be stored, as requests have what is of its kind, and why the other rows may not."""

    kind: DraftKind
    rows: int
    items: Sequence[Any]
    superseded: int
    invalid: Sequence[InvalidRow]
    invalid_rows: int


class BatchSpool:
    """Batches that were checked, in a file without a name until they are stored, so that none is read a second time."""

    def __init__(self, folder: Path | None) -> None:
        """Begin with none; ``folder`` has room for what the rows of all files become, ``None`` is the system's."""
        self._file: IO[bytes] | None = None
        try:
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # open until `close`, or it is given up
        except OSError:
            self.close()

    def keep(self, batch: CheckedBatch, position: Position) -> None:
        """Add a batch, and how far the files were read for it; where there is no room, none is kept."""
        if self._file is None:
            return
        try:
            pieces = [(entry.id, entry.body) for entry in batch.items] if batch.kind is DraftKind.PIECE else None
            pickle.dump((batch if pieces is None else replace(batch, items=()), position, pieces), self._file, -1)
            is_full = self._file.tell() > MAX_SPOOL_BYTES
        except OSError:
            is_full = True
        if is_full:
            self.close()

    @property
    def is_complete(self) -> bool:
        """Whether everything is there that was added."""
        return self._file is not None

    def read(self) -> Iterator[tuple[CheckedBatch, Position]]:
        """Yield the batches in their order, once; one is in memory at a time."""
        if self._file is None:
            return
        with closing(self):
            end = self._file.tell()
            self._file.seek(0)
            while self._file.tell() < end:
                batch, position, pieces = pickle.load(self._file)  # noqa: S301  # nobody else can open this file
                if pieces is not None:
                    batch = replace(batch, items=[CheckedPiece(*entry) for entry in pieces])
                yield batch, position

    def close(self) -> None:
        """Give up what was kept."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                file.close()


class PlainChecks:
    """What tells without the service that something is no request: it checks all of it when it comes."""

    word_rule = None

    def read(self, kind: str, body: bytes, _now: int) -> CheckedBody:
        """Return what is in the body of a request, as `RequestChecks.read` does."""
        if kind == DraftKind.PIECE.value:
            rows = [bytes(raw) for raw in _split.decode(body)]
            pieces = [CheckedPiece(piece_id, row) for row in rows if (piece_id := piece_id_of(row)) is not None]
            if len(pieces) < len(rows):
                faults = [
                    Fault(pointer=f"/{number}/id", detail="A text of 1 to 500 characters is accepted.")
                    for number, row in enumerate(rows)
                    if piece_id_of(row) is None
                ]
                raise _invalid_input(faults)
            return CheckedBody(pieces)
        if kind == DraftKind.INTERACTION.value:
            return self._interactions(body)
        if kind == DraftKind.LINE.value:
            detail = "Neither a piece nor an interaction; what a package keeps is imported where its service stores it."
            raise _invalid_input([Fault(pointer="", detail=detail)])
        msgspec.json.decode(body)
        return CheckedBody([body])

    def _interactions(self, body: bytes) -> CheckedBody:
        faults, items = [], []
        for place, raw in enumerate(_split.decode(body)):
            try:
                items.append(_interaction(_given.decode(raw)))
            except (ValueError, *UNREADABLE) as error:
                faults.append(Fault(pointer=f"/{place}", detail=str(error)))
        if faults:
            raise _invalid_input(faults)
        return CheckedBody(items)


class _GivenInteraction(msgspec.Struct, rename="camel"):
    user_id: str
    type: str
    content_id: str
    timestamp: str | None = None
    event_id: str | None = None
    value: float | None = None


_split = msgspec.json.Decoder(list[msgspec.Raw])
_given = msgspec.json.Decoder(_GivenInteraction)
_KINDS = {kind.value: kind for kind in InteractionType}


def _interaction(given: _GivenInteraction) -> CheckedInteraction:
    problem = id_problem(given.user_id) or id_problem(given.content_id)
    if problem or given.type not in _KINDS:
        raise ValueError(problem or f"Found {given.type!r}; {', '.join(_KINDS)} are accepted.")
    if given.value is not None and not 0 <= given.value <= 1:
        raise ValueError(f"Found the value {given.value:g}; a number from 0 to 1 is accepted.")
    return CheckedInteraction(
        given.user_id,
        _KINDS[given.type],
        given.content_id,
        None if given.timestamp is None else parse_timestamp(given.timestamp),
        given.event_id,
        None,
        None if given.value is None else round(given.value * 100),
    )


def _invalid_input(faults: Sequence[Fault]) -> InvalidInput:
    return InvalidInput(f"{faults[0].pointer}: {faults[0].detail}", faults=faults)


def check(drafts: Sequence[Draft], now: int, notes: Notes, checks: RequestChecks) -> CheckedBatch:
    """Return the drafts of one kind that may be stored, and why the others may not; ``now`` in ms since 1970 UTC."""
    kind = drafts[0].kind
    good = [draft for draft in drafts if draft.problem is None]
    invalid = [_invalid(draft, draft.problem.pointer, draft.problem.detail) for draft in drafts if draft.problem]
    is_array = kind in {DraftKind.PIECE, DraftKind.INTERACTION}

    def read(body: bytes) -> CheckedBody:
        body_read: CheckedBody = checks.read(kind.value, body, now)
        return body_read

    checked = _together(good, read, invalid) if is_array else _one_by_one(good, read, invalid, is_array=False)
    # A receipt names a limited number of ignored members: where it is full there may be more, of further rows.
    if is_array and any(len(body.ignored) >= MAX_NAMED_IGNORED for _, body in checked):
        checked = _one_by_one(good, read, invalid)
    items: Sequence[Any] = [item for _, body in checked for item in body.items]
    accepted = sum(len(those) for those, _ in checked)
    if kind is DraftKind.PIECE:
        items = _merged(checked, notes)
    for (draft, *_), body in checked if kind is DraftKind.SETTINGS else ():
        for pointer in body.ignored:
            notes.left_out(draft.file, f"settings{pointer}", _OF_OTHERS, draft.line)
    ranks = {(draft.file, draft.line): rank for rank, draft in enumerate(drafts)} if invalid else {}
    return CheckedBatch(
        kind=kind,
        rows=len(drafts),
        items=items,
        superseded=accepted - len(items),
        invalid=sorted(invalid, key=lambda entry: ranks[entry.file, entry.line]),
        invalid_rows=len(drafts) - accepted,
    )


def _together(
    drafts: Sequence[Draft], read: Callable[[bytes], CheckedBody], invalid: list[InvalidRow]
) -> list[tuple[Sequence[Draft], CheckedBody]]:
    """Return what drafts are, all at once as one request would have them, or where one has a fault one by one."""
    # Row by row takes longer, and is only needed to name faults.
    try:
        return [(drafts, read(b"[" + b",".join([draft.body for draft in drafts]) + b"]"))]
    except (PenchantError, *UNREADABLE):
        return _one_by_one(drafts, read, invalid)


def _one_by_one(
    drafts: Sequence[Draft], read: Callable[[bytes], CheckedBody], invalid: list[InvalidRow], *, is_array: bool = True
) -> list[tuple[Sequence[Draft], CheckedBody]]:
    """Return what each draft is, and add the faults of those that are none to ``invalid``."""
    checked: list[tuple[Sequence[Draft], CheckedBody]] = []
    for draft in drafts:
        try:
            checked.append(([draft], read(b"[" + draft.body + b"]" if is_array else draft.body)))
        except PenchantError as error:
            invalid += _faults(draft, error, 1 if is_array else 0)
        except UNREADABLE:
            invalid.append(_invalid(draft, "", json_problem(draft.body)))
    return checked


def _merged(checked: Sequence[tuple[Sequence[Draft], CheckedBody]], notes: Notes) -> list[Any]:
    """Return the pieces of submissions, of two with the same id the later, and note what was ignored of them."""
    pieces: dict[str, Any] = {}
    for drafts, body in checked:
        _note_ignored(body.ignored, drafts, notes)
        for piece in body.items:
            pieces.pop(piece.id, None)
            pieces[piece.id] = piece
    return list(pieces.values())


def _faults(draft: Draft, error: PenchantError, levels: int) -> list[InvalidRow]:
    """Return the faults of a draft, without as many first parts of their pointers as ``levels``."""
    detail = json_problem(draft.body) if isinstance(error, InvalidSyntax) else error.detail
    faults = error.faults or (Fault(pointer="", detail=detail),)
    return [
        _invalid(draft, "".join(f"/{part}" for part in (fault.pointer or "").split("/")[1 + levels :]), fault.detail)
        for fault in faults
    ]


def _invalid(draft: Draft, pointer: str, detail: str) -> InvalidRow:
    return InvalidRow(file=draft.file, line=draft.line, pointer=pointer, detail=detail)


def _note_ignored(ignored: Sequence[str], drafts: Sequence[Draft], notes: Notes) -> None:
    """Note members that no piece has; positions in lists are noted as one (``*``)."""
    for pointer in ignored:
        index, *parts = pointer.split("/")[1:]
        draft = drafts[int(index)]
        field = "/".join("*" if part.isdecimal() else part for part in parts)
        notes.left_out(draft.file, field, "no member of a piece", draft.line)
