"""Gorse: ``items`` and ``feedback``, as it exports them: JSON lines since 0.5, CSV before, or its dump.

A dump is a stream of messages in Protocol Buffers, each behind its length, as ``/api/dump`` of Gorse's master gives it:

length -1, -2 or -3    users, items or feedback follow
length n > 0           a message of n bytes
length 0               the end
"""

import contextlib
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO, NamedTuple

import msgspec

from penchant_import.drafts import Draft, DraftKind, find_type, interaction_draft, portion_of, problem_draft
from penchant_import.files import Files, InputFile, JsonEntry, TableRow, UnreadableFile
from penchant_import.options import ImportOptions
from penchant_import.pieces import PieceBuilder, parts
from penchant_import.report import Notes

LABELS = "label"
"""The category of labels that are a list."""
_MEMBERS = {
    "item_id": "ItemId",
    "user_id": "UserId",
    "feedback_type": "FeedbackType",
    "is_hidden": "IsHidden",
    "categories": "Categories",
    "time_stamp": "Timestamp",
    "labels": "Labels",
    "description": "Comment",
    "comment": "Comment",
    "value": "Value",
}
_FEEDBACK_MEMBERS = {"UserId": "userId", "ItemId": "contentId", "FeedbackType": "type", "Timestamp": "timestamp"}
_USERS, _ITEMS, _FEEDBACK = -1, -2, -3
_MAX_MESSAGE_BYTES = 32 * 1024 * 1024
_LENGTH, _DOUBLE = struct.Struct("<q"), struct.Struct("<d")
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield items, then feedback."""
    items, feedback = (files.with_stem(stem, "jsonl", "json", "csv") for stem in ("items", "feedback"))
    dumps = [file for file in files.all if file not in (*items, *feedback) and _is_dump(files, file)]
    # Looking whether a file is a dump opens it; only those that are count as read so far.
    files.opened -= set(files.all) - set(dumps)
    if not items and not feedback and not dumps:
        raise UnreadableFile("Found neither items nor feedback (.jsonl, .json or .csv), nor a dump.")
    for file in dumps:
        yield from _dumped(files, file, options, notes)
    for file in items:
        for entry in _entries(files, file, "item_id"):
            yield _item(entry, file.name, options, notes)
    for file in feedback:
        for entry in _entries(files, file, "feedback_type"):
            draft = _interaction(entry, file.name, options, notes)
            if draft is not None:
                yield draft


def _dumped(files: Files, file: InputFile, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    for message in _read_dump(files, file):
        entry = JsonEntry(message.number, message.members)
        if message.stream == _ITEMS:
            yield _item(entry, file.name, options, notes)
        elif (draft := _interaction(entry, file.name, options, notes)) is not None:
            yield draft


def _entries(files: Files, file: InputFile, needed: str) -> Iterator[JsonEntry]:
    if not file.name.lower().endswith(".csv"):
        yield from files.entries(file)
        return
    files.require_columns(file, (needed, "item_id"))
    for row in files.rows(file):
        yield _from_row(row)


def _from_row(row: TableRow) -> JsonEntry:
    """Return a row of the older CSV as the object that it would be today."""
    value: dict[str, Any] = {_MEMBERS.get(name, name): text for name, text in row.values.items()}
    if "Categories" in value:
        value["Categories"] = parts(value["Categories"], "|")
    if "IsHidden" in value:
        value["IsHidden"] = value["IsHidden"].lower() == "true"
    with contextlib.suppress(KeyError, ValueError):
        value["Value"] = float(value["Value"])
    if value.get("Labels"):
        try:
            value["Labels"] = msgspec.json.decode(value["Labels"].encode())
        except msgspec.DecodeError:
            value["Labels"] = parts(value["Labels"], "|")
    return JsonEntry(row.line, value, row.problem)


def _item(entry: JsonEntry, file: str, options: ImportOptions, notes: Notes) -> Draft:
    """Return the piece of an item, or the problem of an entry that is none."""
    value = entry.value
    if entry.problem or not isinstance(value, dict) or "ItemId" not in value:
        return problem_draft(
            DraftKind.PIECE, (file, entry.line), "", entry.problem or "An object with ItemId is accepted."
        )
    builder = PieceBuilder(notes, file, entry.line, value["ItemId"], id_field="ItemId", options=options)
    if isinstance(value.get("Comment"), str):
        builder.label("Comment", value["Comment"])
    categories = value.get("Categories")
    builder.catalogs("Categories", categories if isinstance(categories, list) else [])
    labels = value.get("Labels")
    options = options.resolve(labels) if isinstance(labels, dict) else options
    # Labels are an object of named ones, or a list or text without a name.
    for name, inner in labels.items() if isinstance(labels, dict) else [(LABELS, labels)]:
        builder.value(f"Labels/{name}" if inner is not labels else "Labels", name, inner, options, text_is_keyword=True)
    builder.moment("Timestamp", "availableFrom", value.get("Timestamp"))
    if value.get("IsHidden") is True:
        builder.hide("IsHidden")
    for name in value.keys() - set(_MEMBERS.values()):
        builder.omit(name)
    return builder.draft()


def _interaction(entry: JsonEntry, file: str, options: ImportOptions, notes: Notes) -> Draft | None:
    """Return the interaction of feedback, its problem, or ``None`` for a type that nothing maps."""
    value, where = entry.value, (file, entry.line)
    if entry.problem or not isinstance(value, dict) or not {"FeedbackType", "UserId", "ItemId"} <= value.keys():
        detail = entry.problem or "An object with FeedbackType, UserId and ItemId is accepted."
        return problem_draft(DraftKind.INTERACTION, where, "", detail)
    name = str(value["FeedbackType"])
    kind = find_type(name, options.types)
    if kind is None:
        notes.note_unmapped(file, "FeedbackType", name, entry.line)
        return None
    # 0 is what Gorse has where none was given, 1 what many give to all; what is greater is of another kind.
    portion = None if kind.is_rating else portion_of(value.get("Value"))
    more = {"value": portion} if portion and portion < 1 else {}
    notes.note_members(file, entry.line, value, _FEEDBACK_MEMBERS | ({"Value": "value"} if more else {}))
    time = "Timestamp", value.get("Timestamp")
    who = value["UserId"], value["ItemId"]
    return interaction_draft(where, who=who, kind=kind, time=time, time_format=options.time_format, more=more)


class _DumpMessage(NamedTuple):
    """A message of a dump: its number from 1, its stream, and its members by the names that Gorse's JSON has."""

    number: int
    stream: int
    members: dict[str, Any]


def _is_dump(files: Files, file: InputFile) -> bool:
    with files.open(file) as stream:
        start = stream.read(_LENGTH.size)
    return len(start) == _LENGTH.size and _LENGTH.unpack(start)[0] in (_USERS, _ITEMS, _FEEDBACK)


def _read_dump(files: Files, file: InputFile) -> Iterator[_DumpMessage]:
    """Yield the items and feedback of a dump.

    Raises:
        UnreadableFile: it is cut off or damaged.
    """
    with files.open(file) as stream:
        number, kind, offset = 0, 0, 0
        while length := _LENGTH.unpack(_exactly(stream, _LENGTH.size, file, offset))[0]:
            offset += _LENGTH.size
            if length < 0:
                kind = length
                continue
            if length > _MAX_MESSAGE_BYTES or kind not in (_USERS, _ITEMS, _FEEDBACK):
                raise UnreadableFile(f"{file}, byte {offset}: found no length of a message; the dump is damaged.")
            message = _exactly(stream, length, file, offset)
            number += 1
            try:
                members = _dumped_item(message) if kind == _ITEMS else _dumped_feedback(message)
            except (ValueError, IndexError, struct.error, OverflowError) as error:
                raise UnreadableFile(f"{file}, byte {offset}: the message cannot be read ({error}).") from None
            offset += length
            if kind != _USERS:
                yield _DumpMessage(number, kind, members)


def _exactly(stream: BinaryIO, size: int, file: InputFile, offset: int) -> bytes:
    part = stream.read(size)
    if len(part) < size:
        raise UnreadableFile(f"{file}, byte {offset}: the dump ends in the middle.")
    return part


def _dumped_item(message: bytes) -> dict[str, Any]:
    """Return the members of an item; the numbers are those of its fields in the messages of Gorse."""
    members: dict[str, Any] = {"Categories": []}
    for field, value in _fields(message):
        match field:
            case 2:
                members["ItemId"] = value.decode()
            case 3:
                members["IsHidden"] = bool(value)
            case 4:
                members["Categories"].append(value.decode())
            case 5:
                members["Timestamp"] = _moment(value)
            case 6:
                members["Labels"] = msgspec.json.decode(value)
            case 7:
                members["Comment"] = value.decode()
    return members


def _dumped_feedback(message: bytes) -> dict[str, Any]:
    """Return feedback; since it has a value, its time is the field 6 and not 5."""
    fields = dict(_fields(message))
    time = fields[5] if isinstance(fields.get(5), bytes) else fields.get(6)
    names = {2: "FeedbackType", 3: "UserId", 4: "ItemId"}
    members: dict[str, Any] = {name: fields[field].decode() for field, name in names.items() if field in fields}
    if isinstance(fields.get(5), float):
        members["Value"] = fields[5]
    return members | ({} if time is None else {"Timestamp": _moment(time)})


def _moment(message: bytes) -> str:
    fields = dict(_fields(message))
    seconds = fields.get(1, 0)
    seconds -= (seconds >> 63) << 64  # written as unsigned, and negative before 1970
    return (_EPOCH + timedelta(seconds=seconds, microseconds=fields.get(2, 0) // 1000)).isoformat()


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a message: numbers of varints and doubles, bytes of what has a length."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        # A key is the number of the field and, in its last three bits, how the value is written.
        field, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(message, at)
            yield field, value
            continue
        size = {_FIXED_64: 8, _FIXED_32: 4}.get(wire)
        if wire == _BYTES:
            size, at = _varint(message, at)
        if size is None or at + size > len(message):
            raise ValueError(f"field {field} does not fit")
        if wire == _BYTES:
            yield field, message[at : at + size]
        elif wire == _FIXED_64:
            yield field, _DOUBLE.unpack_from(message, at)[0]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
