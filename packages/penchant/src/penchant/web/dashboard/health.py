"""Handlers of the page about a source's health: findings so far, and a click that makes variants one keyword."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from penchant.errors import InvalidInput, InvalidSyntax
from penchant.live.views import View
from penchant.service.desk import Desk, SeenFigures
from penchant.service.health import Findings
from penchant.service.health_reports import HealthReports, like_mix, order_degree, telling_grade
from penchant.service.like_mix import mix_sentence
from penchant.service.rows import row_services
from penchant.vocabulary import AliasChange, Vocabulary
from penchant.web.dashboard.rows.drafting import SETTINGS, draft_called, keep_in_draft, own_draft
from penchant.web.dashboard.site import PageAnswer, Visit, faults_of
from penchant.wire import encode
from penchant.wire.drafts.edits import DraftEdits
from penchant.wire.rows.settings import RowSettings
from penchant.wire.settings import with_vocabulary
from penchant.wire.vocabulary import read_vocabulary

FEW_LIKES = 200
"""Likes from which on figures can be relied on."""
MAX_ALIASES = 50
"""Keywords for which others count, and of each those that do, that the page shows and takes back."""
_PROPOSED = "It is kept in your proposal “Settings”, and counts once another editor publishes that."
_STALE = "The vocabulary was changed since this page was made. Nothing was changed; look at it as it is now."


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasGroup:
    """Keywords that count as another: some of them, how many, and what takes that back, if so many can be shown."""

    target: str
    names: Sequence[str]
    count: int
    undo: str = ""


async def health(visit: Visit) -> PageAnswer:
    """Show what was found out by now about the source as it stands."""
    return await _page(visit, await visit.view())


async def change_vocabulary(visit: Visit) -> PageAnswer:
    """Have a group of keywords count as one, or take such a change back; show the source as it is then."""
    view = await visit.view()
    # Where nobody publishes alone: over what one's own draft changes already.
    drafted = await draft_called(visit, own_draft(visit, SETTINGS)) if view.settings.of(RowSettings).four_eyes else None
    current = (None if drafted is None else row_services(visit).drafts.edits_of(drafted).settings) or view.settings
    before, is_seen = current.vocabulary, visit.form.text("seen") == view.settings.vocabulary.digest
    is_undo = visit.form.text("do") == "undo"
    try:
        wanted = _taken_back(visit, before) if is_undo else _joined(visit, before) if is_seen else None
        settings = None if wanted is None else with_vocabulary(current, wanted)
    except (InvalidInput, InvalidSyntax) as error:
        return await _page(visit, view, faults=faults_of(error), status=422)
    if settings is None:
        return await _page(visit, view, faults=[_STALE], status=409)
    if view.settings.of(RowSettings).four_eyes:
        edits = DraftEdits(title="Settings", settings=settings, lists={})
        await keep_in_draft(visit, view, own_draft(visit, SETTINGS), edits)
        return await _page(visit, view, notice=_PROPOSED)
    await visit.services.curation.replace_settings(visit.access, visit.source, settings)
    changes = settings.vocabulary.changes_since(before)
    if is_undo or not changes:
        return await _page(visit, await visit.view(), notice="They count as they did before.")
    return await _page(visit, await visit.view(), joined=_group(changes[-1].now, changes))


def _joined(visit: Visit, before: Vocabulary) -> Vocabulary:
    """Return the vocabulary with a form's keywords as one."""
    alias = {"from": visit.form.all("from"), "to": visit.form.text("to")}
    return before.joined(read_vocabulary({"aliases": [alias]}))


def _taken_back(visit: Visit, before: Vocabulary) -> Vocabulary | None:
    """Return the vocabulary without the changes of a form; ``None`` where they hold no more."""
    try:
        return before.without(msgspec.json.decode(visit.form.text("undo"), type=list[AliasChange]))
    except msgspec.DecodeError:
        raise InvalidSyntax("The form cannot be read; send it from the page once more.") from None


def _group(target: str, changes: Sequence[AliasChange]) -> AliasGroup:
    names = [each.name for each in changes]
    return AliasGroup(target=target, names=names, count=len(names), undo=encode(changes).decode())


def _groups(vocabulary: Vocabulary) -> list[AliasGroup]:
    """Return what counts as one by a vocabulary, the latest first."""
    names: dict[str, list[str]] = defaultdict(list)
    for name, target in vocabulary.aliases.items():
        names[target].append(name)
    latest = list(reversed(names.items()))[:MAX_ALIASES]
    return [
        _group(target, [AliasChange(name, target, None) for name in found])
        if len(found) <= MAX_ALIASES
        else AliasGroup(target=target, names=found[:MAX_ALIASES], count=len(found))
        for target, found in latest
    ]


async def _page(
    visit: Visit,
    view: View,
    *,
    joined: AliasGroup | None = None,
    notice: str | None = None,
    faults: Iterable[str] = (),
    status: int = 200,
) -> PageAnswer:
    """Show the findings about a view, and what became of a change."""
    findings, standing = await visit.services.of(HealthReports).by_now(view)
    vocabulary = view.settings.vocabulary
    seen = await visit.services.of(Desk).seen(view)
    mix = like_mix(view, findings, standing)
    values = {
        "source": view.head.name,
        "pieces": view.head.piece_count,
        "findings": findings,
        "viewed": seen,
        "cards": await visit.cards(view, _examples(findings, seen)),
        "standing": standing,
        "grade": telling_grade,
        "order_degree": order_degree,
        "few": FEW_LIKES,
        "mix": mix,
        "mix_sentence": mix_sentence(mix),
        "fall": await visit.services.of(HealthReports).kappa_fall(view, findings),
        "seen": vocabulary.digest,
        "alias_count": len(vocabulary.aliases),
        "groups": _groups(vocabulary),
        "joined": joined,
        "notice": notice,
        "faults": list(faults),
    }
    return PageAnswer(template="health.html", values=values, status=status)


def _examples(findings: Findings, seen: SeenFigures | None) -> list[str]:
    """Return the pieces that the page names."""
    lonely = () if findings.vocabulary is None else findings.vocabulary.lonely
    unreached = () if findings.unreached is None else findings.unreached.pieces
    return [*lonely, *unreached, *(() if seen is None else seen.unseen)]
