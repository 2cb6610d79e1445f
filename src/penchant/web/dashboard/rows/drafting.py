"""Drafts at the desk: a change of a page is kept in one, by itself or together with others under a title."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from penchant.errors import UnknownDraft
from penchant.live.views import View
from penchant.model import SourceSettings
from penchant.storage import DraftRow
from penchant.web.dashboard.site import Visit
from penchant.wire import DraftEdits, PlacementSpec, placement_problem

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
    return [each for each in await visit.services.drafts.list(visit.access, visit.source) if each.state in OPEN]


async def draft_called(visit: Visit, name: str) -> DraftRow | None:
    """Return a draft that waits; ``None`` where there is none of this name."""
    if not name or placement_problem(name) is not None:
        return None
    try:
        row = await visit.services.drafts.get(visit.access, visit.source, name)
    except UnknownDraft:
        return None
    return row if row.state in OPEN else None


async def keep_in_draft(
    visit: Visit,
    view: View,
    name: str,
    *,
    title: str,
    placements: Mapping[str, PlacementSpec | None] | None = None,
    settings: SourceSettings | None = None,
) -> DraftRow:
    """Keep edits in a draft beside what it edits already, if it waits; raises as `Drafts.save`."""
    row = await draft_called(visit, name)
    edits = DraftEdits(title=title, lists={}) if row is None else visit.services.drafts.edits_of(row)
    if placements is not None:
        edits = replace(edits, placements={**(edits.placements or {}), **placements})
    if settings is not None:
        edits = replace(edits, settings=settings)
    return await visit.services.drafts.save(visit.access, view, name, edits)
