"""Checks of drafts, by the very checks of requests: a batch at a time, and row by row where one has a fault."""

import functools
import pickle
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from penchant.errors import Fault, InvalidSyntax, PenchantError
from penchant.importing.drafts import Draft, DraftKind
from penchant.importing.files import Position, json_problem
from penchant.importing.report import InvalidRow, Notes
from penchant.model import EncodedPiece, PieceLimits
from penchant.pickling import new_pickler
from penchant.wire import (
    DEFAULT_LIMITS,
    Submission,
    decode_exported_draft,
    decode_exported_placement,
    decode_interactions,
    decode_list,
    decode_settings,
    decode_stated_preferences,
    decode_submission,
)

Read = TypeVar("Read")

MAX_NAMED_IGNORED = 100
"""Left-out members that one submission names: from here on each piece is looked at by itself."""
MAX_KEPT_BYTES = 4 * 1024**3
"""What checked batches may take on disk; of larger imports the files are read twice."""
_SINGLE: Mapping[DraftKind, Callable[[bytes], Any]] = {
    DraftKind.WHITELIST: decode_list,
    DraftKind.BLACKLIST: decode_list,
    DraftKind.SETTINGS: decode_settings,
    DraftKind.PLACEMENT: decode_exported_placement,
    DraftKind.DRAFT: decode_exported_draft,
    DraftKind.PREFERENCES: decode_stated_preferences,
}
"""What requests have one of, and how it is read; pieces and interactions come in arrays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedBatch:
    """What of a batch may be stored, as requests have what is of its kind, and why the other rows may not."""

    kind: DraftKind
    rows: int
    items: Sequence[Any]
    superseded: int
    invalid: Sequence[InvalidRow]
    invalid_rows: int


class KeptBatches:
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
            new_pickler(self._file, {EncodedPiece: _reduce_piece}).dump((batch, position))
            is_full = self._file.tell() > MAX_KEPT_BYTES
        except OSError:
            is_full = True
        if is_full:
            self.close()

    @property
    def are_whole(self) -> bool:
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
                yield pickle.load(self._file)  # noqa: S301  # nobody else can open a file without a name

    def close(self) -> None:
        """Give up what was kept."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                file.close()


def _reduce_piece(piece: EncodedPiece) -> tuple[Any, ...]:
    # Otherwise its class is asked for its fields each time, which takes four times as long.
    return _piece_of, (piece.id, piece.body)


def _piece_of(piece_id: str, body: bytes) -> EncodedPiece:
    return EncodedPiece(id=piece_id, body=body)


def check(drafts: Sequence[Draft], now: int, notes: Notes, limits: PieceLimits = DEFAULT_LIMITS) -> CheckedBatch:
    """Return the drafts of one kind that may be stored, and why the others may not; ``now`` in ms since 1970 UTC."""
    kind = drafts[0].kind
    good = [draft for draft in drafts if draft.problem is None]
    invalid = [_invalid(draft, draft.problem.pointer, draft.problem.detail) for draft in drafts if draft.problem]
    accepted, superseded = 0, 0
    items: Sequence[Any]
    if kind is DraftKind.PIECE:
        submissions = _submissions(good, limits, invalid)
        items = _merged(submissions, notes)
        accepted = sum(len(those) for those, _ in submissions)
        superseded = accepted - len(items)
    elif kind is DraftKind.INTERACTION:
        recorded = _together(good, lambda body: decode_interactions(body, now), invalid)
        items = [one for _, interactions in recorded for one in interactions]
        accepted = len(items)
    else:
        items = [item for _, item in _one_by_one(good, _SINGLE[kind], invalid, is_array=False)]
        accepted = len(items)
    ranks = {(draft.file, draft.line): rank for rank, draft in enumerate(drafts)} if invalid else {}
    return CheckedBatch(
        kind=kind,
        rows=len(drafts),
        items=items,
        superseded=superseded,
        invalid=sorted(invalid, key=lambda each: ranks[each.file, each.line]),
        invalid_rows=len(drafts) - accepted,
    )


def _submissions(
    drafts: Sequence[Draft], limits: PieceLimits, invalid: list[InvalidRow]
) -> list[tuple[Sequence[Draft], Submission]]:
    decode = functools.partial(decode_submission, limits=limits)
    submissions = _together(drafts, decode, invalid)
    # A receipt names a limited number of ignored members: where it is full there may be more, of further rows.
    if any(len(submission.ignored) >= MAX_NAMED_IGNORED for _, submission in submissions):
        return _one_by_one(drafts, decode, invalid)
    return submissions


def _together(
    drafts: Sequence[Draft], decode: Callable[[bytes], Read], invalid: list[InvalidRow]
) -> list[tuple[Sequence[Draft], Read]]:
    """Return what drafts are, all at once as one request would have them, or where one has a fault one by one."""
    # Row by row takes longer, and is only needed to name faults.
    try:
        return [(drafts, decode(b"[" + b",".join([draft.body for draft in drafts]) + b"]"))]
    except PenchantError:
        return _one_by_one(drafts, decode, invalid)


def _one_by_one(
    drafts: Sequence[Draft], decode: Callable[[bytes], Read], invalid: list[InvalidRow], *, is_array: bool = True
) -> list[tuple[Sequence[Draft], Read]]:
    """Return what each draft is, and add the faults of those that are none to ``invalid``."""
    read: list[tuple[Sequence[Draft], Read]] = []
    for draft in drafts:
        try:
            read.append(([draft], decode(b"[" + draft.body + b"]" if is_array else draft.body)))
        except PenchantError as error:
            invalid += _faults(draft, error, 1 if is_array else 0)
    return read


def _merged(submissions: Sequence[tuple[Sequence[Draft], Submission]], notes: Notes) -> list[EncodedPiece]:
    """Return the pieces of submissions, of two with the same id the later, and note what was ignored of them."""
    pieces: dict[str, EncodedPiece] = {}
    for drafts, submission in submissions:
        _note_ignored(submission.ignored, drafts, notes)
        for piece in submission.pieces:
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
