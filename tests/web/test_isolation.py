"""A foreign source is answered as one that does not exist, byte for byte: by every operation, to every kind of key."""

import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest

from factories import piece
from penchant.model import Scope
from penchant.service import rates
from penchant.web.openapi import samples_of
from penchant.web.operations import Operation
from penchant.web.routes import interface_operations
from penchant.wire import encode, sign_user
from penchant.wire.recording import LIST_ID
from serving import Service
from shown import list_id

OPERATIONS = interface_operations()
SAMPLES = samples_of(OPERATIONS)

pytestmark = pytest.mark.usefixtures("fresh")  # what fails here is not to slow down others

TENANT = [operation for operation in OPERATIONS if "{source}" in operation.path]
SHOP = "https://shop.example"
PATH = {"contentID": "alien", "other": "gravity", "userID": "kim", "type": "Click", "name": "home"}
OF_THE_REQUEST = frozenset({"x-request-id", "date"})
"""Headers that differ between any two answers."""

Headers = dict[str, str]

OF_PAGE: dict[str, Any] = {"origins": [SHOP]}
KINDS: dict[str, dict[str, Any]] = {
    "full": {},
    "admin": {"admin": True},
    "browser": OF_PAGE,
    "unsigned": OF_PAGE,
    "none": {},
    "wrong": {},
    **{f"scope {scope.value}": {"scopes": [scope]} for scope in Scope},
}
"""What keys of each kind are limited to."""


def headers_of(kind: str, service: Service, account: str) -> Headers:
    """Return what requests with a new key carry; a page's are for the person whom its server has signed."""
    key = service.new_key(account=account, **KINDS[kind])
    headers = {} if kind == "none" else {"x-api-key": key[:-1] + "!" if kind == "wrong" else key}
    if "origins" in KINDS[kind]:
        headers["origin"] = SHOP
    if kind == "browser":
        secret = service.new_secret(account=account)
        headers["x-penchant-user"] = sign_user("kim", secret, int(time.time()) + 3_600)
    return headers


@pytest.fixture(autouse=True)
def prompt_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let wrong keys be refused at once, however many come from one address."""
    monkeypatch.setattr(rates, "FREE_FAILURES", 1_000_000)


@pytest.fixture
def foreign(service: Service) -> Service:
    """The service with a source "mine" of which there is something to tell, and nothing called "none"."""
    service.submit("mine", piece("alien", "x", "y"), piece("gravity", "x", "z"), piece("solaris", "y", "z"))
    assert service.post("/mine/users/kim/interactions/Click/content/alien").status_code == 200
    assert service.put("/mine/whitelist", json=["gravity"]).status_code == 200
    assert service.put("/mine/settings", json={"halfLifeDays": 7}).status_code == 200
    for kind in ("popular", "new"):
        assert service.put("/mine/placements/home", json={"kind": kind}).status_code == 200
    return service


def requests_of(operation: Operation) -> Iterator[dict[str, Any]]:
    """Yield what an operation is asked with: nothing, and the body of its documentation."""
    query = {"listSegments": {"category": "genre"}, "search": {"q": "gravity"}}.get(operation.name, {})
    yield {"params": query} if query else {}
    if operation.body is not None:
        yield {"content": encode(SAMPLES[operation.body]), "headers": {"content-type": "application/json"}}


def told(service: Service, operation: Operation, source: str, headers: Headers, asked: dict[str, Any]) -> Any:
    """Return all that an answer tells: status, headers and body."""
    path = operation.path.format_map(PATH | {"source": source})
    if not asked and "confirm" in {each.name for each in operation.parameters}:
        path += f"?confirm={source}"
    options = asked | {"headers": headers | asked.get("headers", {})}
    if LIST_ID.encode() in options.get("content", b""):
        # The documentation's list is none of any source: asked for is one that there is.
        made = list_id(service, source="mine", pieces=("alien", "gravity"))
        options["content"] = options["content"].replace(LIST_ID.encode(), made.encode())
    answer = service.client.request(operation.method, path, **options)
    shown = sorted((name, value) for name, value in answer.headers.items() if name not in OF_THE_REQUEST)
    return answer.status_code, shown, answer.content.replace(source.encode(), b"SOURCE")


def owned(service: Service) -> list[bytes]:
    """Return what the owner reads of the source."""
    paths = ["content", "ids", "whitelist", "blacklist", "settings", "users/kim/export", "content/alien/similar"]
    paths += ["placements", "placements/home/versions"]
    return [service.get(f"/mine/{path}").content for path in paths] + [service.get("/mine").content]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_foreign_source_is_answered_as_a_missing_one(foreign: Service, kind: str) -> None:
    before, usual = owned(foreign), headers_of(kind, foreign, "other")
    numbers = itertools.count()

    def headers(operation: Operation) -> Headers:
        # Of an account of its own where something is created, which is not there for others, or counted of a rate.
        is_alone = operation.creates_source or "origins" in KINDS[kind]
        return headers_of(kind, foreign, f"other-{next(numbers)}") if is_alone else usual

    for operation in TENANT:
        for asked in requests_of(operation):
            found, missing = (
                told(foreign, operation, source, headers(operation), asked) for source in ("mine", "none")
            )
            assert found == missing, operation.name
            assert found[0] < 500, operation.name

    assert owned(foreign) == before


@pytest.mark.slow
def test_its_owner_is_answered_by_every_operation(foreign: Service) -> None:
    key = {"x-api-key": foreign.key}

    # What is deleted goes last, and the source itself after all else.
    for operation in sorted(TENANT, key=lambda each: (each.method == "DELETE", each.path == "/{source}")):
        if operation.name in {"getDraft", "acceptDraft", "scheduleDraft", "publishDraft", "deleteDraft"}:
            # None is there before, and what was sent back or published is to be edited anew.
            assert foreign.put("/mine/drafts/home", json={"blacklist": ["alien"]}).status_code == 200
        if operation.name == "acceptDraft":
            assert foreign.post("/mine/drafts/home/propose", json={}).status_code == 200
        *_, asked = requests_of(operation)
        assert told(foreign, operation, "mine", key, asked)[0] < 300, operation.name
