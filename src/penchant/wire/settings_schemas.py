"""JSON schemas of a source's settings, for the OpenAPI document."""

from typing import Any

from penchant.attributes import MAX_ATTRIBUTES, AttributeType
from penchant.model import MAX_TAKE, InteractionType
from penchant.wire.attributes import MAX_POINTER_LENGTH
from penchant.wire.settings import (
    MAX_ATTRIBUTION_HOURS,
    MAX_BLEND,
    MAX_CATEGORY_WEIGHT,
    MAX_DAYS,
    MAX_INTERACTION_WEIGHT,
    MAX_PUBLIC_EXTRAS,
)


def settings_schemas() -> dict[str, Any]:
    """Return the schemas of settings, and of what these name, by name."""
    return {"Settings": _settings(), "Attribute": _attribute()}


def _number(least: float, most: float, default: float) -> dict[str, Any]:
    return {"type": "number", "minimum": least, "maximum": most, "default": default}


def _settings() -> dict[str, Any]:
    """Return the schema of the settings; the defaults are those of `SourceSettings`."""
    weight = {"type": "number", "minimum": -MAX_INTERACTION_WEIGHT, "maximum": MAX_INTERACTION_WEIGHT}
    blend = {"content": 0.1, "audience": 0.8, "popularity": 0.1}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "categoryWeights": {
                "type": "object",
                "additionalProperties": {"type": "number", "minimum": 0, "maximum": MAX_CATEGORY_WEIGHT},
            },
            "interactionWeights": {
                "type": "object",
                "additionalProperties": False,
                "properties": {kind.value: weight for kind in InteractionType},
            },
            "halfLifeDays": _number(0, MAX_DAYS, 90),
            "retentionDays": {"type": "integer", "minimum": 1, "maximum": MAX_DAYS, "default": 396},
            "excludeSeen": {"type": "boolean", "default": True},
            "blend": {
                "type": "object",
                "additionalProperties": False,
                "properties": {name: _number(0, MAX_BLEND, default) for name, default in blend.items()},
            },
            "newPieceHalfLifeDays": _number(0, MAX_DAYS, 30),
            "maxPerValue": {
                "type": "object",
                "additionalProperties": {"type": "integer", "minimum": 1, "maximum": MAX_TAKE},
            },
            "attributionWindowHours": {"type": "integer", "minimum": 1, "maximum": MAX_ATTRIBUTION_HOURS},
            "imageAttribute": {
                "type": "string",
                "description": "A JSON pointer into extras: where the address of a piece's picture is.",
                "maxLength": MAX_POINTER_LENGTH,
            },
            "publicExtras": {
                "description": "Members of extras that browser keys may read, or true for all; without it what "
                "`imageAttribute` names.",
                "oneOf": [
                    {"const": True},
                    {"type": "array", "items": {"type": "string"}, "maxItems": MAX_PUBLIC_EXTRAS, "uniqueItems": True},
                ],
            },
            "attributes": {
                "type": "object",
                "description": "Members of extras that lists can be filtered by.",
                "maxProperties": MAX_ATTRIBUTES,
                "additionalProperties": {"$ref": "#/components/schemas/Attribute"},
            },
        },
    }


def _attribute() -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "pointer": {"type": "string", "maxLength": MAX_POINTER_LENGTH},
            "type": {"type": "string", "enum": list(AttributeType)},
        },
        "required": ["pointer", "type"],
    }
