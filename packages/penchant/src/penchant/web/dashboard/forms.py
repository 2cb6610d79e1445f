"""Forms and cookies of the dashboard: their fields, and whether a form is one of our own.

A form counts as ours if the browser names our own origin, and if it carries what only our page could know.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from penchant.errors import InvalidSyntax, PenchantError
from penchant.service.access import is_same
from penchant.web.bodies import BodyKind, require_media_type
from penchant.web.operations import Call
from penchant.web.problems import ProblemKind

FORM = "application/x-www-form-urlencoded"
FORM_BODY = BodyKind(limit_bytes=lambda _: 2 * 1024 * 1024, growth=8)
"""The largest form: a page of a list, whose ids may have 500 characters of 12 bytes each."""
MAX_FIELDS = 5_000
PROOF = "proof"
"""The hidden field of every form, which no other site's form can have."""


class ForeignForm(PenchantError):
    """A form was sent that no page of this dashboard made, for this session; only pages show this error."""

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

    def numbers(self, names: Iterable[str], prefix: str = "") -> dict[str, Any]:
        """Return the numbers in the fields of these names, but for those left blank; what is no number stays a text."""
        texts = {name: self.text(prefix + name) for name in names}
        return {name: number_in(text) for name, text in texts.items() if text.strip()}


async def read_form(call: Call) -> Form:
    """Return the form in a request's body.

    Raises:
        UnsupportedMediaType, BodyTooLarge, RequestTimeout, Overloaded: as `read_body`.
        InvalidSyntax: it is no form.
    """
    require_media_type(call.headers, (FORM,))
    body = await call.exchange.read_body(FORM_BODY)
    try:
        # Forms are ASCII: everything else is escaped, and is UTF-8 then.
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise InvalidSyntax("The form cannot be read; send it from the page once more.") from None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        # Browsers send line ends as CR LF, whatever the text had.
        fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return Form(fields)


def require_own(call: Call, form: Form, *proofs: str) -> None:
    """Raise `ForeignForm` unless a form comes from one of our own pages, with one of these proofs.

    Browsers tell the origin with every form, which scripts of other sites cannot change. Behind a proxy that hands
    on another host, their word that it is the same site's is enough.
    """
    origin = urlsplit(call.headers.get("origin", ""))
    same_host = bool(origin.netloc) and origin.netloc == call.headers.get("host")
    same_site = bool(origin.netloc) and call.headers.get("sec-fetch-site") == "same-origin"
    if not (same_host or same_site):
        raise ForeignForm("The form does not come from this dashboard. Open its page and send it from there.")
    if not any(bool(proof) and is_same(form.text(PROOF), proof) for proof in proofs):
        raise ForeignForm("The form is of another session. Open its page again and send it from there.")


def is_private(call: Call) -> bool:
    """Return whether the browser speaks TLS with us or a proxy before us: settings or the browser's origin say so."""
    return call.exchange.is_secure() or call.headers.get("origin", "").startswith("https://")


def cookie(call: Call, name: str) -> str:
    """Return the value of a cookie, "" where there is none."""
    # Under TLS only the ``__Host-`` name is read, which no other host of the domain can set.
    own = _cookie_name(name, is_secure=call.exchange.is_secure())
    for header in call.headers.getlist("cookie"):
        for pair in header.split(";"):
            given, _, value = pair.strip().partition("=")
            if given == own:
                return value
    return ""


def set_cookie(call: Call, name: str, value: str, *, path: str, age_s: int) -> str:
    """Return the header's value that sets a cookie which no script and no other site's page can use.

    Where TLS is certain its name begins with ``__Host-``: browsers then take it from this very host alone.
    """
    is_secure = call.exchange.is_secure()
    secure = "; Secure" if is_private(call) else ""
    name, path = _cookie_name(name, is_secure=is_secure), "/" if is_secure else path
    return f"{name}={value}; Path={path}; Max-Age={age_s}; HttpOnly; SameSite=Strict{secure}"


def _cookie_name(name: str, *, is_secure: bool) -> str:
    return f"__Host-{name}" if is_secure else name


def number_in(text: str) -> int | float | str:
    """Return the number that a text spells, or the text, which the interface's readers then refuse."""
    text = text.strip()
    if text.removeprefix("-").isdecimal() and len(text) < 10:
        return int(text)
    try:
        number: float = msgspec.json.decode(text, type=float)
    except msgspec.DecodeError:
        return text
    return number
