"""Handlers of a source's settings: shown as a form, tried on some lists, and stored."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from penchant.enrichment import enrichments, read_as, rule_of
from penchant.errors import Fault, InvalidInput
from penchant.live.views import View
from penchant.model import SourceSettings
from penchant.service.browsing import WordChange
from penchant.service.health_reports import HealthReports
from penchant.service.rows import row_services
from penchant.web.dashboard.comparing import MAX_COMPARED, compared, lines_of
from penchant.web.dashboard.forms import Form, number_in
from penchant.web.dashboard.rows.drafting import SETTINGS as OWN_SETTINGS
from penchant.web.dashboard.rows.drafting import draft_called, keep_in_draft, open_drafts, own_draft
from penchant.web.dashboard.shown import LANGUAGE_NAMES
from penchant.web.dashboard.site import DashboardSite, PageAnswer, RedirectAnswer, Visit
from penchant.web.operations import body_tag
from penchant.wire import decode_settings, encode, encode_settings
from penchant.wire.drafts.answers import format_revision
from penchant.wire.drafts.edits import DraftEdits
from penchant.wire.fields import BodyMember
from penchant.wire.rows.settings import RowSettings
from penchant.wire.settings import BLEND, setting_members
from penchant_engine.model import DEFAULT_INTERACTION_WEIGHTS, WORDS_CATEGORY, InteractionType, OrderUse

MAX_CATEGORIES = 100
"""Categories whose weights have a field; others can be named in a free one."""
_SAID = {"saved": "The settings are saved; the next request goes by them."}
_STALE = (
    "The settings were changed by somebody else since this page was made. Nothing was saved. "
    "What you typed is still here: “Save draft” keeps it beside theirs."
)
_PARTS = {
    "audience": "what people with a like taste like",
    "content": "what has keywords in common with what the person likes",
    "popularity": "what is popular",
}
_MOSTLY, _PARTLY = 0.55, 0.25
"""From which share on a part counts most, and to a good part."""


def _labelled(*types: str) -> list[BodyMember]:
    """Return the settings of these JSON types that people have a label for, in its order."""
    members = [each for each in setting_members().values() if each.label and each.shape.schema.get("type") in types]
    return sorted(members, key=lambda member: member.label)


_NUMBERS, _CHECKS, _STRINGS = _labelled("number", "integer"), _labelled("boolean"), _labelled("string")
_CHOICES = [each for each in _STRINGS if "enum" in each.shape.schema]
_TEXTS = [each for each in _STRINGS if "enum" not in each.shape.schema]
"""The settings that a form has a plain field for, of strings those of a few words apart."""
_CHOICE_NAMES = {
    "order": {
        OrderUse.AUTO: "counts where times tell so",
        OrderUse.ON: "counts, even where times look made up",
        OrderUse.OFF: "does not count",
    }
}


async def settings(visit: Visit) -> PageAnswer:
    """Show the settings in force."""
    view, said = await visit.view(), visit.text("said")
    drafted = await draft_called(visit, visit.text("draft"))
    kept = None if drafted is None else row_services(visit).drafts.edits_of(drafted).settings
    return await _page(visit, view, _fields(kept or view.settings), said=_SAID.get(said, ""))


async def change_settings(visit: Visit, site: DashboardSite) -> PageAnswer | RedirectAnswer:
    """Try settings on some lists, or store them unless they were changed meanwhile."""
    view = await visit.view()
    given = _over(_fields(view.settings), visit.form)
    try:
        # Through the interface's own reader, whose faults the page shows.
        draft = decode_settings(encode(given), view.settings.unread)
    except InvalidInput as error:
        return await _page(visit, view, given, faults=error.faults, status=422)
    do = visit.form.text("do")
    if do not in {"save", "draft"}:
        wanted = _fields(draft).get("words")
        changes = None if wanted == _fields(view.settings).get("words") else await _word_changes(visit, view, wanted)
        # Lists by other words would take reading all pieces anew.
        lists = read_as(view.settings, draft)
        # A form that is shown while it is typed compares only once something differs.
        is_compared = do == "preview" or (do == "show" and lists != view.settings)
        preview = await compared(visit, view, lists) if is_compared else None
        return await _page(visit, view, given, preview=preview, word_changes=changes)
    if do == "save" and visit.form.text("seen") != _mark(view):
        return await _page(visit, view, given, faults=[Fault(detail=_STALE)], status=409)
    return await _keep(visit, view, draft, site)


async def _keep(visit: Visit, view: View, draft: SourceSettings, site: DashboardSite) -> PageAnswer | RedirectAnswer:
    """Keep settings in a draft, and, where they are to be saved, publish that: so they can be undone."""
    is_kept = visit.form.text("do") == "draft" or view.settings.of(RowSettings).four_eyes
    into = (visit.form.text("into") if is_kept else "") or own_draft(visit, OWN_SETTINGS)
    kept = await keep_in_draft(visit, view, into, DraftEdits(title="Settings", settings=draft, lists={}))
    if is_kept:
        return RedirectAnswer(path=site.link("proposal", source=visit.source, name=into, said="saved"))
    revision = format_revision(kept.revision)
    await row_services(visit).drafts.publish(visit.access, visit.source, into, revision=revision)
    return RedirectAnswer(path=site.link("settings", source=visit.source, said="saved", revision=revision))


async def _word_changes(visit: Visit, view: View, wanted: Mapping[str, Any] | None) -> Sequence[WordChange]:
    """Return what words would change for the pieces that a form names, or else for the first ones."""
    from penchant_words.keywords import make_words  # noqa: PLC0415  # without the package the form has no words

    ids = lines_of(visit.form.text("pieces"))
    if not ids:
        ids = [each.id for each in (await visit.services.browsing.by_id(view, "")).pieces]
    return await visit.services.browsing.word_changes(view, make_words(wanted), ids[:MAX_COMPARED])


def _mark(view: View) -> str:
    return body_tag(encode_settings(view.settings))


def _fields(settings: SourceSettings) -> dict[str, Any]:
    """Return settings by the names of the interface."""
    fields: dict[str, Any] = msgspec.json.decode(encode_settings(settings))
    return fields


def _over(stored: Mapping[str, Any], form: Form) -> dict[str, Any]:
    """Return what is stored with the form's fields in the place of theirs, those left blank as if not given.

    So whatever has no field stays as it is.
    """
    given = _given(form)
    kept = {name: value for name, value in stored.items() if name not in given}
    return kept | {name: value for name, value in given.items() if value is not None}


def _given(form: Form) -> dict[str, Any]:
    """Return the settings that have a field, by the names of the interface; ``None`` for one that is left blank."""
    weights = zip(form.all("category"), form.all("weight"), strict=False)
    given: dict[str, Any] = {
        "categoryWeights": {name.strip(): number_in(text) for name, text in weights if name.strip() and text.strip()},
        "interactionWeights": form.numbers([kind.value for kind in DEFAULT_INTERACTION_WEIGHTS], "interaction-"),
        "blend": form.numbers(BLEND.members, "blend-"),
    }
    given |= {member.key: bool(form.text(member.key)) for member in _CHECKS}
    if WORDS_CATEGORY in enrichments():
        given["words"] = _words(form)
    given |= {member.key: form.text(member.key).strip() or None for member in _STRINGS}
    names = [member.key for member in _NUMBERS]
    return given | dict.fromkeys(names) | form.numbers(names)


def _words(form: Form) -> dict[str, Any] | None:
    """Return the setting `words` of a form; ``None`` where it is off."""
    if not form.text("words"):
        return None
    keep = form.text("words-keep").strip()
    found = {"from": lines_of(form.text("words-from")), "language": form.text("words-language")}
    return found | ({"keep": number_in(keep)} if keep else {})


def blend_words(blend: Mapping[str, Any]) -> str:
    """Return what the weights of the parts of recommendations come to, in words."""
    weights = {key: value for key, value in blend.items() if key in _PARTS and isinstance(value, int | float)}
    total = sum(weights.values())
    if not total:
        return "At least one part has to count."
    ordered = sorted(weights, key=lambda key: (-weights[key], key))
    told = [f"{_amount(weights[key] / total)} {_PARTS[key]}" for key in ordered]
    return f"{'; '.join(told).capitalize()}."


def _amount(share: float) -> str:
    if share >= _MOSTLY:
        return "mostly"
    if share >= _PARTLY:
        return "to a good part"
    return "a little" if share else "not at all"


def weight_words(weight: Any) -> str:
    """Return what the weight of a category comes to, in words."""
    if not isinstance(weight, int | float):
        return "counts as usual"
    if weight in {0, 1}:
        return "counts as usual" if weight else "does not count"
    return f"counts {weight:g} times as much" if weight > 1 else f"counts less, {weight:g} of as usual"


def interaction_words(weights: Mapping[str, Any], name: str) -> str:
    """Return what one type of interaction says, measured by clicks."""
    weight, click = weights.get(name), weights.get(InteractionType.CLICK)
    if not isinstance(weight, int | float) or not isinstance(click, int | float) or not click:
        return ""
    if not weight:
        return "says nothing"
    clicks = abs(weight) / abs(click)
    return f"{'for' if weight > 0 else 'against'} it, as {clicks:g} {'click' if clicks == 1 else 'clicks'}"


def number_words(key: str, value: Any) -> str:
    """Return what a number of the settings means, in words; "" where its label says it."""
    if not isinstance(value, int | float):
        return ""
    match key:
        case "halfLifeDays":
            return (
                f"What was done {value:g} days ago counts half."
                if value
                else "Nothing fades: all counts as if done today."
            )
        case "newPieceHalfLifeDays":
            return (
                f"New pieces get a start; after {value:g} days half of it is left."
                if value
                else "New pieces get no start."
            )
        case "retentionDays":
            return f"What people did more than {value:g} days ago counts no more, and is deleted."
    return ""


async def _page(visit: Visit, view: View, given: Mapping[str, Any], *, status: int = 200, **more: Any) -> PageAnswer:
    """Show settings as a form: those given, over the defaults, with a field for every category that there is."""
    defaults = _fields(SourceSettings())
    weights = given["categoryWeights"]
    known = [each.name for each in await visit.services.search.categories(view)]
    names = [*weights, *(name for name in known if name not in weights)][: max(MAX_CATEGORIES, len(weights))]
    values: dict[str, Any] = {
        "words": {"from": ["label", "extras.description"], "keep": 40, "language": "auto"} | (given.get("words") or {}),
        "has_words": bool(given.get("words")),
        "words_pending": view.reading.rule != rule_of(view.settings),
        "word_changes": None,
        "asked_words": visit.form.text("do") == "words",
        "languages": LANGUAGE_NAMES,
        "source": view.head.name,
        "given": defaults
        | dict(given)
        | {name: defaults[name] | given[name] for name in ("interactionWeights", "blend")},
        "categories": [(name, weights.get(name, "")) for name in sorted(names)],
        "blend_fields": BLEND.members.values(),
        "numbers": _NUMBERS,
        "checks": _CHECKS,
        "texts": _TEXTS,
        "choices": _CHOICES,
        "choice_names": _CHOICE_NAMES,
        "tried": {"pieces": visit.form.text("pieces"), "users": visit.form.text("users")},
        "most_tried": MAX_COMPARED,
        "preview": None,
        "seen": visit.form.text("seen") or _mark(view),
        "faults": (),
        "notice": None,
        "said": "",
        "blend_words": blend_words(defaults["blend"] | given.get("blend", {})),
        "weight_words": weight_words,
        "interaction_words": interaction_words,
        "number_words": number_words,
        "like": await visit.services.of(HealthReports).what_a_like_is(view),
        "undo": {"do": "undo", "revision": visit.text("revision")},
        "own_draft": own_draft(visit, OWN_SETTINGS),
        "drafts": [(each.name, each.title or each.name) for each in await open_drafts(visit)],
        "four_eyes": view.settings.of(RowSettings).four_eyes,
    }
    return PageAnswer(template="settings.html", values=values | more, status=status)
