"""Handlers of trying a piece before it is submitted: a draft, and what would be near it. Nothing is stored."""

import msgspec

from penchant.live.views import View
from penchant.service.lists.requests import SimilarRequest
from penchant.web.dashboard.reasons import ListEntry, entries, ids_of
from penchant.web.dashboard.sections import PageSection, section
from penchant.web.dashboard.site import PageAnswer, Visit
from penchant.wire import decode_draft

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
    return _page(view, draft, await section(visit, lambda: _neighbours(visit, view, draft), counted=1))


async def _neighbours(visit: Visit, view: View, draft: str) -> list[ListEntry]:
    draft_id, piece = await visit.services.database.in_thread(decode_draft, draft.encode(errors="replace"))
    query = SimilarRequest(piece_id=draft_id or "")
    lists = visit.services.lists
    result = await lists.answer(await lists.similar(view, query, piece), explain=True)
    labels = await visit.services.browsing.labels(view, ids_of(result))
    return entries(result, labels)


def _page(view: View, draft: str, tried: PageSection[list[ListEntry]] | None) -> PageAnswer:
    return PageAnswer(template="try.html", values={"source": view.head.name, "draft": draft, "tried": tried})
