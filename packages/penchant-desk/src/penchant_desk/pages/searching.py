"""Pages that look for pieces and people by anything, and for titles that go on from what is typed."""

import asyncio
from typing import Any

from msgspec.structs import replace

from penchant_client import flows, operations
from penchant_client.records import KeywordName, MatchedPiece, SearchAnswer
from penchant_client.requests import Request
from penchant_desk.images import closed_hosts
from penchant_desk.pages.choosing import choice_form
from penchant_desk.pieces import picture_of, piece_tiles, tile_of
from penchant_desk.problems import invalid
from penchant_desk.site import MAX_ID_LENGTH, DeskPage, PageVisit, Section, missing_feature, section

MAX_HITS = 50
"""Pieces, and people, that a page shows."""
MAX_TERMS = 50
"""Keywords that a page offers."""
MAX_CATEGORIES = 200
"""Categories that a page names."""
MAX_SCANNED = 5_000
"""Pieces whose labels the service reads at a time."""
MAX_COMPLETED = 30
"""Titles by which a field completes what is typed."""
NAMED_TERMS = 10
"""Keywords that a page names."""
NEWEST_PEOPLE = 20_000
"""Interactions among which the service looks for people."""
_PLACES = {"label": "label", "keyword": "keyword", "text": "text", "several": "several places"}
"""Where a piece has what was looked for, in words."""


async def search(visit: PageVisit) -> DeskPage:
    """Show the pieces and people that a text finds; ``after`` goes on with the texts of pieces past an id."""
    query, after = visit.text("q").strip(), visit.text("after") or None
    if len(query) > MAX_ID_LENGTH:
        # Longer than an id: it is in no piece.
        raise invalid(f"Found {len(query)} characters; 1 to {MAX_ID_LENGTH} are accepted.")
    source, settings = await visit.ask(flows.get_source(visit.source), operations.get_settings(visit.source))
    values = {"source": source.source, "pieces": source.pieces, "searched": query, "result": None, "people": None}
    if query:
        # By itself: it reads as far as it comes within a time.
        found = await visit.client.send(_searched(visit, query, "piece", after=after))
        terms, rows, people, cards = await asyncio.gather(
            _terms(visit, query, is_first=after is None),
            _rows(visit, query, is_first=after is None),
            _people(visit, query, is_first=after is None),
            piece_tiles(visit, settings, [hit.id for hit in found.content]),
        )
        values |= {
            "result": found,
            "hits": [(hit, _place(hit, query)) for hit in found.content],
            "terms": terms,
            "rows": rows,
            "people": people,
            "cards": cards,
        }
    return DeskPage(template="search.html", values=values | {"newest_people": NEWEST_PEOPLE})


async def pieces(visit: PageVisit) -> DeskPage:
    """Show a page of the source's pieces, by the beginning of an id, part of the label or a keyword; or keywords."""
    way = {"id": "id", "label": "label", "keyword": "keyword"}.get(visit.text("by"), "label")
    fields = {"by": way, **{name: visit.text(name) for name in ("q", "category", "keyword")}}
    source, settings, (result, more) = await asyncio.gather(
        visit.client.send(flows.get_source(visit.source)),
        visit.client.send(operations.get_settings(visit.source)),
        _found(visit, way, fields["q"]),
    )
    ids = [each.id for each in result.content] if result else []
    stored = (await visit.client.send(operations.read_content(visit.source, ids))).content if ids else []
    hosts = visit.entrance.image_hosts
    values = {
        "source": source.source,
        "pieces": source.pieces,
        "fields": fields,
        "result": result,
        "cards": [tile_of(each, settings, hosts) for each in stored],
        "closed_hosts": closed_hosts((picture_of(each, settings) or "" for each in stored), hosts),
        "most_scanned": MAX_SCANNED,
        "offered": await choice_form(visit, settings, "pieces") if stored else None,
    }
    return DeskPage(template="pieces.html", values=values | more)


async def _found(visit: PageVisit, way: str, query: str) -> tuple[SearchAnswer | None, dict[str, Any]]:
    """Return a page of pieces, or, where no keyword is chosen yet, keywords to choose from, with all categories."""
    source, after, category = visit.source, visit.text("after") or None, visit.text("category")
    more: dict[str, Any] = {"terms": None, "categories": None, "term": None, "after": None}
    if way == "keyword" and not category:
        terms, categories = await visit.ask(
            operations.list_keywords(source, q=query or None, limit=MAX_TERMS),
            operations.list_categories(source, limit=MAX_CATEGORIES),
        )
        return None, more | {"terms": terms.keywords, "categories": categories.categories}
    if way == "keyword":
        keyword = visit.text("keyword")
        # One more than is shown tells whether there are further ones.
        request = operations.search(source, q=keyword, category=category, after=after, limit=MAX_HITS + 1)
        found = await visit.client.send(request)
        shown = found.content[:MAX_HITS]
        following = shown[-1].id if len(found.content) > MAX_HITS else None
        more |= {"term": KeywordName(category=category, keyword=keyword), "after": following}
        return replace(found, content=shown), more
    has_place = "label" if way == "label" and query else "id"
    text = None if way == "label" and not query else query or None
    found = await visit.client.send(operations.search(source, place=has_place, q=text, after=after, limit=MAX_HITS))
    return found, more | {"after": found.after}


async def titles(visit: PageVisit) -> DeskPage:
    """Show titles that go on from what is typed into a field: a list to complete it by, which scripts ask for."""
    found = await visit.client.send(operations.list_titles(visit.source, q=visit.text("q") or None))
    return DeskPage(template="titles.html", values={"found": found.titles[:MAX_COMPLETED]})


def _searched(visit: PageVisit, query: str, kind: str, after: str | None = None) -> Request[SearchAnswer]:
    limit = NAMED_TERMS if kind == "keyword" else MAX_HITS
    return operations.search(visit.source, q=query, kind=kind, limit=limit, after=after)


def _place(hit: MatchedPiece, query: str) -> str:
    if hit.place == "id":
        return "the id" if hit.id == query else "beginning of the id"
    return _PLACES[hit.place]


async def _terms(visit: PageVisit, query: str, *, is_first: bool) -> list[object]:
    return list((await visit.client.send(_searched(visit, query, "keyword"))).keywords) if is_first else []


async def _rows(visit: PageVisit, query: str, *, is_first: bool) -> list[tuple[str, str]]:
    """Return the rows whose name or title has a text in it, whatever its case; none where the plan has no rows."""
    if not is_first or not visit.may("placements"):
        return []
    wanted = query.casefold()
    listed = (await visit.client.send(operations.list_placements(visit.source))).placements
    named = [(each.name, each.placement.title or each.name) for each in listed]
    return [(name, title) for name, title in named if wanted in f"{name}\n{title}".casefold()]


async def _people(visit: PageVisit, query: str, *, is_first: bool) -> Section | None:
    if not is_first:
        return None
    missing = missing_feature(visit, "interactionsListing")
    return missing or await section(visit.client.send(_searched(visit, query, "person")))
