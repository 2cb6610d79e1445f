"""Handlers of reasons and previews: why a piece is in a list or not, and what lists would be."""

from collections.abc import Collection
from dataclasses import replace

from penchant.errors import UnknownPiece
from penchant.model import Feature
from penchant.web.operations import Answer, Call
from penchant.web.problems import problem_of
from penchant.web.recommendations import audience_headers, personal_answer, personal_query, query_by, similar_query
from penchant.web.tags import body_tag
from penchant.wire import PreviewWish, SimilarEntry, decode_asked, decode_draft, decode_likings, decode_preview, encode

MAX_ASKED = 100
"""Pieces whose lists one request asks for (interface, section 9)."""


async def why_similar(call: Call) -> Answer:
    """Answer where a piece stands among those near another, and why."""
    values = call.values()
    view = await call.view()
    query = query_by(call, call.path["contentID"], values, view)
    ranking = await call.services.lists.similar(view, query)
    body = encode(await call.services.lists.place(call.access, ranking, call.path["other"]))
    return Answer(
        body=body,
        version=view.head.version,
        etag=body_tag(body, call.tag_key),
        headers=audience_headers(ranking.audience_version),
    )


async def why_recommended(call: Call) -> Answer:
    """Answer where a piece stands among those a person may like, and why."""
    values = call.values()
    view = await call.view()
    query = personal_query(call, call.path["userID"], values, view)
    ranking = await call.services.lists.personal(view, query)
    place = await call.services.lists.place(call.access, ranking, call.path["contentID"])
    headers = audience_headers(ranking.audience_version)
    return Answer(body=encode(place), version=view.head.version, headers=headers)


async def preview_similar(call: Call) -> Answer:
    """Answer the neighbours of a draft."""
    values = call.values()
    draft_id, draft = await call.decode_body(lambda body: decode_draft(body, call.services.settings.piece_limits))
    view = await call.view()
    ranking = await call.services.lists.similar(view, similar_query(call, draft_id or "", values, view), draft)
    result = await call.services.lists.answer(ranking, explain=True)
    return Answer(body=encode(result), version=view.head.version)


async def preview_recommendation(call: Call) -> Answer:
    """Answer recommendations for likes and dislikes that the body states; nothing is stored."""
    values = call.values()
    likings = await call.decode_body(decode_likings)
    view = await call.view()
    query = personal_query(call, "", values, view)
    ranking = await call.services.lists.personal(view, query, likings)
    return await personal_answer(call, ranking, explain=values["explain"])


async def read_preview(call: Call) -> PreviewWish:
    """Return which lists are to be shown under other settings."""
    return await call.decode_body(decode_preview)


def people_previewed(wish: PreviewWish) -> Collection[str]:
    """Return the people whose lists are shown."""
    return wish.users


def lists_previewed(wish: PreviewWish) -> int:
    """Return how many lists are made."""
    return len(wish.pieces) + len(wish.users)


async def preview_settings(call: Call) -> Answer:
    """Answer lists as they are and as they would be under other settings."""
    wish: PreviewWish = call.decoded
    if wish.users:
        call.services.access.require(call.access, Feature.PERSONALIZED)
    view = await call.view()
    preview = await call.services.previews.settings(view, wish)
    return Answer(body=encode(preview), version=view.head.version)


async def read_asked(call: Call) -> tuple[str, ...]:
    """Return the pieces whose lists are asked for; unknown ones count as well, since the request is answered."""
    return await call.decode_body(lambda body: decode_asked(body, MAX_ASKED))


async def similar_to_each(call: Call) -> Answer:
    """Answer the nearest pieces of several pieces, in the order of their ids."""
    values = call.values()
    ids: tuple[str, ...] = call.decoded
    view = await call.view()
    query = query_by(call, "", values, view)
    queries = [replace(query, piece_id=each) for each in ids]
    lists, audience_version = await call.services.lists.similar_to_each(view, queries, explain=values["explain"])
    base_path = call.services.settings.base_path
    entries = [
        SimilarEntry(id=asked, error=problem_of(each, base_path))
        if isinstance(each, UnknownPiece)
        else SimilarEntry(id=asked, content=each.content)
        for asked, each in zip(ids, lists, strict=True)
    ]
    return Answer(body=encode(entries), version=view.head.version, headers=audience_headers(audience_version))
