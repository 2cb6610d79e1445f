"""Handlers of reasons and previews: why a piece is in a list or not, and what lists would be."""

from operator import attrgetter

from msgspec.structs import replace

from penchant.errors import UnknownPiece
from penchant.model import Feature, Scope
from penchant.service.lists.previews import Previews
from penchant.web.operations import (
    IN_PATH,
    NOBODY,
    Answer,
    Call,
    Operation,
    OperationTable,
    everybody_in_body,
    read_by,
)
from penchant.web.parameters import (
    ALGO,
    AT,
    BOOST,
    BY,
    CATALOGS,
    EXCLUDE,
    EXPLAIN,
    FILTER,
    INCLUDE,
    LIMIT,
    MIN_VERSION,
    OLD_TAKE,
    PERSONAL,
)
from penchant.web.problems import problem_of
from penchant.web.recommendations import (
    audience_headers,
    list_answer,
    list_request,
    personal_request,
    similar_request,
)
from penchant.wire import encode
from penchant.wire.explanations import SimilarEntry
from penchant.wire.lists import decode_asked
from penchant.wire.pieces import decode_draft
from penchant.wire.preferences import decode_likings
from penchant.wire.settings import PreviewWish, decode_preview

EXPLANATIONS = OperationTable(Operation, "explanations")
_NEAR = (LIMIT, OLD_TAKE, CATALOGS, FILTER, BOOST, ALGO, AT, EXCLUDE)

MAX_ASKED = 100
"""Pieces whose lists one request asks for (interface, section 9)."""


@EXPLANATIONS.operation(
    "GET",
    "/{source}/content/{contentID}/why/{other}",
    has_etag=True,
    about=NOBODY,
    in_browsers=True,
    scope=Scope.READ,
    parameters=(*_NEAR, BY, MIN_VERSION),
    answer="SimilarPlace",
    errors=("unknown-piece",),
)
async def why_similar(call: Call) -> Answer:
    """Why a piece is among those similar to another, or why not."""
    call.values()
    view = await call.view()
    query = similar_request(call, call.path["contentID"], view)
    ranking = await call.services.lists.similar(view, query)
    place = await call.services.lists.place(call.access, ranking, call.path["other"])
    headers = audience_headers(ranking.audience_version)
    return Answer(result=place, version=view.head.version, headers=headers)


@EXPLANATIONS.operation(
    "GET",
    "/{source}/users/{userID}/why/{contentID}",
    about=IN_PATH,
    in_browsers=True,
    scope=Scope.PERSONAL,
    feature=Feature.PERSONALIZED,
    parameters=(*PERSONAL, MIN_VERSION),
    personal=True,
    answer="PersonalPlace",
    errors=("overloaded",),
)
async def why_recommended(call: Call) -> Answer:
    """Why a piece is recommended to a person, or why not."""
    call.values()
    view = await call.view()
    query = personal_request(call, call.path["userID"], view)
    ranking = await call.services.lists.personal(view, query)
    place = await call.services.lists.place(call.access, ranking, call.path["contentID"])
    headers = audience_headers(ranking.audience_version)
    return Answer(result=place, version=view.head.version, headers=headers)


@EXPLANATIONS.operation(
    "POST",
    "/{source}/preview/similar",
    about=NOBODY,
    in_browsers=True,
    scope=Scope.READ,
    parameters=(*_NEAR, INCLUDE, MIN_VERSION),
    counted=True,
    body="Draft",
    answer="DraftResult",
)
async def preview_similar(call: Call) -> Answer:
    """The neighbours that a piece would have, with reasons; it is not stored."""
    call.values()
    view = await call.view()
    limits = call.services.settings.piece_limits
    draft_id, draft = await call.decode_body(lambda body: decode_draft(body, limits, view.reading))
    ranking = await call.services.lists.similar(view, list_request(call, view, piece_id=draft_id or ""), draft)
    result = await call.services.lists.answer(ranking, explain=True)
    return Answer(result=result, version=view.head.version)


@EXPLANATIONS.operation(
    "POST",
    "/{source}/preview/recommendation",
    about=NOBODY,
    in_browsers=True,
    scope=Scope.READ,
    feature=Feature.PERSONALIZED,
    parameters=(*PERSONAL, EXPLAIN, MIN_VERSION),
    counted=True,
    personal=True,
    body="Likings",
    answer="AnonymousResult",
    errors=("too-many-entries", "overloaded"),
)
async def preview_recommendation(call: Call) -> Answer:
    """What somebody may like who likes and dislikes these pieces and keywords; nothing is stored."""
    values = call.values()
    likings = await call.decode_body(decode_likings)
    view = await call.view()
    query = personal_request(call, "", view)
    ranking = await call.services.lists.personal(view, query, likings)
    return await list_answer(call, ranking, explain=values["explain"])


@EXPLANATIONS.operation(
    "POST",
    "/{source}/preview/settings",
    about=everybody_in_body(attrgetter("users")),
    scope=Scope.WRITE,
    parameters=(MIN_VERSION,),
    counted=True,
    personal=True,
    body="PreviewWish",
    reader=read_by(decode_preview),
    answers=lambda wish: len(wish.pieces) + len(wish.users),
    answer="SettingsPreview",
    errors=(
        "feature-not-in-plan",
        "unknown-piece",
        "too-few-pieces",
        "too-many-entries",
        "preview-too-large",
        "overloaded",
    ),
)
async def preview_settings(call: Call) -> Answer:
    """Lists as they are and as they would be under other settings; nothing is stored."""
    wish: PreviewWish = call.decoded
    if wish.users:
        call.services.access.require(call.access, Feature.PERSONALIZED)
    view = await call.view()
    preview = await call.services.of(Previews).settings(view, wish)
    return Answer(body=encode(preview), version=view.head.version)


@EXPLANATIONS.operation(
    "POST",
    "/{source}/similar",
    tag="recommendations",
    about=NOBODY,
    in_browsers=True,
    scope=Scope.READ,
    parameters=(*_NEAR, BY, INCLUDE, EXPLAIN, MIN_VERSION),
    counted=True,
    body="AskedIds",
    reader=read_by(lambda body: decode_asked(body, MAX_ASKED)),
    answers=len,  # unknown pieces count as well, since the request is answered
    answer="SimilarEntries",
    errors=("too-few-pieces", "too-many-entries"),
)
async def similar_to_each(call: Call) -> Answer:
    """The nearest pieces of up to 100 pieces, in one request."""
    values = call.values()
    ids: tuple[str, ...] = call.decoded
    view = await call.view()
    query = similar_request(call, "", view)
    queries = [replace(query, piece_id=each) for each in ids]
    lists, audience_version = await call.services.lists.similar_to_each(view, queries, explain=values["explain"])
    base_path = call.services.settings.base_path
    entries = [
        SimilarEntry(id=piece_id, error=problem_of(each, base_path))
        if isinstance(each, UnknownPiece)
        else SimilarEntry(id=piece_id, content=each.content)
        for piece_id, each in zip(ids, lists, strict=True)
    ]
    return Answer(result=entries, version=view.head.version, headers=audience_headers(audience_version))
