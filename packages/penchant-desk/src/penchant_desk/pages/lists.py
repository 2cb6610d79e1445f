"""Pages of the whitelist and the blacklist: shown a part at a time, ordered, shortened and added to."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from penchant_client import ServiceError, flows, operations
from penchant_client.records import PieceTitle
from penchant_client.requests import encode, request_of
from penchant_desk.drafts import (
    JSON,
    PIECES_TITLE,
    chosen_draft,
    draft_choice,
    keep_in_draft,
    list_in_draft,
)
from penchant_desk.pieces import offered_titles, pieces_called
from penchant_desk.reasons import NEAR
from penchant_desk.requests import FormFields, mark_of
from penchant_desk.site import DeskPage, PageVisit, Redirect
from penchant_desk.versions import undo_fields

MAX_UNKNOWN = 20
"""Unknown titles that a page asks about."""
PART = 50
"""Ids of a list that are shown and ordered together."""
_SAID = {
    "saved": "The list is saved.",
    "returned": "The list is as it was before.",
    "drafted": "The list is kept in the proposal. Nothing of it is live.",
    "unchanged": "Nothing was changed.",
}
_UNDONE = {"saved", "returned"}
_STALE = "The list was changed by somebody else since this page was made. This is how it is now; nothing was saved."
_REFUSALS = {"invalid-input", "too-many-entries"}


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownLine:
    """What was typed for a piece and is neither a title nor an id, with pieces that are called alike."""

    text: str
    near: Sequence[PieceTitle]


async def lists(visit: PageVisit) -> DeskPage:
    """Show a part of a list."""
    return await _page(visit, said=visit.text("said"))


async def change_list(visit: PageVisit) -> DeskPage | Redirect:
    """Store a list, or keep it in a draft, as its form gives it, unless it was changed meanwhile."""
    kind = _kind(visit)
    ids = await list_in_draft(visit, visit.text("draft"), kind)
    # Of the whole list: two editors on two parts of it would otherwise undo each other.
    if visit.form.text("seen") != _mark(ids):
        return await _page(visit, fault=_STALE, status=409)
    start = _start(visit, ids)
    added, unknown = await _added(visit)
    if unknown:
        return await _page(visit, status=422, unknown=unknown)
    changed = rearranged(ids, start, visit.form, added)
    if changed is None:
        return await _page(visit, fault=_STALE, status=409)
    into = chosen_draft(visit, await visit.client.send(operations.get_settings(visit.source)))
    if changed != ids:
        try:
            await _store(visit, kind, changed, into)
        except ServiceError as error:
            if error.code not in _REFUSALS:
                raise
            fault = error.errors[0].detail if error.errors else error.detail
            return await _page(visit, fault=fault, status=422)
    notice = "unchanged" if changed == ids else "drafted" if into else "saved"
    return Redirect(
        path=visit.link("lists", source=visit.source, kind=kind, start=start or None, said=notice, draft=into)
    )


async def _store(visit: PageVisit, kind: str, ids: Sequence[str], into: str) -> None:
    if into:
        await keep_in_draft(visit, into, {"title": PIECES_TITLE, kind: ids})
    else:
        await visit.client.send(request_of("PUT", "/{source}/" + kind, JSON, visit.source, body=encode(ids)))


async def _added(visit: PageVisit) -> tuple[list[str], list[UnknownLine]]:
    """Return the pieces that a form adds, by title or id, and the lines that are neither.

    An id need not be in the source yet; as a title may be mistyped, such a one is chosen by its button.
    """
    added, unknown = visit.form.all("choose"), list[UnknownLine]()
    for line, called in (await pieces_called(visit, _typed(visit))).items():
        if called.id is not None or not called.is_possible:
            # What no id can be is refused by the interface.
            added.append(called.id or line)
        elif len(unknown) < MAX_UNKNOWN:
            unknown.append(UnknownLine(text=line, near=called.near[:NEAR]))
    return added, unknown


def _typed(visit: PageVisit) -> list[str]:
    """Return the lines of a form's fields, each once."""
    lines = [visit.form.text("one"), *visit.form.text("add").split("\n")]
    return list(dict.fromkeys(text for each in lines if (text := each.strip())))


def rearranged(ids: Sequence[str], start: int, form: FormFields, added: Sequence[str]) -> list[str] | None:
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


def _mark(ids: Sequence[str]) -> str:
    return mark_of(encode(ids))


def _kind(visit: PageVisit) -> str:
    return "blacklist" if visit.text("kind") == "blacklist" else "whitelist"


def _start(visit: PageVisit, ids: Sequence[str]) -> int:
    text = visit.text("start")
    start = int(text) // PART * PART if text.isdecimal() and len(text) < 6 else 0
    return start if start < len(ids) else 0


async def _page(
    visit: PageVisit,
    *,
    status: int = 200,
    said: str = "",
    fault: str = "",
    unknown: Sequence[UnknownLine] = (),
) -> DeskPage:
    """Show the part of a list that a request names, with labels, and the mark by which a later form is checked."""
    kind, draft = _kind(visit), visit.text("draft")
    source, settings, ids, titles = await asyncio.gather(
        visit.client.send(flows.get_source(visit.source)),
        visit.client.send(operations.get_settings(visit.source)),
        list_in_draft(visit, draft, kind),
        offered_titles(visit),
    )
    start = _start(visit, ids)
    part = ids[start : start + PART]
    stored, choice = await asyncio.gather(_stored(visit, part), draft_choice(visit, settings))
    asked = {each.text for each in unknown}
    values = {
        "source": source.source,
        "kind": kind,
        "part": [(each, stored.get(each), each in stored) for each in part],
        "start": start,
        "per_part": PART,
        "total": len(ids),
        "seen": _mark(ids),
        "fault": fault,
        "said": _SAID.get(said, ""),
        "undo": await undo_fields(visit, kind) if said in _UNDONE else {},
        "unknown": unknown,
        # What is left in the field once the unknown lines are asked about by themselves.
        "typed": "\n".join(each for each in _typed(visit) if each not in asked) if unknown else "",
        "draft": draft,
        "choice": choice,
        "titles": titles,
    }
    return DeskPage(template="lists.html", values=values, status=status)


async def _stored(visit: PageVisit, ids: Sequence[str]) -> dict[str, str | None]:
    """Return the labels of those of some pieces that the source has."""
    found = (await visit.client.send(operations.read_content(visit.source, ids))).content if ids else ()
    return {each.id: each.label for each in found}
