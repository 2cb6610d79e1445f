"""Checks of drafts, by the very checks of requests: a batch at a time, and row by row where one has a fault."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from penchant.errors import Fault, PenchantError
from penchant.importing.drafts import Draft, DraftKind
from penchant.importing.report import InvalidRow, Notes
from penchant.model import EncodedPiece, NewInteraction, PieceLimits, SourceSettings
from penchant.wire import (
    DEFAULT_LIMITS,
    ExportedPlacement,
    StatedPreferences,
    Submission,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedBatch:
    """What of a batch may be stored; only the fields of its kind are filled."""

    kind: DraftKind
    pieces: tuple[EncodedPiece, ...] = ()
    superseded: int = 0
    interactions: tuple[NewInteraction, ...] = ()
    ids: tuple[str, ...] = ()
    settings: SourceSettings | None = None
    placements: tuple[ExportedPlacement, ...] = ()
    stated: tuple[StatedPreferences, ...] = ()
    invalid: tuple[InvalidRow, ...] = ()
    invalid_rows: int = 0


def check(drafts: Sequence[Draft], now: int, notes: Notes, limits: PieceLimits = DEFAULT_LIMITS) -> CheckedBatch:
    """Return the drafts of one kind that may be stored, and why the others may not; ``now`` in ms since 1970 UTC."""
    kind = drafts[0].kind
    good = [draft for draft in drafts if draft.problem is None]
    invalid = [_invalid(draft, draft.problem.pointer, draft.problem.detail) for draft in drafts if draft.problem]
    # All at once first, as one request would have them: row by row takes longer, and is only needed to name faults.
    if kind is DraftKind.PIECE:
        decode = functools.partial(decode_submission, limits=limits)
        submission, faulty = _together(good, decode)
        # A receipt names a limited number of ignored members: where it is full there may be more, of further rows.
        if submission is None or len(submission.ignored) >= MAX_NAMED_IGNORED:
            each = _one_by_one(good, decode)
            faulty = [found for _, found in each if isinstance(found, PenchantError)]
            invalid += _faults_of(each)
            submission = _joined([(draft, found) for draft, found in each if isinstance(found, Submission)], notes)
        else:
            _note_ignored(submission.ignored, good, notes)
        return CheckedBatch(
            kind=kind,
            pieces=submission.pieces,
            superseded=submission.superseded,
            invalid=_in_order(invalid, drafts),
            invalid_rows=len(drafts) - len(good) + len(faulty),
        )
    if kind is DraftKind.INTERACTION:
        return _check_interactions(drafts, good, invalid, now)
    if kind in {DraftKind.PLACEMENT, DraftKind.PREFERENCES}:
        return _check_said(drafts, good, invalid)
    return _check_single(good[0] if good else None, kind, invalid)


def _in_order(invalid: Sequence[InvalidRow], drafts: Sequence[Draft]) -> tuple[InvalidRow, ...]:
    """Return faults in the order of their rows."""
    ranks = {(draft.file, draft.line): rank for rank, draft in enumerate(drafts)}
    return tuple(sorted(invalid, key=lambda each: ranks[each.file, each.line]))


def _check_interactions(
    drafts: Sequence[Draft], good: Sequence[Draft], invalid: list[InvalidRow], now: int
) -> CheckedBatch:
    """Return the interactions that may be stored, with the faults of the others added to ``invalid``."""

    def decode(body: bytes) -> tuple[NewInteraction, ...]:
        return decode_interactions(body, now)

    interactions, _ = _together(good, decode)
    failed = 0
    if interactions is None:
        each = _one_by_one(good, decode)
        failed = sum(isinstance(found, PenchantError) for _, found in each)
        invalid += _faults_of(each)
        interactions = tuple(one for _, found in each if isinstance(found, tuple) for one in found)
    return CheckedBatch(
        kind=DraftKind.INTERACTION,
        interactions=interactions,
        invalid=_in_order(invalid, drafts),
        invalid_rows=len(drafts) - len(good) + failed,
    )


def _check_said(drafts: Sequence[Draft], good: Sequence[Draft], invalid: list[InvalidRow]) -> CheckedBatch:
    """Return the placements or the preferences that may be stored, with the faults of the others."""
    placements: list[ExportedPlacement] = []
    stated: list[StatedPreferences] = []
    for draft in good:
        try:
            if draft.kind is DraftKind.PLACEMENT:
                placements.append(decode_exported_placement(draft.body))
            else:
                stated.append(decode_stated_preferences(draft.body))
        except PenchantError as error:
            invalid += _faults(draft, error, 0)
    return CheckedBatch(
        kind=drafts[0].kind,
        placements=tuple(placements),
        stated=tuple(stated),
        invalid=_in_order(invalid, drafts),
        invalid_rows=len(drafts) - len(placements) - len(stated),
    )


def _check_single(draft: Draft | None, kind: DraftKind, invalid: list[InvalidRow]) -> CheckedBatch:
    if draft is None:
        return CheckedBatch(kind=kind, invalid=tuple(invalid), invalid_rows=1)
    try:
        if kind is DraftKind.SETTINGS:
            return CheckedBatch(kind=kind, settings=decode_settings(draft.body))
        return CheckedBatch(kind=kind, ids=decode_list(draft.body))
    except PenchantError as error:
        return CheckedBatch(kind=kind, invalid=tuple(_faults(draft, error, 0)), invalid_rows=1)


def _together(drafts: Sequence[Draft], decode: Callable[[bytes], Read]) -> tuple[Read | None, list[PenchantError]]:
    try:
        return decode(b"[" + b",".join([draft.body for draft in drafts]) + b"]"), []
    except PenchantError:
        return None, []


def _one_by_one(drafts: Sequence[Draft], decode: Callable[[bytes], Read]) -> list[tuple[Draft, Read | PenchantError]]:
    found: list[tuple[Draft, Read | PenchantError]] = []
    for draft in drafts:
        try:
            found.append((draft, decode(b"[" + draft.body + b"]")))
        except PenchantError as error:
            found.append((draft, error))
    return found


def _faults_of(each: Sequence[tuple[Draft, object]]) -> list[InvalidRow]:
    return [one for draft, error in each if isinstance(error, PenchantError) for one in _faults(draft, error, 1)]


def _faults(draft: Draft, error: PenchantError, levels: int) -> list[InvalidRow]:
    """Return the faults of a draft, without as many first parts of their pointers as ``levels``."""
    faults = error.faults or (Fault(pointer="", detail=error.detail),)
    return [
        _invalid(draft, "".join(f"/{part}" for part in (fault.pointer or "").split("/")[1 + levels :]), fault.detail)
        for fault in faults
    ]


def _invalid(draft: Draft, pointer: str, detail: str) -> InvalidRow:
    return InvalidRow(file=draft.file, line=draft.line, pointer=pointer, detail=detail)


def _joined(found: Sequence[tuple[Draft, Submission]], notes: Notes) -> Submission:
    """Return submissions of one piece each as one; of two with the same id the later."""
    pieces: dict[str, EncodedPiece] = {}
    for draft, submission in found:
        _note_ignored(submission.ignored, [draft], notes)
        for piece in submission.pieces:
            pieces.pop(piece.id, None)
            pieces[piece.id] = piece
    return Submission(
        pieces=tuple(pieces.values()), accepted=len(found), superseded=len(found) - len(pieces), ignored=()
    )


def _note_ignored(ignored: Sequence[str], drafts: Sequence[Draft], notes: Notes) -> None:
    """Note members that no piece has; positions in lists are noted as one (``*``)."""
    for pointer in ignored:
        index, *parts = pointer.split("/")[1:]
        draft = drafts[int(index)]
        field = "/".join("*" if part.isdecimal() else part for part in parts)
        notes.left_out(draft.file, field, "no member of a piece", draft.line)
