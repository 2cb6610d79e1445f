"""Pages that look for pieces: by the beginning of an id, keyword or part of the label; and, people too, by anything."""

from typing import Any

from penchant.live.views import View
from penchant.service.browsing import MAX_SCANNED, PiecePage
from penchant.web.dashboard.site import PageAnswer, Visit
from penchant_engine.model import Term

MAX_TERMS = 50
"""Keywords that a page offers."""
MAX_CATEGORIES = 200
"""Categories that a page names."""


async def pieces(visit: Visit) -> PageAnswer:
    """Show a page of the source's pieces, and the keywords that were looked for."""
    view = await visit.view()
    way = {"id": "id", "label": "label", "keyword": "keyword"}.get(visit.text("by"), "label")
    query = visit.text("q")
    hits, more = await _found(visit, view, way, query)
    fields = {"by": way, "q": query, "category": visit.text("category"), "keyword": visit.text("keyword")}
    values = {
        "source": view.head.name,
        "pieces": view.head.piece_count,
        "fields": fields,
        "result": hits,
        "cards": await visit.cards(view, [each.id for each in hits.pieces] if hits else ()),
        "closed_hosts": await visit.closed_hosts(view, [each.id for each in hits.pieces] if hits else []),
    }
    return PageAnswer(template="pieces.html", values=values | more | {"most_scanned": MAX_SCANNED})


async def _found(visit: Visit, view: View, way: str, query: str) -> tuple[PiecePage | None, dict[str, Any]]:
    browsing = visit.services.browsing
    after = visit.text("after") or None
    more: dict[str, Any] = {"terms": None, "categories": None, "term": None}
    if way == "keyword":
        # A keyword was chosen: its pieces. Otherwise the keywords to choose from.
        if visit.text("category"):
            term = Term(visit.text("category"), visit.text("keyword"))
            return await browsing.by_keyword(view, term, after=after), more | {"term": term}
        found = visit.services.search
        terms = (await found.keywords(view, query, limit=MAX_TERMS)).terms
        more |= {"terms": terms, "categories": (await found.categories(view))[:MAX_CATEGORIES]}
        return None, more
    if way == "label" and query:
        return await browsing.by_label(view, query, after=after), more
    return await browsing.by_id(view, query if way == "id" else "", after=after), more
