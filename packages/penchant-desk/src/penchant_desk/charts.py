"""Charts: the numbers that templates draw SVG from; no text that was submitted gets in here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

CHART_HEIGHT = 60
"""Height of a chart of days, in the picture's own units."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DayColumns:
    """A chart of days: the path around its columns, one unit each, their sum, and the greatest day."""

    path: str
    width: int
    total: int
    most: int
    most_day: str
    height: int = CHART_HEIGHT


def day_chart(days: Mapping[str, int]) -> DayColumns:
    """Return the chart of what was counted by day, one at least, ascending."""
    counts = list(days.values())
    most = max(counts)
    return DayColumns(
        path=steps(counts),
        width=len(counts),
        total=sum(counts),
        most=most,
        most_day=list(days)[counts.index(most)],
    )


def steps(counts: Sequence[int]) -> str:
    """Return the path around columns of one unit each, the greatest as high as the chart; what is not 0 is seen."""
    most = max(counts) or 1
    heights = [round(max(count / most * CHART_HEIGHT, 1.0), 1) if count else 0 for count in counts]
    return f"M0 {CHART_HEIGHT}" + "".join(f"V{CHART_HEIGHT - height:g}h1" for height in heights) + f"V{CHART_HEIGHT}Z"


SPARK_WIDTH, SPARK_HEIGHT = 100, 24
"""Size of a line over days beside a number, in its own units."""
_SPARK_EDGE = 2
"""How far the line stays from the upper and lower edge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaysLine:
    """Numbers by day as a line and the area below it, both as points of a polygon."""

    line: str
    area: str
    days: int


def spark_line(counts: Sequence[float]) -> DaysLine | None:
    """Return the line of some days, from the least to the greatest; ``None`` where there are less than two."""
    if len(counts) < 2:
        return None
    least, most = min(counts), max(counts)
    height = SPARK_HEIGHT - 2 * _SPARK_EDGE
    step = SPARK_WIDTH / (len(counts) - 1)
    points = [
        # A line without any change lies in the middle.
        f"{day * step:.1f},{_SPARK_EDGE + height * (0.5 if most == least else (most - count) / (most - least)):.1f}"
        for day, count in enumerate(counts)
    ]
    line = " ".join(points)
    area = f"0,{SPARK_HEIGHT} {line} {SPARK_WIDTH},{SPARK_HEIGHT}"
    return DaysLine(line=line, area=area, days=len(counts))
