"""Handlers of lists that are about no person, and of those for many people."""

from penchant.live.views import View
from penchant.model import Feature, Scope
from penchant.service.prospects import ProspectsRequest
from penchant.service.requests import PlainRequest
from penchant.web.operations import AUDIENCE_VERSION_HEADER, EVERYBODY, NOBODY, Answer, Call, Operation, OperationTable
from penchant.web.parameters import (
    AT,
    FILL,
    HALF_LIFE,
    INCLUDE_SEEN,
    MIN_VERSION,
    NEWNESS,
    PEOPLE_LIMIT,
    PEOPLE_TAKE,
    PERSONAL,
    PLAIN,
)
from penchant.web.query import Values
from penchant.web.recommendations import list_choice, personal_answer, personal_query
from penchant.web.tags import body_tag
from penchant.wire import decode_asked, encode

PLAIN_LISTS = OperationTable(Operation, "recommendations")

MAX_PEOPLE = 1_000
"""People whose lists one request asks for (interface, section 9)."""


def _plain_query(call: Call, values: Values, view: View) -> PlainRequest:
    return PlainRequest(
        half_life_days=values["halfLifeDays"],
        min_audience_version=call.min_audience_version(),
        **list_choice(call, values, view),
    )


@PLAIN_LISTS.operation(
    "GET",
    "/{source}/popular",
    has_etag=True,
    about=NOBODY,
    in_browsers=True,
    scope=Scope.READ,
    parameters=(*PLAIN, HALF_LIFE, MIN_VERSION),
    answer="AnonymousResult",
    errors=("overloaded",),
)
async def popular_content(call: Call) -> Answer:
    """What most people like, the most popular first; whoever asks."""
    values = call.values()
    view = await call.view()
    query = _plain_query(call, values, view)
    found = await call.services.plain_lists.popular(view, query)
    body = encode(found.result)
    return Answer(
        body=body,
        version=view.head.version,
        etag=body_tag(body, call.tag_key),
        headers={AUDIENCE_VERSION_HEADER: str(found.audience_version)},
    )


@PLAIN_LISTS.operation(
    "GET",
    "/{source}/new",
    has_etag=True,
    about=NOBODY,
    in_browsers=True,
    scope=Scope.READ,
    parameters=(*PLAIN, NEWNESS, MIN_VERSION),
    answer="AnonymousResult",
)
async def new_content(call: Call) -> Answer:
    """What became available last, the newest first."""
    values = call.values()
    view = await call.view()
    query = _plain_query(call, values, view)
    body = encode(await call.services.plain_lists.newest(view, query))
    return Answer(body=body, version=view.head.version, etag=body_tag(body, call.tag_key))


@PLAIN_LISTS.operation(
    "GET",
    "/{source}/content/{contentID}/audience",
    about=EVERYBODY,
    scope=Scope.PERSONAL,
    feature=Feature.PERSONALIZED,
    parameters=(PEOPLE_LIMIT, PEOPLE_TAKE, AT, INCLUDE_SEEN, FILL, MIN_VERSION),
    counted=True,
    personal=True,
    answer="ProspectList",
    errors=("unknown-piece", "too-many-people", "overloaded"),
)
async def content_audience(call: Call) -> Answer:
    """Which people would like this piece most, for a newsletter or a push."""
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
    return personal_answer(await call.services.prospects.of_piece(view, query), view.head.version)


async def read_people(call: Call) -> tuple[str, ...]:
    """Return the people of whom lists are asked for, in the order asked."""
    return await call.decode_body(lambda body: decode_asked(body, MAX_PEOPLE))


@PLAIN_LISTS.operation(
    "POST",
    "/{source}/recommendations",
    about=EVERYBODY,
    scope=Scope.PERSONAL,
    feature=Feature.PERSONALIZED,
    parameters=(*PERSONAL, MIN_VERSION),
    counted=True,
    personal=True,
    body="UserIds",
    reader=read_people,
    answers=len,
    answer="RecommendationResults",
    errors=("too-many-entries", "overloaded"),
)
async def recommend_to_each(call: Call) -> Answer:
    """What each of up to 1,000 people may like, in one request."""
    view = await call.view()
    query = personal_query(call, "", call.values(), view)
    found = await call.services.plain_lists.for_people(view, query, call.decoded)
    return personal_answer(found, view.head.version)
