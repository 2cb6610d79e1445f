"""In which order is a request checked, and what does every answer carry? The ASGI application.

The order is the interface's (section 1): path 400, route 404, method 405, key 401, rate 429, plan 403, source
404, content type 415, size 413, and then what the operation itself checks.
"""

import asyncio
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from penchant.errors import PenchantError, RateExceeded, UnknownRoute, WrongMethod
from penchant.model import Feature
from penchant.service import Services
from penchant.service.access import RateState
from penchant.telemetry import logger
from penchant.web.bodies import read_body, require_media_type
from penchant.web.compression import Compression
from penchant.web.documents import document_operations
from penchant.web.operations import Answer, Call, Operation
from penchant.web.parameters import CATALOGS
from penchant.web.problems import problem_body, status_of
from penchant.web.raw import decode_component, parse_query
from penchant.web.routes import OPERATIONS

RESERVED_SEGMENT = "-"
"""The first path segment that is the service's own; no source can be called so."""
REQUEST_ID_HEADER = "x-request-id"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._~:/+=-]{1,128}\Z")
_PROBLEM_MEDIA_TYPE = "application/problem+json"
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
        router = self._router(base_path)
        app: ASGIApp = Compression(self._checked(router))
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

    def _router(self, base_path: str) -> Router:
        operations = (*document_operations(OPERATIONS, base_path), *OPERATIONS)
        by_path: dict[str, dict[str, Operation]] = {}
        for operation in operations:
            by_path.setdefault(operation.path, {})[operation.method] = operation
        routes = [Route(path, Resource(methods)) for path, methods in by_path.items()]
        router = Router(routes, redirect_slashes=False, default=_unknown_route)
        if not base_path:
            return router
        return Router([Mount(base_path, app=router)], redirect_slashes=False, default=_unknown_route)

    def _checked(self, router: Router) -> ASGIApp:
        """Wrap the router: raw paths in, every error out as a problem, every answer counted."""

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            services = self.services
            if services is None:
                raise RuntimeError("a request came before the start")
            exchange = _Exchange(scope, services)
            try:
                raw_path = scope["raw_path"].partition(b"?")[0].decode("latin-1")
                for segment in raw_path.split("/"):
                    decode_component(segment)
                scope["penchant.query"] = parse_query(scope["query_string"])
                scope["penchant.exchange"] = exchange
                # The router sees the encoded path: a %2F inside an id is no separator.
                scope["path"] = raw_path
                await router(scope, receive, exchange.sender(send))
            except ClientDisconnect:
                exchange.status = 499  # nobody is there to read an answer
            except PenchantError as error:
                await exchange.problem(error, self._base_path, receive, send)
            except Exception:  # noqa: BLE001  # the process must outlive any request
                services.metrics.failures.labels("request").inc()
                logger.exception("request failed", extra={"fields": {"request_id": exchange.request_id}})
                await exchange.problem(PenchantError("Something failed inside."), self._base_path, receive, send)
            finally:
                exchange.finish()

        return app


class _Exchange:
    """What is known of a request while it runs, for its answer's headers, the metrics and the log."""

    def __init__(self, scope: Scope, services: Services) -> None:
        given = Headers(scope=scope).get(REQUEST_ID_HEADER, "")
        self.request_id = given if _REQUEST_ID.match(given) else secrets.token_hex(8)
        self.method: str = scope["method"]
        self.template = "(none)"
        self.status = 0
        self.rate: RateState | None = None
        self.uncount: Callable[[], None] | None = None
        self.services = services
        self._started = time.perf_counter()

    def sender(self, send: Send) -> Send:
        """Return a ``send`` that adds what every answer carries."""

        async def wrapped(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                self.status = int(str(message["status"]))
                headers = message.setdefault("headers", [])
                if isinstance(headers, list):
                    headers.extend(self._headers())
            try:
                async with asyncio.timeout(self.services.settings.send_timeout_s):
                    await send(message)
            except TimeoutError:
                # A client that reads nothing must not hold an answer, and what it was read from, for ever.
                raise ClientDisconnect from None

        return wrapped  # type: ignore[return-value]  # messages are mutable mappings

    async def problem(self, error: PenchantError, base_path: str, receive: Receive, send: Send) -> None:
        """Answer an error, unless an answer has begun already: then the connection is cut short."""
        if self.status:
            logger.warning("an answer was cut short", extra={"fields": {"request_id": self.request_id}})
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
        response = Response(problem_body(error, base_path), status, headers=headers, media_type=_PROBLEM_MEDIA_TYPE)
        if self.method == "HEAD":
            response.body = b""
        scope = {"type": "http", "method": self.method}
        await response(scope, receive, self.sender(send))

    def finish(self) -> None:
        """Count the request and log it where that is asked for; only a 200 counts against a quota."""
        if self.uncount is not None and self.status != 200:
            self.uncount()
        seconds = time.perf_counter() - self._started
        metrics = self.services.metrics
        metrics.requests.labels(self.template, self.method, str(self.status)).inc()
        metrics.request_seconds.labels(self.template, self.method).observe(seconds)
        if self.services.settings.log_requests:
            fields = {
                "request_id": self.request_id,
                "method": self.method,
                "route": self.template,
                "status": self.status,
                "ms": round(seconds * 1000, 3),
            }
            logger.info("request", extra={"fields": fields})

    def _headers(self) -> list[tuple[bytes, bytes]]:
        headers = [(REQUEST_ID_HEADER.encode(), self.request_id.encode())]
        if self.rate is not None:
            rate = self.rate
            headers.append((b"ratelimit-policy", f'"key";q={rate.limit};w=1'.encode()))
            headers.append((b"ratelimit", f'"key";r={rate.remaining};t={rate.reset_s}'.encode()))
        return headers


class Resource:
    """A path with its operations by method: checks a request in the interface's order, then answers it."""

    def __init__(self, operations: Mapping[str, Operation]) -> None:
        self._operations = dict(operations)
        allowed = list(operations)
        if "GET" in operations:
            self._operations["HEAD"] = operations["GET"]
            allowed.insert(allowed.index("GET") + 1, "HEAD")
        self._allow = ", ".join(allowed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; errors are raised for the application to answer."""
        exchange: _Exchange = scope["penchant.exchange"]
        raw_parameters: dict[str, str] = scope["path_params"]
        if raw_parameters.get("source") == RESERVED_SEGMENT:
            raise UnknownRoute("No route has this path below /-/.")
        operation = self._operations.get(scope["method"])
        any_operation = next(iter(self._operations.values()))
        exchange.template = any_operation.path
        if operation is None:
            raise WrongMethod(f"This address takes {self._allow}.", allow=self._allow)
        services = exchange.services
        call = Call(
            services=services,
            operation=operation,
            path={name: decode_component(raw) for name, raw in raw_parameters.items() if name != "path"},
            query=scope["penchant.query"],
            headers=Headers(scope=scope),
            receive=receive,
        )
        if not operation.public:
            await self._admit(call, exchange)
        if operation.media_types:
            call.media_type = require_media_type(call.headers, operation.media_types)
            call.body = await read_body(
                receive,
                call.headers,
                limit_bytes=services.settings.body_limit_bytes,
                timeout_s=services.settings.body_timeout_s,
            )
        answer = await operation.handler(call)
        response = await _respond(call, answer, head=scope["method"] == "HEAD")
        await response(scope, receive, send)

    async def _admit(self, call: Call, exchange: _Exchange) -> None:
        """Check key, rate, plan, and that the source exists."""
        services = call.services
        access = await services.access.authenticate(call.headers.getlist("x-api-key"))
        call.caller = access
        exchange.rate = services.access.count_request(access)
        if exchange.rate is not None and exchange.rate.exceeded:
            raise RateExceeded(f"The key's plan allows {exchange.rate.limit} requests a second.", retry_after_s=1)
        if call.operation.counted:
            exchange.uncount = await services.usage.reserve(access)
        services.access.require_tenant(access)
        for feature in _features(call):
            services.access.require(access, feature)
        call.check_source()
        if not call.operation.creates_source:
            await services.views.exists(access.account_id, call.source)


async def _unknown_route(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise UnknownRoute("No route has this path. Segments may not be empty, and there is no trailing slash.")


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


async def _respond(call: Call, answer: Answer, *, head: bool) -> Response:
    headers = _answer_headers(call, answer)
    unchanged = _is_unchanged(call, answer)
    if answer.close is not None and (unchanged or head):
        await answer.close()
    if unchanged:
        return Response(status_code=304, headers=headers)
    body = answer.body
    if isinstance(body, bytes):
        headers["content-length"] = str(len(body))
        return Response(b"" if head else body, answer.status, headers=headers, media_type=answer.media_type)
    if head:
        # Streamed nothing, since a length of 0 would be a false one.
        return StreamingResponse(iter(()), answer.status, headers=headers, media_type=answer.media_type)
    return StreamingResponse(body, answer.status, headers=headers, media_type=answer.media_type)


def _answer_headers(call: Call, answer: Answer) -> dict[str, str]:
    headers: dict[str, str] = {}
    if answer.version is not None:
        headers["x-penchant-version"] = str(answer.version)
    if answer.stale:
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
