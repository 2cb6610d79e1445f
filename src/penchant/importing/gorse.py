"""Gorse: ``items`` and ``feedback``, as it exports them: JSON lines since 0.5, CSV before, or its dump."""

from collections.abc import Iterator
from typing import Any

import msgspec

from penchant.importing.actions import type_named
from penchant.importing.drafts import Draft, DraftKind
from penchant.importing.files import Files, JsonEntry, TableRow
from penchant.importing.gorse_dump import ITEMS, is_dump, read_dump
from penchant.importing.inputs import InputFile, UnreadableFile
from penchant.importing.interactions import interaction_draft, problem_draft
from penchant.importing.notes import Notes
from penchant.importing.options import ImportOptions
from penchant.importing.pieces import PieceBuilder
from penchant.importing.tables import NO_PLACE, require_columns

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
_FEEDBACK = {"UserId": "userId", "ItemId": "contentId", "FeedbackType": "type", "Timestamp": "timestamp"}


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield items, then feedback."""
    items, feedback = (files.named(stem, "jsonl", "json", "csv") for stem in ("items", "feedback"))
    dumps = [file for file in files.all if file not in (*items, *feedback) and is_dump(files, file)]
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
    for message in read_dump(files, file):
        entry = JsonEntry(message.number, message.members, b"")
        if message.stream == ITEMS:
            yield _item(entry, file.name, options, notes)
        elif (draft := _interaction(entry, file.name, options, notes)) is not None:
            yield draft


def _entries(files: Files, file: InputFile, needed: str) -> Iterator[JsonEntry]:
    if not file.name.lower().endswith(".csv"):
        yield from files.entries(file)
        return
    require_columns(files, file, (needed, "item_id"))
    for row in files.rows(file):
        yield _from_row(row)


def _from_row(row: TableRow) -> JsonEntry:
    """Return a row of the older CSV as the object that it would be today."""
    value: dict[str, Any] = {_MEMBERS.get(name, name): text for name, text in row.values.items()}
    if "Categories" in value:
        value["Categories"] = [part for part in value["Categories"].split("|") if part]
    if "IsHidden" in value:
        value["IsHidden"] = value["IsHidden"].lower() == "true"
    if value.get("Labels"):
        try:
            value["Labels"] = msgspec.json.decode(value["Labels"].encode())
        except msgspec.DecodeError:
            value["Labels"] = [part for part in value["Labels"].split("|") if part]
    return JsonEntry(row.line, value, b"", row.problem)


def _item(entry: JsonEntry, file: str, options: ImportOptions, notes: Notes) -> Draft:
    """Return the piece of an item, or the problem of an entry that is none."""
    value = entry.value
    if entry.problem or not isinstance(value, dict) or "ItemId" not in value:
        return problem_draft(
            DraftKind.PIECE, (file, entry.line), "", entry.problem or "An object with ItemId is accepted."
        )
    builder = PieceBuilder(notes, file, entry.line, value["ItemId"])
    notes.mapped(file, "ItemId", "id")
    if isinstance(value.get("Comment"), str):
        builder.label("Comment", value["Comment"])
    builder.catalogs("Categories", _as_list(value.get("Categories")))
    labels = value.get("Labels")
    # Labels are an object of named ones, or a list or text without a name.
    for name, inner in labels.items() if isinstance(labels, dict) else [(LABELS, labels)]:
        builder.value(f"Labels/{name}" if inner is not labels else "Labels", name, inner, options, text_is_keyword=True)
    builder.moment("Timestamp", "availableFrom", value.get("Timestamp"))
    if value.get("IsHidden") is True:
        builder.hide("IsHidden")
    for name in value.keys() - set(_MEMBERS.values()):
        notes.left_out(file, name, NO_PLACE, entry.line)
    return builder.draft()


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _interaction(entry: JsonEntry, file: str, options: ImportOptions, notes: Notes) -> Draft | None:
    """Return the interaction of feedback, its problem, or ``None`` for a type that nothing maps."""
    value, where = entry.value, (file, entry.line)
    if entry.problem or not isinstance(value, dict) or not {"FeedbackType", "UserId", "ItemId"} <= value.keys():
        detail = entry.problem or "An object with FeedbackType, UserId and ItemId is accepted."
        return problem_draft(DraftKind.INTERACTION, where, "", detail)
    name = str(value["FeedbackType"])
    kind = type_named(name, options.types)
    if kind is None:
        notes.left_out(file, "FeedbackType", f"the type {name!r} is not mapped; say --type {name}=Click", entry.line)
        return None
    for member, found in value.items():
        if member in _FEEDBACK:
            notes.mapped(file, member, _FEEDBACK[member])
        elif found:
            notes.left_out(file, member, NO_PLACE, entry.line)
    time = "Timestamp", value.get("Timestamp")
    return interaction_draft(where, who=(value["UserId"], value["ItemId"]), kind=kind, time=time)
