"""JSON schemas of reports of what people did and saw, for the OpenAPI document."""

from typing import Any

from penchant.model import MAX_ID_LENGTH, MAX_IMPRESSIONS_PER_REQUEST, MAX_INTERACTIONS_PER_REQUEST, InteractionType
from penchant.wire.impressions import MAX_POSITION
from penchant.wire.list_ids import MAX_LENGTH


def recording_schemas() -> dict[str, Any]:
    """Return the schemas of these bodies by name."""
    moment = {"type": ["string", "null"], "format": "date-time"}
    name = {"type": "string", "minLength": 1, "maxLength": MAX_ID_LENGTH}
    seen = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"id": name, "position": {"type": "integer", "minimum": 1, "maximum": MAX_POSITION}},
        "required": ["id"],
    }
    shown_list = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "listId": {"type": "string", "maxLength": MAX_LENGTH},
            "content": {"type": "array", "items": {"oneOf": [name, seen]}},
            "userId": {"oneOf": [name, {"type": "null"}]},
            "timestamp": moment,
        },
        "required": ["listId", "content"],
    }
    interaction = {
        "type": "object",
        "properties": {
            "userId": name,
            "type": {"type": "string", "enum": [kind.value for kind in InteractionType]},
            "contentId": name,
            "timestamp": moment,
            "eventId": {
                "oneOf": [name, {"type": "null"}],
                "description": "Your id of the event: the same one of the same person is stored once.",
            },
            "listId": {"type": ["string", "null"], "maxLength": MAX_LENGTH},
        },
        "required": ["userId", "type", "contentId"],
    }
    return {
        "InteractionInput": interaction,
        "InteractionArray": {
            "type": "array",
            "maxItems": MAX_INTERACTIONS_PER_REQUEST,
            "items": {"$ref": "#/components/schemas/InteractionInput"},
        },
        "ImpressionInput": shown_list,
        "ImpressionArray": {
            "type": "array",
            "maxItems": MAX_IMPRESSIONS_PER_REQUEST,
            "items": {"$ref": "#/components/schemas/ImpressionInput"},
        },
    }
