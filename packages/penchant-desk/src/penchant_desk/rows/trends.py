"""How rows fare beside their names: how much of what one showed was opened, and the line of that over days."""

from collections.abc import Mapping
from dataclasses import dataclass

from penchant_client import ServiceError, operations
from penchant_desk.charts import DaysLine, spark_line
from penchant_desk.site import PageVisit

DAYS = 14
"""Days that are read, today the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTrend:
    """How many pieces a row showed in these days, how many of them were opened, and the line of that by day."""

    shown: int
    opened: int
    line: DaysLine

    @property
    def rate(self) -> float:
        """How many of 100 that were shown were opened."""
        return 100 * self.opened / self.shown


async def row_trends(visit: PageVisit) -> Mapping[str, RowTrend]:
    """Return the trends of the rows that were seen on two days at least; none where there is no turn to count them."""
    try:
        found = await visit.client.send(operations.source_activity(visit.source, days=DAYS, placements=True))
    except ServiceError as error:
        if error.code != "overloaded":
            raise
        return {}
    trends = {}
    for name in dict.fromkeys(name for day in found.days for name in day.placements):
        days = [day.placements[name] for day in found.days if name in day.placements and day.placements[name].shown]
        line = spark_line([each.opened / each.shown for each in days])
        if line is not None:
            shown, opened = sum(each.shown for each in days), sum(each.opened for each in days)
            trends[name] = RowTrend(shown=shown, opened=opened, line=line)
    return trends
