"""Handlers of the whitelist and the blacklist: shown a part at a time, ordered, shortened and added to."""

from collections.abc import Sequence
from dataclasses import dataclass

from penchant.errors import InvalidInput, PenchantError
from penchant.live.views import View
from penchant.model import Feature, ListKind
from penchant.service.browsing import LabelledPiece
from penchant.web.dashboard.forms import Form
from penchant.web.dashboard.reasons import NEAR
from penchant.web.dashboard.rows.drafting import (
    PIECES_TITLE,
    chosen_draft,
    draft_choice,
    keep_in_draft,
    list_in_draft,
)
from penchant.web.dashboard.site import DashboardSite, PageAnswer, RedirectAnswer, Visit
from penchant.web.operations import body_tag
from penchant.wire import decode_list, encode, id_problem
from penchant.wire.drafts.edits import DraftEdits

MAX_UNKNOWN = 20
"""Unknown titles that a page asks about."""
PART = 50
"""Ids of a list that are shown and ordered together."""
_SAID = {
    "saved": "The list is saved.",
    "drafted": "The list is kept in the proposal. Nothing of it is live.",
    "unchanged": "Nothing was changed.",
}
_STALE = "The list was changed by somebody else since this page was made. This is how it is now; nothing was saved."


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownTitle:
    """What was typed for a piece and is neither a title nor an id, with pieces that are called alike."""

    text: str
    near: Sequence[LabelledPiece]


async def lists(visit: Visit) -> PageAnswer:
    """Show a part of a list."""
    view = await _view(visit)
    return await _shown(visit, view, notice=_SAID.get(visit.text("said")))


async def change_list(visit: Visit, site: DashboardSite) -> PageAnswer | RedirectAnswer:
    """Store a list, or keep it in a draft, as its form gives it, unless it was changed meanwhile."""
    view = await _view(visit)
    kind = _kind(visit)
    ids = await list_in_draft(visit, view, visit.text("draft"), kind)
    # Of the whole list: two editors on two parts of it would otherwise undo each other.
    if visit.form.text("seen") != mark(ids):
        return await _shown(visit, view, fault=_STALE, status=409)
    start = _start(visit, ids)
    added, unknown = await _added(visit, view)
    if unknown:
        return await _shown(visit, view, status=422, unknown=unknown)
    changed = rearranged(ids, start, visit.form, added)
    if changed is None:
        return await _shown(visit, view, fault=_STALE, status=409)
    into = chosen_draft(visit, view)
    if changed != ids:
        try:
            # Through the interface's own reader, so that a page accepts no more than it does.
            replacement = decode_list(encode(changed))
        except PenchantError as error:
            return await _shown(visit, view, fault=_told(error), status=422)
        if into:
            await keep_in_draft(visit, view, into, DraftEdits(title=PIECES_TITLE, lists={kind: replacement}))
        else:
            await visit.services.curation.replace_list(visit.access, visit.source, kind, replacement)
    notice = "unchanged" if changed == ids else "drafted" if into else "saved"
    path = site.link("lists", source=visit.source, kind=kind.value, start=start or None, said=notice, draft=into)
    return RedirectAnswer(path=path)


async def _added(visit: Visit, view: View) -> tuple[list[str], list[UnknownTitle]]:
    """Return the pieces that a form adds, by title or id, and the lines that are neither.

    An id need not be in the source yet; as a title may be mistyped, such a one is chosen by its button.
    """
    form, browsing = visit.form, visit.services.browsing
    typed = [form.text("one"), *form.text("add").split("\n")]
    added, unknown = form.all("choose"), list[UnknownTitle]()
    for line in dict.fromkeys(text for each in typed if (text := each.strip())):
        found = await browsing.piece_called(view, line)
        if found is not None or id_problem(line):
            # What no id can be is refused by the reader of lists.
            added.append(found or line)
        elif len(unknown) < MAX_UNKNOWN:
            unknown.append(UnknownTitle(text=line, near=(await browsing.called_like(view, line))[:NEAR]))
    return added, unknown


def rearranged(ids: Sequence[str], start: int, form: Form, added: Sequence[str]) -> list[str] | None:
    """Return a list whose part from ``start`` on is as a form has it, one step done; ``None`` if it is another part.

    A step is ``up``, ``down``, ``first`` or ``remove`` with a place in the form's order. What is added goes to the end.
    """
    shown = list(ids[start : start + PART])
    order = form.all("id")
    # The form may order its part, and nothing else: ids that were slipped in or left out are refused.
    if sorted(order) != sorted(shown):
        return None
    before, after = list(ids[:start]), list(ids[start + len(shown) :])
    everything = before + order + after
    for step in ("up", "down", "first", "remove"):
        text = form.text(step)
        if not (text.isdecimal() and len(text) < 6 and int(text) < len(order)):
            continue
        place = start + int(text)
        moved = everything.pop(place)
        if step != "remove":
            target = {"up": max(0, place - 1), "down": place + 1, "first": 0}[step]
            everything.insert(target, moved)
    known = set(everything)
    return everything + [each for each in dict.fromkeys(added) if each not in known]


def mark(ids: Sequence[str]) -> str:
    """Return a hash that differs between two states of a list."""
    return body_tag(encode(ids))


async def _view(visit: Visit) -> View:
    view = await visit.view()
    visit.services.access.require(visit.access, Feature.LISTS)
    return view


def _kind(visit: Visit) -> ListKind:
    return ListKind.BLACKLIST if visit.text("kind") == ListKind.BLACKLIST.value else ListKind.WHITELIST


def _known_lines(visit: Visit, unknown: Sequence[UnknownTitle]) -> str:
    """Return what is left in the field once the unknown lines are asked about by themselves."""
    asked = {each.text for each in unknown}
    typed = [visit.form.text("one"), *visit.form.text("add").split("\n")] if unknown else []
    return "\n".join(text for each in typed if (text := each.strip()) and text not in asked)


def _start(visit: Visit, ids: Sequence[str]) -> int:
    text = visit.text("start")
    start = int(text) // PART * PART if text.isdecimal() and len(text) < 6 else 0
    return start if start < len(ids) else 0


def _told(error: PenchantError) -> str:
    return error.faults[0].detail if isinstance(error, InvalidInput) and error.faults else error.detail


async def _shown(
    visit: Visit,
    view: View,
    *,
    status: int = 200,
    notice: str | None = None,
    fault: str = "",
    unknown: Sequence[UnknownTitle] = (),
) -> PageAnswer:
    """Show the part of a list that a request names, with labels, and the mark by which a later form is checked."""
    kind = _kind(visit)
    ids = await list_in_draft(visit, view, visit.text("draft"), kind)
    start = _start(visit, ids)
    part = ids[start : start + PART]
    labels = await visit.services.browsing.labels(view, part)
    values = {
        "source": view.head.name,
        "kind": kind.value,
        "part": [(each, labels.get(each), each in view.snapshot) for each in part],
        "start": start,
        "per_part": PART,
        "total": len(ids),
        "seen": mark(ids),
        "fault": fault,
        "notice": notice,
        "unknown": unknown,
        "typed": _known_lines(visit, unknown),
        "draft": visit.text("draft"),
        "choice": await draft_choice(visit, view),
        "titles": await visit.titles(view),
    }
    return PageAnswer(template="lists.html", values=values, status=status)
