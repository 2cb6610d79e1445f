"""The front page: several placements as a person sees them, in the order of the page, no piece twice."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penchant_client import flows, operations
from penchant_client.records import PageEntry, PageList, PageResult, Settings
from penchant_client.requests import Request
from penchant_desk.changing import done_notice
from penchant_desk.images import closed_hosts
from penchant_desk.people import suggested_people
from penchant_desk.pieces import PieceTile, offered_titles, picture_of, piece_tiles, pieces_called, tile_of
from penchant_desk.reasons import NEAR
from penchant_desk.rows.words import kind_words
from penchant_desk.site import DeskPage, PageVisit, faults_in, section

MAX_LISTS = 20
"""Rows of a page."""
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
    pieces: Sequence[PieceTile] = ()
    faults: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontPage:
    """The rows of a page in their order, and hosts of pictures that may not be shown yet."""

    rows: Sequence[FrontRow]
    closed_hosts: Sequence[str]


async def front(visit: PageVisit) -> DeskPage:
    """Show the placements that the query names, or all there are, for the person in it or for nobody in particular."""
    settings, listing = await visit.ask(operations.get_settings(visit.source), operations.list_placements(visit.source))
    titles = {each.name: each.placement.title or each.name for each in listing.placements}
    given = [name for each in visit.request.values("placement") if (name := each.strip())]
    chosen = given or [*titles][:MAX_LISTS]
    user, content = visit.text("user").strip(), visit.text("content").strip()
    likes = [text for each in visit.request.values("likes")[:MAX_LIKES] if (text := each.strip())]
    called = await pieces_called(visit, [*likes, *filter(None, [content])])
    liked = dict.fromkeys(found for each in likes if (found := called[each].id) is not None)
    beside = (called[content].id or content) if content else None
    take = max(LEAST_SHOWN, min(MOST_SHOWN, SHOWN_TOGETHER // max(1, len(chosen))))
    lists = [PageList(placement=each, content=beside, take=take) for each in chosen]
    # Somebody made up is nobody else.
    whom: dict[str, Any] = {"liked": [*liked]} if liked else {"user": user or None}
    cards, people, offered, done, page = await asyncio.gather(
        piece_tiles(visit, settings, liked),
        suggested_people(visit),
        offered_titles(visit),
        done_notice(visit, settings),
        section(_page(visit, settings, flows.page_lists(visit.source, lists, **whom), titles)) if lists else _no_page(),
    )
    likings = {each: cards[each].title for each in liked}
    values = {
        "source": visit.source,
        "done": done,
        "chosen": {"user": user, "content": content, "placements": chosen, "likes": likings},
        "likes_fields": min(max(LIKES, len(likings) + 1), MAX_LIKES),
        "unknown": [each for each in dict.fromkeys(likes) if called[each].id is None],
        # One more than there are, to add a row.
        "fields": min(len(chosen) + 1, MAX_LISTS),
        "names": [*titles],
        "people": people.value,
        "near": called[content].near[:NEAR] if content and called[content].id is None else (),
        "may_edit": visit.may_edit("lists") and take > LEAST_SHOWN,
        "titles": offered,
        "page": page,
    }
    return DeskPage(template="front.html", values=values)


async def _no_page() -> None:
    """There is no row to show."""


async def _page(
    visit: PageVisit, settings: Settings, request: Request[PageResult], titles: Mapping[str, str]
) -> FrontPage:
    made = (await visit.client.send(request)).lists
    shown = [piece.id for each in made for piece in each.content or ()]
    ids = list(dict.fromkeys([*shown, *filter(None, map(_seed_piece, made))]))
    stored = (await visit.client.send(operations.read_content(visit.source, ids))).content if ids else ()
    hosts = visit.entrance.image_hosts
    cards = {each: PieceTile(id=each) for each in ids} | {each.id: tile_of(each, settings, hosts) for each in stored}
    in_rows = set(shown)
    addresses = [picture_of(each, settings) or "" for each in stored if each.id in in_rows]
    return FrontPage(
        rows=[_row(each, titles.get(each.placement, each.placement), cards) for each in made],
        closed_hosts=closed_hosts(addresses, hosts),
    )


def _row(entry: PageEntry, title: str, cards: Mapping[str, PieceTile]) -> FrontRow:
    if entry.error:
        return FrontRow(
            placement=entry.placement, title=title, faults=faults_in(entry.error.errors, entry.error.detail)
        )
    piece_id = _seed_piece(entry)
    return FrontRow(
        placement=entry.placement,
        title=title,
        variant=entry.variant or "",
        kind=kind_words(entry.kind).name if entry.kind else "",
        seed=cards[piece_id].title if piece_id else (entry.seed.keyword or "" if entry.seed else ""),
        pieces=[cards[each.id] for each in entry.content or ()],
    )


def _seed_piece(entry: PageEntry) -> str:
    """Return the piece that a list is about, "" for none."""
    return entry.seed.content_id or "" if entry.seed else ""
