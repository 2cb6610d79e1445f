"""JSON schemas of placements, for the OpenAPI document: members of settings and of requests for lists together."""

from collections.abc import Mapping
from typing import Any

from penchant.model import MAX_ID_LENGTH, MAX_NAME_LENGTH, MAX_TAKE, Basis, PlacementKind
from penchant.wire.pages import MAX_EXCLUDED, MAX_LISTS
from penchant.wire.placements import MAX_CATALOGS, MAX_NAME_BYTES, MAX_OWN_IDS, MAX_VARIANTS
from penchant.wire.previews import MAX_PREVIEWED
from penchant.wire.settings import MAX_DAYS

_ID = {"type": "string", "minLength": 1, "maxLength": MAX_ID_LENGTH}
_NAME = {"type": "string", "minLength": 1, "maxLength": MAX_NAME_BYTES}
_CATALOG = {"type": "string", "minLength": 1, "maxLength": MAX_NAME_LENGTH}
_KIND = {"type": "string", "enum": list(PlacementKind)}
_AUTO_STOP = {
    "type": "boolean",
    "description": "Whether variants that are certainly worse are stopped; absent: by reports of servers alone.",
}
_TAKE = {"type": ["integer", "null"], "minimum": 1, "default": MAX_TAKE}


def placement_schemas(settings: Mapping[str, Any], version: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schemas of placements; ``settings`` is that of a source's settings, ``version`` that of a version."""
    members = _members(settings["properties"])
    variant = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"name": _NAME, "share": {"type": "number", "minimum": 0, "maximum": 1}, "kind": _KIND}
        # What is null is as the source has it, and no longer as the placement has it.
        | {name: {"oneOf": [schema, {"type": "null"}]} for name, schema in members.items() if name != "kind"},
        "required": ["name", "share"],
    }
    variants = {"type": "array", "maxItems": MAX_VARIANTS, "items": _ref("PlacementVariant")}
    return {
        "Placement": {
            "type": "object",
            "additionalProperties": False,
            "properties": members | {"experiment": _ID, "autoStop": _AUTO_STOP, "variants": variants},
            "required": ["kind"],
        },
        "PlacementVariant": variant,
        "PlacementVersion": {**version, "properties": version["properties"] | {"placement": _ref("Placement")}},
        "PlacementWish": _placement_wish(),
        "PageWish": _page_wish(),
        "PageEntry": _page_entry(),
    }


def _members(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schemas of the members that a list is made by."""
    ids = {"type": "array", "items": _ID, "maxItems": MAX_OWN_IDS}
    return {
        "kind": _KIND,
        "algorithm": {"type": "string", "enum": [each.value for each in Basis]},
        "blend": settings["blend"],
        "categoryWeights": settings["categoryWeights"],
        "maxPerValue": settings["maxPerValue"],
        "diversity": {"type": "number", "minimum": 0, "maximum": 1},
        "rotation": {"type": "number", "minimum": 0, "maximum": 1},
        "excludeSeen": {"type": "boolean"},
        "halfLifeDays": {"type": "integer", "minimum": 0, "maximum": MAX_DAYS},
        "catalogs": {"type": "array", "items": _CATALOG, "minItems": 1, "maxItems": MAX_CATALOGS},
        "boosts": {
            "type": "array",
            "items": {"type": "object"},
            "description": "Conditions with a factor, as `boost=` of lists.",
        },
        "filter": {"type": "object", "description": "Conditions on the attributes of pieces, as `filter=` of lists."},
        "whitelist": ids,
        "blacklist": ids,
        "fallback": _KIND,
    }


def _placement_wish() -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "name": _NAME,
            "placement": _ref("Placement"),
            "users": {"type": ["array", "null"], "items": _ID, "maxItems": MAX_PREVIEWED},
            "content": {"oneOf": [_ID, {"type": "null"}]},
            "variant": {"oneOf": [_NAME, {"type": "null"}]},
            "take": _TAKE,
        },
        "required": ["name", "placement"],
    }


def _page_wish() -> dict[str, Any]:
    optional_id = {"oneOf": [_ID, {"type": "null"}]}
    row = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"placement": _NAME, "content": optional_id, "take": _TAKE},
        "required": ["placement"],
    }
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "user": optional_id,
            "exclude": {"type": ["array", "null"], "items": _ID, "maxItems": MAX_EXCLUDED},
            "lists": {"type": "array", "items": row, "maxItems": MAX_LISTS},
        },
        "required": ["lists"],
    }


def _page_entry() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "placement": {"type": "string"},
            "variant": {"type": "string"},
            "kind": _KIND,
            "contentId": {"type": ["string", "null"]},
            "listId": {"type": "string"},
            "categoryWeights": {"type": "object", "additionalProperties": {"type": "number"}},
            "content": {"type": "array", "items": _ref("PlacedPiece")},
            "error": _ref("Problem"),
        },
        "required": ["placement", "contentId"],
        "oneOf": [{"required": ["content"]}, {"required": ["error"]}],
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
