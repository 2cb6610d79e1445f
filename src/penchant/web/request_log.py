"""Records of requests: the id that the answer carries, the count, and the line in the log where it is configured."""

import itertools
import re
import secrets

from penchant.service import Services
from penchant.telemetry import logger

REQUEST_ID_HEADER = b"x-request-id"
NO_ROUTE = "(none)"
"""What requests are counted under that were not led to a route."""
CAME_AT = "penchant.came_at"
"""Where a request's scope has the moment since which its time counts."""
_PROCESS = secrets.token_hex(6)
_NUMBERS = itertools.count()
"""What request ids of ours are made of: random for the process, then a number (4 us less than random ones)."""
_REQUEST_ID = re.compile(r"[A-Za-z0-9._~:/+=-]{1,128}\Z")


def request_id_of(given: str) -> str:
    """Return the id that a caller gave, if it is well-formed, or one of ours."""
    return given if _REQUEST_ID.match(given) else f"{_PROCESS}{next(_NUMBERS):08x}"


def note_request(services: Services, method: str, route: str, status: int, seconds: float) -> None:
    """Count a request that was answered, and log it where that is asked for."""
    services.metrics.count_request(route, method, status, seconds)
    if services.settings.log_requests:
        fields = {"method": method, "route": route, "status": status, "ms": round(seconds * 1000, 3)}
        logger.info("request", extra={"fields": fields})
