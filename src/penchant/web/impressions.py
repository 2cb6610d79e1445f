"""Handlers of what people were shown, and of what came of it."""

from penchant.model import DAY_MS, ListIdentity
from penchant.service.results import ResultsRequest
from penchant.web.operations import Answer, Call
from penchant.wire import BulkReceipt, decode_impressions, encode


async def record_impressions(call: Call) -> Answer:
    """Store what people saw of lists, all or none."""
    call.values()
    head = await call.services.views.head(call.access.account_id, call.source)
    service = call.services.impressions
    settings = await service.settings(head)
    people: set[str] = set()

    def read_list(text: str, user_id: str | None) -> ListIdentity:
        found = service.reported_list(head, settings, text, user_id)
        if found.person:
            people.add(found.person.hex())
        return found

    now = call.services.people.now()
    find_position = call.services.list_ids.position
    impressions = await call.decode_body(lambda body: decode_impressions(body, now, read_list, find_position))
    # Lists for nobody in particular concern nobody: a browser key needs no signature for them.
    if people:
        call.require_people(people, name=lambda user_id: call.services.list_ids.person(head.source_id, user_id).hex())
    outcome = await service.record(call.access, call.source, settings, impressions)
    receipt = BulkReceipt(accepted=outcome.created, duplicates=outcome.duplicates)
    return Answer(status=202, body=encode(receipt))


async def placement_results(call: Call) -> Answer:
    """Answer what the variants of a placement showed, and what came of it."""
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
