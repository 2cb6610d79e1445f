"""Refusals: the 503 for requests that come while too many wait, sent before anything of them is looked at."""

import asyncio
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from penchant.errors import Overloaded, PenchantError
from penchant.hooks import AGENTS_PATH
from penchant.live.admission import KEYLESS
from penchant.service import Services
from penchant.telemetry import request_id
from penchant.web.bodies import BodyReceiver, announces_body
from penchant.web.exchange import ACCEPTED, CAME_AT, NO_ROUTE, REQUEST_ID_HEADER, note_request, request_id_of
from penchant.web.operations import keys_of
from penchant.web.problems import PROBLEM_MEDIA_TYPE, problem_body, status_of
from penchant.web.query import RESERVED_SEGMENT, headers_of
from penchant.web.relay import HelperLost, Relay

_ERROR = Overloaded("More requests come in than can be answered in time.")
HELD_BACK_S = 0.25
"""How long a refusal waits before it is sent: to refuse those again who ask again at once, whatever Retry-After says,
would take a third of a worker's time."""


class Refusals:
    """ASGI middleware that lets requests wait for their turn, and refuses those that would have to wait too long.

    Made of ready bytes, since the time that refusals take is lost to those who are let in. What is the service's own
    (health, metrics, administration) is never refused: it is needed most when there is a crowd.
    """

    def __init__(
        self, app: ASGIApp, services: Callable[[], Services | None], base_path: str, relay: Relay | None = None
    ) -> None:
        self._app = app
        self._services = services
        self._relay = relay
        self._health = f"{base_path}/{RESERVED_SEGMENT}/health".encode()
        self._own = f"{base_path}/{RESERVED_SEGMENT}/".encode()
        self._agents = f"{base_path}{AGENTS_PATH}".encode()
        self._body = problem_body(_ERROR, base_path)
        self._base_path = base_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        services = self._services()
        if services is None or scope["raw_path"].startswith(self._health):
            await self._app(scope, receive, send)
            return
        came_at, is_own = time.perf_counter(), scope["raw_path"].startswith(self._own)
        keys = keys_of(scope)
        # Of an account whose key was accepted before: none that anybody makes up has turns of its own.
        accepted = services.access.accepted(keys[0]) if keys else None
        account = None if accepted is None else accepted[1].account_id
        admission = services.admission
        try:
            # Who is signed in at the dashboard is charged from when that is known (`AsyncStorage.serve`).
            charged_to = KEYLESS if is_own and not keys else account
            if self._relay is not None and charged_to is not None and admission.loads.is_heavy(charged_to):
                with admission.loads.elsewhere(charged_to):
                    if await self._relay.answer(scope, receive, send):
                        services.metrics.relayed_requests.inc()
                        return
            if not is_own:
                await admission.enter(account)
        except (Overloaded, HelperLost) as error:
            await self._refuse(services, error, scope, receive, send)
            return
        # Not before: the relay hands on what a scope has.
        scope[ACCEPTED] = accepted if len(keys) == 1 else None
        if is_own and not (account is not None and scope["raw_path"].startswith(self._agents)):
            await admission.charged(charged_to, self._app(scope, receive, send))
            return
        # From here on the wait counts as a part of the request's time. Agents wait within, where they can be told so.
        scope[CAME_AT] = came_at
        await admission.by_turns(account, self._app(scope, receive, send))

    async def _refuse(
        self, services: Services, error: PenchantError, scope: Scope, receive: Receive, send: Send
    ) -> None:
        started = time.perf_counter()
        body = problem_body(error, self._base_path) if isinstance(error, HelperLost) else self._body
        await asyncio.sleep(HELD_BACK_S)
        status = status_of(error)
        named = request_id_of(headers_of(scope).get(REQUEST_ID_HEADER.decode(), ""))
        request_id.set(named)
        headers = [
            (b"content-type", PROBLEM_MEDIA_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            (b"retry-after", b"1"),
            (REQUEST_ID_HEADER, named.encode()),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
        services.metrics.problems.labels(error.code).inc()
        note_request(services, scope["method"], NO_ROUTE, status, time.perf_counter() - started)
        if announces_body(scope):
            # After the request was counted and logged: only its connection goes on.
            await BodyReceiver(receive).linger()
