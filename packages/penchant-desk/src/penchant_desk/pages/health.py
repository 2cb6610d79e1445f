"""The page about a source's health: findings so far, and a click that makes variants one keyword."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from penchant_client import ServiceError, operations
from penchant_client.records import CatalogueFindings, Settings
from penchant_client.requests import encode, request_of
from penchant_desk.drafts import (
    JSON,
    SETTINGS,
    SETTINGS_TITLE,
    draft_called,
    keep_in_draft,
    needs_review,
    own_draft,
)
from penchant_desk.filters import count_text
from penchant_desk.likes import LIKE_NOUNS
from penchant_desk.pages.choosing import choice_form
from penchant_desk.pieces import piece_tiles
from penchant_desk.problems import PageProblem
from penchant_desk.site import DeskPage, PageVisit, faults_of
from penchant_desk.vocabulary import EditedVocabulary, JoinedKeyword

FEW_LIKES = 200
"""Likes from which on figures can be relied on."""
MAX_ALIASES = 50
"""Keywords for which others count, and of each those that do, that the page shows and takes back."""
_PROPOSED = "It is kept in your proposal “Settings”, and counts once another editor publishes that."
_STALE = "The vocabulary was changed since this page was made. Nothing was changed; look at it as it is now."
_UNREADABLE = "The form cannot be read; send it from the page once more."
_SETTINGS = "/{source}/settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordGroup:
    """Keywords that count as another: some of them, how many, and what takes that back, if so many can be shown."""

    target: str
    names: Sequence[str]
    count: int
    undo: str = ""


async def health(visit: PageVisit) -> DeskPage:
    """Show what was found out by now about the source as it stands."""
    return await _page(visit)


async def change_vocabulary(visit: PageVisit) -> DeskPage:
    """Have a group of keywords count as one, or take such a change back; show the source as it is then."""
    live = await visit.client.send(request_of("GET", _SETTINGS, JSON, visit.source))
    is_reviewed = needs_review(visit, msgspec.convert(live, Settings))
    # Where nobody publishes alone: over what one's own draft changes already.
    drafted = await draft_called(visit, own_draft(visit, SETTINGS)) if is_reviewed else None
    current = (drafted or {}).get("settings") or live
    before, is_seen = EditedVocabulary.of(current), visit.form.text("seen") == EditedVocabulary.of(live).digest
    is_undo = visit.form.text("do") == "undo"
    try:
        wanted = _taken_back(visit, before) if is_undo else _joined(visit, before) if is_seen else None
        if wanted is None:
            return await _page(visit, faults=[_STALE], status=409)
        settings = {**current, "vocabulary": wanted.member}
        if is_reviewed:
            edits = {"title": SETTINGS_TITLE, "settings": settings}
            await keep_in_draft(visit, own_draft(visit, SETTINGS), edits)
            return await _page(visit, notice=_PROPOSED)
        await visit.client.send(request_of("PUT", _SETTINGS, JSON, visit.source, body=encode(settings)))
    except (ServiceError, PageProblem) as error:
        if error.code not in {"invalid-input", "invalid-syntax"}:
            raise
        faults = faults_of(error) if isinstance(error, ServiceError) else (error.detail,)
        return await _page(visit, faults=faults, status=422)
    changes = wanted.changes_since(before)
    if is_undo or not changes:
        return await _page(visit, notice="They count as they did before.")
    return await _page(visit, joined=_group(changes[-1].now, changes))


def _joined(visit: PageVisit, before: EditedVocabulary) -> EditedVocabulary:
    """Return the vocabulary with a form's keywords as one."""
    return before.joined(visit.form.all("from"), visit.form.text("to"))


def _taken_back(visit: PageVisit, before: EditedVocabulary) -> EditedVocabulary | None:
    """Return the vocabulary without the changes of a form; ``None`` where they hold no more."""
    try:
        return before.without(msgspec.json.decode(visit.form.text("undo"), type=list[JoinedKeyword]))
    except msgspec.DecodeError:
        raise PageProblem(400, "invalid-syntax", "The body cannot be read", _UNREADABLE) from None


def _group(target: str, changes: Sequence[JoinedKeyword]) -> KeywordGroup:
    names = [each.name for each in changes]
    return KeywordGroup(target=target, names=names, count=len(names), undo=encode(changes).decode())


def _groups(vocabulary: EditedVocabulary) -> list[KeywordGroup]:
    """Return what counts as one by a vocabulary, the latest first."""
    names: dict[str, list[str]] = defaultdict(list)
    for name, target in vocabulary.aliases.items():
        names[target].append(name)
    latest = list(reversed(names.items()))[:MAX_ALIASES]
    return [
        _group(target, [JoinedKeyword(name, target, None) for name in found])
        if len(found) <= MAX_ALIASES
        else KeywordGroup(target=target, names=found[:MAX_ALIASES], count=len(found))
        for target, found in latest
    ]


async def _page(
    visit: PageVisit,
    *,
    joined: KeywordGroup | None = None,
    notice: str | None = None,
    faults: Iterable[str] = (),
    status: int = 200,
) -> DeskPage:
    """Show the findings about a source, and what became of a change."""
    findings, live = await visit.ask(
        operations.source_health(visit.source), request_of("GET", _SETTINGS, JSON, visit.source)
    )
    vocabulary, settings = EditedVocabulary.of(live), msgspec.convert(live, Settings)
    values = {
        "source": findings.source,
        "zone": visit.zone(live.get("timeZone")),
        "pieces": findings.pieces,
        "findings": findings,
        "age": age_text(findings),
        "cards": await piece_tiles(visit, settings, _examples(findings)),
        "offered": await choice_form(visit, settings, "health"),
        "few": FEW_LIKES,
        "nouns": LIKE_NOUNS,
        "seen": vocabulary.digest,
        "alias_count": len(vocabulary.aliases),
        "groups": _groups(vocabulary),
        "joined": joined,
        "notice": notice,
        "faults": list(faults),
    }
    return DeskPage(template="health.html", values=values, status=status)


def age_text(findings: CatalogueFindings) -> str:
    """Return how long ago the latest findings were made, in words; "" where there are none."""
    if findings.made_at is None:
        return ""
    minutes = int((datetime.now(UTC) - findings.made_at).total_seconds() // 60)
    for size, noun in ((24 * 60, "day"), (60, "hour"), (1, "minute")):
        if minutes >= size:
            return f"{count_text(minutes // size, noun)} ago"
    return "just now"


def _examples(findings: CatalogueFindings) -> list[str]:
    """Return the pieces that the page names."""
    lonely = () if findings.keywords is None else findings.keywords.lonely.examples
    unreached = () if findings.unreached is None else findings.unreached.examples
    unseen = () if findings.unseen is None else findings.unseen.examples
    return [*lonely, *unreached, *unseen, *(each.id for each in findings.most_played)]
