"""Conditions as rows of a form: attribute, condition, value; and back to the clauses of the interface.

What is more than one condition, a group within a group, is a row as well: its value is the clause as JSON.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from penchant_client.records import AttributeSettings
from penchant_client.requests import encode
from penchant_desk.requests import number_in

CONDITIONS: Mapping[str, str] = {
    "any": "is one of",
    "none": "is none of",
    "all": "has all of",
    "gte": "is at least",
    "lte": "is at most",
    "gt": "is more than",
    "lt": "is less than",
    "given": "has a value",
    "missing": "has no value",
    "json": "as JSON",
}
"""What may be said of an attribute, by the name that forms have for it; ``json`` is a whole clause."""
Attributes = Mapping[str, AttributeSettings]
"""The attributes of a source, by the names that filters have for them."""
_LISTS = ("any", "all")
_BOUNDS = ("gt", "gte", "lt", "lte")
_YES = {"yes": True, "true": True, "no": False, "false": False}


class ConditionLine(NamedTuple):
    """A condition as the fields of a row; the attribute is "" where the value is a clause as JSON."""

    attribute: str
    condition: str
    value: str


def filter_rows(given: Mapping[str, Any], attributes: Attributes) -> list[ConditionLine]:
    """Return the rows of a filter: all of them have to hold."""
    if "key" in given:
        return _rows_of_condition(given, attributes)
    if not set(given) <= {"must", "mustNot"} or not all(isinstance(each, list) for each in given.values()):
        return [_as_json(given)]
    rows = [row for clause in given.get("must", []) for row in _rows_of_condition(clause, attributes)]
    return rows + [clause_row({"mustNot": [clause]}, attributes) for clause in given.get("mustNot", [])]


def filter_of(rows: Sequence[ConditionLine], attributes: Attributes) -> tuple[dict[str, Any], list[str]]:
    """Return the filter that rows say, and the pointer of each row within it.

    Raises:
        ValueError: the JSON of a row is none.
    """
    clauses = [clause_of(row, attributes) for row in rows]
    if len(rows) == 1 and rows[0].condition == "json":
        return clauses[0], [""]
    groups: dict[str, list[Any]] = {}
    places = []
    for row, clause in zip(rows, clauses, strict=True):
        name, member = ("mustNot", clause["mustNot"][0]) if row.condition == "none" else ("must", clause)
        places.append(f"/{name}/{len(groups.setdefault(name, []))}")
        groups[name].append(member)
    return groups, places


def clause_row(clause: Any, attributes: Attributes) -> ConditionLine:
    """Return a clause as one row: as a condition where the row says just that, otherwise as JSON."""
    row: ConditionLine | None = None
    match clause:
        case {"mustNot": [{"key": str(key), "any": values, **rest}], **others} if not rest and not others:
            row = _row(key, "none", values)
        case {"key": str(key), "exists": bool(wanted), **rest} if not rest:
            row = ConditionLine(key, "given" if wanted else "missing", "")
        case {"key": str(key), **operators} if len(operators) == 1 and set(operators) <= {*_LISTS, *_BOUNDS}:
            (name, values) = next(iter(operators.items()))
            row = _row(key, str(name), values)
    if row is not None and encode(clause_of(row, attributes)) == encode(clause):
        return row
    return _as_json(clause)


def clause_of(row: ConditionLine, attributes: Attributes) -> dict[str, Any]:
    """Return the clause that a row says; what its value is not of the attribute's type stays a text, and is refused.

    Raises:
        ValueError: JSON is asked for, and there is none of an object.
    """
    if row.condition == "json":
        try:
            return msgspec.json.decode(row.value, type=dict[str, Any])
        except msgspec.DecodeError:
            raise ValueError("Found no JSON of an object; a clause of a filter is accepted.") from None
    key = row.attribute
    if row.condition in {"given", "missing"}:
        return {"key": key, "exists": row.condition == "given"}
    type_ = attributes[key].type if key in attributes else "keyword"
    if row.condition in _BOUNDS:
        return {"key": key, row.condition: _typed(row.value.strip(), type_)}
    values = [_typed(each, type_) for each in split_values(row.value)]
    if row.condition == "none":
        return {"mustNot": [{"key": key, "any": values}]}
    return {"key": key, row.condition if row.condition in _LISTS else "any": values}


def join_values(values: Sequence[str]) -> str:
    """Return texts as one field: with commas between them, in quotes where they could be taken for others."""
    return ", ".join(encode(each).decode() if _needs_quotes(each) else each for each in values)


def split_values(text: str) -> list[str]:
    """Return the texts of a field as `join_values` writes it; a quote that has no end is a character like others."""
    found: list[str] = []
    rest = text.strip()
    while rest:
        end = _end_of_quoted(rest)
        if end:
            found.append(msgspec.json.decode(rest[:end], type=str))
            rest = rest[end:].lstrip()
            rest = rest.removeprefix(",").lstrip()
            continue
        value, _, rest = rest.partition(",")
        rest = rest.strip()
        if value.strip():
            found.append(value.strip())
    return found


def _end_of_quoted(text: str) -> int:
    """Return where the JSON text ends with which a text begins, before a comma or the end; 0 where there is none."""
    if not text.startswith('"'):
        return 0
    end = 1
    while end < len(text) and text[end] != '"':
        end += 2 if text[end] == "\\" else 1
    behind = text[end + 1 :].lstrip()
    if end >= len(text) or (behind and not behind.startswith(",")):
        return 0
    try:
        msgspec.json.decode(text[: end + 1], type=str)
    except msgspec.DecodeError:
        return 0
    return end + 1


def _needs_quotes(text: str) -> bool:
    return not text or text != text.strip() or not text.isprintable() or "," in text or text.startswith('"')


def _rows_of_condition(clause: Any, attributes: Attributes) -> list[ConditionLine]:
    """Return a row for each operator of a condition, since all of them have to hold; one of any other clause."""
    match clause:
        case {"key": key, **operators} if len(operators) > 1:
            return [clause_row({"key": key, name: value}, attributes) for name, value in operators.items()]
    return [clause_row(clause, attributes)]


def _row(key: str, condition: str, values: Any) -> ConditionLine:
    texts = [_text(each) for each in values] if isinstance(values, list) else [_text(values)]
    single = condition in _BOUNDS
    return ConditionLine(key, condition, texts[0] if single and texts else join_values(texts))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else encode(value).decode()


def _typed(text: str, type_: str) -> Any:
    """Return a value as the type of its attribute has it; otherwise the text, which the interface then refuses."""
    if type_ in {"integer", "number"}:
        return number_in(text)
    return _YES.get(text.casefold(), text) if type_ == "boolean" else text


def _as_json(clause: Any) -> ConditionLine:
    return ConditionLine("", "json", encode(clause).decode())
