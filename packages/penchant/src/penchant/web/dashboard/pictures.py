"""Pictures: the numbers that templates draw SVG from; no text that was submitted gets in here."""

from collections.abc import Sequence
from dataclasses import dataclass

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
