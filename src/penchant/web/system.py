"""Handlers of the service's own addresses: health, metrics, documents."""

import msgspec

from penchant import __version__
from penchant.errors import NotAnAdmin
from penchant.web.operations import Answer, Call
from penchant.web.problems import problem_page
from penchant.wire import Addresses, encode

_HTML = "text/html; charset=utf-8"
_METRICS = "text/plain; version=0.0.4; charset=utf-8"


async def addresses(call: Call) -> Answer:
    """Answer where the documents are; a browser is sent to the dashboard."""
    base = call.services.settings.base_path
    headers = {"vary": "accept", "cache-control": "no-cache"}
    if "text/html" in call.headers.get("accept", ""):
        return Answer(status=303, headers=headers | {"location": f"{base}/-/dashboard"})
    found = Addresses(
        name="penchant",
        version=__version__,
        documents=f"{base}/-/docs",
        dashboard=f"{base}/-/dashboard",
        openapi=f"{base}/-/openapi.json",
        openapi_for_generators=f"{base}/-/openapi.json?for=generators",
        health=f"{base}/-/health/ready",
        metrics=f"{base}/-/metrics",
    )
    return Answer(body=encode(found), headers=headers)


async def live(_call: Call) -> Answer:
    """Answer that the process runs."""
    return Answer(body=b'{"status":"ok"}')


async def ready(call: Call) -> Answer:
    """Answer whether requests can be served: 200, with warnings for the operator, or 503 while the database is away."""
    database = call.services.database
    warnings = await database.in_thread(database.storage.upkeep.ping)
    health: dict[str, object] = {"status": "ok"} | ({"warnings": warnings} if warnings else {})
    return Answer(body=msgspec.json.encode(health))


async def metrics(call: Call) -> Answer:
    """Answer the metrics in the Prometheus text form."""
    if not call.services.settings.metrics_public:
        # A public operation, which is let in without a key: it checks for itself where the settings close it.
        access = await call.services.access.authenticate(call.headers.getlist("x-api-key"))
        if not access.admin:
            raise NotAnAdmin("The metrics are closed; use a key with the admin role.")
    return Answer(body=await call.services.measuring.text(), media_type=_METRICS)


async def problem(call: Call) -> Answer:
    """Answer the page that explains an error."""
    return Answer(body=problem_page(call.path["code"]).encode(), media_type=_HTML)
