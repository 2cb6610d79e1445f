"""Page of a draft: what would be near a piece before it is submitted."""

from typing import Any, cast

import msgspec

from penchant_client import flows, operations
from penchant_client.requests import request_of
from penchant_desk.reasons import PieceReasons, entries
from penchant_desk.site import DeskPage, PageVisit, Section, section

MAX_EXAMPLE = 20_000
"""Characters of a piece that a draft begins from."""
EXAMPLE = """{
  "label": "A draft",
  "categories": {
    "genre": ["drama"],
    "theme": [{"key": "friendship", "weight": 80}]
  }
}"""
_JSON = cast("type[Any]", Any)
"""What is shown as it comes."""


async def trying(visit: PageVisit) -> DeskPage:
    """Show a draft to change: a piece of the source, or an example."""
    if not visit.text("id"):
        return _page((await visit.client.send(flows.get_source(visit.source))).source, EXAMPLE, None)
    request = request_of("GET", "/{source}/content/{contentID}", _JSON, visit.source, visit.id())
    piece = msgspec.json.format(msgspec.json.encode(await visit.client.send(request)), indent=2)
    return _page(visit.source, piece.decode()[:MAX_EXAMPLE], None)


async def try_piece(visit: PageVisit) -> DeskPage:
    """Show what would be near a draft."""
    await visit.client.send(flows.get_source(visit.source))
    draft = visit.form.text("draft")
    return _page(visit.source, draft, await section(_neighbours(visit, draft)))


async def _neighbours(visit: PageVisit, draft: str) -> list[PieceReasons]:
    # As it is typed, so that what is wrong with it is said in the interface's words.
    body = draft.encode(errors="replace")
    options = {"explain": True}
    request = request_of("POST", "/{source}/preview/similar", _JSON, visit.source, options=options, body=body)
    answer = await visit.client.send(request)
    ids = [each["id"] for each in answer["content"]]
    pieces = (await visit.client.send(operations.read_content(visit.source, ids))).content if ids else []
    labels = {each.id: each.label for each in pieces if each.label is not None}
    return entries(answer, labels)


def _page(source: str, draft: str, tried: Section | None) -> DeskPage:
    return DeskPage(template="try.html", values={"source": source, "draft": draft, "tried": tried})
