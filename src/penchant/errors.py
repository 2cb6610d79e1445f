"""Errors of the service, in the project's own words.

Every error that a caller may meet is a `PenchantError` with a stable code. Which HTTP status a code has is
decided in `penchant.web`, never here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault of a request: where it is (a JSON pointer or a parameter's name), and what is accepted there."""

    detail: str
    pointer: str | None = None
    parameter: str | None = None


class PenchantError(Exception):
    """An error that a caller may meet; the message says what was wrong and what to do."""

    code: ClassVar[str] = "internal"

    def __init__(self, detail: str, *, faults: Sequence[Fault] = (), retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.faults = tuple(faults)
        self.retry_after_s = retry_after_s


class MalformedPath(PenchantError):
    """The path or the query holds a malformed escape, invalid UTF-8 or a control character."""

    code = "malformed-path"


class MalformedRequest(PenchantError):
    """The request's head breaks the rules of HTTP in a way that leaves open what is meant."""

    code = "malformed-request"


class UnknownRoute(PenchantError):
    """No route of the service has this path."""

    code = "unknown-route"


class WrongMethod(PenchantError):
    """The path exists, but not with this method; ``allow`` lists those it has."""

    code = "wrong-method"

    def __init__(self, detail: str, *, allow: str) -> None:
        super().__init__(detail)
        self.allow = allow


class Unauthenticated(PenchantError):
    """The API key is missing, given twice, unknown, revoked or expired."""

    code = "unauthenticated"


class RateExceeded(PenchantError):
    """The key has used up its requests for this second, or the account its new sources for this minute."""

    code = "rate-exceeded"


class QuotaExceeded(PenchantError):
    """The account has used up its recommendation requests for this month."""

    code = "quota-exceeded"


class FeatureNotInPlan(PenchantError):
    """The key's plan does not include the feature that the request needs."""

    code = "feature-not-in-plan"


class NotATenant(PenchantError):
    """An admin key manages accounts; it has no sources of its own."""

    code = "not-a-tenant"


class NotAnAdmin(PenchantError):
    """Only a key with the admin role may do this."""

    code = "not-an-admin"


class OriginNotAllowed(PenchantError):
    """Pages of this origin may not call the service."""

    code = "origin-not-allowed"


class NotSigned(PenchantError):
    """The browser key is valid, but the person whom the request is about is not signed."""

    code = "not-signed"


class NotInBrowsers(PenchantError):
    """A browser key is public, and this is not for pages."""

    code = "not-in-browsers"


class OutsideScope(PenchantError):
    """The key is limited to other scopes."""

    code = "outside-scope"


class TooManySources(PenchantError):
    """The plan does not allow the account another source."""

    code = "too-many-sources"


class TooManyPieces(PenchantError):
    """The plan does not allow the source this many pieces."""

    code = "too-many-pieces"


class UnknownSource(PenchantError):
    """The account has no source of this name."""

    code = "unknown-source"


class UnknownPiece(PenchantError):
    """The source has no piece with this id."""

    code = "unknown-piece"


class UnknownPlacement(PenchantError):
    """The source has no placement of this name, or no such version of it."""

    code = "unknown-placement"


class TooManyPlacements(PenchantError):
    """The source has as many placements as one may have."""

    code = "too-many-placements"


class PlacementChanged(PenchantError):
    """Others changed the placement at the same moment."""

    code = "placement-changed"


class UnknownProblem(PenchantError):
    """No problem of the service has this code."""

    code = "unknown-problem"


class UnsupportedMediaType(PenchantError):
    """The body's content type or encoding is not accepted here."""

    code = "unsupported-media-type"


class BodyTooLarge(PenchantError):
    """The body is larger than the service accepts."""

    code = "body-too-large"


class TooManyEntries(PenchantError):
    """The body holds more entries than one request may."""

    code = "too-many-entries"


class InvalidSyntax(PenchantError):
    """The body is not what its content type says, JSON for one."""

    code = "invalid-syntax"


class InvalidInput(PenchantError):
    """The request can be read, but a value in it is not acceptable."""

    code = "invalid-input"


class TooFewPieces(PenchantError):
    """Similar content needs at least two pieces in the source."""

    code = "too-few-pieces"


class PreviewTooLarge(PenchantError):
    """The preview would take too long to compute."""

    code = "preview-too-large"


class TooManyPeople(PenchantError):
    """The source has more people, or more that they did, than one list of people looks at."""

    code = "too-many-people"


class RequestTimeout(PenchantError):
    """The client stopped sending before its request was complete."""

    code = "request-timeout"


class NotYetVisible(PenchantError):
    """The version that the read asked for was not reached in time."""

    code = "not-yet-visible"


class IndexNotReady(PenchantError):
    """The index of a large source is being built."""

    code = "index-not-ready"


class Overloaded(PenchantError):
    """A queue is full; nothing of the request was done."""

    code = "overloaded"


class StorageUnavailable(PenchantError):
    """The database cannot be reached, or refuses; nothing of the request is certain to be stored."""

    code = "storage-unavailable"


class ConnectionLost(StorageUnavailable):
    """The connection to the database broke or could not be made; a commit under way may have arrived or not."""


class StorageIncompatible(PenchantError):
    """The database was written by a newer release, or is not ours."""

    code = "storage-incompatible"


class Refused(PenchantError):
    """A command would lose something, or disturb a process that runs; the message says how to go on."""

    code = "refused"


class InvalidSettings(PenchantError):
    """A setting of the service itself has a value that is not accepted."""

    code = "invalid-settings"


def invalid_parameter(parameter: str, detail: str) -> InvalidInput:
    """Return the error for one unacceptable query parameter, header or path segment."""
    return InvalidInput(detail, faults=[Fault(parameter=parameter, detail=detail)])
