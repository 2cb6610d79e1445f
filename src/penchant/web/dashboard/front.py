"""Handler of a front page: several placements as a person sees them, in the order of the page, no piece twice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penchant.errors import PenchantError
from penchant.live.views import View
from penchant.model import Feature
from penchant.service.browsing import LabelledPiece
from penchant.service.lists.kinds import PlacementRequest
from penchant.service.placements.lists import PlacementAnswer
from penchant.web.dashboard.site import PageAnswer, Visit, faults_of, section
from penchant.wire import MAX_LISTS, decode_page, encode

SHOWN = 6
"""Pieces of a row: twenty rows make no heavy page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontRow:
    """A row of a front page: whose variant it shows, which kind of list it came to be, or why there is none."""

    placement: str
    variant: str = ""
    kind: str = ""
    pieces: Sequence[LabelledPiece] = ()
    faults: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontPage:
    """The rows of a page in their order, pictures that may be shown, by piece, and hosts of those that may not yet."""

    rows: Sequence[FrontRow]
    pictures: Mapping[str, str]
    closed_hosts: Sequence[str]


async def front(visit: Visit) -> PageAnswer:
    """Show the placements that the query names, or all there are, for the person in it or for nobody in particular."""
    view = await visit.view()
    visit.services.access.require(visit.access, Feature.PLACEMENTS)
    given = [name for each in visit.call.query.values("placement") if (name := each.strip())]
    chosen = given or sorted(view.placements)[:MAX_LISTS]
    user, content = visit.text("user").strip(), visit.text("content").strip()
    wish: dict[str, Any] = {
        "user": user or None,
        "lists": [{"placement": each, "content": content or None, "take": SHOWN} for each in chosen],
    }
    values = {
        "source": view.head.name,
        "chosen": {"user": user, "content": content, "placements": chosen},
        # One more than there are, to add a row.
        "fields": min(len(chosen) + 1, MAX_LISTS),
        "names": sorted(view.placements),
        "page": await section(visit, lambda: _page(visit, view, wish), counted=len(chosen)) if chosen else None,
    }
    return PageAnswer(template="front.html", values=values)


async def _page(visit: Visit, view: View, wish: Mapping[str, Any]) -> FrontPage:
    # Through the interface's own reader, so that a page accepts no more than it does.
    page = decode_page(encode(wish))
    requests = [
        PlacementRequest(placement=each.placement, user_id=page.user_id, content_id=each.content_id, take=each.take)
        for each in page.lists
    ]
    answers = await visit.services.placement_lists.page(view, requests)
    ids = [piece.id for _, each in answers if isinstance(each, PlacementAnswer) for piece in each.result.content]
    labels = await visit.services.browsing.labels(view, ids)
    rows = [_row(request.placement, answer, labels) for request, answer in answers]
    pictures, closed_hosts = await visit.pictures(view, ids), await visit.closed_hosts(view, ids)
    return FrontPage(rows=rows, pictures=pictures, closed_hosts=closed_hosts)


def _row(placement: str, answer: PlacementAnswer | PenchantError, labels: Mapping[str, str]) -> FrontRow:
    if isinstance(answer, PenchantError):
        return FrontRow(placement=placement, faults=faults_of(answer))
    result = answer.result
    pieces = [LabelledPiece(id=each.id, label=labels.get(each.id)) for each in result.content]
    return FrontRow(placement=placement, variant=result.variant, kind=result.kind.value, pieces=pieces)
