"""Compression of answers over a kilobyte, in zstd or gzip, for clients that accept it."""

import asyncio
import functools
import zlib
from collections.abc import Callable
from typing import Protocol

import zstandard
from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

MINIMUM_BYTES = 1024
"""Smaller bodies fit into one packet anyway."""
ZSTD_LEVEL = 3
GZIP_LEVEL = 4
"""Levels that cost tens of microseconds for a list of 30."""
SMALL_BYTES = 64 * 1024
"""Larger parts are compressed in a thread: a megabyte takes ten milliseconds, in which nobody is answered."""
MAX_REMEMBERED_LENGTH = 200
"""Characters of a header whose reading is remembered: what clients repeat is short, and strangers may send 60 KB."""
_GZIP_WINDOW_BITS = 31


class _Compressor(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


def _zstd() -> _Compressor:
    return zstandard.ZstdCompressor(level=ZSTD_LEVEL).compressobj()


def _gzip() -> _Compressor:
    return zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW_BITS)


def _compressed(compressor: _Compressor, body: bytes, *, is_last: bool) -> bytes:
    part = compressor.compress(body)
    return part + compressor.flush() if is_last else part


_CODINGS: dict[str, Callable[[], _Compressor]] = {"zstd": _zstd, "gzip": _gzip}


def preferred_coding(accept_encoding: str) -> str | None:
    """Return the best content coding that a client takes, or ``None`` for none of ours."""
    if len(accept_encoding) > MAX_REMEMBERED_LENGTH:
        return _preferred_coding.__wrapped__(accept_encoding)
    return _preferred_coding(accept_encoding)


@functools.lru_cache(maxsize=1_024)
def _preferred_coding(accept_encoding: str) -> str | None:
    qualities: dict[str, float] = {}
    for part in accept_encoding.lower().split(","):
        name, _, parameter = part.partition(";")
        try:
            quality = float(parameter.partition("=")[2] or 1)
        except ValueError:
            quality = 0.0
        qualities[name.strip()] = quality
    accepted = {name: qualities.get(name, qualities.get("*", 0.0)) for name in _CODINGS}
    # Of equal ones the first of ours: zstd.
    best = max(accepted, key=lambda name: accepted[name])
    return best if accepted[best] > 0 else None


class Compression:
    """Compresses answers as their client accepts."""

    def __init__(self) -> None:
        # For whole small answers, one after the other: to make one takes three times as long as such an answer does.
        self._zstd = zstandard.ZstdCompressor(level=ZSTD_LEVEL)

    def over(self, send: Send, accept_encoding: str, forms: dict[str, bytes] | None = None) -> Send:
        """Return what sends an answer on, compressed where that pays.

        In ``forms`` bodies are kept by their coding that are half as large as the answer: the next time they are sent.
        """
        coding = preferred_coding(accept_encoding)
        return send if coding is None else _Encoder(send, coding, self._zstd, {} if forms is None else forms).send


class _Encoder:
    """Holds an answer's start back until its first part tells whether compressing pays.

        start            kept
        first body       short and whole, or 304:  start, body        as they are
                         long, or more to come:    start with the coding and no length, then all parts compressed

    Once the start is out, nothing is held back any more.
    """

    def __init__(self, send: Send, coding: str, zstd: zstandard.ZstdCompressor, forms: dict[str, bytes]) -> None:
        self._send = send
        self._forms = forms
        self._coding = coding
        self._zstd = zstd
        self._start: Message | None = None
        self._compressor: _Compressor | None = None

    async def send(self, message: Message) -> None:
        """Take one message of the answer."""
        if message["type"] == "http.response.start":
            self._start = message
        elif message["type"] == "http.response.body":
            await self._body(message)
        else:
            await self._send(message)

    async def _body(self, message: Message) -> None:
        body, more = message.get("body", b""), message.get("more_body", False)
        if self._start is not None:
            start, self._start = self._start, None
            if (more or len(body) >= MINIMUM_BYTES) and start["status"] != 304:
                self._announce(start)
                if not more and len(body) <= SMALL_BYTES:
                    body = self._whole(body)
                else:
                    self._compressor = _CODINGS[self._coding]()
            await self._send(start)
        if self._compressor is not None:
            work = functools.partial(_compressed, self._compressor, body, is_last=not more)
            body = work() if len(body) <= SMALL_BYTES else await asyncio.to_thread(work)
        await self._send({"type": "http.response.body", "body": body, "more_body": more})

    def _whole(self, body: bytes) -> bytes:
        """Return a whole small body in its coding."""
        known = self._forms.get(self._coding)
        if known is not None:
            return known
        if self._coding == "zstd":
            compressed = self._zstd.compress(body)
        else:
            compressed = _compressed(_CODINGS[self._coding](), body, is_last=True)
        if len(compressed) <= len(body) // len(_CODINGS):
            self._forms[self._coding] = compressed
        return compressed

    def _announce(self, start: Message) -> None:
        headers = MutableHeaders(raw=start["headers"])
        headers["content-encoding"] = self._coding
        headers.add_vary_header("accept-encoding")
        # It was the length before compression; without one the server frames the body by itself.
        del headers["content-length"]
