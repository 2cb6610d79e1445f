"""Routes of the dashboard's pages, which the OpenAPI document does not list."""

from functools import partial

from penchant.web.dashboard import desk
from penchant.web.dashboard.site import HOME, HTML, DashboardSite
from penchant.web.operations import EVERYBODY, Handler, Operation


def dashboard_operations(base_path: str) -> tuple[Operation, ...]:
    """Return the operations of the dashboard, with its files loaded."""
    site = DashboardSite(base_path)
    return (_operation("desk", site.page(partial(desk.desk, site=site))),)


def _operation(name: str, handler: Handler) -> Operation:
    return Operation(
        method="GET",
        path=f"{HOME}/{name}",
        name=f"dashboard-{name}",
        summary="A page of the dashboard.",
        handler=handler,
        tag="dashboard",
        # By a session, which no browser key begins.
        about=EVERYBODY,
        public=True,
        answer_media_type=HTML,
    )
