"""Handler of the change feed."""

from collections.abc import AsyncIterator

from penchant.service.changes import ChangePage, ChangeRequest, history_of
from penchant.web.bodies import NDJSON
from penchant.web.operations import Answer, Call
from penchant.wire import begin_line, delete_line, end_line, upsert_line


async def list_changes(call: Call) -> Answer:
    """Answer the changes of pieces after a version, as lines, once there are any or the wait is over."""
    values = call.values()
    request = ChangeRequest(since=values["since"], history=values["history"], wait_s=values["wait"])
    feed, min_version = call.services.changes, call.min_version()
    if request.wait_s:
        # A follower that has gone must not keep its turn from others until the wait is over.
        waiting = feed.wait(call.access, call.source, request, min_version=min_version)
        await call.exchange.while_connected(waiting)
    changes = await feed.after(call.access, call.source, request, min_version=min_version)
    return Answer(
        body=_lines(call.source, changes),
        media_type=NDJSON,
        version=changes.head.version,
        close=changes.page.close,
    )


async def _lines(source: str, changes: ChangePage) -> AsyncIterator[bytes]:
    head = changes.head
    yield begin_line(source, head.version, history_of(head), complete=changes.complete)
    async for batch in changes.batches():
        yield b"".join(delete_line(row.id) if row.deleted else upsert_line(row.body) for row in batch)
    yield end_line(head.version)
