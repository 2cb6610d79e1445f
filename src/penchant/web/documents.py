"""What does the service say about itself? The OpenAPI 3.1 document, from the routing table, and the site beside it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from penchant import __version__
from penchant.web.operations import MIN_VERSION_HEADER, Answer, Call, Handler, Operation
from penchant.web.parameters import MIN_VERSION, Parameter
from penchant.web.problems import KINDS, PROBLEM_MEDIA_TYPE
from penchant.web.site import Site, site_operation
from penchant.wire import components, encode

_DESCRIPTIONS = {200: "Done.", 201: "Made.", 202: "Accepted and stored."}
_PATH_TEXTS = {
    "source": "The source: a catalogue of the key's account.",
    "contentID": "The id of a piece; percent-encoded once (`/` as `%2F`).",
    "other": "The id of any other piece; percent-encoded once.",
    "userID": "The id of a person; percent-encoded once.",
    "type": "One of Click, Play, Watch, Bookmark, Preview, Purchase, RateLike, RateDislike.",
    "code": "The code of an error.",
    "keyID": "The id of a key, the part between its underscores.",
    "page": "The name of a page, as the navigation links to it.",
}
_KEY_ERRORS = ("unauthenticated", "rate-exceeded")


def openapi(operations: Sequence[Operation], base_path: str) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of these operations."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe(operation)
    return {
        "openapi": "3.1.1",
        "info": {
            "title": "penchant",
            "version": __version__,
            "description": "Content recommendations: similar pieces, personal lists, taste profiles. "
            "GET addresses answer HEAD too.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_path or "/"}],
        "paths": paths,
        "components": {
            "schemas": dict(components()) | _own_schemas(),
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "x-api-key"}},
        },
    }


def _own_schemas() -> dict[str, Any]:
    interaction = {"$ref": "#/components/schemas/InteractionAnswer"}
    return {
        "Submission": {
            "type": "array",
            "maxItems": 2000,
            "items": {"$ref": "#/components/schemas/SubmittedPiece"},
        },
        "EmptyArray": {"type": "array", "maxItems": 0},
        "IdArray": {"type": "array", "items": {"type": "string"}},
        "AskedIds": {"type": "array", "maxItems": 100, "items": {"type": "string", "minLength": 1, "maxLength": 500}},
        "SimilarEntries": {"type": "array", "items": {"$ref": "#/components/schemas/SimilarEntry"}},
        "InteractionList": {"type": "array", "items": interaction},
        "InteractionArray": {
            "type": "array",
            "maxItems": 10000,
            "items": {"$ref": "#/components/schemas/InteractionInput"},
        },
        "ProfileList": {"type": "array", "items": {"$ref": "#/components/schemas/Profile"}},
        "Health": {"type": "object", "properties": {"status": {"const": "ok"}}, "required": ["status"]},
        "OpenApi": {"type": "object"},
        "Text": {"type": "string"},
    }


def _describe(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag],
        "parameters": _path_parameters(operation.path) + _query_parameters(operation),
        "responses": _responses(operation),
        "security": [] if operation.public else [{"key": []}],
    }
    if operation.body is not None:
        schema = {"schema": _reference(operation.body)}
        types = operation.media_types or ("application/json",)
        described["requestBody"] = {
            "required": not operation.optional_body,
            "content": dict.fromkeys(types, schema),
        }
    if operation.admin:
        described["description"] = "Needs a key with the admin role."
    if operation.feature is not None:
        described["description"] = f"Needs the plan feature `{operation.feature.value}`."
    return described


def _path_parameters(path: str) -> list[dict[str, Any]]:
    names = [segment[1:-1] for segment in path.split("/") if segment.startswith("{")]
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _PATH_TEXTS[name],
            "schema": {"type": "string", "minLength": 1, "maxLength": 200 if name == "source" else 500},
        }
        for name in names
    ]


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    described = [_query_parameter(parameter) for parameter in operation.parameters]
    if operation.name == "deleteContent":
        ids = {"type": "array", "items": {"type": "string", "minLength": 1}}
        described.append({"name": "id", "in": "query", "description": "Ids to delete.", "schema": ids})
    if MIN_VERSION in operation.parameters:
        described.append(
            {
                "name": MIN_VERSION_HEADER,
                "in": "header",
                "description": MIN_VERSION.description,
                "schema": dict(MIN_VERSION.schema),
            }
        )
    return described


def _query_parameter(parameter: Parameter) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": parameter.name,
        "in": "query",
        "description": parameter.description,
        "schema": dict(parameter.schema),
    }
    if parameter.schema["type"] == "array":
        described |= {"style": "form", "explode": False}
    if parameter.deprecated:
        described["deprecated"] = True
    return described


def _responses(operation: Operation) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": _DESCRIPTIONS[operation.status]}
    if operation.answer is not None:
        answer["content"] = {operation.answer_media_type: {"schema": _reference(operation.answer)}}
    if not operation.public and not operation.admin:
        answer["headers"] = {
            "x-penchant-version": {
                "description": "The version of the source that was read, or that the change made.",
                "schema": {"type": "integer"},
            }
        }
    responses = {str(operation.status): answer}
    by_status: dict[int, list[str]] = {}
    for code in _error_codes(operation):
        by_status.setdefault(KINDS[code].status, []).append(code)
    for status, codes in sorted(by_status.items()):
        responses[str(status)] = {
            "description": "; ".join(f"`{code}`: {KINDS[code].title}" for code in codes),
            "content": {PROBLEM_MEDIA_TYPE: {"schema": _reference("Problem")}},
        }
    return responses


def _error_codes(operation: Operation) -> list[str]:
    codes = ["malformed-path", *operation.errors]
    if not operation.public:
        codes += _KEY_ERRORS
        codes += ["invalid-input", "storage-unavailable"]
        if operation.feature is not None or any(p.name == "catalogs" for p in operation.parameters):
            codes.append("feature-not-in-plan")
        codes.append("not-an-admin" if operation.admin else "not-a-tenant")
        if not operation.creates_source and not operation.admin:
            codes.append("unknown-source")
        if MIN_VERSION in operation.parameters:
            codes.append("not-yet-visible")
    return list(dict.fromkeys(codes))


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def document_operations(operations: Sequence[Operation], base_path: str) -> tuple[Operation, ...]:
    """Return the operations that answer the OpenAPI document and the site, themselves included in both."""
    document: dict[str, Any] = {}
    site = Site(document, base_path)
    made = (
        Operation(
            method="GET",
            path="/-/openapi.json",
            name="openapi",
            summary="This interface as an OpenAPI 3.1 document.",
            handler=_unset,
            tag="service",
            public=True,
            answer="OpenApi",
        ),
        site_operation(site, "docs", "/-/docs", "The documents and this reference, as pages."),
        site_operation(site, "docsPage", "/-/docs/{page}", "A page of the documents; `search?q=` searches them."),
    )
    document |= openapi((*operations, *made), base_path)
    return (replace(made[0], handler=_fixed(Answer(body=encode(document)))), *made[1:])


async def _unset(_call: Call) -> Answer:
    raise NotImplementedError


def _fixed(answer: Answer) -> Handler:
    async def handler(_call: Call) -> Answer:
        return answer

    return handler
