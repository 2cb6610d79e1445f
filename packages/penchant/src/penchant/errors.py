"""Errors of the service, in the project's own words.

Every error that a caller may meet is a `PenchantError` with a stable code, which is its class's name. Which HTTP status
a code has is decided in `penchant.web`, never here; the client's class of the same name is made from both.
"""

from penchant_engine.errors import (
    Fault,
    InvalidInput,
    InvalidSyntax,
    PenchantError,
    Refused,
    TooFewPieces,
    UnknownPiece,
)


class MalformedPath(PenchantError):
    """The path or the query holds a malformed escape, invalid UTF-8 or a control character."""


class MalformedRequest(PenchantError):
    """The request's head breaks the rules of HTTP in a way that leaves open what is meant."""


class UnknownRoute(PenchantError):
    """No route of the service has this path."""


class WrongMethod(PenchantError):
    """The path exists, but not with this method."""

    def __init__(self, detail: str, *, allow: str) -> None:
        super().__init__(detail)
        self.allow = allow


class Unauthenticated(PenchantError):
    """The API key is missing, given twice, unknown, revoked or expired."""


class RateExceeded(PenchantError):
    """The key has used up its requests for this second, or the account its new sources for this minute."""


class QuotaExceeded(PenchantError):
    """The account has used up its recommendation requests for this month."""


class FeatureNotInPlan(PenchantError):
    """The key's plan does not include the feature that the request needs."""


class NotATenant(PenchantError):
    """An admin key manages accounts; it has no sources of its own."""


class NotAnAdmin(PenchantError):
    """Only a key with the admin role may do this."""


class OriginNotAllowed(PenchantError):
    """Pages of this origin may not call the service."""


class NotSigned(PenchantError):
    """The browser key is valid, but the person whom the request is about is not signed."""


class NotInBrowsers(PenchantError):
    """A browser key is public, and this is not for pages."""


class OutsideScope(PenchantError):
    """The key is limited to other scopes."""


class TooManySources(PenchantError):
    """The plan does not allow the account another source."""


class TooManyPieces(PenchantError):
    """The plan does not allow the source this many pieces."""


class UnknownSource(PenchantError):
    """The account has no source of this name."""


class UnknownProblem(PenchantError):
    """No problem of the service has this code."""


class UnsupportedMediaType(PenchantError):
    """The body's content type or encoding is not accepted here."""


class BodyTooLarge(PenchantError):
    """The body is larger than the service accepts."""


class TooManyEntries(PenchantError):
    """The body holds more entries than one request may."""


class PreviewTooLarge(PenchantError):
    """The preview would take too long to compute."""


class TooManyPeople(PenchantError):
    """The source has more people, or more that they did, than one list of people looks at."""


class RequestTimeout(PenchantError):
    """The client stopped sending before its request was complete."""


class NotYetVisible(PenchantError):
    """The version that the read asked for was not reached in time."""


class IndexNotReady(PenchantError):
    """The index of a large source is being built."""


class Overloaded(PenchantError):
    """A queue is full; nothing of the request was done."""


class StorageUnavailable(PenchantError):
    """The database cannot be reached, or refuses; nothing of the request is certain to be stored."""

    def __init__(self, detail: str, *, reason: str | None = None, retry_after_s: float | None = None) -> None:
        """Say to those who run the service by ``reason`` what everybody need not know: names, hosts and folders."""
        super().__init__(detail, retry_after_s=retry_after_s)
        self.reason = reason or detail


class ConnectionLost(StorageUnavailable):
    """The connection to the database broke or could not be made; a commit under way may have arrived or not."""


class NoRoom(StorageUnavailable):
    """The disk of the database is full; nothing of the request is stored."""


class StorageIncompatible(PenchantError):
    """The database was written by a newer release, or is not ours."""


class InvalidSettings(PenchantError):
    """A setting of the service itself has a value that is not accepted."""


class BrokenPackage(PenchantError):
    """An installed package that brings something to the service cannot be used."""


def invalid_parameter(parameter: str, detail: str) -> InvalidInput:
    """Return the error for one unacceptable query parameter, header or path segment."""
    return InvalidInput(detail, faults=[Fault(parameter=parameter, detail=detail)])
