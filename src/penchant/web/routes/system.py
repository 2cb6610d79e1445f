"""Routes of the service itself that need no key: health, metrics, explanations of errors."""

from penchant.web import system
from penchant.web.operations import Operation

SYSTEM = (
    Operation(
        method="GET",
        path="/",
        name="addresses",
        summary="Where the documents, the dashboard and the OpenAPI document are; a browser is sent to the dashboard.",
        handler=system.addresses,
        tag="service",
        public=True,
        answer="Addresses",
    ),
    Operation(
        method="GET",
        path="/-/health/live",
        name="live",
        summary="Whether the process runs.",
        handler=system.live,
        tag="service",
        public=True,
        answer="Health",
    ),
    Operation(
        method="GET",
        path="/-/health/ready",
        name="ready",
        summary="Whether requests can be served.",
        handler=system.ready,
        tag="service",
        public=True,
        answer="Health",
        errors=("storage-unavailable",),
    ),
    Operation(
        method="GET",
        path="/-/metrics",
        name="metrics",
        summary="The metrics, in the Prometheus text form.",
        handler=system.metrics,
        tag="service",
        public=True,
        answer="Text",
        answer_media_type="text/plain",
    ),
    Operation(
        method="GET",
        path="/-/problems/{code}",
        name="problem",
        summary="A page that explains an error.",
        handler=system.problem,
        tag="service",
        public=True,
        answer="Text",
        answer_media_type="text/html",
        errors=("unknown-problem",),
    ),
)
