"""The page about a piece: what it is made of, its neighbours with reasons, why another is none, and where it stands."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

import msgspec
from markupsafe import Markup

from penchant_client import ServiceError, operations
from penchant_client.answers import StoredPlacement, StoredPlacements
from penchant_client.records import Piece, Settings
from penchant_client.requests import request_of
from penchant_desk.changes import who
from penchant_desk.changing import done_notice
from penchant_desk.drafts import JSON, draft_choice, get_list
from penchant_desk.moments import time_element
from penchant_desk.pieces import offered_titles, tile_of
from penchant_desk.reasons import ReasonedList, list_values
from penchant_desk.site import WORDS, DeskPage, PageVisit

MAX_TAKE = 30
"""The most entries of a list."""
MAX_TERMS = 50
"""Keywords of a piece that are shown, the heaviest of each category first."""
SHOWN_TERMS = 10
"""Keywords of a category that are in sight; the others fold out."""
SHELF = 15
"""Neighbours in sight."""
MAX_ROWS = 8
"""Rows of which is looked up whether a piece stands in them."""
MAX_SOURCE_TEXT = 4_000
"""Characters of a piece's JSON that are shown."""
_HEAVY, _USUAL, _LIGHT = 0.9, 0.75, 0.45
"""Shares of the greatest weight from which on a chip is of the next size."""
_WORDS = "words"
"""The category of the words of texts."""
_NO_LIST = {"invalid-input", "too-few-pieces", "unknown-piece", "quota-exceeded"}
"""Why a row shows nothing for nobody in particular: beside a piece there is another list for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedKeyword:
    """A keyword of a piece with its effective weight, and the size of its chip, 1 to 4."""

    text: str
    weight: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOfPiece:
    """Where a piece stands in a row as nobody in particular sees it; ``pinned`` is the place where it is pinned."""

    name: str
    title: str
    place: int | None
    pinned: int | None
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HidingRecord:
    """Since when a piece is hidden, and by whom, as far as the audit log tells."""

    who: str = ""
    at: datetime | None = None


async def piece(visit: PageVisit) -> DeskPage:
    """Show a piece."""
    piece_id = visit.id()
    body, settings = await visit.ask(
        request_of("GET", "/{source}/content/{contentID}", str, visit.source, piece_id),
        operations.get_settings(visit.source),
    )
    stored, zone = msgspec.json.decode(body, type=Piece), visit.zone(settings.time_zone)
    (hidden, is_boosted), choice, titles, done, (rows, words, listed) = await asyncio.gather(
        _curation(visit, piece_id),
        draft_choice(visit, settings),
        offered_titles(visit),
        done_notice(visit, settings),
        asyncio.gather(
            _rows(visit, piece_id, zone), _words(visit, settings, stored), _neighbours(visit, settings, piece_id)
        ),
    )
    values = {
        "source": visit.source,
        "zone": zone,
        "id": piece_id,
        "card": tile_of(stored, settings, visit.entrance.image_hosts),
        "done": done,
        "hidden": hidden,
        "is_boosted": is_boosted,
        "may_edit": visit.may_edit("lists"),
        "may_pin": visit.may_edit("placements"),
        "filters": stored.filters,
        "stored": _readable(body),
        "numbers": visit.text("view") == "numbers",
        "most": MAX_TAKE,
        "titles": titles,
        "choice": choice,
    }
    return DeskPage(template="piece.html", values={**values, **rows, **words, **listed})


async def _neighbours(visit: PageVisit, settings: Settings, piece_id: str) -> Mapping[str, Any]:
    source = visit.source
    asked = ReasonedList(
        request=lambda options: request_of(
            "GET", "/{source}/content/{contentID}/similar", JSON, source, piece_id, options=options
        ),
        why=lambda other, options: request_of(
            "GET", "/{source}/content/{contentID}/why/{other}", JSON, source, piece_id, other, options=options
        ),
    )
    return await list_values(visit, settings, asked, shown=MAX_TAKE if visit.text("view") == "numbers" else SHELF)


async def _curation(visit: PageVisit, piece_id: str) -> tuple[HidingRecord | None, bool]:
    """Return whether a piece is hidden, since when and by whom, and whether it is boosted; all that needs lists."""
    if not visit.may("lists"):
        return None, False
    hidden, boosted, log = await visit.ask(
        get_list(visit.source, "blacklist"),
        get_list(visit.source, "whitelist"),
        operations.source_audit(visit.source, action="blacklist.add", name=piece_id, limit=1),
    )
    record = None
    if piece_id in hidden:
        latest = next(iter(log.entries), None)
        record = HidingRecord()
        if latest is not None:
            by = who(visit.session, latest.actor, latest.actor_name)
            record = HidingRecord(who=by, at=latest.recorded_at)
    return record, piece_id in boosted


async def _words(visit: PageVisit, settings: Settings, stored: Piece) -> Mapping[str, Any]:
    """Return the keywords of a piece, and the words of its texts where it has not its own of the category of words."""
    has_own = _WORDS in stored.categories
    # Words that it has of its own are keywords like others.
    words, found = await asyncio.gather(
        _words_of_texts(visit, settings, stored, has_own=has_own),
        visit.client.send(operations.read_content(visit.source, [stored.id], include=["terms"])),
    )
    terms = [
        (category, keyword, weight)
        for each in found.content
        for category, weights in (each.terms or {}).items()
        for keyword, weight in weights.items()
        if has_own or category != _WORDS
    ]
    keywords = _keywords(terms)
    return {
        "keywords": keywords,
        "more_keywords": max(0, len(terms) - MAX_TERMS),
        "shown_terms": SHOWN_TERMS,
        "differ": len({each.weight for words in keywords.values() for each in words}) > 1,
        "words": words,
    }


async def _words_of_texts(visit: PageVisit, settings: Settings, stored: Piece, *, has_own: bool) -> Any:
    if has_own or not settings.words or not visit.has(WORDS):
        return None
    body = {"content": [stored], "words": settings.words}
    return next(iter((await visit.client.send(operations.preview_words(visit.source, body))).content), None)


def _keywords(terms: Sequence[tuple[str, str, int]]) -> Mapping[str, Sequence[WeightedKeyword]]:
    """Return the first of some keywords by category; they come by category, the heaviest first."""
    weights = [weight for *_, weight in terms]
    # ``or``: a piece may have no keywords at all.
    greatest = max(weights, default=0) or 1
    are_equal = len(set(weights)) < 2
    categories: dict[str, list[WeightedKeyword]] = {}
    for category, keyword, weight in terms[:MAX_TERMS]:
        size = 2 if are_equal else 1 + sum(weight >= share * greatest for share in (_HEAVY, _USUAL, _LIGHT))
        categories.setdefault(category, []).append(WeightedKeyword(text=keyword, weight=weight, size=size))
    return categories


async def _rows(visit: PageVisit, piece_id: str, zone: tzinfo) -> Mapping[str, Any]:
    """Return where a piece stands in the first rows of a source, those where it stands before the others."""
    if not visit.may("placements"):
        return {"rows": (), "more_rows": 0, "seen": None, "is_counted": False}
    request = request_of("GET", "/{source}/placements", StoredPlacements, visit.source, options={"content": piece_id})
    listing = await visit.client.send(request)
    rows = await asyncio.gather(*(_row(visit, each, piece_id, zone) for each in listing.placements[:MAX_ROWS]))
    return {
        "rows": sorted(rows, key=lambda each: (each.pinned is None, each.place is None, each.place or 0, each.title)),
        "more_rows": max(0, len(listing.placements) - MAX_ROWS),
        "seen": listing.seen or None,
        "is_counted": listing.seen is not msgspec.UNSET,
    }


async def _row(visit: PageVisit, version: StoredPlacement, piece_id: str, zone: tzinfo) -> RowOfPiece:
    pins = version.placement.pins or ()
    pin = next((each for each in pins if each["id"] == piece_id), None)
    shown = await _shown(visit, version.name)
    told = "" if shown is None else "for somebody unknown"
    if pin is not None:
        ends = pin.get("until")
        told = "pinned" if ends is None else Markup("pinned until {}").format(time_element(ends, zone))
    return RowOfPiece(
        name=version.name,
        title=version.placement.title or version.name,
        place=shown.index(piece_id) + 1 if shown and piece_id in shown else None,
        pinned=None if pin is None else pin["position"],
        told=told,
    )


async def _shown(visit: PageVisit, name: str) -> list[str] | None:
    """Return what a row shows to nobody in particular; ``None`` where it does not."""
    request = request_of(
        "GET", "/{source}/placements/{name}/list", JSON, visit.source, name, options={"take": MAX_TAKE}
    )
    try:
        return [each["id"] for each in (await visit.client.send(request))["content"]]
    except ServiceError as error:
        if error.code not in _NO_LIST:
            raise
        return None


def _readable(body: str) -> str:
    text = msgspec.json.format(body, indent=2)
    return text if len(text) <= MAX_SOURCE_TEXT else text[:MAX_SOURCE_TEXT] + "\n…"
