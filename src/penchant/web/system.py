"""Handlers of the service's own addresses: health, metrics, documents."""

import asyncio

from penchant.errors import NotAnAdmin
from penchant.web.operations import Answer, Call
from penchant.web.problems import problem_page

_HTML = "text/html; charset=utf-8"
_METRICS = "text/plain; version=0.0.4; charset=utf-8"


async def live(_call: Call) -> Answer:
    """Answer that the process runs."""
    return Answer(body=b'{"status":"ok"}')


async def ready(call: Call) -> Answer:
    """Answer whether requests can be served: 200, or 503 while the database is away."""
    database = call.services.database
    await database.in_thread(database.storage.ping)
    return Answer(body=b'{"status":"ok"}')


async def metrics(call: Call) -> Answer:
    """Answer the metrics in the Prometheus text form."""
    if not call.services.settings.metrics_public:
        access = await call.services.access.authenticate(call.headers.getlist("x-api-key"))
        if not access.admin:
            raise NotAnAdmin("The metrics are closed; use a key with the admin role.")
    call.services.measuring.measure()
    # In a thread, since it may read the files of all workers.
    return Answer(body=await asyncio.to_thread(call.services.metrics.render), media_type=_METRICS)


async def problem(call: Call) -> Answer:
    """Answer the page that explains an error."""
    return Answer(body=problem_page(call.path["code"]).encode(), media_type=_HTML)
