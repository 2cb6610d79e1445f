"""What was just changed at a piece, as the pages say it that the form led back to, with what undoes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from penchant.live.views import View
from penchant.web.dashboard.site import DashboardSite, Visit

_SAID = {
    "hide": ("{} is hidden: no list shows it.", "show"),
    "show": ("{} is shown again.", "hide"),
    "boost": ("{} comes first wherever it is among the thirty best.", "unboost"),
    "unboost": ("{} stands where it belongs again.", "boost"),
    "pin": ("{} is pinned in {}.", "unpin"),
    "unpin": ("{} is no longer pinned in {}.", ""),
}
"""What was done in words, and what undoes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneNotice:
    """What was just done, in which draft if it is not live, and the form that undoes it: address and hidden fields."""

    text: str
    action: str
    undo: Mapping[str, str] = field(default_factory=dict)
    proposal: str = ""


async def done_notice(visit: Visit, view: View, site: DashboardSite) -> DoneNotice | None:
    """Return what a page says was done before it, by its address; ``None`` where nothing was."""
    said, piece_id, row = visit.text("said"), visit.text("of"), visit.text("row")
    if said not in _SAID or not piece_id:
        return None
    (text, undo), into = _SAID[said], visit.text("kept")
    card = (await visit.cards(view, [piece_id]))[piece_id]
    return DoneNotice(
        text=("Not live, but in a proposal: {}" if into else "{}").format(text.format(card.title, row)),
        action=site.link("piece", source=view.head.name, id=piece_id, back="desk", at=visit.text("id")),
        undo={"do": undo} | ({"row": row} if row else {}) | ({"into": into} if into else {}) if undo else {},
        proposal=into,
    )
