"""The OpenAPI document says what the service does."""

from typing import Any

import jsonschema
import pytest
from openapi_spec_validator import validate

from conftest import Service
from factories import piece, weighted
from penchant.web.routes import OPERATIONS


@pytest.fixture
def document(service: Service) -> dict[str, Any]:
    return dict(service.client.get("/-/openapi.json").json())


def test_the_document_is_valid_and_complete(document: dict[str, Any]) -> None:
    validate(document)

    assert document["openapi"].startswith("3.1")
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert {(operation.method, operation.path) for operation in OPERATIONS} < described
    assert ("GET", "/-/openapi.json") in described


@pytest.mark.parametrize(
    ("method", "template", "path", "options"),
    (
        ("POST", "/{source}/content", "/s/content", {"json": [piece("x", "k")]}),
        ("GET", "/{source}/content", "/s/content", {}),
        ("DELETE", "/{source}/content", "/s/content?id=zz", {}),
        ("GET", "/{source}/ids", "/s/ids", {}),
        ("GET", "/{source}/content/{contentID}", "/s/content/a", {}),
        ("GET", "/{source}/content/{contentID}/similar", "/s/content/a/similar", {}),
        ("GET", "/{source}/users/{userID}/recommendation", "/s/users/u/recommendation", {}),
        ("GET", "/{source}/users/{userID}/recommendation/profile", "/s/users/u/recommendation/profile", {}),
        (
            "POST",
            "/{source}/users/{userID}/interactions/{type}/content/{contentID}",
            "/s/users/u/interactions/Play/content/b",
            {},
        ),
        ("GET", "/{source}/users/{userID}/interactions", "/s/users/u/interactions", {}),
        ("POST", "/{source}/interactions", "/s/interactions", {"json": []}),
        ("GET", "/{source}/users/{userID}/export", "/s/users/u/export", {}),
        ("PUT", "/{source}/whitelist", "/s/whitelist", {"json": ["a"]}),
        ("GET", "/{source}/settings", "/s/settings", {}),
        ("PUT", "/{source}/settings", "/s/settings", {"json": {"halfLifeDays": 5}}),
        ("GET", "/{source}", "/s", {}),
        ("GET", "/-/health/ready", "/-/health/ready", {}),
        ("GET", "/{source}/content/{contentID}/similar", "/s/content/a/similar?explain=true", {}),
        ("GET", "/{source}/users/{userID}/recommendation", "/s/users/u/recommendation?explain=true", {}),
        ("GET", "/{source}/content/{contentID}/why/{other}", "/s/content/a/why/c", {}),
        ("GET", "/{source}/content/{contentID}/why/{other}", "/s/content/a/why/no", {}),
        ("GET", "/{source}/users/{userID}/why/{contentID}", "/s/users/u/why/a", {}),
        ("POST", "/{source}/similar", "/s/similar", {"json": ["a", "no"]}),
        ("POST", "/{source}/similar", "/s/similar?explain=true", {"json": ["a"]}),
        ("POST", "/{source}/preview/similar", "/s/preview/similar", {"json": piece("x", "x")}),
        (
            "POST",
            "/{source}/preview/settings",
            "/s/preview/settings",
            {"json": {"pieces": ["a"], "users": ["u"], "blacklist": ["c"]}},
        ),
        ("PUT", "/{source}/settings", "/s/settings", {"json": {"no": 1}}),
        ("GET", "/{source}/content/{contentID}", "/s/content/missing", {}),
    ),
)
def test_answers_are_of_the_form_that_is_promised(
    service: Service, document: dict[str, Any], method: str, template: str, path: str, options: dict[str, Any]
) -> None:
    service.submit("s", weighted("a", x=1), piece("b", "x"), weighted("c", x=2, y=1))
    service.post("/s/users/u/interactions/Watch/content/a")

    answer = service.request(method, path, **options)

    promised = document["paths"][template][method.lower()]["responses"][str(answer.status_code)]
    media_type = answer.headers["content-type"].partition(";")[0]
    schema = promised["content"][media_type]["schema"] | {"components": document["components"]}
    jsonschema.Draft202012Validator(schema).validate(answer.json())


def test_every_error_that_an_operation_names_has_a_status(document: dict[str, Any]) -> None:
    for methods in document["paths"].values():
        for described in methods.values():
            assert described["responses"]
            assert all("description" in answer for answer in described["responses"].values())
