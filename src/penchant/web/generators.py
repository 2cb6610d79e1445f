"""OpenAPI 3.0.3: the same interface for code generators, which take no unions of keywords and further categories.

openapi-generator compiles nothing from a category's value of several forms, and ignores what 3.1 says of further
members. Here such a value has no type but words; everything else is said as 3.0 has it.
"""

from collections.abc import Mapping
from typing import Any

from penchant.web.bodies import JSON, NDJSON_TYPES

_CATEGORY_VALUE = {
    "description": "A list of keywords (strings, or objects with `key` and `weight`), or an object of further "
    "categories. Left without a type, since most generators know no values of several forms."
}
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
    # Which of two members there is can be said in words alone.
    schemas["SimilarEntry"].pop("oneOf")
    return converted


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
    return _without_null(converted)


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema in which ``nullable`` stands for the type null."""
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
        if len(others) < len(choices):
            rest = {name: item for name, item in schema.items() if name != word} | {"nullable": True}
            if len(others) > 1:
                return rest | {word: others}
            # All that is referred to here is an object; nullable means nothing without a type.
            is_reference = "$ref" in others[0]
            return rest | ({"type": "object", "allOf": others} if is_reference else others[0] | {"nullable": True})
    return schema
