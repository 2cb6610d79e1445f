"""Routes of lists that are about no person, and of those for many people."""

from penchant.model import Feature, Scope
from penchant.web import plain_lists
from penchant.web.bodies import JSON
from penchant.web.operations import BODY_ERRORS, Operation
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

PLAIN_LISTS = (
    Operation(
        method="GET",
        path="/{source}/popular",
        name="popularContent",
        summary="What most people like, the most popular first; whoever asks.",
        handler=plain_lists.popular,
        has_etag=True,
        tag="recommendations",
        scope=Scope.READ,
        parameters=(*PLAIN, HALF_LIFE, MIN_VERSION),
        answer="AnonymousResult",
        errors=("overloaded",),
    ),
    Operation(
        method="GET",
        path="/{source}/new",
        name="newContent",
        summary="What became available last, the newest first.",
        handler=plain_lists.newest,
        has_etag=True,
        tag="recommendations",
        scope=Scope.READ,
        parameters=(*PLAIN, NEWNESS, MIN_VERSION),
        answer="AnonymousResult",
    ),
    Operation(
        method="GET",
        path="/{source}/content/{contentID}/audience",
        name="contentAudience",
        summary="Which people would like this piece most, for a newsletter or a push.",
        handler=plain_lists.prospects,
        tag="recommendations",
        scope=Scope.PERSONAL,
        feature=Feature.PERSONALIZED,
        parameters=(PEOPLE_LIMIT, PEOPLE_TAKE, AT, INCLUDE_SEEN, FILL, MIN_VERSION),
        counted=True,
        personal=True,
        answer="ProspectList",
        errors=("unknown-piece", "too-many-people", "quota-exceeded", "overloaded"),
    ),
    Operation(
        method="POST",
        path="/{source}/recommendations",
        name="recommendToEach",
        summary="What each of up to 1,000 people may like, in one request.",
        handler=plain_lists.recommend_to_each,
        tag="recommendations",
        scope=Scope.PERSONAL,
        feature=Feature.PERSONALIZED,
        parameters=(*PERSONAL, MIN_VERSION),
        counted=True,
        personal=True,
        media_types=(JSON,),
        body="UserIds",
        answer="RecommendationResults",
        errors=("quota-exceeded", "too-many-entries", "overloaded", *BODY_ERRORS),
    ),
)
