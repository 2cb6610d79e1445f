"""Handlers of the whitelist and the blacklist: shown a part at a time, ordered, shortened and added to."""

from collections.abc import Sequence

from penchant.errors import InvalidInput, PenchantError
from penchant.live.views import View
from penchant.model import Feature, ListKind
from penchant.web.dashboard.forms import Form
from penchant.web.dashboard.site import DashboardSite, PageAnswer, RedirectAnswer, Visit
from penchant.web.operations import body_tag
from penchant.wire import decode_list, encode

PART = 50
"""Ids of a list that are shown and ordered together."""
_SAID = {"saved": "The list is saved.", "unchanged": "Nothing was changed."}
_STALE = "The list was changed by somebody else since this page was made. This is how it is now; nothing was saved."


async def lists(visit: Visit) -> PageAnswer:
    """Show a part of a list."""
    view = await _view(visit)
    return await _shown(visit, view, notice=_SAID.get(visit.text("said")))


async def change_list(visit: Visit, site: DashboardSite) -> PageAnswer | RedirectAnswer:
    """Store a list as its form gives it, unless it was changed meanwhile."""
    view = await _view(visit)
    kind = _kind(visit)
    ids = visit.services.curation.listed(view, kind)
    # Of the whole list: two editors on two parts of it would otherwise undo each other.
    if visit.form.text("seen") != mark(ids):
        return await _shown(visit, view, fault=_STALE, status=409)
    start = _start(visit, ids)
    changed = rearranged(ids, start, visit.form, await _added(visit, view))
    if changed is None:
        return await _shown(visit, view, fault=_STALE, status=409)
    if changed != ids:
        try:
            # Through the interface's own reader, so that a page accepts no more than it does.
            replacement = decode_list(encode(changed))
        except PenchantError as error:
            return await _shown(visit, view, fault=_told(error), status=422)
        await visit.services.curation.replace_list(visit.access, visit.source, kind, replacement)
    notice = "unchanged" if changed == ids else "saved"
    path = site.link("lists", source=visit.source, kind=kind.value, start=start or None, said=notice)
    return RedirectAnswer(path=path)


async def _added(visit: Visit, view: View) -> list[str]:
    """Return the pieces that a form adds, a line each: by title, or by an id, which need not be in the source yet."""
    lines = dict.fromkeys(line.strip() for line in visit.form.text("add").split("\n"))
    return [await visit.services.browsing.piece_called(view, line) or line for line in lines if line]


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


def _start(visit: Visit, ids: Sequence[str]) -> int:
    text = visit.text("start")
    start = int(text) // PART * PART if text.isdecimal() and len(text) < 6 else 0
    return start if start < len(ids) else 0


def _told(error: PenchantError) -> str:
    return error.faults[0].detail if isinstance(error, InvalidInput) and error.faults else error.detail


async def _shown(
    visit: Visit, view: View, *, status: int = 200, notice: str | None = None, fault: str = ""
) -> PageAnswer:
    """Show the part of a list that a request names, with labels, and the mark by which a later form is checked."""
    kind = _kind(visit)
    ids = visit.services.curation.listed(view, kind)
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
    }
    return PageAnswer(template="lists.html", values=values, status=status)
