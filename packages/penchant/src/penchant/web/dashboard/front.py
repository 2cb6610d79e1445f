"""Handler of a front page: several placements as a person sees them, in the order of the page, no piece twice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penchant.errors import PenchantError
from penchant.live.views import View
from penchant.model import Feature
from penchant.service.browsing import PieceCard
from penchant.service.desk import title_of
from penchant.service.placements.kinds import PlacementRequest
from penchant.service.placements.lists import PlacementAnswer
from penchant.service.placements.versions import placements_of
from penchant.service.rows import row_services
from penchant.web.dashboard.changing import done_notice
from penchant.web.dashboard.reasons import NEAR
from penchant.web.dashboard.rows.words import KIND_WORDS
from penchant.web.dashboard.site import DashboardSite, PageAnswer, Visit, faults_of, section
from penchant.wire import StatedLikings, encode
from penchant.wire.placement_answers import PlacementResult
from penchant.wire.placements import MAX_LISTS, decode_page

MOST_SHOWN, LEAST_SHOWN = 12, 4
"""Pieces of a row."""
LIKES, MAX_LIKES = 3, 10
"""Fields for what somebody made up likes, and how many of them there may be."""
SHOWN_TOGETHER = 48
"""Pieces of all rows together, where there are not too many of these: no page is heavy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontRow:
    """A row of a front page: its title, whose variant it shows, which kind of list it came to be, or why there is none.

    ``seed`` is the piece or keyword that the row goes by, where it has one.
    """

    placement: str
    title: str
    variant: str = ""
    kind: str = ""
    seed: str = ""
    pieces: Sequence[PieceCard] = ()
    faults: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontPage:
    """The rows of a page in their order, and hosts of pictures that may not be shown yet."""

    rows: Sequence[FrontRow]
    closed_hosts: Sequence[str]


async def front(visit: Visit, site: DashboardSite) -> PageAnswer:
    """Show the placements that the query names, or all there are, for the person in it or for nobody in particular."""
    view = await visit.view()
    visit.services.access.require(visit.access, Feature.PLACEMENTS)
    given = [name for each in visit.call.query.values("placement") if (name := each.strip())]
    chosen = given or sorted(placements_of(view))[:MAX_LISTS]
    user, content = visit.text("user").strip(), visit.text("content").strip()
    found = await visit.services.browsing.piece_called(view, content) if content else None
    beside = found or content
    take = max(LEAST_SHOWN, min(MOST_SHOWN, SHOWN_TOGETHER // max(1, len(chosen))))
    wish: dict[str, Any] = {
        "user": user or None,
        "lists": [{"placement": each, "content": beside or None, "take": take} for each in chosen],
    }
    likings, unknown = await _likings(visit, view)
    people = await section(visit, lambda: visit.services.search.people_to_try(view), Feature.INTERACTIONS_LISTING)
    values = {
        "source": view.head.name,
        "done": await done_notice(visit, view, site),
        "chosen": {"user": user, "content": content, "placements": chosen, "likes": likings},
        "likes_fields": min(max(LIKES, len(likings) + 1), MAX_LIKES),
        "unknown": unknown,
        # One more than there are, to add a row.
        "fields": min(len(chosen) + 1, MAX_LISTS),
        "names": sorted(placements_of(view)),
        "people": people.value,
        "near": [] if found or not content else (await visit.services.browsing.called_like(view, content))[:NEAR],
        "may_edit": visit.may_edit(Feature.LISTS) and take > LEAST_SHOWN,
        "titles": await visit.titles(view),
        "page": await section(visit, lambda: _page(visit, view, wish, [*likings]), counted=len(chosen))
        if chosen
        else None,
    }
    return PageAnswer(template="front.html", values=values)


async def _likings(visit: Visit, view: View) -> tuple[dict[str, str], list[str]]:
    """Return the pieces that somebody made up likes, each with its title, and the titles that are none."""
    known, unknown = list[str](), list[str]()
    for text in dict.fromkeys(each.strip() for each in visit.call.query.values("likes")[:MAX_LIKES]):
        found = await visit.services.browsing.piece_called(view, text) if text else None
        if found is not None:
            known.append(found)
        elif text:
            unknown.append(text)
    cards = await visit.cards(view, known)
    return {each: cards[each].title for each in known}, unknown


async def _page(visit: Visit, view: View, wish: Mapping[str, Any], liked: Sequence[str]) -> FrontPage:
    # Through the interface's own reader, so that a page accepts no more than it does.
    page = decode_page(encode(wish))
    requests = [
        PlacementRequest(placement=each.placement, user_id=page.user_id, content_id=each.content_id, take=each.take)
        for each in page.lists
    ]
    likings = StatedLikings(liked=tuple(liked)) if liked else None
    answers = await row_services(visit).lists.page(view, requests, likings)
    listing = await row_services(visit).placements.listing(view)
    titles = {each.name: title_of(each) for each in listing.placements}
    made = [each.result for _, each in answers if isinstance(each, PlacementAnswer)]
    ids = [piece.id for each in made for piece in each.content]
    cards = await visit.cards(view, [*ids, *filter(None, map(_seed_piece, made))])
    rows = [
        _row(titles.get(request.placement, request.placement), request.placement, each, cards)
        for request, each in answers
    ]
    return FrontPage(rows=rows, closed_hosts=await visit.closed_hosts(view, ids))


def _row(
    title: str, placement: str, answer: PlacementAnswer | PenchantError, cards: Mapping[str, PieceCard]
) -> FrontRow:
    if isinstance(answer, PenchantError):
        return FrontRow(placement=placement, title=title, faults=faults_of(answer))
    result = answer.result
    piece_id = _seed_piece(result)
    return FrontRow(
        placement=placement,
        title=title,
        variant=result.variant,
        kind=KIND_WORDS[result.kind].name,
        seed=cards[piece_id].title if piece_id else _seed_keyword(result),
        pieces=[cards[each.id] for each in result.content],
    )


def _seed_piece(result: PlacementResult) -> str:
    """Return the piece that a list is about, "" for none."""
    return result.seed.content_id or "" if result.seed else ""


def _seed_keyword(result: PlacementResult) -> str:
    return result.seed.keyword or "" if result.seed else ""
