"""Methods of both kinds of clients, made from the functions that build requests.

A method has its function's parameters and documentation. What it returns depends on the client: of a `Client` the
answer, of an `AsyncClient` something to await. Both kinds do the rest, by the verbs of the protocols below.
"""

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

from penchant_client.requests import Flow, ListingRequest, Pages, Request

P = ParamSpec("P")
T = TypeVar("T")


class BlockingSender(Protocol):
    """Sends requests while its caller waits."""

    def send(self, request: Request[T]) -> T:
        """Send a request, again where that may help, and return what was answered."""

    def follow(self, flow: Flow[T]) -> T:
        """Send the requests of a flow, one after the other, and return what came of them."""

    def entries(self, listing: ListingRequest[T]) -> Iterator[T]:
        """Yield the entries of a listing while it arrives."""

    def turn(self, pages: Pages[T]) -> Iterator[T]:
        """Yield the entries of page after page."""


class AsyncSender(Protocol):
    """Sends requests while others run; otherwise like `BlockingSender`."""

    async def send(self, request: Request[T]) -> T:
        """Send a request, again where that may help, and return what was answered."""

    async def follow(self, flow: Flow[T]) -> T:
        """Send the requests of a flow, one after the other, and return what came of them."""

    def entries(self, listing: ListingRequest[T]) -> AsyncIterator[T]:
        """Yield the entries of a listing while it arrives."""

    def turn(self, pages: Pages[T]) -> AsyncIterator[T]:
        """Yield the entries of page after page."""


class RequestMethod(Generic[P, T]):
    """A method that sends one request."""

    verb = "send"
    build: Callable[P, Any]

    def __init__(self, build: Callable[P, Request[T]]) -> None:
        self.build = build

    @overload
    def __get__(self, client: BlockingSender, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncSender, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Any, owner: type) -> Callable[P, Any]:
        return _method(client, self.verb, self.build)


class FlowMethod(RequestMethod[P, T]):
    """A method that sends as many requests as it takes."""

    verb = "follow"

    def __init__(self, build: Callable[P, Flow[T]]) -> None:
        self.build = build


class ListingMethod(Generic[P, T]):
    """A method that iterates over a listing while it arrives."""

    verb = "entries"
    build: Callable[P, Any]

    def __init__(self, build: Callable[P, ListingRequest[T]]) -> None:
        self.build = build

    @overload
    def __get__(self, client: BlockingSender, owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: AsyncSender, owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, client: Any, owner: type) -> Callable[P, Any]:
        return _method(client, self.verb, self.build)


class PagesMethod(ListingMethod[P, T]):
    """A method that iterates over a list page by page."""

    verb = "turn"

    def __init__(self, build: Callable[P, Pages[T]]) -> None:
        self.build = build


def _method(client: Any, verb: str, build: Callable[P, Any]) -> Callable[P, Any]:
    """Return a method bound to a client; of the class itself the function that builds its request."""
    if client is None:
        return build
    # Both clients have the verbs; whether they wait or return something to await is theirs alone.
    carry_out = getattr(client, verb)

    @functools.wraps(build)
    def method(*args: P.args, **kwargs: P.kwargs) -> Any:
        return carry_out(build(*args, **kwargs))

    return method
