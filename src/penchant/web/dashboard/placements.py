"""Handlers of placements: which there are, one as JSON, with a variant added, tried on people, stored, led back."""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from penchant.errors import Fault, InvalidInput, PenchantError, UnknownPlacement
from penchant.live.views import View
from penchant.model import Feature, PlacementKind
from penchant.service.placements.lists import check_quotas
from penchant.web.dashboard.comparing import MAX_COMPARED, SHOWN, ListComparison, lines_of, rows_of
from penchant.web.dashboard.forms import Form, number_in
from penchant.web.dashboard.site import DashboardSite, PageAnswer, PageSection, RedirectAnswer, Visit, section
from penchant.wire import (
    MAX_PLACEMENT_VERSIONS,
    MAX_PLACEMENTS,
    PlacementHistory,
    PreviewedList,
    check_filters,
    decode_placement,
    decode_placement_preview,
    encode,
    encode_placement,
    placement_problem,
)

BLEND = ("content", "audience", "popularity")
_NUMBERS = ("diversity", "rotation")
FIELDS = ("variant-name", "variant-share", "variant-kind", *(f"variant-{name}" for name in (*BLEND, *_NUMBERS)))
KINDS = list(PlacementKind)


def with_variant(draft: str, form: Form) -> str:
    """Return the JSON of a placement with the variant of a form as its last one.

    Through the interface's own reader before and after, so that a page accepts no more than it does.

    Raises:
        InvalidSyntax, InvalidInput: the placement was none, or is none with this variant.
    """
    members = dict(decode_placement(draft.encode(errors="replace")).members)
    members["variants"] = [*(members.get("variants") or []), _variant(form)]
    body = encode(members)
    decode_placement(body)
    return msgspec.json.format(body, indent=2).decode()


def _variant(form: Form) -> Mapping[str, Any]:
    """Return the variant in a form by the names of the interface; a field that is left blank is not given."""
    share = number_in(form.text("variant-share"))
    given: dict[str, Any] = {
        "name": form.text("variant-name").strip(),
        # Of what is no number the reader says so.
        "share": share if isinstance(share, str) else round(share / 100, 6),
    }
    if kind := form.text("variant-kind"):
        given["kind"] = kind
    blend = form.numbers(BLEND, "variant-")
    return given | ({"blend": blend} if blend else {}) | form.numbers(_NUMBERS, "variant-")


EXAMPLE = """{
  "kind": "recommendations",
  "fallback": "popular",
  "variants": [{"name": "mixed", "share": 0.1, "diversity": 0.4}]
}"""
_SAID = {
    "saved": "The placement is saved; the next request goes by it.",
    "back": "The earlier version is in force again.",
    "deleted": "The placement is deleted.",
}
_ADDED = "The variant is in the placement below, which is not saved yet. Its preview is ready to be asked for."
_STALE = "The placement was changed by somebody else since this page was made. Nothing was saved."


async def placements(visit: Visit) -> PageAnswer:
    """Show the placements of a source."""
    view = await _view(visit)
    listing = await visit.services.placements.listing(view)
    values = {
        "source": view.head.name,
        "placements": listing.placements,
        "most": MAX_PLACEMENTS,
        "notice": _SAID.get(visit.text("said")),
    }
    return PageAnswer(template="placements.html", values=values)


async def placement(visit: Visit) -> PageAnswer:
    """Show a placement as JSON with its versions; without a name an example of one."""
    view, name = await _view(visit), visit.text("name")
    draft = EXAMPLE
    if name:
        in_force = await visit.services.placements.in_force(view, name)
        draft = msgspec.json.format(encode_placement(in_force.spec), indent=2).decode()
    return await _page(visit, view, name, draft, notice=_SAID.get(visit.text("said")))


async def change_placement(visit: Visit, site: DashboardSite) -> PageAnswer | RedirectAnswer:
    """Try a placement on some people, store it, delete it, or lead back to an earlier version."""
    view, form = await _view(visit), visit.form
    name, do = form.text("name").strip(), form.text("do")
    if do not in {"preview", "add"} and form.text("seen") != str(view.placements.get(name, 0)):
        return await _page(visit, view, name, form.text("draft"), faults=[Fault(detail=_STALE)], status=409)
    if do == "delete":
        await visit.services.placements.delete(visit.access, visit.source, name)
        return RedirectAnswer(path=site.link("placements", source=visit.source, said="deleted"))
    if form.text("back").isdecimal():
        await visit.services.placements.roll_back(visit.access, visit.source, name, int(form.text("back")[:18]))
        return RedirectAnswer(path=site.link("placement", source=visit.source, name=name, said="back"))
    return await _drafted(visit, view, name, site)


async def _drafted(visit: Visit, view: View, name: str, site: DashboardSite) -> PageAnswer | RedirectAnswer:
    """Add a variant to a draft, try the draft on some people, or store it; where it cannot be, say why."""
    form = visit.form
    draft, do = form.text("draft"), form.text("do")
    try:
        if do == "add":
            draft = await visit.services.database.in_thread(with_variant, draft, form)
            return await _page(
                visit,
                view,
                name,
                draft,
                notice=_ADDED,
                variant=dict.fromkeys(FIELDS, ""),
                tried=_tried(form, added=True),
            )
        # Through the interface's own readers, whose faults the page shows.
        spec = await visit.services.database.in_thread(decode_placement, draft.encode(errors="replace"))
        check_filters(spec, view.settings.attributes)
        now = visit.services.lists.now(view)
        await visit.services.database.in_thread(check_quotas, view, spec, now)
        if problem := placement_problem(name):
            raise InvalidInput(problem, faults=[Fault(pointer="name", detail=problem)])
    except PenchantError as error:
        return await _page(visit, view, name, draft, faults=error.faults or [Fault(detail=error.detail)], status=422)
    if do != "save":
        wish = {"name": name, "placement": spec.members, "take": SHOWN}
        return await _page(visit, view, name, draft, preview=await _previewed(visit, view, wish))
    await visit.services.placements.put(visit.access, visit.source, name, spec)
    return RedirectAnswer(path=site.link("placement", source=visit.source, name=name, said="saved"))


def _tried(form: Form, *, added: bool = False) -> dict[str, str]:
    """Return for whom a form previews what, and in which variant: one that was just added is the one to look at."""
    variant = form.text("variant-name").strip() if added else form.text("variant")
    return {"users": form.text("users"), "content": form.text("content"), "variant": variant}


async def _previewed(visit: Visit, view: View, wish: dict[str, Any]) -> PageSection[list[ListComparison]]:
    """Return the lists of the people whom a form names, or of nobody, as they are and as they would be."""
    users = lines_of(visit.form.text("users"))
    content, variant = visit.form.text("content").strip(), visit.form.text("variant").strip()
    if len(users) > MAX_COMPARED:
        return PageSection(faults=[f"Found {len(users)} people; up to {MAX_COMPARED} are compared."])
    wish |= {"users": users, "content": content or None, "variant": variant or None}
    return await section(visit, lambda: _comparison(visit, view, wish), counted=len(users) or 1)


async def _comparison(visit: Visit, view: View, wish: dict[str, Any]) -> list[ListComparison]:
    preview = await visit.services.placement_previews.preview(view, decode_placement_preview(encode(wish)))
    ids = list({piece.id for each in preview.lists for piece in (*each.before, *each.after)})
    labels, pictures = await visit.services.browsing.labels(view, ids), await visit.pictures(view, ids)
    return [
        rows_of(
            PreviewedList(id=each.user_id or "", before=[*each.before], after=[*each.after], moves=each.moves),
            labels,
            f"{each.user_id or 'nobody in particular'}, variant {each.variant_after}",
            pictures,
        )
        for each in preview.lists
    ]


async def _view(visit: Visit) -> View:
    view = await visit.view()
    visit.services.access.require(visit.access, Feature.PLACEMENTS)
    return view


async def _page(visit: Visit, view: View, name: str, draft: str, *, status: int = 200, **more: Any) -> PageAnswer:
    try:
        history = await visit.services.placements.versions(view, name)
    except UnknownPlacement:
        history = PlacementHistory(versions=[])
    stopped: Collection[str] = ()
    if name in view.placements:
        placement = await visit.services.placements.in_force(view, name)
        stopped = visit.services.placement_lists.guard.stopped(view.head, placement)
    form = visit.form
    values: dict[str, Any] = {
        "source": view.head.name,
        "name": name,
        "draft": draft,
        # What the form was made from: that of a form which is shown again stays, so that no change is lost to it.
        "seen": form.text("seen") or view.placements.get(name, 0),
        "versions": history.versions,
        "most_versions": MAX_PLACEMENT_VERSIONS,
        "tried": _tried(form),
        "stopped": sorted(stopped),
        "variant": {field: form.text(field) for field in FIELDS},
        "kinds": KINDS,
        "blend": BLEND,
        "most_tried": MAX_COMPARED,
        "shown": SHOWN,
        "preview": None,
        "faults": (),
        "notice": None,
    }
    return PageAnswer(template="placement.html", values=values | more, status=status)
