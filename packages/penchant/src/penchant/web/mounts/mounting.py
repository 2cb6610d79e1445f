"""Mounted applications: what packages serve below ``/-/``, each message let in here, with the service at hand.

A package names an ASGI application in the entry points of the group ``penchant.mounts``. Of what is asked of it key,
rate, origin and body are checked as of any request. In its scope's ``state`` it finds ``service``, an ASGI application
whose requests are parts of the one that was let in: they are not counted against the rate once more, and go the way of
any other from their role on: scope, plan, source, people, quota, and what their handlers check.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from starlette.types import ASGIApp, Message

from penchant.errors import BrokenPackage, OriginNotAllowed, Unauthenticated
from penchant.service.access import MAX_SHOWN_ORIGIN, Access
from penchant.web.bodies import JSON, SETTINGS_BODY, require_media_type
from penchant.web.exchange import RequestExchange
from penchant.web.mounts.host import part_of
from penchant.web.operations import (
    AGENTS_PATH,
    MIN_AUDIENCE_VERSION_HEADER,
    MIN_VERSION_HEADER,
    NOBODY,
    USER_HEADER,
    Answer,
    Call,
    Operation,
    keys_of,
)
from penchant.web.resource import authenticate, count_request

_HANDED_ON = {
    name.encode()
    for name in (
        USER_HEADER,
        MIN_VERSION_HEADER,
        MIN_AUDIENCE_VERSION_HEADER,
        "origin",
    )
}
"""Headers that a part has of the request that it belongs to, beside those of all mounted applications."""


@cache
def mounted(name: str) -> ASGIApp:
    """Return the application that a package mounts; importing one may take a second.

    Raises:
        BrokenPackage: none does, or it cannot be imported.
    """
    found = entry_points(group="penchant.mounts", name=name)
    if not found:
        raise BrokenPackage(f"The setting {name} needs a package: pip install penchant[{name}]")
    try:
        application: ASGIApp = next(iter(found)).load()
    # Whatever a stranger's module raises when it is imported.
    except Exception as error:
        raise BrokenPackage(f"The package for the setting {name} cannot be used: {error}") from error
    return application


@dataclass(frozen=True, slots=True)
class AgentsMount:
    """An application below ``/-/``, and what answers the parts of its requests."""

    application: ASGIApp
    service: ASGIApp

    def operation(self) -> Operation:
        """Return the operation that serves it."""
        return Operation(
            method="POST",
            path=AGENTS_PATH,
            name="agents",
            summary="Tools for agents, by the Model Context Protocol.",
            handler=self._answer,
            tag="service",
            about=NOBODY,
            # The key is looked at before the body is read, which here is the handler's to do.
            public=True,
        )

    async def _answer(self, call: Call) -> Answer:
        """Let a message in, and return what the application answers."""
        exchange = call.exchange
        access = await _admit(exchange)
        # Requests to addresses of the service itself are let in at any time; these are not its own business.
        await call.services.admission.enter(access.account_id)
        require_media_type(call.headers, (JSON,))
        body = await exchange.read_body(SETTINGS_BODY)
        state = {
            "service": part_of(exchange, self.service, access, also=_HANDED_ON),
            "count": lambda tool, outcome: call.services.metrics.agent_calls.labels(tool, outcome).inc(),
        }
        return await _answered(self.application, exchange, state, body)


async def _answered(application: ASGIApp, exchange: RequestExchange, state: Mapping[str, Any], body: bytes) -> Answer:
    """Return what an application answers at once to a request that is there in full."""
    began: Mapping[str, Any] = {}
    parts: list[bytes] = []

    events: list[Message] = [{"type": "http.request", "body": body}]

    async def receive() -> Message:
        return events.pop() if events else await exchange.receive()

    async def send(message: Message) -> None:
        nonlocal began
        began = message if message["type"] == "http.response.start" else began
        parts.append(message.get("body", b""))

    await application({**exchange.scope, "state": state}, receive, send)
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in began["headers"]}
    media_type = headers.get("content-type", JSON)
    return Answer(
        body=b"".join(parts), status=began["status"], media_type=media_type, headers={"cache-control": "no-store"}
    )


async def _admit(exchange: RequestExchange) -> Access:
    """Return who sends a post, after the checks of key, rate and origin, in turn.

    Raises:
        Unauthenticated, RateExceeded, OriginNotAllowed: it is not let in.
    """
    exchange.challenge = 'Bearer realm="penchant"'
    keys = keys_of(exchange.scope)
    if not keys:
        raise Unauthenticated("Send a key in the header authorization: Bearer pk_…")
    access = await authenticate(exchange, keys)
    await count_request(exchange, access)
    origin = exchange.headers.get("origin")
    control = exchange.services.access
    control.require_origin(access, origin)
    if not access.is_browser and origin is not None and origin not in exchange.services.settings.cors_origins:
        # A page that has brought a browser to take our address for its own host (DNS rebinding) says where it is from.
        raise OriginNotAllowed(
            f"Pages of the origin {origin[:MAX_SHOWN_ORIGIN]} may not use the tools: the setting cors-origins lists "
            "those that may. Programs send no Origin."
        )
    return access
