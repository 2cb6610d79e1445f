"""Conditions as rows of a form: field, condition, value; and back to the clauses of the interface.

A field is a category of keywords, the catalogs, or an attribute, as `FieldKind` names them. What is more than one
condition, a group within a group, is a row as well: its value is the clause as JSON.
"""

import enum
from collections.abc import Iterable, Mapping, Sequence
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
"""What may be said of a field, by the name that forms have for it; ``json`` is a whole clause."""
Attributes = Mapping[str, AttributeSettings]
"""The attributes of a source, by the names that filters have for them."""
_LISTS = ("any", "all")
_BOUNDS = ("gt", "gte", "lt", "lte")
_YES = {"yes": True, "true": True, "no": False, "false": False}


class FieldKind(enum.StrEnum):
    """What a field of a row is: its text is the kind, and of an attribute and a category a colon and the name."""

    ATTRIBUTE = "key"
    CATEGORY = "category"
    CATALOGS = "catalogs"


class ConditionLine(NamedTuple):
    """A condition as the fields of a row; the field is "" where the value is a clause as JSON."""

    field: str
    condition: str
    value: str

    @property
    def is_begun(self) -> bool:
        """Whether a field is chosen, and nothing yet of what it should have."""
        return bool(self.field and not self.value.strip()) and self.condition not in {"given", "missing", "json"}


def field_name(kind: FieldKind, name: str = "") -> str:
    """Return the text of a field."""
    return f"{kind}:{name}" if name else str(kind)


def split_field(field: str) -> tuple[str, str]:
    """Return the kind and the name of a field's text."""
    kind, _, name = field.partition(":")
    return kind, name


def filter_rows(given: Mapping[str, Any], attributes: Attributes) -> list[ConditionLine]:
    """Return the rows of a filter: all of them have to hold."""
    if _taken_apart(given):
        return _rows_of_condition(given, attributes)
    if not set(given) <= {"must", "mustNot"} or not all(isinstance(each, list) for each in given.values()):
        return [_as_json(given)]
    rows = [row for clause in given.get("must", []) for row in _rows_of_condition(clause, attributes)]
    return rows + [clause_row({"mustNot": [clause]}, attributes) for clause in given.get("mustNot", [])]


def filter_of(rows: Sequence[ConditionLine], attributes: Attributes) -> tuple[dict[str, Any], list[str]]:
    """Return the filter that rows say, and the pointer of each row within it.

    Raises:
        ValueError: the JSON of a row is none, or a condition cannot be of its field.
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
    is_left_out = isinstance(clause, dict) and list(clause) == ["mustNot"]
    match clause:
        case {"mustNot": [inner]} if is_left_out:
            parts = _taken_apart(inner)
        case _:
            parts = _taken_apart(clause)
    row: ConditionLine | None = None
    match parts:
        case (field, {"exists": bool(wanted), **rest}) if not rest:
            row = ConditionLine(field, "given" if wanted else "missing", "")
        case (field, operators) if len(operators) == 1 and set(operators) <= {*_LISTS, *_BOUNDS}:
            (name, values) = next(iter(operators.items()))
            row = _row(field, "none" if is_left_out else str(name), values)
    if row is not None and encode(clause_of(row, attributes)) == encode(clause):
        return row
    return _as_json(clause)


def clause_of(row: ConditionLine, attributes: Attributes) -> dict[str, Any]:
    """Return the clause that a row says; what its value is not of the attribute's type stays a text, and is refused.

    Raises:
        ValueError: JSON is asked for, and there is none of an object; or catalogs have no such condition.
    """
    if row.condition == "json":
        try:
            return msgspec.json.decode(row.value, type=dict[str, Any])
        except msgspec.DecodeError:
            raise ValueError("Found no JSON of an object; a clause of a filter is accepted.") from None
    kind, name = split_field(row.field)
    if kind == FieldKind.CATALOGS:
        if row.condition not in {"any", "none"}:
            accepted = f"“{CONDITIONS['any']}” and “{CONDITIONS['none']}” are accepted"
            raise ValueError(f"Found “{CONDITIONS.get(row.condition, row.condition)}”; of catalogs {accepted}.")
        clause: dict[str, Any] = {"catalogs": split_values(row.value)}
        return clause if row.condition == "any" else {"mustNot": [clause]}
    if row.condition in {"given", "missing"}:
        return {kind: name, "exists": row.condition == "given"}
    is_typed = kind == FieldKind.ATTRIBUTE and name in attributes
    type_ = attributes[name].type if is_typed else "keyword"
    if row.condition in _BOUNDS:
        return {kind: name, row.condition: _typed(row.value.strip(), type_)}
    values = [_typed(each, type_) for each in split_values(row.value)]
    if row.condition == "none":
        return {"mustNot": [{kind: name, "any": values}]}
    return {kind: name, row.condition if row.condition in _LISTS else "any": values}


def filter_words(given: Any) -> str:
    """Return a clause of a filter, or a whole one, in words."""
    parts = _taken_apart(given)
    if parts is not None:
        field, operators = parts
        kind, name = split_field(field)
        if kind == FieldKind.CATALOGS:
            return f"in the catalog {' or '.join(map(_text, operators['any']))}"
        return " and ".join(_operator_words(name, each, value) for each, value in operators.items())
    groups = [
        " and ".join(map(_grouped_words, given.get("must", ()))),
        " or ".join(map(_grouped_words, given.get("should", ()))),
        " and ".join(map(_words_of_none, given.get("mustNot", ()))),
    ]
    said = [each for each in groups if each]
    is_mixed = len(said) > 1 and len(given.get("should", ())) > 1
    return " and ".join(f"({each})" if is_mixed and each == groups[1] else each for each in said) or "any piece"


def _grouped_words(clause: Any) -> str:
    """Return a clause of a group in words: in brackets where it has several parts itself."""
    words = filter_words(clause)
    return f"({words})" if _taken_apart(clause) is None and (" and " in words or " or " in words) else words


def _words_of_none(clause: Any) -> str:
    match _taken_apart(clause):
        case (FieldKind.CATALOGS, _):
            return f"not {filter_words(clause)}"
        case (field, {"any": list(values), **rest}) if not rest:
            return f"{split_field(field)[1]} is {'not' if len(values) == 1 else 'none of'} {_values_text(values)}"
    return f"not ({filter_words(clause)})"


def _operator_words(name: str, operator: str, value: Any) -> str:
    if operator == "exists":
        return f"{name} has {'a' if value else 'no'} value"
    if operator == "any" and isinstance(value, list) and len(value) == 1:
        return f"{name} is {_values_text(value)}"
    text = _values_text(value) if isinstance(value, list) else _text(value)
    return f"{name} {CONDITIONS.get(operator, operator)} {text}"


def _values_text(values: Iterable[Any]) -> str:
    return join_values([_text(each) for each in values])


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


def _taken_apart(clause: Any) -> tuple[str, dict[str, Any]] | None:
    """Return the field of a condition and its operators, of catalogs ``any``; ``None`` for what is no condition."""
    if not isinstance(clause, dict):
        return None
    for kind in (FieldKind.ATTRIBUTE, FieldKind.CATEGORY):
        if isinstance(clause.get(kind), str) and clause[kind]:
            return field_name(kind, clause[kind]), {key: value for key, value in clause.items() if key != kind}
    return (str(FieldKind.CATALOGS), {"any": clause["catalogs"]}) if list(clause) == ["catalogs"] else None


def _rows_of_condition(clause: Any, attributes: Attributes) -> list[ConditionLine]:
    """Return a row for each operator of a condition, since all of them have to hold; one of any other clause."""
    parts = _taken_apart(clause)
    if parts is None or len(parts[1]) < 2:
        return [clause_row(clause, attributes)]
    kind, name = split_field(parts[0])
    return [clause_row({kind: name, each: value}, attributes) for each, value in parts[1].items()]


def _row(field: str, condition: str, values: Any) -> ConditionLine:
    texts = [_text(each) for each in values] if isinstance(values, list) else [_text(values)]
    single = condition in _BOUNDS
    return ConditionLine(field, condition, texts[0] if single and texts else join_values(texts))


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
