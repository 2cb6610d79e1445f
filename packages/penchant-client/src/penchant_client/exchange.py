"""The exchange with a service: how a request is written for httpx, and what an answer or a lost connection means.

Splitting of a listing into entries while it arrives: JSON is read as it comes, one entry in memory at most.

It finds the entries of the only array that the outermost object holds, without looking into them: decoding an
entry shows whether it is good. Brackets count the depth, and a comma or the closing bracket at depth 2 ends an entry:

    {"source": "films", "content": [ {"id": ..., "categories": {...}}, {"id": ...} ]}
    1                              2 3                        4     3  2
                                     |----------- entry ------------|  |- entry --|

Retries: when a failed request is sent again. Only where it cannot do anything twice, and clients not all at once.
"""

import contextlib
import random
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

import httpx

from penchant_client.errors import (
    AnswerDetails,
    ClientError,
    ConnectionLost,
    InvalidArgument,
    ServiceError,
    TooManyRequests,
    Unavailable,
    UnreadableAnswer,
    error_of,
)
from penchant_client.problems import IndexNotReady, NotYetVisible, Overloaded
from penchant_client.requests import Answered, Request
from penchant_client.tables import NotedRecord
from penchant_client.version import __version__

_NOTHING_DONE = (TooManyRequests, Overloaded, NotYetVisible, IndexNotReady)
"""With these the service says that it did nothing of the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often a request is tried in all, and how long the pauses between grow; ``attempts=1`` never repeats.

    The pauses double from the first to the longest, each shortened at random by up to a half. A ``Retry-After`` of
    the service is waited for, unless it is longer than the longest pause: then the error is raised at once.
    """

    attempts: int = 5
    first_pause_s: float = 0.25
    longest_pause_s: float = 20.0

    def pause_s(self, error: ClientError, request: Request[Any], attempt: int) -> float | None:
        """Return how long to wait before a request is sent again after its n-th attempt, or `None` to give up."""
        if attempt >= self.attempts or not _may_repeat(error, request):
            return None
        # Doubled each time: 0.25, 0.5, 1 s and so on, unless the service itself says how long.
        step = min(self.longest_pause_s, self.first_pause_s * 2.0 ** (attempt - 1))
        retry_after_s = error.retry_after_s if isinstance(error, ServiceError) else None
        if retry_after_s is None:
            return random.uniform(step / 2, step)  # noqa: S311  # spreads clients, guards nothing
        if retry_after_s > self.longest_pause_s:
            return None
        return retry_after_s + random.uniform(0, step)  # noqa: S311  # as above


def _may_repeat(error: ClientError, request: Request[Any]) -> bool:
    if isinstance(error, ConnectionLost):
        return request.repeatable or not error.sent
    # With any other 503, that of an unreachable database for one, a change may have been stored all the same.
    return isinstance(error, _NOTHING_DONE) or (isinstance(error, Unavailable) and request.repeatable)


# Possessive (++, *+): what was matched is not given back, so that no text makes the search slow.
_TOKEN = re.compile(rb'(?:[^"\[\]{},]++|"(?:[^"\\]++|\\.)*+")*+([\[\]{},])', re.DOTALL)
_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+([\[\]{}])', re.DOTALL)
"""Everything up to the next bracket or comma that is in no string; inside of entries commas do not matter."""
_OPENING, _CLOSING = b"[{", b"]}"
_ENTRIES_DEPTH = 2
"""Entries lie in an array, which lies in an object."""


class Splitter:
    """Cuts the entries out of a listing that comes in parts."""

    def __init__(self) -> None:
        self._rest = b""
        self._place = 0
        """Up to where the rest was looked through: what follows is an unfinished token."""
        self._start: int | None = None
        """Where the present entry begins in the rest; none outside of the array."""
        self._depth = 0
        self._is_complete = False

    def feed(self, part: bytes) -> Iterator[bytes]:
        """Yield every entry that ends in this part."""
        self._rest += part
        while token := self._pattern().match(self._rest, self._place):
            self._place = token.end()
            entry = self._take(token[1], token.start(1))
            if entry:
                yield entry
        self._forget()

    def end(self) -> None:
        """Say that nothing follows.

        Raises:
            UnreadableAnswer: the listing has not ended.
        """
        if not self._is_complete:
            raise UnreadableAnswer("The listing ended in the middle; what came before is right.")

    def _pattern(self) -> re.Pattern[bytes]:
        return _BRACKET if self._depth > _ENTRIES_DEPTH else _TOKEN

    def _take(self, token: bytes, start: int) -> bytes:
        """Follow a token; return the entry that ends with it, or nothing."""
        entry = b""
        if token in _OPENING:
            self._depth += 1
            if token == b"[" and self._depth == _ENTRIES_DEPTH:
                self._start = start + 1
        elif token in _CLOSING:
            if token == b"]" and self._depth == _ENTRIES_DEPTH:
                entry, self._start = self._cut(start), None
            self._depth -= 1
            self._is_complete = self._depth == 0
        elif token == b"," and self._depth == _ENTRIES_DEPTH and self._start is not None:
            entry, self._start = self._cut(start), start + 1
        return entry

    def _cut(self, end: int) -> bytes:
        return self._rest[self._start : end].strip()

    def _forget(self) -> None:
        """Let go of what was looked through, but for the entry that has not ended."""
        # Positions are moved by as much as is cut off in front of them.
        done = self._place if self._start is None else self._start
        self._rest = self._rest[done:]
        self._place -= done
        if self._start is not None:
            self._start = 0


__all__ = ["TIMEOUT_S", "ServiceConnection", "Versions", "error_in", "failed", "httpx", "noted", "translated"]

TIMEOUT_S = 30.0
"""How long a part of an answer may take: more than the service itself waits for anything."""
_MIN_VERSION, _VERSION, _REQUEST_ID = "x-penchant-min-version", "x-penchant-version", "x-request-id"
_INTERACTIONS_VERSION, _AUDIENCE_VERSION = "x-penchant-interactions-version", "x-penchant-audience-version"
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class Versions:
    """The greatest version that was seen of each source: of its content, its interactions, or the audience of lists."""

    def __init__(self) -> None:
        self._by_source: dict[str, int] = {}
        self._lock = threading.Lock()

    def saw(self, source: str, version: int) -> None:
        """Remember a version."""
        with self._lock:
            self._by_source[source] = max(version, self._by_source.get(source, 0))

    def of(self, source: str | None) -> int:
        """Return the greatest version that was seen of a source; 0 of one that was never asked for."""
        return self._by_source.get(source or "", 0)


class ServiceConnection:
    """Writes requests to one address, and reads what is answered there."""

    def __init__(self, address: str, key: str, *, wait: bool) -> None:
        if not address.startswith(("http://", "https://")):
            raise ValueError(f"{address!r} is no address; one such as http://127.0.0.1:8080 is accepted.")
        self.address = address.rstrip("/")
        self._headers = {"x-api-key": key, "accept": "*/*", "user-agent": f"penchant-client/{__version__}"}
        self._wait = wait
        self.versions = Versions()
        self.interactions_versions = Versions()
        self.audience_versions = Versions()

    def written(self, request: Request[Any]) -> dict[str, Any]:
        """Return a request as arguments of httpx."""
        headers = self._headers | dict(request.headers)
        if request.body is not None:
            headers["content-type"] = "application/json"
        # A client that has written sees its own change, on whichever node: that is what `wait` means.
        least = max(request.at_least, self.versions.of(request.source) if self._wait and request.reads else 0)
        if least:
            headers[_MIN_VERSION] = str(least)
        return {
            "method": request.method,
            "url": self.address + request.path,
            "params": request.query or None,
            "headers": headers,
            "content": request.body,
        }

    def note(self, request: Request[Any], response: httpx.Response) -> None:
        """Remember which versions an answer tells."""
        for header, versions in (
            (_VERSION, self.versions),
            (_INTERACTIONS_VERSION, self.interactions_versions),
            (_AUDIENCE_VERSION, self.audience_versions),
        ):
            version = response.headers.get(header, "")
            if request.source is not None and version.isdecimal():
                versions.saw(request.source, int(version))


def noted(answer: Answered, response: httpx.Response) -> Answered:
    """Return an answer that knows what its headers say of the list in it."""
    if isinstance(answer, NotedRecord):
        answer.note(response.headers)
    return answer


def failed(response: httpx.Response) -> bool:
    """Return whether an answer is an error; a redirection is one, too, since no address of the service moves."""
    return response.status_code >= 300


def error_in(response: httpx.Response) -> ServiceError:
    """Return the error that an answer, read to its end, stands for."""
    details = AnswerDetails(
        status=response.status_code,
        request_id=response.headers.get(_REQUEST_ID),
        retry_after_s=_seconds(response.headers.get("retry-after", "")),
    )
    return error_of(response.content, details)


def _seconds(retry_after: str) -> float | None:
    """Return how long a ``Retry-After`` says to wait: seconds, or until a date as some proxies write it."""
    if retry_after.isdecimal():
        return float(retry_after)
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time())
    except (ValueError, OverflowError):
        return None


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Have what httpx raises raised as a `ClientError`."""
    try:
        yield
    except (httpx.InvalidURL, UnicodeEncodeError) as error:
        raise InvalidArgument(f"The request cannot be sent: {error}") from error
    except httpx.DecodingError as error:
        raise UnreadableAnswer(f"The answer's encoding cannot be read: {error}") from error
    except httpx.TransportError as error:
        # Where no connection was made nothing was sent, so that any request may be sent again.
        sent = not isinstance(error, _NEVER_SENT)
        raise ConnectionLost(f"No answer came: {error or type(error).__name__}", sent=sent) from error
