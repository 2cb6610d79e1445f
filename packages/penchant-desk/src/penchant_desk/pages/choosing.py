"""What is done with pieces that are chosen on a page together: a row made of them, or all hidden, and that undone."""

from collections.abc import Sequence
from dataclasses import dataclass

from penchant_client import ServiceError, operations
from penchant_client.records import Settings
from penchant_desk.drafts import (
    PIECES_TITLE,
    DraftTarget,
    chosen_draft,
    draft_choice,
    keep_in_draft,
    list_in_draft,
    own_draft,
)
from penchant_desk.pieces import piece_tiles
from penchant_desk.problems import PageProblem, invalid
from penchant_desk.rows.naming import name_of_row
from penchant_desk.rows.stored import list_rows
from penchant_desk.site import MAX_ID_LENGTH, DeskPage, PageVisit, Redirect, faults_of

MAX_CHOSEN = 100
"""Pieces that are chosen together: twice as many as a page shows."""
MAX_TITLE = 100
_REFUSALS = {"invalid-input", "too-many-entries", "too-many-placements", "draft-too-large"}
_BACK = {"health", "pieces"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceForm:
    """What the form below pieces that can be chosen offers; ``back`` is its page."""

    back: str
    choice: DraftTarget
    may_make_row: bool
    may_hide: bool


async def choice_form(visit: PageVisit, settings: Settings, back: str) -> ChoiceForm | None:
    """Return what may be done with pieces that are chosen on a page; ``None`` where nothing may."""
    may_make_row, may_hide = visit.may_edit("placements"), visit.may_edit("lists")
    if not may_make_row and not may_hide:
        return None
    choice = await draft_choice(visit, settings)
    return ChoiceForm(back=back, choice=choice, may_make_row=may_make_row, may_hide=may_hide)


async def change_chosen(visit: PageVisit) -> DeskPage | Redirect:
    """Make a row of the pieces that are chosen, as a draft, or hide or show them, live or in a draft.

    Raises:
        PageProblem: none is chosen, or too many are, or nothing is to be done with them.
    """
    form, settings = visit.form, await visit.client.send(operations.get_settings(visit.source))
    ids = list(dict.fromkeys(form.all("shown" if form.text("all") else "id")))
    do = form.text("do")
    if not ids:
        raise invalid("Found no piece that is chosen; tick some, or all that are shown, and press the button again.")
    if len(ids) > MAX_CHOSEN or any(not 0 < len(each) <= MAX_ID_LENGTH for each in ids):
        raise invalid(f"Found {len(ids)} pieces; up to {MAX_CHOSEN} are accepted together.")
    if do not in {"row", "hide", "show"}:
        raise invalid("Found nothing that can be done; open the page anew.")
    try:
        if do == "row":
            return await _make_row(visit, ids)
        return await _hide(visit, settings, ids, is_hidden=do == "hide")
    except ServiceError as error:
        if error.code not in _REFUSALS:
            raise
        raise PageProblem(422, error.code, "Not acceptable", "; ".join(faults_of(error))) from None


async def _make_row(visit: PageVisit, ids: Sequence[str]) -> Redirect:
    """Keep a row of some pieces, in their order, in a draft, and lead to it."""
    rows = {each["name"] for each in (await visit.client.send(list_rows(visit.source)))["placements"]}
    title = visit.form.text("title").strip()[:MAX_TITLE] or "Picked by hand"
    name = name_of_row(title, rows) or name_of_row("picks", rows)
    into = visit.form.text("into") or own_draft(visit, name)
    row = {"title": title, "kind": "picks", "content": ids}
    await keep_in_draft(visit, into, {"title": f"Row {title}", "placements": {name: row}})
    return Redirect(path=visit.link("placement", source=visit.source, name=name, draft=into, said="drafted"))


async def _hide(visit: PageVisit, settings: Settings, ids: Sequence[str], *, is_hidden: bool) -> DeskPage:
    """Put pieces on the blacklist, or take them off it, as one change; show which, and what undoes it."""
    into = chosen_draft(visit, settings)
    listed = await list_in_draft(visit, into, "blacklist")
    # Of those that were hidden before the undo brings none back.
    changed = [each for each in ids if (each in listed) != is_hidden]
    if changed and into:
        chosen = set(changed)
        wanted = [*listed, *changed] if is_hidden else [each for each in listed if each not in chosen]
        await keep_in_draft(visit, into, {"title": PIECES_TITLE, "blacklist": wanted})
    elif changed:
        edit = operations.add_blacklist_entries if is_hidden else operations.remove_blacklist_entries
        await visit.client.send(edit(visit.source, changed))
    back = visit.text("back") if visit.text("back") in _BACK else "pieces"
    values = {
        "source": visit.source,
        "back": back,
        "cards": list((await piece_tiles(visit, settings, changed)).values()),
        "is_hidden": is_hidden,
        "into": into,
    }
    return DeskPage(template="chosen.html", values=values)
