"""Handlers of pages about a whole source: the first ones, and its curves over a year."""

from collections.abc import Sequence
from dataclasses import dataclass

from penchant.service.browsing import SourceOverview
from penchant.service.placements.curves import DailyCurve, MonthSpan
from penchant.service.rows import row_services
from penchant.web.dashboard.pictures import DayChart, day_chart
from penchant.web.dashboard.site import DashboardSite, PageAnswer, RedirectAnswer, Visit


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePicture:
    """A curve to be drawn: its name, and its chart."""

    name: str
    chart: DayChart
    curve: DailyCurve

    def within(self, month: MonthSpan) -> int:
        """Return the sum of a month."""
        return sum(self.curve.counts.get(day, 0) for day in range(month.first, month.behind))


async def history(visit: Visit) -> PageAnswer:
    """Show the curves of a source with a table of months, or of the days of one month."""
    view = await visit.view()
    curves = await row_services(visit).curves.curves(view)
    first, behind = curves.months[0].first, curves.months[-1].behind
    named = (
        ("What people did", curves.interactions),
        ("Lists that rows made", curves.lists),
        ("Pieces that rows showed", curves.shown),
        ("Of these, what led to something", curves.successes),
    )
    chosen = next((each for each in curves.months if each.name == visit.text("month")), None)
    values = {
        "source": view.head.name,
        "curves": [_picture(name, curve, range(first, behind)) for name, curve in named],
        "counted": curves,
        "chosen": chosen,
        "retention_days": view.settings.retention_days,
    }
    return PageAnswer(template="history.html", values=values)


def _picture(name: str, curve: DailyCurve, days: Sequence[int]) -> CurvePicture:
    chart = day_chart([curve.counts.get(day, 0) for day in days], days[0])
    return CurvePicture(name=name, chart=chart, curve=curve)


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
