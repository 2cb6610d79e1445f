"""OpenAPI 3.1: the document of the interface, made from the table of operations and the schemas of its bodies.

`for_generators` says the same in 3.0.3 for code generators, which take no unions, and no two types of one name:
openapi-generator compiles nothing from a value of several forms, a category's for one, and ignores what 3.1 says of
further members. There such a value has no type but words; everything else is said as 3.0 has it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from penchant import __version__
from penchant.errors import BrokenPackage
from penchant.model import MAX_ID_LENGTH, MAX_NAME_LENGTH
from penchant.web.bodies import JSON, NDJSON, NDJSON_TYPES
from penchant.web.operations import (
    AUDIENCE_VERSION_HEADER,
    BODY_ERRORS,
    CHANGE_ERRORS,
    MIN_AUDIENCE_VERSION_HEADER,
    MIN_VERSION_HEADER,
    NOBODY,
    Operation,
)
from penchant.web.parameters import AFTER, AT, BY, FILTER, HALF_LIFE, INCLUDE_SEEN, MIN_VERSION, NARROWING
from penchant.web.problems import PROBLEM_MEDIA_TYPE, problem_kinds
from penchant.web.query import Parameter
from penchant.wire.samples import SAMPLES
from penchant.wire.schemas import InterfacePart, components
from penchant_engine.model import InteractionType

Json: TypeAlias = dict[str, Any]

TAG_DESCRIPTIONS = {
    "service": "Addresses of the service itself: health, metrics, documents. They need no key.",
    "administration": "Keys, usage and the audit log, for keys with the admin role.",
    "content": "The pieces of a source: submit, list, read and delete them, and read what is similar to one.",
    "people": "What people do with pieces: record, list, export and erase it, and read their profiles.",
    "recommendations": "Lists of pieces for a person, or for several pieces at once.",
    "explanations": "Why a piece is in a list or not, and what lists would be after a change.",
    "curation": "Whitelist, blacklist and settings of a source.",
    "source": "A source as a whole.",
}
_CATEGORY_VALUE = {
    "description": "A list of keywords (strings, or objects with `key` and `weight`), or an object of further "
    "categories. Left without a type, since most generators know no values of several forms."
}
_SEVERAL_FORMS = "A value of several forms, left without a type, since most generators know none."
_LICENSE = "https://www.apache.org/licenses/LICENSE-2.0"
_UNKNOWN = ("propertyNames",)
"""What 3.0 has no word for."""
_DESCRIPTIONS = {200: "Done.", 201: "Made.", 202: "Accepted and stored."}
_PATH_PARAMETERS: Mapping[str, tuple[str, str]] = {
    "source": ("The source: a catalogue of the key's account.", "films"),
    "contentID": ("The id of a piece; percent-encoded once (`/` as `%2F`).", "alien"),
    "other": ("The id of any other piece; percent-encoded once.", "gravity"),
    "userID": ("The id of a person; percent-encoded once.", "kim"),
    "type": ("What the person did with the piece.", "RateLike"),
    "code": ("The code of an error.", "invalid-input"),
    "account": ("The name of an account; made if it is missing.", "press"),
    "keyID": ("The id of a key, the part between its underscores.", "Zk4tQ9"),
    "sourceName": ("The name of a source; percent-encoded once.", "films"),
}
_HEADERS: Mapping[str, tuple[str, str]] = {
    "ETag": ("string", "Tag of the answer, for `If-None-Match`; of what has revisions its revision."),
    "RateLimit": ("string", "What is left of the key's requests in this second, where the plan limits them."),
    "RateLimit-Policy": ("string", "The requests a second that the plan allows, where it limits them."),
    "Retry-After": ("integer", "Seconds after which the request may be sent again."),
    "WWW-Authenticate": ("string", "How to authenticate: by the header `x-api-key`."),
    "x-penchant-audience-version": (
        "integer",
        "Up to which version of the interactions the list knows what other people like; 0 before the first time.",
    ),
    "x-penchant-deleted": ("integer", "How many of the pieces named were there and are deleted."),
    "x-penchant-ignored": ("string", "Parameters of the query that the operation does not know."),
    "x-penchant-interactions-version": (
        "integer",
        "The version of the source's interactions after what was recorded or erased.",
    ),
    "x-penchant-list": ("string", "The id of the list, which interactions and reports of what was seen may name."),
    "x-penchant-expired": (
        "string",
        "`true` for an interaction that is older than the source's retention, and so counts for nothing.",
    ),
    "x-penchant-next": (
        "string",
        "Where the list goes on, for `after` (`before` in the audit log); without it, the list ends here.",
    ),
    "x-penchant-stale": (
        "string",
        "`true` while the database is away: the answer may be older than what is stored.",
    ),
    "x-penchant-unreached": (
        "string",
        "Tables of packages that are not installed, which the erasure reaches once they are.",
    ),
    "x-penchant-unknown-content": (
        "string",
        "`true` for an interaction with a piece that the source does not have, and that counts once it has it.",
    ),
    "x-penchant-version": ("integer", "The version of the source that was read, or that the change made."),
    "x-request-id": ("string", "The request's id: the caller's, if well-formed, or one of the service."),
}
"""The headers of answers: their type and what they say."""
_MIN_AUDIENCE_VERSION = {
    "name": MIN_AUDIENCE_VERSION_HEADER,
    "in": "header",
    "description": "Wait until what other people like is known up to this version of the interactions.",
    "schema": dict(MIN_VERSION.schema),
}
_IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "description": "Tags of answers that the client has; 304 where one of them still holds.",
    "schema": {"type": "string"},
}


def openapi(operations: Sequence[Operation], base_path: str, interface: str = "") -> Json:
    """Return the OpenAPI 3.1 document of these operations; descriptions come from the interface's page."""
    paths: dict[str, Json] = {}
    parts, samples = parts_of(operations), samples_of(operations)
    for operation in operations:
        described = _describe(operation, description_of(operation, interface), samples)
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    descriptions = TAG_DESCRIPTIONS | {tag: text for part in parts for tag, text in part.tags.items()}
    tags = {operation.tag for operation in operations}
    return {
        "openapi": "3.1.1",
        "info": {
            "title": "penchant",
            "version": __version__,
            "description": "Content recommendations: similar pieces, personal lists, taste profiles. "
            "GET addresses answer HEAD too. A caller may name its request by the header `x-request-id`.",
            "contact": {"name": "Whoever runs this service"},
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_path or "/"}],
        "tags": [{"name": name, "description": text} for name, text in descriptions.items() if name in tags],
        "paths": paths,
        "components": {
            "schemas": components(parts),
            "headers": {name: _header(name) for name in _HEADERS},
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "A key of an account."}
            },
        },
    }


def require_described(operations: Sequence[Operation]) -> None:
    """Raise where a body, an answer or a segment of a path of these operations of packages is described nowhere.

    Raises:
        BrokenPackage: there is one.
    """
    samples = samples_of(operations)
    for each in operations:
        answer = each.answer if each.answer_media_type == JSON else None
        missing = {each.body, answer} - {None, *samples} | set(_segments(each)) - _path_texts(each).keys()
        if missing:
            names = ", ".join(sorted(map(str, missing)))
            raise BrokenPackage(f"The operation {each.method} {each.path} names {names}; no InterfacePart has it.")


def parts_of(operations: Iterable[Operation]) -> list[InterfacePart]:
    """Return what packages describe of these operations, each part once."""
    return list({id(each.part): each.part for each in operations if each.part is not None}.values())


def samples_of(operations: Iterable[Operation]) -> dict[str, Any]:
    """Return a sample of each body and answer by the name of its schema."""
    all_samples = (SAMPLES, *(part.samples for part in parts_of(operations)))
    return {name: each for samples in all_samples for name, each in samples.items()}


def description_of(operation: Operation, interface: str) -> str:
    """Return an operation's description from the interface's page, without links; its summary where that has none."""
    text = operation.summary
    for section in re.split(r"^### ", interface, flags=re.MULTILINE)[1:]:
        heading, _, rest = section.partition("\n")
        words = re.split(r"[ ,?]+", heading)
        # Words, not a part of the text: one path may be the beginning of another.
        if operation.method in words and operation.path in words:
            paragraph = rest.strip().partition("\n\n")[0]
            # A section may begin with an example or a table: the summary says more than that.
            if paragraph and not paragraph.startswith(("```", "|")):
                text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
            break
    if operation.admin:
        text += " Needs a key with the admin role."
    if operation.scope is not None:
        text += f" Needs the scope `{operation.scope}`."
        if not operation.in_browsers:
            text += " Not for browser keys."
    if operation.feature is not None and f"`{operation.feature.value}`" not in text:
        text += f" Needs the plan feature `{operation.feature.value}`."
    if operation.counted:
        text += " Counts against the monthly quota."
    return text


def _describe(operation: Operation, description: str, samples: Mapping[str, Any]) -> Json:
    """Return an operation as the document describes it."""
    described: Json = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": description,
        "tags": [operation.tag],
        "parameters": [*_path_parameters(operation), *_parameters(operation)],
        "responses": _responses(operation, samples),
        "security": [] if operation.public else [{"key": []}],
    }
    if operation.scope is not None:
        described |= {"x-penchant-about": operation.about.name, "x-penchant-in-browsers": operation.in_browsers}
    if operation.body is not None:
        described["requestBody"] = {
            "description": "Ids of the pieces to delete." if operation.optional_body else "See the description above.",
            "required": not operation.optional_body,
            "content": {name: _content(operation.body, name, samples) for name in operation.media_types},
        }
    return described


def _content(name: str, media_type: str, samples: Mapping[str, Any]) -> Json:
    """Return the schema and a sample of a body; lines of JSON are a text to OpenAPI 3.1."""
    if media_type in {JSON, PROBLEM_MEDIA_TYPE}:
        return {"schema": _reference("schemas", name), "example": samples[name]}
    return (
        {"schema": {"type": "string", "description": "One JSON value a line."}}
        if "json" in media_type
        else {
            "schema": _reference("schemas", name),
            "example": samples[name],
        }
    )


def _path_parameters(operation: Operation) -> list[Json]:
    described = _path_texts(operation)
    return [_path_parameter(name, *described[name]) for name in _segments(operation)]


def _segments(operation: Operation) -> list[str]:
    return [segment[1:-1] for segment in operation.path.split("/") if segment.startswith("{")]


def _path_texts(operation: Operation) -> Mapping[str, tuple[str, str]]:
    return _PATH_PARAMETERS if operation.part is None else {**_PATH_PARAMETERS, **operation.part.segments}


def _path_parameter(name: str, description: str, example: str) -> Json:
    longest = MAX_NAME_LENGTH if name in {"source", "name"} else MAX_ID_LENGTH
    schema: Json = {"type": "string", "minLength": 1, "maxLength": longest}
    if name == "type":
        schema = {"type": "string", "enum": [kind.value for kind in InteractionType]}
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": schema,
        "example": example,
    }


def _parameters(operation: Operation) -> list[Json]:
    """Return the parameters of an operation: those of its query, and the headers that follow from what it is."""
    described = [_query_parameter(parameter) for parameter in operation.parameters]
    if MIN_VERSION in operation.parameters:
        described.append(
            {
                "name": MIN_VERSION_HEADER,
                "in": "header",
                "description": MIN_VERSION.description,
                "schema": dict(MIN_VERSION.schema),
            }
        )
    if knows_audience(operation):
        described.append(_MIN_AUDIENCE_VERSION)
    if operation.has_etag:
        described.append(_IF_NONE_MATCH)
    return described


def _query_parameter(parameter: Parameter) -> Json:
    described: Json = {
        "name": parameter.name,
        "in": "query",
        "description": parameter.description,
        "schema": dict(parameter.schema),
    }
    if parameter.schema["type"] == "array":
        described |= {"style": "form", "explode": True}
    if parameter.deprecated:
        described["deprecated"] = True
    return described


def _responses(operation: Operation, samples: Mapping[str, Any]) -> Json:
    """Return the answers of an operation by status, its errors gathered under the status that each has."""
    answer: Json = {
        "description": _DESCRIPTIONS[operation.status],
        "headers": _references(_answer_headers(operation)),
    }
    if operation.answer is not None:
        types = (operation.answer_media_type, *((NDJSON,) if operation.has_lines else ()))
        answer["content"] = {name: _content(operation.answer, name, samples) for name in types}
    responses: Json = {str(operation.status): answer}
    if operation.has_etag:
        responses["304"] = {
            "description": "The client has the answer already.",
            "headers": _references(_answer_headers(operation)),
        }
    if FILTER in operation.parameters:
        responses["414"] = {"description": "The address is longer than 64 KB; no body tells more."}
    # OpenAPI knows one answer a status: errors that share one are told apart by their codes.
    by_status: dict[int, list[str]] = {}
    for code in error_codes(operation):
        by_status.setdefault(problem_kinds()[code].status, []).append(code)
    for status, codes in sorted(by_status.items()):
        responses[str(status)] = {
            "description": "; ".join(f"`{code}`: {problem_kinds()[code].title}" for code in codes),
            "headers": _references(_error_headers(status)),
            "content": {PROBLEM_MEDIA_TYPE: _content("Problem", PROBLEM_MEDIA_TYPE, samples)},
        }
    return responses


def _answer_headers(operation: Operation) -> list[str]:
    """Return the names of the headers that an operation's answer may have."""
    names = ["x-request-id"]
    if operation.has_etag or "ETag" in operation.headers:
        names.append("ETag")
    if operation.public:
        return names
    names += ["RateLimit", "RateLimit-Policy", "x-penchant-ignored"]
    if operation.has_source:
        names.append("x-penchant-version")
    if MIN_VERSION in operation.parameters:
        names.append("x-penchant-stale")
    kinds = {
        "x-penchant-deleted": operation.deletes_pieces,
        "x-penchant-audience-version": knows_audience(operation),
        "x-penchant-list": "x-penchant-list" in operation.headers,
        "x-penchant-next": AFTER in operation.parameters or operation.answer == "AuditLog",
        "x-penchant-unreached": "x-penchant-unreached" in operation.headers,
        "x-penchant-unknown-content": operation.answer == "RecordedInteraction",
        "x-penchant-expired": operation.answer == "RecordedInteraction",
        "x-penchant-interactions-version": operation.changes_interactions,
    }
    return [*names, *(name for name, has in kinds.items() if has)]


def knows_audience(operation: Operation) -> bool:
    """Return whether an operation's lists can go by what people like."""
    named = AUDIENCE_VERSION_HEADER in operation.headers
    return named or any(each in operation.parameters for each in (INCLUDE_SEEN, BY, HALF_LIFE))


def _error_headers(status: int) -> list[str]:
    names = ["x-request-id"]
    if status == 401:
        names.append("WWW-Authenticate")
    if status in {429, 503}:
        names.append("Retry-After")
    if status == 429:
        names += ["RateLimit", "RateLimit-Policy", "x-penchant-ignored"]
    return names


def _header(name: str) -> Json:
    kind, description = _HEADERS[name]
    schema: Json = {"type": kind}
    if kind == "integer":
        schema |= {"format": "int64", "minimum": 0}
    return {"description": description, "schema": schema}


def error_codes(operation: Operation) -> list[str]:
    """Return the codes of the errors that an operation may answer, each once, in a fixed order."""
    codes = ["malformed-path", *operation.errors]
    if operation.counted:
        codes.append("quota-exceeded")
    if operation.body is not None:
        codes += BODY_ERRORS
    if operation.stores:
        codes += CHANGE_ERRORS
    if not operation.public:
        codes += _admission_errors(operation)
    elif operation.parameters:
        codes.append("invalid-input")
    # Each code once, in a fixed order: generated clients must not change without need.
    return list(dict.fromkeys(codes))


def _admission_errors(operation: Operation) -> list[str]:
    """Return the codes of the errors that the order of checks has for an operation that needs a key."""
    codes = ["unauthenticated", "rate-exceeded", "invalid-input", "storage-unavailable"]
    if operation.feature is not None or not set(NARROWING).isdisjoint(operation.parameters):
        codes.append("feature-not-in-plan")
    if FILTER in operation.parameters:
        codes.append("invalid-syntax")
    codes.append("origin-not-allowed")
    codes += ["not-an-admin"] if operation.admin else ["not-a-tenant", "outside-scope"]
    if operation.in_browsers and operation.about is not NOBODY:
        codes.append("not-signed")
    if operation.scope is not None and (not operation.in_browsers or AT in operation.parameters):
        codes.append("not-in-browsers")
    if operation.has_source and not operation.creates_source:
        codes.append("unknown-source")
    if MIN_VERSION in operation.parameters:
        codes.append("not-yet-visible")
    return codes


def _references(names: Sequence[str]) -> Json:
    return {name: _reference("headers", name) for name in names}


def _reference(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}


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
