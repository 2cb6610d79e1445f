"""Errors for programs that use the service, by families; ``problems.py`` has a class for each that the interface names.

Classes of a kind share a parent, so that a program can catch as much as it can handle: `UnknownPiece` is a
`NotFound` is a `ServiceError` is a `ClientError`.
"""

from dataclasses import dataclass
from typing import ClassVar

import msgspec

from penchant_client.records import BulkReceipt, Problem, ProblemFault, Receipt

BY_CODE: "dict[str, type[ServiceError]]" = {}
_BY_STATUS: "dict[int, type[ServiceError]]" = {}


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

    def __init_subclass__(cls, *, code: str = "", status: int = 0) -> None:
        """Remember which answers a class stands for: of its code, or of its status and a code not known here."""
        if code:
            cls.own_code = code
            BY_CODE[code] = cls
        elif status:
            _BY_STATUS[status] = cls

    def __init__(self, problem: Problem, details: AnswerDetails) -> None:
        super().__init__(problem.detail)
        self.code = problem.code
        self.title = problem.title
        self.detail = problem.detail
        self.errors: tuple[ProblemFault, ...] = problem.errors or ()
        self.status = details.status
        self.request_id = details.request_id
        self.retry_after_s = details.retry_after_s

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
    index, slash, rest = pointer.removeprefix("/").partition("/")
    return f"/{int(index) + entries}{slash}{rest}" if index.isdecimal() else pointer


class NotAcceptable(ServiceError, status=400):
    """The request cannot be carried out as it is; sending it again will not help."""


class Forbidden(ServiceError, status=403):
    """The key is good, but not for this."""


class NotFound(ServiceError, status=404):
    """What the request is about is not there."""


class TooManyRequests(ServiceError, status=429):
    """Too much was asked for; nothing of the request was done."""


class Unavailable(ServiceError, status=503):
    """The service cannot answer now; it may a little later."""


def error_of(body: bytes, details: AnswerDetails) -> ServiceError:
    """Return the error that an answer stands for, also one of a proxy or a code that came up later."""
    try:
        problem = msgspec.json.decode(body, type=Problem)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        detail = "The answer is no error of this service; a proxy may have given it."
        problem = Problem(type="about:blank", title="Not answered", status=details.status, detail=detail, code="")
    # The code first, which says most; a newer service may have one that is not known here, but its status is.
    family = BY_CODE.get(problem.code) or _BY_STATUS.get(details.status) or _by_class(details.status)
    return family(problem, details)


def _by_class(status: int) -> type[ServiceError]:
    # Of a proxy that does not reach the service.
    if status in {502, 504}:
        return Unavailable
    return ServiceError if status >= 500 else NotAcceptable
