"""Requests for pages: their query, headers and cookies; forms, and whether one is our own; answers.

A form counts as ours if the browser names our own origin, and if it carries what only our page could know.
"""

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import msgspec

from penchant_desk.problems import PageProblem, own_problem

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
FORM = "application/x-www-form-urlencoded"
MAX_FORM_BYTES = 2 * 1024 * 1024
"""The largest form: a page of a list, whose ids may have 500 characters of 12 bytes each."""
MAX_FIELDS = 5_000
MARK_BYTES = 12
PROOF = "proof"
"""The hidden field of every form, which no other site's form can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResponse:
    """An answer as it is sent."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    async def send(self, send: Send, *, is_head: bool) -> None:
        """Send it, without its body to HEAD."""
        told = self.headers if self.status == 304 else {**self.headers, "content-length": str(len(self.body))}
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in told.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if is_head else self.body})


@dataclass(frozen=True, slots=True)
class FormFields:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FormFault:
    """What is wrong with a form, and where, by a pointer into its members; nowhere in particular without one."""

    detail: str
    pointer: str | None = None


class PageRequest:
    """A request for a page, before it is known who sends it."""

    def __init__(self, scope: Scope, receive: Receive, *, is_secure: bool) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.is_secure = is_secure
        self._headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        self._query: bytes = scope["query_string"]
        self._receive = receive

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """The query's names and values."""
        return parse_qsl(self._query.decode("latin-1"), keep_blank_values=True)

    def values(self, name: str) -> list[str]:
        """Return all values of a parameter of the query."""
        return [value for key, value in self.pairs if key == name]

    def header(self, name: str) -> str:
        """Return a header, "" where it is absent."""
        return next((value for key, value in self._headers if key == name), "")

    def asked(self, page: str) -> str | None:
        """Return a page with the query of this request, to come back to after signing in."""
        query = urlencode(self.pairs, quote_via=quote, safe="")
        return f"{page}?{query}" if query else page or None

    def cookie(self, name: str) -> str:
        """Return the value of a cookie, "" where there is none."""
        # Under TLS only the ``__Host-`` name is read, which no other host of the domain can set.
        own = self._cookie_name(name)
        for key, header in self._headers:
            for pair in header.split(";") if key == "cookie" else ():
                given, _, value = pair.strip().partition("=")
                if given == own:
                    return str(value)
        return ""

    def set_cookie(self, name: str, value: str, *, path: str, age_s: int) -> str:
        """Return the header's value that sets a cookie which no script and no other site's page can use.

        Where TLS is certain its name begins with ``__Host-``: browsers then take it from this very host alone.
        """
        # The browser speaks TLS with us or a proxy before us: the host or the browser's origin say so.
        is_private = self.is_secure or self.header("origin").startswith("https://")
        secure, place = "; Secure" if is_private else "", "/" if self.is_secure else path
        return f"{self._cookie_name(name)}={value}; Path={place}; Max-Age={age_s}; HttpOnly; SameSite=Strict{secure}"

    def _cookie_name(self, name: str) -> str:
        return f"__Host-{name}" if self.is_secure else name

    async def read_form(self) -> FormFields:
        """Return the form in the body.

        Raises:
            PageProblem: it is none, or too large.
        """
        content_type = self.header("content-type")
        if content_type.partition(";")[0].strip().lower() != FORM:
            named = f"Found the content type {content_type[:80]!r}" if content_type else "The content type is missing"
            raise PageProblem(415, "unsupported-media-type", "Unsupported media type", f"{named}; accepted is {FORM}.")
        try:
            # Forms are ASCII: everything else is escaped, and is UTF-8 then.
            body = (await self._body()).decode("ascii")
            pairs = parse_qsl(body, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
        except ValueError:
            detail = "The form cannot be read; send it from the page once more."
            raise PageProblem(400, "invalid-syntax", "The body cannot be read", detail) from None
        fields: dict[str, list[str]] = {}
        for name, value in pairs:
            # Browsers send line ends as CR LF, whatever the text had.
            fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
        return FormFields(fields)

    async def _body(self) -> bytes:
        body, more = b"", True
        while more:
            message = await self._receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
            if len(body) > MAX_FORM_BYTES:
                detail = f"The form is larger than {MAX_FORM_BYTES:,} bytes."
                raise PageProblem(413, "body-too-large", "The body is too large", detail)
        return body

    def require_own(self, form: FormFields, *proofs: str) -> None:
        """Raise `PageProblem` unless a form comes from one of our own pages, with one of these proofs.

        Browsers tell the origin with every form, which scripts of other sites cannot change. Behind a proxy that hands
        on another host, their word that it is the same site's is enough.
        """
        origin = urlsplit(self.header("origin"))
        same_host = bool(origin.netloc) and origin.netloc == self.header("host")
        same_site = bool(origin.netloc) and self.header("sec-fetch-site") == "same-origin"
        if not (same_host or same_site):
            raise own_problem(
                "foreign-form", "The form does not come from this dashboard. Open its page and send it from there."
            )
        given = form.text(PROOF).encode()
        if not any(bool(proof) and hmac.compare_digest(given, proof.encode()) for proof in proofs):
            raise own_problem(
                "foreign-form", "The form is of another session. Open its page again and send it from there."
            )


def mark_of(body: bytes) -> str:
    """Return a text that differs between two states of what an answer's body shows."""
    return hashlib.blake2b(body, digest_size=MARK_BYTES).hexdigest()


def number_in(text: str) -> int | float | str:
    """Return the number that a text spells, or the text, which the interface then refuses."""
    text = text.strip()
    if text.removeprefix("-").isdecimal() and len(text) < 10:
        return int(text)
    try:
        number: float = msgspec.json.decode(text, type=float)
    except msgspec.DecodeError:
        return text
    return number
