"""Handlers of proposals: drafts under a title, what they edit, whose lists move, and what is decided about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec

from penchant.errors import PenchantError, invalid_parameter
from penchant.live.views import View
from penchant.model import Feature, ListKind
from penchant.rows.errors import DraftChanged, OutdatedDraft
from penchant.service.drafts import summary_of
from penchant.service.effects import REACH_S, EffectFigures
from penchant.service.placements.versions import placements_of
from penchant.service.rows import row_services
from penchant.storage.drafts import DraftRow
from penchant.web.dashboard.comparing import ListComparison, rows_of
from penchant.web.dashboard.desk import who
from penchant.web.dashboard.rows.drafting import OPEN, STATES, STEPS, name_of_title
from penchant.web.dashboard.rows.words import difference_in_words
from penchant.web.dashboard.site import (
    DashboardSite,
    PageAnswer,
    PageSection,
    RedirectAnswer,
    Visit,
    faults_of,
    section,
)
from penchant.web.operations import body_tag
from penchant.wire import encode, encode_settings
from penchant.wire.drafts.answers import DraftEffect
from penchant.wire.drafts.edits import DraftEdits, EffectWish
from penchant.wire.explanations import PreviewedList
from penchant.wire.placements import PLACEMENT, encode_placement
from penchant.wire.rows.settings import RowSettings
from penchant.wire.settings import setting_members

TAKE = 10
"""Entries of each list that are compared."""
FIRST_PEOPLE = 5
"""People whose lists are compared at first: a tenth of a second. Those of all others follow on a click."""
MOST_LISTS = 6
"""Lists of people that a page shows, those that move most first."""
MAX_SHOWN = 50
"""Drafts that are over and shown."""
_SAID = {
    "saved": "The draft is kept. Nothing of it is live.",
    "proposed": "Others are asked to look at it.",
    "returned": "It is sent back with your note.",
    "published": "Published: all of it is in force, as one version.",
    "merged": "Published, as one version. Lists that others had changed meanwhile keep their changes, too.",
    "scheduled": "Scheduled: it is published at its moment, unless somebody changes it before.",
    "unscheduled": "It is off the schedule, and a draft again.",
    "undone": "Undone: what was before is in force again, as one version.",
    "deleted": "The draft is deleted. What was published of it stays.",
}
_PUBLISHED = {"published", "merged"}
_DONE = {
    "propose": "proposed",
    "return": "returned",
    "accept": "published",
    "publish": "published",
    "schedule": "scheduled",
    "unschedule": "unscheduled",
    "undo": "undone",
    "delete": "deleted",
}
_LABELS = {key: member.label or key for key, member in PLACEMENT.members.items()}
_SETTING_LABELS = {key: member.label or key for key, member in setting_members().items()}
_LISTS = {ListKind.BLACKLIST: "Hidden", ListKind.WHITELIST: "Boosted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownEdit:
    """An edit of a draft: what it is of, under which name, with the page where it is seen, and what differs.

    ``mark`` tells it from any other edit, of the same thing too: so a form says which ones were looked at.
    """

    subject: str
    name: str
    changes: Sequence[str]
    mark: str
    page: str = ""
    query: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SideText:
    """A figure now and with the proposal, with what it means; ``trend`` is whether it rises, falls or stays."""

    name: str
    meaning: str
    now: str
    then: str
    trend: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownEffect:
    """What would change: lists of people that move, most first, and figures of all that were looked at.

    ``people`` of the ``active`` ones were; ``is_all`` where pieces were looked at, too.
    """

    people: int
    active: int
    is_all: bool
    lists: Sequence[ListComparison]
    figures: EffectFigures
    sides: Sequence[SideText]
    effect: DraftEffect
    cards: Mapping[str, Any]


async def proposals(visit: Visit) -> PageAnswer:
    """Show the drafts of a source: those that wait, and those that are over."""
    view = await visit.view()
    rows = await row_services(visit).drafts.list(visit.access, visit.source)
    values = {
        "source": view.head.name,
        "open": [summary_of(row) for row in rows if row.state in OPEN],
        "over": [summary_of(row) for row in rows if row.state not in OPEN][:MAX_SHOWN],
        "states": STATES,
        "steps": STEPS,
        "who": partial(who, visit),
        "notice": _SAID.get(visit.text("said")),
        "four_eyes": view.settings.of(RowSettings).four_eyes,
    }
    return PageAnswer(template="proposals.html", values=values)


async def begin(visit: Visit, site: DashboardSite) -> RedirectAnswer:
    """Begin a proposal with a title, which edits nothing yet."""
    title, view = visit.form.text("title").strip(), await visit.view()
    if not title:
        raise invalid_parameter("title", "A proposal needs a title.")
    name = name_of_title(title)
    await row_services(visit).drafts.save(visit.access, view, name, DraftEdits(title=title, lists={}))
    return _to(visit, site, name, "saved")


async def proposal(visit: Visit) -> PageAnswer:
    """Show a draft: what it edits, whose lists move where that is asked for, and what was said of it."""
    view = await visit.view()
    row = await row_services(visit).drafts.get(visit.access, visit.source, visit.text("name"))
    return await _page(visit, view, row, look=visit.text("look"))


async def decide(visit: Visit, site: DashboardSite) -> PageAnswer | RedirectAnswer:
    """Propose, accept, send back, publish, schedule, undo or delete a draft."""
    view, name, do = await visit.view(), visit.text("name"), visit.form.text("do")
    try:
        said = await _done(visit, name, do)
    except PenchantError as error:
        row = await row_services(visit).drafts.get(visit.access, visit.source, name)
        page = await _page(visit, view, row, error=error)
        return PageAnswer(template=page.template, values=page.values, status=409)
    if said == "deleted":
        return RedirectAnswer(path=site.link("proposals", source=visit.source, said=said))
    return _to(visit, site, name, said)


def _to(visit: Visit, site: DashboardSite, name: str, said: str) -> RedirectAnswer:
    return RedirectAnswer(path=site.link("proposal", source=visit.source, name=name, said=said))


async def _done(visit: Visit, name: str, do: str) -> str:
    """Do what a form asks for, and return what the page then says."""
    drafts, form, access, source = row_services(visit).drafts, visit.form, visit.access, visit.source
    note, force = form.text("note").strip(), bool(form.text("force"))
    # Of a form without one nobody knows what was seen.
    seen, outcome = form.text("revision"), None
    match do:
        case "propose":
            await drafts.propose(access, source, name, note=note)
        case "return":
            await drafts.send_back(access, source, name, note=note)
        case "accept":
            outcome = await drafts.accept(access, source, name, note=note, force=force, revision=seen)
        case "publish":
            outcome = await drafts.publish(access, source, name, force=force, revision=seen)
        case "schedule":
            await drafts.schedule(access, source, name, moment_in(form.text("at")), revision=seen)
        case "unschedule":
            await drafts.schedule(access, source, name, None, revision=seen)
        case "undo":
            await drafts.undo(access, source, name, revision=seen)
        case "delete":
            await drafts.delete(access, source, name)
        case _:
            raise invalid_parameter("do", "Found nothing that can be done with a draft.")
    return "merged" if outcome is not None and outcome.lists else _DONE[do]


def moment_in(text: str) -> int:
    """Return the moment, in ms since 1970, of what a browser's field for one holds, in UTC.

    Raises:
        InvalidInput: it is none.
    """
    try:
        return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)
    except ValueError:
        raise invalid_parameter("at", "Found no moment; a day and a time are accepted, in UTC.") from None


async def _page(
    visit: Visit,
    view: View,
    row: DraftRow,
    *,
    look: str = "",
    error: PenchantError | None = None,
) -> PageAnswer:
    edits = row_services(visit).drafts.edits_of(row)
    effect: PageSection[ShownEffect] = PageSection()
    if look:
        effect = await section(visit, lambda: _effect(visit, view, edits, is_all=look == "all"), Feature.PERSONALIZED)
    said = visit.text("said")
    values: dict[str, Any] = {
        "source": view.head.name,
        "name": row.name,
        "draft": summary_of(row),
        "note": edits.note,
        "edits": (shown := await _edits(visit, view, row.name, edits)),
        "unseen": unseen_edits(shown, visit.form.all("saw")) if isinstance(error, DraftChanged) else {},
        "state": STATES[row.state],
        "steps": STEPS,
        "who": partial(who, visit),
        "is_open": row.state in OPEN,
        "is_own": visit.access.key_id in row.writers,
        "four_eyes": view.settings.of(RowSettings).four_eyes,
        "look": look,
        "effect": effect,
        "take": TAKE,
        "faults": () if error is None else faults_of(error),
        "is_outdated": isinstance(error, OutdatedDraft),
        "typed": visit.form.text("note"),
        "notice": None if said in _PUBLISHED else _SAID.get(said),
        "said": _SAID[said] if said in _PUBLISHED else "",
    }
    return PageAnswer(template="proposal.html", values=values)


def unseen_edits(shown: Sequence[ShownEdit], saw: Sequence[str]) -> dict[str, str]:
    """Return what is not as it was looked at: by mark *new* or *changed*, and by its subject what is gone.

    ``saw`` are the marks that a form has of then.
    """
    before = {mark.partition(" ")[2]: mark for mark in saw}
    now = {each.mark.partition(" ")[2]: each.mark for each in shown}
    unseen = {mark: "changed" if of in before else "new" for of, mark in now.items() if before.get(of) != mark}
    return unseen | {of: "gone" for of in before if of not in now}


def _mark(subject: str, *parts: bytes) -> str:
    return f"{body_tag(b' '.join(parts))} {subject}"


async def _edits(visit: Visit, view: View, name: str, edits: DraftEdits) -> list[ShownEdit]:
    """Return what a draft edits, in words, beside what is in force."""
    shown = []
    for placement, spec in (edits.placements or {}).items():
        live: Mapping[str, Any] | None = None
        if placement in placements_of(view):
            live = (await row_services(visit).placements.in_force(view, placement)).spec.members
        changes = (
            ["removed"]
            if spec is None
            else ["new"]
            if live is None
            else difference_in_words(live, spec.members, _LABELS)
        )
        query = {"name": placement} if spec is None else {"name": placement, "draft": name}
        title = str((live or {} if spec is None else spec.members).get("title") or placement)
        mark = _mark(f"Row {placement}", b"" if spec is None else encode_placement(spec))
        shown.append(ShownEdit(subject="Row", name=title, changes=changes, mark=mark, page="placement", query=query))
    if edits.settings is not None:
        before, after = (msgspec.json.decode(encode_settings(each)) for each in (view.settings, edits.settings))
        changes = difference_in_words(before, after, _SETTING_LABELS)
        mark, query = _mark("Settings", encode_settings(edits.settings)), {"draft": name}
        shown.append(ShownEdit(subject="Settings", name="", changes=changes, mark=mark, page="settings", query=query))
    for kind in edits.lists:
        current = visit.services.curation.listed(view, kind)
        ids = edits.listed(kind, current) or ()
        added, gone = [each for each in ids if each not in current], [each for each in current if each not in ids]
        cards = await visit.cards(view, [*added, *gone][:MAX_SHOWN])
        changes = [
            f"{cards[each].title if each in cards else each} {way}"
            for way, some in (("comes", added), ("goes", gone))
            for each in some[:5]
        ]
        shown.append(
            ShownEdit(
                subject=_LISTS[kind],
                name="",
                changes=changes or ["another order"],
                mark=_mark(_LISTS[kind], encode(edits.changes.get(kind) or edits.lists[kind])),
                page="lists",
                query={"kind": kind.value, "draft": name},
            )
        )
    if edits.content is not None:
        cards = await visit.cards(view, [each.id for each in edits.content[:MAX_SHOWN]])
        titles = [cards[each.id].title if each.id in cards else each.id for each in edits.content[:5]]
        more = len(edits.content) - len(titles)
        shown.append(
            ShownEdit(
                subject="Pieces",
                name=str(len(edits.content)),
                changes=[*titles, *([f"{more} more"] if more else [])],
                mark=_mark("Pieces", *[each.body for each in edits.content]),
            )
        )
    return shown


def sides_in_words(figures: EffectFigures) -> list[SideText]:
    """Return the figures that a proposal changes, now and then; those with nothing to tell are left out."""
    now, then = figures.before, figures.after
    reach = f"different pieces among the first {TAKE} of these lists"
    told: list[tuple[str, str, float | None, float | None, str]] = [
        ("Reach of the catalogue", reach, now.pieces, then.pieces, "{:,.0f}"),
        ("Variety within a list", "0: all alike, 1: nothing in common", now.variety, then.variety, "{:.2f}"),
        ("Share of new pieces", "available for 30 days at most", now.newness, then.newness, "{:.0%}"),
    ]
    return [
        _side_text(name, meaning, form.format(before), form.format(after), is_more=after > before)
        for name, meaning, before, after, form in told
        if before is not None and after is not None
    ]


def _side_text(name: str, meaning: str, now: str, then: str, *, is_more: bool) -> SideText:
    trend = "as before" if now == then else "rises" if is_more else "falls"
    return SideText(name=name, meaning=meaning, now=now, then=then, trend=trend)


async def _effect(visit: Visit, view: View, edits: DraftEdits, *, is_all: bool) -> ShownEffect:
    effects = row_services(visit).effects
    subject = await effects.subject(view, EffectWish(pieces=(), take=TAKE), with_people=True)
    active = len(subject.users)
    if not is_all:
        subject = replace(subject, users=subject.users[:FIRST_PEOPLE])
    effect = await effects.effect(view, edits, subject, reach_s=REACH_S if is_all else 0)
    lists: list[PreviewedList] = sorted(effect.users, key=lambda each: -len(each.moves))
    for placed in effect.placements:
        lists += [
            PreviewedList(
                id=f"{each.user_id or 'a stranger'}, in {placed.placement}",
                before=[*each.before],
                after=[*each.after],
                moves=each.moves,
            )
            for each in placed.lists
        ]
    lists = sorted(lists, key=lambda each: -len(each.moves))
    shown = [each for each in lists if each.moves][:MOST_LISTS]
    ids = {each.id for listed in shown for each in (*listed.before, *listed.after)}
    cards = await visit.cards(view, sorted(ids))
    labels = {each.id: each.title for each in cards.values()}
    figures = await effects.figures(view, effect)
    return ShownEffect(
        people=len(subject.users),
        active=active,
        is_all=is_all,
        lists=[rows_of(each, labels, each.id) for each in shown],
        figures=figures,
        sides=sides_in_words(figures),
        effect=effect,
        cards=cards,
    )
