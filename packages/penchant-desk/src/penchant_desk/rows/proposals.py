"""Handlers of proposals: drafts under a title, what they edit, whose lists move, and what is decided about them."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from penchant_client import ServiceError, flows, operations
from penchant_client.records import DraftEffect, EffectFigures, PreviewedList, PreviewedPlacement, Settings
from penchant_client.requests import encode, request_of
from penchant_desk.changes import names_of_people
from penchant_desk.comparing import ComparedList, rows_of
from penchant_desk.drafts import JSON, LISTS, OPEN, STATES, STEPS, DraftBody, get_list, needs_review
from penchant_desk.pages.settings import SETTING_LABELS
from penchant_desk.pieces import PieceTile, piece_tiles
from penchant_desk.problems import PageProblem, invalid
from penchant_desk.rows.members import LABELS
from penchant_desk.rows.stored import list_rows
from penchant_desk.rows.words import difference_in_words
from penchant_desk.site import DeskPage, PageVisit, Redirect, Section, faults_of, section

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
_LISTS = {"blacklist": "Hidden", "whitelist": "Boosted"}


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
    lists: Sequence[ComparedList]
    figures: EffectFigures
    sides: Sequence[SideText]
    effect: DraftEffect
    cards: Mapping[str, PieceTile]


async def proposals(visit: PageVisit) -> DeskPage:
    """Show the drafts of a source: those that wait, and those that are over."""
    (listing, settings), who = await asyncio.gather(
        visit.ask(_listing(visit.source), operations.get_settings(visit.source)), names_of_people(visit)
    )
    drafts = listing["drafts"]
    values = {
        "source": visit.source,
        "open": [each for each in drafts if each["state"] in OPEN],
        "over": [each for each in drafts if each["state"] not in OPEN][:MAX_SHOWN],
        "states": STATES,
        "steps": STEPS,
        "who": who,
        "zone": visit.zone(settings.time_zone),
        "notice": _SAID.get(visit.text("said")),
        "four_eyes": needs_review(visit, settings),
    }
    return DeskPage(template="proposals.html", values=values)


async def begin(visit: PageVisit) -> Redirect:
    """Begin a proposal with a title, which edits nothing yet."""
    title = visit.form.text("title").strip()
    if not title:
        # Of what is not there nobody hears more.
        await visit.client.send(_listing(visit.source))
        raise invalid("A proposal needs a title.")
    name = name_of_title(title)
    await visit.client.send(operations.put_draft(visit.source, name, {"title": title}))
    return _to(visit, name, "saved")


def name_of_title(title: str) -> str:
    """Return the name of the draft with a title: the title where drafts may be called so."""
    short = title.encode()[:48].decode(errors="ignore").strip()
    if short == title and title.isprintable() and title not in {".", ".."}:
        return title
    return f"{short or 'draft'}-{hashlib.blake2b(title.encode(), digest_size=2).hexdigest()}"


async def proposal(visit: PageVisit) -> DeskPage:
    """Show a draft: what it edits, whose lists move where that is asked for, and what was said of it."""
    return await _page(visit, await _draft(visit), look=visit.text("look"))


async def decide(visit: PageVisit) -> DeskPage | Redirect:
    """Propose, accept, send back, publish, schedule, undo or delete a draft."""
    name, do = visit.text("name"), visit.form.text("do")
    try:
        said = await _done(visit, name, do)
    except (ServiceError, PageProblem) as error:
        page = await _page(visit, await _draft(visit), error=error)
        return DeskPage(template=page.template, values=page.values, status=409)
    if said == "deleted":
        return Redirect(path=visit.link("proposals", source=visit.source, said=said))
    return _to(visit, name, said)


def _listing(source: str) -> Any:
    return request_of("GET", "/{source}/drafts", JSON, source)


async def _draft(visit: PageVisit) -> DraftBody:
    name = visit.text("name")
    draft = await visit.client.send(request_of("GET", "/{source}/drafts/{name}", JSON, visit.source, name))
    return cast("DraftBody", draft)


def _to(visit: PageVisit, name: str, said: str) -> Redirect:
    return Redirect(path=visit.link("proposal", source=visit.source, name=name, said=said))


async def _done(visit: PageVisit, name: str, do: str) -> str:
    """Do what a form asks for, and return what the page then says."""
    form, source, send = visit.form, visit.source, visit.client.send
    note, force = form.text("note").strip(), bool(form.text("force"))
    # Of a form without one nobody knows what was seen: that is the revision of no draft.
    seen, outcome = form.text("revision") or "-", None
    match do:
        case "propose":
            await send(flows.propose_draft(source, name, note=note))
        case "return":
            await send(flows.send_back_draft(source, name, note=note))
        case "accept":
            outcome = await send(flows.accept_draft(source, name, note=note, force=force, revision=seen))
        case "publish":
            outcome = await send(operations.publish_draft(source, name, force=force, revision=seen))
        case "schedule":
            await send(flows.schedule_draft(source, name, _moment(visit, form.text("at")), revision=seen))
        case "unschedule":
            await send(flows.schedule_draft(source, name, None, revision=seen))
        case "undo":
            await send(operations.undo_draft(source, name, revision=seen))
        case "delete":
            await send(operations.delete_draft(source, name))
        case _:
            raise invalid("do: Found nothing that can be done with a draft.")
    return "merged" if outcome is not None and (outcome.blacklist or outcome.whitelist) else _DONE[do]


def _moment(visit: PageVisit, text: str) -> str:
    try:
        return visit.moment_in(text).isoformat()
    except PageProblem as error:
        raise invalid(f"at: {error.detail}") from None


def _faults(error: ServiceError | PageProblem | None) -> Sequence[str]:
    if error is None:
        return ()
    return (error.detail,) if isinstance(error, PageProblem) else faults_of(error)


async def _page(
    visit: PageVisit, draft: DraftBody, *, look: str = "", error: ServiceError | PageProblem | None = None
) -> DeskPage:
    (settings, *listings), who = await asyncio.gather(
        visit.ask(_raw_settings(visit.source), *([list_rows(visit.source)] if visit.may("placements") else [])),
        names_of_people(visit),
    )
    rows = [each for listing in listings for each in listing["placements"]]
    effect = Section()
    if look and not visit.may("personalized"):
        detail = f"The key's plan {visit.session.plan!r} does not include the feature 'personalized'."
        effect = Section(faults=(detail,))
    elif look:
        effect = await section(_effect(visit, draft["name"], is_all=look == "all"))
    said, code = visit.text("said"), "" if error is None else error.code
    values: dict[str, Any] = {
        "source": visit.source,
        "name": draft["name"],
        "draft": draft,
        "note": draft.get("note"),
        "edits": (shown := await _edits(visit, draft, rows, settings)),
        "unseen": unseen_edits(shown, visit.form.all("saw")) if code == "draft-changed" else {},
        "state": STATES[draft["state"]],
        "steps": STEPS,
        "who": who,
        "zone": visit.zone(settings.get("timeZone")),
        "is_open": draft["state"] in OPEN,
        "is_own": visit.session.key_id in draft["writers"],
        "four_eyes": settings.get("fourEyes") is True,
        "look": look,
        "effect": effect,
        "take": TAKE,
        "faults": _faults(error),
        "is_outdated": code == "outdated-draft",
        "typed": visit.form.text("note"),
        "notice": None if said in _PUBLISHED else _SAID.get(said),
        "said": _SAID[said] if said in _PUBLISHED else "",
    }
    return DeskPage(template="proposal.html", values=values)


def _raw_settings(source: str) -> Any:
    return request_of("GET", "/{source}/settings", JSON, source)


def unseen_edits(shown: Sequence[ShownEdit], saw: Sequence[str]) -> dict[str, str]:
    """Return what is not as it was looked at: by mark *new* or *changed*, and by its subject what is gone.

    ``saw`` are the marks that a form has of then.
    """
    before = {mark.partition(" ")[2]: mark for mark in saw}
    now = {each.mark.partition(" ")[2]: each.mark for each in shown}
    unseen = {mark: "changed" if of in before else "new" for of, mark in now.items() if before.get(of) != mark}
    return unseen | {of: "gone" for of in before if of not in now}


def _edit_mark(subject: str, edit: Any) -> str:
    return f"{hashlib.blake2b(encode(edit), digest_size=12).hexdigest()} {subject}"


async def _edits(
    visit: PageVisit, draft: DraftBody, rows: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]
) -> list[ShownEdit]:
    """Return what a draft edits, in words, beside what is in force."""
    name = draft["name"]
    live = {each["name"]: each["placement"] for each in rows}
    placements: Mapping[str, Any] = draft.get("placements", {})
    shown = [_row_edit(name, each, edited, live) for each, edited in placements.items()]
    if "settings" in draft:
        edited = draft["settings"]
        changes = difference_in_words(settings, edited, SETTING_LABELS)
        mark, query = _edit_mark("Settings", edited), {"draft": name}
        shown.append(ShownEdit(subject="Settings", name="", changes=changes, mark=mark, page="settings", query=query))
    kinds = [each for each in LISTS if each in draft]
    stored, *listed = await visit.ask(
        operations.get_settings(visit.source),
        *(get_list(visit.source, each) for each in kinds if visit.may("lists")),
    )
    # Without the feature nobody is told how they are live.
    listings = zip(kinds, listed or [()] * len(kinds), strict=True)
    shown += await asyncio.gather(*(_list_edit(visit, stored, draft, kind, [*current]) for kind, current in listings))
    if "content" in draft:
        shown.append(await _pieces_edit(visit, stored, draft["content"]))
    return shown


def _row_edit(draft: str, name: str, edited: Mapping[str, Any] | None, rows: Mapping[str, Any]) -> ShownEdit:
    live = rows.get(name)
    changes = ["removed"] if live is None or edited is None else difference_in_words(live, edited, LABELS)
    if edited is not None and live is None:
        changes = ["new"]
    query = {"name": name} if edited is None else {"name": name, "draft": draft}
    title = str((edited or live or {}).get("title") or name)
    mark = _edit_mark(f"Row {name}", edited)
    return ShownEdit(subject="Row", name=title, changes=changes, mark=mark, page="placement", query=query)


async def _list_edit(
    visit: PageVisit, settings: Settings, draft: DraftBody, kind: str, current: Sequence[str]
) -> ShownEdit:
    ids: Sequence[str] = draft[kind]
    added, gone = [each for each in ids if each not in current], [each for each in current if each not in ids]
    tiles = await piece_tiles(visit, settings, [*added[:5], *gone[:5]])
    changes = [f"{tiles[each].title} {way}" for way, some in (("comes", added), ("goes", gone)) for each in some[:5]]
    return ShownEdit(
        subject=_LISTS[kind],
        name="",
        changes=changes or ["another order"],
        mark=_edit_mark(_LISTS[kind], draft.get("changes", {}).get(kind) or ids),
        page="lists" if visit.may("lists") else "",
        query={"kind": kind, "draft": draft["name"]},
    )


async def _pieces_edit(visit: PageVisit, settings: Settings, content: Sequence[Mapping[str, Any]]) -> ShownEdit:
    tiles = await piece_tiles(visit, settings, [each["id"] for each in content[:5]])
    more = len(content) - len(tiles)
    return ShownEdit(
        subject="Pieces",
        name=str(len(content)),
        changes=[*(each.title for each in tiles.values()), *([f"{more} more"] if more else [])],
        mark=_edit_mark("Pieces", content),
    )


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


async def _effect(visit: PageVisit, name: str, *, is_all: bool) -> ShownEffect:
    wish = {"pieces": [], "take": TAKE} | ({} if is_all else {"most": FIRST_PEOPLE, "reach": False})
    effect, settings = await visit.ask(
        operations.draft_effect(visit.source, name, wish), operations.get_settings(visit.source)
    )
    lists: list[tuple[str, PreviewedList | PreviewedPlacement]] = sorted(
        ((each.id, each) for each in effect.users), key=lambda each: -len(each[1].moves)
    )
    for placed in effect.placements:
        lists += [(f"{each.user_id or 'a stranger'}, in {placed.placement}", each) for each in placed.lists]
    lists.sort(key=lambda each: -len(each[1].moves))
    shown = [each for each in lists if each[1].moves][:MOST_LISTS]
    ids = {each.id for _, listed in shown for each in (*listed.before, *listed.after)}
    cards = await piece_tiles(visit, settings, sorted(ids))
    labels = {each.id: each.title for each in cards.values()}
    return ShownEffect(
        people=len(effect.users),
        active=effect.active,
        is_all=is_all,
        lists=[rows_of(title, listed, labels, title) for title, listed in shown],
        figures=effect.figures,
        sides=sides_in_words(effect.figures),
        effect=effect,
        cards=cards,
    )
