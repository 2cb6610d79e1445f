"""Handlers of the service's own addresses: health, metrics, problems, and files for pages."""

from importlib.resources import files

import msgspec

from penchant import __version__
from penchant.covers import cover
from penchant.errors import NotAnAdmin
from penchant.hooks import packages
from penchant.service import administration
from penchant.service.measuring import GaugeUpdater
from penchant.settings import NodeSettings
from penchant.web.mounts.applications import DASHBOARD_PATH
from penchant.web.operations import NOBODY, Answer, Call, Operation, OperationTable, body_tag, keys_of
from penchant.web.problems import problem_page
from penchant.web.resource import authenticate, count_request
from penchant.wire import encode
from penchant.wire.answers import Addresses, ServiceVersion

SYSTEM = OperationTable(Operation, "service")

_SVG = "image/svg+xml"
_COVER_HEADERS = {
    # A week, since another version may draw otherwise.
    "cache-control": "public, max-age=604800",
    # Opened by itself it is a document of this origin; it runs and loads nothing all the same.
    "content-security-policy": "default-src 'none'; sandbox",
    # Pages of any origin may show it: it tells nothing but the title in its address.
    "cross-origin-resource-policy": "cross-origin",
    "x-content-type-options": "nosniff",
}
_JAVASCRIPT = "text/javascript; charset=utf-8"
_ELEMENTS_HEADERS = {
    "cache-control": "no-cache",
    # Pages of any origin may load it: what they may not ask, the elements then say.
    "access-control-allow-origin": "*",
    "cross-origin-resource-policy": "cross-origin",
    "x-content-type-options": "nosniff",
}
_METRICS = "text/plain; version=0.0.4; charset=utf-8"


def asks_for_page(call: Call) -> bool:
    """Return whether a browser asks, which is shown pages."""
    return "text/html" in call.headers.get("accept", "")


def dashboard_path(settings: NodeSettings) -> str | None:
    """Return the path of the dashboard, if there is one."""
    has_dashboard = any(each.path == DASHBOARD_PATH for each in packages().mounts(settings))
    return settings.base_path + DASHBOARD_PATH if has_dashboard else None


@SYSTEM.operation("GET", "/", about=NOBODY, public=True, answer="Addresses")
async def addresses(call: Call) -> Answer:
    """Where the documents, the dashboard and the OpenAPI document are; a browser is sent to the dashboard, if any."""
    base = call.services.settings.base_path
    headers = {"vary": "accept", "cache-control": "no-cache"}
    dashboard = dashboard_path(call.services.settings)
    if dashboard is not None and asks_for_page(call):
        return Answer(status=303, headers=headers | {"location": dashboard})
    links = Addresses(
        name="penchant",
        version=__version__,
        documents=f"{base}/-/docs",
        dashboard=dashboard,
        openapi=f"{base}/-/openapi.json",
        openapi_for_generators=f"{base}/-/openapi.json?for=generators",
        health=f"{base}/-/health/ready",
        metrics=f"{base}/-/metrics",
    )
    return Answer(body=encode(links), headers=headers)


@SYSTEM.operation("GET", "/-/version", about=NOBODY, public=True, answer="ServiceVersion")
async def version(_call: Call) -> Answer:
    """The version of the service, and of each package that brings something to it."""
    return Answer(body=encode(ServiceVersion(version=__version__, packages=packages().versions)))


@SYSTEM.operation(
    "GET",
    "/-/key",
    about=NOBODY,
    public=True,
    personal=True,
    answer="OwnKey",
    errors=("unauthenticated", "rate-exceeded"),
)
async def own_key(call: Call) -> Answer:
    """What the key of the request may do, and its plan."""
    # Any key may ask for itself, also one without a single scope: it is let in here.
    exchange = call.exchange
    access = exchange.access or await authenticate(exchange, keys_of(exchange.scope, exchange.headers))
    if exchange.access is None:
        await count_request(exchange, access)
        call.services.access.require_origin(access, call.headers.get("origin"))
    return Answer(body=encode(administration.own_key(access)))


@SYSTEM.operation("GET", "/-/health/live", about=NOBODY, public=True, answer="Health")
async def live(_call: Call) -> Answer:
    """Whether the process runs."""
    return Answer(body=b'{"status":"ok"}')


@SYSTEM.operation("GET", "/-/health/ready", about=NOBODY, public=True, answer="Health", errors=("storage-unavailable",))
async def ready(call: Call) -> Answer:
    """Whether requests can be served."""
    database = call.services.database
    warnings = await database.in_thread(database.storage.upkeep.ping)
    health: dict[str, object] = {"status": "ok"} | ({"warnings": warnings} if warnings else {})
    return Answer(body=msgspec.json.encode(health))


@SYSTEM.operation("GET", "/-/metrics", about=NOBODY, public=True, answer="Text", answer_media_type="text/plain")
async def metrics(call: Call) -> Answer:
    """The metrics, in the Prometheus text form."""
    if not call.services.settings.metrics_public:
        # A public operation, which is let in without a key: it checks for itself where the settings close it.
        access = await call.services.access.authenticate(call.headers.getlist("x-api-key"))
        if not access.admin:
            raise NotAnAdmin("The metrics are closed; use a key with the admin role.")
    return Answer(body=await call.services.of(GaugeUpdater).text(), media_type=_METRICS)


@SYSTEM.operation(
    "GET",
    "/-/problems/{code}",
    about=NOBODY,
    public=True,
    answer="Text",
    answer_media_type="text/html",
    errors=("unknown-problem",),
)
async def problem(call: Call) -> Answer:
    """A page that explains an error."""
    return Answer(body=problem_page(call.path["code"]).encode(), media_type="text/html; charset=utf-8")


async def _cover(call: Call) -> Answer:
    titles = call.query.values("title")
    body = cover(titles[-1] if titles else "").encode()
    return Answer(body=body, media_type=_SVG, headers=_COVER_HEADERS, etag=body_tag(body))


COVER = Operation(
    method="GET",
    path="/-/cover.svg",
    name="cover",
    summary="A drawn cover for a title.",
    handler=_cover,
    tag="service",
    about=NOBODY,
    public=True,
    answer_media_type=_SVG,
)
"""The picture of a piece that has none, by its ``title``: for pages, and so in no document for clients."""


async def _elements(_call: Call) -> Answer:
    body = (files("penchant.web") / "elements.js").read_bytes()
    return Answer(body=body, media_type=_JAVASCRIPT, headers=_ELEMENTS_HEADERS, etag=body_tag(body))


ELEMENTS = Operation(
    method="GET",
    path="/-/elements.js",
    name="elements",
    summary="The elements for pages.",
    handler=_elements,
    tag="service",
    about=NOBODY,
    public=True,
    answer_media_type=_JAVASCRIPT,
)
"""The bundle of ``clients/elements``: for pages, and so in no document for clients."""
