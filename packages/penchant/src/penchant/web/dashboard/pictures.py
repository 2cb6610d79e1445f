"""Pictures: the numbers that templates draw SVG from; no text that was submitted gets in here."""

from collections.abc import Sequence
from dataclasses import dataclass

from penchant.service.placements.results import VariantCourse

CHART_HEIGHT = 60
"""Height of a chart of days, in the picture's own units."""
COURSE_WIDTH, COURSE_HEIGHT = 600, 160
"""Size of the picture of a course, in its own units."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DayChart:
    """A chart of days: the path around its columns, one unit each, their sum, and the greatest day."""

    path: str
    width: int
    total: int
    most: int
    most_day: int
    height: int = CHART_HEIGHT


def day_chart(counts: Sequence[int], first_day: int) -> DayChart:
    """Return the chart of some days, one at least."""
    most = max(counts)
    return DayChart(
        path=steps(counts),
        width=len(counts),
        total=sum(counts),
        most=most,
        most_day=first_day + counts.index(most),
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
class SparkLine:
    """Numbers by day as a line and the area below it, both as points of a polygon."""

    line: str
    area: str
    days: int


def spark_line(counts: Sequence[float]) -> SparkLine | None:
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
    return SparkLine(line=line, area=area, days=len(counts))


@dataclass(frozen=True, slots=True, kw_only=True)
class CoursePicture:
    """A course drawn over time: the intervals as a band, the differences as a line, both as points of a polygon.

    The frame reaches from ``-reach`` to ``reach``; what is beyond is cut at its edge. ``first`` and ``last`` are days.
    """

    band: str
    line: str
    reach: float
    first: int
    last: int


def course_picture(course: VariantCourse) -> CoursePicture | None:
    """Return the picture of a course; ``None`` while there is too little to say anything."""
    points = [each for each in course.points if each.is_told]
    if not points:
        return None
    latest = points[-1]
    # The first intervals are so wide that nothing else would be seen beside them.
    reach = 1.5 * max(abs(latest.lower), abs(latest.upper), *(abs(each.value) for each in points))
    first, last = points[0].day, latest.day
    # A single day is as broad as the frame.
    drawn = points if last > first else [latest, latest]
    step = COURSE_WIDTH / max(1, last - first)

    def at(position: int, value: float) -> str:
        x = (drawn[position].day - first) * step if last > first else position * COURSE_WIDTH
        y = (1 - max(-1.0, min(1.0, value / reach))) * COURSE_HEIGHT / 2
        return f"{x:.1f},{y:.1f}"

    upper = [at(position, each.upper) for position, each in enumerate(drawn)]
    lower = [at(position, each.lower) for position, each in enumerate(drawn)]
    line = [at(position, each.value) for position, each in enumerate(drawn)]
    return CoursePicture(
        band=" ".join([*upper, *reversed(lower)]), line=" ".join(line), reach=reach, first=first, last=last
    )
