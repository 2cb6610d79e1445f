"""Metarank: events of items, users, rankings and interactions, an object a line or one array.

An item's events change single fields, so that all of them are gathered, in memory, before its piece is made. Files are
therefore read twice; interactions are not held.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from penchant_import.drafts import Draft, DraftKind, find_type, interaction_draft, problem_draft
from penchant_import.files import Files, JsonEntry
from penchant_import.options import ImportOptions
from penchant_import.pieces import PieceBuilder
from penchant_import.placeholders import is_nobody
from penchant_import.report import Notes
from penchant_import.rules import encode

_NO_PIECE = {"user": "users are known by their interactions only", "ranking": "what was shown is no interaction"}
_INTERACTION = {"user": "userId", "item": "contentId", "type": "type", "timestamp": "timestamp", "id": "eventId"}


class _Item(NamedTuple):
    """An item's fields as all its events together leave them, as JSON, and where the first one is."""

    file: str
    line: int
    fields: bytes


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield items, then interactions."""
    items: dict[str, _Item] = {}
    for file in files.all:
        for entry in files.entries(file):
            draft = _gather(entry, file.name, items, notes)
            if draft is not None:
                yield draft
    for item_id, item in items.items():
        yield _piece(item_id, item, options, notes)
    for file in files.all:
        for entry in files.entries(file):
            if isinstance(entry.value, dict) and entry.value.get("event") == "interaction":
                draft = _interaction(entry, file.name, options, notes)
                if draft is not None:
                    yield draft


def _gather(entry: JsonEntry, file: str, items: dict[str, _Item], notes: Notes) -> Draft | None:
    """Add an item's event to what is known of it; return the problem of an event that is none."""
    value, where = entry.value, (file, entry.line)
    event = value.get("event") if isinstance(value, dict) else None
    if event == "interaction":
        return None
    if event in _NO_PIECE:
        notes.left_out(file, f"event={event}", _NO_PIECE[event], entry.line)
        return None
    if event not in ("item", "metadata"):
        detail = entry.problem or "An event item, user, ranking or interaction is accepted."
        return problem_draft(DraftKind.PIECE, where, "event", detail)
    item_id, fields = value.get("item"), value.get("fields") or []
    if not isinstance(item_id, str) or not _are_fields(fields):
        return problem_draft(
            DraftKind.PIECE, where, "item", "A string item, and fields of name and value are accepted."
        )
    known = items.get(item_id) or _Item(*where, b"{}")
    # Kept as JSON between events: all items are in memory at once, and most have few events.
    merged = msgspec.json.decode(known.fields) | {field["name"]: field["value"] for field in fields}
    items[item_id] = known._replace(fields=encode(merged))
    notes.mapped(file, "item", "id")
    return None


def _are_fields(fields: Any) -> bool:
    return isinstance(fields, list) and all(
        isinstance(field, dict) and isinstance(field.get("name"), str) and "value" in field for field in fields
    )


def _piece(item_id: str, item: _Item, options: ImportOptions, notes: Notes) -> Draft:
    builder = PieceBuilder(notes, item.file, item.line, item_id)
    fields = msgspec.json.decode(item.fields)
    options = options.resolve(fields)
    for name, value in fields.items():
        builder.value(f"fields/{name}", name, value, options)
    return builder.draft()


def _interaction(entry: JsonEntry, file: str, options: ImportOptions, notes: Notes) -> Draft | None:
    """Return the interaction of an event; ``None``, which is noted, for an unmapped type or without a user."""
    value = entry.value
    name = str(value.get("type"))
    kind = find_type(name, options.types)
    if kind is None:
        notes.note_unmapped(file, "type", name, entry.line)
        return None
    if is_nobody(value.get("user")):
        notes.left_out(file, "event=interaction", "without a user; a session is no person", entry.line)
        return None
    notes.note_members(
        file, entry.line, {name: member for name, member in value.items() if name != "event"}, _INTERACTION
    )
    return interaction_draft(
        (file, entry.line),
        who=(value["user"], value.get("item")),
        kind=kind,
        time=("timestamp", value.get("timestamp")),
        time_format=options.time_format,
        more={"eventId": value.get("id")},
    )
