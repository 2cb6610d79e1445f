"""Asks the service what a test asks it through the client, wherever the client has words for it.

What it has no words for (malformed paths, wrong types of content, conditions) is sent as it is. Of everything else
the answer as the client reads it must be the one that was sent.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx
import msgspec
from starlette.testclient import TestClient

from penchant.settings import NodeSettings
from penchant.web.operations import Operation
from penchant.web.routes import interface_operations
from penchant_client import AsyncClient, Client, Retries, ServiceError
from penchant_client.flows import MAX_ASKED, MAX_INTERACTIONS, MAX_LISTS, MAX_PEOPLE, MAX_PIECES
from serving import PromptClient, Service

OPERATIONS = interface_operations()

_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z\Z")
ADDRESS = "http://testserver"
ONCE = Retries(attempts=1)
TEMPLATES = {
    (operation.method, re.compile(re.sub(r"\\\{\w+\\\}", "([^/]+)", re.escape(operation.path)) + r"\Z")): operation
    for operation in OPERATIONS
}
BODIES = {
    "submit_content": ("pieces", MAX_PIECES),
    "delete_content": ("ids", MAX_PIECES),
    "put_whitelist": ("ids", None),
    "put_blacklist": ("ids", None),
    "record_interactions": ("interactions", MAX_INTERACTIONS),
    "similar_to_each": ("ids", MAX_ASKED),
    "recommend_to_each": ("user_ids", MAX_PEOPLE),
    "record_impressions": ("lists", MAX_LISTS),
}
"""Under which name a method takes the entries of a body, and how many go in one request."""

WHOLE = {
    "put_settings": "settings",
    "put_preferences": "preferences",
    "preview_similar": "piece",
    "preview_recommendation": "likings",
    "put_placement": "placement",
    "put_draft": "edits",
    "draft_effect": "wish",
}
"""Under which name a method takes a body as it is."""


PYTHON_NAMES = {"from": "since", "to": "until"}
"""What the client calls parameters whose names Python keeps for itself."""


class Unspoken(Exception):
    """The client has no words for a request."""


class Call:
    """A method of the client and what it is given."""

    def __init__(self, method: str, path: str, options: Mapping[str, Any]) -> None:
        if set(options) - {"json"}:
            raise Unspoken
        address = urlsplit(path)
        operation, values = self._operation(method, address.path)
        self.name = re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), operation.name)
        query = parse_qsl(address.query, keep_blank_values=True)
        if self.name == "delete_content" and not query and "json" not in options:
            self.name = "clear_content"
        elif self.name == "delete_content" and query:
            raise Unspoken
        self.args: list[Any] = values
        self.options = self._spoken(operation, query)
        if "json" in options:
            self._take(options["json"])
        elif operation.reads_body:
            raise Unspoken
        if operation.name == "deleteSource" and "confirm" not in self.options:
            raise Unspoken

    @staticmethod
    def _operation(method: str, path: str) -> tuple[Operation, list[Any]]:
        for (its_method, pattern), operation in TEMPLATES.items():
            found = pattern.match(path) if its_method == method else None
            is_own = path.startswith("/-") and "{source}" in operation.path
            if found and not is_own and not re.search(r"%(?![0-9A-Fa-f]{2})", path):
                try:
                    return operation, [unquote(segment, errors="strict") for segment in found.groups()]
                except UnicodeDecodeError:
                    break
        raise Unspoken

    @staticmethod
    def _spoken(operation: Operation, query: Sequence[tuple[str, str]]) -> dict[str, Any]:
        known = {
            PYTHON_NAMES.get(parameter.name, parameter.name.replace("-", "_")) for parameter in operation.parameters
        }
        spoken: dict[str, Any] = {}
        for name, text in query:
            option = PYTHON_NAMES.get(name, name.removesuffix("[]").replace("-", "_"))
            if option == "catalogs":
                spoken.setdefault(option, []).extend([text] if name.endswith("[]") else text.split(","))
            elif option in spoken or option not in known or option == "min_version":
                raise Unspoken
            else:
                spoken[option] = text
        return spoken

    def _take(self, body: Any) -> None:
        """Take a body as the method's parameters."""
        if self.name in WHOLE:
            self.options[WHOLE[self.name]] = body
        elif self.name == "preview_settings" and isinstance(body, dict):
            self.options |= _spoken_preview(body)
        elif self.name == "preview_placement" and isinstance(body, dict):
            self.options |= _spoken_draft(body)
        elif self.name in {"propose_draft", "send_back_draft", "accept_draft"} and isinstance(body, dict):
            # Without a note the client sends an empty one.
            if set(body) != {"note"} or not isinstance(body["note"], str):
                raise Unspoken
            self.options |= body
        elif self.name == "page_lists" and isinstance(body, dict):
            self.options |= _spoken_page(body)
        elif self.name == "create_key" and isinstance(body, dict):
            renamed = {"days" if name == "expiresInDays" else name: value for name, value in body.items()}
            if "account" not in body or set(renamed) - {"account", "plan", "admin", "days"}:
                raise Unspoken
            self.options |= {"expires_in_days" if name == "days" else name: value for name, value in renamed.items()}
        else:
            name, most = BODIES.get(self.name, ("", 0))
            if not name or not isinstance(body, list) or (most is not None and len(body) > most):
                raise Unspoken
            self.options[name] = body


def _spoken_preview(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the members of a wish as options, where they are of a type that these have."""
    known = {"settings", "whitelist", "blacklist", "pieces", "users", "take"}
    lists = [value for name, value in body.items() if name not in {"settings", "take"}]
    if set(body) - known or None in body.values() or not all(isinstance(value, list) for value in lists):
        raise Unspoken
    return body


def _spoken_draft(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the members of a preview of a placement as options, where they are of a type that these have."""
    known = {"name", "placement", "users", "content", "variant", "take"}
    if set(body) - known or not {"name", "placement"} <= set(body) or None in body.values():
        raise Unspoken
    if not isinstance(body.get("users", []), list):
        raise Unspoken
    return body


def _spoken_page(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the members of a page as options, where they are of a type that these have."""
    lists = [value for name, value in body.items() if name != "user"]
    if set(body) - {"user", "exclude", "lists"} or "lists" not in body or None in body.values():
        raise Unspoken
    if not all(isinstance(value, list) for value in lists):
        raise Unspoken
    return body


class ClientService(Service):
    """The service under test, asked through the client."""

    asked: ClassVar[Counter[str]] = Counter()
    """How often each method was used, by all of them together; ``(plain)`` for what it has no words for."""

    def __init__(self, client: TestClient, settings: NodeSettings, *, is_async: bool, **options: Any) -> None:
        self._test_client = client
        self._carried_out = self._awaited if is_async else self._waited
        super().__init__(client, settings, **options)

    def request(self, method: str, path: str, *, key: str | None = None, **options: Any) -> Any:
        """Send a request with a key."""
        try:
            call = Call(method, path, options)
        except Unspoken:
            self.asked["(plain)"] += 1
            return super().request(method, path, key=key, **options)
        self.asked[call.name] += 1
        responses: list[httpx.Response] = []
        try:
            value = self._carried_out(call, key or self.key, responses)
        except ServiceError as error:
            agree(error, responses[-1])
        else:
            assert is_read(value, responses[-1])
        return responses[-1]

    def _waited(self, call: Call, key: str, responses: list[httpx.Response]) -> Any:
        http = PromptClient(self._test_client.app)
        http.portal = self._test_client.portal
        http.event_hooks = {"response": [responses.append]}
        return getattr(Client(ADDRESS, key, retries=ONCE, http=http), call.name)(*call.args, **call.options)

    def _awaited(self, call: Call, key: str, responses: list[httpx.Response]) -> Any:
        """Carry it out where the application runs."""
        application: Any = self._test_client.app

        async def note(response: httpx.Response) -> None:
            responses.append(response)

        async def carried_out() -> Any:
            transport = httpx.ASGITransport(application, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, event_hooks={"response": [note]}) as http:
                client = AsyncClient(ADDRESS, key, retries=ONCE, http=http)
                return await getattr(client, call.name)(*call.args, **call.options)

        assert self._test_client.portal is not None
        return self._test_client.portal.call(carried_out)


def is_read(value: Any, response: httpx.Response) -> bool:
    """Return whether the client has read all that was answered, and as it was."""
    if value is None:
        return bool(response.json() == [])
    if isinstance(value, str):
        return value == response.text
    answered = _timed(response.json())
    return bool(_timed(json.loads(msgspec.json.encode(value))) == answered or _is_piece(value, answered))


def _timed(value: Any) -> Any:
    """Return decoded JSON with its times as times, which may be written with or without milliseconds."""
    if isinstance(value, dict):
        return {name: _timed(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_timed(inner) for inner in value]
    return datetime.fromisoformat(value) if isinstance(value, str) and _TIME.match(value) else value


def _is_piece(value: Any, answered: Any) -> bool:
    """Return whether pieces are the same, where the client leaves out what is empty."""
    found = _timed(json.loads(msgspec.json.encode(value)))
    pieces = found.get("content", []) if "content" in found else [found]
    for piece in pieces:
        piece.setdefault("filters", {})
        piece.setdefault("extras", {})
    return bool(found == answered)


def agree(error: ServiceError, response: httpx.Response) -> None:
    """Compare an error with the answer that it stands for."""
    answered = response.json()
    assert (error.status, error.code, error.title) == (response.status_code, answered["code"], answered["title"])
    assert error.own_code == error.code
    assert error.request_id == response.headers["x-request-id"]
    assert error.detail == answered["detail"]
    assert json.loads(msgspec.json.encode(error.errors)) == answered.get("errors", [])
