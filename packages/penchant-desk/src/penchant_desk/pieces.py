"""Pieces as pages show them: by their titles, with the address of a picture where there is one that may be shown."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET

from penchant_client import operations
from penchant_client.records import Piece, Settings
from penchant_desk.images import image_host
from penchant_desk.site import PageVisit

_KINDS = ("kind", "type", "format", "genre")
"""Categories whose first keyword says what kind of thing a piece is, the best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceTile:
    """A piece as pages show it; one that is not in the source now has its id alone."""

    id: str
    label: str | None = None
    kind: str = ""
    year: str = ""
    picture: str | None = None
    is_stored: bool = False

    @property
    def title(self) -> str:
        """Return what it is called: its label, else its id."""
        return self.label or self.id

    @property
    def detail(self) -> str:
        """Return the line below its title."""
        year = f"{self.year[1:]} BC" if self.year.startswith("-") else self.year
        return ", ".join(part for part in (self.kind.capitalize(), year) if part)


async def piece_tiles(visit: PageVisit, settings: Settings, ids: Iterable[str]) -> dict[str, PieceTile]:
    """Return some pieces, up to 1,000, as pages show them; each of the ids has one."""
    asked = list(dict.fromkeys(ids))
    if not asked:
        return {}
    found = await visit.client.send(operations.read_content(visit.source, asked))
    tiles = {each.id: tile_of(each, settings, visit.entrance.image_hosts) for each in found.content}
    return {each: tiles.get(each) or PieceTile(id=each) for each in asked}


def tile_of(piece: Piece, settings: Settings, image_hosts: Collection[str]) -> PieceTile:
    """Return a piece as pages show it, with a picture of an allowed host alone."""
    kinds = (next(_keywords(piece.categories.get(name)), "") for name in _KINDS)
    catalogs = piece.filters.get("catalogs") or ()
    year = piece.extras.get("year")
    address = picture_of(piece, settings)
    return PieceTile(
        id=piece.id,
        label=piece.label,
        kind=next(filter(None, kinds), "") or min(catalogs, default=""),
        year=str(year) if isinstance(year, int | str) and not isinstance(year, bool) else "",
        picture=address if address is not None and image_host(address) in image_hosts else None,
        is_stored=True,
    )


def picture_of(piece: Piece, settings: Settings) -> str | None:
    """Return the address of a piece's picture, to which the setting ``imageAttribute`` points in its extras."""
    if settings.image_attribute is UNSET:
        return None
    found: Any = piece.extras
    for step in settings.image_attribute.removeprefix("/").split("/"):
        found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) else None


def _keywords(level: Any) -> Iterator[str]:
    """Yield the keywords of a category that is a list: plain ones, and those of objects."""
    for item in level if isinstance(level, list) else ():
        keyword = item.get("key") if isinstance(item, dict) else item
        if isinstance(keyword, str):
            yield keyword
