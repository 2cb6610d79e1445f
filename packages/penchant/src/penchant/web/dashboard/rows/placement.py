"""Handlers of rows: which there are, one as a form beside what it shows to a person, stored, led back, deleted."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import msgspec

from penchant.errors import Fault, PenchantError
from penchant.live.views import View
from penchant.model import Feature, PlacementKind
from penchant.rows.errors import UnknownPlacement
from penchant.service.placements.lists import check_quotas
from penchant.service.placements.versions import placements_of
from penchant.service.rows import row_services
from penchant.web.dashboard.comparing import SHOWN, ListComparison, rows_of
from penchant.web.dashboard.desk import who
from penchant.web.dashboard.rows.clauses import CONDITIONS
from penchant.web.dashboard.rows.described import AS_SOURCE, described, kinds_in, step_options, unplaced
from penchant.web.dashboard.rows.drafting import draft_called, keep_in_draft, open_drafts, own_draft, propose_row
from penchant.web.dashboard.rows.fields import (
    BLEND_COLUMNS,
    FieldContext,
    Texts,
    kept,
    read_fields,
    takes_part,
    write_fields,
)
from penchant.web.dashboard.rows.naming import context_of
from penchant.web.dashboard.rows.proposals import moment_in
from penchant.web.dashboard.rows.words import KIND_WORDS, difference_in_words
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
from penchant.wire import encode
from penchant.wire.drafts.answers import format_revision
from penchant.wire.drafts.edits import DraftEdits
from penchant.wire.explanations import PreviewedList
from penchant.wire.filters import read_filter
from penchant.wire.placement_answers import PlacementHistory, PlacementVersion
from penchant.wire.placements import (
    MAX_PLACEMENT_VERSIONS,
    MAX_PLACEMENTS,
    PLACEMENT,
    PlacementSpec,
    check_filters,
    decode_placement,
    decode_placement_preview,
    placement_problem,
)
from penchant.wire.rows.settings import RowSettings
from penchant.wire.settings import BLEND
from penchant_engine.index import Filter

NEW: Mapping[str, Any] = {
    "kind": PlacementKind.RECOMMENDATIONS.value,
    "rotation": 0.1,
    "fallback": PlacementKind.POPULAR.value,
}
"""What a new row begins with: no variant, since nobody has asked for an experiment."""
STRANGER = "a stranger"
MAX_VERSIONS = 10
"""Versions that the page shows."""
LABELS = {key: member.label for key, member in PLACEMENT.members.items()}
_SAID = {
    "saved": "Published: the next request goes by it.",
    "back": "The earlier version is in force again.",
    "drafted": "The draft is kept. Nothing of it is live.",
    "deleted": "The row is deleted.",
}
_BOTH = (
    "Both the fields and the JSON were changed, so it is not clear which of them counts. "
    "Press “Take over the JSON”, or put the JSON back as it was."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDraft:
    """A row as its form has it: texts, what they say, what is wrong, and the row that the form was made from."""

    name: str
    base: Mapping[str, Any]
    texts: Texts
    members: Mapping[str, Any]
    context: FieldContext
    json: str
    json_seen: str = ""
    places: Mapping[str, Sequence[str]] = field(default_factory=dict)
    faults: Sequence[Fault] = ()
    spec: PlacementSpec | None = None


async def placements(visit: Visit) -> PageAnswer:
    """Show the rows of a source."""
    view = await rows_view(visit)
    listing = await row_services(visit).placements.listing(view)
    values = {
        "source": view.head.name,
        "rows": [(each, KIND_WORDS[PlacementKind(each.placement["kind"])]) for each in listing.placements],
        "most": MAX_PLACEMENTS,
        "who": partial(who, visit),
        "notice": _SAID.get(visit.text("said")),
    }
    return PageAnswer(template="placements.html", values=values)


async def placement(visit: Visit) -> PageAnswer:
    """Show a row as a form; without a name a new one."""
    view, name = await rows_view(visit), visit.text("name")
    members = NEW
    if name in placements_of(view):
        members = (await row_services(visit).placements.in_force(view, name)).spec.members
    kept_in = await draft_called(visit, visit.text("draft"))
    drafted = None if kept_in is None else (row_services(visit).drafts.edits_of(kept_in).placements or {}).get(name)
    if drafted is not None:
        members = drafted.members
    elif name and name not in placements_of(view):
        raise UnknownPlacement(f"The source has no row {name!r}.")
    return await shown_row(visit, view, await written(visit, view, name, members), said=visit.text("said"))


async def written(visit: Visit, view: View, name: str, members: Mapping[str, Any]) -> RowDraft:
    """Return a placement as a form that nobody has changed yet."""
    context = await context_of(visit.services.browsing, view, members, {})
    texts = write_fields(members, context)
    return RowDraft(
        name=name,
        base=members,
        texts=texts,
        members=members,
        context=context,
        json=pretty(members),
        places=read_fields(texts, members, context).places,
    )


async def change_placement(visit: Visit, site: DashboardSite) -> PageAnswer | RedirectAnswer:
    """Show a form anew with what was added or taken away, publish it, or delete a row or lead it back."""
    view, form = await rows_view(visit), visit.form
    name, do = form.text("name").strip(), form.text("do")
    lasting = do in {"publish", "delete"} or form.text("back")
    if lasting and form.text("seen") != str(placements_of(view).get(name, 0)):
        return await _stale(visit, view)
    if do == "delete" or form.text("back").isdecimal():
        return await _remove_or_lead_back(visit, view, name, site)
    draft = await read_row_form(visit, view)
    if do not in {"publish", "draft", "compare", "schedule"} or draft.spec is None:
        return await shown_row(visit, view, draft, status=422 if draft.faults else 200)
    # Where nobody publishes alone, what was to be published is a draft.
    if do != "publish" or view.settings.of(RowSettings).four_eyes:
        return await _keep(visit, view, draft, site)
    await row_services(visit).placements.put(visit.access, visit.source, name, draft.spec)
    await _forget_own_draft(visit, name)
    return RedirectAnswer(path=site.link("placement", source=visit.source, name=name, said="saved"))


async def _keep(visit: Visit, view: View, draft: RowDraft, site: DashboardSite) -> PageAnswer | RedirectAnswer:
    """Keep a row in a draft; then show it, compare it, or have it published at a moment."""
    form, name = visit.form, draft.name
    title = f"Row {draft.members.get('title') or name}"[:200]
    into = form.text("into") or own_draft(visit, name)
    try:
        edits = DraftEdits(title=title, placements={name: draft.spec}, lists={})
        kept = await keep_in_draft(visit, view, into, edits)
        if form.text("do") == "schedule":
            at, revision = moment_in(form.text("at")), format_revision(kept.revision)
            await row_services(visit).drafts.schedule(visit.access, visit.source, into, at, revision=revision)
    except PenchantError as error:
        faulty = replace(draft, faults=[Fault(detail=each) for each in faults_of(error)])
        return await shown_row(visit, view, faulty, status=422)
    if form.text("do") == "draft":
        return RedirectAnswer(path=site.link("placement", source=visit.source, name=name, draft=into, said="drafted"))
    said = "scheduled" if form.text("do") == "schedule" else "saved"
    look = 1 if form.text("do") == "compare" else None
    return RedirectAnswer(path=site.link("proposal", source=visit.source, name=into, said=said, look=look))


async def _remove_or_lead_back(visit: Visit, view: View, name: str, site: DashboardSite) -> RedirectAnswer:
    """Delete a row, or put an earlier version of it in force; in a draft where nobody publishes alone."""
    placements, is_deleted = row_services(visit).placements, visit.form.text("do") == "delete"
    version = 0 if is_deleted else int(visit.form.text("back")[:18])
    if view.settings.of(RowSettings).four_eyes:
        spec = None if is_deleted else await placements.earlier(visit.access, visit.source, name, version)
        return await propose_row(visit, view, name, spec, site)
    if is_deleted:
        await placements.delete(visit.access, visit.source, name)
        return RedirectAnswer(path=site.link("placements", source=visit.source, said="deleted"))
    await placements.roll_back(visit.access, visit.source, name, version)
    return RedirectAnswer(path=site.link("placement", source=visit.source, name=name, said="back"))


async def _forget_own_draft(visit: Visit, name: str) -> None:
    """Delete the draft that an editor had of a row which is published now, if it edits nothing else."""
    row = await draft_called(visit, own_draft(visit, name))
    if row is not None and row_services(visit).drafts.edits_of(row).subjects == [f"placements/{name}"]:
        await row_services(visit).drafts.delete(visit.access, visit.source, row.name)


async def read_row_form(visit: Visit, view: View) -> RowDraft:
    """Return the row that a form says, with all that is wrong with it."""
    form = visit.form
    base = _decoded(form.text("base")) or {}
    texts = _begun(_without_removed(form.fields, form.text("remove")), base)
    json, name = form.text("json"), form.text("name").strip()
    context = await context_of(visit.services.browsing, view, base, texts)
    read = read_fields(texts, base, context)
    members: Mapping[str, Any] = read.members
    faults = list(read.faults)
    if json and body_tag(json.encode(errors="replace")) != form.text("json-seen"):
        is_untouched = body_tag(pretty(members).encode(errors="replace")) == form.text("json-seen")
        if not is_untouched and form.text("do") != "json":
            faults.append(Fault(pointer="/json", detail=_BOTH))
        else:
            taken = await _taken_over(visit, view, json, name, base)
            if isinstance(taken, RowDraft):
                return taken
            faults = list(taken)
    draft = RowDraft(
        name=name,
        base=base,
        texts=texts,
        members=members,
        context=context,
        json=json,
        # Unless it was taken over, a change of the JSON goes on being one.
        json_seen=form.text("json-seen"),
        places=read.places,
        faults=faults,
    )
    spec = None if faults else await _checked(visit, view, name, members, faults)
    if spec is None:
        return draft
    return replace(draft, members=spec.members, json=pretty(spec.members), json_seen="", spec=spec)


async def _taken_over(
    visit: Visit, view: View, json: str, name: str, base: Mapping[str, Any]
) -> RowDraft | Sequence[Fault]:
    """Return the form of a placement that was written as JSON; what is wrong with it where it is none."""
    faults: list[Fault] = []
    spec = await _checked(visit, view, name, json, faults)
    if spec is None:
        return [Fault(pointer=f"/json{each.pointer or ''}", detail=_placed(each)) for each in faults]
    return replace(await written(visit, view, name, spec.members), base=base, spec=spec)


def _placed(fault: Fault) -> str:
    return f"{fault.pointer}: {fault.detail}" if fault.pointer else fault.detail


async def _checked(
    visit: Visit, view: View, name: str, given: Mapping[str, Any] | str, faults: list[Fault]
) -> PlacementSpec | None:
    """Return the placement that is given, by the interface's own readers and rules; ``None`` with its faults noted."""
    body = given.encode(errors="replace") if isinstance(given, str) else encode(given)
    in_thread, count = visit.services.database.in_thread, len(faults)
    problem = placement_problem(name)
    # A new row may be looked at before it has a name.
    if problem and (name or visit.form.text("do") != "show"):
        faults.append(Fault(pointer="/name", detail=problem))
    try:
        spec = await in_thread(decode_placement, body)
        check_filters(spec, view.settings)
        await in_thread(check_quotas, view, spec, visit.services.lists.now(view))
    except PenchantError as error:
        faults.extend(error.faults or [Fault(detail=error.detail)])
        return None
    return spec if len(faults) == count else None


def _decoded(text: str) -> dict[str, Any] | None:
    """Return the members of the row that a form was made from; ``None`` for what is no row."""
    try:
        return dict(decode_placement(text.encode(errors="replace")).members)
    except PenchantError:
        return None


def _begun(texts: Texts, base: Mapping[str, Any]) -> Texts:
    """Return texts whose rotation comes and goes with the kind of a new row, as long as nobody chose another."""
    if base != NEW:
        return texts
    begun = [encode(NEW["rotation"]).decode()]
    if texts.get("rotation", begun) != begun:
        return texts
    is_used = takes_part(PLACEMENT.members["rotation"], kinds_in(texts))
    return {**texts, "rotation": begun if is_used else []}


def _without_removed(texts: Texts, removed: str) -> Texts:
    """Return texts without one row of a member, named as ``pins.2``."""
    key, _, row = removed.rpartition(".")
    if not key or not row.isdecimal():
        return texts
    number = int(row[:6])
    return {
        name: [*values[:number], *values[number + 1 :]] if name.startswith(f"{key}.") else values
        for name, values in texts.items()
    }


def pretty(members: Mapping[str, Any]) -> str:
    """Return a placement as JSON that people read."""
    return msgspec.json.format(encode(members), indent=2).decode()


async def rows_view(visit: Visit) -> View:
    """Return the source that a page of rows is about; raises as `Visit.view`, and where the plan has no placements."""
    view = await visit.view()
    visit.services.access.require(visit.access, Feature.PLACEMENTS)
    return view


async def _stale(visit: Visit, view: View) -> PageAnswer:
    """Show a form whose row somebody else has changed meanwhile: with all that was typed, and what is theirs."""
    draft = await read_row_form(visit, view)
    history = await _history(visit, view, draft.name)
    return await shown_row(visit, view, draft, status=409, theirs=history.versions[0] if history.versions else None)


async def _history(visit: Visit, view: View, name: str) -> PlacementHistory[str]:
    try:
        return await row_services(visit).placements.versions(view, name)
    except UnknownPlacement:
        return PlacementHistory(versions=[])


async def shown_row(  # what differs between the answers to a form
    visit: Visit,
    view: View,
    draft: RowDraft,
    *,
    status: int = 200,
    said: str = "",
    theirs: PlacementVersion[str] | None = None,
) -> PageAnswer:
    """Show a row as a form, beside its list for a person as it is and as it would be."""
    name, form = draft.name, visit.form
    history = await _history(visit, view, name)
    live = history.versions[0].placement if history.versions else {}
    stopped: Collection[str] = ()
    if name in placements_of(view):
        in_force = await row_services(visit).placements.in_force(view, name)
        stopped = row_services(visit).lists.guard.stopped(view.head, in_force)
    tried = {"as": form.text("as").strip(), "beside": form.text("beside").strip(), "in": form.text("in").strip()}
    values: dict[str, Any] = {
        "source": view.head.name,
        "name": name,
        "draft": draft,
        "sections": described(draft.texts, draft.faults, draft.places, kept(draft.members, draft.context)),
        "loose": unplaced([each for each in draft.faults if not _is_elsewhere(each)]),
        "name_faults": [each.detail for each in draft.faults if each.pointer == "/name"],
        "json_faults": [each.detail for each in draft.faults if (each.pointer or "").startswith("/json")],
        "base": encode(draft.base).decode(),
        "json_seen": draft.json_seen or body_tag(draft.json.encode(errors="replace")),
        "kinds": KIND_WORDS,
        "choices": _row_choices(view),
        "blend_labels": {column: BLEND.members[part].label for column, part in BLEND_COLUMNS.items()},
        # What the form was made from: that of a form which is shown again stays, so that no change is lost to it.
        "seen": form.text("seen") or placements_of(view).get(name, 0),
        "is_live": bool(history.versions),
        "versions": history.versions[:MAX_VERSIONS],
        "most_versions": MAX_PLACEMENT_VERSIONS,
        "differences": difference_in_words(live, draft.members, LABELS) if history.versions else [],
        "changed_by": _changes(history.versions[: MAX_VERSIONS + 1]),
        "stopped": sorted(stopped),
        "tried": tried,
        "people": await _some_people(visit, view),
        "titles": await visit.titles(view),
        "preview": await _preview(visit, view, draft, tried),
        "theirs": theirs,
        "who": partial(who, visit),
        "own_draft": await draft_called(visit, own_draft(visit, name)) if name else None,
        "opened_draft": visit.text("draft") or form.text("into"),
        "drafts": [(each.name, each.title or each.name) for each in await open_drafts(visit)],
        "four_eyes": view.settings.of(RowSettings).four_eyes,
        "undo": _undo(history.versions) if said == "saved" else {},
        "notice": None,
        "said": _SAID.get(said, ""),
    }
    return PageAnswer(template="placement.html", values=values, status=status)


def _is_elsewhere(fault: Fault) -> bool:
    """Return whether a fault is about the name of a row, or its JSON, beside which it is told."""
    return (fault.pointer or "").startswith(("/name", "/json"))


def _row_choices(view: View) -> dict[str, list[tuple[str, str]]]:
    """Return what may be chosen in the lines of builders, by the name of the field."""
    as_else = [("", "As the row"), ("null", AS_SOURCE)]
    return {
        "attribute": [("", "…"), *((key, key) for key in view.settings.attributes)],
        "condition": [*CONDITIONS.items()],
        "kind": [("", "As the row"), *((kind.value, words.name) for kind, words in KIND_WORDS.items())],
        "diversity": [*as_else, *step_options("diversity")],
        "rotation": [*as_else, *step_options("rotation")],
    }


def _undo(versions: Sequence[PlacementVersion[str]]) -> dict[str, Any]:
    """Return the fields of a form that leads back to what was before the newest version."""
    shared = {"name": versions[0].name, "seen": versions[0].version} if versions else {}
    step = {"back": versions[1].version} if len(versions) > 1 else {"do": "delete"}
    return shared | step if versions else {}


def _changes(versions: Sequence[PlacementVersion[str]]) -> dict[int, list[str]]:
    """Return what each version changed of the one before it, in words."""
    older: list[Any] = [*(each.placement for each in versions[1:]), None][: len(versions)]
    return {
        each.version: ["made"] if before is None else difference_in_words(before, each.placement, LABELS)
        for each, before in zip(versions, older, strict=True)
    }


async def _some_people(visit: Visit, view: View) -> list[str]:
    """Return some people who did something lately; none where the plan lists nobody."""
    if not visit.may(Feature.INTERACTIONS_LISTING):
        return []
    return await visit.services.search.people(view, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPreview:
    """A row before and after: the list of a person, how many pieces it may show, and what cannot be met."""

    comparison: ListComparison
    cards: Mapping[str, Any]
    fitting: int
    unmet: Sequence[str]
    variant: str


async def _preview(
    visit: Visit, view: View, draft: RowDraft, tried: Mapping[str, str]
) -> PageSection[RowPreview] | None:
    """Return the list of a person under the row in force and under the form's; ``None`` where that is none."""
    given: Mapping[str, Any] | None = draft.spec.members if draft.spec is not None else None
    if given is None and not draft.faults:
        given = draft.members
    if given is None:
        return None
    beside = draft.context.ids.get(tried["beside"], tried["beside"])
    if beside and beside not in view.snapshot:
        found = await context_of(visit.services.browsing, view, {}, {"pins.piece": [beside]})
        beside = found.ids.get(beside, beside)
    wish = {
        "name": draft.name or "new",
        "placement": given,
        "take": SHOWN,
        "users": [tried["as"]] if tried["as"] else [],
        "content": beside or None,
        "variant": tried["in"] or None,
    }
    return await section(visit, lambda: _made_preview(visit, view, wish), counted=1)


async def _made_preview(visit: Visit, view: View, wish: Mapping[str, Any]) -> RowPreview:
    decoded = decode_placement_preview(encode(wish))
    (made,) = (await row_services(visit).previews.preview(view, decoded)).lists
    previewed = PreviewedList(id=made.user_id or "", before=[*made.before], after=[*made.after], moves=made.moves)
    ids = [each.id for each in (*made.before, *made.after)]
    cards = await visit.cards(view, ids)
    labels = {each.id: each.title for each in cards.values()}
    fitting = await visit.services.database.in_thread(_fitting, view, decoded.spec, visit.services.lists.now(view))
    return RowPreview(
        comparison=rows_of(previewed, labels, made.user_id or STRANGER),
        cards=cards,
        fitting=fitting,
        unmet=[f"{each.rule.removeprefix('/')}: {each.why}" for each in made.unmet or ()],
        variant=made.variant_after,
    )


def _fitting(view: View, spec: PlacementSpec, now: int) -> int:
    """Return how many pieces may stand in a row by its catalogs and conditions, now."""
    rules = spec.rules
    matching = None if rules.filter is None else read_filter(rules.filter, view.settings)
    shown = Filter(moment=now, catalogs=rules.catalogs, matching=matching)
    return sum(int(part.allowed(shown).sum()) for part in view.snapshot.parts)
