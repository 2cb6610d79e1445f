"""Which methods do clients have? One table for both kinds, made from the functions that build requests.

A method has its function's parameters and documentation. What it returns depends on who is asked: of a `Client` the
answer, of an `AsyncClient` something to await. Both kinds do the rest, by the verbs of the protocols below.
"""

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

from penchant.client import administration, content, curation, explanations, people
from penchant.client.requests import Flow, Listing, Pages, Request

P = ParamSpec("P")
T = TypeVar("T")


class Blocking(Protocol):
    """Sends requests while its caller waits."""

    def send(self, request: Request[T]) -> T:
        """Send a request, again where that may help, and return what was answered."""

    def follow(self, flow: Flow[T]) -> T:
        """Send the requests of a flow, one after the other, and return what came of them."""

    def entries(self, listing: Listing[T]) -> Iterator[T]:
        """Yield the entries of a listing while it arrives."""

    def turn(self, pages: Pages[T]) -> Iterator[T]:
        """Yield the entries of page after page."""


class Awaited(Protocol):
    """Sends requests while others run; otherwise like `Blocking`."""

    async def send(self, request: Request[T]) -> T:
        """Send a request, again where that may help, and return what was answered."""

    async def follow(self, flow: Flow[T]) -> T:
        """Send the requests of a flow, one after the other, and return what came of them."""

    def entries(self, listing: Listing[T]) -> AsyncIterator[T]:
        """Yield the entries of a listing while it arrives."""

    def turn(self, pages: Pages[T]) -> AsyncIterator[T]:
        """Yield the entries of page after page."""


class Sent(Generic[P, T]):
    """A method that sends one request."""

    def __init__(self, build: Callable[P, Request[T]]) -> None:
        self.build = build

    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Awaited, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Any, owner: type) -> Callable[P, Any]:
        return _method(client, "send", self.build)


class Followed(Generic[P, T]):
    """A method that sends as many requests as it takes."""

    def __init__(self, build: Callable[P, Flow[T]]) -> None:
        self.build = build

    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Awaited, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Any, owner: type) -> Callable[P, Any]:
        return _method(client, "follow", self.build)


class Listed(Generic[P, T]):
    """A method that iterates over a listing while it arrives."""

    def __init__(self, build: Callable[P, Listing[T]]) -> None:
        self.build = build

    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: Awaited, owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, client: Any, owner: type) -> Callable[P, Any]:
        return _method(client, "entries", self.build)


class Turned(Generic[P, T]):
    """A method that iterates over a list page by page."""

    def __init__(self, build: Callable[P, Pages[T]]) -> None:
        self.build = build

    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: Awaited, owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, client: Any, owner: type) -> Callable[P, Any]:
        return _method(client, "turn", self.build)


def _method(client: Any, verb: str, build: Callable[P, Any]) -> Callable[P, Any]:
    """Return what a method does with a client; of the class itself the function that builds its request."""
    if client is None:
        return build
    carry_out = getattr(client, verb)

    @functools.wraps(build)
    def method(*args: P.args, **kwargs: P.kwargs) -> Any:
        return carry_out(build(*args, **kwargs))

    return method


class Methods:
    """Every operation of the interface under its name there, and a few that are several requests."""

    submit_content = Followed(content.submit_content)
    list_content = Sent(content.list_content)
    iterate_content = Listed(content.iterate_content)
    list_ids = Sent(content.list_ids)
    iterate_ids = Listed(content.iterate_ids)
    get_content = Sent(content.get_content)
    similar_content = Sent(content.similar_content)
    delete_content = Followed(content.delete_content)
    clear_content = Sent(content.clear_content)
    delete_one_content = Sent(content.delete_one_content)
    get_source = Sent(content.get_source)
    delete_source = Sent(content.delete_source)

    recommend = Sent(people.recommend)
    get_profile = Sent(people.get_profile)
    record_interaction = Sent(people.record_interaction)
    record_interactions = Followed(people.record_interactions)
    list_interactions = Sent(people.list_interactions)
    iterate_interactions = Turned(people.iterate_interactions)
    export_user = Sent(people.export_user)
    erase_user = Sent(people.erase_user)

    why_similar = Sent(explanations.why_similar)
    why_recommended = Sent(explanations.why_recommended)
    preview_similar = Sent(explanations.preview_similar)
    preview_recommendation = Sent(explanations.preview_recommendation)
    preview_settings = Sent(explanations.preview_settings)
    similar_to_each = Followed(explanations.similar_to_each)

    get_whitelist = Sent(curation.get_whitelist)
    put_whitelist = Sent(curation.put_whitelist)
    delete_whitelist = Sent(curation.delete_whitelist)
    get_blacklist = Sent(curation.get_blacklist)
    put_blacklist = Sent(curation.put_blacklist)
    delete_blacklist = Sent(curation.delete_blacklist)
    get_settings = Sent(curation.get_settings)
    put_settings = Sent(curation.put_settings)

    usage = Sent(administration.usage)
    audit = Sent(administration.audit)
    list_keys = Sent(administration.list_keys)
    create_key = Sent(administration.create_key)
    revoke_key = Sent(administration.revoke_key)
    set_plan = Sent(administration.set_plan)
    live = Sent(administration.live)
    ready = Sent(administration.ready)
    metrics = Sent(administration.metrics)
    problem = Sent(administration.problem)
    openapi = Sent(administration.openapi)
    docs = Sent(administration.docs)
