"""The project's own shape: a piece, an interaction, a list or the settings a line, as `penchant export` writes them."""

from collections.abc import Iterator, Mapping

import msgspec

from penchant.importing.choices import Choices
from penchant.importing.drafts import Draft, Kind
from penchant.importing.files import Files
from penchant.importing.interactions import problem_draft
from penchant.importing.notes import Notes

PIECE_MEMBERS = ("id", "label", "categories", "filters", "extras")
INTERACTION_MEMBERS = ("userId", "type", "contentId", "timestamp", "eventId")
_ALONE = {"whitelist": Kind.WHITELIST, "blacklist": Kind.BLACKLIST, "settings": Kind.SETTINGS}
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read(files: Files, _choices: Choices, notes: Notes) -> Iterator[Draft]:
    """Yield what the lines hold, in their order."""
    for file in files.all:
        name = file.name
        for line, text in files.lines(file):
            yield _draft((name, line), text, file.role, notes)


def _draft(place: tuple[str, int], text: bytes, role: Kind | None, notes: Notes) -> Draft:
    try:
        members = _members.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return problem_draft(role or Kind.PIECE, place, "", "The line is no JSON object; one a line is accepted.")
    if role is None and len(members) == 1:
        (name,) = members
        if name in _ALONE:
            notes.mapped(place[0], name, name)
            return Draft(_ALONE[name], *place, bytes(members[name]))
    kind = role or _kind(members)
    _note(place, kind, members, notes)
    return Draft(kind, *place, text)


def _kind(members: Mapping[str, msgspec.Raw]) -> Kind:
    is_interaction = "categories" not in members and ("userId" in members or "contentId" in members)
    return Kind.INTERACTION if is_interaction else Kind.PIECE


def _note(place: tuple[str, int], kind: Kind, members: Mapping[str, msgspec.Raw], notes: Notes) -> None:
    """Note the members; those that a piece does not have are noted where pieces are checked."""
    known = PIECE_MEMBERS if kind is Kind.PIECE else INTERACTION_MEMBERS
    for name in members:
        if name in known:
            notes.mapped(place[0], name, name)
        elif kind is Kind.INTERACTION:
            notes.left_out(place[0], name, "no member of an interaction", place[1])
