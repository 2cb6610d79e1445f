"""Errors for programs that use the service: one class for each error that the interface names.

Classes of a kind share a parent, so that a program can catch as much as it can handle: `UnknownPiece` is a
`NotFound` is a `ServiceError` is a `ClientError`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import msgspec

from penchant.wire import BulkReceipt, Problem, ProblemFault, Receipt


class ClientError(Exception):
    """Anything that this client raises because of a request.

    ``stored`` is what was stored of the same call before: a call with more entries than fit one request is several.
    """

    stored: Receipt | BulkReceipt | None = None


class InvalidArgument(ClientError, TypeError, ValueError):
    """What a method was given cannot be sent: a blank id, a value that JSON does not have, a client that is closed."""


class ConnectionLost(ClientError):
    """No answer came. Whether the request was carried out is not known, unless it was never ``sent``."""

    def __init__(self, detail: str, *, sent: bool) -> None:
        super().__init__(detail)
        self.sent = sent


class UnreadableAnswer(ClientError):
    """An answer came that is none of this interface: something else may listen at the address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerDetails:
    """What an answer tells beside its problem."""

    status: int
    request_id: str | None = None
    retry_after_s: float | None = None


class ServiceError(ClientError):
    """The service answered with an error: its ``code``, what was wrong, and where (``errors``).

    ``request_id`` finds the request in the service's log. ``code`` is "" where a proxy answered in its place.
    """

    own_code: ClassVar[str] = ""
    own_status: ClassVar[int] = 0

    def __init__(self, problem: Problem, told: AnswerDetails) -> None:
        super().__init__(problem.detail)
        self.code = problem.code
        self.title = problem.title
        self.detail = problem.detail
        self.errors: tuple[ProblemFault, ...] = problem.errors or ()
        self.status = told.status
        self.request_id = told.request_id
        self.retry_after_s = told.retry_after_s

    def __str__(self) -> str:
        where = f" (request {self.request_id})" if self.request_id else ""
        return f"{self.status} {self.code or self.title}: {self.detail}{where}"

    def move(self, entries: int) -> None:
        """Count the entries in pointers from the start of a call that came in several requests."""
        self.errors = tuple(
            msgspec.structs.replace(fault, pointer=moved(fault.pointer, entries)) if fault.pointer else fault
            for fault in self.errors
        )
        if entries and self.errors and self.errors[0].pointer:
            self.detail = f"{self.errors[0].pointer}: {self.errors[0].detail}"


def moved(pointer: str, entries: int) -> str:
    """Return a pointer into a part of a list as one into the whole, which has these many entries before."""
    place, slash, rest = pointer.removeprefix("/").partition("/")
    return f"/{int(place) + entries}{slash}{rest}" if place.isdecimal() else pointer


class NotAcceptable(ServiceError):
    """The request cannot be carried out as it is; sending it again will not help."""

    own_status = 400


class MalformedPath(NotAcceptable):
    """A name or an id holds a control character."""

    own_code = "malformed-path"


class MalformedRequest(NotAcceptable):
    """The request's head breaks the rules of HTTP; something between this client and the service changes it."""

    own_code = "malformed-request"


class InvalidSyntax(NotAcceptable):
    """The body is no JSON."""

    own_code = "invalid-syntax"


class InvalidInput(NotAcceptable):
    """A value is not acceptable; ``errors`` tell where, and what is."""

    own_code = "invalid-input"


class BodyTooLarge(NotAcceptable):
    """The body is larger than the service accepts."""

    own_code = "body-too-large"


class TooManyEntries(NotAcceptable):
    """There are more entries than one request may hold, or a list."""

    own_code = "too-many-entries"


class UnsupportedMediaType(NotAcceptable):
    """The body's content type is not accepted here."""

    own_code = "unsupported-media-type"


class WrongMethod(NotAcceptable):
    """The service does not know the operation: it is of another release."""

    own_code = "wrong-method"


class TooFewPieces(NotAcceptable):
    """Similar content needs at least two pieces in the source."""

    own_code = "too-few-pieces"


class TooManyPlacements(NotAcceptable):
    """The source has as many placements as one may have."""

    own_code = "too-many-placements"


class PlacementChanged(NotAcceptable):
    """Others changed the placement at the same moment, again and again."""

    own_code = "placement-changed"


class TooManyPeople(NotAcceptable):
    """The source has more people, or more that they did, than one list of people looks at."""

    own_code = "too-many-people"


class PreviewTooLarge(NotAcceptable):
    """What a preview asks for would take too long to find out."""

    own_code = "preview-too-large"


class Unauthenticated(ServiceError):
    """The key is unknown, revoked or expired."""

    own_code = "unauthenticated"


class NotSigned(ServiceError):
    """The browser key works, but the person whom this is about is not signed."""

    own_code = "not-signed"


class Forbidden(ServiceError):
    """The key is good, but not for this."""

    own_status = 403


class FeatureNotInPlan(Forbidden):
    """The key's plan does not include the feature that the detail names."""

    own_code = "feature-not-in-plan"


class NotATenant(Forbidden):
    """A key with the admin role has no sources."""

    own_code = "not-a-tenant"


class NotAnAdmin(Forbidden):
    """Only a key with the admin role may do this."""

    own_code = "not-an-admin"


class OriginNotAllowed(Forbidden):
    """Pages of this origin may not call the service."""

    own_code = "origin-not-allowed"


class NotInBrowsers(Forbidden):
    """A browser key is public, and this is not for pages."""

    own_code = "not-in-browsers"


class OutsideScope(Forbidden):
    """The key is limited to other scopes than the one that the detail names."""

    own_code = "outside-scope"


class TooManySources(Forbidden):
    """The plan does not allow another source."""

    own_code = "too-many-sources"


class TooManyPieces(Forbidden):
    """The plan does not allow the source this many pieces."""

    own_code = "too-many-pieces"


class NotFound(ServiceError):
    """What the request is about is not there."""

    own_status = 404


class UnknownSource(NotFound):
    """The account has no source of this name."""

    own_code = "unknown-source"


class UnknownPiece(NotFound):
    """The source has no piece with this id."""

    own_code = "unknown-piece"


class UnknownPlacement(NotFound):
    """The source has no placement of this name, or keeps no such version of it."""

    own_code = "unknown-placement"


class UnknownRoute(NotFound):
    """The service has no such address: it is of another release, or stands below another path."""

    own_code = "unknown-route"


class UnknownProblem(NotFound):
    """No error has this code."""

    own_code = "unknown-problem"


class TooManyRequests(ServiceError):
    """Too much was asked for; nothing of the request was done."""

    own_status = 429


class RateExceeded(TooManyRequests):
    """The key has used up its requests for this second."""

    own_code = "rate-exceeded"


class QuotaExceeded(TooManyRequests):
    """The account has used up its recommendation requests for this month."""

    own_code = "quota-exceeded"


class Unavailable(ServiceError):
    """The service cannot answer now; it may a little later."""

    own_status = 503


class Overloaded(Unavailable):
    """A queue is full; nothing of the request was done."""

    own_code = "overloaded"


class NotYetVisible(Unavailable):
    """The version that the read waited for was not reached in time."""

    own_code = "not-yet-visible"


class IndexNotReady(Unavailable):
    """The index of a large source is being built."""

    own_code = "index-not-ready"


class StorageUnavailable(Unavailable):
    """The database is away; a change may be stored or not."""

    own_code = "storage-unavailable"


class RequestTimeout(ServiceError):
    """The service waited for the rest of the request in vain; nothing of it was done."""

    own_code = "request-timeout"


class InternalError(ServiceError):
    """Something failed inside the service that should not have."""

    own_code = "internal"


def _families() -> Iterable[type[ServiceError]]:
    waiting: list[type[ServiceError]] = [ServiceError]
    while waiting:
        family = waiting.pop(0)
        yield family
        waiting.extend(family.__subclasses__())


BY_CODE: dict[str, type[ServiceError]] = {each.own_code: each for each in _families() if each.own_code}
_BY_STATUS: dict[int, type[ServiceError]] = {
    each.own_status: each for each in _families() if each.own_status and not each.own_code
}
_SERVER_SIDE = 500


def error_of(body: bytes, told: AnswerDetails) -> ServiceError:
    """Return the error that an answer stands for, also one of a proxy or a code that came up later."""
    try:
        problem = msgspec.json.decode(body, type=Problem)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        detail = "The answer is no error of this service; a proxy may have given it."
        problem = Problem(type="about:blank", title="Not answered", status=told.status, detail=detail, code="")
    # The code first, which says most; a newer service may have one that is not known here, but its status is.
    family = BY_CODE.get(problem.code) or _BY_STATUS.get(told.status) or _by_class(told.status)
    return family(problem, told)


def _by_class(status: int) -> type[ServiceError]:
    # Of a proxy that does not reach the service.
    if status in {502, 504}:
        return Unavailable
    return ServiceError if status >= _SERVER_SIDE else NotAcceptable
