"""Handler of the first page: the sources of an account."""

from penchant.service.browsing import SourceOverview
from penchant.web.dashboard.pictures import DayChart, day_chart
from penchant.web.dashboard.site import DashboardSite, PageAnswer, RedirectAnswer, Visit

SOURCES = 20
"""Sources on a page."""


async def overview(visit: Visit, site: DashboardSite) -> PageAnswer | RedirectAnswer:
    """Show the account's sources; keys with the admin role have none and are led to theirs."""
    if visit.access.admin:
        return RedirectAnswer(path=site.link("keys"))
    skip = _skip(visit.text("skip"))
    browsing = visit.services.browsing
    total, page = await browsing.sources(visit.access, skip=skip, limit=SOURCES)
    # Of all accounts together, as the metrics are: shown to tenants only where those are public.
    answered = await browsing.answered() if visit.services.settings.metrics_public else None
    values = {
        "sources": [(each, _chart(each)) for each in page],
        "total": total,
        "skip": skip,
        "per_page": SOURCES,
        "answered": answered and _by_class(answered),
        "plan": visit.access.plan,
    }
    return PageAnswer(template="overview.html", values=values)


def _chart(source: SourceOverview) -> DayChart | None:
    return None if source.daily is None else day_chart(source.daily.counts, source.daily.first_day)


def _by_class(answered: dict[int, int]) -> dict[str, int]:
    """Return how many requests were answered, how many of them with the callers' faults, and with ours."""
    return {
        "all": sum(answered.values()),
        "refused": sum(count for status, count in answered.items() if 400 <= status < 500),
        "failed": sum(count for status, count in answered.items() if status >= 500),
    }


def _skip(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 7 else 0
