"""JSON schemas of bodies about people: interactions, likings, preferences."""

from typing import Any

from penchant.model import MAX_ID_LENGTH, InteractionType

ID_SCHEMA = {"type": "string", "minLength": 1, "maxLength": MAX_ID_LENGTH}
MOMENT_SCHEMA = {"type": ["string", "null"], "format": "date-time"}


def interaction() -> dict[str, Any]:
    """Return the schema of an interaction to store."""
    return {
        "type": "object",
        "properties": {
            "userId": ID_SCHEMA,
            "type": {"type": "string", "enum": [kind.value for kind in InteractionType]},
            "contentId": ID_SCHEMA,
            "timestamp": MOMENT_SCHEMA,
            "eventId": {"oneOf": [ID_SCHEMA, {"type": "null"}]},
        },
        "required": ["userId", "type", "contentId"],
    }


def likings() -> dict[str, Any]:
    """Return the schema of what somebody likes of whom nothing is stored."""
    ids = {"type": ["array", "null"], "items": ID_SCHEMA}
    keywords = {"type": ["object", "null"], "additionalProperties": {"type": "array", "items": ID_SCHEMA}}
    members = dict.fromkeys(("liked", "disliked"), ids) | dict.fromkeys(("likedKeywords", "dislikedKeywords"), keywords)
    return {"type": "object", "additionalProperties": False, "properties": members}


def preferences() -> dict[str, Any]:
    """Return the schema of what a person says."""
    weights = {"type": "object", "additionalProperties": {"type": "number", "minimum": -1, "maximum": 1}}
    members = {
        "keywords": {"type": ["object", "null"], "additionalProperties": weights},
        "hidden": {"type": ["array", "null"], "items": ID_SCHEMA},
        "unusedCategories": {"type": ["array", "null"], "items": {"type": "string", "minLength": 1}},
    }
    return {"type": "object", "additionalProperties": False, "properties": members}
