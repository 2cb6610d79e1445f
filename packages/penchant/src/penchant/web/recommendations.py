"""Lists: similar pieces, recommendations and profiles, what is popular or new, and those of many people."""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import msgspec

from penchant.errors import InvalidInput, invalid_parameter
from penchant.live.views import View
from penchant.model import Feature, Scope, SourceSettings
from penchant.service.lists.answer_cache import AnswerBasis, holding_time
from penchant.service.lists.answers import view_of
from penchant.service.lists.paging import NEXT_HEADER
from penchant.web.operations import (
    AUDIENCE_VERSION_HEADER,
    EVERYBODY,
    IN_PATH,
    NOBODY,
    Answer,
    Call,
    Operation,
    OperationTable,
)
from penchant.web.parameters import (
    AFTER,
    ALGO,
    AT,
    BOOST,
    BY,
    CATALOGS,
    CATEGORY,
    EXCLUDE,
    EXPLAIN,
    FILTER,
    HALF_LIFE,
    INCLUDE,
    INCLUDE_SEEN,
    LIMIT,
    MIN_VERSION,
    NEWNESS,
    OLD_TAKE,
    PERSONAL,
    PLAIN,
    TAKE,
)
from penchant.web.query import Values
from penchant.wire.cursors import ListCursor
from penchant.wire.filters import decode_boosts, decode_filter
from penchant.wire.lists import decode_asked, decode_rank_wish
from penchant_engine.lists.marks import mark_count
from penchant_engine.lists.ranking import ListRanking
from penchant_engine.lists.requests import ListRequest
from penchant_engine.model import MAX_LISTED, MAX_TAKE, Basis

RECOMMENDATIONS = OperationTable(Operation, "recommendations")

Decoded = TypeVar("Decoded")
_FREE_ON_PAGES = frozenset(each.name for each in (AFTER, LIMIT, TAKE, INCLUDE, EXPLAIN, MIN_VERSION))
"""What may differ from page to page of a list."""
_MEMBERS = {
    "catalogs": "catalogs",
    "exclude": "exclude",
    "at": "at",
    "include-seen": "include_seen",
    "algo": "algorithm",
    "by": "by",
    "halfLifeDays": "half_life_days",
    "fill": "fill",
    "diversity": "diversity",
    "calibration": "calibration",
    "calibration-category": "calibration_category",
}
"""Members of a request that are values of parameters."""


def list_request(
    call: Call, view: View, *, piece_id: str = "", user_id: str = "", min_audience_version: int = 0
) -> ListRequest:
    """Return the request for a list of a source, from the values of the parameters that the operation has."""
    values = call.values()
    given = values.given
    members = {_MEMBERS[name]: value for name, value in given.items() if name in _MEMBERS}
    if "filter" in given:
        members["matching"] = _by_settings(call, "filter", values, view, decode_filter)
    if "boost" in given:
        members["boosts"] = _by_settings(call, "boost", values, view, decode_boosts)
    # The new name wins over the old one.
    take = given.get("limit") or given.get("take") or MAX_TAKE
    if AFTER.name in given:
        listed = members["listed"] = _cursor(call, values, view).listed
        take = min(take, MAX_LISTED - mark_count(listed))
    return ListRequest(
        piece_id=piece_id, user_id=user_id, min_audience_version=min_audience_version, take=take, **members
    )


def _asked(call: Call, values: Values) -> list[object]:
    """Return what a request chooses its list by."""
    return [call.operation.name, sorted(call.path.items()), _chosen(values)]


def _chosen(values: Values) -> list[object]:
    """Return what a query chooses a list by, as JSON has it."""
    known = values.known
    if several := [name for name, each in values.given.items() if isinstance(each, frozenset) and len(each) > 1]:
        known = {**known, **{name: sorted(known[name]) for name in several}}
    names = _choosing(tuple(known))
    return list(zip(names, map(known.__getitem__, names), strict=True))


@functools.lru_cache(maxsize=1_024)
def _choosing(names: tuple[str, ...]) -> list[str]:
    """Return which of the parameters of an operation choose its list, in order."""
    return sorted(name for name in names if name not in _FREE_ON_PAGES)


def _cursor(call: Call, values: Values, view: View) -> ListCursor:
    """Return where the list of a request goes on that names a cursor."""
    try:
        return call.services.lists.pages.read(view.head, _asked(call, values), values[AFTER.name])
    except ValueError as error:
        raise invalid_parameter(AFTER.name, str(error)) from None


def _cursor_after(call: Call, view: View, listed: bytes) -> str:
    """Return the cursor with which the list of a request goes on after all that was listed."""
    return call.services.lists.pages.cursor(view.head, _asked(call, call.values()), ListCursor(listed=listed))


def _by_settings(
    call: Call, name: str, values: Values, view: View, decode: Callable[[str, SourceSettings], Decoded]
) -> Decoded:
    """Return what a parameter says by the settings that a source has now."""
    text: str = values[name]
    call.services.metrics.filtered_lists.labels(name).inc()
    try:
        return decode(text, call.filter_settings(view))
    except InvalidInput as error:
        faults = [replace(fault, parameter=name) for fault in error.faults]
        raise InvalidInput(f"The parameter {name} is not acceptable: {faults[0].detail}", faults=faults) from None


def similar_request(call: Call, piece_id: str, view: View) -> ListRequest:
    """Return the request for pieces similar to one by what the query says, content, audience or both."""
    request = list_request(call, view, piece_id=piece_id)
    if request.by is Basis.CONTENT:
        return request
    return msgspec.structs.replace(request, min_audience_version=call.min_audience_version())


def audience_headers(version: int | None) -> dict[str, str]:
    """Return the header that tells how much a list knows of what people did, none where it does not go by that."""
    return {} if version is None else {AUDIENCE_VERSION_HEADER: str(version)}


def personal_request(call: Call, user_id: str, view: View) -> ListRequest:
    """Return the request for a person's recommendations, from a query's values."""
    known = call.values().known
    calibration, category = known["calibration"], known["calibration-category"]
    if (category is None) is not (calibration is None) and (calibration or category):
        given, missing = sorted(("calibration", "calibration-category"), reverse=calibration is None)
        raise invalid_parameter(given, f"Found it without {missing}; both together are accepted.")
    return list_request(call, view, user_id=user_id, min_audience_version=call.min_audience_version())


async def list_answer(call: Call, ranking: ListRanking, *, explain: bool = False) -> Answer:
    """Return the answer of a list: how much it knows of what people did and, where it has pages, where it goes on."""
    result = await call.services.lists.answer(ranking, explain=explain)
    view, headers, cursor = view_of(ranking.view), audience_headers(ranking.audience_version), None
    if AFTER in call.operation.parameters and (listed := ranking.next_marks) is not None:
        cursor = functools.partial(_cursor_after, listed=listed)
        headers[NEXT_HEADER] = cursor(call, view)
    return Answer(result=result, version=view.head.version, headers=headers, cursor=cursor)


@RECOMMENDATIONS.operation(
    "GET",
    "/{source}/content/{contentID}/similar",
    has_etag=True,
    about=NOBODY,
    in_browsers=True,
    scope=Scope.READ,
    parameters=(LIMIT, OLD_TAKE, CATALOGS, FILTER, BOOST, ALGO, BY, AT, EXCLUDE, INCLUDE, EXPLAIN, MIN_VERSION),
    counted=True,
    remembered=True,
    answer="RecommendationResult",
    errors=("unknown-piece", "too-few-pieces"),
)
async def similar_content(call: Call) -> Answer:
    """The nearest pieces, nearest first."""
    explain = call.values()["explain"]
    view = await call.view()
    query = similar_request(call, call.path["contentID"], view)
    lists = call.services.lists
    ranking = await lists.similar(view, query)
    # What people like changes without a new version of the source, and reasons are seldom asked for twice.
    is_kept = ranking.audience_version is None and not explain
    # As of before the search: a window that opens meanwhile ends the answer, never lengthens it.
    basis = AnswerBasis(*holding_time(view.snapshot, ranking.now, query.at)) if is_kept else None
    result = await lists.answer(ranking, explain=explain)
    headers = audience_headers(ranking.audience_version)
    return Answer(result=result, version=view.head.version, headers=headers, basis=basis)


@RECOMMENDATIONS.operation(
    "GET",
    "/{source}/users/{userID}/recommendation",
    about=IN_PATH,
    in_browsers=True,
    scope=Scope.PERSONAL,
    feature=Feature.PERSONALIZED,
    parameters=(*PERSONAL, AFTER, EXPLAIN, MIN_VERSION),
    counted=True,
    personal=True,
    remembered=True,
    follows_audience=True,
    answer="RecommendationResult",
    errors=("overloaded",),
)
async def recommend(call: Call) -> Answer:
    """What this person may like, best first."""
    explain = call.values()["explain"]
    view = await call.view()
    query = personal_request(call, call.path["userID"], view)
    ranking = await call.services.lists.personal(view, query)
    answer = await list_answer(call, ranking, explain=explain)
    if explain or query.at is not None:
        return answer
    holds = holding_time(view.snapshot, ranking.now, by_day=True)
    return msgspec.structs.replace(answer, basis=AnswerBasis(*holds, ranking.person, ranking.audience))


@RECOMMENDATIONS.operation(
    "POST",
    "/{source}/users/{userID}/rank",
    about=IN_PATH,
    in_browsers=True,
    scope=Scope.PERSONAL,
    feature=Feature.PERSONALIZED,
    parameters=(CATALOGS, FILTER, BOOST, AT, INCLUDE_SEEN, INCLUDE, EXPLAIN, MIN_VERSION),
    counted=True,
    personal=True,
    body="RankWish",
    answer="RankResult",
    errors=("too-many-entries", "overloaded"),
)
async def rank(call: Call) -> Answer:
    """Given pieces, such as hits of a search, in the order in which they suit this person."""
    values = call.values()
    wish = await call.decode_body(decode_rank_wish)
    view = await call.view()
    least = call.min_audience_version()
    asked = list_request(call, view, user_id=call.path["userID"], min_audience_version=least)
    query = msgspec.structs.replace(asked, content=wish.content, weight=wish.weight, take=len(wish.content))
    ranked = await call.services.lists.ranked(call.access, view, query, explain=values["explain"])
    headers = audience_headers(ranked.audience_version)
    return Answer(result=ranked.result, version=view.head.version, headers=headers)


@RECOMMENDATIONS.operation(
    "GET",
    "/{source}/users/{userID}/again",
    about=IN_PATH,
    in_browsers=True,
    scope=Scope.PERSONAL,
    feature=Feature.PERSONALIZED,
    parameters=(*PLAIN, AFTER, MIN_VERSION),
    personal=True,
    answer="RevisitResult",
)
async def again_content(call: Call) -> Answer:
    """What this person began or keeps coming back to."""
    call.values()
    view = await call.view()
    query = list_request(call, view, user_id=call.path["userID"])
    return await list_answer(call, await call.services.lists.again(view, query))


@RECOMMENDATIONS.operation(
    "GET",
    "/{source}/users/{userID}/recommendation/profile",
    tag="people",
    about=IN_PATH,
    in_browsers=True,
    scope=Scope.PERSONAL,
    feature=Feature.PROFILE,
    parameters=(MIN_VERSION,),
    personal=True,
    remembered=True,
    answer="ProfileList",
    errors=("overloaded",),
)
async def get_profile(call: Call) -> Answer:
    """This person's taste."""
    call.values()
    view, lists, user_id = await call.view(), call.services.lists, call.path["userID"]
    now = lists.now(view)
    basis = await _taste_basis(call, view, now)
    profiles = await lists.profile(view, user_id, now)
    return Answer(result=profiles, version=view.head.version, basis=basis)


async def _taste_basis(call: Call, view: View, now: int) -> AnswerBasis | None:
    """Return what an answer about a person's taste follows from, which is read before it is made."""
    if view.stale:
        return None
    person = await call.services.lists.inputs.present_person(view, call.path["userID"], now)
    return AnswerBasis(*holding_time(view.snapshot, now, by_day=True), person)


@RECOMMENDATIONS.operation(
    "GET",
    "/{source}/users/{userID}/segments",
    tag="people",
    about=IN_PATH,
    in_browsers=True,
    scope=Scope.PERSONAL,
    feature=Feature.PROFILE,
    parameters=(CATEGORY, LIMIT, OLD_TAKE, MIN_VERSION),
    personal=True,
    remembered=True,
    answer="TasteSegments",
    errors=("overloaded",),
)
async def list_segments(call: Call) -> Answer:
    """The keywords of a category that this person likes, with enough pieces to show."""
    values = call.values()
    if values["category"] is None:
        raise invalid_parameter("category", "Say of which category: its keywords are what is listed.")
    view, lists = await call.view(), call.services.lists
    take, now = values["limit"] or values["take"], lists.now(view)
    basis = await _taste_basis(call, view, now)
    segments = await lists.segments(view, call.path["userID"], values["category"], take, now)
    return Answer(result=segments, version=view.head.version, basis=basis)


PLAIN_LISTS = OperationTable(Operation, "recommendations")

MAX_PEOPLE = 1_000
"""People whose lists one request asks for (interface, section 9)."""


def _plain_request(call: Call, view: View) -> ListRequest:
    return list_request(call, view, min_audience_version=call.min_audience_version())


@PLAIN_LISTS.operation(
    "GET",
    "/{source}/popular",
    has_etag=True,
    about=NOBODY,
    in_browsers=True,
    scope=Scope.READ,
    parameters=(*PLAIN, AFTER, HALF_LIFE, MIN_VERSION),
    answer="AnonymousResult",
    errors=("overloaded",),
)
async def popular_content(call: Call) -> Answer:
    """What most people like, the most popular first; whoever asks."""
    call.values()
    view = await call.view()
    return await list_answer(call, await call.services.lists.popular(view, _plain_request(call, view)))


@PLAIN_LISTS.operation(
    "GET",
    "/{source}/new",
    has_etag=True,
    about=NOBODY,
    in_browsers=True,
    scope=Scope.READ,
    parameters=(*PLAIN, AFTER, NEWNESS, MIN_VERSION),
    answer="AnonymousResult",
)
async def new_content(call: Call) -> Answer:
    """What became available last, the newest first."""
    call.values()
    view = await call.view()
    return await list_answer(call, await call.services.lists.newest(view, _plain_request(call, view)))


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
    query = personal_request(call, "", view)
    lists, audience_version = await call.services.lists.recommend_to_each(view, query, call.decoded)
    return Answer(result=lists, version=view.head.version, headers=audience_headers(audience_version))
