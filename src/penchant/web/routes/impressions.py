"""Routes of what placements showed and what came of it."""

from penchant.model import Feature, Scope
from penchant.web import impressions
from penchant.web.bodies import INTERACTIONS_BODY, JSON
from penchant.web.operations import BODY_ERRORS, CHANGE_ERRORS, EVERYBODY, Operation, in_body
from penchant.web.parameters import BASE_VARIANT, FROM, SUCCESS, TO

IMPRESSIONS = (
    Operation(
        method="POST",
        path="/{source}/impressions",
        name="recordImpressions",
        summary="Report up to 10,000 pieces of lists as seen, all or none.",
        handler=impressions.record_impressions,
        tag="placements",
        about=in_body(impressions.people_shown, mark=impressions.mark),
        in_browsers=True,
        scope=Scope.INTERACT,
        feature=Feature.PLACEMENTS,
        finds_source=True,
        media_types=(JSON,),
        body_kind=INTERACTIONS_BODY,
        body="ImpressionArray",
        reader=impressions.read_impressions,
        personal=True,
        status=202,
        answer="BulkReceipt",
        errors=("too-many-entries", *BODY_ERRORS, *CHANGE_ERRORS),
    ),
    Operation(
        method="GET",
        path="/{source}/placements/{name}/results",
        name="placementResults",
        summary="What the variants of a placement showed, and what came of it.",
        handler=impressions.placement_results,
        tag="placements",
        about=EVERYBODY,
        scope=Scope.WRITE,
        feature=Feature.PLACEMENTS,
        finds_source=True,
        parameters=(FROM, TO, SUCCESS, BASE_VARIANT),
        answer="PlacementResults",
        errors=("unknown-placement",),
    ),
)
