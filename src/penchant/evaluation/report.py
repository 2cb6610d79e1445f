"""Reports of evaluations: figures of methods with their intervals, for people and for machines."""

from collections.abc import Sequence
from xml.sax.saxutils import escape

import msgspec

from penchant.evaluation.contenders import PENCHANT
from penchant.evaluation.metrics import Estimate
from penchant.wire import encode

DECIMALS = 5
WIDTH, LEFT, RIGHT, TOP, ROW = 720, 130, 70, 64, 30
BOTTOM = 46
INK, PALE, OURS, OTHERS = "#1b1b1b", "#d0d0d0", "#0b5cad", "#5a5a5a"
"""Colours with a contrast of at least 4.5 on white, but for the grid's."""
TICKS = 5
_HEAD = f'role="img" aria-labelledby="title desc" font-family="sans-serif" font-size="14" width="{WIDTH}"'


class MeanFigure(msgspec.Struct, frozen=True, rename="camel"):
    """A mean over people, with the bounds of its 95 % bootstrap interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, estimate: Estimate | None) -> "MeanFigure | None":
        """Return a figure of an estimate."""
        return None if estimate is None else cls(*(round(each, DECIMALS) for each in estimate))


class GroupFigures(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Figures of some people, or of all with some relevant pieces; ``None`` where there are none."""

    people: int
    ndcg10: MeanFigure | None
    recall20: MeanFigure | None


class MethodFigures(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Figures of a method. All but ``cold_people`` are of people with known interactions.

    ``penchant_minus`` is by how much penchant's NDCG is greater, ``penchant_ratio`` how many times as great.
    ``cold_shown`` is the share of cold pieces among the entries of lists of 20.
    """

    name: str
    parameters: str
    seconds: float
    warm_people: GroupFigures
    cold_people: GroupFigures
    warm_pieces: GroupFigures
    cold_pieces: GroupFigures
    coverage10: float
    gini10: float
    novelty10: float
    cold_shown: float
    penchant_minus: MeanFigure | None = None
    penchant_ratio: MeanFigure | None = None


class Evaluation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An evaluation: of what, how it was split, and what each method made of it.

    ``history`` and ``known_likes`` are what little was known of the source and of people, if so; ``shared`` counts the
    known interactions that count for everybody.
    """

    name: str
    split: str
    cold: float
    seed: int
    relevant: list[str]
    pieces: int
    people: int
    interactions: int
    held_out: int
    history: int | None
    known_likes: int | None
    shared: int
    cold_pieces: int
    warm_people_asked: int
    cold_people_asked: int
    methods: list[MethodFigures]
    notes: list[str]

    def method(self, name: str) -> MethodFigures | None:
        """Return the figures of a method."""
        return next((each for each in self.methods if each.name == name), None)


def as_json(report: msgspec.Struct | Sequence[msgspec.Struct]) -> bytes:
    """Return a report, or several as an array, for machines, on lines for people."""
    return msgspec.json.format(encode(msgspec.to_builtins(report))) + b"\n"


def svg(report: Evaluation) -> str:
    """Return a picture of the methods' NDCG@10 over people with known interactions, the best on top.

    It is an SVG that screen readers can tell.
    """
    rows = sorted(
        ((each, each.warm_people.ndcg10) for each in report.methods if each.warm_people.ndcg10 is not None),
        key=lambda row: -row[1].value,
    )
    height = TOP + ROW * len(rows) + BOTTOM
    most = _rounded_up(max((figure.high for _, figure in rows), default=0.0))
    title = f"NDCG@10 on {report.name}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {_HEAD} viewBox="0 0 {WIDTH} {height}" height="{height}">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(_described(report))}</desc>',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(12, 24, f'<tspan font-weight="bold">{escape(title)}</tspan>'),
        _text(12, 44, escape(f"{report.warm_people_asked:,} people, split by {report.split}; bars are 95 % intervals")),
    ]
    bottom = TOP + ROW * len(rows)
    for tick in range(TICKS + 1):
        x = _place(most * tick / TICKS, most)
        parts.append(f'<line x1="{x}" y1="{TOP}" x2="{x}" y2="{bottom}" stroke="{PALE}"/>')
        parts.append(_text(x, bottom + 20, f"{most * tick / TICKS:.3g}", anchor="middle"))
    parts += [_row(TOP + ROW * place + ROW // 2, method, most) for place, (method, _) in enumerate(rows)]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _row(y: int, method: MethodFigures, most: float) -> str:
    """Return the row of a method: its name, the interval as a bar with the mean as a dot, and the mean in figures."""
    figure = method.warm_people.ndcg10
    assert figure is not None  # noqa: S101  # only methods with figures have rows
    colour = OURS if method.name == PENCHANT else OTHERS
    low, value, high = (_place(each, most) for each in (figure.low, figure.value, figure.high))
    weight = ' font-weight="bold"' if method.name == PENCHANT else ""
    return "\n".join(
        (
            f"<g{weight}>",
            _text(LEFT - 12, y + 5, escape(method.name), anchor="end"),
            f'<line x1="{low}" y1="{y}" x2="{high}" y2="{y}" stroke="{colour}" stroke-width="3"/>',
            f'<circle cx="{value}" cy="{y}" r="6" fill="{colour}"/>',
            _text(WIDTH - 12, y + 5, f"{figure.value:.3f}", anchor="end"),
            "</g>",
        )
    )


def _described(report: Evaluation) -> str:
    words = [
        f"{each.name} {figure.value:.3f}, from {figure.low:.3f} to {figure.high:.3f}"
        for each in report.methods
        if (figure := each.warm_people.ndcg10) is not None
    ]
    return "Mean and 95 % interval by method: " + "; ".join(words) + "."


def _place(value: float, most: float) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * value / most, 1)


def _rounded_up(value: float) -> float:
    """Return the next of 0.05, 0.1, 0.15 and so on."""
    step = 0.05
    return step * max(1, -int(-value // step))


def _text(x: float, y: float, text: str, *, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" fill="{INK}" text-anchor="{anchor}">{text}</text>'
