"""Handler of the curves of a source: what was done day by day over a year, and what placements made of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from penchant.service.placements.curves import DailyCurve, MonthSpan
from penchant.web.dashboard.pictures import CHART_HEIGHT
from penchant.web.dashboard.site import PageAnswer, Visit


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePicture:
    """A curve to be drawn: its name, the path below it, its sum, and its greatest day."""

    name: str
    path: str
    total: int
    most: int
    most_day: int
    curve: DailyCurve

    def within(self, month: MonthSpan) -> int:
        """Return the sum of a month."""
        return sum(self.curve.counts.get(day, 0) for day in range(month.first, month.behind))


async def history(visit: Visit) -> PageAnswer:
    """Show the curves of a source with a table of months, or of the days of one month."""
    view = await visit.view()
    curves = await visit.services.curves.curves(view)
    first, behind = curves.months[0].first, curves.months[-1].behind
    named = (
        ("Interactions", curves.interactions),
        ("Lists of placements", curves.lists),
        ("Impressions", curves.shown),
        ("Impressions that led to something", curves.successes),
    )
    chosen = next((each for each in curves.months if each.name == visit.text("month")), None)
    values = {
        "source": view.head.name,
        "curves": [_picture(name, curve, range(first, behind)) for name, curve in named],
        "found": curves,
        "chosen": chosen,
        "width": behind - first,
        "height": CHART_HEIGHT,
        "retention_days": view.settings.retention_days,
    }
    return PageAnswer(template="history.html", values=values)


def _picture(name: str, curve: DailyCurve, days: Sequence[int]) -> CurvePicture:
    counts = [curve.counts.get(day, 0) for day in days]
    most = max(counts)
    return CurvePicture(
        name=name,
        path=steps(counts),
        total=sum(counts),
        most=most,
        most_day=days[counts.index(most)],
        curve=curve,
    )


def steps(counts: Sequence[int]) -> str:
    """Return the path around columns of one unit each, the greatest as high as the chart; what is not 0 is seen."""
    most = max(counts) or 1
    heights = [round(max(count / most * CHART_HEIGHT, 1.0), 1) if count else 0 for count in counts]
    return f"M0 {CHART_HEIGHT}" + "".join(f"V{CHART_HEIGHT - height:g}h1" for height in heights) + f"V{CHART_HEIGHT}Z"
