"""The desk as an ASGI application: which page a request is for, who may see it, and what is said where that fails.

request -> entrance: who comes -> rights -> form: is it our own -> handler -> template, in a thread
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from penchant_client import AsyncClient, ClientError, ServiceError
from penchant_desk import changing, signing
from penchant_desk.pages import (
    administration,
    changes,
    choosing,
    desk,
    front,
    health,
    lists,
    overview,
    piece,
    searching,
    settings,
    trying,
    user,
    versions,
)
from penchant_desk.problems import NOT_SIGNED_IN, PageProblem, own_problem, problem_of_service, unknown_page
from penchant_desk.requests import PageRequest, PageResponse, Receive, Scope, Send
from penchant_desk.rows import card, choices, placement, proposals, results
from penchant_desk.rows import versions as row_versions
from penchant_desk.sessions import ANYBODY, DeskSession, Entrance
from penchant_desk.signing import session_of
from penchant_desk.site import OF_PEOPLE, ROWS, DeskPage, DeskSite, PageHandler, PageVisit, Redirect

_WRITE = frozenset({"write"})
_ASSETS = "static/"
SIGN_IN = "sign-in"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRoute:
    """A page: what shows it, and what takes its form, for which a session needs ``scopes``; a public one needs none.

    Where the service has not its ``package`` there is no such page.
    """

    show: PageHandler | None = None
    change: PageHandler | None = None
    admin: bool = False
    is_public: bool = False
    package: str = ""
    scopes: Collection[str] = _WRITE

    def handler(self, method: str) -> PageHandler | None:
        """Return what answers a method, if anything does."""
        return self.change if method == "POST" else self.show if method in {"GET", "HEAD"} else None

    @property
    def allow(self) -> str:
        """The methods that a page takes."""
        return ", ".join(["GET, HEAD"] * (self.show is not None) + ["POST"] * (self.change is not None))


ROUTES: Mapping[str, PageRoute] = {
    "": PageRoute(show=overview.first),
    "sources": PageRoute(show=overview.overview),
    "desk": PageRoute(show=desk.desk),
    "changes": PageRoute(show=changes.changes),
    "search": PageRoute(show=searching.search),
    "pieces": PageRoute(show=searching.pieces),
    "chosen": PageRoute(change=choosing.change_chosen),
    "piece": PageRoute(show=piece.piece, change=changing.change_piece),
    "user": PageRoute(show=user.user, change=user.change_user, scopes=OF_PEOPLE),
    "health": PageRoute(show=health.health, change=health.change_vocabulary),
    "settings": PageRoute(show=settings.settings, change=settings.change_settings),
    "attributes": PageRoute(show=settings.settings, change=settings.change_attributes),
    "titles": PageRoute(show=searching.titles),
    "values": PageRoute(show=choices.values),
    "front": PageRoute(show=front.front, package=ROWS),
    "versions": PageRoute(show=versions.versions, change=versions.return_to),
    "lists": PageRoute(show=lists.lists, change=lists.change_list),
    "placements": PageRoute(show=placement.placements, package=ROWS),
    "placement": PageRoute(show=placement.placement, change=placement.change_placement, package=ROWS),
    "results": PageRoute(show=results.results, change=results.decide, package=ROWS),
    "row-versions": PageRoute(show=row_versions.row_versions, package=ROWS),
    "card": PageRoute(show=card.card, package=ROWS),
    "public-card": PageRoute(show=card.public_card, is_public=True),
    "proposals": PageRoute(show=proposals.proposals, change=proposals.begin, package=ROWS),
    "proposal": PageRoute(show=proposals.proposal, change=proposals.decide, package=ROWS),
    "try": PageRoute(show=trying.trying, change=trying.try_piece),
    "sign-out": PageRoute(change=signing.sign_out, scopes=()),
    "accounts": PageRoute(show=signing.accounts, change=signing.choose_account, scopes=()),
    "keys": PageRoute(show=administration.keys, change=administration.change_keys, admin=True),
    "usage": PageRoute(show=administration.usage, admin=True),
    "audit": PageRoute(show=administration.audit, admin=True),
}
"""The pages by their names."""


class DeskApplication:
    """Serves the pages to requests that come in by an entrance."""

    def __init__(self, entrance_of: Callable[[Scope], Entrance]) -> None:
        self._entrance_of = entrance_of
        self._sites: dict[str, DeskSite] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        entrance = self._entrance_of(scope)
        site = self._sites.get(entrance.base_path) or self._sites.setdefault(
            entrance.base_path, DeskSite(entrance.base_path)
        )
        request = PageRequest(scope, receive, is_secure=entrance.is_secure)
        name = request.path.removeprefix(site.home).removeprefix("/")
        response = await _DeskRequest(site, entrance, request, name).response()
        await response.send(send, is_head=request.method == "HEAD")


class _DeskRequest:
    """A request while it is answered."""

    def __init__(self, site: DeskSite, entrance: Entrance, request: PageRequest, name: str) -> None:
        self._site, self._entrance, self._request, self._name = site, entrance, request, name
        self._session: DeskSession | None = None
        self._client: AsyncClient | None = None

    async def response(self) -> PageResponse:
        """Return the answer, a page of what went wrong where something did."""
        try:
            found = await self._found()
        except Exception as error:
            problem = self._problem(error)
            if problem is None:
                raise
            if problem.code == NOT_SIGNED_IN and self._name != SIGN_IN:
                asked = None if self._request.method == "POST" else self._request.asked(self._name)
                found = Redirect(path=self._site.link(SIGN_IN, next=asked))
            else:
                found = await self._site.problem_page(problem, self._client)
        if isinstance(found, PageResponse):
            return found
        return await self._site.response(found, self._entrance, name=self._name, session=self._session)

    async def _found(self) -> DeskPage | Redirect | PageResponse:
        method = self._request.method
        if self._name.startswith(_ASSETS) and method in {"GET", "HEAD"}:
            return self._site.asset(self._request, self._name.removeprefix(_ASSETS))
        if self._name == SIGN_IN and method in {"GET", "HEAD", "POST"}:
            answer = signing.sign_in if method == "POST" else signing.show_form
            return await answer(self._request, self._entrance, self._site)
        route = ROUTES.get(self._name)
        if route is None or self._request.path.endswith("/"):
            raise unknown_page("The dashboard has no page of this name.")
        handler = route.handler(method)
        if handler is None:
            detail = f"This address takes {route.allow}."
            raise PageProblem(405, "wrong-method", "Wrong method", detail, allow=route.allow)
        return await handler(await self._visit(route))

    async def _visit(self, route: PageRoute) -> PageVisit:
        """Return the visit of who may see a page, or send its form.

        Raises:
            PageProblem: nobody is signed in, or who is may not.
        """
        request, entrance = self._request, self._entrance
        # In this order a form is read only for who is signed in, and believed only with the session's proof.
        await entrance.enter()
        if route.is_public:
            return PageVisit(site=self._site, entrance=entrance, request=request, session=ANYBODY)
        session = await session_of(request, entrance)
        await entrance.count(session)
        if route.admin and not session.admin:
            raise own_problem("not-an-admin", "This is for keys with the admin role (`penchant keys create --admin`).")
        self._session = session
        if route.package and route.package not in session.packages:
            raise unknown_page(f"This page needs the package {route.package}, which the service does not have.")
        visit = PageVisit(site=self._site, entrance=entrance, request=request, session=session)
        self._client = visit.client
        if request.method != "POST":
            return visit
        if not session.scopes.issuperset(route.scopes):
            who = f"a {session.role}" + (f" of {session.account!r}" if session.account else "")
            detail = f"What the page {self._name!r} sends changes something; you are signed in as {who}."
            raise own_problem("not-an-editor", detail)
        form = await request.read_form()
        request.require_own(form, session.proof, session.earlier_proof)
        return PageVisit(site=self._site, entrance=entrance, request=request, session=session, form=form)

    def _problem(self, error: Exception) -> PageProblem | None:
        """Return what a page says of an error; ``None`` where nobody foresaw it."""
        if isinstance(error, PageProblem):
            return error
        if isinstance(error, ServiceError):
            return problem_of_service(error)
        if isinstance(error, ClientError):
            return PageProblem(503, "", "The service does not answer", str(error), hint="Try again a little later.")
        return self._entrance.problem(error)
