"""Applications that packages mount below ``/-/`` (`penchant.hooks`).

request -> the checks of every request -> `MountedApplication` -> the package's application
-> host.service_of(session) -> operations

request -> checks of every request -> key, rate, origin, body -> `MountedPosts` -> the application -> host.interface
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from starlette.types import ASGIApp, Message

from penchant.errors import OriginNotAllowed, Unauthenticated
from penchant.hooks import Mount
from penchant.service.access import MAX_SHOWN_ORIGIN, Access
from penchant.web.bodies import JSON, SETTINGS_BODY, BodyKind, require_media_type
from penchant.web.exchange import RequestExchange
from penchant.web.mounts.host import MountHost
from penchant.web.operations import NOBODY, Answer, Call, Operation, bearer_keys
from penchant.web.resource import authenticate, count_request

DASHBOARD_PATH = "/-/dashboard"
"""Where the package penchant-desk mounts the dashboard, to which browsers are led."""
MOUNTED_BODY = BodyKind(limit_bytes=lambda _: 2 * 1024 * 1024, growth=8)
"""The largest body: a form of a page of a list, whose ids may have 500 characters of 12 bytes each."""


class MountedApplication:
    """An application that a package mounts, and what answers the parts of its requests."""

    def __init__(self, mount: Mount, service: ASGIApp) -> None:
        self.path = mount.path
        self._application = mount.application
        self._service = service

    async def answer(self, exchange: RequestExchange) -> None:
        """Have the application answer a request; what it raises is answered as of any other."""
        exchange.template = self.path
        body: list[Message] = []

        async def receive() -> Message:
            # Read when it is asked for, so that a body is taken from nobody who is not let in.
            if not body:
                content = await exchange.read_body(MOUNTED_BODY) if exchange.body is not None else b""
                body.append({"type": "http.request", "body": content, "more_body": False})
                return body[0]
            return await exchange.receive()

        state = {"host": MountHost(exchange, self._service)}
        await self._application({**exchange.scope, "state": state}, receive, exchange.send)


class MountedPosts(msgspec.Struct, frozen=True):
    """An application to which posts of JSON go, each by a key, and what answers their parts."""

    mount: Mount
    service: ASGIApp

    def operation(self) -> Operation:
        """Return the operation that serves it."""
        return Operation(
            method="POST",
            path=self.mount.path,
            name="mounted",
            summary="An application of a package.",
            handler=self._answer,
            tag="service",
            about=NOBODY,
            # The key is looked at before the body is read, which here is the handler's to do.
            public=True,
        )

    async def _answer(self, call: Call) -> Answer:
        """Let a post in, and return what the application answers."""
        exchange = call.exchange
        access = await _admit(exchange)
        # Requests to addresses of the service itself are let in at any time; these are not its own business.
        await call.services.admission.enter(access.account_id)
        require_media_type(call.headers, (JSON,))
        body = await exchange.read_body(SETTINGS_BODY)
        return await _answered(self.mount.application, exchange, MountHost(exchange, self.service, access), body)


def mounted_at(mounts: Sequence[MountedApplication], raw_path: str, base_path: str) -> MountedApplication | None:
    """Return the application at or above a path; of several the one with the longest path."""
    path = raw_path.removeprefix(base_path) if raw_path.startswith(base_path) else ""
    at = [each for each in mounts if path == each.path or path.startswith(f"{each.path}/")]
    return max(at, key=lambda each: len(each.path), default=None)


async def _answered(application: ASGIApp, exchange: RequestExchange, host: MountHost, body: bytes) -> Answer:
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

    await application({**exchange.scope, "state": {"host": host}}, receive, send)
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
    keys = bearer_keys(exchange.headers)
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
