"""Problems: the one table from an error's code to its HTTP status, its title and what its reader should do."""

from collections.abc import Mapping
from functools import cache
from html import escape

import msgspec

from penchant.errors import PenchantError, UnknownProblem
from penchant.hooks import packages
from penchant.wire import encode
from penchant.wire.answers import Problem, ProblemFault

PROBLEM_MEDIA_TYPE = "application/problem+json"


class ProblemKind(msgspec.Struct, frozen=True):
    """An error as HTTP knows it: its status, its title, and what the page about it says."""

    status: int
    title: str
    explanation: str


KINDS: Mapping[str, ProblemKind] = {
    "malformed-path": ProblemKind(
        400,
        "Malformed path or query",
        "The path or the query has a % without two hexadecimal digits, bytes that are not UTF-8, or a control "
        "character. Percent-encode every segment once: a slash inside an id is %2F, a percent sign %25.",
    ),
    "malformed-request": ProblemKind(
        400,
        "Malformed request",
        "HTTP/1.1 asks for the header Host, once. A request without it, or with two, may mean different servers to a "
        "proxy and to this one.",
    ),
    "invalid-syntax": ProblemKind(
        400,
        "The body cannot be read",
        "The body is not what its content type says. The detail names the line and the column. NaN, Infinity "
        "and text that is not UTF-8 are no JSON.",
    ),
    "unauthenticated": ProblemKind(
        401,
        "No valid API key",
        "Send the header x-api-key once, with a key made by `penchant keys create`. Revoked and expired keys "
        "no longer work; `penchant keys list` shows the state of each.",
    ),
    "feature-not-in-plan": ProblemKind(
        403,
        "Not in the plan",
        "The key's plan does not include the feature that the detail names. Use a key of another plan.",
    ),
    "not-a-tenant": ProblemKind(
        403,
        "An admin key has no sources",
        "Keys with the admin role manage accounts. Use an ordinary key of the account for its sources.",
    ),
    "not-an-admin": ProblemKind(403, "Admin role needed", "Only a key made with --admin may do this."),
    "origin-not-allowed": ProblemKind(
        403,
        "Origin not allowed",
        "A browser asked on behalf of a page whose origin may not call the service, or the key is a browser key of "
        "other origins. The setting cors-origins lists the origins that may, `penchant keys list` those of a key.",
    ),
    "not-signed": ProblemKind(
        401,
        "This person is not signed",
        "The key is a browser key and works, but it is told about a person only where your server has signed that "
        "person's id: in the header x-penchant-user, for at most 24 hours (`penchant keys sign` makes one to try).",
    ),
    "not-in-browsers": ProblemKind(
        403,
        "Not in browsers",
        "A browser key is public: whoever reads a page has it. It is answered what may be shown now and what is about "
        "the signed person, never what is about everybody, listings or changes. Ask from your server, by another key.",
    ),
    "outside-scope": ProblemKind(
        403,
        "Outside the key's scopes",
        "The key is limited to scopes, and the operation belongs to the one that the detail names. Use a key with that "
        "scope (`penchant keys create --scope`).",
    ),
    "too-many-sources": ProblemKind(
        403,
        "Too many sources",
        "The plan does not allow the account another source. Delete one, or use a larger plan.",
    ),
    "too-many-pieces": ProblemKind(
        403,
        "Too many pieces",
        "The submission would give the source more pieces than the plan allows; nothing of it was stored. "
        "Replacing pieces is always possible.",
    ),
    "unknown-route": ProblemKind(
        404,
        "No such address",
        "No route has this path. Segments may not be empty: a blank id is never taken to mean all.",
    ),
    "unknown-source": ProblemKind(
        404,
        "No such source",
        "The key's account has no source of this name. The first submission to a name makes the source.",
    ),
    "unknown-piece": ProblemKind(
        404, "No such piece", "The source has no piece with this id, or no longer. Ids are compared exactly."
    ),
    "unknown-problem": ProblemKind(404, "No such problem", "No error of the service has this code."),
    "wrong-method": ProblemKind(
        405,
        "Wrong method",
        "The address exists, but not for this method. The header Allow lists those it takes.",
    ),
    "request-timeout": ProblemKind(
        408, "The request did not arrive in time", "The client stopped sending before its body was complete."
    ),
    "too-few-pieces": ProblemKind(
        409, "Too few pieces", "Similar content needs at least two pieces in the source. Submit more."
    ),
    "preview-too-large": ProblemKind(
        409,
        "Too much to preview",
        "A preview in which likes of a type of interaction would weigh something else, or in which retentionDays "
        "changes, counts all interactions of the source anew, and there are more than the detail says. Preview "
        "without that change, or store it.",
    ),
    "too-many-people": ProblemKind(
        409,
        "Too many people",
        "A list of people looks at everybody of the source, and there are more of them, or more that they did, than "
        "the detail says. `penchant recommend` makes the lists of any number of people.",
    ),
    "body-too-large": ProblemKind(
        413,
        "The body is too large",
        "The body passes the limit that the detail names, counted after decompression. Send smaller batches.",
    ),
    "too-many-entries": ProblemKind(
        413, "Too many entries", "The body holds more entries than one request may. Send several requests."
    ),
    "unsupported-media-type": ProblemKind(
        415,
        "Unsupported media type",
        "Send the header Content-Type that the detail names, and no Content-Encoding other than gzip.",
    ),
    "invalid-input": ProblemKind(
        422,
        "Not acceptable",
        "The request can be read, but something in it is not acceptable. Each entry of `errors` says where (a "
        "JSON pointer into the body, or a parameter) and what is accepted. Nothing was stored.",
    ),
    "rate-exceeded": ProblemKind(
        429,
        "Too many requests",
        "The key has used up its requests for this second, or the account the sources that it may make in this minute. "
        "Wait as Retry-After says.",
    ),
    "quota-exceeded": ProblemKind(
        429,
        "Monthly quota used up",
        "The account has used up its plan's recommendation requests for this UTC month.",
    ),
    "internal": ProblemKind(
        500,
        "Internal error",
        "Something failed that should not have. The log has the details under the answer's x-request-id.",
    ),
    "index-not-ready": ProblemKind(
        503,
        "The index is being built",
        "The index of a large source is built for the first time, or anew after it was lost, in a process of its "
        "own: about 30 seconds for a million pieces, and ten for a million interactions. Nothing is lost "
        "meanwhile. Try again as Retry-After says.",
    ),
    "not-yet-visible": ProblemKind(
        503,
        "Not yet visible",
        "The version that the read asked for was not reached in time. Try again as Retry-After says, or check "
        "that the number came from a change of this source.",
    ),
    "overloaded": ProblemKind(
        503,
        "Overloaded",
        "A queue is full, or too many requests wait; nothing of this one was done. Try again as Retry-After says.",
    ),
    "storage-unavailable": ProblemKind(
        503,
        "The database is away",
        "The database cannot be reached. A change that was answered so may or may not be stored: send it again "
        "(submissions replace, and interactions with an event id are stored once). Where the detail says that there is "
        "no room, nothing was stored.",
    ),
}

_OWN_ADDRESSES = {
    "docs": "The documents are at {base}/-/docs.",
    "openapi.json": "The OpenAPI document is at {base}/-/openapi.json.",
    "health": "Health is at {base}/-/health/live and {base}/-/health/ready.",
    "health/live": "Health is at {base}/-/health/live.",
    "health/ready": "Health is at {base}/-/health/ready.",
    "metrics": "The metrics are at {base}/-/metrics.",
    "dashboard": "The dashboard is at {base}/-/dashboard.",
}
"""Where people look for the service's own pages, which would be sources of these names; and where they are."""
_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{title} - penchant</title>
<meta name="viewport" content="width=device-width">
<style>body{{font:1rem/1.6 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}}</style></head>
<body><h1>{title}</h1><p>Status {status}, code <code>{code}</code></p><p>{explanation}</p></body>
</html>
"""


@cache
def problem_kinds() -> Mapping[str, ProblemKind]:
    """Return the table with the errors of operations that packages bring."""
    tables = (KINDS, *(each.problems for each in packages().operations()))
    return {code: kind for table in tables for code, kind in table.items()}


def kind_of(error: PenchantError) -> ProblemKind:
    """Return what an error is to HTTP; those without a place in the table are internal."""
    return problem_kinds().get(error.code, KINDS["internal"])


def status_of(error: PenchantError) -> int:
    """Return the HTTP status of an error; those without a place in the table are internal."""
    return kind_of(error).status


def address_hint(raw_path: str, base_path: str) -> str:
    """Return a hint to a page of the service that was requested as if it were a source; "" for all else."""
    hint = _OWN_ADDRESSES.get(raw_path.removeprefix(base_path).strip("/"), "")
    return hint.format(base=base_path)


def problem_body(error: PenchantError, base_path: str) -> bytes:
    """Return the RFC 9457 document of an error."""
    return encode(problem_of(error, base_path))


def problem_of(error: PenchantError, base_path: str) -> Problem:
    """Return an error as the members of its document."""
    code = error.code if error.code in problem_kinds() else "internal"
    kind = kind_of(error)
    faults = tuple(
        ProblemFault(pointer=fault.pointer, parameter=fault.parameter, detail=fault.detail) for fault in error.faults
    )
    return Problem(
        type=f"{base_path}/-/problems/{code}",
        title=kind.title,
        status=kind.status,
        detail=error.detail,
        code=code,
        errors=faults or None,
    )


def problem_page(code: str) -> str:
    """Return the page that explains a code.

    Raises:
        UnknownProblem: no error has this code.
    """
    kind = problem_kinds().get(code)
    if kind is None:
        raise UnknownProblem(f"No problem has this code. Known are {', '.join(sorted(problem_kinds()))}.")
    return _PAGE.format(title=escape(kind.title), status=kind.status, code=code, explanation=escape(kind.explanation))
