"""Handlers of a source's settings: shown as a form, tried on some lists, and stored."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from penchant.errors import Fault, InvalidInput
from penchant.live.views import View
from penchant.model import DEFAULT_INTERACTION_WEIGHTS, OrderUse, SourceSettings
from penchant.service.browsing import WordChange
from penchant.web.dashboard.comparing import MAX_COMPARED, compared, lines_of
from penchant.web.dashboard.forms import Form, number_in
from penchant.web.dashboard.shown import LANGUAGE_NAMES
from penchant.web.dashboard.site import DashboardSite, PageAnswer, RedirectAnswer, Visit
from penchant.web.operations import body_tag
from penchant.wire import BLEND, SETTINGS, BodyMember, decode_settings, encode, encode_settings, encode_word_setting
from penchant.words import WordRule

MAX_CATEGORIES = 100
"""Categories whose weights have a field; others can be named in a free one."""
_SAID = {"saved": "The settings are saved; the next request goes by them."}
_STALE = "The settings were changed by somebody else since this page was made. Nothing was saved."


def _labelled(*types: str) -> list[BodyMember]:
    """Return the settings of these JSON types that people have a label for, in its order."""
    members = [each for each in SETTINGS.members.values() if each.label and each.shape.schema.get("type") in types]
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
    view = await visit.view()
    return _page(visit, view, _fields(view.settings), notice=_SAID.get(visit.text("said")))


async def change_settings(visit: Visit, site: DashboardSite) -> PageAnswer | RedirectAnswer:
    """Try settings on some lists, or store them unless they were changed meanwhile."""
    view = await visit.view()
    given = _over(_fields(view.settings), visit.form)
    try:
        # Through the interface's own reader, whose faults the page shows.
        draft = decode_settings(encode(given))
    except InvalidInput as error:
        return _page(visit, view, given, faults=error.faults, status=422)
    if visit.form.text("do") != "save":
        changes = None if draft.words == view.settings.words else await _word_changes(visit, view, draft.words)
        # Lists by other words would take reading all pieces anew.
        lists = replace(draft, words=view.settings.words)
        preview = await compared(visit, view, lists) if visit.form.text("do") == "preview" else None
        return _page(visit, view, given, preview=preview, word_changes=changes)
    if visit.form.text("seen") != _mark(view):
        return _page(visit, view, given, faults=[Fault(detail=_STALE)], status=409)
    await visit.services.curation.replace_settings(visit.access, visit.source, draft)
    return RedirectAnswer(path=site.link("settings", source=visit.source, said="saved"))


async def _word_changes(visit: Visit, view: View, rule: WordRule | None) -> Sequence[WordChange]:
    """Return what words would change for the pieces that a form names, or else for the first ones."""
    ids = lines_of(visit.form.text("pieces"))
    if not ids:
        ids = [each.id for each in (await visit.services.browsing.by_id(view, "")).pieces]
    return await visit.services.browsing.word_changes(view, rule, ids[:MAX_COMPARED])


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


def _page(visit: Visit, view: View, given: Mapping[str, Any], *, status: int = 200, **more: Any) -> PageAnswer:
    """Show settings as a form: those given, over the defaults, with a field for every category that there is."""
    defaults = _fields(SourceSettings())
    weights = given["categoryWeights"]
    known = [each.name for each in visit.services.browsing.categories(view)]
    names = [*weights, *(name for name in known if name not in weights)][: max(MAX_CATEGORIES, len(weights))]
    rule = encode_word_setting(WordRule())
    values: dict[str, Any] = {
        "words": rule | (given.get("words") or {}),
        "has_words": bool(given.get("words")),
        "words_pending": view.reading.word_rule != view.settings.words,
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
        "seen": _mark(view),
        "faults": (),
        "notice": None,
    }
    return PageAnswer(template="settings.html", values=values | more, status=status)
