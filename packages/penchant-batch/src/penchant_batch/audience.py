"""The people of a piece over HTTP."""

from penchant.live.background import BackgroundTask
from penchant.live.heads import SourceWatch
from penchant.model import Feature, Scope
from penchant.service import Services
from penchant.web.operations import EVERYBODY, Answer, Call, Operation, OperationTable
from penchant.web.parameters import AT, FILL, INCLUDE_SEEN, MIN_VERSION, PEOPLE_LIMIT, PEOPLE_TAKE
from penchant.web.recommendations import audience_headers
from penchant.wire import encode
from penchant_batch.prospects import Prospects, ProspectsRequest

AUDIENCE = OperationTable(Operation, "recommendations")


def forgetting(services: Services) -> tuple[BackgroundTask, BackgroundTask]:
    """Return what forgets people: those of whom nobody asks, and those of sources in which somebody was erased."""
    prospects = services.of(Prospects)
    watch = SourceWatch(services.database, (prospects,))
    return (
        BackgroundTask(name="prospects", interval_s=5.0, work=prospects.forget_idle),
        BackgroundTask(name="prospects-erasures", interval_s=5.0, work=watch.look),
    )


@AUDIENCE.operation(
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
    people, audience_version = await call.services.of(Prospects).of_piece(view, query)
    return Answer(body=encode(people), version=view.head.version, headers=audience_headers(audience_version))
