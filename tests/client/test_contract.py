"""The client has what the OpenAPI document has: operations, parameters, members. It fails where the two drift apart."""

import functools
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from types import NoneType
from typing import Any, get_args

import jsonschema
import msgspec
import pytest

import penchant_client as client
from client.parameters import parameters_of
from penchant.settings import NodeSettings
from penchant.web.openapi import samples_of
from penchant.web.parameters import MAX_LISTED_INTERACTIONS
from penchant.web.problems import problem_kinds
from penchant.web.routes import interface_operations
from penchant_client import errors
from penchant_client.flows import MAX_BODY_BYTES, MAX_INTERACTIONS, MAX_PIECES
from penchant_client.methods import Methods
from penchant_client.records import (
    AliasSettings,
    AttributeSettings,
    DraftMembers,
    Interaction,
    InteractionType,
    Likings,
    PageList,
    PersonPreferences,
    Piece,
    Placement,
    PlacementVariant,
    SeenList,
    Texts,
    VocabularySettings,
    WordSettings,
)
from penchant_client.records import Settings as SourceSettings
from penchant_client.requests import Algorithm, Basis, ListingRequest, Pages, Request
from penchant_client.tables import Entries, Library, Record
from penchant_engine.model import Algorithm as ServedAlgorithm
from penchant_engine.model import Basis as ServedBasis
from serving import Service

OPERATIONS = interface_operations()
SAMPLES_OF_ANSWERS = samples_of(OPERATIONS)

BLEND = {"content": 1, "audience": 2, "popularity": 3}
LIST_MEMBERS: dict[str, Any] = {
    "algorithm": "both",
    "blend": BLEND,
    "category_weights": {"g": 2},
    "max_per_value": {"g": 3},
    "diversity": 0.5,
    "calibration": 0.5,
    "calibration_category": "g",
    "rotation": 0.5,
    "exclude_seen": True,
    "half_life_days": 7,
    "catalogs": ["a"],
    "filter": {"key": "language", "any": ["en"]},
    "boosts": [{"key": "language", "any": ["en"], "factor": 2}],
    "pins": [{"id": "c", "position": 1, "from": "2026-01-01T00:00:00Z", "until": "2027-01-01T00:00:00Z"}],
    "quotas": [{"filter": {"key": "language", "any": ["en"]}, "atLeast": 1, "of": 3}],
    "whitelist": ["c"],
    "blacklist": ["d"],
    "content": ["c"],
    "order": "personal",
    "rows": 2,
    "series_category": "g",
    "fallback": "popular",
}
VARIANT = PlacementVariant(name="v", share=0.2, kind="new", **LIST_MEMBERS)
SAMPLES: dict[str, Any] = {
    "source": "s",
    "content_id": "c",
    "user_id": "u",
    "key_id": "k",
    "code": "internal",
    "type": "Click",
    "pieces": [Piece(id="c", label="x", categories={"g": ["k"]}, filters={"catalogs": []}, extras={"x": 1})],
    "interactions": [
        Interaction(
            user_id="u",
            type="Play",
            content_id="c",
            timestamp="2026-01-01T00:00:00Z",
            event_id="e",
            list_id="l",
            value=0.6,
        )
    ],
    "ids": ["c"],
    "user_ids": ["u"],
    "half_life_days": 7,
    "other": "d",
    "piece": Piece(id="c", label="x", categories={"g": ["k"]}, filters={"catalogs": []}, extras={"x": 1}),
    "users": ["u"],
    "whitelist": ["c"],
    "blacklist": ["c"],
    "explain": True,
    "settings": SourceSettings(
        category_weights={"g": 2},
        max_per_value={"g": 3},
        attributes={"year": AttributeSettings(pointer="/year", type="integer")},
        attribution_window_hours=3,
        image_attribute="/poster",
        time_zone="Europe/Berlin",
        public_extras=["poster"],
        public_cards=True,
        words=WordSettings(keep=30),
        four_eyes=True,
        vocabulary=VocabularySettings(aliases=[AliasSettings(sources=["g/a"], target="g/b")], ignore=["g/c"]),
    ),
    "words": "auto",
    "texts": Texts(content=[{"categories": {}}], words=WordSettings()),
    "account": "a",
    "actor": "k",
    "action": "blacklist.add",
    "place": "id",
    "known": "little",
    "before": "2026-01-01T00:00:00Z",
    "plan": "full",
    "admin": False,
    "expires_in_days": 3,
    "scopes": ["read"],
    "origins": ["https://a.example"],
    "requests_per_second": 5,
    "requests_per_month": 1_000,
    "confirm": "s",
    "since": 3,
    "history": "0-0",
    "wait": True,
    "at_least": 3,
    "limit": 3,
    "take": 3,
    "skip": 3,
    "catalogs": ["a", "b"],
    "boost": [{"key": "language", "any": ["en"], "factor": 1.5}],
    "filter": {"must": [{"key": "language", "any": ["en"]}]},
    "algo": "cosine",
    "by": "audience",
    "at": "2026-01-01",
    "include_seen": True,
    "include": ["label"],
    "exclude": ["a"],
    "liked": ["c"],
    "courses": True,
    "source_name": "s",
    "diversity": 0.5,
    "calibration": 0.5,
    "calibration_category": "g",
    "weight": 0.5,
    "category": "g",
    "min_audience_version": 3,
    "preferences": PersonPreferences(
        keywords={"g": {"k": -0.5}}, hidden=["c"], unused_categories=["h"], personal=False
    ),
    "likings": Likings(liked=["a"], liked_keywords={"g": ["k"]}),
    "fill": False,
    "timestamp": "2026-01-01T00:00:00Z",
    "event_id": "e",
    "value": 0.6,
    "list": "l",
    "until": "2026-01-02",
    "base": "a",
    "lists": [SeenList(list_id="l", content=["c"], user_id="u", timestamp="2026-01-01T00:00:00Z")],
    "month": "2026-01",
    "generators": True,
    "name": "p",
    "note": "n",
    "force": True,
    "revision": "2f0c61d5a8b3e947",
    "placement": Placement(
        kind="similar", title="t", purpose="p", experiment="e", auto_stop=True, variants=[VARIANT], **LIST_MEMBERS
    ),
    "version": 3,
    "user": "u",
    "after": "c",
    "variant": "v",
    "content": "c",
    "q": "x",
    "kind": "piece",
    "days": 3,
    "examples": 4,
    "placements": True,
}
"""A value for every parameter that methods have, by its name."""
OWN_SAMPLES: dict[str, dict[str, Any]] = {
    "put_draft": {
        "edits": DraftMembers(
            title="t",
            note="n",
            placements={"p": None},
            settings=SourceSettings(),
            blacklist=["a"],
            whitelist=["b"],
            content=[Piece(id="c", categories={})],
        )
    },
    "draft_effect": {"wish": {"users": ["u"], "pieces": ["c"], "take": 3, "most": 5, "reach": False}},
    "schedule_draft": {"at": "2027-01-01T00:00:00Z"},
    "page_lists": {"lists": [PageList(placement="p", content="c", take=3, after="c")]},
    "preview_settings": {"pieces": ["c"]},
    "record_frame": {
        "frame": [{"u": 1, "t": "Watch", "c": "a", "at": "2026-01-01T00:00:00Z", "e": 1, "l": "l", "v": 0.5}],
        "user_id": "u",
        "type": "t",
        "content_id": "c",
        "timestamp": "at",
        "event_id": "e",
        "list_id": "l",
        "value": "v",
    },
    "submit_frame": {
        "frame": [{"i": 1, "l": "x", "g": ["k"], "w": [80], "c": "a", "x": 1}],
        "id": "i",
        "label": "l",
        "categories": {"g": "g"},
        "weights": {"g": "w"},
        "catalogs": "c",
        "extras": ["x"],
    },
}
"""Other values, where methods mean different things by a name."""
BODY_INSTEAD = {("deleteContent", "id")}
"""Parameters that the client has no use for: ids to delete go in the body, where there may be any number."""
NEVER_TOLD = {("preview_settings", "why"), ("draft_effect.pieces", "why"), ("draft_effect.users", "why")}
"""Members that an answer has by the document, which has one schema for entries with and without reasons."""
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
PAGES = re.compile(r"/-/dashboard")
"""What is for people with a browser."""


@functools.cache
def requests() -> dict[str, Request[Any]]:
    """Return the request that each method sends first, with a value for every parameter that it has."""
    return {name: _request(name, build) for name, build in inspect.getmembers(Methods, inspect.isfunction)}


def _request(method: str, build: Callable[..., Any]) -> Request[Any]:
    samples = SAMPLES | OWN_SAMPLES.get(method, {})
    made = build(**{name: samples[name] for name in parameters_of(build)})
    if isinstance(made, ListingRequest):
        made = made.request
    if isinstance(made, Pages):
        made = made.page(None)
    return made if isinstance(made, Request) else next(made)


def snake(name: str) -> str:
    """Return the name of the method that the client has for an operation."""
    return re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name)


@pytest.fixture
def document(service: Service) -> dict[str, Any]:
    return dict(service.client.get("/-/openapi.json").json())


@pytest.fixture
def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The operations by the method that the client has for each."""
    return {
        snake(described["operationId"]): {
            **described,
            "method": method.upper(),
            "path": path,
        }
        for path, methods in document["paths"].items()
        for method, described in methods.items()
        if not PAGES.match(path)
    }


@pytest.mark.slow
def test_every_operation_has_a_method_of_its_name(operations: dict[str, Any]) -> None:
    sent = {name: (request.method, request.template) for name, request in requests().items()}
    described = {name: (operation["method"], operation["path"]) for name, operation in operations.items()}

    assert {name: sent.get(name) for name in described} == described
    assert set(sent.values()) == set(described.values())


def test_every_parameter_can_be_given(operations: dict[str, Any]) -> None:
    for name, operation in operations.items():
        described = {
            (parameter["in"], parameter["name"])
            for parameter in operation["parameters"]
            if not parameter.get("deprecated")
            and parameter["name"] != "If-None-Match"
            and (operation["operationId"], parameter["name"]) not in BODY_INSTEAD
        }
        request = requests()[name]

        given = {("query", key.removesuffix("[]")) for key, _ in request.query}
        given |= {("path", place) for place in request.places}
        given |= {("header", header) for header in request.headers}
        if request.reads:
            given |= {("query", "min-version"), ("header", "x-penchant-min-version")}
        assert given == described, name


def test_every_body_has_all_members(operations: dict[str, Any], document: dict[str, Any]) -> None:
    for name, operation in operations.items():
        body = requests()[name].body
        assert (body is not None) == ("requestBody" in operation), name
        if body is None:
            continue
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        jsonschema.Draft202012Validator(schema | {"components": document["components"]}).validate(json.loads(body))
        assert set(_first(json.loads(body))) == set(_first_schema(schema, document).get("properties", ())), name


def _first(body: Any) -> Any:
    if isinstance(body, list):
        return body[0] if isinstance(body[0], dict) else ()
    return body


def _first_schema(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    schema = resolved(schema, document)
    return resolved(schema["items"], document) if schema["type"] == "array" else schema


@pytest.mark.slow
def test_every_member_of_an_answer_is_read(operations: dict[str, Any], document: dict[str, Any]) -> None:
    for name, operation in operations.items():
        answer = requests()[name].decoded
        if requests()[name].lines:
            continue  # OpenAPI has no words for lines
        ((_, promised),) = [each for each in operation["responses"].items() if each[0].startswith("2")]
        schema = next(content["schema"] for content in promised["content"].values())
        if answer is NoneType:
            assert resolved(schema, document) == {"type": "array", "maxItems": 0, "items": {"type": "string"}}, name
        elif answer is str:
            assert resolved(schema, document) == {"type": "string"}, name
        else:
            ours = msgspec.json.schema(answer)
            # Members that are of any kind refer to schemas of the document.
            ours["components"] = document["components"]
            compare(ours, schema, functools.partial(resolved, document=ours), document, name)


def resolved(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema without references, and without the null that it allows."""
    while "$ref" in schema:
        found: Any = document
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        schema = found
    kinds = [each for each in schema.get("anyOf", schema.get("oneOf", ())) if each.get("type") != "null"]
    return resolved(kinds[0], document) if len(kinds) == 1 else schema


def compare(
    ours: Mapping[str, Any],
    theirs: Mapping[str, Any],
    resolve: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    document: Mapping[str, Any],
    where: str,
) -> None:
    """Compare the names of all members; an object of ours without names takes any."""
    ours, theirs = resolve(ours), resolved(theirs, document)
    if "properties" in ours and "anyOf" in theirs:
        kinds = [resolved(kind, document) for kind in theirs["anyOf"]]
        (theirs,) = (kind for kind in kinds if set(kind["properties"]) == set(ours["properties"]))
    assert ours.get("type", "any") == theirs.get("type", "any") or "properties" not in theirs, where
    if "properties" in ours:
        never = {member for method, member in NEVER_TOLD if where.startswith(method)}
        assert set(ours["properties"]) == set(theirs["properties"]) - never, where
        assert set(ours.get("required", ())) <= set(theirs.get("required", ())), where
        for name, member in ours["properties"].items():
            compare(member, theirs["properties"][name], resolve, document, f"{where}.{name}")
    elif ours.get("type") == "array":
        compare(ours["items"], theirs["items"], resolve, document, f"{where}[]")


def answers() -> Iterator[tuple[str, Any, bytes]]:
    """Yield for each operation that answers a record its name, what the client reads of a sample, and the sample."""
    for operation in OPERATIONS:
        request = requests()[snake(operation.name)]
        sample = SAMPLES_OF_ANSWERS.get(operation.answer or "")
        if sample is None or request.answer in {str, NoneType} or request.lines:
            continue
        body = msgspec.json.encode(sample)
        yield operation.name, request.read(body), body


def test_every_answer_is_read_as_it_is_sent() -> None:
    for name, answer, body in answers():
        assert is_said(json.loads(body), json.loads(msgspec.json.encode(answer))), name


def is_said(sent: Any, read: Any) -> bool:
    """Return whether all that was sent was read; either side may leave out what is empty."""
    if isinstance(sent, dict):
        return all(is_said(value, read.get(name, type(value)())) for name, value in sent.items() if value is not None)
    if isinstance(sent, list):
        return len(sent) == len(read) and all(map(is_said, sent, read))
    if isinstance(sent, str) and TIME.fullmatch(sent):
        return datetime.fromisoformat(sent) == datetime.fromisoformat(read)
    return bool(sent == read)


@pytest.mark.slow
@pytest.mark.parametrize("library", get_args(Library))
def test_every_answer_becomes_a_frame(library: Library) -> None:
    for name, answer, _ in answers():
        entries = answer if isinstance(answer, Record | Entries) else Entries(answer)
        assert entries.to_frame(library).shape[1] > 0, name


def test_every_error_has_a_class_of_its_own() -> None:
    assert set(errors.BY_CODE) == set(problem_kinds())
    assert {each.__name__ for each in errors.BY_CODE.values()} <= set(client.__all__)


def test_words_and_limits_are_those_of_the_service(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]

    assert list(InteractionType) == schemas["InteractionInput"]["properties"]["type"]["enum"]
    assert set(get_args(Algorithm)) == {algorithm.value for algorithm in ServedAlgorithm}
    assert set(get_args(Basis)) == {basis.value for basis in ServedBasis}
    assert schemas["Submission"]["maxItems"] == MAX_PIECES
    assert schemas["InteractionArray"]["maxItems"] == MAX_INTERACTIONS
    assert requests()["iterate_interactions"].query[-1] == ("limit", str(MAX_LISTED_INTERACTIONS))
    assert NodeSettings().interactions_limit_bytes >= 2 * MAX_BODY_BYTES


def test_settings_of_the_client_begin_where_those_of_a_source_do(service: Service) -> None:
    service.submit("s")

    assert json.loads(msgspec.json.encode(SourceSettings())) == service.get("/s/settings").json()
