"""Specification: saved answers of the interface that this one follows, and the bodies that one sends to it.

Taken are the answer of ``GET /{source}/content``, one of its pieces, the array that is posted there, the listing of a
person's interactions, the export of a person, and the array of a bulk submission; each as a file of its own, or
several of them a line each.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from penchant.importing.drafts import Draft, DraftKind
from penchant.importing.files import Files, json_problem
from penchant.importing.inputs import InputFile
from penchant.importing.interactions import problem_draft
from penchant.importing.ndjson import ENDINGS, note_members
from penchant.importing.notes import Notes
from penchant.importing.options import ImportOptions
from penchant.wire import encode
from penchant.wire.syntax import UNREADABLE

_ACCEPTED = (
    "An answer of GET /{source}/content or of a listing of interactions, or an array of pieces or interactions, is"
    " accepted."
)
_Members = Mapping[str, msgspec.Raw]
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_list = msgspec.json.Decoder(list[msgspec.Raw])
_USER_ID, _PREFERENCES = "userId", "preferences"
_MADE_ANEW = {
    ("score",): "an entry of a list, which is made anew",
    (_USER_ID, "categories"): "a profile, which is made of interactions",
}
"""What is left out, by the members that tell it, and why."""
_FROM_KEY = (_USER_ID,)
_FROM_LISTING = ("type", "contentId", "timestamp", "eventId")


def read(files: Files, _options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield pieces and interactions in the order of the files."""
    for file in files.taken(*ENDINGS):
        for number, text in enumerate(_flattened(_values(files, file)), start=1):
            draft = _draft((file.name, number), text, notes)
            if draft is not None:
                yield draft


def _values(files: Files, file: InputFile) -> Iterator[bytes]:
    """Yield the JSON values of a file: a single one over any number of lines, or one a line."""
    lines = [text for _, (_, text) in zip(range(2), files.lines(file), strict=False)]
    # A first line that is no JSON by itself begins a document that goes over several lines.
    is_whole = len(lines) == 1 or (bool(lines) and not _is_json(lines[0]))
    if is_whole:
        yield files.document(file)
    else:
        yield from (text for _, text in files.lines(file))


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except UNREADABLE:
        return False
    return True


def _flattened(values: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the objects of arrays, of ``content`` and of ``interactions`` one by one, and what is none of these."""
    for value in values:
        try:
            if value.lstrip().startswith(b"["):
                yield from map(bytes, _list.decode(value))
                continue
            members = _members.decode(value)
            inner = members.get("content", members.get("interactions"))
            if inner is None:
                yield value
            else:
                yield from map(bytes, _list.decode(inner))
            # Of the export of a person: an object by itself, as a line of this project's own shape.
            if _PREFERENCES in members and _USER_ID in members:
                said = {_USER_ID: members[_USER_ID]} | _members.decode(members[_PREFERENCES])
                yield encode({_PREFERENCES: said})
        except UNREADABLE:
            yield value


def _draft(where: tuple[str, int], text: bytes, notes: Notes) -> Draft | None:
    """Return the draft of an object; ``None`` where it is known and holds nothing to keep."""
    try:
        members = _members.decode(text)
    except UNREADABLE:
        if text.startswith(b'"'):
            notes.left_out(
                where[0], "content", "ids without their pieces (the answer of GET /{source}/content has both)", where[1]
            )
            return None
        return problem_draft(DraftKind.PIECE, where, "", f"{json_problem(text, 'text')} {_ACCEPTED}")
    if set(members) == {_PREFERENCES}:
        notes.mapped(where[0], _PREFERENCES, _PREFERENCES)
        return Draft(DraftKind.PREFERENCES, *where, bytes(members[_PREFERENCES]))
    for signs, reason in _MADE_ANEW.items():
        if members.keys() >= set(signs):
            notes.left_out(where[0], signs[-1], reason, where[1])
            return None
    if "key" in members:
        return _listed(where, members, notes)
    kind = DraftKind.INTERACTION if "userId" in members or "contentId" in members else DraftKind.PIECE
    note_members(where, kind, members, notes)
    return Draft(kind, *where, text)


def _listed(where: tuple[str, int], members: _Members, notes: Notes) -> Draft:
    """Return an entry of a listing of interactions, whose person stands in ``key``."""
    try:
        key = _members.decode(members["key"])
    except UNREADABLE:
        return problem_draft(DraftKind.INTERACTION, where, "/key", f"An object with userId is accepted. {_ACCEPTED}")
    interaction: dict[str, Any] = {}
    for name in _FROM_KEY:
        if name in key:
            interaction[name] = key[name]
            notes.mapped(where[0], f"key/{name}", name)
    for name in _FROM_LISTING:
        if name in members:
            interaction[name] = members[name]
            notes.mapped(where[0], name, name)
    return Draft(DraftKind.INTERACTION, *where, encode(interaction))
