"""Who sends requests, and waits for them? A `Client` holds up its thread, an `AsyncClient` lets other tasks run.

Both do the same in different words; whatever can be said without these words is said elsewhere.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import TracebackType
from typing import Self, TypeVar, cast

from penchant.client.errors import ClientError
from penchant.client.exchange import Exchange, error_in, failed, httpx, translated
from penchant.client.methods import Methods
from penchant.client.requests import Flow, Listing, Pages, Request
from penchant.client.retries import Retries
from penchant.client.splitting import Splitter

T = TypeVar("T")
R = TypeVar("R")
TIMEOUT_S = 30.0
"""How long a part of an answer may take: more than the service itself waits for anything."""


class Client(Methods):
    """The service at an address, asked with a key; one client may be used by several threads.

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
        http: httpx.Client | None = None,
    ) -> None:
        self._exchange = Exchange(address, key, wait=wait)
        self._retries = retries or Retries()
        self._own = httpx.Client(timeout=TIMEOUT_S) if http is None else None
        self._http = http or cast(httpx.Client, self._own)
        self.versions = self._exchange.versions

    def __repr__(self) -> str:
        return f"Client({self._exchange.address!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        if self._own is not None:
            self._own.close()

    def send(self, request: Request[T]) -> T:
        """Send a request, again where that may help, and return what was answered."""
        return self._persist(request, self._answer)

    def follow(self, flow: Flow[T]) -> T:
        """Send the requests of a flow, one after the other, and return what came of them."""
        try:
            request = next(flow)
            while True:
                try:
                    answer = self.send(request)
                except ClientError as error:
                    request = flow.throw(error)
                else:
                    request = flow.send(answer)
        except StopIteration as end:
            return cast(T, end.value)

    def entries(self, listing: Listing[T]) -> Iterator[T]:
        """Yield the entries of a listing while it arrives; they have to be taken without long pauses."""
        response = self._persist(listing.request, lambda request: self._response(request, stream=True))
        splitter = Splitter()
        try:
            with translated():
                for part in response.iter_bytes():
                    for entry in splitter.feed(part):
                        yield listing.read(entry)
            splitter.end()
        finally:
            response.close()

    def turn(self, pages: Pages[T]) -> Iterator[T]:
        """Yield the entries of page after page."""
        skip = 0
        while True:
            entries = self.send(pages.page(skip))
            yield from entries
            skip += len(entries)
            if len(entries) < pages.size:
                return

    def _persist(self, request: Request[T], attempt: Callable[[Request[T]], R]) -> R:
        """Attempt a request until it succeeds, or another attempt may not help."""
        attempts = 1
        while True:
            try:
                return attempt(request)
            except ClientError as error:
                pause_s = self._retries.pause_s(error, request, attempts)
                if pause_s is None:
                    raise
            time.sleep(pause_s)
            attempts += 1

    def _answer(self, request: Request[T]) -> T:
        return request.read(self._response(request).content)

    def _response(self, request: Request[T], *, stream: bool = False) -> httpx.Response:
        """Send a request once and return its answer, unless that is an error."""
        written = self._http.build_request(**self._exchange.written(request))
        with translated():
            response = self._http.send(written, stream=stream)
            if failed(response):
                response.read()
        if failed(response):
            raise error_in(response)
        self._exchange.note(request, response)
        return response


class AsyncClient(Methods):
    """The service at an address, asked with a key, for programs with an event loop; otherwise like `Client`."""

    def __init__(
        self,
        address: str,
        key: str,
        *,
        retries: Retries | None = None,
        wait: bool = False,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._exchange = Exchange(address, key, wait=wait)
        self._retries = retries or Retries()
        self._own = httpx.AsyncClient(timeout=TIMEOUT_S) if http is None else None
        self._http = http or cast(httpx.AsyncClient, self._own)
        self.versions = self._exchange.versions

    def __repr__(self) -> str:
        return f"AsyncClient({self._exchange.address!r})"

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
                    request = flow.throw(error)
                else:
                    request = flow.send(answer)
        except StopIteration as end:
            return cast(T, end.value)

    async def entries(self, listing: Listing[T]) -> AsyncIterator[T]:
        """Yield the entries of a listing while it arrives; they have to be taken without long pauses."""
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
        skip = 0
        while True:
            entries = await self.send(pages.page(skip))
            for entry in entries:
                yield entry
            skip += len(entries)
            if len(entries) < pages.size:
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
        return request.read((await self._response(request)).content)

    async def _response(self, request: Request[T], *, stream: bool = False) -> httpx.Response:
        """Send a request once and return its answer, unless that is an error."""
        written = self._http.build_request(**self._exchange.written(request))
        with translated():
            response = await self._http.send(written, stream=stream)
            if failed(response):
                await response.aread()
        if failed(response):
            raise error_in(response)
        self._exchange.note(request, response)
        return response
