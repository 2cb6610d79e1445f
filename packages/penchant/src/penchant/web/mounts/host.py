"""Host of a mounted application: settings, sessions, and the interface, as parts of the request that came in.

Parts go the way of any other request from their role on: scope, plan, source, people, quota, and what their handlers
check. Their rate is that of the request that was let in.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as RequestScope

from penchant.errors import PenchantError, RateExceeded
from penchant.hooks import packages
from penchant.model import Scope
from penchant.service.access import Access, Session, Sessions
from penchant.settings import NodeSettings
from penchant.web.exchange import LET_IN, READS_AS, REQUEST_ID_HEADER, RequestExchange
from penchant.web.mounts.people import named_session
from penchant.web.operations import MIN_AUDIENCE_VERSION_HEADER, MIN_VERSION_HEADER, USER_HEADER
from penchant.web.problems import kind_of, problem_of

_HANDED_ON = frozenset({b"x-forwarded-for", b"x-forwarded-proto"})
"""Headers that a part has of the request that it belongs to."""
_HANDED_ON_BY_KEY = frozenset(
    name.encode() for name in (USER_HEADER, MIN_VERSION_HEADER, MIN_AUDIENCE_VERSION_HEADER, "origin")
)
"""Headers that it has besides where its sender is who sent that request."""


class MountHost:
    """What a mounted application is given with a request: settings, sessions, and the interface.

    Its methods raise `PenchantError`, and so does receiving a body; `problem` tells what pages say of such an error.
    """

    def __init__(self, exchange: RequestExchange, service: ASGIApp, access: Access | None = None) -> None:
        self._exchange = exchange
        self._service = service
        self._access = access
        self._sessions = Sessions(exchange.services.database, exchange.services.access)

    @property
    def settings(self) -> NodeSettings:
        """The settings of the moment."""
        return self._exchange.services.settings

    @property
    def packages(self) -> Collection[str]:
        """The names of the packages that are installed."""
        return packages().versions.keys()

    def is_secure(self) -> bool:
        """Return whether the request came over TLS, to us or to a trusted proxy."""
        return self._exchange.is_secure()

    async def enter(self) -> None:
        """Wait until the request may begin; raises `Overloaded` where too many wait."""
        # Below /-/ nothing waits or is refused on its way in.
        await self._exchange.services.admission.enter()

    def named_session(self, chosen: str) -> Session | None:
        """Return the session of the person whom a trusted proxy names, in the chosen account; ``None``: it names none.

        Raises:
            RefusedPerson: it is not clear whom it names, or none of the groups gives anything.
        """
        return named_session(self._exchange, chosen)

    async def read_session(self, token: str) -> Session:
        """Return the session of a key by its id; raises `Unauthenticated` where there is none, or it is over."""
        return await self._sessions.read(token)

    async def begin_session(self, key: str) -> Session:
        """Return a new session of a key; raises `Unauthenticated`, after a while, where it begins none."""
        try:
            return await self._sessions.begin(key)
        except PenchantError:
            # As for keys in a header: this is no quicker way to try them.
            await self._exchange.services.access.failed_keys.slow_down(self._exchange.client_address())
            raise

    async def end_session(self, token: str) -> None:
        """End the session of an id."""
        await self._sessions.end(token)

    async def count(self, session: Session) -> None:
        """Count the request against the rate of a session's key; raises `RateExceeded`."""
        rate = await self._exchange.services.access.count_request(session.access)
        if rate is not None and rate.exceeded:
            raise RateExceeded(f"The plan allows {rate.limit} requests a second.", retry_after_s=1)

    def service_of(self, session: Session | None) -> ASGIApp:
        """Return the interface for parts of the request, sent by whoever has a session, or by anybody.

        Who may look at the pages reads there what keys need the scope ``write`` for, such as settings and previews.
        """
        if session is None:
            return part_of(self._exchange, self._service, None)
        return part_of(self._exchange, self._service, session.access, replace(session.access, scopes=frozenset(Scope)))

    @property
    def interface(self) -> ASGIApp:
        """The interface for parts of a request that was let in by its key, with what that says of person and version.

        A part is not counted against the rate once more.
        """
        return part_of(self._exchange, self._service, self._access, also=_HANDED_ON_BY_KEY)

    def count_call(self, tool: str, outcome: str) -> None:
        """Count a call of a tool by an agent."""
        self._exchange.services.metrics.agent_calls.labels(tool, outcome).inc()

    def problem(self, error: Exception) -> Mapping[str, Any] | None:
        """Return what is wrong as pages say it, and count it; ``None`` for what is no error of the interface."""
        if not isinstance(error, PenchantError):
            return None
        self._exchange.services.metrics.problems.labels(error.code).inc()
        problem = problem_of(error, self.settings.base_path)
        return {
            "status": problem.status,
            "code": error.code,
            "title": problem.title,
            "detail": problem.detail,
            "hint": kind_of(error).explanation,
            "retry_after_s": error.retry_after_s,
        }


def part_of(
    whole: RequestExchange,
    service: ASGIApp,
    access: Access | None,
    reading: Access | None = None,
    also: Collection[bytes] = (),
) -> ASGIApp:
    """Return the service for parts of a request that was let in: with who sent it, from where, and its id.

    ``reading`` is what parts may that change nothing, where that is more; ``also`` names further headers that they have
    of the request.
    """
    handed = [each for each in whole.scope["headers"] if each[0] in _HANDED_ON or each[0] in also]
    handed.append((REQUEST_ID_HEADER, whole.request_id.encode()))
    base_path = whole.services.settings.base_path.encode()

    async def part(scope: RequestScope, receive: Receive, send: Send) -> None:
        own = {
            "raw_path": base_path + scope["raw_path"],
            "headers": [*scope["headers"], *handed],
            "client": whole.scope.get("client"),
            LET_IN: access,
            READS_AS: reading,
        }
        await service({**scope, **own}, receive, send)

    return part
