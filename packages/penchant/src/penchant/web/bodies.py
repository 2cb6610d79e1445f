"""Bodies of requests: how they come in, bounded in size and time, decompressed, of an accepted type.

What a part passes, with the bounds that are looked at on the way:

    receive -> _receive_part -> ( of gzip: _chunks -> _inflate -> ) _BoundedBody -> body
               pause                       bytes      members       bytes as they become,
               in time                     as sent                  memory of all requests together
"""

import asyncio
import codecs
import contextlib
import functools
import zlib
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from starlette.datastructures import Headers
from starlette.types import Message, Receive

from penchant.errors import BodyTooLarge, InvalidSyntax, RequestTimeout, UnsupportedMediaType
from penchant.live.database import give_way
from penchant.live.deadlines import Deadlines
from penchant.settings import NodeSettings
from penchant.web.compression import MAX_REMEMBERED_LENGTH

JSON = "application/json"
NDJSON = "application/x-ndjson"
NDJSON_TYPES = (NDJSON, "application/ndjson", "application/jsonl")
"""The names under which one JSON value a line is sent; answers have the first."""
_ACCEPTED_CHARSETS = {"", "utf-8", "utf8"}
_GZIP_WINDOW_BITS = 31
_INFLATE_STEP_BYTES = 1 << 20
"""How much is decompressed before the limit is looked at again: bounds what a bomb can take."""
_INFLATING = ThreadPoolExecutor(1, thread_name_prefix="penchant-inflate", initializer=give_way)
"""One thread, whose parts of all requests take turns: however many bombs come, another core is left for answers."""
_PAUSES = Deadlines()
"""Of all bodies that are read."""
MAX_GZIP_MEMBERS = 16
"""Members of a gzip body: each costs what is left of its part, whether anything is in it or not."""
LINGERING_S = 5.0
LINGERING_BYTES = 64 * 1024 * 1024
"""How much is still taken in of a body that was answered before its end, and for how long."""


class BodyKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of body: its limit among the settings, and how many bytes each of its bytes may become.

    The latter is measured: the largest there is of shapes that are small as JSON and large in memory.
    """

    limit_bytes: Callable[[NodeSettings], int]
    growth: int


CONTENT_BODY = BodyKind(limit_bytes=lambda settings: settings.body_limit_bytes, growth=4)
INTERACTIONS_BODY = BodyKind(limit_bytes=lambda settings: settings.interactions_limit_bytes, growth=5)
LIST_BODY = BodyKind(limit_bytes=lambda settings: settings.list_limit_bytes, growth=32)
SETTINGS_BODY = BodyKind(limit_bytes=lambda settings: settings.settings_limit_bytes, growth=32)


def media_type(headers: Headers) -> str:
    """Return the body's media type in lower case, without parameters; "" where there is none.

    Raises:
        UnsupportedMediaType: a charset other than UTF-8.
    """
    text = headers.get("content-type", "")
    return _media_type(text) if len(text) <= MAX_REMEMBERED_LENGTH else _media_type.__wrapped__(text)


@functools.lru_cache(maxsize=256)
def _media_type(text: str) -> str:
    name, _, parameters = text.partition(";")
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
    content_type = media_type(headers)
    if content_type not in accepted:
        named = f"Found the content type {content_type[:80]!r}" if content_type else "The content type is missing"
        raise UnsupportedMediaType(f"{named}; accepted is {' or '.join(accepted)}.")
    _is_gzip(headers)
    return content_type


def prefers_lines(accept: str) -> bool:
    """Return whether a client would rather have one JSON value a line than one document, by its Accept header."""
    lines = document = 0.0
    # Only what is named counts: ``*/*`` does not say which of the two is liked better.
    for part in accept.lower().split(","):
        name, *parameters = (word.strip() for word in part.split(";"))
        weights = [word[2:] for word in parameters if word.startswith("q=")]
        try:
            weight = float(weights[0]) if weights else 1.0
        except ValueError:
            weight = 0.0
        if name in NDJSON_TYPES:
            lines = max(lines, weight)
        elif name == JSON:
            document = max(document, weight)
    return lines > document


def announces_body(first: Mapping[bytes, bytes]) -> bool:
    """Return whether a request with these headers may have a body; cheap, since most have none."""
    return first.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in first


def has_body(headers: Headers) -> bool:
    """Return whether the request announces a body."""
    return "transfer-encoding" in headers or headers.get("content-length", "0").strip() not in {"", "0"}


async def read_body(
    receive: Receive, headers: Headers, *, limit_bytes: int, timeout_s: float, take: Callable[[int], None]
) -> bytes:
    """Return the whole body, decompressed and without a byte order mark; ``take`` gets the size of every part.

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
    body = _BoundedBody(limit_bytes, take)
    if _is_gzip(headers):
        # Bounded on both sides: before, so that no endless stream of nothing comes in; behind, against bombs.
        async for part in _inflate(_chunks(receive, timeout_s, limit_bytes)):
            body.add(part)
    else:
        more = True
        while more:
            part, more = await _receive_part(receive, timeout_s)
            body.add(part)
    return body.join()


class _BoundedBody:
    """A body, part by part: not larger than it may be, and ``take`` gets the size of each."""

    def __init__(self, limit_bytes: int, take: Callable[[int], None]) -> None:
        self._limit_bytes = limit_bytes
        self._take = take
        self._size = 0
        self._parts: list[bytes] = []

    def add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._limit_bytes:
            raise _too_large(self._limit_bytes)
        # Memory is taken part by part: a body that announces much and sends little takes only what it sends.
        self._take(len(part))
        self._parts.append(part)

    def join(self) -> bytes:
        return b"".join(self._parts).removeprefix(codecs.BOM_UTF8)


class BodyReceiver:
    """The ``receive`` of a request with a body, which knows whether that has come to its end."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._ended = False

    async def __call__(self) -> Message:
        """Return what comes next."""
        message = await self._receive()
        # The message of a disconnect has no such member: then, too, nothing more will come.
        self._ended = not message.get("more_body")
        return message

    async def linger(self) -> None:
        """Read and drop the rest of the body, within bounds, after an answer that did not wait for it.

        Closed with bytes unread, a connection is reset: a proxy that is still sending then loses the answer.
        """
        if self._ended:
            return
        taken = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGERING_S):
                while not self._ended and taken < LINGERING_BYTES:
                    taken += len((await self()).get("body", b""))


def _is_gzip(headers: Headers) -> bool:
    given = headers.get("content-encoding")
    if given is None:
        return False
    encoding = given.strip().lower()
    if encoding not in {"", "identity", "gzip", "x-gzip"}:
        raise UnsupportedMediaType(f"Found the content encoding {encoding[:40]!r}; accepted is gzip or none.")
    return encoding in {"gzip", "x-gzip"}


def _too_large(limit_bytes: int) -> BodyTooLarge:
    return BodyTooLarge(f"The body is larger than {limit_bytes} bytes, the most that is accepted. Send less at once.")


class _Pause:
    """A wait for the next part of a body: where it takes too long, the task that waits is cancelled."""

    __slots__ = ("_cancelling", "_is_expired", "_task")

    def __init__(self) -> None:
        self._task: asyncio.Task[Any] = asyncio.current_task()  # type: ignore[assignment]  # a request has one
        self._cancelling = self._task.cancelling()
        self._is_expired = False

    def expire(self) -> None:
        self._is_expired = True
        self._task.cancel()

    def took_too_long(self) -> bool:
        """Return whether the task was cancelled for this alone; of that it knows no more then."""
        return self._is_expired and self._task.uncancel() <= self._cancelling


async def _receive_part(receive: Receive, timeout_s: float) -> tuple[bytes, bool]:
    """Return the next part of a body, and whether more comes.

    Raises:
        RequestTimeout: the client paused for too long.
        InvalidSyntax: the body ended before its end.
    """
    pause = _Pause()
    _PAUSES.begin(pause, timeout_s)
    try:
        message = await receive()
    except asyncio.CancelledError:
        if not pause.took_too_long():
            raise
        raise RequestTimeout(
            f"Nothing arrived for {timeout_s:g} seconds before the body was complete. Send it again."
        ) from None
    finally:
        _PAUSES.end(pause)
    if message["type"] == "http.disconnect":
        # Whether the client has gone or its framing is broken cannot be seen here; only the latter reads this.
        raise InvalidSyntax("The body ended before its announced end, or a chunk of it is malformed. Send it again.")
    return message.get("body", b""), message.get("more_body", False)


async def _chunks(receive: Receive, timeout_s: float, limit_bytes: int) -> AsyncIterator[bytes]:
    """Yield the parts of a body as they come in; raise `BodyTooLarge` as soon as they are too large together."""
    size, more = 0, True
    while more:
        chunk, more = await _receive_part(receive, timeout_s)
        size += len(chunk)
        if size > limit_bytes:
            raise _too_large(limit_bytes)
        yield chunk


async def _inflate(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the decompressed parts of up to `MAX_GZIP_MEMBERS` gzip members; others are served between two parts."""
    loop = asyncio.get_running_loop()
    inflater = zlib.decompressobj(_GZIP_WINDOW_BITS)
    members = 0
    try:
        async for chunk in chunks:
            rest = chunk
            while rest:
                if members == 0 or inflater.eof:
                    members += 1
                    inflater = zlib.decompressobj(_GZIP_WINDOW_BITS)
                if members > MAX_GZIP_MEMBERS:
                    raise InvalidSyntax(f"The gzip body has more than {MAX_GZIP_MEMBERS} members; send one.")
                # In a thread, where zlib lets others go on: a part of 4 KB may become as much as a step gives.
                yield await loop.run_in_executor(_INFLATING, inflater.decompress, rest, _INFLATE_STEP_BYTES)
                # The first is what the step left over; the second, at a member's end, begins the next. Never both.
                rest = inflater.unconsumed_tail or inflater.unused_data
        # The last step's limit may have held output back although all input was taken.
        while members and not inflater.eof and (held := inflater.decompress(b"", _INFLATE_STEP_BYTES)):
            yield held
    except zlib.error as error:
        raise InvalidSyntax("The body is announced as gzip, but cannot be decompressed.") from error
    if members and not inflater.eof:
        raise InvalidSyntax("The gzip body ends before its end.")
