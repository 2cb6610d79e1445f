"""JSON schemas of what is sent and answered, for the OpenAPI document.

Those of bodies follow from the fields of their records (`wire.fields`), of answers that are records msgspec makes them;
what is written as bytes has its schema here by hand. A test holds each against a sample (`wire.samples`).
"""

import copy
from datetime import datetime
from typing import Any

import msgspec

from penchant.model import (
    MAX_IMPRESSIONS_PER_REQUEST,
    MAX_INTERACTIONS_PER_REQUEST,
    MAX_PIECES_PER_SUBMISSION,
    MAX_TAKE,
    PlacementKind,
)
from penchant.wire import administration, answers, explanations, placement_answers
from penchant.wire.fields import ID_SCHEMA, ref
from penchant.wire.lists import RANK_WISH
from penchant.wire.pieces import TEXTS, piece_schemas
from penchant.wire.placements import PAGE, PLACEMENT_WISH, placement_schemas
from penchant.wire.preferences import LIKINGS, PREFERENCES, PersonPreferences
from penchant.wire.recording import INTERACTION, SEEN_LIST
from penchant.wire.settings import ATTRIBUTE_SCHEMA, PREVIEW, SETTINGS
from penchant.wire.syntax import encode
from penchant.wire.words import ALIAS, VOCABULARY, WORDS


class _Time(datetime):
    """A time in answers where they are described: no type of msgspec's, whose schema would say no format."""


_ANSWERS = (
    answers.Addresses,
    answers.Receipt,
    answers.SourceStatus[_Time],
    answers.RecommendationResult,
    answers.AnonymousResult,
    answers.ProspectList,
    answers.RevisitResult[_Time],
    answers.Profile,
    answers.TasteSegments,
    answers.ExportedInteraction[_Time],
    answers.InteractionAnswer[_Time],
    answers.BulkReceipt,
    PersonPreferences,
    answers.UserExport[_Time],
    placement_answers.PlacementResults,
    answers.Problem,
    explanations.LeftPiece,
    explanations.Reason,
    explanations.SettingsPreview,
    explanations.SimilarWhy,
    explanations.TermRest,
    explanations.PersonalWhy,
    administration.AuditLog[_Time],
    administration.KeyList[_Time],
    administration.IssuedKeyAnswer[_Time],
    administration.SigningSecret,
    administration.UsageReport,
    placement_answers.PlacementResult,
    placement_answers.PageResult,
    placement_answers.PlacementListing[_Time],
    placement_answers.PlacementHistory[_Time],
    placement_answers.PlacementPreview,
)
_INT32 = 2**31 - 1


def components() -> dict[str, Any]:
    """Return the OpenAPI 3.1 component schemas by name."""
    generated = _generated()
    version = generated["PlacementVersion"]
    schemas = {
        **generated,
        **_arrays(),
        **_service(),
        # Later ones win: here an entry of a list gets the member that holds its reasons.
        **_explained(generated["RecommendedPiece"]),
        **piece_schemas(),
        **_lists(),
        "InteractionInput": INTERACTION.schema(),
        "InteractionArray": _array("InteractionInput", MAX_INTERACTIONS_PER_REQUEST),
        "ImpressionInput": SEEN_LIST.schema(),
        "ImpressionArray": _array("ImpressionInput", MAX_IMPRESSIONS_PER_REQUEST),
        "Settings": SETTINGS.schema(last=["attributes"]),
        "Attribute": ATTRIBUTE_SCHEMA,
        "Words": WORDS.schema(),
        "Vocabulary": VOCABULARY.schema(),
        "Texts": TEXTS.schema(),
        "PieceWords": {
            "type": "object",
            "properties": {
                "id": {"type": ["string", "null"]},
                "language": {"type": "string"},
                "words": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["id", "language", "words"],
        },
        "WordsPreview": {
            "type": "object",
            "properties": {"content": {"type": "array", "items": ref("PieceWords")}, "words": ref("Words")},
            "required": ["content", "words"],
        },
        "Alias": ALIAS.schema(),
        **placement_schemas(),
        "PlacementVersion": version | {"properties": version["properties"] | {"placement": ref("Placement")}},
        "PlacementWish": PLACEMENT_WISH.schema(),
        "PageWish": PAGE.schema(),
        "PageEntry": _page_entry(),
        "KeyWish": administration.KEY_WISH.schema(),
        "PlanWish": administration.PLAN_WISH.schema(),
    }
    # Shapes go on being used: what is added here is none of theirs.
    schemas = copy.deepcopy(schemas)
    for schema in schemas.values():
        _complete(schema)
    return schemas


def _generated() -> dict[str, Any]:
    """Return the schemas of the records that are answered by name."""
    times = {"type": "string", "format": "date-time"}
    _, schemas = msgspec.json.schema_components(
        _ANSWERS, schema_hook=lambda _: dict(times), ref_template="#/components/schemas/{name}"
    )
    # Those with times are named after the type of a time, too.
    text = encode(schemas).replace(b"__Time_", b"").replace(b"[_Time]", b"")
    named: dict[str, Any] = msgspec.json.decode(text)
    return named


def _complete(schema: Any) -> None:
    """Add what generators of clients would guess wrongly: that objects are open, and the formats of numbers."""
    if isinstance(schema, list):
        for item in schema:
            _complete(item)
        return
    if not isinstance(schema, dict):
        return
    _state_kind(schema)
    if schema.get("required") == []:
        # OpenAPI 3.0 takes no empty list.
        del schema["required"]
    for member in schema.get("properties", {}).values():
        _complete(member)
    for word in ("items", "additionalProperties", "anyOf", "oneOf"):
        _complete(schema.get(word))


def _state_kind(schema: dict[str, Any]) -> None:
    """Say how long a number is, and that an object may have further members, unless its schema says so itself."""
    kind = schema.get("type", ())
    kinds = {kind} if isinstance(kind, str) else set(kind)
    if "object" in kinds:
        # Objects that are closed already, those of settings for instance, stay so.
        schema.setdefault("additionalProperties", True)
    elif "number" in kinds:
        schema.setdefault("format", "double")
    elif "integer" in kinds:
        schema.setdefault("format", "int32" if schema.get("maximum", _INT32 + 1) <= _INT32 else "int64")


def _arrays() -> dict[str, Any]:
    """Return the schemas of bodies and answers that are arrays."""
    text = {"type": "string"}
    return {
        "Submission": _array("SubmittedPiece", MAX_PIECES_PER_SUBMISSION),
        "EmptyArray": {"type": "array", "maxItems": 0, "items": text},
        "IdArray": {"type": "array", "items": text},
        "AskedIds": {"type": "array", "maxItems": 100, "items": ID_SCHEMA},
        "UserIds": {"type": "array", "maxItems": 1000, "items": ID_SCHEMA},
        "ContentIds": {"type": "array", "maxItems": 1000, "items": ID_SCHEMA},
        "RecommendationResults": {"type": "array", "items": ref("RecommendationResult")},
        "SimilarEntries": {"type": "array", "items": ref("SimilarEntry")},
        "InteractionList": {"type": "array", "items": ref("InteractionAnswer")},
        "ProfileList": {"type": "array", "items": ref("Profile")},
    }


def _array(name: str, most: int) -> dict[str, Any]:
    return {"type": "array", "maxItems": most, "items": ref(name)}


def _service() -> dict[str, Any]:
    warnings = {
        "type": "array",
        "items": {"type": "string"},
        "description": "What the operator should change; left out where there is nothing.",
    }
    return {
        "Health": {
            "type": "object",
            "properties": {"status": {"type": "string", "const": "ok"}, "warnings": warnings},
            "required": ["status"],
        },
        "OpenApi": {"type": "object"},
        "Text": {"type": "string"},
    }


def _explained(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas of lists with reasons, whose kind depends on the list, and of the requests for them."""
    properties = entry["properties"]
    either = {"anyOf": [ref("SimilarWhy"), ref("PersonalWhy")], "description": "With `explain=true`."}
    explained = {
        "type": "object",
        "properties": properties | {"why": ref("SimilarWhy")},
        "required": ["id", "score", "why"],
    }
    entries = {"type": "array", "items": ref("RecommendedPiece")}
    return {
        "RecommendedPiece": entry | {"properties": properties | {"why": either}},
        "ExplainedPiece": explained,
        "DraftResult": {
            "type": "object",
            "properties": {
                "id": {"type": ["string", "null"]},
                "content": {"type": "array", "items": ref("ExplainedPiece")},
            },
            "required": ["id", "content"],
        },
        "SimilarEntry": {
            "type": "object",
            "properties": {"id": ID_SCHEMA, "content": entries, "error": ref("Problem")},
            "required": ["id"],
            "oneOf": [{"required": ["content"]}, {"required": ["error"]}],
        },
        "SimilarPlace": _place("SimilarWhy"),
        "PersonalPlace": _place("PersonalWhy"),
        "PreviewWish": PREVIEW.schema(),
        "Likings": LIKINGS.schema(),
        "RankWish": RANK_WISH.schema(),
        "RankResult": {
            "type": "object",
            "properties": {
                "id": ID_SCHEMA,
                "content": entries,
                "left": {"type": "array", "items": ref("LeftPiece")},
            },
            "required": ["id", "content", "left"],
        },
        "Preferences": PREFERENCES.schema(),
    }


def _place(why: str) -> dict[str, Any]:
    """Return the schema of where a piece stands in a list; ``why`` names the schema of its reasons."""
    members = {
        "id": ID_SCHEMA,
        "contentId": ID_SCHEMA,
        "rank": {"type": ["integer", "null"], "minimum": 1, "maximum": MAX_TAKE},
        "score": {"type": ["number", "null"]},
        "why": {"oneOf": [ref(why), {"type": "null"}]},
        "reasons": {"type": "array", "items": ref("Reason")},
    }
    return {"type": "object", "properties": members, "required": list(members)}


def _lists() -> dict[str, Any]:
    """Return the schemas of lists: ids with their count, and pieces with their source."""
    return {
        "IdList": {
            "type": "object",
            "properties": {
                "count": {"type": "integer", "minimum": 0},
                "content": {"type": "array", "items": ID_SCHEMA},
            },
            "required": ["count", "content"],
        },
        "PiecesById": {
            "type": "object",
            "properties": {
                "content": {"type": "array", "items": ref("Piece")},
                "missing": {"type": "array", "items": ID_SCHEMA},
            },
            "required": ["content", "missing"],
        },
        "ContentList": {
            "type": "object",
            "properties": {
                "source": {"type": "string"},
                "timestamp": {"type": "string", "format": "date-time"},
                "content": {"type": "array", "items": ref("Piece")},
            },
            "required": ["source", "timestamp", "content"],
        },
    }


def _page_entry() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "placement": {"type": "string"},
            "variant": {"type": "string"},
            "kind": {"type": "string", "enum": list(PlacementKind)},
            "contentId": {"type": ["string", "null"]},
            "seed": ref("ListSeed"),
            "since": {"type": "string"},
            "listId": {"type": "string"},
            "categoryWeights": {"type": "object", "additionalProperties": {"type": "number"}},
            "content": {"type": "array", "items": ref("PlacedPiece")},
            "unmet": {"type": "array", "items": ref("UnmetRule")},
            "error": ref("Problem"),
        },
        "required": ["placement", "contentId"],
        "oneOf": [{"required": ["content"]}, {"required": ["error"]}],
    }
