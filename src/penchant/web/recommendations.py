"""Handlers of what the service is for: similar content, recommendations, profiles."""

import hashlib

from penchant.service.recommend import PersonalQuery, SimilarQuery
from penchant.web.operations import Answer, Call
from penchant.wire import encode

_TAG_BYTES = 12
"""Length of an ETag's hash: 96 bits, so that two bodies never share one by chance."""


def _body_tag(call: Call, body: bytes) -> str:
    """Return an ETag of the body itself: windows change it without a new version."""
    account = call.access.account_id.to_bytes(8, "big", signed=True)
    return hashlib.blake2b(body, digest_size=_TAG_BYTES, key=account).hexdigest()


async def similar(call: Call) -> Answer:
    """Answer the nearest pieces of a piece."""
    values = call.values()
    view = await call.services.views.view(call.access.account_id, call.source, min_version=call.min_version())
    query = SimilarQuery(
        piece_id=call.path["contentID"],
        take=values["limit"] or values["take"],
        algorithm=values["algo"],
        catalogs=values["catalogs"],
        at=values["at"],
    )
    body = encode(call.services.recommender.similar(view, query))
    return Answer(body=body, version=view.head.version, etag=_body_tag(call, body), stale=view.stale)


async def recommendation(call: Call) -> Answer:
    """Answer what a person may like."""
    values = call.values()
    view = await call.services.views.view(call.access.account_id, call.source, min_version=call.min_version())
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
    return Answer(body=encode(result), version=view.head.version, stale=view.stale)


async def profile(call: Call) -> Answer:
    """Answer a person's taste."""
    call.values()
    view = await call.services.views.view(call.access.account_id, call.source, min_version=call.min_version())
    profiles = await call.services.recommender.profile(view, call.path["userID"])
    return Answer(body=encode(profiles), version=view.head.version, stale=view.stale)
