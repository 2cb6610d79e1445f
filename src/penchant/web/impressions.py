"""Handlers of what people were shown."""

from penchant.model import ListIdentity
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
    impressions = await call.decode_body(lambda body: decode_impressions(body, now, read_list))
    # Lists for nobody in particular concern nobody: a browser key needs no signature for them.
    if people:
        call.require_people(people, name=lambda user_id: call.services.list_ids.person(head.source_id, user_id).hex())
    outcome = await service.record(call.access, call.source, settings, impressions)
    receipt = BulkReceipt(accepted=outcome.created, duplicates=outcome.duplicates)
    return Answer(status=202, body=encode(receipt))
