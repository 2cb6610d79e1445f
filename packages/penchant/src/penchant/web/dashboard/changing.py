"""What editors change at a piece, wherever its card stands: hide, boost, pin, and the undo of each, with a sentence.

A form says what to ``do``; the page that it stood on is led back to, and says what was done, with what undoes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penchant.errors import invalid_parameter
from penchant.live.views import View
from penchant.model import Feature, ListKind
from penchant.service.placements.versions import with_pins
from penchant.service.rows import row_services
from penchant.web.dashboard.rows.drafting import (
    PIECES_TITLE,
    chosen_draft,
    keep_in_draft,
    list_in_draft,
    row_in_draft,
)
from penchant.web.dashboard.site import DashboardSite, PageAnswer, RedirectAnswer, Visit
from penchant.wire import decode_list, encode
from penchant.wire.drafts.edits import DraftEdits

_LISTS = {
    "hide": (ListKind.BLACKLIST, True),
    "show": (ListKind.BLACKLIST, False),
    "boost": (ListKind.WHITELIST, True),
    "unboost": (ListKind.WHITELIST, False),
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
_BACK = {"desk", "piece", "front", "user"}
"""Pages that have cards, and that a form may lead back to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneNotice:
    """What was just done, in which draft if it is not live, and the form that undoes it: address and hidden fields."""

    text: str
    action: str
    undo: Mapping[str, str] = field(default_factory=dict)
    proposal: str = ""


async def change_piece(visit: Visit, site: DashboardSite) -> PageAnswer | RedirectAnswer:
    """Hide, show, boost or pin a piece, or undo that, and lead back to the page where that was asked for.

    Live at once, or in a draft where the form names one or the source asks for two pairs of eyes.

    Raises:
        InvalidInput: nothing of this is asked for, or the pin cannot be so.
        UnknownPiece: there is no such piece; a hidden one that is gone can be shown again all the same.
    """
    view, piece_id, do = await visit.view(), visit.id(), visit.form.text("do")
    row, into = "", chosen_draft(visit, view)
    if do in _LISTS:
        await _edit_list(visit, view, piece_id, do, into)
    elif do in {"pin", "unpin"}:
        row = visit.form.text("row")
        await _edit_pins(visit, view, row, piece_id, into, is_pinned=do == "pin")
    else:
        raise invalid_parameter("do", "Found nothing that can be done; open the page anew.")
    back = visit.text("back") if visit.text("back") in _BACK else "piece"
    where = {"source": visit.source, "said": do, "of": piece_id, "row": row, "kept": into}
    return RedirectAnswer(path=site.link(back, **_asked(visit, back, piece_id), **where))


async def _edit_list(visit: Visit, view: View, piece_id: str, do: str, into: str) -> None:
    visit.services.access.require(visit.access, Feature.LISTS)
    kind, is_listed = _LISTS[do]
    if is_listed:
        await visit.services.content.piece(visit.access, visit.source, piece_id)
    if not into:
        await visit.services.curation.edit_list(visit.access, visit.source, kind, piece_id, is_listed=is_listed)
        return
    ids = [each for each in await list_in_draft(visit, view, into, kind) if each != piece_id or is_listed]
    if is_listed and piece_id not in ids:
        ids.append(piece_id)
    # By the interface's own reader: a draft's list is no longer than any.
    edits = DraftEdits(title=PIECES_TITLE, lists={kind: decode_list(encode(ids))})
    await keep_in_draft(visit, view, into, edits)


async def _edit_pins(visit: Visit, view: View, row: str, piece_id: str, into: str, *, is_pinned: bool) -> None:
    visit.services.access.require(visit.access, Feature.PLACEMENTS)
    pins = [pin_in(visit, piece_id)] if is_pinned else []
    spec = with_pins(await row_in_draft(visit, view, into, row), piece_id, pins)
    if into:
        edits = DraftEdits(title=PIECES_TITLE, placements={row: spec}, lists={})
        await keep_in_draft(visit, view, into, edits)
    else:
        await row_services(visit).placements.put(visit.access, visit.source, row, spec)


def _asked(visit: Visit, back: str, piece_id: str) -> dict[str, Any]:
    """Return whose page it was: of a person or piece by its id, of a front page by its person."""
    if back == "front":
        return {"user": visit.text("at")}
    return {"id": visit.text("at") or piece_id} if back in {"piece", "user"} else {}


def pin_in(visit: Visit, piece_id: str) -> Mapping[str, Any]:
    """Return the pin that a form asks for, by the members of the interface; moments are UTC.

    Raises:
        InvalidInput: its place is no number.
    """
    place = visit.form.text("position").strip()
    if not place.isdecimal() or len(place) > 3:
        raise invalid_parameter("position", "Found no place; 1 is the first.")
    moments = {name: visit.form.text(name).strip() for name in ("from", "until")}
    # A field of a moment gives minutes, and no zone.
    given = {name: f"{text}:00Z" if text.count(":") == 1 else f"{text}Z" for name, text in moments.items() if text}
    return {"id": piece_id, "position": int(place), **given}


async def done_notice(visit: Visit, view: View, site: DashboardSite) -> DoneNotice | None:
    """Return what a page says was done before it, by its address; ``None`` where nothing was."""
    said, piece_id, row = visit.text("said"), visit.text("of"), visit.text("row")
    if said not in _SAID or not piece_id:
        return None
    (text, undo), into = _SAID[said], visit.text("kept")
    card = (await visit.cards(view, [piece_id]))[piece_id]
    here = visit.call.operation.path.rpartition("/")[2]
    at = visit.text("user") if here == "front" else visit.text("id")
    return DoneNotice(
        text=("Not live, but in a proposal: {}" if into else "{}").format(text.format(card.title, row)),
        action=site.link("piece", source=view.head.name, id=piece_id, back=here if here in _BACK else None, at=at),
        undo={"do": undo} | ({"row": row} if row else {}) | ({"into": into} if into else {}) if undo else {},
        proposal=into,
    )
