"""Handlers of what people were shown, and of what came of it."""

import functools
from collections.abc import Sequence
from typing import NamedTuple

from penchant.model import DAY_MS, Feature, NewImpression, Scope, SourceSettings
from penchant.service.list_ids import ListIds
from penchant.service.results import ResultsRequest
from penchant.storage import SourceHead
from penchant.web.bodies import INTERACTIONS_BODY
from penchant.web.operations import EVERYBODY, Answer, Call, Operation, OperationTable, in_body
from penchant.web.parameters import BASE_VARIANT, FROM, SUCCESS, TO
from penchant.wire import BulkReceipt, decode_impressions, encode

IMPRESSIONS = OperationTable(Operation, "placements")


class ReportedImpressions(NamedTuple):
    """What was seen of the lists of a source, as a report says, and by which secret and settings it was read."""

    impressions: Sequence[NewImpression]
    head: SourceHead
    settings: SourceSettings
    list_ids: ListIds


async def read_impressions(call: Call) -> ReportedImpressions:
    """Return what people saw of lists."""
    head = await call.services.views.head(call.access.account_id, call.source)
    service = call.services.impressions
    settings = await service.settings(head)
    read_list = functools.partial(service.reported_list, head, settings)
    now = call.services.people.now()
    find_position = call.services.list_ids.position
    impressions = await call.decode_body(lambda body: decode_impressions(body, now, read_list, find_position))
    return ReportedImpressions(impressions, head, settings, call.services.list_ids)


def people_shown(reported: ReportedImpressions) -> set[str]:
    """Return the marks of the people to whom lists were shown; those for nobody in particular concern nobody."""
    return {each.identity.person.hex() for each in reported.impressions if each.identity.person}


def mark(reported: ReportedImpressions, user_id: str) -> str:
    """Return by which mark lists know a person."""
    return reported.list_ids.person(reported.head.source_id, user_id).hex()


@IMPRESSIONS.operation(
    "POST",
    "/{source}/impressions",
    about=in_body(people_shown, mark=mark),
    in_browsers=True,
    scope=Scope.INTERACT,
    feature=Feature.PLACEMENTS,
    finds_source=True,
    body_kind=INTERACTIONS_BODY,
    body="ImpressionArray",
    reader=read_impressions,
    personal=True,
    status=202,
    answer="BulkReceipt",
    errors=("too-many-entries",),
)
async def record_impressions(call: Call) -> Answer:
    """Report up to 10,000 pieces of lists as seen, all or none."""
    reported: ReportedImpressions = call.decoded
    outcome = await call.services.impressions.record(call.access, call.source, reported.settings, reported.impressions)
    receipt = BulkReceipt(accepted=outcome.created, duplicates=outcome.duplicates)
    return Answer(status=202, body=encode(receipt))


@IMPRESSIONS.operation(
    "GET",
    "/{source}/placements/{name}/results",
    about=EVERYBODY,
    scope=Scope.WRITE,
    feature=Feature.PLACEMENTS,
    finds_source=True,
    parameters=(FROM, TO, SUCCESS, BASE_VARIANT),
    answer="PlacementResults",
    errors=("unknown-placement",),
)
async def placement_results(call: Call) -> Answer:
    """What the variants of a placement showed, and what came of it."""
    values = call.values()
    head = await call.services.views.head(call.access.account_id, call.source)
    request = ResultsRequest(
        placement=call.path["name"],
        first=_day(values["from"]),
        last=_day(values["to"]),
        type=values["type"],
        base=values["base"],
    )
    found = await call.services.results.read(head, request)
    return Answer(body=encode(found), version=head.version)


def _day(moment: int | None) -> int | None:
    return None if moment is None else moment // DAY_MS
