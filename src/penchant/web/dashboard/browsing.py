"""Handler of looking for pieces: by the beginning of an id, by keyword, by a part of the label."""

from typing import Any

from penchant.live.views import View
from penchant.model import Term
from penchant.service.browsing import MAX_SCANNED, PiecePage
from penchant.web.dashboard.site import PageAnswer, Visit

_WAYS = {"id": "id", "label": "label", "keyword": "keyword"}


async def pieces(visit: Visit) -> PageAnswer:
    """Show a page of the source's pieces, and the keywords that were looked for."""
    view = await visit.view()
    way = _WAYS.get(visit.text("by"), "id")
    wanted = visit.text("q")
    found, more = await _found(visit, view, way, wanted)
    asked = {"by": way, "q": wanted, "category": visit.text("category"), "keyword": visit.text("keyword")}
    values = {"source": view.head.name, "pieces": view.head.piece_count, "asked": asked, "found": found}
    return PageAnswer(template="pieces.html", values=values | more | {"most_scanned": MAX_SCANNED})


async def _found(visit: Visit, view: View, way: str, wanted: str) -> tuple[PiecePage | None, dict[str, Any]]:
    browsing = visit.services.browsing
    after = visit.text("after") or None
    more: dict[str, Any] = {"terms": None, "categories": None, "term": None}
    if way == "keyword":
        # A keyword was chosen: its pieces. Otherwise the keywords to choose from.
        if visit.text("category"):
            term = Term(visit.text("category"), visit.text("keyword"))
            return await browsing.by_keyword(view, term, after=after), more | {"term": term}
        more |= {"terms": await browsing.keywords(view, wanted), "categories": browsing.categories(view)}
        return None, more
    if way == "label" and wanted:
        return await browsing.by_label(view, wanted, after=after), more
    return await browsing.by_id(view, wanted if way == "id" else "", after=after), more
