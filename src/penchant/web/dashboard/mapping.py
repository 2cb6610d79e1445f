"""Handler of the catalogue as a picture: pieces laid out by likeness, in areas that tell what they are of."""

from typing import Any

from penchant.service.maps import ColoredMap
from penchant.web.dashboard.map_picture import MapPicture, map_picture
from penchant.web.dashboard.site import PageAnswer, Visit


async def catalogue_map(visit: Visit) -> PageAnswer:
    """Show the map of a source, or one of its areas, coloured by a category's keywords or by popularity."""
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
    return PageAnswer(template="map.html", values=values)


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
