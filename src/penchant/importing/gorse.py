"""Gorse: ``items`` and ``feedback``, as it exports them: JSON lines since 0.5, CSV before."""

from collections.abc import Iterator
from typing import Any

import msgspec

from penchant.importing.actions import type_named
from penchant.importing.choices import Choices
from penchant.importing.drafts import Draft, Kind
from penchant.importing.files import Entry, Files, InputFile, Row, UnreadableFile
from penchant.importing.interactions import interaction_draft, problem_draft
from penchant.importing.notes import Notes
from penchant.importing.pieces import PieceBuilder
from penchant.importing.tables import NO_PLACE, require_columns

HIDDEN_SINCE = "1970-01-01T00:00:00Z"
"""From when on a hidden item is not shown: it can still be asked for, and counts in people's taste."""
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


def read(files: Files, choices: Choices, notes: Notes) -> Iterator[Draft]:
    """Yield items, then feedback."""
    items, feedback = (files.named(stem, "jsonl", "json", "csv") for stem in ("items", "feedback"))
    if not items and not feedback:
        raise UnreadableFile("Found neither items nor feedback (.jsonl, .json or .csv).")
    for file in items:
        for entry in _entries(files, file, "item_id"):
            yield _item(entry, file.name, choices, notes)
    for file in feedback:
        for entry in _entries(files, file, "feedback_type"):
            draft = _interaction(entry, file.name, choices, notes)
            if draft is not None:
                yield draft


def _entries(files: Files, file: InputFile, needed: str) -> Iterator[Entry]:
    if not file.name.lower().endswith(".csv"):
        yield from files.entries(file)
        return
    require_columns(files, file, (needed, "item_id"))
    for row in files.rows(file):
        yield _from_row(row)


def _from_row(row: Row) -> Entry:
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
    return Entry(row.line, value, b"", row.problem)


def _item(entry: Entry, file: str, choices: Choices, notes: Notes) -> Draft:
    value = entry.value
    if entry.problem or not isinstance(value, dict) or "ItemId" not in value:
        return problem_draft(Kind.PIECE, (file, entry.line), "", entry.problem or "An object with ItemId is accepted.")
    builder = PieceBuilder(notes, file, entry.line, value["ItemId"])
    notes.mapped(file, "ItemId", "id")
    if isinstance(value.get("Comment"), str):
        builder.label("Comment", value["Comment"])
    builder.catalogs("Categories", _as_list(value.get("Categories")))
    labels = value.get("Labels")
    for name, inner in labels.items() if isinstance(labels, dict) else [(LABELS, labels)]:
        builder.value(f"Labels/{name}" if inner is not labels else "Labels", name, inner, choices, text_is_keyword=True)
    builder.moment("Timestamp", "availableFrom", value.get("Timestamp"))
    if value.get("IsHidden") is True:
        builder.moment("IsHidden", "availableUntil", HIDDEN_SINCE)
    for name in value.keys() - set(_MEMBERS.values()):
        notes.left_out(file, name, NO_PLACE, entry.line)
    return builder.draft()


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _interaction(entry: Entry, file: str, choices: Choices, notes: Notes) -> Draft | None:
    value, place = entry.value, (file, entry.line)
    if entry.problem or not isinstance(value, dict) or not {"FeedbackType", "UserId", "ItemId"} <= value.keys():
        detail = entry.problem or "An object with FeedbackType, UserId and ItemId is accepted."
        return problem_draft(Kind.INTERACTION, place, "", detail)
    name = str(value["FeedbackType"])
    kind = type_named(name, choices.types)
    if kind is None:
        notes.left_out(file, "FeedbackType", f"the type {name!r} is not mapped; say --type {name}=Click", entry.line)
        return None
    for member, found in value.items():
        if member in _FEEDBACK:
            notes.mapped(file, member, _FEEDBACK[member])
        elif found:
            notes.left_out(file, member, NO_PLACE, entry.line)
    time = "Timestamp", value.get("Timestamp")
    return interaction_draft(place, who=(value["UserId"], value["ItemId"]), kind=kind, time=time)
