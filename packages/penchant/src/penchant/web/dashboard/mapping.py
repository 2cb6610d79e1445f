"""The catalogue as a picture: pieces laid out by likeness, in areas that tell what they are of.

Points are a path of dots by colour, and few enough of them links.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penchant.likeness import GROUPS, SIDE
from penchant.service.maps import ColoredMap
from penchant.web.dashboard.site import DashboardSite, PageAnswer, Visit
from penchant_engine.index import IntArray

MAX_LINKS = 200
"""Points that are links; of more, evenly chosen ones are."""
MAX_LOOKS = 9
"""How often, a second apart, a browser asks by itself for a map that is being made."""
CLASSES = (*(f"term{number}" for number in range(GROUPS)), "rest", "lost")
"""The style of each colour, at last that of pieces which no list leads to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DotPath:
    """The dots of a colour: its number and style, the path through them, and how many pieces they are."""

    color: int
    style: str
    path: str
    pieces: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceDot:
    """A piece as a dot that is a link."""

    id: str
    x: int
    y: int
    style: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPicture:
    """What is drawn: the box of the map that is seen, dots by colour, and dots that are links with their radius."""

    box: tuple[int, int, int, int]
    paths: Sequence[DotPath]
    links: Sequence[PieceDot]
    radius: float


def map_picture(colored: ColoredMap, area: int | None) -> MapPicture:
    """Return the picture of a map, or of one of its areas."""
    layout = colored.map
    rows = np.arange(len(layout.ids)) if area is None else np.flatnonzero(layout.area_of == area)
    styles = colored.colors.astype(np.int64)
    if colored.unreached is not None:
        styles = np.where(colored.unreached, GROUPS + 1, styles)
    box = (0, 0, SIDE, SIDE) if area is None else _box(layout.points[rows].astype(np.int64))
    # A whole map of many pieces is a picture; its areas hold the links.
    linked = rows if area is not None or len(rows) <= MAX_LINKS else rows[:0]
    linked = linked[:: max(1, -(-len(linked) // MAX_LINKS))]
    return MapPicture(
        box=box,
        paths=[
            DotPath(color=style, style=CLASSES[style], path=dots(layout.points[of].astype(np.int64)), pieces=len(of))
            for style in range(len(CLASSES))
            if len(of := rows[styles[rows] == style])
        ],
        links=[
            PieceDot(id=layout.ids[row], x=int(x), y=int(y), style=CLASSES[styles[row]])
            for row, (x, y) in zip(linked.tolist(), layout.points[linked].tolist(), strict=True)
        ],
        radius=round(max(box[2:]) / 120, 1),
    )


def dots(points: IntArray) -> str:
    """Return a path that has a dot at each point, line by line: what stands at the same point is one dot."""
    ordered = np.unique(points[:, ::-1], axis=0)[:, ::-1]
    steps = np.diff(ordered, axis=0, prepend=[[0, 0]])
    return "".join(f"m{x} {y}h0" for x, y in steps.tolist())


def _box(points: IntArray) -> tuple[int, int, int, int]:
    """Return the left, top, width and height of a square around points, with some room."""
    low, high = points.min(axis=0), points.max(axis=0)
    side = int((high - low).max()) + 20
    left, top = ((low + high - side) // 2).tolist()
    return left, top, side, side


async def catalogue_map(visit: Visit, site: DashboardSite) -> PageAnswer:
    """Show the map of a source, or one of its areas, coloured by a category's keywords or by popularity.

    Where there is none yet the browser asks again by itself, some times.
    """
    view = await visit.view()
    category, area = visit.text("category"), visit.text("area")
    colored = await visit.services.maps.colored(view, category or None)
    values: dict[str, Any] = {"source": view.head.name, "category": category, "area": None, "colored": colored}
    if colored is not None:
        number = int(area) - 1 if area.isdecimal() and 0 < int(area[:3]) <= len(colored.map.areas) else None
        picture = await visit.services.database.in_thread(map_picture, colored, number)
        labels = await visit.services.browsing.labels(view, _named(colored, picture))
        apart = int((colored.map.area_of < 0).sum())
        values |= {"area": number, "picture": picture, "labels": labels, "lost": _lost(colored), "apart": apart}
    headers: dict[str, str] = {}
    looks = visit.text("looks")
    if colored is None and looks != str(MAX_LOOKS):
        number = int(looks) + 1 if len(looks) == 1 and looks.isdecimal() else 1
        again = site.link("map", source=view.head.name, category=category, area=area, looks=number)
        headers = {"refresh": f"1; url={again}"}
    return PageAnswer(template="map.html", values=values | {"looks_again": bool(headers)}, headers=headers)


def _named(colored: ColoredMap, picture: MapPicture) -> list[str]:
    """Return the pieces whose labels are needed."""
    typical = {colored.map.ids[row] for each in colored.map.areas for row in each.typical}
    return sorted(typical | {dot.id for dot in picture.links})


def _lost(colored: ColoredMap) -> list[int] | None:
    """Return how many pieces of each area no list leads to, those that stand apart last."""
    if colored.unreached is None:
        return None
    area_of = colored.map.area_of
    numbers = [*range(len(colored.map.areas)), -1]
    return [int(colored.unreached[area_of == number].sum()) for number in numbers]
