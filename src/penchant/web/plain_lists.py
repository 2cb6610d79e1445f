"""Handlers of lists that are about no person, and of those for many people."""

from penchant.live.views import View
from penchant.service.lists.plain import NewRanking, PopularRanking
from penchant.service.lists.requests import PlainRequest
from penchant.service.prospects import ProspectsRequest
from penchant.web.operations import Answer, Call
from penchant.web.query import Values
from penchant.web.recommendations import audience_headers, list_choice, personal_query
from penchant.web.tags import body_tag
from penchant.wire import decode_asked, encode

MAX_PEOPLE = 1_000
"""People whose lists one request asks for (interface, section 9)."""


def _plain_query(call: Call, values: Values, view: View) -> PlainRequest:
    return PlainRequest(
        half_life_days=values["halfLifeDays"],
        min_audience_version=call.min_audience_version(),
        **list_choice(call, values, view),
    )


async def popular(call: Call) -> Answer:
    """Answer what most people like."""
    values = call.values()
    view = await call.view()
    ranking = await call.services.lists.popular(view, _plain_query(call, values, view))
    return await _plain_answer(call, ranking)


async def newest(call: Call) -> Answer:
    """Answer what became available last."""
    values = call.values()
    view = await call.view()
    ranking = await call.services.lists.newest(view, _plain_query(call, values, view))
    return await _plain_answer(call, ranking)


async def _plain_answer(call: Call, ranking: PopularRanking | NewRanking) -> Answer:
    body = encode(await call.services.lists.answer(ranking))
    return Answer(
        body=body,
        version=ranking.view.head.version,
        etag=body_tag(body, call.tag_key),
        headers=audience_headers(ranking.audience_version),
    )


async def read_people(call: Call) -> tuple[str, ...]:
    """Return the people of whom lists are asked for, in the order asked."""
    return await call.decode_body(lambda body: decode_asked(body, MAX_PEOPLE))


async def recommend_to_each(call: Call) -> Answer:
    """Answer what each of several people may like, in the order of their ids."""
    view = await call.view()
    query = personal_query(call, "", call.values(), view)
    lists, audience_version = await call.services.lists.recommend_to_each(view, query, call.decoded)
    return Answer(body=encode(lists), version=view.head.version, headers=audience_headers(audience_version))


async def prospects(call: Call) -> Answer:
    """Answer which people a piece would suit best."""
    values = call.values()
    view = await call.view()
    query = ProspectsRequest(
        piece_id=call.path["contentID"],
        take=values["limit"] or values["take"],
        at=values["at"],
        include_seen=values["include-seen"],
        fill=values["fill"],
        min_audience_version=call.min_audience_version(),
    )
    people, audience_version = await call.services.prospects.of_piece(view, query)
    return Answer(body=encode(people), version=view.head.version, headers=audience_headers(audience_version))
