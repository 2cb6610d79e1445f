"""The OpenAPI document says what the service does."""

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from openapi_spec_validator import validate

from factories import piece, weighted
from penchant.web.routes import interface_operations
from serving import Service

OPERATIONS = interface_operations()


@pytest.fixture
def document(service: Service) -> dict[str, Any]:
    return dict(service.client.get("/-/openapi.json").json())


@pytest.mark.slow
def test_the_document_is_valid_and_complete(document: dict[str, Any]) -> None:
    validate(document)

    assert document["openapi"].startswith("3.1")
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert {(operation.method, operation.path) for operation in OPERATIONS} < described
    assert ("GET", "/-/openapi.json") in described


def described(document: dict[str, Any], method: str, path: str) -> dict[str, Any]:
    """Return what a document says of the operation that a path leads to: it has the most words in common."""
    parts = path.partition("?")[0].split("/")
    fitting = [
        (sum(map(str.__eq__, parts, names)), template)
        for template in document["paths"]
        if len(names := template.split("/")) == len(parts)
        and all("{" in name or name == part for name, part in zip(names, parts, strict=True))
    ]
    return dict(document["paths"][max(fitting)[1]][method.lower()])


def conforms(document: dict[str, Any], answer: Any) -> bool:
    """Return whether an answer has the form that a document promises."""
    request = answer.request
    promised = described(document, request.method, request.url.path)["responses"][str(answer.status_code)]
    media_type = answer.headers["content-type"].partition(";")[0]
    schema = promised["content"][media_type]["schema"] | {"components": document["components"]}
    jsonschema.Draft202012Validator(schema).validate(answer.json())
    return True


ASKED: tuple[tuple[str, Any], ...] = (
    ("POST /s/content", [piece("x", "k")]),
    ("GET /s/content", None),
    ("DELETE /s/content?id=zz", None),
    ("GET /s/ids", None),
    ("GET /s/content/a", None),
    ("GET /s/content/missing", None),
    ("GET /s/content/a/similar", None),
    ("GET /s/content/a/similar?explain=true", None),
    ("GET /s/content/a/why/c", None),
    ("GET /s/content/a/why/no", None),
    ("GET /s/users/u/recommendation", None),
    ("GET /s/users/u/recommendation?explain=true", None),
    ("GET /s/users/u/recommendation/profile", None),
    ("GET /s/users/u/why/a", None),
    ("POST /s/users/u/interactions/Play/content/b", None),
    ("GET /s/users/u/interactions", None),
    ("POST /s/interactions", []),
    ("GET /s/users/u/export", None),
    ("PUT /s/whitelist", ["a"]),
    ("GET /s/settings", None),
    ("PUT /s/settings", {"halfLifeDays": 5}),
    ("PUT /s/settings", {"no": 1}),
    ("GET /s", None),
    ("GET /-/health/ready", None),
    ("POST /s/similar", ["a", "no"]),
    ("POST /s/similar?explain=true", ["a"]),
    ("POST /s/preview/similar", piece("x", "x")),
    ("POST /s/preview/settings", {"pieces": ["a"], "users": ["u"], "blacklist": ["c"]}),
)


@pytest.mark.slow
def test_answers_are_of_the_form_that_is_promised(service: Service, document: dict[str, Any]) -> None:
    service.submit("s", weighted("a", x=1), piece("b", "x"), weighted("c", x=2, y=1))
    service.post("/s/users/u/interactions/Watch/content/a")

    for request_line, body in ASKED:
        method, _, path = request_line.partition(" ")
        assert conforms(document, service.request(method, path, **({} if body is None else {"json": body})))


def test_every_error_that_an_operation_names_has_a_status(document: dict[str, Any]) -> None:
    for methods in document["paths"].values():
        for described in methods.values():
            assert described["responses"]
            assert all("description" in answer for answer in described["responses"].values())


@pytest.fixture
def generators(service: Service) -> dict[str, Any]:
    return dict(service.client.get("/-/openapi.json?for=generators").json())


def parts(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a document but its samples."""
    if isinstance(value, dict):
        yield value
        for name, item in value.items():
            if name not in {"example", "default"}:
                yield from parts(item)
    elif isinstance(value, list):
        for item in value:
            yield from parts(item)


def described_operations(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [described for methods in document["paths"].values() for described in methods.values()]


@pytest.mark.slow
def test_the_form_for_generators_is_valid_and_has_the_same_operations(
    document: dict[str, Any], generators: dict[str, Any]
) -> None:
    validate(generators)

    assert generators["openapi"] == "3.0.3"
    assert {path: list(methods) for path, methods in generators["paths"].items()} == {
        path: list(methods) for path, methods in document["paths"].items()
    }
    assert generators["components"]["schemas"].keys() == document["components"]["schemas"].keys() - {"Keyword"}
    value = generators["components"]["schemas"]["Categories"]["additionalProperties"]
    assert list(value) == ["description"]


def test_the_form_for_generators_has_no_word_of_3_1(generators: dict[str, Any]) -> None:
    for part in parts(generators):
        assert not isinstance(part.get("type"), list)
        assert part.get("type") != "null"
        assert "const" not in part
        assert "application/x-ndjson" not in part or list(part) == ["application/x-ndjson"]
        assert "propertyNames" not in part


def test_no_default_overrules_a_name_that_is_meant(document: dict[str, Any]) -> None:
    # Some generated clients send every default: that of `limit` would win over a `take`.
    for described in described_operations(document):
        schemas = {parameter["name"]: parameter["schema"] for parameter in described["parameters"]}
        if "take" in schemas:
            assert "default" not in schemas["limit"]


def test_versions_are_as_long_in_requests_as_in_answers(document: dict[str, Any]) -> None:
    for described in described_operations(document):
        for parameter in described["parameters"]:
            if "version" in parameter["name"] or parameter["name"] == "since":
                assert parameter["schema"]["format"] == "int64"


def test_another_form_is_refused(service: Service) -> None:
    assert service.client.get("/-/openapi.json?for=people").status_code == 422


def test_an_operation_that_takes_a_query_says_that_it_may_not_be_acceptable(document: dict[str, Any]) -> None:
    silent = [
        (method, path)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if any(each.get("in") == "query" for each in operation.get("parameters", ()))
        and "422" not in operation["responses"]
    ]

    assert silent == []


def test_every_array_and_object_and_number_is_said_in_full(
    document: dict[str, Any], generators: dict[str, Any]
) -> None:
    for part in (*parts(document["components"]["schemas"]), *parts(generators["components"]["schemas"])):
        kind = part.get("type", ())
        kinds = [kind] if isinstance(kind, str) else kind
        assert "array" not in kinds or "items" in part, part
        assert "object" not in kinds or "additionalProperties" in part or "allOf" in part, part
        assert not {"number", "integer"} & set(kinds) or part["format"] in {"double", "int32", "int64"}, part


def test_what_may_grow_is_open_and_what_is_checked_is_closed(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]

    assert all(schemas[name]["additionalProperties"] is True for name in ("Filters", "Piece", "Receipt", "Problem"))
    assert schemas["SubmittedPiece"]["properties"]["extras"]["additionalProperties"] is True
    assert all(schemas[name]["additionalProperties"] is False for name in ("Settings", "KeyWish", "Likings"))


def test_times_have_their_format(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]

    assert schemas["InteractionAnswer"]["properties"]["timestamp"]["format"] == "date-time"
    assert schemas["SourceStatus"]["properties"]["createdAt"]["format"] == "date-time"
    assert {"type": "string", "format": "date-time"} in schemas["KeyAnswer"]["properties"]["expiresAt"]["anyOf"]
    assert schemas["InteractionInput"]["properties"]["timestamp"]["format"] == "date-time"


def test_no_two_names_collide_in_generated_code(document: dict[str, Any]) -> None:
    names = set(document["components"]["schemas"])
    assert not {f"New{name}" for name in names} & names  # Go's constructors are called so

    ids = [described["operationId"] for described in described_operations(document)]
    assert len({name.lower() for name in ids}) == len(ids)


def test_every_operation_is_described_with_a_tag_that_is_described_too(document: dict[str, Any]) -> None:
    tags = {tag["name"] for tag in document["tags"] if tag["description"]}

    for described in described_operations(document):
        assert len(described["description"]) > 15, described["operationId"]
        assert "](" not in described["description"]
        assert set(described["tags"]) <= tags
    assert {tag for described in described_operations(document) for tag in described["tags"]} == tags


def test_every_body_and_answer_has_a_sample_of_its_schema(document: dict[str, Any]) -> None:
    for described in described_operations(document):
        bodies = [described.get("requestBody", {}), *described["responses"].values()]
        for media_type, content in (pair for body in bodies for pair in body.get("content", {}).items()):
            if media_type not in {"application/x-ndjson", "application/ndjson", "application/jsonl"}:
                schema = content["schema"] | {"components": document["components"]}
                checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
                jsonschema.Draft202012Validator(schema, format_checker=checker).validate(content["example"])


def test_list_parameters_are_repeated(document: dict[str, Any], generators: dict[str, Any]) -> None:
    for form in (document, generators):
        lists = [
            parameter
            for described in described_operations(form)
            for parameter in described["parameters"]
            if parameter["schema"].get("type") == "array"
        ]
        assert {parameter["name"] for parameter in lists} == {"catalogs", "exclude", "id", "include"}
        assert all(parameter["explode"] is True for parameter in lists)


def test_types_and_algorithms_are_listed_wherever_they_are_parameters(document: dict[str, Any]) -> None:
    named = [parameter for described in described_operations(document) for parameter in described["parameters"]]

    types = [parameter["schema"]["enum"] for parameter in named if parameter["name"] == "type"]
    assert len(types) == 4
    assert types[0] == types[1] == document["components"]["schemas"]["InteractionInput"]["properties"]["type"]["enum"]
    algorithms = [parameter["schema"]["enum"] for parameter in named if parameter["name"] == "algo"]
    assert all(each == ["jaccard", "jaccard index", "cosine", "cosine similarity"] for each in algorithms)


WITH_HEADERS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("GET", "/s/content/a/similar?x=1", {}),
    ("GET", "/s/ids", {"headers": {"accept": "application/x-ndjson"}}),
    ("GET", "/s/content/a", {"headers": {"if-none-match": "*"}}),
    ("GET", "/s/content/a", {"key": "pk_no"}),
    ("GET", "/s/users/u/recommendation", {}),
    ("GET", "/s", {"headers": {"x-penchant-min-version": "999"}}),
    ("GET", "/-/health/live", {}),
    ("DELETE", "/s/content/a", {}),
)


def test_headers_and_media_types_of_answers_are_described(service: Service, document: dict[str, Any]) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    usual = {"content-length", "content-type", "cache-control", "vary", "content-encoding"}
    # What every HTTP server adds, and the tests in process have not.
    usual |= {"date", "server", "transfer-encoding"}

    for method, path, options in WITH_HEADERS:
        answer = service.request(method, path, **options)

        promised = described(document, method, path)["responses"][str(answer.status_code)]
        assert {name.lower() for name in answer.headers} - usual <= {name.lower() for name in promised["headers"]}, path
        if answer.status_code != 304:
            assert answer.headers["content-type"].partition(";")[0] in promised["content"], path
