"""Pages of the versions of settings, whitelist and blacklist: what changed, by whom, and the way back to each."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import UNSET

from penchant_client import ServiceError, operations
from penchant_client.records import SteeringChange
from penchant_client.requests import encode, request_of
from penchant_desk.changes import who
from penchant_desk.drafts import (
    JSON,
    PIECES,
    PIECES_TITLE,
    SETTINGS,
    SETTINGS_TITLE,
    get_list,
    keep_in_draft,
    needs_review,
    own_draft,
)
from penchant_desk.filters import path_words, short
from penchant_desk.pages.settings import DEFAULTS, SETTING_LABELS
from penchant_desk.pieces import MAX_READ, labels_of
from penchant_desk.problems import invalid
from penchant_desk.rows.words import difference_in_words, moved_value, short_value
from penchant_desk.sessions import VIEWER
from penchant_desk.site import DeskPage, PageVisit, Redirect, faults_of
from penchant_desk.versions import BEGINNING, SUBJECTS, versions_of

PART, MOST = 25, 100
"""Versions that a page shows, and that the service lists."""
TOLD = 5
"""Pieces that came or went, of each version, that a page names; of what a return changes four times as many."""
_STALE = "Somebody else changed this since the page was made. This is how it is now; nothing was changed by you."


async def versions(visit: PageVisit) -> DeskPage:
    """Show the versions of settings or a list, and what a return to one of them would change."""
    return await _page(visit, _subject(visit))


async def return_to(visit: PageVisit) -> DeskPage | Redirect:
    """Put a version in force again, as a new one, unless there is a newer one than was seen; or keep it in a draft."""
    subject, version = _subject(visit), _number(visit.form.text("version"))
    found, settings = await asyncio.gather(
        versions_of(visit, subject), visit.client.send(operations.get_settings(visit.source))
    )
    if version is None:
        raise invalid("Found no version; open the page anew.")
    if visit.form.text("seen") != (str(found[0].version) if found else ""):
        return await _page(visit, subject, faults=[_STALE], status=409)
    body = await _state(visit, subject, version)
    try:
        if needs_review(visit, settings):
            thing, title = (SETTINGS, SETTINGS_TITLE) if subject == SETTINGS else (PIECES, PIECES_TITLE)
            into = own_draft(visit, thing)
            await keep_in_draft(visit, into, {"title": title, subject: body})
            return Redirect(path=visit.link("proposal", source=visit.source, name=into, said="saved"))
        await visit.client.send(request_of("PUT", "/{source}/" + subject, JSON, visit.source, body=encode(body)))
    except ServiceError as error:
        if error.code != "invalid-input":
            raise
        return await _page(visit, subject, faults=faults_of(error), status=422)
    kind = {} if subject == SETTINGS else {"kind": subject}
    page = "settings" if subject == SETTINGS else "lists"
    return Redirect(path=visit.link(page, source=visit.source, said="returned", **kind))


def steering_words(changes: Sequence[SteeringChange], titles: Mapping[str, str], told: int = TOLD) -> list[str]:
    """Return what a version changed, in words, with the titles of pieces that have one."""
    words = [_setting_words(each) for each in changes if each.pointer is not UNSET]
    for way in ("added", "removed"):
        ids = [each for change in changes if (each := getattr(change, way)) is not UNSET]
        if ids:
            more = f" and {len(ids) - told} more" if len(ids) > told else ""
            words.append(f"{', '.join(short(titles.get(each, each), 60) for each in ids[:told])}{more} {way}")
    words += ["another order" for each in changes if each.reordered is True]
    return words + [f"{each.more} more changes" for each in changes if each.more is not UNSET]


def _setting_words(change: SteeringChange) -> str:
    name, *within = path_words(str(change.pointer))
    label = ", ".join([SETTING_LABELS.get(name, name), *within])
    if change.after is UNSET:
        return f"{label} changed"
    values = (
        None if each is None else short_value(name, each) or json.dumps(each, ensure_ascii=False)
        for each in (change.before, change.after)
    )
    return moved_value(label, *values)


def _subject(visit: PageVisit) -> str:
    return visit.text("of") if visit.text("of") in SUBJECTS else SETTINGS


async def _state(visit: PageVisit, subject: str, version: int) -> Any:
    """Return what settings or a list were at a version.

    Raises:
        ServiceError: it is not kept.
    """
    if version == BEGINNING:
        return {} if subject == SETTINGS else []
    (found,) = await versions_of(visit, subject, version)
    return found.settings if subject == SETTINGS else found.content


async def _page(visit: PageVisit, subject: str, *, faults: Sequence[str] = (), status: int = 200) -> DeskPage:
    """Show a part of the versions, and what a return to the one that the address names would change."""
    found, version = await versions_of(visit, subject), _number(visit.text("version"))
    start = _number(visit.text("start")) or 0
    part = found[start : start + PART]
    ids = [
        each for one in part for change in one.changes for each in (change.added, change.removed) if each is not UNSET
    ]
    titles, returned = await asyncio.gather(
        labels_of(visit, ids), _nothing() if version is None else _return_words(visit, subject, version)
    )
    values = {
        "source": visit.source,
        "of": subject,
        "name": SUBJECTS[subject],
        "entries": [(each, steering_words(each.changes, titles)) for each in part],
        "start": start,
        "per_part": PART,
        "total": len(found),
        "is_whole": len(found) < MOST,
        "most": MOST,
        "beginning": BEGINNING,
        "chosen": version,
        "chosen_at": next((each.timestamp for each in found if each.version == version), None),
        "returned": returned,
        "seen": found[0].version if found else "",
        "who": partial(who, visit.session),
        "faults": faults,
        "may_edit": visit.session.role != VIEWER,
    }
    return DeskPage(template="versions.html", values=values, status=status)


async def _nothing() -> Sequence[str]:
    return ()


async def _return_words(visit: PageVisit, subject: str, version: int) -> Sequence[str]:
    """Return what would be another than it is now, in words."""
    then = await _state(visit, subject, version)
    if subject == SETTINGS:
        live = await visit.client.send(request_of("GET", "/{source}/settings", JSON, visit.source))
        return difference_in_words(live, then or DEFAULTS, SETTING_LABELS)
    (live,) = await visit.ask(get_list(visit.source, subject))
    now, later = set(live), set(then)
    changes = [SteeringChange(added=each) for each in then if each not in now]
    changes += [SteeringChange(removed=each) for each in live if each not in later]
    if [each for each in live if each in later] != [each for each in then if each in now]:
        changes.append(SteeringChange(reordered=True))
    named = [each for change in changes for each in (change.added, change.removed) if each is not UNSET]
    return steering_words(changes, await labels_of(visit, named[:MAX_READ]), told=4 * TOLD)


def _number(text: str) -> int | None:
    """Return a number of the address; ``None`` where there is none."""
    return int(text) if text.isdecimal() and len(text) < 20 else None
