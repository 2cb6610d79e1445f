"""Pieces as pages show them: by their titles, with the address of a picture where there is one that may be shown."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET

from penchant_client import ServiceError, operations
from penchant_client.records import Piece, PieceTitle, Settings
from penchant_desk.filters import path_words
from penchant_desk.images import image_host
from penchant_desk.site import PageVisit

MAX_READ = 1_000
"""Pieces that the interface reads at once."""
MAX_TITLES_AT_ONCE = 20
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


async def offered_titles(visit: PageVisit) -> list[str]:
    """Return titles that the fields of a page offer; as its value ``titles`` the page has them."""
    return [each.label for each in (await visit.client.send(operations.list_titles(visit.source))).titles]


async def labels_of(visit: PageVisit, ids: Iterable[str]) -> dict[str, str]:
    """Return the labels of some pieces, up to 1,000, that have one."""
    asked = list(dict.fromkeys(ids))
    if not asked:
        return {}
    found = await visit.client.send(operations.read_content(visit.source, asked))
    return {each.id: each.label for each in found.content if each.label is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledPiece:
    """What a text stands for: the id of the piece of this id or title, if there is one, and titles like it.

    ``is_possible`` tells whether an id can be so.
    """

    id: str | None = None
    near: Sequence[PieceTitle] = ()
    is_possible: bool = True


async def piece_called(visit: PageVisit, text: str) -> CalledPiece:
    """Return the piece of this id or title, in any case, and pieces whose title goes on from it or has such a word."""
    return (await pieces_called(visit, [text]))[text]


async def pieces_called(visit: PageVisit, texts: Iterable[str]) -> dict[str, CalledPiece]:
    """Return what each of some texts stands for, as `piece_called`."""
    asked = list(dict.fromkeys(texts))
    found: dict[str, CalledPiece] = {}
    for batch in _batches(asked, MAX_READ):
        found |= await _with_ids(visit, batch)
    titles = [text for text in asked if text not in found]
    for batch in _batches(titles, MAX_TITLES_AT_ONCE):
        listings = await visit.ask(*(operations.list_titles(visit.source, q=each.strip()) for each in batch))
        found |= {text: _with_title(text, listing.titles) for text, listing in zip(batch, listings, strict=True)}
    return found


def _batches(texts: Sequence[str], most: int) -> Iterator[Sequence[str]]:
    return (texts[start : start + most] for start in range(0, len(texts), most))


async def _with_ids(visit: PageVisit, texts: Sequence[str]) -> dict[str, CalledPiece]:
    """Return the texts that are ids of pieces, and those that can be none."""
    impossible: dict[str, CalledPiece] = {}
    try:
        stored = await visit.client.send(operations.read_content(visit.source, texts))
    except ServiceError as error:
        places = [each.pointer or "" for each in error.errors]
        numbers = [int(each[1:]) for each in places if each[1:].isdecimal()]
        if error.code != "invalid-input" or not numbers:
            raise
        impossible = {texts[number]: CalledPiece(is_possible=False) for number in numbers}
        if len(impossible) == len(texts):
            return impossible
        return impossible | await _with_ids(visit, [each for each in texts if each not in impossible])
    return {each.id: CalledPiece(id=each.id) for each in stored.content}


def _with_title(text: str, titles: Sequence[PieceTitle]) -> CalledPiece:
    # Titles that go on from a text come first, ascending: itself before all others.
    first = next(iter(titles), None)
    is_called_so = first is not None and first.label.casefold() == text.strip().casefold()
    return CalledPiece(id=first.id if first and is_called_so else None, near=titles)


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
    for step in path_words(settings.image_attribute):
        if isinstance(found, list):
            found = found[int(step)] if step.isdecimal() and str(int(step)) == step and int(step) < len(found) else None
        else:
            found = found.get(step) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) else None


def _keywords(level: Any) -> Iterator[str]:
    """Yield the keywords of a category that is a list: plain ones, and those of objects."""
    for item in level if isinstance(level, list) else ():
        keyword = item.get("key") if isinstance(item, dict) else item
        if isinstance(keyword, str):
            yield keyword
