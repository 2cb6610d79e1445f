"""Drafts at the desk: a change of a page is kept in one, by itself or together with others under a title.

Where the source asks for two pairs of eyes every change of a page is, whatever the page: none is live at once.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penchant.live.views import View
from penchant.model import ListKind
from penchant.rows.errors import UnknownDraft
from penchant.service.rows import row_services
from penchant.storage.drafts import DraftRow
from penchant.web.dashboard.site import DashboardSite, RedirectAnswer, Visit
from penchant.wire.drafts.edits import DraftEdits
from penchant.wire.placements import PlacementSpec, placement_problem
from penchant.wire.rows.settings import RowSettings

PIECES = "pieces"
PIECES_TITLE = "Changes of pieces"
"""The subject of the draft of one's own that gathers changes of pieces: hidden, boosted, pinned; and its title."""
SETTINGS = "settings"
"""The subject of the draft of one's own of the settings."""
OPEN = ("draft", "proposed", "sent-back", "scheduled")
"""The states of drafts that wait."""
STATES: Mapping[str, str] = {
    "draft": "a draft",
    "proposed": "waits for another editor",
    "sent-back": "sent back",
    "scheduled": "scheduled",
    "published": "published",
    "undone": "undone",
}
STEPS: Mapping[str, str] = {
    "save": "wrote it",
    "propose": "asked others to look at it",
    "send-back": "sent it back",
    "accept": "accepted it",
    "publish": "published it",
    "schedule": "scheduled it",
    "unschedule": "took it off the schedule",
    "undo": "undid it",
    "fail": "could not publish it",
}
"""What was done to a draft, in words."""


def own_draft(visit: Visit, subject: str) -> str:
    """Return the name of the draft that one editor has of one thing."""
    text = f"{visit.access.key_id}\0{subject}".encode()
    return f"{subject[:24]}-{hashlib.blake2b(text, digest_size=5).hexdigest()}"


def name_of_title(title: str) -> str:
    """Return the name of the draft with a title: the title where drafts may be called so."""
    short = title.encode()[:48].decode(errors="ignore").strip()
    if short == title and placement_problem(title) is None:
        return title
    return f"{short or 'draft'}-{hashlib.blake2b(title.encode(), digest_size=2).hexdigest()}"


async def open_drafts(visit: Visit) -> Sequence[DraftRow]:
    """Return the drafts of a source that wait, those of which something was done last first."""
    return [each for each in await row_services(visit).drafts.list(visit.access, visit.source) if each.state in OPEN]


async def draft_called(visit: Visit, name: str) -> DraftRow | None:
    """Return a draft that waits; ``None`` where there is none of this name."""
    if not name or placement_problem(name) is not None:
        return None
    try:
        row = await row_services(visit).drafts.get(visit.access, visit.source, name)
    except UnknownDraft:
        return None
    return row if row.state in OPEN else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftChoice:
    """Where a page's form keeps a change: its own draft or another open one, by name and title; or live at once."""

    own: str
    open: Sequence[tuple[str, str]]
    chosen: str
    may_be_live: bool


async def draft_choice(visit: Visit, view: View) -> DraftChoice:
    """Return where a form about pieces can keep a change; a draft that the page is shown of is chosen."""
    own, shown = own_draft(visit, PIECES), visit.text("draft")
    return DraftChoice(
        own=own,
        open=[(each.name, each.title or each.name) for each in await open_drafts(visit) if each.name != own],
        chosen=shown or (own if view.settings.of(RowSettings).four_eyes else ""),
        may_be_live=not shown and not view.settings.of(RowSettings).four_eyes,
    )


def chosen_draft(visit: Visit, view: View) -> str:
    """Return the draft that a form's change of pieces goes into; "" where it is live at once."""
    given = visit.form.text("into") or visit.text("draft")
    return given or (own_draft(visit, PIECES) if view.settings.of(RowSettings).four_eyes else "")


async def keep_in_draft(visit: Visit, view: View, name: str, edits: DraftEdits) -> DraftRow:
    """Keep edits in a draft beside what it edits already, if it waits; raises as `Drafts.save`.

    A list that is as it is live is no edit.
    """
    row = await draft_called(visit, name)
    kept = DraftEdits(title=edits.title, lists={}) if row is None else row_services(visit).drafts.edits_of(row)
    live = {kind: tuple(visit.services.curation.listed(view, kind)) for kind in ListKind}
    lists = {kind: kept.listed(kind, live[kind]) or () for kind in kept.lists} | dict(edits.lists)
    merged = replace(
        kept,
        placements=kept.placements if edits.placements is None else {**(kept.placements or {}), **edits.placements},
        settings=edits.settings or kept.settings,
        lists={kind: ids for kind, ids in lists.items() if tuple(ids) != live[kind]},
    )
    return await row_services(visit).drafts.save(visit.access, view, name, merged)


async def propose_row(
    visit: Visit, view: View, name: str, spec: PlacementSpec | None, site: DashboardSite
) -> RedirectAnswer:
    """Keep a row, or for ``None`` that it is deleted, in the draft of one's own of it, and lead to that."""
    into = own_draft(visit, name)
    title = name if spec is None else str(spec.members.get("title") or name)
    await keep_in_draft(visit, view, into, DraftEdits(title=f"Row {title}"[:200], placements={name: spec}, lists={}))
    return RedirectAnswer(path=site.link("proposal", source=visit.source, name=into, said="saved"))


async def list_in_draft(visit: Visit, view: View, name: str, kind: ListKind) -> list[str]:
    """Return the ids of a list as a draft has it, or else as it is live."""
    row = await draft_called(visit, name)
    live = visit.services.curation.listed(view, kind)
    edited = None if row is None else row_services(visit).drafts.edits_of(row).listed(kind, live)
    return list(live if edited is None else edited)


async def row_in_draft(visit: Visit, view: View, name: str, placement: str) -> PlacementSpec:
    """Return a row as a draft has it, or else as it is in force; raises `UnknownPlacement`."""
    row = await draft_called(visit, name)
    edited = None if row is None else (row_services(visit).drafts.edits_of(row).placements or {}).get(placement)
    return edited or (await row_services(visit).placements.in_force(view, placement)).spec
