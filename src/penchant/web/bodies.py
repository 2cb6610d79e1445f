"""How does a request's body come in? Bounded in size and time, decompressed, of an accepted type."""

import asyncio
import contextlib
import zlib
from collections.abc import AsyncIterator, Callable, Collection

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope

from penchant.errors import BodyTooLarge, InvalidSyntax, RequestTimeout, UnsupportedMediaType

JSON = "application/json"
NDJSON = "application/x-ndjson"
_ACCEPTED_CHARSETS = {"", "utf-8", "utf8"}
_GZIP_WINDOW_BITS = 31
_BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding"})
_INFLATE_STEP_BYTES = 1 << 20
"""How much is decompressed before the limit is looked at again: bounds what a bomb can take."""
LINGERING_S = 5.0
LINGERING_BYTES = 64 * 1024 * 1024
"""How much is still taken in of a body that was answered before its end, and for how long."""


def media_type(headers: Headers) -> str:
    """Return the body's media type in lower case, without parameters; "" where there is none.

    Raises:
        UnsupportedMediaType: a charset other than UTF-8.
    """
    name, _, parameters = headers.get("content-type", "").partition(";")
    for parameter in parameters.split(";"):
        key, _, value = parameter.partition("=")
        if key.strip().lower() == "charset" and value.strip().strip('"').lower() not in _ACCEPTED_CHARSETS:
            raise UnsupportedMediaType("The body's charset is not accepted; send UTF-8.")
    return name.strip().lower()


def require_media_type(headers: Headers, accepted: Collection[str]) -> str:
    """Return the body's media type, which is one of those accepted.

    Raises:
        UnsupportedMediaType: none or another type, or an encoding other than gzip.
    """
    found = media_type(headers)
    if found not in accepted:
        named = f"Found the content type {found[:80]!r}" if found else "The content type is missing"
        raise UnsupportedMediaType(f"{named}; accepted is {' or '.join(accepted)}.")
    _is_gzip(headers)
    return found


def announces_body(scope: Scope) -> bool:
    """Return whether a request may have a body; cheap, since most have none."""
    return any(name in _BODY_HEADERS and value != b"0" for name, value in scope["headers"])


def has_body(headers: Headers) -> bool:
    """Return whether the request announces a body."""
    return "transfer-encoding" in headers or headers.get("content-length", "0").strip() not in {"", "0"}


async def read_body(
    receive: Receive, headers: Headers, *, limit_bytes: int, timeout_s: float, take: Callable[[int], None]
) -> bytes:
    """Return the whole body, decompressed; ``take`` is told of every part before the next one is received.

    Raises:
        BodyTooLarge: more than ``limit_bytes``; it is not read to its end.
        RequestTimeout: the client paused for longer than ``timeout_s``.
        InvalidSyntax: a gzip body that is none.
        UnsupportedMediaType: another encoding.
        Overloaded: ``take`` has no room for it.
    """
    announced = headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > limit_bytes:
        raise _too_large(limit_bytes)
    chunks = _chunks(receive, timeout_s)
    if _is_gzip(headers):
        chunks = _inflate(chunks)
    parts = []
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > limit_bytes:
            raise _too_large(limit_bytes)
        take(len(chunk))
        parts.append(chunk)
    return b"".join(parts)


class Receiving:
    """The ``receive`` of a request with a body, which knows whether that has come to its end."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._ended = False

    async def __call__(self) -> Message:
        """Return what comes next."""
        message = await self._receive()
        self._ended = not message.get("more_body")
        return message

    async def linger(self) -> None:
        """Take in and forget what is left of the body, within bounds, after an answer that did not wait for it.

        Closed with bytes unread, a connection is reset: a proxy that is still sending then loses the answer.
        """
        taken = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGERING_S):
                while not self._ended and taken < LINGERING_BYTES:
                    taken += len((await self()).get("body", b""))


def _is_gzip(headers: Headers) -> bool:
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding not in {"", "identity", "gzip", "x-gzip"}:
        raise UnsupportedMediaType(f"Found the content encoding {encoding[:40]!r}; accepted is gzip or none.")
    return encoding in {"gzip", "x-gzip"}


def _too_large(limit_bytes: int) -> BodyTooLarge:
    return BodyTooLarge(f"The body is larger than {limit_bytes} bytes, the most that is accepted. Send less at once.")


async def _chunks(receive: Receive, timeout_s: float) -> AsyncIterator[bytes]:
    more = True
    while more:
        try:
            async with asyncio.timeout(timeout_s):
                message = await receive()
        except TimeoutError:
            raise RequestTimeout(
                f"Nothing arrived for {timeout_s:g} seconds before the body was complete. Send it again."
            ) from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        more = message.get("more_body", False)
        yield message.get("body", b"")


async def _inflate(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the decompressed parts of one or more gzip members."""
    inflater = zlib.decompressobj(_GZIP_WINDOW_BITS)
    started = False
    try:
        async for chunk in chunks:
            rest = chunk
            while rest:
                if inflater.eof:
                    inflater = zlib.decompressobj(_GZIP_WINDOW_BITS)
                started = True
                yield inflater.decompress(rest, _INFLATE_STEP_BYTES)
                rest = inflater.unconsumed_tail or inflater.unused_data
        # The last step's limit may have held output back although all input was taken.
        while started and not inflater.eof and (held := inflater.decompress(b"", _INFLATE_STEP_BYTES)):
            yield held
    except zlib.error as error:
        raise InvalidSyntax("The body is announced as gzip, but cannot be decompressed.") from error
    if started and not inflater.eof:
        raise InvalidSyntax("The gzip body ends before its end.")
