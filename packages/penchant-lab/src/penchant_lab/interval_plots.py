"""Interval plots as SVG: panels of means with their intervals, a row for each; text is escaped, nothing is loaded."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from penchant_lab.line_plots import document

NAMES, WIDTH, NUMBERS, ROW, MARGIN = 150, 460, 170, 22, 24
COLOUR, OTHER = "#0b6bcb", "#6b7280"
"""Of the row that is emphasised, and of the others."""


class IntervalPanel(NamedTuple):
    """A panel: by name a mean and the bounds of its interval, from above."""

    title: str
    rows: Mapping[str, tuple[float, float, float]]


def draw_intervals(title: str, panels: Sequence[IntervalPanel], emphasised: str) -> bytes:
    """Return a document with the panels that have a row, all from 0, or from their least bound below."""
    shown = [panel for panel in panels if panel.rows]
    parts, top = [f'<text x="{MARGIN}" y="{MARGIN}" font-size="14">{escape(title)}</text>'], 2 * MARGIN
    for panel in shown:
        parts += _panel(panel, top, emphasised)
        top += (len(panel.rows) + 2) * ROW + MARGIN
    return document(NAMES + WIDTH + NUMBERS + 2 * MARGIN, top, parts)


def _panel(panel: IntervalPanel, top: int, emphasised: str) -> list[str]:
    least = min(0.0, *(low for _, low, _ in panel.rows.values()))
    reach = max(0.0, *(high for _, _, high in panel.rows.values())) - least or 1.0
    left, bottom = MARGIN + NAMES, top + (len(panel.rows) + 1) * ROW

    def at(value: float) -> str:
        return f"{left + WIDTH * (value - least) / reach:.1f}"

    parts = [
        f'<text x="{MARGIN}" y="{top + 4}" font-weight="bold">{escape(panel.title)}</text>',
        f'<path d="M{at(0)} {top + ROW // 2}V{bottom}H{left + WIDTH}" fill="none" stroke="#9ca3af"/>',
        f'<text x="{at(0)}" y="{bottom + 14}" text-anchor="middle">0</text>',
        f'<text x="{left + WIDTH}" y="{bottom + 14}" text-anchor="middle">{reach + least:.3g}</text>',
    ]
    for number, (name, (value, low, high)) in enumerate(panel.rows.items(), start=1):
        y, colour = top + number * ROW, COLOUR if name == emphasised else OTHER
        parts += [
            f'<text x="{left - 8}" y="{y + 4}" text-anchor="end" fill="{colour}">{escape(name)}</text>',
            f'<path d="M{at(low)} {y}H{at(high)}" stroke="{colour}" stroke-width="2"/>',
            f'<circle cx="{at(value)}" cy="{y}" r="4" fill="{colour}"/>',
            f'<text x="{left + WIDTH + 10}" y="{y + 4}">{value:.3f} [{low:.3f}, {high:.3f}]</text>',
        ]
    return parts
