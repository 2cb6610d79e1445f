"""ASGI application: the stack of what a request passes, and the start and stop of a process.

    server -> `OriginPolicy` -> behind_policy -> _answer -> `Resource` -> handler
              CORS, where       an exchange;    route      order of
              configured        room and time              checks

Who sends the same bytes again is answered before any of that, by `penchant.web.repeating`, where nothing has changed.
Below `_answer` an error of whatever kind becomes a problem. `penchant.web.resource` has the order of checks from there
on, `penchant.web.exchange` how what is answered goes out. Requests that come while too many wait are refused with a 503
before anything of them is looked at.
"""

import asyncio
import functools
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from penchant.errors import MalformedRequest, OriginNotAllowed, Overloaded, PenchantError, UnknownRoute
from penchant.hooks import AGENTS_PATH, packages
from penchant.live.admission import KEYLESS
from penchant.model import MAX_NAME_LENGTH
from penchant.service import Services
from penchant.service.access import MAX_SHOWN_ORIGIN
from penchant.service.lists.answer_cache import WholeAnswer
from penchant.settings import NodeSettings
from penchant.telemetry import logger, request_id
from penchant.tracing import tracing
from penchant.web.compression import Compression
from penchant.web.documents import DOCS_PATH, DocumentSite
from penchant.web.exchange import LET_IN, READS_AS, REQUEST_ID_HEADER, RequestExchange, request_id_of
from penchant.web.mounts.applications import DASHBOARD_PATH, MountedApplication, MountedPosts, mounted_at
from penchant.web.operations import Operation, keys_of
from penchant.web.problems import PROBLEM_MEDIA_TYPE, problem_body, status_of
from penchant.web.query import RESERVED_SEGMENT, PathParameters, decode_component, is_plain, parse_query
from penchant.web.relay import HelperLost, Relay
from penchant.web.repeating import RepeatedAnswer, bytes_of, still_holding
from penchant.web.resource import Resource
from penchant.web.routes import served_operations

Opening = Callable[[], AbstractAsyncContextManager[Services]]
HELD_BACK_S = 0.25
"""How long a refusal waits before it is sent: to refuse those again who ask again at once, whatever Retry-After says,
would take a third of a worker's time."""
_TOO_MANY = Overloaded("More requests come in than can be answered in time.")
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")
_EXPOSED_HEADERS = (
    "etag",
    "retry-after",
    "ratelimit",
    "ratelimit-policy",
    "x-request-id",
    "x-penchant-version",
    "x-penchant-audience-version",
    "x-penchant-deleted",
    "x-penchant-interactions-version",
    "x-penchant-stale",
    "x-penchant-ignored",
    "x-penchant-list",
    "x-penchant-next",
    "x-penchant-unreached",
    "x-penchant-unknown-content",
    "x-penchant-expired",
)
"""What pages may read of an answer."""


class Application:
    """The service as an ASGI application; ``opening`` opens what it needs when the server starts it.

    What is the service's own (health, metrics, administration) is never refused: it is needed most when there is a
    crowd.
    """

    def __init__(self, opening: Opening, settings: NodeSettings, relay: Relay | None = None) -> None:
        self._opening = opening
        self._base_path = settings.base_path
        mounts = packages().mounts(settings)
        self._mounts = [MountedApplication(each, self._serve) for each in mounts if not each.by_key]
        posts = [MountedPosts(each, self._serve).operation() for each in mounts if each.by_key]
        self._routes = _routes([*served_operations(settings), *posts], settings.base_path)
        self._documents = DocumentSite(settings.base_path)
        # Closed to requests from outside alone: the dashboard's, which are parts of others, go on.
        self._closed = "" if settings.administration else f"{settings.base_path}/-/admin/"
        self.services: Services | None = None
        self._relay = relay
        self._compression = Compression()
        own = f"{settings.base_path}/{RESERVED_SEGMENT}/"
        self._own, self._health = own.encode(), f"{own}health".encode()
        self._agents = f"{settings.base_path}{AGENTS_PATH}".encode()
        # Ready, since the time that refusals take is lost to those who are let in.
        self._refusal = problem_body(_TOO_MANY, settings.base_path)
        self._adopt(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the start and stop of the process."""
        if scope["type"] == "http":
            await self._entrance(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)

    def _adopt(self, settings: NodeSettings) -> None:
        """Have pages let in of the origins that settings name, if any."""
        app, origins = self.behind_policy, settings.cors_origins
        self._entrance: ASGIApp = OriginPolicy(app, origins, self._base_path) if origins else app

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self.opened())
            except PenchantError as error:
                logger.critical("cannot start: %s", error.detail)
                await send({"type": "lifespan.startup.failed", "message": error.detail})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Have what requests need opened meanwhile."""
        async with self._opening() as services:
            self.services = services
            self._adopt(services.settings)
            services.current.on_change(self._adopt)
            yield

    async def behind_policy(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whose origin may ask, when it is its turn; refuse one that would have to wait too long."""
        services = self.services
        if services is None:
            raise RuntimeError("a request came before the start")
        whole = services.lists.answers.find_whole(bytes_of(scope))
        if whole is not None and (repeated := self._repeated(whole, services)) and await repeated.send(services, send):
            return
        exchange = RequestExchange(scope, services, receive, send, self._compression)
        path: bytes = scope["raw_path"]
        is_own = path.startswith(self._own)
        if is_own and path.startswith(self._health):
            await self._answer(exchange)
            return
        keys = keys_of(scope, exchange.headers)
        # Of an account whose key was accepted before: none that anybody makes up has turns of its own.
        accepted = services.access.accepted(keys[0]) if keys else None
        account = None if accepted is None else accepted[1].account_id
        # Who is signed in at the dashboard is charged from when that is known (`AsyncStorage.serve`).
        charged_to = KEYLESS if is_own and not keys else account
        admission = services.admission
        try:
            if self._relay is not None and charged_to is not None and admission.loads.is_heavy(charged_to):
                with admission.loads.elsewhere(charged_to):
                    if await self._relay.answer(scope, receive, send):
                        services.metrics.relayed_requests.inc()
                        return
            if not is_own and (turn := admission.turn(account)) is not None:
                await turn
        except (Overloaded, HelperLost) as error:
            await self._refuse(exchange, error)
            return
        if len(keys) == 1:
            exchange.accepted = accepted
        # Agents wait within, where they can be told so.
        if is_own and not (account is not None and path.startswith(self._agents)):
            await admission.charged(charged_to, self._answer(exchange))
        else:
            await admission.by_turns(account, self._answer(exchange))

    def _repeated(self, whole: WholeAnswer, services: Services) -> RepeatedAnswer | None:
        """Return the answer that is sent again to a request; ``None`` where it has to go the whole way."""
        answer, admission = still_holding(whole, services), services.admission
        if answer is None or tracing.collects or admission.serves_several():
            return None
        is_relayed = self._relay is not None and admission.loads.is_heavy(answer.access.account_id)
        return None if is_relayed else answer

    async def _refuse(self, exchange: RequestExchange, error: Overloaded | HelperLost) -> None:
        body = problem_body(error, self._base_path) if isinstance(error, HelperLost) else self._refusal
        await asyncio.sleep(HELD_BACK_S)
        headers = [
            (b"content-type", PROBLEM_MEDIA_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            (b"retry-after", b"1"),
        ]
        await exchange.send_whole(status_of(error), headers, b"" if exchange.method == "HEAD" else body)
        exchange.services.metrics.problems.labels(error.code).inc()
        exchange.end()
        if exchange.body is not None:
            await exchange.body.linger()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a part of a request that was let in."""
        assert self.services is not None  # noqa: S101  # it came within a request
        exchange = RequestExchange(scope, self.services, receive, send)
        exchange.let_in(scope[LET_IN], scope[READS_AS])
        await self._answer(exchange)

    async def _answer(self, exchange: RequestExchange) -> None:
        """Answer a request that was let in, count it, and take in what is left of its body."""
        try:
            answering = exchange.answer_by(self._route, self._base_path)
            await (self._traced(exchange, answering) if tracing.collects else answering)
        finally:
            # Whatever happened: it gives memory back, and the count of an answer that was not given.
            exchange.end()
        # Last, when the answer is out and the request has given back what it took.
        if exchange.body is not None:
            await exchange.body.linger()

    @staticmethod
    async def _traced(exchange: RequestExchange, answering: Awaitable[None]) -> None:
        with tracing.span("request", exchange.headers) as tell:
            try:
                await answering
            finally:
                tell(exchange.attributes())

    def _route(self, exchange: RequestExchange) -> Awaitable[None]:
        """Return what answers a request, the resource of its path as a rule.

        Raises:
            MalformedPath, MalformedRequest, UnknownRoute: there is none.
        """
        raw: bytes = exchange.scope["raw_path"]
        find = self._routes.find if len(raw) <= MAX_REMEMBERED_PATH else self._routes.find_anew
        raw_path, resource, path = find(raw)
        query = parse_query(exchange.scope["query_string"])
        _require_host(exchange)
        if self._closed and exchange.access is None and raw_path.startswith(self._closed):
            resource = None
        if resource is None:
            if self._documents.holds(raw_path):
                exchange.template = DOCS_PATH
                return self._documents.answer(exchange.scope, exchange.receive, exchange.send)
            if (mounted := mounted_at(self._mounts, raw_path, self._base_path)) is not None:
                return mounted.answer(exchange)
            if raw_path.startswith(self._base_path + DASHBOARD_PATH):
                raise UnknownRoute("The dashboard is in the package penchant-desk, and on by the setting dashboard.")
            raise UnknownRoute("No route has this path. Segments may not be empty, and there is no trailing slash.")
        return resource.answer(exchange, path, query)


def _require_host(exchange: RequestExchange) -> None:
    """Raise `MalformedRequest` for other than one Host; the older HTTP/1.0 may leave it out."""
    headers = exchange.headers
    if headers.has_repeated and len(headers.getlist("host")) > 1:
        raise MalformedRequest("The header Host is given more than once.")
    # The server hands on an empty one where there is none; no address of ours has an empty host.
    if not headers.first.get(b"host") and exchange.scope["http_version"] == "1.1":
        raise MalformedRequest("The header Host is missing.")


MAX_REMEMBERED_PATH = 200
"""Bytes of a path that is remembered: strangers may send 60 KB."""
MAX_REMEMBERED_PATHS = 4_096
"""Paths that are remembered together, in some megabytes at most."""


class FoundPath(NamedTuple):
    """An encoded path, the resource that it leads to, if any, and its decoded parameters."""

    text: str
    resource: Resource | None
    parameters: PathParameters


_Shaped = tuple[Resource, Sequence[str], Sequence[int]]
"""A resource, and the names of the parameters of its path with their places."""


class Routes:
    """The resources of an application by templates such as ``/{source}/content/{contentID}``, found by a path's shape.

    A shape is what a path has literally, with ``None`` for parameters. A segment that is literal somewhere at its place
    may also be a parameter, as a piece that is called "read" is: literals go first, from the left. A framework's router
    tries one pattern after the other: 27 us for the last of 26, this one takes 2.
    ``find`` is `find_anew`, which remembers the paths of the latest requests.
    """

    def __init__(self, resources: Mapping[str, Resource], base_path: str = "") -> None:
        """Take the templates, which say nothing of the base path."""
        self.find = functools.lru_cache(MAX_REMEMBERED_PATHS)(self.find_anew)
        self._base, self._root = base_path, f"{base_path}/"
        self._shapes: dict[tuple[str | None, ...], _Shaped] = {}
        # What may stand literally at each place, from the left.
        self._literals: list[dict[str, str]] = []
        for template, resource in resources.items():
            segments = template.split("/")[1:]
            shape = tuple(None if each.startswith("{") else each for each in segments)
            places = [place for place, each in enumerate(shape) if each is None]
            self._shapes[shape] = resource, [segments[place].strip("{}") for place in places], places
            self._literals += ({} for _ in range(len(shape) - len(self._literals)))
            for literals, literal in zip(self._literals, shape, strict=False):
                literals.update({} if literal is None else {literal: literal})

    def find_anew(self, raw: bytes) -> FoundPath:
        """Return what a path leads to.

        Raises:
            MalformedPath: it cannot be decoded, whether it is one of ours or not.
        """
        # Matched while it is encoded: a %2F inside an id is no separator.
        path = raw.partition(b"?")[0].decode("latin-1")
        # All segments are checked before a route is looked for.
        has_escapes = not is_plain(path)
        if has_escapes:
            for segment in path.split("/"):
                decode_component(segment)
        # The base path itself names the root as its form with a slash does.
        rooted = self._root if path == self._base else path
        segments = rooted[len(self._root) :].split("/")
        found = self._find_shape(segments) if rooted.startswith(self._root) else None
        if found is None:
            return FoundPath(path, None, PathParameters())
        resource, names, places = found
        parameters = PathParameters(zip(names, map(segments.__getitem__, places), strict=True))
        if parameters.get("source") == RESERVED_SEGMENT:
            return FoundPath(path, None, PathParameters())
        if has_escapes:
            parameters.update({name: decode_component(segment) for name, segment in parameters.items()})
        if has_escapes or len(path) > MAX_NAME_LENGTH:
            parameters.check()
        return FoundPath(path, resource, parameters)

    def _find_shape(self, segments: Sequence[str]) -> _Shaped | None:
        """Return what encoded segments lead to; literals go before parameters."""
        if len(segments) > len(self._literals):
            return None
        most_literal = tuple(map(dict.get, self._literals, segments))
        found = None if "" in segments else self._shapes.get(most_literal)
        if found is None:
            # No parameter is empty.
            pairs = zip(segments, most_literal, strict=True)
            options = [("",) if not each else {literal: 1, None: 1} for each, literal in pairs]
            found = next(filter(None, map(self._shapes.get, itertools.product(*options))), None)
        return found


def _routes(operations: Iterable[Operation], base_path: str) -> Routes:
    """Return the resources of operations by their paths."""
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, {})[operation.method] = operation
    for path, methods in by_path.items():
        # A piece may be called "read": what is done to it is done at an address that has another operation, too.
        piece = f"{path.rpartition('/')[0]}/{{contentID}}"
        if path.startswith("/{source}/"):
            methods.update((method, each) for method, each in by_path.get(piece, {}).items() if method not in methods)
    resources: Mapping[str, Resource] = {path: Resource(methods) for path, methods in by_path.items()}
    return Routes(resources, base_path)


class OriginPolicy(CORSMiddleware):
    """ASGI middleware that lets pages of some origins in; what it answers itself has an id, refusals are problems."""

    def __init__(self, app: ASGIApp, origins: Sequence[str], base_path: str) -> None:
        super().__init__(
            app,
            allow_origins=list(origins),
            allow_methods=_METHODS,
            allow_headers=["*"],
            expose_headers=list(_EXPOSED_HEADERS),
        )
        self._base_path = base_path

    def preflight_response(self, request_headers: Headers) -> Response:
        """Return the answer to a preflight, the question of a browser before the request itself."""
        response = super().preflight_response(request_headers)
        named = request_id_of(request_headers.get(REQUEST_ID_HEADER.decode(), "").encode("latin-1"))
        request_id.set(named)
        if response.status_code >= 400:
            response = self._refusal(request_headers, response)
        response.headers[REQUEST_ID_HEADER.decode()] = named
        return response

    def _refusal(self, request_headers: Headers, response: Response) -> Response:
        # What CORS says stays, or the browser would not show the problem; the text's own type and length go.
        headers = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
        if self.is_allowed_origin(request_headers["origin"]):
            detail = f"Pages may use the methods {', '.join(_METHODS)}, and no private network."
        else:
            detail = (
                f"Pages of the origin {request_headers['origin'][:MAX_SHOWN_ORIGIN]} may not call the service: the "
                "setting cors-origins lists those that may. A browser key answers those that it was made for alone "
                "(`penchant keys list` shows them)."
            )
        error = OriginNotAllowed(detail)
        return Response(problem_body(error, self._base_path), status_of(error), headers, PROBLEM_MEDIA_TYPE)
