"""State of one request, from its first byte to its line in the log.

A `RequestExchange` is made before anything of a request is checked and ended when its answer is out. What is found
out meanwhile and shows in every answer, the metrics or the log lies here; what a handler gets is a
`penchant.web.operations.Call`, which never changes. What it takes on its way, it gives back at its end:

    made        id, start of its time
    let in      ``rate`` of its key, and what takes its answers back where they count against a quota
    body read   memory, for as much as the body may become
    answered    ``status``; from then on an error can only cut the connection
    ended       the memory back, the count back unless the status is 200; a count in the metrics, a line in the log

Forwarded headers count only from the addresses in ``trusted-proxies``: everybody else could write them, too.
"""

import asyncio
import functools
import itertools
import os
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from ipaddress import ip_address, ip_network
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from penchant.errors import PenchantError, WrongMethod
from penchant.live.views import View
from penchant.service import Services
from penchant.service.access import AcceptedKey, Access, RateState
from penchant.settings import NodeSettings
from penchant.telemetry import METHODS, logger, request_id
from penchant.web.bodies import BodyKind, BodyReceiver, announces_body, read_body
from penchant.web.compression import MINIMUM_BYTES, Compression
from penchant.web.problems import PROBLEM_MEDIA_TYPE, address_hint, problem_body, status_of
from penchant.web.query import RequestHeaders, Values

REQUEST_ID_HEADER = b"x-request-id"
LET_IN = "penchant.let_in"
"""Where the scope of a request that is part of another one has who sent it, who was let in then."""
READS_AS = "penchant.reads_as"
"""Where such a request has who it is that reads, or makes lists, where that one may do more."""
NO_ROUTE = "(none)"
"""What requests are counted under that were not led to a route."""
_NUMBERS = itertools.count()
"""What request ids of ours end with, behind what is random for the process (4 us less than random ones)."""
_REQUEST_ID = re.compile(r"[A-Za-z0-9._~:/+=-]{1,128}\Z")


def request_id_of(given: bytes | None) -> str:
    """Return the id that a caller gave, if it is well-formed, or one of ours."""
    if given is not None and _REQUEST_ID.match(text := given.decode("latin-1")):
        return text
    return f"{_process.prefix}{next(_NUMBERS):08x}"


class _Process:
    """What request ids of this process begin with: one that was forked has all else of the one that it came from."""

    def __init__(self) -> None:
        self.renew()
        os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        self.prefix = secrets.token_hex(6)


_process = _Process()


def note_request(services: Services, method: str, route: str, status: int, seconds: float) -> None:
    """Count a request that was answered, and log it where that is asked for."""
    services.metrics.count_request(route, method, status, seconds)
    if services.settings.log_requests:
        fields = {"method": method, "route": route, "status": status, "ms": round(seconds * 1000, 3)}
        logger.info("request", extra={"fields": fields})


class RequestExchange:
    """A request while it is answered: how to receive it, how to send to it, and what its answer must carry.

    ``compression`` is how its answer may be compressed; a part of another request is never. ``template`` is the path of
    its route, `NO_ROUTE` before one is found; ``status`` 0 until an answer begins; ``is_stale`` whether the answer may
    be older than what is stored; ``browser_key`` the id of the key of a page, whose refusals are counted; ``accepted``
    what its key grants, by when that was looked up; ``access`` who was let in already, where a request is part of
    another one, and ``reading`` who reads there, where that one may do more; ``challenge`` what a refusal of the key
    says it wants; ``view`` the source as it was found on the way to the handler; ``values`` those of the query's
    parameters, once they were read; ``body`` what takes in the body, where there may be one.
    """

    template = NO_ROUTE
    status = 0
    is_stale = False
    rate: RateState | None = None
    browser_key: str | None = None
    accepted: AcceptedKey | None = None
    access: Access | None = None
    reading: Access | None = None
    view: View | None = None
    values: Values | None = None
    challenge = 'ApiKey realm="penchant", header="x-api-key"'
    _uncount: tuple[Callable[[], None], ...] = ()
    _body_bytes = 0
    _pace: "ReadingPace | None" = None

    def __init__(
        self, scope: Scope, services: Services, receive: Receive, send: Send, compression: Compression | None = None
    ) -> None:
        """Begin with a request: its id is that of all log lines from here on."""
        # Before the wait for its turn, where it has to wait: the time that the client sees.
        self._started = time.perf_counter()
        self.scope = scope
        self.services = services
        self.headers = RequestHeaders(scope["headers"])
        self.body = BodyReceiver(receive) if announces_body(self.headers.first) else None
        self.receive: Receive = self.body or receive
        self.method: str = scope["method"]
        self.request_id = request_id_of(self.headers.first.get(REQUEST_ID_HEADER))
        request_id.set(self.request_id)
        self._send = send
        self._compression = compression

    def let_in(self, access: Access | None, reading: Access | None) -> None:
        """Note that the request is part of another one, and who was let in with that."""
        self.access, self.reading = access, reading
        if access is not None and access.is_browser:
            self.browser_key = access.key_id

    async def read_body(self, kind: BodyKind) -> bytes:
        """Return the whole body, decompressed. What it becomes counts as taken memory until the request is over.

        Raises:
            BodyTooLarge, RequestTimeout, InvalidSyntax, UnsupportedMediaType, Overloaded: as
                `penchant.web.bodies.read_body`.
        """
        settings = self.services.settings
        return await read_body(
            self.receive,
            self.headers,
            # No body passes the limit of all bodies, whatever the limit of its kind says.
            limit_bytes=min(kind.limit_bytes(settings), settings.body_limit_bytes),
            timeout_s=settings.body_timeout_s,
            take=lambda size: self._take_memory(size * kind.growth),
        )

    def counted(self, uncount: Callable[[], None]) -> None:
        """Note what takes answers back from the month's quota, which counts those of requests with status 200 only."""
        self._uncount += (uncount,)

    def _take_memory(self, size: int) -> None:
        self.services.admission.take(size)
        self._body_bytes += size

    async def while_connected(self, work: Coroutine[Any, Any, None]) -> None:
        """Do long work, which is cancelled as soon as the client has gone; for requests whose body nobody reads.

        Raises:
            ClientDisconnect: it has gone.
        """
        working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(self._departure())
        try:
            await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise ClientDisconnect
            working.result()
        finally:
            working.cancel()
            leaving.cancel()
            # What was cancelled gives back its turn before anything else is done.
            await asyncio.wait((working, leaving))

    async def _departure(self) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass

    async def send(self, message: Message) -> None:
        """Send a message of the answer, with the headers that every answer carries.

        Raises:
            ClientDisconnect: the client takes in nothing of a stream for too long, or too little.
        """
        if message["type"] == "http.response.start":
            self._compress()
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), *self._headers()]
        if not message.get("more_body"):
            # A whole answer is handed over at once; only a stream waits for its reader.
            await self._send(message)
            return
        if self._pace is None:
            self._pace = ReadingPace(self.services.settings.send_rate_bytes)
        size, began = len(message.get("body", b"")), time.monotonic()
        try:
            async with asyncio.timeout(self._pace.patience_s(size, self.services.settings.send_timeout_s)):
                await self._send(message)
        except TimeoutError:
            # A client that reads nothing must not keep an answer, and what it was read from, for ever.
            raise ClientDisconnect from None
        if self._pace.is_too_slow(size, time.monotonic() - began):
            raise ClientDisconnect

    async def send_whole(
        self,
        status: int,
        headers: Sequence[tuple[bytes, bytes]],
        body: bytes,
        forms: dict[str, bytes] | None = None,
    ) -> None:
        """Send a whole answer, which is handed over at once; ``forms`` are kept of one that is sent again."""
        self.status = status
        if len(body) >= MINIMUM_BYTES:
            self._compress(forms)
        send = self._send
        await send({"type": "http.response.start", "status": status, "headers": [*headers, *self._headers()]})
        await send({"type": "http.response.body", "body": body})

    def record(self) -> list[Message]:
        """Return where the messages of the answer will be, as they go out."""
        send, messages = self._send, list[Message]()

        async def recording(message: Message) -> None:
            messages.append(message)
            await send(message)

        self._send = recording
        return messages

    def _compress(self, forms: dict[str, bytes] | None = None) -> None:
        """Have what is sent from here on compressed, where the client accepts it and that pays."""
        # HEAD keeps the length of the answer as it is without compression.
        accepted = self.headers.first.get(b"accept-encoding")
        if accepted is not None and self._compression is not None and self.method != "HEAD":
            self._send = self._compression.over(self._send, accepted.decode("latin-1"), forms)

    async def answer_by(self, route: Callable[["RequestExchange"], Awaitable[None]], base_path: str) -> None:
        """Have a request answered by what it is led to, with a problem where that fails."""
        try:
            await route(self)
        except ClientDisconnect:
            self.status = 499  # nobody is there to read an answer
        except PenchantError as error:
            await self.send_problem(error, base_path)
        except Exception:  # noqa: BLE001  # the process must outlive any request
            self.services.metrics.failures.labels("request").inc()
            logger.exception("request failed")
            await self.send_problem(PenchantError("Something failed inside."), base_path)

    async def send_problem(self, error: PenchantError, base_path: str) -> None:
        """Answer with an error; where an answer has begun already, raise it, which cuts the connection short."""
        if self.status:
            logger.warning("an answer was cut short")
            raise error
        self.services.metrics.problems.labels(error.code).inc()
        if self.browser_key is not None:
            self.services.metrics.count_browser_refusal(self.browser_key, error.code)
        status = status_of(error)
        if status in {401, 404} and (hint := address_hint(self.scope["path"], base_path)):
            error.detail = f"{error.detail} {hint}"
        headers = {"cache-control": "no-store"}
        if error.retry_after_s is not None:
            # Whole seconds, and never 0, which would ask for a retry at once.
            headers["retry-after"] = str(max(1, round(error.retry_after_s)))
        if status == 401:
            headers["www-authenticate"] = self.challenge
        if isinstance(error, WrongMethod):
            headers["allow"] = error.allow
        if self.is_stale and status < 500:
            headers["x-penchant-stale"] = "true"
        response = Response(problem_body(error, base_path), status, headers=headers, media_type=PROBLEM_MEDIA_TYPE)
        if self.method == "HEAD":
            # After the length was set from it: HEAD tells the length that GET would have.
            response.body = b""
        await response({"type": "http", "method": self.method}, self.receive, self.send)

    def end(self) -> None:
        """Give back what the request took, count it, and log it where that is configured."""
        if self.status != 200:
            for uncount in self._uncount:
                uncount()
        if self._body_bytes:
            self.services.admission.give(self._body_bytes)
        seconds = time.perf_counter() - self._started
        note_request(self.services, self.method, self.template, self.status, seconds)

    def is_secure(self) -> bool:
        """Return whether the request came over TLS, to us or to a trusted proxy."""
        return is_secure(self.scope, self.headers, self.services.settings)

    def is_from_proxy(self) -> bool:
        """Return whether a trusted proxy sent the request to us: what its headers say is the proxy's word."""
        return _is_trusted(_peer(self.scope), self.services.settings.trusted_proxies)

    def client_address(self) -> str:
        """Return the address that the request came from, before all trusted proxies."""
        return client_address(self.scope, self.headers, self.services.settings)

    def attributes(self) -> dict[str, str | int]:
        """Return the attributes of the request's span in a trace."""
        attributes: dict[str, str | int] = {
            "http.route": self.template,
            "http.request.method": self.method if self.method in METHODS else "_OTHER",
            "http.response.status_code": self.status,
        }
        if self.status >= 500:
            attributes["error.type"] = str(self.status)
        return attributes

    def _headers(self) -> list[tuple[bytes, bytes]]:
        headers = [(REQUEST_ID_HEADER, self.request_id.encode())]
        settings = self.services.settings
        if settings.hsts_max_age_s and self.is_secure():
            headers.append((b"strict-transport-security", b"max-age=%d" % settings.hsts_max_age_s))
        if self.rate is not None:
            rate = self.rate
            headers.append((b"ratelimit-policy", f'"{rate.policy}";q={rate.limit};w=1'.encode()))
            headers.append((b"ratelimit", f'"{rate.policy}";r={rate.remaining};t={rate.reset_s}'.encode()))
        return headers


WINDOW_S = 30.0
"""The time over which the pace is averaged: a network that falters for some seconds costs nobody an answer."""


class ReadingPace:
    """Measures a client window by window; only time in which the service waits for it counts."""

    def __init__(self, least_bytes_per_s: float) -> None:
        self._least = least_bytes_per_s
        self._size = 0
        self._waited_s = 0.0

    def patience_s(self, size: int, most_s: float) -> float:
        """Return how long to wait for a part of so many bytes to be taken in, at most ``most_s``."""
        # A part so large that even the least pace needs longer than a window gets the time that it needs.
        return min(most_s, max(WINDOW_S, size / self._least)) if self._least else most_s

    def is_too_slow(self, size: int, waited_s: float) -> bool:
        """Count a part that was taken in, and return whether the window that ends with it was below the least pace."""
        self._size += size
        self._waited_s += waited_s
        if self._waited_s < WINDOW_S:
            return False
        is_slow = self._size < self._least * self._waited_s
        # A new window: who was quick once has no credit for later.
        self._size, self._waited_s = 0, 0.0
        return is_slow


def is_secure(scope: Scope, headers: Headers, settings: NodeSettings) -> bool:
    """Return whether a request came over TLS, to us or to a trusted proxy."""
    if settings.tls_certificate is not None:
        return True
    if not _is_trusted(_peer(scope), settings.trusted_proxies):
        return False
    return headers.get("x-forwarded-proto", "").rpartition(",")[2].strip().lower() == "https"


def client_address(scope: Scope, headers: Headers, settings: NodeSettings) -> str:
    """Return the address that a request came from: the last one that no trusted proxy has."""
    address = _peer(scope)
    forwarded = [part.strip() for text in headers.getlist("x-forwarded-for") for part in text.split(",")]
    # From the right, where each proxy adds the address it saw; what stands left of the first stranger is hearsay.
    while forwarded and _is_trusted(address, settings.trusted_proxies):
        address = forwarded.pop()
    return address


def _peer(scope: Scope) -> str:
    client = scope.get("client")
    return "" if client is None else str(client[0])


@functools.lru_cache(maxsize=1_024)
def _is_trusted(address: str, proxies: Sequence[str]) -> bool:
    if not proxies:
        return False
    try:
        # A socket for IPv4 and IPv6 shows IPv4 addresses in this form.
        parsed = ip_address(address.removeprefix("::ffff:"))
    except ValueError:
        return False
    return any(parsed in ip_network(proxy) for proxy in proxies)
