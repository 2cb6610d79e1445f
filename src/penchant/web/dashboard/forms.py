"""What did somebody send with a form, and was it one of our own? Fields, cookies, and where a form came from.

A form counts as ours if the browser names our own origin, and if it carries what only our page could know.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from penchant.errors import InvalidSyntax, PenchantError
from penchant.service.sessions import is_same
from penchant.web.bodies import read_body, require_media_type
from penchant.web.operations import Call
from penchant.web.problems import ProblemKind

FORM = "application/x-www-form-urlencoded"
FORM_BYTES = 2 * 1024 * 1024
"""The largest form: a page of a list, whose ids may have 500 characters of 12 bytes each."""
MAX_FIELDS = 5_000
PROOF = "proof"
"""The hidden field of every form, which no other site's form can have."""


class ForeignForm(PenchantError):
    """A form was sent that no page of this dashboard made, for this session; told on pages only."""

    code = "foreign-form"


FOREIGN_FORM = ProblemKind(
    403,
    "Not a form of this dashboard",
    "A form came from another site, or from a page of a session that is over. Open the page again, and send it there.",
)


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form, repeated ones included, in the order sent."""

    fields: Mapping[str, list[str]] = field(default_factory=dict)

    def all(self, name: str) -> list[str]:
        """Return every value of a field."""
        return self.fields.get(name, [])

    def text(self, name: str, default: str = "") -> str:
        """Return the first value of a field, or the default where there is none."""
        values = self.fields.get(name)
        return values[0] if values else default


async def read_form(call: Call) -> Form:
    """Return the form in a request's body.

    Raises:
        UnsupportedMediaType, BodyTooLarge, RequestTimeout, Overloaded: as `read_body`.
        InvalidSyntax: it is no form.
    """
    require_media_type(call.headers, (FORM,))
    body = await read_body(
        call.receive,
        call.headers,
        limit_bytes=FORM_BYTES,
        timeout_s=call.services.settings.body_timeout_s,
        take=call.hold,
    )
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise InvalidSyntax("The form cannot be read; send it from the page once more.") from None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return Form(fields)


def require_own(call: Call, form: Form, proof: str) -> None:
    """Raise `ForeignForm` unless a form comes from one of our own pages.

    Browsers tell the origin with every form, which scripts of other sites cannot change. Behind a proxy that hands
    on another host, their word that it is the same site's is enough.
    """
    origin = urlsplit(call.headers.get("origin", ""))
    same_host = bool(origin.netloc) and origin.netloc == call.headers.get("host")
    same_site = bool(origin.netloc) and call.headers.get("sec-fetch-site") == "same-origin"
    if not (same_host or same_site):
        raise ForeignForm("The form does not come from this dashboard. Open its page and send it from there.")
    if not proof or not is_same(form.text(PROOF), proof):
        raise ForeignForm("The form is of another session. Open its page again and send it from there.")


def is_private(call: Call) -> bool:
    """Return whether the browser speaks TLS with us, or with a proxy before us: its origin tells."""
    return call.headers.get("origin", "").startswith("https://")


def cookie(call: Call, name: str) -> str:
    """Return the value of a cookie, "" where there is none."""
    for header in call.headers.getlist("cookie"):
        for pair in header.split(";"):
            given, _, value = pair.strip().partition("=")
            if given == name:
                return value
    return ""


def set_cookie(name: str, value: str, *, path: str, age_s: int, private: bool) -> str:
    """Return the header's value that sets a cookie which no script and no other site's page can use."""
    secure = "; Secure" if private else ""
    return f"{name}={value}; Path={path}; Max-Age={age_s}; HttpOnly; SameSite=Strict{secure}"
