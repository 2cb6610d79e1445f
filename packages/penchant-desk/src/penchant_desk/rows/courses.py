"""Courses of experiments as pictures: the numbers that templates draw SVG from."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from penchant_client.records import CoursePoint

COURSE_WIDTH, COURSE_HEIGHT = 600, 160
"""Size of the picture of a course, in its own units."""
_EPOCH = date(1970, 1, 1)


def is_told(point: CoursePoint) -> bool:
    """Return whether there was enough to say anything: any difference at all is possible otherwise."""
    return point.upper - point.lower < 2


def day_number(day: str) -> int:
    """Return the number of a UTC day since 1970."""
    return (date.fromisoformat(day) - _EPOCH).days


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseLines:
    """A course drawn over time: the intervals as a band, the differences as a line, both as points of a polygon.

    The frame reaches from ``-reach`` to ``reach``; what is beyond is cut at its edge. ``first`` and ``last`` are days.
    """

    band: str
    line: str
    reach: float
    first: int
    last: int


def course_picture(course: Sequence[CoursePoint]) -> CourseLines | None:
    """Return the picture of a course; ``None`` while there is too little to say anything."""
    points = [each for each in course if is_told(each)]
    if not points:
        return None
    latest = points[-1]
    # The first intervals are so wide that nothing else would be seen beside them.
    reach = 1.5 * max(abs(latest.lower), abs(latest.upper), *(abs(each.value) for each in points))
    first, last = day_number(points[0].day), day_number(latest.day)
    # A single day is as broad as the frame.
    drawn = points if last > first else [latest, latest]
    step = COURSE_WIDTH / max(1, last - first)

    def at(position: int, value: float) -> str:
        x = (day_number(drawn[position].day) - first) * step if last > first else position * COURSE_WIDTH
        y = (1 - max(-1.0, min(1.0, value / reach))) * COURSE_HEIGHT / 2
        return f"{x:.1f},{y:.1f}"

    upper = [at(position, each.upper) for position, each in enumerate(drawn)]
    lower = [at(position, each.lower) for position, each in enumerate(drawn)]
    line = [at(position, each.value) for position, each in enumerate(drawn)]
    return CourseLines(
        band=" ".join([*upper, *reversed(lower)]), line=" ".join(line), reach=reach, first=first, last=last
    )
