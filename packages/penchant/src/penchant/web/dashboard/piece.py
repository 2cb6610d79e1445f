"""Pages about a piece: what it is made of, its neighbours with reasons, why another is none; and a draft, tried."""

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from penchant.enrichment import enrichments, split_rule
from penchant.errors import InvalidInput, TooFewPieces, UnknownPiece
from penchant.live.views import View
from penchant.model import Feature
from penchant.service.desk import Desk, pins_of, title_of
from penchant.service.placements.kinds import PlacementRequest
from penchant.service.placements.versions import placements_of
from penchant.service.rows import row_services
from penchant.web.dashboard.changing import done_notice
from penchant.web.dashboard.desk import who
from penchant.web.dashboard.reasons import list_values
from penchant.web.dashboard.rows.drafting import draft_choice
from penchant.web.dashboard.shown import moment
from penchant.web.dashboard.site import DashboardSite, PageAnswer, Visit, section
from penchant.wire.placement_answers import PlacementVersion
from penchant_engine.lists.requests import ListRequest
from penchant_engine.model import MAX_TAKE, WORDS_CATEGORY

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceKeyword:
    """A keyword of a piece with its effective weight, and the size of its chip, 1 to 4."""

    text: str
    weight: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceInRow:
    """Where a piece stands in a row as nobody in particular sees it; ``pinned`` is the place where it is pinned."""

    name: str
    title: str
    place: int | None
    pinned: int | None
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenSince:
    """Since when a piece is hidden, and by whom, as far as the audit log tells."""

    who: str = ""
    at: int | None = None


async def piece(visit: Visit, site: DashboardSite) -> PageAnswer:
    """Show a piece."""
    view = await visit.view()
    piece_id = visit.id()
    _, body = await visit.services.content.piece(visit.access, visit.source, piece_id)
    stored = msgspec.json.decode(body)
    card = (await visit.cards(view, [piece_id]))[piece_id]
    rows = await section(visit, lambda: _rows(visit, view, piece_id), Feature.PLACEMENTS)
    values = {
        "source": view.head.name,
        "id": piece_id,
        "card": card,
        "done": await done_notice(visit, view, site),
        "hidden": await _hidden(visit, view, piece_id),
        "is_boosted": piece_id in view.whitelist,
        "may_edit": visit.may_edit(Feature.LISTS),
        "may_pin": visit.may_edit(Feature.PLACEMENTS),
        "rows": rows.value or (),
        "more_rows": max(0, len(placements_of(view)) - MAX_ROWS),
        "filters": stored.get("filters", {}),
        "stored": _readable(body),
        "numbers": visit.text("view") == "numbers",
        "most": MAX_TAKE,
        "titles": await visit.titles(view),
        "choice": await draft_choice(visit, view),
        "seen": await visit.services.of(Desk).seen(view) if visit.may(Feature.PLACEMENTS) else None,
    }
    values |= await _words(visit, view, piece_id, body, has_own=WORDS_CATEGORY in stored.get("categories", {}))
    values |= await list_values(
        visit,
        view,
        lambda algorithm, catalogs, take: visit.services.lists.similar(
            view, ListRequest(piece_id=piece_id, algorithm=algorithm, catalogs=catalogs, take=take)
        ),
        shown=MAX_TAKE if values["numbers"] else SHELF,
    )
    return PageAnswer(template="piece.html", values=values)


def _words_by(body: bytes, rule: bytes) -> Any:
    from penchant_words.keywords import words_of_piece  # noqa: PLC0415  # only where the package is installed
    from penchant_words.settings import decode_word_rule  # noqa: PLC0415  # as above

    return words_of_piece(body, decode_word_rule(rule))


async def _words(visit: Visit, view: View, piece_id: str, body: bytes, *, has_own: bool) -> Mapping[str, Any]:
    """Return the keywords of a piece, and the words of its texts where it has not its own of the category of words."""
    keywords, more = _keywords(view, piece_id, set() if has_own else {WORDS_CATEGORY})
    rule = None if has_own or WORDS_CATEGORY not in enrichments() else split_rule(view.reading.rule).get(WORDS_CATEGORY)
    return {
        "keywords": keywords,
        "more_keywords": more,
        "shown_terms": SHOWN_TERMS,
        "differ": len({each.weight for words in keywords.values() for each in words}) > 1,
        "words": None if rule is None else await visit.services.database.in_thread(_words_by, body, rule),
    }


async def _hidden(visit: Visit, view: View, piece_id: str) -> HiddenSince | None:
    if piece_id not in view.blacklisted:
        return None
    entry = await visit.services.of(Desk).change_of(view, "blacklist.add", piece_id)
    return HiddenSince() if entry is None else HiddenSince(who=who(visit, entry.actor), at=entry.recorded_at)


async def _rows(visit: Visit, view: View, piece_id: str) -> list[PieceInRow]:
    """Return where a piece stands in the first rows of a source, those where it stands before the others."""
    listing = await row_services(visit).placements.listing(view)
    rows = [await _row(visit, view, each, piece_id) for each in listing.placements[:MAX_ROWS]]
    return sorted(rows, key=lambda each: (each.pinned is None, each.place is None, each.place or 0, each.title))


async def _row(visit: Visit, view: View, version: PlacementVersion[str], piece_id: str) -> PieceInRow:
    pin = next((each for each in pins_of(version) if each.piece_id == piece_id), None)
    place, told = None, ""
    with contextlib.suppress(InvalidInput, TooFewPieces, UnknownPiece):
        # Beside a piece there is another list for each.
        request = PlacementRequest(placement=version.name, user_id=None, content_id=None, take=MAX_TAKE)
        shown = [each.id for each in (await row_services(visit).lists.answer(view, request)).result.content]
        place = shown.index(piece_id) + 1 if piece_id in shown else None
        told = "for somebody unknown"
    if pin is not None:
        told = "pinned" if pin.ends is None else f"pinned until {moment(pin.ends)} UTC"
    return PieceInRow(
        name=version.name,
        title=title_of(version),
        place=place,
        pinned=None if pin is None else pin.position,
        told=told,
    )


def _keywords(view: View, piece_id: str, left_out: Collection[str]) -> tuple[Mapping[str, Sequence[PieceKeyword]], int]:
    """Return the heaviest keywords of a piece by category, but for some, and how many more there are."""
    found = view.snapshot.terms_of(piece_id) or {}
    terms = {term: weight for term, weight in found.items() if term.category not in left_out}
    # ``or``: a piece may have no keywords at all.
    greatest = max(terms.values(), default=0) or 1
    ordered = sorted(terms.items(), key=lambda each: (each[0].category, -each[1], each[0].keyword))
    are_equal = len(set(terms.values())) < 2
    categories: dict[str, list[PieceKeyword]] = {}
    for term, weight in ordered[:MAX_TERMS]:
        size = 2 if are_equal else 1 + sum(weight >= share * greatest for share in (_HEAVY, _USUAL, _LIGHT))
        categories.setdefault(term.category, []).append(PieceKeyword(text=term.keyword, weight=weight, size=size))
    return categories, max(0, len(ordered) - MAX_TERMS)


def _readable(body: bytes) -> str:
    text = msgspec.json.format(body, indent=2).decode()
    return text if len(text) <= MAX_SOURCE_TEXT else text[:MAX_SOURCE_TEXT] + "\n…"
