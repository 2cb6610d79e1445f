"""Objects of JSON with anybody's members, one a line or in an array, as databases and search engines write them.

Their members are the columns of a table. What a database wraps values and objects in (MongoDB's Extended JSON, types of
DynamoDB, documents of Elasticsearch) is taken off first.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from penchant_import.drafts import Draft
from penchant_import.files import MAX_COLUMNS, TOO_DEEP, Files, InputFile, TableRow, UnreadableFile, printable
from penchant_import.formats.tables import Roles, Table, read_tables
from penchant_import.options import ImportOptions
from penchant_import.report import Notes

_EXACT = 1 << 53
"""From here on numbers with a fraction do not tell whole ones apart."""
_LINES_HINT = "Write an array of objects, or one object a line, for instance by jq -c . FILE > NEW."
_OURS = "This is a piece as the interface has it, with keywords by category: --from ndjson reads it."
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the objects of files of pieces, then those of interactions."""
    members = {file: _members(files, file) for file in files.select("json", "jsonl", "ndjson")}
    yield from read_tables(members, lambda table: _rows(files, table), options, notes)


def _members(files: Files, file: InputFile) -> list[str]:
    """Return the names of all members that objects of a file have, in the order in which they are met.

    Raises:
        UnreadableFile: there are too many, or none, since nothing that the file holds is an object.
    """
    names, problem = dict[str, None](), ""
    for entry in _objects(files, file):
        names |= dict.fromkeys(entry.values)
        problem = problem or (f", line {entry.line}: {entry.problem}" if entry.problem else "")
        if len(names) > MAX_COLUMNS:
            raise UnreadableFile(f"{file}, line {entry.line}: more than {MAX_COLUMNS} members.")
    if not names:
        raise UnreadableFile(f"{file}{problem or ': it holds no object with members.'} {_LINES_HINT}")
    return list(names)


def _rows(files: Files, table: Table) -> Iterator[TableRow]:
    named = [name for name in table.roles[1:] if name is not None and name != table.roles.label]
    for row in _objects(files, table.file):
        if row.problem:
            yield row
            continue
        values = dict.fromkeys(named, "")
        try:
            # Of nothing a table has an empty cell.
            values |= {name: plain for name, value in row.values.items() if (plain := _unwrap(value)) is not None}
        except RecursionError:
            yield row._replace(values={}, problem=TOO_DEEP)
        else:
            yield _with_whole_numbers(row._replace(values=values), table.roles, named)


def _objects(files: Files, file: InputFile) -> Iterator[TableRow]:
    """Yield the objects of a file, without their envelopes; their values are as they are written."""
    for entry in files.entries(file):
        if not isinstance(entry.value, dict):
            yield TableRow(entry.line, {}, entry.problem or "An object is accepted.")
            continue
        try:
            values = _unwrap_object(entry.value)
            yield TableRow(entry.line, values, _OURS if _is_ours(values) else None)
        except RecursionError:
            yield TableRow(entry.line, {}, TOO_DEEP)


def _with_whole_numbers(row: TableRow, roles: Roles, named: Iterable[str]) -> TableRow:
    """Return a row with ids as whole numbers, or with what is wrong where an id, a person or the like can be none."""
    for name in named:
        value: Any = row.values[name]
        if isinstance(value, list | dict):
            return row._replace(problem=f"The member {printable(name)} holds neither a text, a number nor a time.")
        if isinstance(value, float) and name in (roles.id, roles.user) and value.is_integer():
            if abs(value) >= _EXACT:
                detail = f"The member {printable(name)} holds a number with a fraction, which has lost digits; "
                return row._replace(problem=f"{detail}write it as a whole number or as a text.")
            row.values[name] = str(int(value))
    return row


def _unwrap_object(value: dict[str, Any]) -> dict[str, Any]:
    """Return what an object is about: of a document its source with its id, of an item of DynamoDB its attributes."""
    if isinstance(source := value.get("_source"), dict) and "_id" in value:
        return {"_id": value["_id"]} | source
    item = value.get("Item")
    if len(value) == 1 and isinstance(item, dict) and all(_is_attribute(inner) for inner in item.values()):
        return {name: _attribute(inner) for name, inner in item.items()}
    return value


def _is_ours(value: dict[str, Any]) -> bool:
    """Return whether an object is a piece of the interface, whose keywords would be lost here."""
    categories = value.get("categories")
    if not isinstance(value.get("id"), str) or not isinstance(categories, dict):
        return False
    return any(isinstance(each, list) for each in categories.values())


def _unwrap(value: Any) -> Any:
    """Return a value, at any depth without what Extended JSON says its type by."""
    if isinstance(value, list):
        return [_unwrap(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((name, inner),) = value.items()
        if (read_typed := _EXTENDED.get(name)) is not None and isinstance(inner, str | int | dict):
            try:
                return read_typed(_unwrap(inner))
            except (ValueError, TypeError, OverflowError):
                return value
    return {name: _unwrap(inner) for name, inner in value.items()}


def _moment(value: Any) -> str:
    """Return a time, in milliseconds since 1970 or as it is written, as RFC 3339."""
    if isinstance(value, str):
        return value
    return (_EPOCH + timedelta(milliseconds=value)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_EXTENDED: Mapping[str, Callable[[Any], Any]] = {
    "$oid": str,
    "$uuid": str,
    "$date": _moment,
    "$numberInt": int,
    "$numberLong": int,
    "$numberDouble": float,
    "$numberDecimal": str,
}
"""Reads the values of Extended JSON, by the only member of their object; what has others stays an object."""


def _is_attribute(value: Any) -> bool:
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((kind, inner),) = value.items()
    return kind in _ATTRIBUTES and isinstance(inner, _ATTRIBUTES[kind][0])


def _attribute(value: Any) -> Any:
    if not _is_attribute(value):
        return value
    ((kind, inner),) = value.items()
    return _ATTRIBUTES[kind][1](inner)


def _number(text: Any) -> Any:
    """Return the number that a text is, of a database that has no other; a text that is none stays one."""
    for read_number in (int, float):
        with suppress(ValueError, TypeError):
            return read_number(text)
    return text


_ATTRIBUTES: Mapping[str, tuple[type, Callable[[Any], Any]]] = {
    "S": (str, str),
    "N": (str, _number),
    "BOOL": (bool, bool),
    "NULL": (bool, lambda _: None),
    "B": (str, str),
    "SS": (list, list),
    "BS": (list, list),
    "NS": (list, lambda texts: [_number(text) for text in texts]),
    "L": (list, lambda values: [_attribute(value) for value in values]),
    "M": (dict, lambda values: {name: _attribute(value) for name, value in values.items()}),
}
"""What a value of DynamoDB is written as, and what reads it, by its type; of other types it stays as it is."""
