"""Handlers of what the service is for: similar content, recommendations, profiles."""

from penchant.service.recommend import PersonalQuery, SimilarQuery
from penchant.web.operations import Answer, Call
from penchant.web.tags import body_tag
from penchant.wire import encode


async def similar(call: Call) -> Answer:
    """Answer the nearest pieces of a piece."""
    values = call.values()
    view = await call.view()
    query = SimilarQuery(
        piece_id=call.path["contentID"],
        take=values["limit"] or values["take"],
        algorithm=values["algo"],
        catalogs=values["catalogs"],
        at=values["at"],
    )
    body = encode(call.services.recommender.similar(view, query))
    return Answer(body=body, version=view.head.version, etag=body_tag(call, body))


async def recommendation(call: Call) -> Answer:
    """Answer what a person may like."""
    values = call.values()
    view = await call.view()
    query = PersonalQuery(
        user_id=call.path["userID"],
        take=values["take"],
        algorithm=values["algo"],
        catalogs=values["catalogs"],
        at=values["at"],
        include_seen=values["include-seen"],
        fill=values["fill"],
    )
    result = await call.services.recommender.recommend(view, query)
    return Answer(body=encode(result), version=view.head.version)


async def profile(call: Call) -> Answer:
    """Answer a person's taste."""
    call.values()
    view = await call.view()
    profiles = await call.services.recommender.profile(view, call.path["userID"])
    return Answer(body=encode(profiles), version=view.head.version)
