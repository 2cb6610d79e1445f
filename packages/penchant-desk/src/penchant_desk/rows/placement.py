"""Handlers of rows: which there are, one as a form beside what it shows to a person, stored, led back, deleted."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from penchant_client import ServiceError, flows, operations
from penchant_client.records import PlacementPreview, Settings
from penchant_client.requests import encode, request_of
from penchant_desk.changes import names_of_people
from penchant_desk.comparing import SHOWN, ComparedList, rows_of
from penchant_desk.drafts import JSON, OPEN, draft_called, keep_in_draft, needs_review, own_draft
from penchant_desk.pieces import PieceTile, piece_tiles
from penchant_desk.problems import PageProblem
from penchant_desk.requests import FormFault
from penchant_desk.rows.choices import condition_choices
from penchant_desk.rows.clauses import CONDITIONS
from penchant_desk.rows.described import AS_SOURCE, described, kinds_in, step_options, unplaced
from penchant_desk.rows.fields import (
    BLEND_COLUMNS,
    FormContext,
    Texts,
    begun_last,
    kept,
    read_fields,
    with_choices,
    write_fields,
)
from penchant_desk.rows.members import BLEND, LABELS, MEMBERS
from penchant_desk.rows.naming import context_of, name_of_row
from penchant_desk.rows.stored import (
    list_versions,
    or_none,
    propose_row,
    put_row,
    rows_and_settings,
    version_of,
)
from penchant_desk.rows.trends import RowTrend, row_trends
from penchant_desk.rows.words import (
    KIND_WORDS,
    difference_in_words,
    kind_words,
    new_row_in_words,
    unmet_words,
    used_by_words,
)
from penchant_desk.site import DeskPage, PageVisit, Redirect, Section, faults_of

NEW: Mapping[str, Any] = {"kind": "recommendations", "rotation": 0.1, "fallback": "popular"}
"""What a new row begins with: no variant, since nobody has asked for an experiment."""
STRANGER = "a stranger"
MAX_ROWS = 100
"""Rows of a source."""
STORING = frozenset({"publish", "draft", "compare", "schedule"})
"""What keeps a row: all that was begun in its form has to be finished then."""
MAX_PEOPLE = 50
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
class RowForm:
    """A row as its form has it: texts, what they say, what is wrong, and the row that the form was made from.

    ``preview`` is what is shown of it, ``None`` where that has not been asked for or cannot be.
    """

    name: str
    base: Mapping[str, Any]
    texts: Texts
    members: Mapping[str, Any]
    context: FormContext
    json: str
    json_seen: str = ""
    places: Mapping[str, Sequence[str]] = field(default_factory=dict)
    faults: Sequence[FormFault] = ()
    preview: Section | None = None


async def placements(visit: PageVisit) -> DeskPage:
    """Show the rows of a source."""
    (rows, settings), who, trends = await asyncio.gather(
        rows_and_settings(visit), names_of_people(visit), row_trends(visit)
    )
    values = {
        "source": visit.source,
        "trends": trends,
        "rows": [(each, kind_words(each["placement"]["kind"])) for each in rows.values()],
        "most": MAX_ROWS,
        "who": who,
        "zone": visit.zone(settings.time_zone),
        "notice": _SAID.get(visit.text("said")),
    }
    return DeskPage(template="placements.html", values=values)


class _RowPage:
    """A request for the page of a row, with the rows and the settings of its source."""

    def __init__(self, visit: PageVisit, rows: Mapping[str, Any], settings: Settings) -> None:
        self._visit, self._rows, self._settings = visit, rows, settings
        form = visit.form
        self._tried = {name: form.text(name).strip() for name in ("as", "beside", "in")}

    async def show(self) -> DeskPage:
        """Show a row as a form; without a name a new one."""
        visit, name = self._visit, self._visit.text("name")
        members = self._rows[name]["placement"] if name in self._rows else NEW
        draft = await draft_called(visit, visit.text("draft"))
        drafted = ((draft or {}).get("placements") or {}).get(name)
        if drafted is None and name and name not in self._rows:
            raise PageProblem(404, "unknown-placement", "No such placement", f"The source has no row {name!r}.")
        form = await self._checked(await self._written(name, members if drafted is None else drafted))
        return await self._shown(replace(form, faults=()), said=visit.text("said"))

    async def _written(self, name: str, members: Mapping[str, Any]) -> RowForm:
        """Return a row as a form that nobody has changed yet."""
        context = await context_of(self._visit, self._settings, members, {})
        texts = write_fields(members, context)
        places = read_fields(texts, members, context).places
        json = pretty(members)
        return RowForm(name=name, base=members, texts=texts, members=members, context=context, json=json, places=places)

    async def change(self) -> DeskPage | Redirect:
        """Show a form anew with what was added or taken away, publish it, or delete a row or lead it back."""
        form = self._visit.form
        name, do = self._name(), form.text("do")
        lasting = do in {"publish", "delete"} or form.text("back")
        if lasting and form.text("seen") != str(version_of(self._rows, name)):
            return await self._stale()
        if do == "delete" or form.text("back").isdecimal():
            return await self._remove_or_lead_back(name)
        row = await self._read()
        if do not in STORING or not name or row.faults:
            row = row if row.preview is not None or row.faults else await self._checked(row)
            return await self._shown(row, status=422 if row.faults else 200)
        # Where nobody publishes alone, what was to be published is a draft.
        if do != "publish" or needs_review(self._visit, self._settings):
            return await self._keep(row)
        try:
            await self._visit.client.send(put_row(self._visit.source, name, row.members))
        except ServiceError as error:
            faults = _row_faults(error, "")
            # A preview says first what is wrong with the name.
            named = [each for each in (await self._checked(row)).faults if each.pointer == "/name"]
            return await self._faulty(row, [*faults, *(each for each in named if each not in faults)])
        await self._forget_own_draft(name)
        return Redirect(path=self._visit.link("placement", source=self._visit.source, name=name, said="saved"))

    def _name(self) -> str:
        """Return the name of the row; one that is stored without gets one of its title."""
        form = self._visit.form
        if name := form.text("name").strip():
            return name
        return name_of_row(form.text("title"), self._rows) if form.text("do") in STORING else ""

    async def _faulty(self, row: RowForm, faults: Sequence[FormFault]) -> DeskPage:
        return await self._shown(replace(row, faults=faults, preview=None), status=422)

    async def _keep(self, row: RowForm) -> DeskPage | Redirect:
        """Keep a row in a draft; then show it, or lead to the proposal that it is part of, or is to be compared as."""
        visit, form, name = self._visit, self._visit.form, row.name
        do, title = form.text("do"), f"Row {row.members.get('title') or name}"[:200]
        into = form.text("into") or own_draft(visit, name)
        try:
            saved = await keep_in_draft(visit, into, {"title": title, "placements": {name: row.members}})
        except ServiceError as error:
            place = name.replace("~", "~0").replace("/", "~1")
            return await self._faulty(row, _row_faults(error, f"/placements/{place}"))
        try:
            if do == "schedule":
                at = visit.moment_in(form.text("at")).isoformat()
                await visit.client.send(flows.schedule_draft(visit.source, into, at, revision=saved["revision"]))
        except PageProblem as error:
            return await self._shown(await self._refused(row, [f"at: {error.detail}"]), status=422)
        except ServiceError as error:
            return await self._shown(await self._refused(row, faults_of(error)), status=422)
        if do == "draft" and into == own_draft(visit, name):
            return Redirect(path=visit.link("placement", source=visit.source, name=name, draft=into, said="drafted"))
        said, look = "scheduled" if do == "schedule" else "saved", 1 if do == "compare" else None
        return Redirect(path=visit.link("proposal", source=visit.source, name=into, said=said, look=look))

    async def _refused(self, row: RowForm, details: Sequence[str]) -> RowForm:
        return replace(await self._checked(row), faults=[FormFault(detail=each) for each in details])

    async def _remove_or_lead_back(self, name: str) -> Redirect:
        """Delete a row, or put an earlier version of it in force; in a draft where nobody publishes alone."""
        visit, is_deleted = self._visit, self._visit.form.text("do") == "delete"
        version = 0 if is_deleted else int(visit.form.text("back")[:18])
        if needs_review(self._visit, self._settings):
            return await propose_row(visit, name, None if is_deleted else await self._earlier(name, version))
        if is_deleted:
            await visit.client.send(operations.delete_placement(visit.source, name))
            return Redirect(path=visit.link("placements", source=visit.source, said="deleted"))
        await visit.client.send(flows.roll_back_placement(visit.source, name, version=version))
        return Redirect(path=visit.link("placement", source=visit.source, name=name, said="back"))

    async def _earlier(self, name: str, version: int) -> Mapping[str, Any]:
        for each in await self._versions(name):
            if each["version"] == version:
                found: Mapping[str, Any] = each["placement"]
                return found
        detail = f"The placement has no version {version}."
        raise PageProblem(404, "unknown-placement", "No such placement", detail)

    async def _versions(self, name: str) -> Sequence[Mapping[str, Any]]:
        if name not in self._rows:
            return ()
        history = await or_none(self._visit, list_versions(self._visit.source, name), "unknown-placement")
        return () if history is None else history["versions"]

    async def _forget_own_draft(self, name: str) -> None:
        """Delete the draft that an editor had of a row which is published now, if it edits nothing else."""
        draft = await draft_called(self._visit, own_draft(self._visit, name)) or {}
        edited = {"settings", "blacklist", "whitelist", "content"} & draft.keys()
        if not edited and list(draft.get("placements", ())) == [name]:
            await self._visit.client.send(operations.delete_draft(self._visit.source, draft["name"]))

    async def _read(self) -> RowForm:
        """Return the row that a form says, with what is wrong with it as a form."""
        form = self._visit.form
        base = _decoded(form.text("base")) or {}
        texts = with_choices(_begun(_without_removed(form.fields, form.text("remove")), base))
        shown, texts = (texts, texts) if form.text("do") in STORING else begun_last(texts)
        json, name = form.text("json"), self._name()
        context = await context_of(self._visit, self._settings, base, texts)
        read = read_fields(texts, base, context)
        row = RowForm(
            name=name,
            base=base,
            texts=shown,
            members=read.members,
            context=context,
            json=pretty(read.members),
            places=read.places,
            faults=list(read.faults),
        )
        if not json or _tag(json) == form.text("json-seen"):
            return replace(row, json=json, json_seen=form.text("json-seen")) if row.faults else row
        # Unless it was taken over, a change of the JSON goes on being one.
        typed = replace(row, json=json, json_seen=form.text("json-seen"))
        if _tag(pretty(read.members)) != form.text("json-seen") and form.text("do") != "json":
            return replace(typed, faults=[*row.faults, FormFault(pointer="/json", detail=_BOTH)])
        return await self._taken_over(typed)

    async def _taken_over(self, typed: RowForm) -> RowForm:
        """Return the form of a row that was written as JSON; what is wrong with it where it is none."""
        preview = await self._preview(typed.name, typed.json.encode(errors="replace"), typed.context)
        members = _decoded(typed.json)
        if isinstance(preview, Section) and members is not None:
            given = {key: members[key] for key in MEMBERS if members.get(key) is not None}
            return replace(await self._written(typed.name, given), base=typed.base, preview=preview)
        faults = () if isinstance(preview, Section) else preview
        told = [FormFault(pointer=f"/json{each.pointer or ''}", detail=_placed(each)) for each in faults]
        return replace(typed, faults=told)

    async def _checked(self, row: RowForm) -> RowForm:
        """Return a form with what the interface says of its row: a preview of it, or what is wrong."""
        found = await self._preview(row.name, encode(row.members), row.context)
        if isinstance(found, Section):
            return replace(row, preview=found)
        return replace(row, faults=[*row.faults, *found])

    async def _preview(self, name: str, members: bytes, context: FormContext) -> Section | Sequence[FormFault]:
        """Return the list of a person under the row in force and under another; what is wrong with that one."""
        visit, tried = self._visit, self._tried
        beside = context.ids.get(tried["beside"], tried["beside"])
        if beside and beside not in context.names:
            found = await context_of(visit, self._settings, {}, {"pins.piece": [beside]})
            beside = found.ids.get(beside, beside)
        # A new row may be looked at before it has a name.
        called = name or ("new" if visit.form.text("do") not in STORING else "")
        wish = {
            "take": SHOWN,
            "users": [tried["as"]] if tried["as"] else [],
            "content": beside or None,
            "variant": tried["in"] or None,
            "name": called,
        }
        try:
            msgspec.json.decode(members)
            body = b'{"placement":' + members + b"," + encode(wish)[1:]
        except msgspec.DecodeError:
            # As it is, so that what is wrong with it is said in the interface's words.
            body = members
        template = "/{source}/preview/placement"
        try:
            made = await visit.client.send(request_of("POST", template, PlacementPreview, visit.source, body=body))
        except ServiceError as error:
            faults = _row_faults(error, "/placement")
            is_of_row = error.code == "invalid-syntax" or any(each.pointer is not None for each in faults)
            if error.code in {"invalid-syntax", "invalid-input"} and is_of_row:
                return faults
            if error.status >= 500:
                raise
            return Section(faults=faults_of(error))
        return Section(value=await self._preview_values(made, msgspec.json.decode(members)))

    async def _preview_values(self, made: PlacementPreview, members: Mapping[str, Any]) -> "RowComparison":
        (listed,) = made.lists
        cards = await piece_tiles(self._visit, self._settings, [each.id for each in (*listed.before, *listed.after)])
        labels = {each.id: each.title for each in cards.values()}
        return RowComparison(
            comparison=rows_of(listed.user_id or "", listed, labels, listed.user_id or STRANGER),
            cards=cards,
            fitting=made.fitting,
            unmet=[unmet_words(members, listed.variant_after, each.rule, each.why) for each in listed.unmet or ()],
            variant=listed.variant_after,
        )

    async def _stale(self) -> DeskPage:
        """Show a form whose row somebody else has changed meanwhile: with all that was typed, and what is theirs."""
        row = await self._read()
        if not row.faults and row.preview is None:
            row = await self._checked(row)
        versions = await self._versions(row.name)
        return await self._shown(row, status=409, theirs=versions[0] if versions else None)

    async def _stopped(self, name: str) -> Sequence[str]:
        """Return the variants of a row that are stopped."""
        if name not in self._rows or not self._rows[name]["placement"].get("variants"):
            return ()
        return (await self._visit.client.send(flows.placement_results(self._visit.source, name))).stopped

    async def _trend(self, name: str) -> RowTrend | None:
        """Return how a row fares, where its page is opened; a form that is sent again and again counts nothing."""
        is_opened = name in self._rows and self._visit.request.method != "POST"
        return (await row_trends(self._visit)).get(name) if is_opened else None

    async def _people(self) -> Sequence[str]:
        """Return some people who did something lately; none where the plan lists nobody."""
        if not self._visit.may("interactionsListing"):
            return ()
        request = operations.search(self._visit.source, kind="person", limit=MAX_PEOPLE)
        return (await self._visit.client.send(request)).users or ()

    def _introduction(self, row: RowForm) -> list[str]:
        """Return what a row is that is not in force yet, in words; nothing where it cannot be shown."""
        if row.preview is None or row.preview.faults:
            return []
        return new_row_in_words(row.members, self._tried["as"] or STRANGER)

    async def _shown(
        self, row: RowForm, *, status: int = 200, said: str = "", theirs: Mapping[str, Any] | None = None
    ) -> DeskPage:
        """Show a row as a form, beside its list for a person as it is and as it would be."""
        visit, name, form = self._visit, row.name, self._visit.form
        if row.faults and row.preview is None:
            # The JSON stays as it was typed until the fields say a row.
            row = replace(row, json=form.text("json") or row.json, json_seen=form.text("json-seen"))
        versions, stopped, people, who, trend, listing, titles, conditions = await asyncio.gather(
            self._versions(name),
            self._stopped(name),
            self._people(),
            names_of_people(visit),
            self._trend(name),
            visit.client.send(request_of("GET", "/{source}/drafts", JSON, visit.source)),
            visit.client.send(operations.list_titles(visit.source)),
            condition_choices(visit, self._settings, row.texts),
        )
        live = versions[0]["placement"] if versions else {}
        waiting = [each for each in listing["drafts"] if each["state"] in OPEN]
        own = own_draft(visit, name)
        values: dict[str, Any] = {
            "source": visit.source,
            "name": name,
            "draft": row,
            "sections": described(row.texts, row.faults, row.places, kept(row.members, row.context)),
            "loose": unplaced([each for each in row.faults if not _is_elsewhere(each)]),
            "name_faults": [each.detail for each in row.faults if each.pointer == "/name"],
            "json_faults": [each.detail for each in row.faults if (each.pointer or "").startswith("/json")],
            "base": encode(row.base).decode(),
            "json_seen": row.json_seen or _tag(row.json),
            "kinds": {**KIND_WORDS, **{each: kind_words(each) for each in row.texts.get("kind", ())}},
            "choices": _row_choices(),
            "conditions": conditions,
            "blend_labels": {column: BLEND[part] for column, part in BLEND_COLUMNS.items()},
            # What the form was made from: that of one which is shown again stays, so that no change is lost to it.
            "seen": form.text("seen") or version_of(self._rows, name),
            "is_live": bool(versions),
            "differences": difference_in_words(live, row.members, LABELS) if versions else [],
            "stopped": sorted(stopped),
            "tried": self._tried,
            "people": people,
            "trend": trend,
            "opened": form.all("open"),
            "titles": [each.label for each in titles.titles],
            "preview": row.preview,
            "introduction": [] if versions else self._introduction(row),
            "theirs": theirs,
            "who": who,
            "zone": row.context.zone,
            "own_draft": next((each for each in waiting if name and each["name"] == own), None),
            "opened_draft": visit.text("draft") or form.text("into"),
            "drafts": [(each["name"], each.get("title") or each["name"]) for each in waiting],
            "four_eyes": needs_review(self._visit, self._settings),
            "undo": _undo(versions) if said == "saved" else {},
            "notice": None,
            "said": _SAID.get(said, ""),
        }
        return DeskPage(template="placement.html", values=values, status=status)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowComparison:
    """A row before and after: the list of a person, how many pieces it may show, and what cannot be met."""

    comparison: ComparedList
    cards: Mapping[str, PieceTile]
    fitting: int
    unmet: Sequence[str]
    variant: str


async def placement(visit: PageVisit) -> DeskPage:
    """Show a row as a form; without a name a new one."""
    return await _RowPage(visit, *await rows_and_settings(visit)).show()


async def change_placement(visit: PageVisit) -> DeskPage | Redirect:
    """Show a form anew with what was added or taken away, publish it, or delete a row or lead it back."""
    return await _RowPage(visit, *await rows_and_settings(visit)).change()


def _row_faults(error: ServiceError, where: str) -> list[FormFault]:
    """Return what the interface says is wrong with a row at a place of a body, or with its name.

    Raises:
        ServiceError: it is about something else.
    """
    if error.code == "invalid-syntax":
        return [FormFault(detail=error.detail)]
    if error.code != "invalid-input":
        if where == "/placement":
            return [FormFault(detail=error.detail)]
        raise error
    found = []
    for each in error.errors:
        pointer = each.pointer or ""
        if each.parameter == "name" or pointer == "/name":
            found.append(FormFault(pointer="/name", detail=each.detail))
        elif pointer == where and "can be called so" in each.detail:
            found.append(FormFault(pointer="/name", detail=each.detail.partition(": ")[2]))
        elif pointer.startswith(where):
            found.append(FormFault(pointer=pointer.removeprefix(where), detail=used_by_words(each.detail)))
        else:
            found.append(FormFault(detail=each.detail))
    return found


def _tag(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=12).hexdigest()


def _placed(fault: FormFault) -> str:
    return f"{fault.pointer}: {fault.detail}" if fault.pointer else fault.detail


def _decoded(text: str) -> dict[str, Any] | None:
    """Return the members of the row that a form was made from; ``None`` for what is no object."""
    try:
        return msgspec.json.decode(text.encode(errors="replace"), type=dict[str, Any])
    except msgspec.DecodeError:
        return None


def _begun(texts: Texts, base: Mapping[str, Any]) -> Texts:
    """Return texts whose rotation comes and goes with the kind of a new row, as long as nobody chose another."""
    if base != NEW:
        return texts
    begun = [encode(NEW["rotation"]).decode()]
    if texts.get("rotation", begun) != begun:
        return texts
    is_used = MEMBERS["rotation"].takes_part(kinds_in(texts))
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


def _is_elsewhere(fault: FormFault) -> bool:
    """Return whether a fault is about the name of a row, or its JSON, beside which it is told."""
    return (fault.pointer or "").startswith(("/name", "/json"))


def _row_choices() -> dict[str, list[tuple[str, str]]]:
    """Return what may be chosen in the lines of builders, by the name of the field."""
    as_else = [("", "As the row"), ("null", AS_SOURCE)]
    return {
        "condition": [*CONDITIONS.items()],
        "kind": [("", "As the row"), *((kind, words.name) for kind, words in KIND_WORDS.items())],
        "diversity": [*as_else, *step_options("diversity")],
        "rotation": [*as_else, *step_options("rotation")],
    }


def _undo(versions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields of a form that leads back to what was before the newest version."""
    shared = {"name": versions[0]["name"], "seen": versions[0]["version"]} if versions else {}
    step = {"back": versions[1]["version"]} if len(versions) > 1 else {"do": "delete"}
    return shared | step if versions else {}
