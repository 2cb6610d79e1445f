"""Methods of the clients: one table for both kinds, made from the functions that build requests.

A method has its function's parameters and documentation. What it returns depends on the client: of a `Client` the
answer, of an `AsyncClient` something to await. Both kinds do the rest, by the verbs of the protocols below.
"""

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

from penchant.client import (
    administration,
    content,
    curation,
    explanations,
    frames,
    impressions,
    people,
    placements,
    plain_lists,
)
from penchant.client.requests import Flow, ListingRequest, Pages, Request

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

    def __init__(self, build: Callable[P, Request[T]]) -> None:
        self.build = build

    @overload
    def __get__(self, client: BlockingSender, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncSender, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Any, owner: type) -> Callable[P, Any]:
        return _method(client, "send", self.build)


class FlowMethod(Generic[P, T]):
    """A method that sends as many requests as it takes."""

    def __init__(self, build: Callable[P, Flow[T]]) -> None:
        self.build = build

    @overload
    def __get__(self, client: BlockingSender, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncSender, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Any, owner: type) -> Callable[P, Any]:
        return _method(client, "follow", self.build)


class ListingMethod(Generic[P, T]):
    """A method that iterates over a listing while it arrives."""

    def __init__(self, build: Callable[P, ListingRequest[T]]) -> None:
        self.build = build

    @overload
    def __get__(self, client: BlockingSender, owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: AsyncSender, owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, client: Any, owner: type) -> Callable[P, Any]:
        return _method(client, "entries", self.build)


class PagesMethod(Generic[P, T]):
    """A method that iterates over a list page by page."""

    def __init__(self, build: Callable[P, Pages[T]]) -> None:
        self.build = build

    @overload
    def __get__(self, client: BlockingSender, owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: AsyncSender, owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, client: Any, owner: type) -> Callable[P, Any]:
        return _method(client, "turn", self.build)


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


class Methods:
    """Every operation of the interface under its name there, and a few that are several requests."""

    submit_content = FlowMethod(content.submit_content)
    submit_frame = FlowMethod(frames.submit_frame)
    list_content = RequestMethod(content.list_content)
    iterate_content = ListingMethod(content.iterate_content)
    list_ids = RequestMethod(content.list_ids)
    iterate_ids = ListingMethod(content.iterate_ids)
    list_changes = RequestMethod(content.list_changes)
    get_content = RequestMethod(content.get_content)
    similar_content = RequestMethod(content.similar_content)
    delete_content = FlowMethod(content.delete_content)
    clear_content = RequestMethod(content.clear_content)
    delete_one_content = RequestMethod(content.delete_one_content)
    get_source = RequestMethod(content.get_source)
    delete_source = RequestMethod(content.delete_source)

    recommend = RequestMethod(people.recommend)
    get_profile = RequestMethod(people.get_profile)
    record_interaction = RequestMethod(people.record_interaction)
    record_interactions = FlowMethod(people.record_interactions)
    list_interactions = RequestMethod(people.list_interactions)
    iterate_interactions = PagesMethod(people.iterate_interactions)
    get_preferences = RequestMethod(people.get_preferences)
    put_preferences = RequestMethod(people.put_preferences)
    delete_preferences = RequestMethod(people.delete_preferences)
    export_user = RequestMethod(people.export_user)
    erase_user = RequestMethod(people.erase_user)

    record_impressions = FlowMethod(impressions.record_impressions)
    placement_results = RequestMethod(impressions.placement_results)

    again_content = RequestMethod(people.again_content)
    popular_content = RequestMethod(plain_lists.popular_content)
    new_content = RequestMethod(plain_lists.new_content)
    content_audience = RequestMethod(plain_lists.content_audience)
    recommend_to_each = FlowMethod(plain_lists.recommend_to_each)

    why_similar = RequestMethod(explanations.why_similar)
    why_recommended = RequestMethod(explanations.why_recommended)
    preview_similar = RequestMethod(explanations.preview_similar)
    preview_recommendation = RequestMethod(explanations.preview_recommendation)
    preview_settings = RequestMethod(explanations.preview_settings)
    similar_to_each = FlowMethod(explanations.similar_to_each)

    list_placements = RequestMethod(placements.list_placements)
    get_placement = RequestMethod(placements.get_placement)
    put_placement = RequestMethod(placements.put_placement)
    delete_placement = RequestMethod(placements.delete_placement)
    list_placement_versions = RequestMethod(placements.list_placement_versions)
    roll_back_placement = RequestMethod(placements.roll_back_placement)
    placement_list = RequestMethod(placements.placement_list)
    page_lists = RequestMethod(placements.page_lists)
    preview_placement = RequestMethod(placements.preview_placement)

    get_whitelist = RequestMethod(curation.get_whitelist)
    put_whitelist = RequestMethod(curation.put_whitelist)
    delete_whitelist = RequestMethod(curation.delete_whitelist)
    get_blacklist = RequestMethod(curation.get_blacklist)
    put_blacklist = RequestMethod(curation.put_blacklist)
    delete_blacklist = RequestMethod(curation.delete_blacklist)
    get_settings = RequestMethod(curation.get_settings)
    put_settings = RequestMethod(curation.put_settings)

    usage = RequestMethod(administration.usage)
    audit = RequestMethod(administration.audit)
    list_keys = RequestMethod(administration.list_keys)
    create_key = RequestMethod(administration.create_key)
    revoke_key = RequestMethod(administration.revoke_key)
    roll_secret = RequestMethod(administration.roll_secret)
    set_plan = RequestMethod(administration.set_plan)
    addresses = RequestMethod(administration.addresses)
    live = RequestMethod(administration.live)
    ready = RequestMethod(administration.ready)
    metrics = RequestMethod(administration.metrics)
    problem = RequestMethod(administration.problem)
    openapi = RequestMethod(administration.openapi)
    docs = RequestMethod(administration.docs)
