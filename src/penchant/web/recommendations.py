"""Handlers of what the service is for: similar content, recommendations, profiles."""

from penchant.service.recommend import PersonalQuery, SimilarQuery
from penchant.web.operations import Answer, Call
from penchant.web.parameters import Values
from penchant.web.tags import body_tag
from penchant.wire import encode


def similar_query(piece_id: str, values: Values) -> SimilarQuery:
    """Return what is asked about a piece."""
    return SimilarQuery(
        piece_id=piece_id,
        take=values["limit"] or values["take"],
        algorithm=values["algo"],
        catalogs=values["catalogs"],
        at=values["at"],
        exclude=values["exclude"],
    )


def personal_query(user_id: str, values: Values) -> PersonalQuery:
    """Return what is asked about a person."""
    return PersonalQuery(
        user_id=user_id,
        take=values["take"],
        algorithm=values["algo"],
        catalogs=values["catalogs"],
        at=values["at"],
        include_seen=values["include-seen"],
        fill=values["fill"],
        exclude=values["exclude"],
        diversity=values["diversity"],
    )


async def similar(call: Call) -> Answer:
    """Answer the nearest pieces of a piece."""
    values = call.values()
    view = await call.view()
    query = similar_query(call.path["contentID"], values)
    if values["explain"]:
        body = encode(await call.services.explanations.similar(view, query))
    else:
        body = encode(call.services.recommender.similar(view, query))
    return Answer(body=body, version=view.head.version, etag=body_tag(call, body))


async def recommendation(call: Call) -> Answer:
    """Answer what a person may like."""
    values = call.values()
    view = await call.view()
    query = personal_query(call.path["userID"], values)
    if values["explain"]:
        body = encode(await call.services.explanations.recommend(view, query))
    else:
        body = encode(await call.services.recommender.recommend(view, query))
    return Answer(body=body, version=view.head.version)


async def profile(call: Call) -> Answer:
    """Answer a person's taste."""
    call.values()
    view = await call.view()
    profiles = await call.services.recommender.profile(view, call.path["userID"])
    return Answer(body=encode(profiles), version=view.head.version)
