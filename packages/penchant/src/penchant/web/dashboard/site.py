"""Pages of the dashboard: the session is checked, a handler gathers the values, and a template writes them.

Errors are pages as well; nothing that a page shows is taken for markup, and nothing on it comes from elsewhere.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from penchant.errors import (
    PenchantError,
    RateExceeded,
    Unauthenticated,
    invalid_parameter,
)
from penchant.live.views import View
from penchant.model import MAX_ID_LENGTH, Feature, Role
from penchant.service import Services
from penchant.service.access import Access, Session, Sessions
from penchant.service.browsing import PieceCard
from penchant.web.dashboard import shown
from penchant.web.dashboard.shown import image_sources, is_shown
from penchant.web.mounts.people import RefusedPerson, named_session
from penchant.web.operations import Answer, Call, Handler, body_tag
from penchant.web.problems import ProblemKind, kind_of
from penchant.web.system import COVER
from penchant.wire.text import source_problem
from penchant_engine.computed import computed

if TYPE_CHECKING:
    from jinja2 import Environment

HOME = "/-/dashboard"
MAX_COVER_TITLE = 120
"""Characters of a title in the address of its cover: more make no other initials, and addresses longer."""
HTML = "text/html; charset=utf-8"
_ASSETS = ("style.css", "script.js", "icon.svg")
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
class Visit:
    """A request for a page in a session."""

    call: Call
    session: Session

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

    def may_edit(self, feature: Feature) -> bool:
        """Return whether the visitor may change what a feature of the key's plan is about."""
        return self.may(feature) and self.session.role is not Role.VIEWER

    def may(self, feature: Feature) -> bool:
        """Return whether the key's plan includes a feature."""
        return feature in self.access.plan.features


PageHandler = Callable[[Visit], Awaitable[PageAnswer]]


class DashboardSite:
    """The templates and files of the dashboard below a base path, and what makes answers of them."""

    def __init__(self, base_path: str) -> None:
        """Load the files of the dashboard for pages below a base path."""
        self.home = base_path + HOME
        self._base_path = base_path
        self._cover = base_path + COVER.path
        files = resources.files("penchant_desk") / "static"
        self._asset_tags = {name: body_tag((files / name).read_bytes()) for name in _ASSETS}

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

    def page(self, handler: PageHandler) -> Handler:
        """Return the handler of an operation that shows a page in a session; without one it leads to signing in."""

        async def show(call: Call) -> Answer:
            session: Session | None = None
            try:
                session = await self._admitted(call)
                page = await handler(Visit(call=call, session=session))
                return await self.shown_apart(call, page, session)
            except Unauthenticated:
                path = self.link("sign-in", next=_asked_for(call))
                return Answer(status=303, media_type=HTML, headers={**_headers(()), "location": path})
            except PenchantError as error:
                return self.problem(call, error, session)

        return show

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

    def _cover_link(self, title: str) -> str:
        return f"{self._cover}?title={quote(title[:MAX_COVER_TITLE], safe='', errors='replace')}"

    def _asset_link(self, name: str) -> str:
        return self.link(f"static/{name}", v=self._asset_tags[name])


def _headers(image_hosts: Collection[str]) -> dict[str, str]:
    return _HEADERS | {"content-security-policy": _POLICY.format(images=image_sources(image_hosts))}


async def session_of(call: Call) -> Session:
    """Return who comes, and with what rights at this moment.

    Raises:
        Unauthenticated: no proxy names anybody, and there is no session of a key, or it is over.
        RefusedPerson: a proxy names somebody, but not clearly, or none of the groups gives anything.
    """
    session = named_session(call.exchange, _cookie(call, "penchant-account"))
    sessions = Sessions(call.services.database, call.services.access)
    return session or await sessions.read(_cookie(call, "penchant-session"))


def _cookie(call: Call, name: str) -> str:
    """Return the value of a cookie, "" where there is none."""
    # Under TLS only the ``__Host-`` name is read, which no other host of the domain can set.
    own = f"__Host-{name}" if call.exchange.is_secure() else name
    for header in call.headers.getlist("cookie"):
        for pair in header.split(";"):
            given, _, value = pair.strip().partition("=")
            if given == own:
                return value
    return ""


_PAGES_OWN = {
    RefusedPerson.code: ProblemKind(
        403,
        "Signed in, and not let in",
        "Who may come in says the setting dashboard-groups: ask those who run this service.",
    ),
}
"""Errors that only pages show."""


def _asked_for(call: Call) -> str | None:
    """Return the requested page with its query, to come back to after signing in."""
    page = call.operation.path.removeprefix(HOME).removeprefix("/")
    query = urlencode(call.query.pairs, quote_via=quote, safe="")
    return f"{page}?{query}" if query else page or None
