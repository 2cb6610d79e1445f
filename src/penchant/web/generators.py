"""OpenAPI 3.0.3: the same interface for code generators, which take no unions, and no two types of one name.

openapi-generator compiles nothing from a value of several forms, a category's for one, and ignores what 3.1 says of
further members. Here such a value has no type but words; everything else is said as 3.0 has it.
"""

from collections.abc import Mapping
from typing import Any

from penchant.web.bodies import JSON, NDJSON_TYPES

_CATEGORY_VALUE = {
    "description": "A list of keywords (strings, or objects with `key` and `weight`), or an object of further "
    "categories. Left without a type, since most generators know no values of several forms."
}
_SEVERAL_FORMS = "A value of several forms, left without a type, since most generators know none."
_LICENSE = "https://www.apache.org/licenses/LICENSE-2.0"
_UNKNOWN = ("propertyNames",)
"""What 3.0 has no word for."""


def for_generators(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return an OpenAPI 3.1 document of this service as 3.0.3."""
    converted: dict[str, Any] = _convert(document)
    converted["openapi"] = "3.0.3"
    converted["info"]["license"] = {"name": document["info"]["license"]["name"], "url": _LICENSE}
    schemas = converted["components"]["schemas"]
    schemas["Categories"]["additionalProperties"] = _CATEGORY_VALUE
    del schemas["Keyword"]  # nothing refers to it any more
    names = {frozenset(schema["enum"]): name for name, schema in schemas.items() if "enum" in schema}
    for schema in schemas.values():
        _name_enums(schema, names)
    return converted


def _name_enums(schema: dict[str, Any], names: Mapping[frozenset[str], str]) -> None:
    """Refer to a schema by its name where a member spells out the same values: a second type of them needs a name."""
    for member, described in schema.get("properties", {}).items():
        if set(described) == {"type", "enum"} and (name := names.get(frozenset(described["enum"]))):
            schema["properties"][member] = {"$ref": f"#/components/schemas/{name}"}


def _convert(value: Any) -> Any:
    """Return a part of a document in the words of 3.0."""
    if isinstance(value, list):
        return [_convert(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    converted = {
        # Values are no schemas: a sample may have a member of any name.
        name: item if name in {"example", "default", "enum"} else _convert(item)
        for name, item in value.items()
        if name not in _UNKNOWN
        and not (name in NDJSON_TYPES and JSON in value)
        # What may be null is so without a default; beside a reference 3.0 takes null for no value of its type.
        and not (name == "default" and item is None)
    }
    if "const" in converted:
        # The only value, as the only choice: 3.0 has no word for constants.
        converted["enum"] = [converted.pop("const")]
    return _without_unions(converted)


def _without_unions(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema in which ``nullable`` stands for the type null, and no type for one of several without names."""
    kind = schema.get("type")
    if kind == "null":
        return schema | {"type": "string", "nullable": True}
    if isinstance(kind, list) and "null" in kind:
        (other,) = (name for name in kind if name != "null")
        schema = schema | {"type": other, "nullable": True}
    for word in ("oneOf", "anyOf"):
        choices = schema.get(word)
        if not isinstance(choices, list):
            continue
        # A choice of null has been converted to a nullable string without anything else.
        others = [choice for choice in choices if choice != {"type": "string", "nullable": True}]
        rest = {name: item for name, item in schema.items() if name != word}
        are_references = all("$ref" in choice for choice in others)
        if len(others) == 1:
            # All that is referred to here is an object; nullable means nothing without a type.
            return rest | {"nullable": True} | ({"type": "object", "allOf": others} if are_references else others[0])
        # Which of two members there is can be said in words alone; so can what a value of several forms is.
        if not are_references:
            return rest if "type" in rest else {"description": _SEVERAL_FORMS} | rest
    return schema
