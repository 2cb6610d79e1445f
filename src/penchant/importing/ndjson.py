"""The project's own shape: a piece, an interaction, a list or the settings a line, as `penchant export` writes them."""

from collections.abc import Iterator, Mapping

import msgspec

from penchant.importing.choices import Choices
from penchant.importing.drafts import Draft, Kind
from penchant.importing.files import Files, InputFile
from penchant.importing.interactions import problem_draft
from penchant.importing.notes import Notes

PIECE_MEMBERS = ("id", "label", "categories", "filters", "extras")
INTERACTION_MEMBERS = ("userId", "type", "contentId", "timestamp", "eventId")
_ALONE = {"whitelist": Kind.WHITELIST, "blacklist": Kind.BLACKLIST, "settings": Kind.SETTINGS}
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read(files: Files, _choices: Choices, notes: Notes) -> Iterator[Draft]:
    """Yield what the lines hold, in their order."""
    for file in files.all:
        for line, text in files.lines(file):
            yield _draft(file, line, text, notes)


def _draft(file: InputFile, line: int, text: bytes, notes: Notes) -> Draft:
    place = file.name, line
    try:
        members = _members.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return problem_draft(file.role or Kind.PIECE, place, "", "The line is no JSON object; one a line is accepted.")
    if file.role is None and len(members) == 1:
        (name,) = members
        if name in _ALONE:
            notes.mapped(file.name, name, name)
            return Draft(_ALONE[name], *place, bytes(members[name]))
    kind = file.role or _kind(members)
    _note(file.name, line, kind, members, notes)
    return Draft(kind, *place, text)


def _kind(members: Mapping[str, msgspec.Raw]) -> Kind:
    is_interaction = "categories" not in members and ("userId" in members or "contentId" in members)
    return Kind.INTERACTION if is_interaction else Kind.PIECE


def _note(file: str, line: int, kind: Kind, members: Mapping[str, msgspec.Raw], notes: Notes) -> None:
    """Note the members; those that a piece does not have are noted where pieces are checked."""
    known = PIECE_MEMBERS if kind is Kind.PIECE else INTERACTION_MEMBERS
    for name in members:
        if name in known:
            notes.mapped(file, name, name)
        elif kind is Kind.INTERACTION:
            notes.left_out(file, name, "no member of an interaction", line)
