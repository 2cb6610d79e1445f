"""Pages of the dashboard: the session is checked, a handler gathers the values, and a template writes them.

Errors are pages as well; nothing that a page shows is taken for markup, and nothing on it comes from elsewhere.

Sections of a page that may be missing: where a plan lacks them or a month has used them up, the page says so.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote, urlencode

from penchant.errors import (
    FeatureNotInPlan,
    InvalidInput,
    InvalidSyntax,
    PenchantError,
    PreviewTooLarge,
    QuotaExceeded,
    RateExceeded,
    TooFewPieces,
    TooManyEntries,
    Unauthenticated,
    UnknownPiece,
    UnknownRoute,
    invalid_parameter,
)
from penchant.live.views import View
from penchant.model import MAX_ID_LENGTH, Feature, Role, Scope
from penchant.service import Services
from penchant.service.access import Access, Session, Sessions
from penchant.service.browsing import PieceCard
from penchant.settings import closed_image_hosts
from penchant.web.dashboard import shown
from penchant.web.dashboard.forms import FOREIGN_FORM, ForeignForm, Form, cookie, read_form, require_own
from penchant.web.dashboard.shown import image_sources, is_shown
from penchant.web.mounts.people import RefusedPerson, named_session
from penchant.web.operations import Answer, Call, Handler, body_tag
from penchant.web.problems import ProblemKind, kind_of
from penchant.web.system import COVER
from penchant.wire import id_problem
from penchant.wire.text import source_problem
from penchant_engine.computed import computed

if TYPE_CHECKING:
    from jinja2 import Environment

HOME = "/-/dashboard"
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
class PageAnswer:
    """A page that a handler gives: a template's name and the values that it needs."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedirectAnswer:
    """A redirect that a handler gives: the path of the page that it leads on to."""

    path: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request for a page in a session, with the form where there is one."""

    call: Call
    session: Session
    form: Form

    @property
    def services(self) -> Services:
        """The use cases."""
        return self.call.services

    @property
    def access(self) -> Access:
        """The key of the session, its account and plan."""
        return self.session.access

    def text(self, name: str) -> str:
        """Return a parameter of the query, "" where it is absent or blank; of a repeated one the last."""
        values = self.call.query.values(name)
        return values[-1] if values else ""

    def id(self, name: str = "id") -> str:
        """Return an id in the query.

        Raises:
            InvalidInput: there is none.
        """
        text = self.text(name)
        problem = id_problem(text)
        if problem:
            raise invalid_parameter(name, problem)
        return text

    @property
    def source(self) -> str:
        """The name of the source that a page is about.

        Raises:
            InvalidInput: there is none.
        """
        name = self.text("source")
        problem = source_problem(name)
        if problem:
            raise invalid_parameter("source", problem)
        return name

    async def view(self) -> View:
        """Return the source that a page is about, as it is committed now.

        Raises:
            NotATenant, UnknownSource: the key has no sources, or none of this name.
        """
        self.services.access.require_tenant(self.access)
        return await self.services.views.view(self.access.account_id, self.source)

    async def cards(self, view: View, ids: Iterable[str]) -> dict[str, PieceCard]:
        """Return some pieces, a few hundred at most, as pages show them, with pictures of allowed hosts alone."""
        hosts = self.services.settings.image_hosts
        cards = await self.services.browsing.cards(view, list(dict.fromkeys(ids)))
        return {
            each.id: each if each.picture is None or is_shown(each.picture, hosts) else replace(each, picture=None)
            for each in cards.values()
        }

    async def titles(self, view: View) -> Sequence[str]:
        """Return titles that the fields of a page offer; as its value ``titles`` the page has them."""
        return (await self.services.browsing.titles(view)).offered

    async def closed_hosts(self, view: View, ids: Sequence[str]) -> list[str]:
        """Return hosts of these pieces' pictures that ``image-hosts`` does not allow yet."""
        pointer = view.settings.image_attribute
        if pointer is None:
            return []
        addresses = await self.services.browsing.texts_at(view, pointer, ids)
        return closed_image_hosts(addresses.values(), self.services.settings.image_hosts)

    def may_edit(self, feature: Feature) -> bool:
        """Return whether the visitor may change what a feature of the key's plan is about."""
        return self.may(feature) and self.session.role is not Role.VIEWER

    def may(self, feature: Feature) -> bool:
        """Return whether the key's plan includes a feature."""
        return feature in self.access.plan.features


PageHandler = Callable[[Visit], Awaitable[PageAnswer | RedirectAnswer]]


class DashboardSite:
    """The templates and files of the dashboard below a base path, and what makes answers of them."""

    def __init__(self, base_path: str) -> None:
        """Load the files of the dashboard for pages below a base path."""
        self.home = base_path + HOME
        self._base_path = base_path
        self._cover = base_path + COVER.path
        self._assets: dict[str, tuple[bytes, str]] = {}
        for name in _ASSETS:
            body = resources.files("penchant_desk").joinpath("static", name).read_bytes()
            self._assets[name] = (body, body_tag(body))

    @computed
    def _templates(self) -> "Environment":
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  # many services show no page

        templates = Environment(
            loader=PackageLoader("penchant_desk"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            undefined=StrictUndefined,
        )
        templates.filters |= shown.FILTERS
        templates.globals |= {
            "link": self.link,
            "cover_link": self._cover_link,
            "titles": (),
            "asset": self._asset_link,
            "Feature": Feature,
            "max_searched": MAX_ID_LENGTH,
            "searched": "",
        }
        return templates

    def link(self, page: str = "", /, **query: Any) -> str:
        """Return the address of a page; parameters of ``None`` and "" are left out."""
        given = {name: value for name, value in query.items() if value not in {None, ""}}
        path = f"{self.home}/{page}" if page else self.home
        return f"{path}?{urlencode(given, quote_via=quote, safe='')}" if given else path

    def address(self, path: str, **parts: str) -> str:
        """Return the address of a path with its parts in the places of their names."""
        return self._base_path + path.format(**{name: quote(text, safe="") for name, text in parts.items()})

    def page(
        self,
        handler: PageHandler,
        *,
        posted: bool = False,
        scopes: Collection[Scope] = (),
    ) -> Handler:
        """Return the handler of an operation that shows a page in a session; without one it leads to signing in.

        ``scopes`` are what a form asks for beside those of viewers.
        """

        async def show(call: Call) -> Answer:
            session: Session | None = None
            try:
                # In this order a form is read only for who is signed in, and believed only with the session's proof.
                session = await self._admitted(call)
                _require_leave(call, session, scopes)
                form = Form()
                if posted:
                    form = await read_form(call)
                    require_own(call, form, session.proof, session.earlier_proof)
                visit = Visit(call=call, session=session, form=form)
                return await self._made(handler, visit)
            except Unauthenticated:
                path = self.link("sign-in", next=None if posted else _asked_for(call))
                return turned(RedirectAnswer(path=path))
            except PenchantError as error:
                return self.problem(call, error, session)

        return show

    async def _made(self, handler: PageHandler, visit: Visit) -> Answer:
        page = await handler(visit)
        if isinstance(page, RedirectAnswer):
            return turned(page)
        return await self.shown_apart(visit.call, page, visit.session)

    async def _admitted(self, call: Call) -> Session:
        """Check time, session and rate, in the interface's order."""
        services = call.services
        # Below /-/ nothing waits or is refused on its way in: pages take their turn here.
        await services.admission.enter()
        session = await session_of(call)
        rate = await services.access.count_request(session.access)
        if rate is not None and rate.exceeded:
            raise RateExceeded(f"The plan allows {rate.limit} requests a second.", retry_after_s=1)
        return session

    async def shown_apart(self, call: Call, page: PageAnswer, session: Session | None) -> Answer:
        """Return a page as an answer, made in a thread: a long one takes 20 ms, and its first time 200 more."""
        return await call.services.database.in_thread(self.shown, call, page, session)

    def shown(self, call: Call, page: PageAnswer, session: Session | None) -> Answer:
        """Return a page as an answer."""
        values = {
            "session": session,
            "source": None,
            "notice": None,
            "path": call.operation.path,
            "is_viewer": session is not None and session.role is Role.VIEWER,
            "sign_out_at": call.services.settings.dashboard_proxy_sign_out,
            **page.values,
        }
        body = self._templates.get_template(page.template).render(values)
        return Answer(
            # No text may make a page fail: what UTF-8 has no bytes for, half of a surrogate pair, is a question mark.
            body=body.encode(errors="replace"),
            status=page.status,
            media_type=HTML,
            headers={**_headers(call.services.settings.image_hosts), **page.headers},
        )

    def problem(self, call: Call, error: PenchantError, session: Session | None) -> Answer:
        """Return an error as a page."""
        call.services.metrics.problems.labels(error.code).inc()
        kind = _PAGES_OWN.get(error.code) or kind_of(error)
        headers = {} if error.retry_after_s is None else {"retry-after": str(max(1, round(error.retry_after_s)))}
        hint = kind.explanation
        values = {"title": kind.title, "detail": error.detail, "hint": hint, "code": error.code}
        page = PageAnswer(template="problem.html", values=values, status=kind.status, headers=headers)
        return self.shown(call, page, session)

    async def asset(self, call: Call) -> Answer:
        """Answer one of the files that pages use; under its own version it never changes."""
        name = call.path["file"]
        if name not in self._assets:
            raise UnknownRoute("The dashboard has no file of this name.")
        body, version = self._assets[name]
        # Under another version, of an older page perhaps, a cache asks each time.
        current = call.query.values("v") == [version]
        headers = {
            "cache-control": f"public, max-age={_YEAR_S}, immutable" if current else "no-cache",
            "x-content-type-options": "nosniff",
            "cross-origin-resource-policy": "same-origin",
        }
        return Answer(body=body, media_type=_ASSETS[name], etag=version, headers=headers)

    def _cover_link(self, title: str) -> str:
        return f"{self._cover}?title={quote(title[:MAX_COVER_TITLE], safe='', errors='replace')}"

    def _asset_link(self, name: str) -> str:
        return self.link(f"static/{name}", v=self._assets[name][1])


def _headers(image_hosts: Collection[str]) -> dict[str, str]:
    return _HEADERS | {"content-security-policy": _POLICY.format(images=image_sources(image_hosts))}


class NotAnEditor(PenchantError):
    """A viewer has sent a form that changes something; only pages show this error."""

    code = "not-an-editor"


async def session_of(call: Call) -> Session:
    """Return who comes, and with what rights at this moment.

    Raises:
        Unauthenticated: no proxy names anybody, and there is no session of a key, or it is over.
        RefusedPerson: a proxy names somebody, but not clearly, or none of the groups gives anything.
    """
    session = named_session(call.exchange, cookie(call, "penchant-account"))
    sessions = Sessions(call.services.database, call.services.access)
    return session or await sessions.read(cookie(call, "penchant-session"))


_PAGES_OWN = {
    ForeignForm.code: FOREIGN_FORM,
    RefusedPerson.code: ProblemKind(
        403,
        "Signed in, and not let in",
        "Who may come in says the setting dashboard-groups: ask those who run this service.",
    ),
    NotAnEditor.code: ProblemKind(
        403,
        "Only editors change things",
        "Editors are people whose groups have that role in the setting dashboard-groups, and who signs in with a key "
        "that is not limited. Nothing was changed.",
    ),
}
"""Errors that only pages show."""


def _require_leave(call: Call, session: Session, scopes: Collection[Scope]) -> None:
    """Raise `NotAnEditor` where somebody may look at pages, and not send this form."""
    if not session.access.scopes.issuperset(scopes):
        asked = call.operation.path.rpartition("/")[2]
        who = f"a {session.role}" + (f" of {session.account!r}" if session.account else "")
        raise NotAnEditor(f"What the page {asked!r} sends changes something; you are signed in as {who}.")


def _asked_for(call: Call) -> str | None:
    """Return the requested page with its query, to come back to after signing in."""
    page = call.operation.path.removeprefix(HOME).removeprefix("/")
    query = urlencode(call.query.pairs, quote_via=quote, safe="")
    return f"{page}?{query}" if query else page or None


def turned(turn: RedirectAnswer) -> Answer:
    """Return a redirect as an answer; the browser then reads the other page by GET."""
    return Answer(status=303, media_type=HTML, headers={**_headers(()), "location": turn.path, **turn.headers})


Result = TypeVar("Result")
_TOLD = (
    FeatureNotInPlan,
    InvalidInput,
    InvalidSyntax,
    PreviewTooLarge,
    QuotaExceeded,
    TooFewPieces,
    TooManyEntries,
    UnknownPiece,
)
"""What is wrong with a part of a page only."""


@dataclass(frozen=True, slots=True)
class PageSection(Generic[Result]):
    """A section of a page: a result, or why there is none."""

    value: Result | None = None
    faults: Sequence[str] = ()


async def section(
    visit: Visit, make: Callable[[], Awaitable[Result]], *needed: Feature, counted: int = 0
) -> PageSection[Result]:
    """Return a section; ``counted`` tells how many answers of the interface it is, which count against the month."""
    uncount = None
    try:
        for feature in needed:
            visit.services.access.require(visit.access, feature)
        if counted:
            uncount = await visit.services.usage.reserve(visit.access, counted)
        value = await make()
    except BaseException as error:
        if uncount is not None:
            uncount()
        # Anything else, such as a database that is away, is the whole page's error.
        if isinstance(error, _TOLD):
            return PageSection(faults=faults_of(error))
        raise
    return PageSection(value)


def faults_of(error: PenchantError) -> list[str]:
    """Return what is wrong, each fault with its place where it has one."""
    placed = [f"{fault.pointer or fault.parameter}: {fault.detail}" for fault in error.faults]
    return placed or [error.detail]
