"""Pages about a piece: what it is made of, its neighbours with reasons, why another is none; and a draft, tried."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from penchant.live.views import View
from penchant.service.lists.requests import SimilarRequest
from penchant.web.dashboard.reasons import ListEntry, explained, list_values
from penchant.web.dashboard.site import PageAnswer, PageSection, Visit, section
from penchant.wire import decode_draft, words_of_piece
from penchant.words import CATEGORY

MAX_TERMS = 50
"""Keywords of a piece that are drawn, the heaviest of each category first."""
MAX_SOURCE_TEXT = 6_000
"""Characters of a piece's JSON that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceKeyword:
    """A keyword of a piece with its effective weight, and that as a share of the piece's greatest."""

    text: str
    weight: int
    share: float


async def piece(visit: Visit) -> PageAnswer:
    """Show a piece."""
    view = await visit.view()
    piece_id = visit.id()
    _, body = await visit.services.content.piece(visit.access, visit.source, piece_id)
    stored = msgspec.json.decode(body)
    has_own_words = CATEGORY in stored.get("categories", {})
    keywords, more = _keywords(view, piece_id, set() if has_own_words else {CATEGORY})
    rule = None if has_own_words else view.reading.word_rule
    values = {
        "source": view.head.name,
        "id": piece_id,
        "label": stored.get("label"),
        "picture": (await visit.pictures(view, [piece_id])).get(piece_id),
        "keywords": keywords,
        "more_keywords": more,
        "words": None if rule is None else await visit.services.database.in_thread(words_of_piece, body, rule),
        "filters": stored.get("filters", {}),
        "stored": _readable(body),
    }
    values |= await list_values(
        visit,
        view,
        lambda algorithm, catalogs: visit.services.lists.similar(
            view, SimilarRequest(piece_id=piece_id, algorithm=algorithm, catalogs=catalogs)
        ),
    )
    return PageAnswer(template="piece.html", values=values)


def _keywords(view: View, piece_id: str, left_out: Collection[str]) -> tuple[Mapping[str, Sequence[PieceKeyword]], int]:
    """Return the heaviest keywords of a piece by category, but for some, and how many more there are."""
    found = view.snapshot.terms_of(piece_id) or {}
    terms = {term: weight for term, weight in found.items() if term.category not in left_out}
    # ``or``: a piece may have no keywords at all.
    greatest = max(terms.values(), default=0) or 1
    ordered = sorted(terms.items(), key=lambda each: (each[0].category, -each[1], each[0].keyword))
    categories: dict[str, list[PieceKeyword]] = {}
    for term, weight in ordered[:MAX_TERMS]:
        keyword = PieceKeyword(text=term.keyword, weight=weight, share=weight / greatest)
        categories.setdefault(term.category, []).append(keyword)
    return categories, max(0, len(ordered) - MAX_TERMS)


def _readable(body: bytes) -> str:
    text = msgspec.json.format(body, indent=2).decode()
    return text if len(text) <= MAX_SOURCE_TEXT else text[:MAX_SOURCE_TEXT] + "\n…"


MAX_EXAMPLE = 20_000
"""Characters of a piece that a draft begins from."""
EXAMPLE = """{
  "label": "A draft",
  "categories": {
    "genre": ["drama"],
    "theme": [{"key": "friendship", "weight": 80}]
  }
}"""


async def trying(visit: Visit) -> PageAnswer:
    """Show a draft to change: a piece of the source, or an example."""
    view = await visit.view()
    draft = EXAMPLE
    if visit.text("id"):
        _, body = await visit.services.content.piece(visit.access, visit.source, visit.id())
        draft = msgspec.json.format(body, indent=2).decode()[:MAX_EXAMPLE]
    return _page(view, draft, None)


async def try_piece(visit: Visit) -> PageAnswer:
    """Show what would be near a draft."""
    view = await visit.view()
    draft = visit.form.text("draft")
    return _page(view, draft, await section(visit, lambda: _draft_neighbours(visit, view, draft), counted=1))


async def _draft_neighbours(visit: Visit, view: View, draft: str) -> list[ListEntry]:
    body = draft.encode(errors="replace")
    draft_id, piece = await visit.services.database.in_thread(decode_draft, body, reading=view.reading)
    query = SimilarRequest(piece_id=draft_id or "")
    return await explained(visit, view, visit.services.lists.similar(view, query, piece))


def _page(view: View, draft: str, tried: PageSection[list[ListEntry]] | None) -> PageAnswer:
    return PageAnswer(template="try.html", values={"source": view.head.name, "draft": draft, "tried": tried})
