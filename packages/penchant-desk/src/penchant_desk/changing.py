"""What editors change at a piece, wherever its card stands: hide, boost, pin, and the undo of each, with a sentence.

A form says what to ``do``; the page that it stood on is led back to, and says what was done, with what undoes it.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from penchant_client import ServiceError, operations
from penchant_client.records import Settings
from penchant_client.requests import encode, request_of
from penchant_desk import HOME
from penchant_desk.drafts import (
    JSON,
    PIECES_TITLE,
    chosen_draft,
    keep_in_draft,
    list_in_draft,
    row_in_draft,
)
from penchant_desk.moments import interface_moment
from penchant_desk.pieces import piece_tiles
from penchant_desk.problems import invalid
from penchant_desk.site import PageVisit, Redirect

_LISTS = {
    "hide": ("blacklist", True),
    "show": ("blacklist", False),
    "boost": ("whitelist", True),
    "unboost": ("whitelist", False),
}
_SAID = {
    "hide": ("{} is hidden: no list shows it.", "show"),
    "show": ("{} is shown again.", "hide"),
    "boost": ("{} comes first wherever it is among the thirty best.", "unboost"),
    "unboost": ("{} stands where it belongs again.", "boost"),
    "pin": ("{} is pinned in {}.", "unpin"),
    "unpin": ("{} is no longer pinned in {}.", ""),
}
"""What was done in words, and what undoes it."""
_BACK = {"changes", "desk", "piece", "front", "user"}
"""Pages that have cards or changes of pieces, and that a form may lead back to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoNotice:
    """What was just done, in which draft if it is not live, and the form that undoes it: address and hidden fields."""

    text: str
    action: str
    undo: Mapping[str, str] = field(default_factory=dict)
    proposal: str = ""


async def change_piece(visit: PageVisit) -> Redirect:
    """Hide, show, boost or pin a piece, or undo that, and lead back to the page where that was asked for.

    Live at once, or in a draft where the form names one or the source asks for two pairs of eyes.

    Raises:
        PageProblem: nothing of this is asked for.
        ServiceError: the pin cannot be so, or there is no such piece; a hidden one that is gone can be shown again.
    """
    settings = await visit.client.send(operations.get_settings(visit.source))
    piece_id, do = visit.id(), visit.form.text("do")
    row, into = "", chosen_draft(visit, settings)
    if do in _LISTS:
        await _edit_list(visit, piece_id, do, into)
    elif do in {"pin", "unpin"}:
        row = visit.form.text("row")
        await _edit_pins(visit, row, piece_id, into, is_pinned=do == "pin")
    else:
        raise invalid("Found nothing that can be done; open the page anew.")
    back = visit.text("back") if visit.text("back") in _BACK else "piece"
    where = {"source": visit.source, "said": do, "of": piece_id, "row": row, "kept": into}
    return Redirect(path=visit.link(back, **_asked(visit, back, piece_id), **where))


async def _edit_list(visit: PageVisit, piece_id: str, do: str, into: str) -> None:
    kind, is_listed = _LISTS[do]
    if is_listed:
        await visit.client.send(operations.get_content(visit.source, piece_id))
    if not into:
        method = "PUT" if is_listed else "DELETE"
        path = "/{source}/" + kind + "/content/{contentID}"
        await visit.client.send(request_of(method, path, JSON, visit.source, piece_id))
        return
    ids = [each for each in await list_in_draft(visit, into, kind) if each != piece_id or is_listed]
    if is_listed and piece_id not in ids:
        ids.append(piece_id)
    await keep_in_draft(visit, into, {"title": PIECES_TITLE, kind: ids})


async def _edit_pins(visit: PageVisit, row: str, piece_id: str, into: str, *, is_pinned: bool) -> None:
    pins = [pin_in(visit, piece_id)] if is_pinned else []
    placement = with_pins(await row_in_draft(visit, into, row), piece_id, pins)
    if into:
        await keep_in_draft(visit, into, {"title": PIECES_TITLE, "placements": {row: placement}})
    else:
        body = encode(placement)
        await visit.client.send(request_of("PUT", "/{source}/placements/{name}", JSON, visit.source, row, body=body))


def with_pins(placement: Mapping[str, Any], piece_id: str, pins: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the members of a row with these pins in the place of those of a piece."""
    kept = [each for each in placement.get("pins") or () if each["id"] != piece_id]
    others = {key: value for key, value in placement.items() if key != "pins"}
    return others | ({"pins": [*kept, *pins]} if kept or pins else {})


def _asked(visit: PageVisit, back: str, piece_id: str) -> dict[str, Any]:
    """Return whose page it was: of a person or piece by its id, of a front page by its person."""
    if back == "front":
        return {"user": visit.text("at")}
    return {"id": visit.text("at") or piece_id} if back in {"piece", "user"} else {}


def pin_in(visit: PageVisit, piece_id: str) -> Mapping[str, Any]:
    """Return the pin that a form asks for, by the members of the interface.

    Raises:
        PageProblem: its place is no number, or nothing is known of its time zone.
    """
    place = visit.form.text("position").strip()
    if not place.isdecimal() or len(place) > 3:
        raise invalid("Found no place; 1 is the first.")
    moments = {name: visit.form.text(name).strip() for name in ("from", "until")}
    given = {name: interface_moment(text, visit.form_zone()) for name, text in moments.items() if text}
    return {"id": piece_id, "position": int(place), **given}


async def _row_title(visit: PageVisit, into: str, row: str) -> str:
    """Return what a row is called, in a draft or as it is live; its name where it has no title, or cannot be read."""
    with suppress(ServiceError):
        return (await row_in_draft(visit, into, row)).get("title") or row
    return row


async def done_notice(visit: PageVisit, settings: Settings) -> UndoNotice | None:
    """Return what a page says was done before it, by its address; ``None`` where nothing was."""
    said, piece_id, row = visit.text("said"), visit.text("of"), visit.text("row")
    if said not in _SAID or not piece_id:
        return None
    (text, undo), into = _SAID[said], visit.text("kept")
    title = (await piece_tiles(visit, settings, [piece_id]))[piece_id].title
    called = await _row_title(visit, into, row) if row else ""
    here = visit.request.path.rpartition(f"{HOME}/")[2]
    at = visit.text("user") if here == "front" else visit.text("id")
    return UndoNotice(
        text=("Not live, but in a proposal: {}" if into else "{}").format(text.format(title, called)),
        action=visit.link("piece", source=visit.source, id=piece_id, back=here if here in _BACK else None, at=at),
        undo={"do": undo} | ({"row": row} if row else {}) | ({"into": into} if into else {}) if undo else {},
        proposal=into,
    )
