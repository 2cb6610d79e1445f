"""Line plots as SVG: panels of lines over days, one below the other; text is escaped, nothing is loaded."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT, MARGIN, LEGEND = 720, 160, 56, 28
COLOURS = ("#0b6bcb", "#c2410c", "#15803d", "#6b7280", "#7c3aed", "#b91c1c")
"""Of lines, in their order; beyond these they come again."""


class LinePanel(NamedTuple):
    """A panel: lines by name, a value for each day, ``None`` where there is none."""

    title: str
    lines: Mapping[str, Sequence[float | None]]


def draw_panels(title: str, panels: Sequence[LinePanel]) -> bytes:
    """Return a document with the panels that have a value; each begins at 0, or at its least value below."""
    shown = [panel for panel in panels if any(value is not None for line in panel.lines.values() for value in line)]
    names = list(dict.fromkeys(name for panel in shown for name in panel.lines))
    colours = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}
    parts = [f'<text x="{MARGIN}" y="20" font-size="14">{escape(title)}</text>']
    for number, name in enumerate(names):
        x = MARGIN + number * WIDTH // max(1, len(names))
        parts.append(f'<text x="{x}" y="44" fill="{colours[name]}">— {escape(name)}</text>')
    for number, panel in enumerate(shown):
        parts += _panel(panel, 2 * LEGEND + 20 + number * (HEIGHT + MARGIN), colours)
    return document(WIDTH + 2 * MARGIN, LEGEND * 2 + len(shown) * (HEIGHT + MARGIN), parts)


def document(width: int, height: int, parts: Sequence[str]) -> bytes:
    """Return an SVG of a size that shows these elements."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
    head += 'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join([head, *parts, "</svg>\n"]).encode()


def _panel(panel: LinePanel, top: int, colours: Mapping[str, str]) -> list[str]:
    values = [value for line in panel.lines.values() for value in line if value is not None]
    least, most = min(0.0, *values), max(0.0, *values)
    reach = most - least or 1.0
    days = max(len(line) for line in panel.lines.values())

    def at(day: int, value: float) -> str:
        x = MARGIN + day * WIDTH / max(1, days - 1)
        return f"{x:.1f},{top + HEIGHT * (most - value) / reach:.1f}"

    parts = [
        f'<text x="{MARGIN}" y="{top - 6}">{escape(panel.title)}</text>',
        f'<path d="M{MARGIN} {top}v{HEIGHT}h{WIDTH}" fill="none" stroke="#9ca3af"/>',
        f'<text x="{MARGIN - 6}" y="{top + 10}" text-anchor="end">{most:.3g}</text>',
        f'<text x="{MARGIN - 6}" y="{top + HEIGHT}" text-anchor="end">{least:.3g}</text>',
        f'<text x="{MARGIN + WIDTH}" y="{top + HEIGHT + 16}" text-anchor="end">day {days - 1}</text>',
    ]
    for name, line in panel.lines.items():
        points = " ".join(at(day, value) for day, value in enumerate(line) if value is not None)
        if points:
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colours[name]}" stroke-width="1.5"/>')
    return parts
