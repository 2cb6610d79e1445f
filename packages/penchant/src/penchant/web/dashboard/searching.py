"""Pages that look for pieces: by the beginning of an id, keyword or part of the label; and, people too, by anything."""

from collections.abc import Sequence
from typing import Any

from penchant.errors import invalid_parameter
from penchant.live.views import View
from penchant.model import Feature
from penchant.service.browsing import MAX_SCANNED, PiecePage
from penchant.service.desk import title_of
from penchant.service.rows import row_services
from penchant.service.search import NEWEST_PEOPLE, HitPlace
from penchant.web.dashboard.site import PageAnswer, Visit, section
from penchant.wire import id_problem
from penchant.wire.placement_answers import PlacementVersion
from penchant_engine.model import Term

MAX_TERMS = 50
"""Keywords that a page offers."""
MAX_CATEGORIES = 200
"""Categories that a page names."""
PLACES = {
    HitPlace.WHOLE_ID: "the id",
    HitPlace.ID: "beginning of the id",
    HitPlace.TITLE_WORDS: "label",
    HitPlace.TITLE: "label",
    HitPlace.KEYWORD: "keyword",
    HitPlace.TEXT: "text",
    HitPlace.SEVERAL: "several places",
}
"""Where a piece has what was looked for, in words."""


async def search(visit: Visit) -> PageAnswer:
    """Show the pieces and people that a text finds; ``after`` goes on with the texts of pieces past an id."""
    view = await visit.view()
    query, after = visit.text("q").strip(), visit.text("after") or None
    hits = people = None
    rows: Sequence[PlacementVersion[str]] = ()
    if query:
        # Longer than an id, or with what no id may hold: neither is in any piece.
        problem = id_problem(query)
        if problem:
            raise invalid_parameter("q", problem)
        hits = await visit.services.search.pieces(view, query, after=after)
    if query and after is None:
        rows = await _rows(visit, view, query)
        people = await section(visit, lambda: visit.services.search.people(view, query), Feature.INTERACTIONS_LISTING)
    values = {
        "source": view.head.name,
        "pieces": view.head.piece_count,
        "searched": query,
        "result": hits,
        "rows": [(each.name, title_of(each)) for each in rows],
        "cards": await visit.cards(view, [each.id for each in hits.hits] if hits else ()),
        "people": people,
        "places": PLACES,
        "newest_people": NEWEST_PEOPLE,
    }
    return PageAnswer(template="search.html", values=values)


async def titles(visit: Visit) -> PageAnswer:
    """Show titles that go on from what is typed into a field: a list to complete it by, which scripts ask for."""
    found = await visit.services.browsing.called_like(await visit.view(), visit.text("q"))
    return PageAnswer(template="titles.html", values={"found": found})


async def _rows(visit: Visit, view: View, query: str) -> Sequence[PlacementVersion[str]]:
    """Return the rows whose name or title has a text in it, whatever its case; none where the plan has no rows."""
    if not visit.may(Feature.PLACEMENTS):
        return ()
    wanted = query.casefold()
    listing = await row_services(visit).placements.listing(view)
    return [each for each in listing.placements if wanted in f"{each.name}\n{title_of(each)}".casefold()]


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
