"""Pages of the desk: a handler gathers the values of a page by the client, and a template writes them.

Nothing that a page shows is taken for markup, and nothing on it comes from elsewhere.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from html import unescape
from importlib import resources
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec import UnsetType

from penchant_client import AsyncClient, ClientError, ServiceError, operations
from penchant_client.records import ProblemFault
from penchant_client.requests import Request
from penchant_desk import HOME
from penchant_desk.filters import FILTERS
from penchant_desk.images import image_sources
from penchant_desk.moments import ZONE, in_utc, zone_called
from penchant_desk.problems import PageProblem, invalid, unknown_page
from penchant_desk.requests import FormFields, PageRequest, PageResponse, mark_of
from penchant_desk.sessions import VIEWER, DeskSession, Entrance

T = TypeVar("T")
FEATURES = ("filters", "personalized", "profile", "interactionsListing", "lists", "placements")
"""What plans may include, in the order in which pages name it."""
DESK, ROWS, WORDS = "penchant-desk", "penchant-rows", "penchant-words"
"""Packages of a service that a page may need: of the setting of its own, of rows and drafts, of words of texts."""
OF_PEOPLE = frozenset({"write", "interact"})
"""What it takes to change what is stored of a person."""
MAX_ID_LENGTH, MAX_NAME_LENGTH = 500, 200
MAX_COVER_TITLE = 120
"""Characters of a title in the address of its cover: more make no other initials, and addresses longer."""
HTML = "text/html; charset=utf-8"
_ASSETS = {
    "style.css": "text/css; charset=utf-8",
    "script.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src {images}; "
    "connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    # Not less: without a referrer browsers name no origin with forms.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_YEAR_S = 365 * 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskPage:
    """A page that a handler gives: a template's name and the values that it needs."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect:
    """A redirect that a handler gives: the path of the page that it leads on to."""

    path: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PageVisit:
    """A request for a page in a session, with the form where there is one."""

    site: "DeskSite"
    entrance: Entrance
    request: PageRequest
    session: DeskSession
    form: FormFields = field(default_factory=FormFields)

    @cached_property
    def client(self) -> AsyncClient:
        """What asks the interface for the visitor."""
        return self.entrance.client(self.session)

    async def ask(self, *requests: Request[Any]) -> list[Any]:
        """Return what is answered to several requests, sent at once.

        Raises:
            ClientError: one failed; the first of them.
        """
        return list(await asyncio.gather(*map(self.client.send, requests)))

    def link(self, page: str = "", /, **query: Any) -> str:
        """Return the address of a page; parameters of ``None`` and "" are left out."""
        return self.site.link(page, **query)

    def text(self, name: str) -> str:
        """Return a parameter of the query, "" where it is absent or blank; of a repeated one the last."""
        values = self.request.values(name)
        return values[-1] if values else ""

    def id(self, name: str = "id") -> str:
        """Return an id in the query; raises `PageProblem` where there is none."""
        return _required(self.text(name), MAX_ID_LENGTH)

    @property
    def source(self) -> str:
        """The name of the source that a page is about; raises `PageProblem` where there is none."""
        return _required(self.text("source"), MAX_NAME_LENGTH)

    def zone(self, setting: str | UnsetType | None) -> tzinfo:
        """Return the zone of a page: that of the form which it answers, or else of the source's setting, or UTC."""
        return self.form_zone() if self._zone_name else zone_called(setting or "") or UTC

    @property
    def _zone_name(self) -> str:
        return self.form.text(ZONE) or self.text(ZONE)

    def form_zone(self) -> tzinfo:
        """Return the zone of the fields of a form, or a query; UTC where it says none; raises `PageProblem`."""
        zone = zone_called(self._zone_name or "UTC")
        if zone is None:
            raise invalid("Found another time zone; one of the IANA database, such as Europe/Berlin, is accepted.")
        return zone

    def moment_in(self, text: str) -> datetime:
        """Return the moment of what a field for one holds, in UTC; raises `PageProblem` where it is none."""
        try:
            return in_utc(datetime.fromisoformat(text), self.form_zone())
        except (ValueError, OverflowError):
            raise invalid("Found no moment; a day and a time are accepted.") from None

    def may_edit(self, feature: str) -> bool:
        """Return whether the visitor may change what a feature of the key's plan is about."""
        return self.may(feature) and self.session.role != VIEWER

    def has(self, package: str) -> bool:
        """Return whether the service has a package."""
        return package in self.session.packages

    def may(self, feature: str) -> bool:
        """Return whether the key's plan includes a feature."""
        return feature in self.session.features


PageHandler = Callable[[PageVisit], Awaitable[DeskPage | Redirect]]


def _required(text: str, most: int) -> str:
    """Return a text that is part of an address; what else is wrong with it, the interface says."""
    if not text:
        raise invalid(f"Found an empty text; 1 to {most} characters are accepted.")
    return text


class DeskSite:
    """The templates and files of the desk below a base path, and what makes answers of them."""

    def __init__(self, base_path: str) -> None:
        """Load the files for pages below a base path."""
        self.home = base_path + HOME
        self._cover = f"{base_path}/-/cover.svg"
        self._assets: dict[str, tuple[bytes, str]] = {}
        for name in _ASSETS:
            body = resources.files("penchant_desk").joinpath("static", name).read_bytes()
            self._assets[name] = (body, mark_of(body))

    @cached_property
    def _templates(self) -> Environment:
        templates = Environment(
            loader=PackageLoader("penchant_desk"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            undefined=StrictUndefined,
        )
        templates.filters |= FILTERS
        templates.globals |= {
            "link": self.link,
            "cover_link": self._cover_link,
            "titles": (),
            "asset": lambda name: self.link(f"static/{name}", v=self._assets[name][1]),
            "max_searched": MAX_ID_LENGTH,
            "searched": "",
            "zone": UTC,
        }
        return templates

    def link(self, page: str = "", /, **query: Any) -> str:
        """Return the address of a page; parameters of ``None`` and "" are left out."""
        given = {name: value for name, value in query.items() if value not in {None, ""}}
        path = f"{self.home}/{page}" if page else self.home
        return f"{path}?{urlencode(given, quote_via=quote, safe='')}" if given else path

    async def response(
        self, page: DeskPage | Redirect, entrance: Entrance, *, name: str, session: DeskSession | None
    ) -> PageResponse:
        """Return a page as an answer, made in a thread: a long one takes 20 ms, and its first time 200 more."""
        if isinstance(page, Redirect):
            # The browser reads the other page by GET.
            headers = {**_headers(()), "location": page.path, **page.headers, "content-type": HTML}
            return PageResponse(status=303, headers=headers)
        body = await asyncio.to_thread(self._written, page, entrance, name, session)
        headers = {**_headers(entrance.image_hosts), **page.headers, "content-type": HTML}
        return PageResponse(status=page.status, headers=headers, body=body)

    def _written(self, page: DeskPage, entrance: Entrance, name: str, session: DeskSession | None) -> bytes:
        has_rows = session is not None and ROWS in session.packages
        values = {
            "session": session,
            "source": None,
            "notice": None,
            "path": f"{HOME}/{name}" if name else HOME,
            "is_viewer": session is not None and session.role == VIEWER,
            "has_rows": has_rows,
            "may_rows": session is not None and "placements" in session.features,
            "features": [each for each in FEATURES if has_rows or each != "placements"],
            "sign_out_at": entrance.sign_out_at,
            **page.values,
        }
        # No text may make a page fail: what UTF-8 has no bytes for, half of a surrogate pair, is a question mark.
        return self._templates.get_template(page.template).render(values).encode(errors="replace")

    async def problem_page(self, problem: PageProblem, client: AsyncClient | None) -> DeskPage:
        """Return what went wrong as a page, with what the service says of such problems."""
        headers = {"allow": problem.allow} if problem.allow else {}
        if problem.retry_after_s is not None:
            headers["retry-after"] = str(max(1, round(problem.retry_after_s)))
        hint = problem.hint or await _explanation(problem.code, client)
        values = {"title": problem.title, "detail": problem.detail, "hint": hint, "code": problem.code}
        return DeskPage(template="problem.html", values=values, status=problem.status, headers=headers)

    def asset(self, request: PageRequest, name: str) -> PageResponse:
        """Return one of the files that pages use; under its own version it never changes.

        Raises:
            PageProblem: there is none of this name.
        """
        if name not in self._assets:
            raise unknown_page("The dashboard has no file of this name.")
        body, version = self._assets[name]
        # Under another version, of an older page perhaps, a cache asks each time.
        current = request.values("v") == [version]
        tag = f'W/"{version}"'
        headers = {
            "cache-control": f"public, max-age={_YEAR_S}, immutable" if current else "no-cache",
            "x-content-type-options": "nosniff",
            "cross-origin-resource-policy": "same-origin",
            "etag": tag,
        }
        if tag in request.header("if-none-match"):
            return PageResponse(status=304, headers=headers)
        return PageResponse(status=200, headers={**headers, "content-type": _ASSETS[name]}, body=body)

    def _cover_link(self, title: str) -> str:
        return f"{self._cover}?title={quote(title[:MAX_COVER_TITLE], safe='', errors='replace')}"


async def _explanation(code: str, client: AsyncClient | None) -> str:
    """Return what the service's page of a problem explains, "" where nobody tells."""
    if client is None or not code:
        return ""
    try:
        page = await client.send(operations.problem(code))
    except ClientError:
        return ""
    return unescape(page.rpartition("<p>")[2].partition("</p>")[0])


def _headers(image_hosts: Collection[str]) -> dict[str, str]:
    return _HEADERS | {"content-security-policy": _POLICY.format(images=image_sources(image_hosts))}


_SECTION_CODES = {
    "feature-not-in-plan",
    "invalid-input",
    "invalid-syntax",
    "preview-too-large",
    "quota-exceeded",
    "too-few-pieces",
    "too-many-entries",
    "unknown-piece",
}
"""What is wrong with a part of a page only; anything else, such as a database that is away, is the whole page's."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page: a result, or why there is none; ``code`` of what is wrong."""

    value: Any = None
    faults: tuple[str, ...] = ()


async def section(making: Awaitable[Any]) -> Section:
    """Return a section of a page, which may be missing: where a plan lacks it or a month has used it up."""
    try:
        return Section(await making)
    except ServiceError as error:
        if error.code not in _SECTION_CODES:
            raise
        return Section(faults=faults_of(error))


def missing_feature(visit: PageVisit, *features: str) -> Section | None:
    """Return a section that says which feature the plan lacks, the first of some; ``None`` where it has them all."""
    missing = next((each for each in features if not visit.may(each)), None)
    if missing is None:
        return None
    return Section(faults=(f"The key's plan {visit.session.plan!r} does not include the feature {missing!r}.",))


def faults_of(error: ServiceError) -> tuple[str, ...]:
    """Return what is wrong, each fault with its place where it has one."""
    return faults_in(error.errors, error.detail)


def faults_in(faults: Iterable[ProblemFault] | None, detail: str) -> tuple[str, ...]:
    """Return faults in words, each with its place; the detail where there is none."""
    return tuple(f"{fault.pointer or fault.parameter}: {fault.detail}" for fault in faults or ()) or (detail,)
