"""Applications that packages mount below ``/-/`` (`penchant.hooks`).

request -> the checks of every request -> `MountedApplication` -> the package's application
-> host.service_of(session) -> operations
"""

from collections.abc import Sequence

from starlette.types import ASGIApp, Message

from penchant.hooks import Mount
from penchant.web.bodies import BodyKind, announces_body
from penchant.web.exchange import RequestExchange
from penchant.web.mounts.host import MountHost

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
                content = await exchange.read_body(MOUNTED_BODY) if announces_body(exchange.scope) else b""
                body.append({"type": "http.request", "body": content, "more_body": False})
                return body[0]
            return await exchange.receive()

        state = {"host": MountHost(exchange, self._service)}
        await self._application({**exchange.scope, "state": state}, receive, exchange.send)


def mounted_at(mounts: Sequence[MountedApplication], raw_path: str, base_path: str) -> MountedApplication | None:
    """Return the application at or above a path; of several the one with the longest path."""
    path = raw_path.removeprefix(base_path) if raw_path.startswith(base_path) else ""
    at = [each for each in mounts if path == each.path or path.startswith(f"{each.path}/")]
    return max(at, key=lambda each: len(each.path), default=None)
