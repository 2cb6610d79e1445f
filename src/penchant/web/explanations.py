"""Handlers of reasons and previews: why a piece is in a list or not, and what lists would be."""

from penchant.errors import UnknownPiece
from penchant.model import Feature
from penchant.web.bodies import JSON
from penchant.web.operations import Answer, Call, Operation
from penchant.web.parameters import (
    ALGO,
    AT,
    CATALOGS,
    EXCLUDE,
    EXPLAIN,
    MIN_VERSION,
    OLD_TAKE,
    PERSONAL,
    SIMILAR_LIMIT,
)
from penchant.web.problems import problem_of
from penchant.web.recommendations import personal_query, similar_query
from penchant.web.tags import body_tag
from penchant.wire import SimilarEntry, decode_asked, decode_draft, decode_likings, decode_preview, encode

MAX_ASKED = 100
"""Pieces whose lists one request asks for (interface, section 9)."""


async def why_similar(call: Call) -> Answer:
    """Answer where a piece stands among those near another, and why."""
    values = call.values()
    view = await call.view()
    query = similar_query(call.path["contentID"], values)
    body = encode(await call.services.explanations.near(call.access, view, query, call.path["other"]))
    return Answer(body=body, version=view.head.version, etag=body_tag(call, body))


async def why_recommended(call: Call) -> Answer:
    """Answer where a piece stands among those a person may like, and why."""
    values = call.values()
    view = await call.view()
    query = personal_query(call.path["userID"], values)
    place = await call.services.explanations.suited(call.access, view, query, call.path["contentID"])
    return Answer(body=encode(place), version=view.head.version)


async def preview_similar(call: Call) -> Answer:
    """Answer the neighbours of a draft."""
    values = call.values()
    draft_id, draft = await call.services.database.in_thread(decode_draft, call.body)
    view = await call.view()
    result = await call.services.explanations.draft(view, similar_query(draft_id or "", values), draft)
    return Answer(body=encode(result), version=view.head.version)


async def preview_recommendation(call: Call) -> Answer:
    """Answer what somebody may like of whom nothing is stored."""
    values = call.values()
    likings = decode_likings(call.body)
    view = await call.view()
    query = personal_query("", values)
    if values["explain"]:
        body = encode(await call.services.explanations.recommend(view, query, likings))
    else:
        body = encode(await call.services.recommender.recommend(view, query, likings))
    return Answer(body=body, version=view.head.version)


async def preview_settings(call: Call) -> Answer:
    """Answer lists as they are and as they would be under other settings."""
    call.values()
    wish = decode_preview(call.body)
    if wish.users:
        call.services.access.require(call.access, Feature.PERSONALIZED)
    view = await call.view()
    uncount = await call.count_more(len(wish.pieces) + len(wish.users) - 1)
    try:
        preview = await call.services.previews.settings(view, wish)
    except BaseException:
        uncount()
        raise
    return Answer(body=encode(preview), version=view.head.version)


async def similar_to_each(call: Call) -> Answer:
    """Answer the nearest pieces of several pieces, in the order of their ids."""
    values = call.values()
    ids = decode_asked(call.body, MAX_ASKED)
    view = await call.view()
    uncount = await call.count_more(len(ids) - 1)
    queries = [similar_query(each, values) for each in ids]
    try:
        found = await call.services.explanations.similar_to_each(view, queries, explain=values["explain"])
    except BaseException:
        uncount()
        raise
    base_path = call.services.settings.base_path
    entries = [
        SimilarEntry(id=asked, error=problem_of(each, base_path))
        if isinstance(each, UnknownPiece)
        else SimilarEntry(id=asked, content=each.content)
        for asked, each in zip(ids, found, strict=True)
    ]
    return Answer(body=encode(entries), version=view.head.version)


_BODY_ERRORS = ("unsupported-media-type", "body-too-large", "invalid-syntax", "invalid-input", "request-timeout")
_NEAR = (SIMILAR_LIMIT, OLD_TAKE, CATALOGS, ALGO, AT, EXCLUDE)

EXPLANATIONS = (
    Operation(
        method="GET",
        path="/{source}/content/{contentID}/why/{other}",
        name="whySimilar",
        summary="Why a piece is among those similar to another, or why not.",
        handler=why_similar,
        tag="explanations",
        parameters=(*_NEAR, MIN_VERSION),
        answer="SimilarPlace",
        errors=("unknown-piece",),
    ),
    Operation(
        method="GET",
        path="/{source}/users/{userID}/why/{contentID}",
        name="whyRecommended",
        summary="Why a piece is recommended to a person, or why not.",
        handler=why_recommended,
        tag="explanations",
        feature=Feature.PERSONALIZED,
        parameters=(*PERSONAL, MIN_VERSION),
        personal=True,
        answer="PersonalPlace",
    ),
    Operation(
        method="POST",
        path="/{source}/preview/similar",
        name="previewSimilar",
        summary="The neighbours that a piece would have, with reasons; it is not stored.",
        handler=preview_similar,
        tag="explanations",
        parameters=(*_NEAR, MIN_VERSION),
        counted=True,
        media_types=(JSON,),
        body="Draft",
        answer="DraftResult",
        errors=("quota-exceeded", *_BODY_ERRORS),
    ),
    Operation(
        method="POST",
        path="/{source}/preview/recommendation",
        name="previewRecommendation",
        summary="What somebody may like who likes and dislikes these pieces and keywords; nothing is stored.",
        handler=preview_recommendation,
        tag="explanations",
        feature=Feature.PERSONALIZED,
        parameters=(*PERSONAL, EXPLAIN, MIN_VERSION),
        counted=True,
        personal=True,
        media_types=(JSON,),
        body="Likings",
        answer="AnonymousResult",
        errors=("quota-exceeded", "too-many-entries", *_BODY_ERRORS),
    ),
    Operation(
        method="POST",
        path="/{source}/preview/settings",
        name="previewSettings",
        summary="Lists as they are and as they would be under other settings; nothing is stored.",
        handler=preview_settings,
        tag="explanations",
        parameters=(MIN_VERSION,),
        counted=True,
        personal=True,
        media_types=(JSON,),
        body="PreviewWish",
        answer="SettingsPreview",
        errors=(
            "quota-exceeded",
            "feature-not-in-plan",
            "unknown-piece",
            "too-few-pieces",
            "too-many-entries",
            "preview-too-large",
            "overloaded",
            *_BODY_ERRORS,
        ),
    ),
    Operation(
        method="POST",
        path="/{source}/similar",
        name="similarToEach",
        summary="The nearest pieces of up to 100 pieces, in one request.",
        handler=similar_to_each,
        tag="recommendations",
        parameters=(*_NEAR, EXPLAIN, MIN_VERSION),
        counted=True,
        media_types=(JSON,),
        body="AskedIds",
        answer="SimilarEntries",
        errors=("quota-exceeded", "too-few-pieces", "too-many-entries", *_BODY_ERRORS),
    ),
)
