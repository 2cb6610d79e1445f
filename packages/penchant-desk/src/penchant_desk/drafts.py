"""Drafts at the desk: a change of a page is kept in one, by itself or together with others under a title.

Where the source asks for two pairs of eyes every change of a page is, whatever the page: none is live at once. A draft
is read and written as the interface has it, so that members that no page knows stay as they are.
"""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from penchant_client import ServiceError, operations
from penchant_client.records import DraftSummary, Settings
from penchant_client.requests import Request, encode, request_of
from penchant_desk.site import ROWS, PageVisit

PIECES = "pieces"
PIECES_TITLE = "Changes of pieces"
"""The subject of the draft of one's own that gathers changes of pieces: hidden, boosted, pinned; and its title."""
SETTINGS = "settings"
SETTINGS_TITLE = "Settings"
"""The subject of the draft of one's own of the settings, and its title."""
OPEN = ("draft", "proposed", "sent-back", "scheduled")
"""The states of drafts that wait."""
LISTS = ("blacklist", "whitelist")
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
_EDITED = ("title", "note", "placements", "settings", *LISTS, "content")
"""What a draft says and edits; other members of an answer tell where it stands."""
JSON = cast("type[Any]", Any)
"""What is taken as it comes."""
DraftBody = Mapping[str, Any]


def own_draft(visit: PageVisit, subject: str) -> str:
    """Return the name of the draft that one editor has of one thing."""
    text = f"{visit.session.key_id}\0{subject}".encode()
    return f"{subject[:24]}-{hashlib.blake2b(text, digest_size=5).hexdigest()}"


async def open_drafts(visit: PageVisit) -> Sequence[DraftSummary]:
    """Return the drafts of a source that wait, those of which something was done last first."""
    return [each for each in await list_drafts(visit) if each.state in OPEN]


async def list_drafts(visit: PageVisit) -> Sequence[DraftSummary]:
    """Return the drafts of a source, none where the service has no drafts."""
    return (await visit.client.send(operations.list_drafts(visit.source))).drafts if visit.has(ROWS) else ()


async def draft_called(visit: PageVisit, name: str) -> DraftBody | None:
    """Return a draft that waits, as the interface has it; ``None`` where there is none of this name."""
    if not name or not visit.has(ROWS):
        return None
    try:
        draft = await visit.client.send(request_of("GET", "/{source}/drafts/{name}", JSON, visit.source, name))
    except ServiceError as error:
        if error.code != "unknown-draft":
            raise
        return None
    return draft if draft["state"] in OPEN else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftTarget:
    """Where a page's form keeps a change: its own draft or another open one, by name and title; or live at once.

    ``own`` is "" where the service has no drafts.
    """

    own: str
    open: Sequence[tuple[str, str]]
    chosen: str
    may_be_live: bool


async def draft_choice(visit: PageVisit, settings: Settings) -> DraftTarget:
    """Return where a form about pieces can keep a change; a draft that the page is shown of is chosen."""
    if not visit.has(ROWS):
        return DraftTarget(own="", open=(), chosen="", may_be_live=True)
    own, shown, is_reviewed = own_draft(visit, PIECES), visit.text("draft"), needs_review(visit, settings)
    return DraftTarget(
        own=own,
        open=[(each.name, each.title or each.name) for each in await open_drafts(visit) if each.name != own],
        chosen=shown or (own if is_reviewed else ""),
        may_be_live=not shown and not is_reviewed,
    )


def needs_review(visit: PageVisit, settings: Settings) -> bool:
    """Return whether the source asks for two pairs of eyes, and the service has drafts for it."""
    return settings.four_eyes is True and visit.has(ROWS)


def chosen_draft(visit: PageVisit, settings: Settings) -> str:
    """Return the draft that a form's change of pieces goes into; "" where it is live at once."""
    given = visit.form.text("into") or visit.text("draft")
    return given or (own_draft(visit, PIECES) if needs_review(visit, settings) else "")


def get_list(source: str, kind: str) -> Request[Any]:
    """Return the request for the ids of a list as it is live."""
    return operations.get_blacklist(source) if kind == "blacklist" else operations.get_whitelist(source)


async def list_in_draft(visit: PageVisit, name: str, kind: str) -> list[str]:
    """Return the ids of a list as a draft has it, or else as it is live."""
    # Both in any case: a plan without lists has none of a draft, either.
    (live,), draft = await asyncio.gather(visit.ask(get_list(visit.source, kind)), draft_called(visit, name))
    return list(live if draft is None or kind not in draft else draft[kind])


async def row_in_draft(visit: PageVisit, name: str, placement: str) -> Mapping[str, Any]:
    """Return the members of a row as a draft has it, or else as it is in force.

    Raises:
        ServiceError: there is none of this name.
    """
    row: Mapping[str, Any] | None = ((await draft_called(visit, name)) or {}).get("placements", {}).get(placement)
    if row is None:
        request = request_of("GET", "/{source}/placements/{name}", JSON, visit.source, placement)
        row = await visit.client.send(request)
    return cast("Mapping[str, Any]", row)


async def keep_in_draft(visit: PageVisit, name: str, edits: DraftBody) -> DraftBody:
    """Keep edits in a draft beside what it edits already, if it waits, and return it.

    The draft keeps its title where it has one. A list that is as it is live is no edit.

    Raises:
        ServiceError: it is refused.
    """
    found = await draft_called(visit, name)
    kept: dict[str, Any] = {key: found[key] for key in _EDITED if key in found} if found else {}
    merged: dict[str, Any] = {"title": edits.get("title")} | kept | {key: edits[key] for key in edits if key != "title"}
    if "placements" in edits:
        merged["placements"] = {**kept.get("placements", {}), **edits["placements"]}
    listed = [kind for kind in LISTS if kind in merged]
    for kind, live in zip(listed, await visit.ask(*(get_list(visit.source, each) for each in listed)), strict=True):
        if list(merged[kind]) == list(live):
            del merged[kind]
    body = encode({key: value for key, value in merged.items() if value is not None})
    return await visit.client.send(request_of("PUT", "/{source}/drafts/{name}", JSON, visit.source, name, body=body))
