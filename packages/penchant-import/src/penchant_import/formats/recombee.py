"""Recombee: items with properties and the five kinds of interactions, as CSV tables or as its lists in JSON.

Tables are called as in its own components (``detail_views.csv``); JSON is what its ``list`` requests answer.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from penchant_engine.model import InteractionType
from penchant_import.drafts import (
    Draft,
    DraftKind,
    anonymous_omission,
    interaction_draft,
    omitted_draft,
    portion_of,
    problem_draft,
    type_of_rating,
)
from penchant_import.files import Files, InputFile, JsonEntry, TableRow, UnreadableFile
from penchant_import.options import ImportOptions
from penchant_import.pieces import PieceBuilder
from penchant_import.report import NO_PLACE, Notes
from penchant_import.texts import read_list

ENDINGS = ("csv", "json", "jsonl", "ndjson")
WATCHED_FROM = 0.5
"""The portion of a view from which on a piece was watched; less is a play."""
_TYPES = {
    "detail_views": InteractionType.CLICK,
    "purchases": InteractionType.PURCHASE,
    "ratings": None,
    "bookmarks": InteractionType.BOOKMARK,
    "cart_additions": InteractionType.BOOKMARK,
    "view_portions": None,
}
_ITEM_IDS = ("itemId", "item_id", "id")
_USER_IDS = ("userId", "user_id")
_TIMES = ("timestamp",)
_RATING, _PORTION = "rating", "portion"


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield items, then the interactions, kind by kind."""
    items = files.with_stem("items", *ENDINGS)
    if not items and not any(files.with_stem(stem, *ENDINGS) for stem in _TYPES):
        raise UnreadableFile(f"Found neither items nor any of {', '.join(_TYPES)} (.csv, .json or .jsonl).")
    for file in items:
        for entry in _entries(files, file):
            yield _item(entry, file.name, options, notes)
    for stem, kind in _TYPES.items():
        for file in files.with_stem(stem, *ENDINGS):
            for entry in _entries(files, file):
                yield _interaction(entry, file.name, kind, options, notes)


def _entries(files: Files, file: InputFile) -> Iterator[JsonEntry]:
    if not file.name.lower().endswith(".csv"):
        yield from files.entries(file)
        return
    for row in files.rows(file):
        yield JsonEntry(row.line, _typed(row), row.problem)


def _typed(row: TableRow) -> dict[str, Any]:
    """Return a row with values as JSON would have them: arrays, numbers and booleans are read, the rest is text."""
    # The first column is the id, which stays a text: 007 is not 7.
    return {name: _value(text) if index else text for index, (name, text) in enumerate(row.values.items())}


def _value(text: str) -> Any:
    if text.startswith("["):
        listed = read_list(text)
        return text if listed is None else listed
    if text[:1] in tuple("tf-0123456789"):
        try:
            return msgspec.json.decode(text.encode())
        except msgspec.DecodeError:
            return text
    return text


def _first(value: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in value), None)


def _item(entry: JsonEntry, file: str, options: ImportOptions, notes: Notes) -> Draft:
    value, where = entry.value, (file, entry.line)
    if entry.problem or not isinstance(value, dict) or not value:
        return problem_draft(DraftKind.PIECE, where, "", entry.problem or "An object with itemId is accepted.")
    # In a catalogue's table the id is the first column, whatever it is called.
    options = options.resolve(value)
    id_name = options.id_column or _first(value, _ITEM_IDS) or next(iter(value))
    builder = PieceBuilder(notes, file, entry.line, value.get(id_name), id_field=id_name)
    for name, inner in value.items():
        if name != id_name:
            builder.value(name, name, inner, options)
    return builder.draft()


def _interaction(
    entry: JsonEntry, file: str, kind: InteractionType | None, options: ImportOptions, notes: Notes
) -> Draft:
    """Return the interaction of an entry; ``kind`` is ``None`` where its rating or portion decides the type."""
    value, where = entry.value, (file, entry.line)
    if entry.problem or not isinstance(value, dict):
        return problem_draft(DraftKind.INTERACTION, where, "", entry.problem or "An object is accepted.")
    user, item, time = (_first(value, names) for names in (_USER_IDS, _ITEM_IDS, _TIMES))
    if user is None or item is None:
        return problem_draft(DraftKind.INTERACTION, where, "", "The member userId or itemId is missing.")
    if (omission := anonymous_omission(value[user])) is not None:
        return omitted_draft(where, omission)
    source = _PORTION if file.lower().startswith("view_portions") else _RATING
    if kind is None:
        try:
            kind = _watched(value.get(source)) if source == _PORTION else _rated(value.get(source))
        except ValueError as error:
            return problem_draft(DraftKind.INTERACTION, where, source, str(error))
        notes.mapped(file, source, "type, value" if source == _PORTION else "type")
    to = {user: "userId", item: "contentId", time: "timestamp"}
    for name, inner in value.items():
        if name in to:
            notes.mapped(file, name, to[name])
        elif name != source and inner not in (None, "", {}):
            notes.left_out(file, name, NO_PLACE, entry.line)
    moment = None if time is None else (time, value[time])
    portion = portion_of(value.get(_PORTION)) if source == _PORTION else None
    who = _text(value[user]), _text(value[item])
    more = {"value": portion}
    return interaction_draft(where, who=who, kind=kind, time=moment, time_format=options.time_format, more=more)


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) else value


def _rated(value: Any) -> InteractionType:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1 <= value <= 1:
        raise ValueError("Found no number from -1 to 1.")
    return type_of_rating(value + 1, 2)


def _watched(value: Any) -> InteractionType:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("Found no number from 0 to 1.")
    return InteractionType.WATCH if value >= WATCHED_FROM else InteractionType.PLAY
