"""JSON schemas of what is sent and answered, for the OpenAPI document.

Those of bodies follow from the fields of their records (`wire.fields`), those of answers from the records that clients
read, also where the service writes bytes: a member says by `stated` what its type can't. Here are only arrays, and
lists whose reasons depend on the list. A test holds each against a sample (`wire.samples`).
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, get_origin

import msgspec

from penchant.hooks import packages
from penchant.model import (
    MAX_INTERACTIONS_PER_REQUEST,
    MAX_PIECES_PER_SUBMISSION,
)
from penchant.wire import administration, answers, catalogue_answers, explanations, pieces
from penchant.wire.fields import ID_SCHEMA, Json, ref
from penchant.wire.lists import RANK_WISH
from penchant.wire.pieces import piece_schemas
from penchant.wire.preferences import LIKINGS, PREFERENCES, PersonPreferences
from penchant.wire.recording import INTERACTION
from penchant.wire.settings import ATTRIBUTE_SCHEMA, PREVIEW, settings_schema
from penchant.wire.syntax import encode
from penchant.wire.vocabulary import ALIAS, VOCABULARY


class TimeText(datetime):
    """A time in answers where they are described: no type of msgspec's, whose schema would say no format."""


_ANSWERS = (
    answers.Addresses,
    answers.ServiceVersion,
    answers.Health,
    answers.Receipt,
    answers.SourceStatus[TimeText],
    answers.RecommendationResult,
    answers.AnonymousResult,
    answers.ProspectList,
    answers.RevisitResult[TimeText],
    answers.Profile,
    answers.TasteSegments,
    answers.ExportedInteraction[TimeText],
    answers.InteractionAnswer[TimeText],
    answers.RecordedInteraction[TimeText],
    answers.BulkReceipt,
    answers.Removal,
    PersonPreferences,
    answers.UserExport[TimeText],
    answers.Problem,
    explanations.RankResult,
    explanations.SimilarEntry,
    explanations.SimilarPlace,
    explanations.PersonalPlace,
    explanations.Reason,
    explanations.SettingsPreview,
    explanations.SimilarWhy,
    explanations.TermRest,
    explanations.PersonalWhy,
    administration.AuditLog[TimeText],
    administration.KeyList[TimeText],
    administration.PlanList,
    administration.OwnKey,
    administration.IssuedKeyAnswer[TimeText],
    administration.SigningSecret,
    administration.UsageReport,
    catalogue_answers.OwnAccount[TimeText],
    catalogue_answers.SearchAnswer,
    catalogue_answers.SteeringListing[TimeText],
    catalogue_answers.TitleListing,
    catalogue_answers.CategoryListing,
    catalogue_answers.CatalogListing,
    catalogue_answers.ExtrasListing,
    catalogue_answers.KeywordListing,
    catalogue_answers.CatalogueFindings[TimeText],
    catalogue_answers.ActivityListing,
    pieces.IdList,
    pieces.PiecesById,
    pieces.ContentList[TimeText],
)
_INT32 = 2**31 - 1
LIST_OR_ERROR = {"oneOf": [{"required": ["content"]}, {"required": ["error"]}]}


@dataclass(frozen=True, eq=False, kw_only=True)
class InterfacePart:
    """What operations of a package take and answer, for the OpenAPI document.

    ``answers`` are records, of which schemas are made; from these ``schemas`` makes those of bodies, and of answers
    that say more than their records. ``samples`` has one of each body and answer by the name of its schema, ``tags``
    what each tag of the operations means, ``segments`` what is written in their paths, with an example.
    """

    answers: Sequence[Any] = ()
    schemas: Callable[[Mapping[str, Json]], Json] = lambda _generated: {}
    samples: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    segments: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def components(parts: Sequence[InterfacePart] = ()) -> dict[str, Any]:
    """Return the OpenAPI 3.1 component schemas by name: the service's, and those of parts that packages bring."""
    exports = [each.members for each in packages().exports()]
    generated = _generated((*_ANSWERS, *exports, *(each for part in parts for each in part.answers)))
    for members in exports:
        brought = generated.pop((get_origin(members) or members).__name__)
        generated["UserExport"]["properties"] |= brought["properties"]
    # It is left out where there is nothing: to generators a default would say that it is always there.
    del generated["Health"]["properties"]["warnings"]["default"]
    schemas = {
        **generated,
        **_arrays(),
        "OpenApi": {"type": "object"},
        "Text": {"type": "string"},
        # Later ones win: here an entry of a list gets the member that holds its reasons.
        **_explained(generated),
        **piece_schemas(),
        "PreviewWish": PREVIEW.schema(),
        "Likings": LIKINGS.schema(),
        "RankWish": RANK_WISH.schema(),
        "Preferences": PREFERENCES.schema(),
        "InteractionInput": INTERACTION.schema(),
        "InteractionArray": array("InteractionInput", MAX_INTERACTIONS_PER_REQUEST),
        "Settings": settings_schema(),
        "Attribute": ATTRIBUTE_SCHEMA,
        "Vocabulary": VOCABULARY.schema(),
        "Alias": ALIAS.schema(),
        "SimilarEntry": generated["SimilarEntry"] | LIST_OR_ERROR,
        "KeyWish": administration.KEY_WISH.schema(),
        "PlanWish": administration.PLAN_WISH.schema(),
    }
    for part in parts:
        schemas |= part.schemas(generated)
    # Shapes go on being used: what is added here is none of theirs.
    schemas = copy.deepcopy(schemas)
    for schema in schemas.values():
        _complete(schema)
    return schemas


def _generated(answers: Sequence[Any]) -> dict[str, Any]:
    """Return the schemas of records that are answered by name."""
    times = {"type": "string", "format": "date-time"}
    _, schemas = msgspec.json.schema_components(
        answers, schema_hook=lambda _: dict(times), ref_template="#/components/schemas/{name}"
    )
    # Those with times are named after the type of a time, too.
    text = encode(schemas).replace(b"_TimeText_", b"").replace(b"[TimeText]", b"")
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
    if "$ref" in schema:
        # What refers to a schema made elsewhere says nothing beside it.
        schema.pop("type", None)
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
    text = {"type": "string"}
    return {
        "Submission": array("SubmittedPiece", MAX_PIECES_PER_SUBMISSION),
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


def array(name: str, most: int) -> Json:
    """Return the schema of an array of a component."""
    return {"type": "array", "maxItems": most, "items": ref(name)}


def _explained(generated: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas of lists with reasons, whose kind depends on the list."""
    entry = generated["RecommendedPiece"]
    properties = entry["properties"]
    either = {"anyOf": [ref("SimilarWhy"), ref("PersonalWhy")], "description": "With `explain=true`."}
    explained = {"type": "object", "properties": properties | {"why": ref("SimilarWhy")}}
    drafts = {"id": {"type": ["string", "null"]}, "content": {"type": "array", "items": ref("ExplainedPiece")}}
    return {
        "RecommendedPiece": entry | {"properties": properties | {"why": either}},
        "ExplainedPiece": explained | {"required": ["id", "score", "why"]},
        "DraftResult": {"type": "object", "properties": drafts, "required": list(drafts)},
    }
