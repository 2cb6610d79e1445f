"""In which order is a request checked, and what does every answer carry? The ASGI application.

The order is the interface's (section 1): path 400, route 404, method 405, key 401, rate 429, plan 403, source
404, content type 415, size 413, and then what the operation itself checks.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penchant.errors import PenchantError, RateExceeded, UnknownRoute, WrongMethod
from penchant.model import Feature
from penchant.service import Services
from penchant.service.access import RateState
from penchant.telemetry import METHODS, logger, request_id
from penchant.tracing import tracing
from penchant.web.bodies import Receiving, announces_body, read_body, require_media_type
from penchant.web.compression import Compression
from penchant.web.dashboard import dashboard_operations
from penchant.web.documents import document_operations
from penchant.web.operations import Answer, Call, Operation
from penchant.web.parameters import CATALOGS
from penchant.web.problems import PROBLEM_MEDIA_TYPE, problem_body, status_of
from penchant.web.raw import Query, decode_component, parse_query
from penchant.web.refusals import Refusals
from penchant.web.request_log import CAME_AT, NO_ROUTE, REQUEST_ID_HEADER, note_request, request_id_of
from penchant.web.routes import OPERATIONS
from penchant.web.routing import RESERVED_SEGMENT, Routes

_EXPOSED_HEADERS = (
    "etag",
    "retry-after",
    "ratelimit",
    "ratelimit-policy",
    "x-request-id",
    "x-penchant-version",
    "x-penchant-stale",
    "x-penchant-ignored",
)

Opening = Callable[[], AbstractAsyncContextManager[Services]]


class Application:
    """The service as an ASGI application; ``opening`` opens what it needs when the server starts it."""

    def __init__(self, opening: Opening, *, base_path: str = "", cors_origins: Sequence[str] = ()) -> None:
        self._opening = opening
        self._opened: AbstractAsyncContextManager[Services] | None = None
        self._base_path = base_path
        self.services: Services | None = None
        app: ASGIApp = Compression(self._checked(_routes(base_path)))
        app = Refusals(app, lambda: self.services, base_path)
        if cors_origins:
            app = CORSMiddleware(
                app,
                allow_origins=list(cors_origins),
                allow_methods=["GET", "HEAD", "POST", "PUT", "DELETE"],
                allow_headers=["*"],
                expose_headers=list(_EXPOSED_HEADERS),
            )
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the start and stop of the process."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._app(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self._opened = self._opening()
        try:
            self.services = await self._opened.__aenter__()
        except PenchantError as error:
            logger.critical("cannot start: %s", error.detail)
            await send({"type": "lifespan.startup.failed", "message": error.detail})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._opened.__aexit__(None, None, None)
        await send({"type": "lifespan.shutdown.complete"})

    def _checked(self, routes: Routes["Resource"]) -> ASGIApp:
        """Return what answers requests: raw paths in, every error out as a problem, every answer counted."""

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            services = self.services
            if services is None:
                raise RuntimeError("a request came before the start")
            exchange = _Exchange(scope, services)
            receiving = Receiving(receive) if announces_body(scope) else None
            with tracing.span("request", exchange.headers) as tell:
                try:
                    await self._answered(routes, exchange, receiving or receive, send)
                finally:
                    exchange.finish()
                    if tracing.collects:
                        tell(exchange.attributes())
            if receiving is not None:
                await receiving.linger()

        return app

    async def _answered(self, routes: Routes["Resource"], exchange: "_Exchange", receive: Receive, send: Send) -> None:
        """Answer a request, with a problem where it fails."""
        scope = exchange.scope
        try:
            # Matched while it is encoded: a %2F inside an id is no separator.
            raw_path = scope["raw_path"].partition(b"?")[0].decode("latin-1")
            for segment in raw_path.split("/"):
                decode_component(segment)
            query = parse_query(scope["query_string"])
            resource, path = _found(routes, raw_path)
            await resource.answer(exchange, path, query, receive, send)
        except ClientDisconnect:
            exchange.status = 499  # nobody is there to read an answer
        except PenchantError as error:
            await exchange.problem(error, self._base_path, receive, send)
        except Exception:  # noqa: BLE001  # the process must outlive any request
            exchange.services.metrics.failures.labels("request").inc()
            logger.exception("request failed")
            await exchange.problem(PenchantError("Something failed inside."), self._base_path, receive, send)


class _Exchange:
    """What is known of a request while it runs, for its answer's headers, the metrics and the log."""

    def __init__(self, scope: Scope, services: Services) -> None:
        self.scope = scope
        self.headers = Headers(scope=scope)
        self.request_id = request_id_of(self.headers.get(REQUEST_ID_HEADER.decode(), ""))
        request_id.set(self.request_id)
        self.method: str = scope["method"]
        self.template = NO_ROUTE
        self.status = 0
        self.is_stale = False
        self.rate: RateState | None = None
        self.uncount: Callable[[], None] | None = None
        self._held_bytes = 0
        self.services = services
        self._started: float = scope.get(CAME_AT) or time.perf_counter()

    def hold(self, size: int) -> None:
        """Hold room for a part of the body until the request is over."""
        self.services.admission.take(size)
        self._held_bytes += size

    def sender(self, send: Send) -> Send:
        """Return a ``send`` that adds what every answer carries."""

        async def wrapped(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                message["headers"] = [*message.get("headers", ()), *self._headers()]
            if not message.get("more_body"):
                # A whole answer is handed over at once; only a stream waits for its reader.
                await send(message)
                return
            try:
                async with asyncio.timeout(self.services.settings.send_timeout_s):
                    await send(message)
            except TimeoutError:
                # A client that reads nothing must not hold an answer, and what it was read from, for ever.
                raise ClientDisconnect from None

        return wrapped

    async def problem(self, error: PenchantError, base_path: str, receive: Receive, send: Send) -> None:
        """Answer an error, unless an answer has begun already: then the connection is cut short."""
        if self.status:
            logger.warning("an answer was cut short")
            raise error
        self.services.metrics.problems.labels(error.code).inc()
        headers: dict[str, str] = {"cache-control": "no-store"}
        if error.retry_after_s is not None:
            headers["retry-after"] = str(max(1, round(error.retry_after_s)))
        status = status_of(error)
        if status == 401:
            headers["www-authenticate"] = 'ApiKey realm="penchant", header="x-api-key"'
        if isinstance(error, WrongMethod):
            headers["allow"] = error.allow
        if self.is_stale and status < 500:
            headers["x-penchant-stale"] = "true"
        response = Response(problem_body(error, base_path), status, headers=headers, media_type=PROBLEM_MEDIA_TYPE)
        if self.method == "HEAD":
            response.body = b""
        scope = {"type": "http", "method": self.method}
        await response(scope, receive, self.sender(send))

    def finish(self) -> None:
        """Count the request and log it where that is asked for; only a 200 counts against a quota."""
        if self.uncount is not None and self.status != 200:
            self.uncount()
        if self._held_bytes:
            self.services.admission.give(self._held_bytes)
        seconds = time.perf_counter() - self._started
        note_request(self.services, self.method, self.template, self.status, seconds)

    def attributes(self) -> dict[str, str | int]:
        """Return what a trace tells of the request."""
        method = self.method if self.method in METHODS else "_OTHER"
        told: dict[str, str | int] = {
            "http.route": self.template,
            "http.request.method": method,
            "http.response.status_code": self.status,
        }
        if self.status >= 500:
            told["error.type"] = str(self.status)
        return told

    def _headers(self) -> list[tuple[bytes, bytes]]:
        headers = [(REQUEST_ID_HEADER, self.request_id.encode())]
        if self.rate is not None:
            rate = self.rate
            headers.append((b"ratelimit-policy", f'"key";q={rate.limit};w=1'.encode()))
            headers.append((b"ratelimit", f'"key";r={rate.remaining};t={rate.reset_s}'.encode()))
        return headers


class Resource:
    """A path with its operations by method: checks a request in the interface's order, then answers it."""

    def __init__(self, operations: Mapping[str, Operation]) -> None:
        self._operations = dict(operations)
        self._template = next(iter(operations.values())).path
        allowed = list(operations)
        if "GET" in operations:
            self._operations["HEAD"] = operations["GET"]
            allowed.insert(allowed.index("GET") + 1, "HEAD")
        self._allow = ", ".join(allowed)

    async def answer(
        self, exchange: "_Exchange", path: Mapping[str, str], query: Query, receive: Receive, send: Send
    ) -> None:
        """Answer one request; errors are raised for the application to answer."""
        exchange.template = self._template
        operation = self._operations.get(exchange.method)
        if operation is None:
            raise WrongMethod(f"This address takes {self._allow}.", allow=self._allow)
        services = exchange.services
        call = Call(
            services=services,
            operation=operation,
            path=path,
            query=query,
            headers=exchange.headers,
            receive=receive,
            hold=exchange.hold,
        )
        if not operation.public:
            await self._admit(call, exchange)
        try:
            answer = await self._handled(call)
        except PenchantError:
            exchange.is_stale = call.is_stale
            if operation.finds_source:
                await services.views.existing(call.access.account_id, call.source)
            raise
        await _respond(call, answer, exchange, receive, send)

    @staticmethod
    async def _handled(call: Call) -> Answer:
        operation = call.operation
        if operation.media_types:
            call.media_type = require_media_type(call.headers, operation.media_types)
            call.body = await read_body(
                call.receive,
                call.headers,
                limit_bytes=call.services.settings.body_limit_bytes,
                timeout_s=call.services.settings.body_timeout_s,
                take=call.hold,
            )
        return await operation.handler(call)

    async def _admit(self, call: Call, exchange: _Exchange) -> None:
        """Check key, rate, role, plan, and that the source exists."""
        services = call.services
        access = await services.access.authenticate(call.headers.getlist("x-api-key"))
        call.caller = access
        exchange.rate = await services.access.count_request(access)
        if exchange.rate is not None and exchange.rate.exceeded:
            raise RateExceeded(f"The key's plan allows {exchange.rate.limit} requests a second.", retry_after_s=1)
        if call.operation.admin:
            services.access.require_admin(access)
            return
        if call.operation.counted:
            exchange.uncount = await services.usage.reserve(access)
        services.access.require_tenant(access)
        for feature in _features(call):
            services.access.require(access, feature)
        call.check_source()
        if not call.operation.creates_source and not call.operation.finds_source:
            call.head = await services.views.existing(access.account_id, call.source)


def _found(routes: Routes["Resource"], raw_path: str) -> tuple["Resource", Mapping[str, str]]:
    """Return the resource of a path and its parameters, decoded; `UnknownRoute` for none."""
    found = routes.find(raw_path)
    if found is None or found[1].get("source") == RESERVED_SEGMENT:
        raise UnknownRoute("No route has this path. Segments may not be empty, and there is no trailing slash.")
    return found[0], {name: decode_component(segment) for name, segment in found[1].items()}


def _routes(base_path: str) -> Routes[Resource]:
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in (*document_operations(OPERATIONS, base_path), *OPERATIONS, *dashboard_operations(base_path)):
        by_path.setdefault(operation.path, {})[operation.method] = operation
    return Routes({path: Resource(methods) for path, methods in by_path.items()}, base_path)


def _features(call: Call) -> list[Feature]:
    """Return the plan features that a request needs, its use of catalogs included."""
    needed = [] if call.operation.feature is None else [call.operation.feature]
    if CATALOGS in call.operation.parameters and any(name in CATALOGS.names() for name in call.query.names()):
        needed.append(Feature.FILTERS)
    return needed


def _is_unchanged(call: Call, answer: Answer) -> bool:
    asked = call.headers.get("if-none-match")
    if asked is None or answer.etag is None:
        return False
    tags = {tag.strip().removeprefix("W/").strip('"') for tag in asked.split(",")}
    return asked.strip() == "*" or answer.etag in tags


async def _respond(call: Call, answer: Answer, exchange: _Exchange, receive: Receive, send: Send) -> None:
    head = exchange.method == "HEAD"
    headers = _answer_headers(call, answer)
    unchanged = _is_unchanged(call, answer)
    if answer.close is not None and (unchanged or head):
        await answer.close()
    send = exchange.sender(send)
    if not unchanged:
        headers["content-type"] = answer.media_type
    if unchanged or isinstance(answer.body, bytes):
        body = b"" if unchanged or not isinstance(answer.body, bytes) else answer.body
        if not unchanged:
            headers["content-length"] = str(len(body))
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        status = 304 if unchanged else answer.status
        await send({"type": "http.response.start", "status": status, "headers": raw})
        await send({"type": "http.response.body", "body": b"" if head else body})
        return
    # Streamed nothing to HEAD, since a length of 0 would be a false one.
    stream = iter(()) if head else answer.body
    await StreamingResponse(stream, answer.status, headers=headers)(exchange.scope, receive, send)


def _answer_headers(call: Call, answer: Answer) -> dict[str, str]:
    headers = dict(answer.headers)
    if answer.version is not None:
        headers["x-penchant-version"] = str(answer.version)
    if call.is_stale:
        headers["x-penchant-stale"] = "true"
    if call.operation.personal:
        headers["cache-control"] = "no-store"
    elif not call.operation.public:
        headers["cache-control"] = "private, no-cache"
        headers["vary"] = "x-api-key"
    if answer.etag is not None:
        headers["etag"] = f'W/"{answer.etag}"'
    if call.operation.method == "GET" and not call.operation.public:
        ignored = call.ignored()
        if ignored:
            headers["x-penchant-ignored"] = ", ".join(_header_safe(name) for name in ignored[:20])
    return headers


def _header_safe(name: str) -> str:
    return quote(name[:100], safe="-_.[]")
