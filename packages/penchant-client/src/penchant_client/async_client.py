"""The client for programs with an event loop; `Client`, the one that blocks its thread, is generated from it.

``python scripts/generate_client.py`` writes ``blocking_client.py`` anew after a change. What does not wait for
anything (writing requests, reading answers, when to send again) is shared and stands elsewhere.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Self, TypeVar, cast

from penchant_client.errors import ClientError, InvalidArgument
from penchant_client.exchange import (
    TIMEOUT_S,
    Retries,
    ServiceConnection,
    Splitter,
    error_in,
    failed,
    httpx,
    noted,
    translated,
)
from penchant_client.methods import Methods
from penchant_client.requests import Flow, ListingRequest, Pages, Request

T = TypeVar("T")
R = TypeVar("R")


class AsyncClient(Methods):
    """The service at an address, asked with a key; requests run beside other tasks of the event loop.

    With ``wait`` every read waits for the greatest version of its source that this client has seen, whichever node
    answers. ``http`` is a client of httpx with proxies, certificates or time limits of your own; it stays open.
    """

    def __init__(
        self,
        address: str,
        key: str,
        *,
        retries: Retries | None = None,
        wait: bool = False,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._connection = ServiceConnection(address, key, wait=wait)
        self._retries = retries or Retries()
        self._own = httpx.AsyncClient(timeout=TIMEOUT_S) if http is None else None
        self._http = http or cast(httpx.AsyncClient, self._own)
        self.versions = self._connection.versions
        self.interactions_versions = self._connection.interactions_versions
        self.audience_versions = self._connection.audience_versions

    def __repr__(self) -> str:
        return f"AsyncClient({self._connection.address!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        if self._own is not None:
            await self._own.aclose()

    async def send(self, request: Request[T]) -> T:
        """Send a request, again where that may help, and return what was answered."""
        return await self._persist(request, self._answer)

    async def follow(self, flow: Flow[T]) -> T:
        """Send the requests of a flow, one after the other, and return what came of them."""
        try:
            request = next(flow)
            while True:
                try:
                    answer = await self.send(request)
                except ClientError as error:
                    # Into the flow, which may know what an error means to it, or lets it pass.
                    request = flow.throw(error)
                else:
                    request = flow.send(answer)
        except StopIteration as end:
            return cast(T, end.value)

    async def entries(self, listing: ListingRequest[T]) -> AsyncIterator[T]:
        """Yield the entries of a listing while it arrives; they have to be taken without long pauses."""
        # Only the beginning is tried again: once entries were taken, a second try would yield them twice.
        response = await self._persist(listing.request, lambda request: self._response(request, stream=True))
        splitter = Splitter()
        try:
            with translated():
                async for part in response.aiter_bytes():
                    for entry in splitter.feed(part):
                        yield listing.read(entry)
            splitter.end()
        finally:
            await response.aclose()

    async def turn(self, pages: Pages[T]) -> AsyncIterator[T]:
        """Yield the entries of page after page."""
        place = None
        while True:
            answer = await self.send(pages.page(place))
            entries, place = pages.read(answer, place)
            for entry in entries:
                yield entry
            if place is None:
                return

    async def _persist(self, request: Request[T], attempt: Callable[[Request[T]], Awaitable[R]]) -> R:
        """Attempt a request until it succeeds, or another attempt may not help."""
        attempts = 1
        while True:
            try:
                return await attempt(request)
            except ClientError as error:
                pause_s = self._retries.pause_s(error, request, attempts)
                if pause_s is None:
                    raise
            await asyncio.sleep(pause_s)
            attempts += 1

    async def _answer(self, request: Request[T]) -> T:
        response = await self._response(request)
        return noted(request.read(response.content), response)

    async def _response(self, request: Request[T], *, stream: bool = False) -> httpx.Response:
        """Send a request once and return its answer, unless that is an error."""
        if self._http.is_closed:
            raise InvalidArgument("The client is closed; make another one.")
        with translated():
            written = self._http.build_request(**self._connection.written(request))
            response = await self._http.send(written, stream=stream)
            if failed(response):
                # The body of an error says what is wrong; a stream has not read it yet.
                await response.aread()
        if failed(response):
            raise error_in(response)
        self._connection.note(request, response)
        return response
