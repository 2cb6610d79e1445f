"""Interface: lines of this project's own shape, and saved bodies and answers of the interface that it follows.

In NDJSON, as ``penchant export`` writes it, an object is a piece, an interaction, or alone in it a list, the settings,
a placement, a draft, a person's preferences or what a package keeps; an object a line, or an array of objects.

Of a specification are taken the answer of ``GET /{source}/content``, one of its pieces, the array that is posted there,
the listing of a person's interactions, the export of a person, and the array of a bulk submission; each as a file of
its own, or several of them a line each.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from penchant_import.drafts import Draft, DraftKind, problem_draft
from penchant_import.files import TOO_DEEP, Files, InputFile, json_problem
from penchant_import.moments import read_moment
from penchant_import.options import ImportOptions
from penchant_import.report import Notes
from penchant_import.rules import UNREADABLE, encode

ENDINGS = ("ndjson", "jsonl", "json")
PIECE_MEMBERS = ("id", "label", "categories", "filters", "extras")
INTERACTION_MEMBERS = ("userId", "type", "contentId", "timestamp", "eventId", "value")
_ALONE = {each.value: each for each in set(DraftKind) - {DraftKind.PIECE, DraftKind.INTERACTION, DraftKind.LINE}}
_ACCEPTED = (
    "An answer of GET /{source}/content or of a listing of interactions, or an array of pieces or interactions, is"
    " accepted."
)
_OTHER_OBJECT = (
    "The member categories is missing; it is required. Objects with members of their own, as databases write them, are"
    " read by --from json."
)
WORD_RULE = "wordRule"
"""The member beside settings that says by which rule pieces had words."""
_Members = Mapping[str, msgspec.Raw]
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_list = msgspec.json.Decoder(list[msgspec.Raw])
_USER_ID, _PREFERENCES, _TIME = "userId", "preferences", "timestamp"
_REQUESTED = re.compile(r"[^ ]+[Tt][^ ]+(?:[Zz]|[+-]\d\d:\d\d)\Z")
"""A time as requests have it, which stays as it is written."""
_WINDOWS = "availableFrom", "availableUntil"
_DERIVED = {
    ("score",): "an entry of a list, which is made anew",
    (_USER_ID, "categories"): "a profile, which is made of interactions",
}
"""What is left out, by the members that tell it, and why."""


def read_ndjson(files: Files, _options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield what the files hold, in their order."""
    for file in files.select(*ENDINGS):
        name = file.name
        for number, text in files.raw_values(file):
            yield _draft((name, number), text, file.role, notes)


def _draft(where: tuple[str, int], text: bytes, role: DraftKind | None, notes: Notes) -> Draft:
    """Return the draft of an object: by the role of its file, or else by its members."""
    try:
        members = _members.decode(text)
    except UNREADABLE:
        return problem_draft(role or DraftKind.PIECE, where, "", _problem(text))
    rule = members.pop(WORD_RULE, None) if role is None and DraftKind.SETTINGS.value in members else None
    if rule is not None:
        _note_rule(where, bytes(rule), notes)
    if role is None and len(members) == 1:
        (name,) = members
        if name in _ALONE:
            notes.mapped(where[0], name, name)
            return Draft(_ALONE[name], *where, bytes(members[name]))
        if name not in (*PIECE_MEMBERS, *INTERACTION_MEMBERS):
            return Draft(DraftKind.LINE, *where, text)
    kind = role or _kind(members)
    if kind is DraftKind.PIECE and "categories" not in members and not members.keys() <= set(PIECE_MEMBERS):
        return problem_draft(kind, where, "", _OTHER_OBJECT)
    _note_members(where, kind, members, notes)
    try:
        return Draft(kind, *where, _as_submitted(text, members))
    except RecursionError:
        return problem_draft(kind, where, "", TOO_DEEP)


def _as_submitted(text: bytes, members: _Members) -> bytes:
    """Return an object as a request has it: data frames write ``null`` where one row has nothing, and times anyhow."""
    moment = bytes(members[_TIME]) if _TIME in members else b""
    is_moment_odd = moment.startswith(b'"') and not moment.endswith((b'Z"', b'z"'))
    if not is_moment_odd and b"null" not in text and b"available" not in text:
        return text
    replaced: dict[str, Any] = {}
    for name in ("categories", "filters"):
        raw = bytes(members.get(name, b""))
        if b"null" in raw or (name == "filters" and b"available" in raw):
            value = msgspec.json.decode(raw)
            given = _without_nothing(value)
            if isinstance(given, dict):
                given |= {window: _moment(given[window]) for window in _WINDOWS if window in given}
            if given != value:
                replaced[name] = given
    if is_moment_odd:
        replaced[_TIME] = _moment(msgspec.json.decode(moment))
    return encode({**members, **replaced}) if replaced else text


def _without_nothing(value: Any) -> Any:
    """Return a value without what holds nothing, at every depth."""
    if isinstance(value, dict):
        return {name: _without_nothing(inner) for name, inner in value.items() if inner is not None}
    return [_without_nothing(item) for item in value if item is not None] if isinstance(value, list) else value


def _moment(value: Any) -> Any:
    """Return a time as tables may have it as requests do; what is none stays as it is, and is a fault of its row."""
    with contextlib.suppress(ValueError):
        return value if not isinstance(value, str) or _REQUESTED.match(value) else read_moment(value) or value
    return value


def _note_rule(where: tuple[str, int], rule: bytes, notes: Notes) -> None:
    """Note by which rule words were worked out where an export comes from, if it is another one than here."""
    with contextlib.suppress(*UNREADABLE):
        if notes.word_rule is not None and msgspec.json.decode(rule) != notes.word_rule:
            notes.left_out(where[0], WORD_RULE, "words are worked out anew, by the rule of this release", where[1])


def _problem(text: bytes) -> str:
    is_object = text.lstrip().startswith(b"{")
    problem = json_problem(text) if is_object else "The line is no JSON object."
    return f"{problem} One object a line, or an array of objects, is accepted."


def _kind(members: Mapping[str, msgspec.Raw]) -> DraftKind:
    is_interaction = "categories" not in members and ("userId" in members or "contentId" in members)
    return DraftKind.INTERACTION if is_interaction else DraftKind.PIECE


def _note_members(where: tuple[str, int], kind: DraftKind, members: Mapping[str, msgspec.Raw], notes: Notes) -> None:
    """Note the members; those that a piece does not have are noted where pieces are checked."""
    known = PIECE_MEMBERS if kind is DraftKind.PIECE else INTERACTION_MEMBERS
    for name in members:
        if name in known:
            notes.mapped(where[0], name, name)
        elif kind is DraftKind.INTERACTION:
            notes.left_out(where[0], name, "no member of an interaction", where[1])


def read_specification(files: Files, _options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield pieces and interactions in the order of the files."""
    for file in files.select(*ENDINGS):
        for number, text in enumerate(_flattened(_values(files, file)), start=1):
            draft = _answer_draft((file.name, number), text, notes)
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
                stated = {_USER_ID: members[_USER_ID]} | _members.decode(members[_PREFERENCES])
                yield encode({_PREFERENCES: stated})
        except UNREADABLE:
            yield value


def _answer_draft(where: tuple[str, int], text: bytes, notes: Notes) -> Draft | None:
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
    for signs, reason in _DERIVED.items():
        if members.keys() >= set(signs):
            notes.left_out(where[0], signs[-1], reason, where[1])
            return None
    if "key" in members:
        return _listed(where, members, notes)
    kind = DraftKind.INTERACTION if "userId" in members or "contentId" in members else DraftKind.PIECE
    _note_members(where, kind, members, notes)
    return Draft(kind, *where, text)


def _listed(where: tuple[str, int], members: _Members, notes: Notes) -> Draft:
    """Return an entry of a listing of interactions, whose person stands in ``key``."""
    try:
        key = _members.decode(members["key"])
    except UNREADABLE:
        return problem_draft(DraftKind.INTERACTION, where, "/key", f"An object with userId is accepted. {_ACCEPTED}")
    interaction: dict[str, Any] = {}
    if _USER_ID in key:
        interaction[_USER_ID] = key[_USER_ID]
        notes.mapped(where[0], f"key/{_USER_ID}", _USER_ID)
    for name in ("type", "contentId", "timestamp", "eventId", "value"):
        if name in members:
            interaction[name] = members[name]
            notes.mapped(where[0], name, name)
    return Draft(DraftKind.INTERACTION, *where, encode(interaction))
