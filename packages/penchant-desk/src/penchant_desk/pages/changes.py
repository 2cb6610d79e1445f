"""Who changed what of a source: as lines of the desk, and on a page of all changes since a day."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from typing import Any, NamedTuple

from msgspec import UNSET

from penchant_client import operations
from penchant_client.records import AuditEntryAnswer
from penchant_desk.changes import PIECE_CHANGES, UNDONE, action_words, who
from penchant_desk.changing import done_notice
from penchant_desk.drafts import LISTS, SETTINGS, get_list, list_drafts
from penchant_desk.moments import in_utc
from penchant_desk.pages.versions import steering_words
from penchant_desk.pieces import MAX_READ, PieceTile, labels_of, piece_tiles
from penchant_desk.problems import invalid
from penchant_desk.rows.stored import list_versions, or_none, titles_of_rows
from penchant_desk.rows.versions import changes_by_version
from penchant_desk.site import DeskPage, PageVisit

PAGE = 100
"""Changes of a page."""
MAX_ROWS = 10
"""Rows whose versions a page reads, to say what was changed of them."""
ROW_STORED = frozenset({"placement.put", "placement.replace"})
LOGGED_AFTER = timedelta(seconds=1)
"""How much earlier than the entry of the log a version may be stored."""
STEERED = {f"{kind}.replace": kind for kind in (SETTINGS, *LISTS)}
"""What has a page of versions, by the change that makes one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeText:
    """A change in words around the name of what it was of, what it changed, and what takes it back, if it can.

    ``href`` is the page of what is there: of a piece, the versions of a row, settings or a list, or a draft.
    """

    who: str
    before: str
    after: str
    recorded_at: datetime
    count: int
    name: str
    href: str = ""
    changes: Sequence[str] = ()
    piece: PieceTile | None = None
    undo: str = ""


class RowVersion(NamedTuple):
    """When a version of a row was stored, by whom, and what it changed, in words."""

    at: datetime
    by: str
    changes: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedNames:
    """What changes are of as it is now: titles of rows, drafts and pieces, and which of these lists have."""

    rows: Mapping[str, str]
    drafts: Mapping[str, str]
    cards: Mapping[str, PieceTile]
    lists: Mapping[str, Collection[str]]
    labels: Mapping[str, str]
    versions: Mapping[str, Sequence[RowVersion]] = field(default_factory=dict)


async def changes(visit: PageVisit) -> DeskPage:
    """Show the changes of a source, those since a day where one is given."""
    source, before = visit.source, visit.text("before") or None
    settings, log = await visit.ask(
        operations.get_settings(source),
        operations.source_audit(source, limit=PAGE, before=before),
    )
    drafts = await list_drafts(visit)
    zone, day = visit.zone(settings.time_zone), visit.text("since")
    since = _beginning(day, zone)
    entries = [each for each in log.entries if since is None or each.recorded_at >= since]
    ids = [name_in(source, each) for each in entries if each.action in PIECE_CHANGES]
    rows, lists, cards, labels, versions = await asyncio.gather(
        titles_of_rows(visit),
        steered_lists(visit),
        piece_tiles(visit, settings, ids),
        named_in(visit, entries),
        _versions_of_rows(visit, entries),
    )
    titles = {each.name: each.title or each.name for each in drafts}
    names = ChangedNames(rows=rows, drafts=titles, cards=cards, lists=lists, labels=labels, versions=versions)
    values = {
        "source": source,
        "zone": zone,
        "done": await done_notice(visit, settings),
        "since": day,
        "changes": [change_text(visit, each, names) for each in entries],
        "next": log.next if len(entries) == len(log.entries) else None,
        "may_edit": visit.may_edit("lists"),
    }
    return DeskPage(template="changes.html", values=values)


def _beginning(day: str, zone: tzinfo) -> datetime | None:
    """Return when a day of a form begins; ``None`` where it says none."""
    try:
        return in_utc(datetime.fromisoformat(day), zone) if day else None
    except (ValueError, OverflowError):
        raise invalid("Found no day; one such as 2026-01-31 is accepted.") from None


async def steered_lists(visit: PageVisit) -> Mapping[str, Collection[str]]:
    """Return what is hidden and what is boosted, by list; nothing where the plan has no lists."""
    if not visit.may("lists"):
        return {}
    listed = await visit.ask(*(get_list(visit.source, kind) for kind in LISTS))
    return {kind: set(ids) for kind, ids in zip(LISTS, listed, strict=True)}


async def named_in(visit: PageVisit, entries: Sequence[AuditEntryAnswer]) -> Mapping[str, str]:
    """Return the labels of pieces that came to a list, or went."""
    steps = [step for each in entries for step in each.changes or ()]
    ids = [piece_id for step in steps for piece_id in (step.added, step.removed) if piece_id is not UNSET]
    return await labels_of(visit, list(dict.fromkeys(ids))[:MAX_READ])


async def _versions_of_rows(
    visit: PageVisit, entries: Sequence[AuditEntryAnswer]
) -> Mapping[str, Sequence[RowVersion]]:
    """Return the versions of rows that were changed and are there, by name."""
    names = dict.fromkeys(name_in(visit.source, each) for each in entries if each.action in ROW_STORED)
    read = [*names][:MAX_ROWS] if visit.may("placements") else []
    listings = await asyncio.gather(
        *(or_none(visit, list_versions(visit.source, each), "unknown-placement") for each in read)
    )
    found: dict[str, Sequence[RowVersion]] = {}
    for name, listing in zip(read, listings, strict=True):
        versions = listing["versions"] if listing else ()
        words = changes_by_version(versions)
        found[name] = [
            RowVersion(datetime.fromisoformat(each["timestamp"]), each["keyId"], words[each["version"]])
            for each in versions
        ]
    return found


def _row_changes(entry: AuditEntryAnswer, versions: Sequence[RowVersion]) -> Sequence[str]:
    """Return what an entry of the log changed of a row: what was stored then, by the same one."""
    first = entry.first_at - LOGGED_AFTER
    own = [each for each in versions if each.by == entry.actor and first <= each.at <= entry.recorded_at]
    return [words for each in reversed(own) for words in each.changes] if entry.action in ROW_STORED else ()


def name_in(source: str, entry: AuditEntryAnswer) -> str:
    """Return the name, within the source, of what was changed; "" for the source itself."""
    return entry.subject.removeprefix(source).removeprefix("/")


def change_text(visit: PageVisit, entry: AuditEntryAnswer, names: ChangedNames) -> ChangeText:
    """Return a change in words, with the titles of rows and drafts that are there."""
    name, source = name_in(visit.source, entry), visit.source
    before, _, after = action_words(entry.action, has_name=bool(name)).partition("{}")
    values: dict[str, Any] = {"name": name}
    kind, _, did = entry.action.partition(".")
    if kind == "placement" and name in names.rows:
        values = {"name": names.rows[name], "href": visit.link("row-versions", source=source, name=name)}
        values["changes"] = _row_changes(entry, names.versions.get(name, ()))
    elif kind == "draft" and name in names.drafts:
        values = {"name": names.drafts[name], "href": visit.link("proposal", source=source, name=name)}
    elif entry.action in STEERED:
        values["href"] = visit.link("versions", source=source, of=STEERED[entry.action])
        values["changes"] = steering_words(entry.changes or (), names.labels)
    elif entry.action in PIECE_CHANGES:
        # What was changed again since has nothing to take back.
        holds = kind in names.lists and (name in names.lists[kind]) == (did == "add")
        piece, href = names.cards[name], visit.link("piece", source=source, id=name)
        values = {"name": piece.title, "href": href, "piece": piece, "undo": UNDONE[entry.action] if holds else ""}
    return ChangeText(
        who=who(visit.session, entry.actor, entry.actor_name),
        before=before,
        after=after,
        recorded_at=entry.recorded_at,
        count=entry.count,
        **values,
    )
