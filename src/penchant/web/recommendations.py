"""Handlers of what the service is for: similar content, recommendations, profiles."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypedDict, TypeVar

from penchant.attributes import Attribute, AttributeFilter, Boost
from penchant.errors import InvalidInput
from penchant.live.views import View
from penchant.model import Basis
from penchant.service.lists.personal import PersonalRanking
from penchant.service.lists.requests import PersonalRequest, SimilarRequest
from penchant.web.operations import AUDIENCE_VERSION_HEADER, Answer, Call
from penchant.web.query import Values
from penchant.web.tags import body_tag
from penchant.wire import decode_boosts, decode_filter, encode

Decoded = TypeVar("Decoded")


class ListChoice(TypedDict):
    """What every list is chosen by, as requests for lists name it."""

    take: int
    catalogs: frozenset[str] | None
    matching: AttributeFilter | None
    boosts: tuple[Boost, ...]
    at: int | None
    exclude: frozenset[str]


def list_choice(call: Call, values: Values, view: View) -> ListChoice:
    """Return what a query says of any list of a source."""
    return ListChoice(
        # The new name wins over the old one.
        take=values["limit"] or values["take"],
        catalogs=values["catalogs"],
        matching=_by_attributes(call, "filter", values, view, decode_filter),
        boosts=_by_attributes(call, "boost", values, view, decode_boosts) or (),
        at=values["at"],
        exclude=values["exclude"],
    )


def _by_attributes(
    call: Call, name: str, values: Values, view: View, decode: Callable[[str, Mapping[str, Attribute]], Decoded]
) -> Decoded | None:
    """Return what a parameter says by the attributes that a source has now."""
    text: str | None = values[name]
    if text is None:
        return None
    call.services.metrics.filtered_lists.labels(name).inc()
    try:
        return decode(text, call.attributes(view))
    except InvalidInput as error:
        faults = [replace(fault, parameter=name) for fault in error.faults]
        raise InvalidInput(f"The parameter {name} is not acceptable: {faults[0].detail}", faults=faults) from None


def similar_query(call: Call, piece_id: str, values: Values, view: View) -> SimilarRequest:
    """Return the request for pieces similar to one by content, from a query's values."""
    return SimilarRequest(
        piece_id=piece_id,
        algorithm=values["algo"],
        **list_choice(call, values, view),
    )


def query_by(call: Call, piece_id: str, values: Values, view: View) -> SimilarRequest:
    """Return the request for pieces similar to one by what the query says, content, audience or both."""
    query = similar_query(call, piece_id, values, view)
    if values["by"] is Basis.CONTENT:
        return query
    return replace(query, by=values["by"], min_audience_version=call.min_audience_version())


def audience_headers(version: int | None) -> dict[str, str]:
    """Return the header that tells how much a list knows of what people did, none where it does not go by that."""
    return {} if version is None else {AUDIENCE_VERSION_HEADER: str(version)}


def personal_query(call: Call, user_id: str, values: Values, view: View) -> PersonalRequest:
    """Return the request for a person's recommendations, from a query's values."""
    return PersonalRequest(
        user_id=user_id,
        algorithm=values["algo"],
        include_seen=values["include-seen"],
        fill=values["fill"],
        diversity=values["diversity"],
        min_audience_version=call.min_audience_version(),
        **list_choice(call, values, view),
    )


async def personal_answer(call: Call, ranking: PersonalRanking, *, explain: bool) -> Answer:
    """Return the answer of a person's list, which tells how much it knows of what people did."""
    body = encode(await call.services.lists.answer(ranking, explain=explain))
    return Answer(body=body, version=ranking.view.head.version, headers=audience_headers(ranking.audience_version))


async def similar(call: Call) -> Answer:
    """Answer the nearest pieces of a piece."""
    values = call.values()
    view = await call.view()
    query = query_by(call, call.path["contentID"], values, view)
    lists = call.services.lists
    ranking = await lists.similar(view, query)
    if values["explain"] or ranking.audience_version is not None:
        body = encode(await lists.answer(ranking, explain=values["explain"]))
    else:
        # Only these are remembered: what people like changes without a new version of the source.
        body = call.services.similar_answers.encoded(ranking)
    return Answer(
        body=body,
        version=view.head.version,
        etag=body_tag(body, call.tag_key),
        headers=audience_headers(ranking.audience_version),
    )


async def recommendation(call: Call) -> Answer:
    """Answer what a person may like."""
    values = call.values()
    view = await call.view()
    query = personal_query(call, call.path["userID"], values, view)
    ranking = await call.services.lists.personal(view, query)
    return await personal_answer(call, ranking, explain=values["explain"])


async def again(call: Call) -> Answer:
    """Answer what a person began or keeps coming back to."""
    values = call.values()
    view = await call.view()
    query = PersonalRequest(user_id=call.path["userID"], **list_choice(call, values, view))
    lists = call.services.lists
    return Answer(body=encode(await lists.answer(await lists.again(view, query))), version=view.head.version)


async def profile(call: Call) -> Answer:
    """Answer a person's taste."""
    call.values()
    view = await call.view()
    profiles = await call.services.lists.profile(view, call.path["userID"])
    return Answer(body=encode(profiles), version=view.head.version)
