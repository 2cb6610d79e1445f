"""Browsers of other origins: which may call the service, and how they learn it (CORS)."""

from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp

from penchant.errors import OriginNotAllowed
from penchant.service.access import MAX_SHOWN_ORIGIN
from penchant.telemetry import request_id
from penchant.web.exchange import REQUEST_ID_HEADER, request_id_of
from penchant.web.problems import PROBLEM_MEDIA_TYPE, problem_body, status_of

_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")
_EXPOSED_HEADERS = (
    "etag",
    "retry-after",
    "ratelimit",
    "ratelimit-policy",
    "x-request-id",
    "x-penchant-version",
    "x-penchant-audience-version",
    "x-penchant-deleted",
    "x-penchant-interactions-version",
    "x-penchant-stale",
    "x-penchant-ignored",
    "x-penchant-list",
)
"""What pages may read of an answer."""


class OriginPolicy(CORSMiddleware):
    """ASGI middleware that lets pages of some origins in; what it answers itself has an id, refusals are problems."""

    def __init__(self, app: ASGIApp, origins: Sequence[str], base_path: str) -> None:
        super().__init__(
            app,
            allow_origins=list(origins),
            allow_methods=_METHODS,
            allow_headers=["*"],
            expose_headers=list(_EXPOSED_HEADERS),
        )
        self._base_path = base_path

    def preflight_response(self, request_headers: Headers) -> Response:
        """Return the answer to a preflight, the question of a browser before the request itself."""
        response = super().preflight_response(request_headers)
        named = request_id_of(request_headers.get(REQUEST_ID_HEADER.decode(), ""))
        request_id.set(named)
        if response.status_code >= 400:
            response = self._refusal(request_headers, response)
        response.headers[REQUEST_ID_HEADER.decode()] = named
        return response

    def _refusal(self, request_headers: Headers, response: Response) -> Response:
        # What CORS says stays, or the browser would not show the problem; the text's own type and length go.
        headers = {name: value for name, value in response.headers.items() if not name.startswith("content-")}
        if self.is_allowed_origin(request_headers["origin"]):
            detail = f"Pages may use the methods {', '.join(_METHODS)}, and no private network."
        else:
            detail = (
                f"Pages of the origin {request_headers['origin'][:MAX_SHOWN_ORIGIN]} may not call the service: the "
                "setting cors-origins lists those that may. A browser key answers those that it was made for alone "
                "(`penchant keys list` shows them)."
            )
        error = OriginNotAllowed(detail)
        return Response(problem_body(error, self._base_path), status_of(error), headers, PROBLEM_MEDIA_TYPE)
