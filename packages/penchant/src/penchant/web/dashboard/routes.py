"""Routes of the dashboard's pages, which the OpenAPI document does not list."""

from functools import partial

from penchant.model import Scope
from penchant.web.dashboard import (
    changing,
    desk,
    front,
    health,
    lists,
    overview,
    piece,
    searching,
    settings,
    user,
)
from penchant.web.dashboard.rows import card, placement, proposals, results
from penchant.web.dashboard.site import HOME, HTML, DashboardSite, PageHandler
from penchant.web.operations import EVERYBODY, NOBODY, Handler, Operation

_OF_PEOPLE = (Scope.WRITE, Scope.INTERACT)
"""What it takes to change what is stored of a person."""


def dashboard_operations(base_path: str) -> tuple[Operation, ...]:
    """Return the operations of the dashboard, with its files loaded."""
    site = DashboardSite(base_path)
    return (
        _operation("GET", "", site.page(partial(overview.overview, site=site))),
        *_pair(site, "desk", partial(desk.desk, site=site)),
        *_pair(site, "pieces", searching.pieces),
        *_pair(site, "piece", partial(piece.piece, site=site), partial(changing.change_piece, site=site)),
        *_pair(site, "user", partial(user.user, site=site)),
        _operation("POST", "user", site.page(partial(user.change_user, site=site), posted=True, scopes=_OF_PEOPLE)),
        *_pair(site, "lists", lists.lists, partial(lists.change_list, site=site)),
        *_pair(site, "placements", placement.placements),
        *_pair(site, "placement", placement.placement, partial(placement.change_placement, site=site)),
        *_pair(site, "front", partial(front.front, site=site)),
        *_pair(site, "results", results.results, partial(results.decide, site=site)),
        *_pair(site, "card", partial(card.card, site=site)),
        Operation(
            method="GET",
            path=card.PUBLIC_PATH,
            name="publicCard",
            summary="The card of a row, for anybody.",
            handler=partial(card.public_card, site=site),
            tag="dashboard",
            about=NOBODY,
            public=True,
        ),
        *_pair(site, "proposals", proposals.proposals, partial(proposals.begin, site=site)),
        *_pair(site, "proposal", proposals.proposal, partial(proposals.decide, site=site)),
        *_pair(site, "settings", settings.settings, partial(settings.change_settings, site=site)),
        *_pair(site, "health", health.health, health.change_vocabulary),
    )


def _pair(
    site: DashboardSite,
    name: str,
    shown: PageHandler,
    changed: PageHandler | None = None,
) -> tuple[Operation, ...]:
    """Return the operations that show a page and, where it has a form that changes something, take that."""
    showing = _operation("GET", name, site.page(shown))
    if changed is None:
        return (showing,)
    return (showing, _operation("POST", name, site.page(changed, posted=True, scopes=(Scope.WRITE,))))


def _operation(method: str, name: str, handler: Handler) -> Operation:
    path = f"{HOME}/{name}" if name else HOME
    return Operation(
        method=method,
        path=path,
        name=f"dashboard-{name or 'overview'}",
        summary="A page of the dashboard.",
        handler=handler,
        tag="dashboard",
        # By a session, which no browser key begins.
        about=EVERYBODY,
        public=True,
        answer_media_type=HTML,
    )
