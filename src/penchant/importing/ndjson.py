"""NDJSON: this project's own shape, as ``penchant export`` writes it, an object a line or an array of objects.

An object is a piece, an interaction, or alone in it a list, the settings, a placement or a person's preferences.
"""

from collections.abc import Iterator, Mapping

import msgspec

from penchant.importing.drafts import Draft, DraftKind
from penchant.importing.files import Files, json_problem
from penchant.importing.interactions import problem_draft
from penchant.importing.notes import Notes
from penchant.importing.options import ImportOptions
from penchant.wire.syntax import UNREADABLE

ENDINGS = ("ndjson", "jsonl", "json")
PIECE_MEMBERS = ("id", "label", "categories", "filters", "extras")
INTERACTION_MEMBERS = ("userId", "type", "contentId", "timestamp", "eventId")
_ALONE = {kind.value: kind for kind in DraftKind if kind not in {DraftKind.PIECE, DraftKind.INTERACTION}}
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read(files: Files, _options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield what the files hold, in their order."""
    for file in files.taken(*ENDINGS):
        for number, text in files.raws(file):
            yield _draft((file.name, number), text, file.role, notes)


def _draft(where: tuple[str, int], text: bytes, role: DraftKind | None, notes: Notes) -> Draft:
    """Return the draft of an object: by the role of its file, or else by its members."""
    try:
        members = _members.decode(text)
    except UNREADABLE:
        return problem_draft(role or DraftKind.PIECE, where, "", _problem(text))
    if role is None and len(members) == 1:
        (name,) = members
        if name in _ALONE:
            notes.mapped(where[0], name, name)
            return Draft(_ALONE[name], *where, bytes(members[name]))
    kind = role or _kind(members)
    note_members(where, kind, members, notes)
    return Draft(kind, *where, text)


def _problem(text: bytes) -> str:
    is_object = text.lstrip().startswith(b"{")
    found = json_problem(text) if is_object else "The line is no JSON object."
    return f"{found} One object a line, or an array of objects, is accepted."


def _kind(members: Mapping[str, msgspec.Raw]) -> DraftKind:
    is_interaction = "categories" not in members and ("userId" in members or "contentId" in members)
    return DraftKind.INTERACTION if is_interaction else DraftKind.PIECE


def note_members(where: tuple[str, int], kind: DraftKind, members: Mapping[str, msgspec.Raw], notes: Notes) -> None:
    """Note the members; those that a piece does not have are noted where pieces are checked."""
    known = PIECE_MEMBERS if kind is DraftKind.PIECE else INTERACTION_MEMBERS
    for name in members:
        if name in known:
            notes.mapped(where[0], name, name)
        elif kind is DraftKind.INTERACTION:
            notes.left_out(where[0], name, "no member of an interaction", where[1])
