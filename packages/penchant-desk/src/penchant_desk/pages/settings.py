"""The page of a source's settings: shown as a form, tried on some lists, and stored."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from penchant_client import ServiceError, flows, operations
from penchant_client.records import InteractionType, PieceWithWords, Settings
from penchant_client.requests import encode, request_of
from penchant_desk.comparing import MAX_COMPARED, compared, lines_of
from penchant_desk.drafts import (
    JSON,
    SETTINGS,
    SETTINGS_TITLE,
    draft_called,
    keep_in_draft,
    needs_review,
    open_drafts,
    own_draft,
)
from penchant_desk.filters import LANGUAGE_NAMES, path_words
from penchant_desk.likes import what_a_like_is
from penchant_desk.requests import FormFault, FormFields, mark_of, number_in
from penchant_desk.site import DESK, ROWS, WORDS, DeskPage, PageVisit, Redirect
from penchant_desk.versions import undo_fields


class SettingField(NamedTuple):
    """A setting that has a plain field: its name in the interface, its label, and of a text how long it may be.

    It is there where the service has its ``package``.
    """

    key: str
    label: str
    most: int = 0
    package: str = ""


MAX_PROPOSED = 40
"""Members of extras that are proposed as attributes, those of the most pieces."""
MAX_ATTRIBUTE_NAME = 100
"""Characters of the name that an attribute gets at first."""
ATTRIBUTE_TYPES: Mapping[str, str] = {
    "keyword": "a text",
    "keywords": "several texts",
    "integer": "whole numbers",
    "number": "numbers",
    "boolean": "yes or no",
    "time": "days or moments",
}
"""What values of attributes are, in words."""
MAX_CATEGORIES = 100
"""Categories whose weights have a field; others can be named in a free one."""
_SAID = {
    "saved": "The settings are saved; the next request goes by them.",
    "returned": "The earlier settings are in force again; the next request goes by them.",
}
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
_BLEND = (
    SettingField("content", "Content"),
    SettingField("audience", "People with a like taste"),
    SettingField("popularity", "Popularity"),
)
_NUMBERS = (
    SettingField("halfLifeDays", "Half-life of interactions, days"),
    SettingField("newPieceHalfLifeDays", "Half-life of newness, days"),
    SettingField("retentionDays", "Interactions are kept, days"),
)
_CHECKS = (
    SettingField("publicCards", "Anybody may read the cards of rows", package=ROWS),
    SettingField("excludeSeen", "Leave out what a person knows already"),
    SettingField("fourEyes", "Who wrote a draft may not publish it", package=ROWS),
)
_TEXTS = (SettingField("imageAttribute", "Pointer to the picture's address in extras", 500),)
_ZONES = (SettingField("timeZone", "Time zone of pages, where the browser's is not known", 64, DESK),)
_CHOICES = (SettingField("order", "The order of likes"),)
PLAIN_FIELDS: Sequence[SettingField] = (*_NUMBERS, *_CHECKS, *_TEXTS, *_ZONES, *_CHOICES)
"""The settings that a form has a plain field for, in the order of their labels; it keeps all others as they are."""
SETTING_LABELS: Mapping[str, str] = {key: key for key in Settings.__struct_encode_fields__} | {
    "categoryWeights": "Weights of categories",
    "interactionWeights": "Weights of interactions",
    "blend": "Parts of recommendations",
    "words": "Words of texts",
    "vocabulary": "Keywords that count as one",
    **{each.key: each.label for each in PLAIN_FIELDS},
}
"""What settings are called, in the order of the interface; others go by their own names."""
_CHOICE_NAMES = {
    "order": {
        "auto": "counts where times tell so",
        "on": "counts, even where times look made up",
        "off": "does not count",
    }
}
_WORDS = {"from": ["label", "extras.description"], "keep": 40, "language": "auto"}
"""The setting `words` where it has not been made otherwise."""
DEFAULTS: Mapping[str, Any] = msgspec.to_builtins(Settings())


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsOfPiece:
    """What words a piece would get by another rule, which of those that it has would go, and how many would stay.

    ``language`` is that whose stop words are left out, `none` for none.
    """

    id: str
    label: str | None
    language: str
    come: Sequence[str]
    go: Sequence[str]
    stay: int


@dataclass(frozen=True, slots=True)
class LiveSettings:
    """The settings in force, as the interface has them, and the mark by which a later form is checked."""

    members: Mapping[str, Any]
    mark: str


async def settings(visit: PageVisit) -> DeskPage:
    """Show the settings in force."""
    live, drafted = await asyncio.gather(_live(visit), draft_called(visit, visit.text("draft")))
    kept = None if drafted is None else drafted.get("settings")
    return await _page(visit, live, kept or live.members, said=_SAID.get(visit.text("said"), ""))


async def change_settings(visit: PageVisit) -> DeskPage | Redirect:
    """Try settings on some lists, or store them unless they were changed meanwhile."""
    live = await _live(visit)
    return await _changed_settings(visit, live, _over(visit, live.members))


async def change_attributes(visit: PageVisit) -> DeskPage | Redirect:
    """Store other attributes and nothing else, unless the settings were changed meanwhile."""
    live = await _live(visit)
    return await _changed_settings(visit, live, await _with_attributes(visit, live), saves=True)


async def _changed_settings(
    visit: PageVisit, live: LiveSettings, given: Mapping[str, Any], *, saves: bool = False
) -> DeskPage | Redirect:
    do = "save" if saves else visit.form.text("do")
    try:
        if do not in {"save", "draft"}:
            return await _tried(visit, live, given)
        if do == "save" and visit.form.text("seen") != live.mark:
            return await _page(visit, live, given, faults=[FormFault(detail=_STALE)], status=409)
        return await _keep(visit, live, given)
    except ServiceError as error:
        if error.code != "invalid-input":
            raise
        faults = [
            FormFault(detail=each.detail, pointer=(each.pointer or "").removeprefix("/settings"))
            for each in error.errors
        ]
        return await _page(visit, live, given, faults=faults, status=422)


async def _with_attributes(visit: PageVisit, live: LiveSettings) -> dict[str, Any]:
    """Return the settings in force with the attributes of a form: without one, or with one more that extras have."""
    form, removed, added = visit.form, visit.form.text("remove"), visit.form.text("add")
    lines = zip(*(form.all(f"attribute-{each}") for each in ("name", "pointer", "type")), strict=False)
    named = {
        name.strip(): {"pointer": where, "type": type_}
        for number, (name, where, type_) in enumerate(lines)
        if str(number) != removed
    }
    if added:
        found = (await visit.client.send(operations.list_extras(visit.source))).extras
        own = next((each for each in found if each.pointer == added), None)
        if own is not None:
            named[_free_name(path_words(added), named)] = {"pointer": added, "type": own.type}
    rest = {key: value for key, value in live.members.items() if key != "attributes"}
    return rest | ({"attributes": named} if named else {})


def _free_name(path: Sequence[str], taken: Collection[str]) -> str:
    """Return what an attribute is called at first: as its member, where another one is called so with what it is in."""
    names = (" ".join(path[-length:])[:MAX_ATTRIBUTE_NAME].strip() for length in range(1, len(path) + 1))
    free = next((each for each in names if each and each not in taken), None)
    return free or next(name for number in range(1, len(taken) + 2) if (name := f"attribute {number}") not in taken)


async def _tried(visit: PageVisit, live: LiveSettings, given: Mapping[str, Any]) -> DeskPage:
    """Show what settings would change.

    Raises:
        ServiceError: they are not acceptable.
    """
    do, words = visit.form.text("do"), given.get("words")
    # Of no lists: this says what is wrong with the settings. Other words would take reading all pieces anew.
    lists = {key: value for key, value in given.items() if key != "words"}
    await visit.client.send(flows.preview_settings(visit.source, settings=lists))
    changes = None if words == live.members.get("words") else await _word_changes(visit, words)
    # A form that is shown while it is typed compares only once something differs.
    is_compared = do == "preview" or (do == "show" and not _are_same(lists, live.members))
    preview = await compared(visit, lists) if is_compared else None
    return await _page(visit, live, given, preview=preview, word_changes=changes)


def _are_same(lists: Mapping[str, Any], live: Mapping[str, Any]) -> bool:
    """Return whether settings of lists are as those in force, which leave out what says nothing."""
    return all(live.get(key, False) == value for key, value in lists.items()) and lists.keys() >= live.keys() - {
        "words"
    }


async def _keep(visit: PageVisit, live: LiveSettings, given: Mapping[str, Any]) -> Redirect:
    """Keep settings in a draft, or store them."""
    if visit.form.text("do") == "draft" or _needs_review(visit, live):
        into = visit.form.text("into") or own_draft(visit, SETTINGS)
        await keep_in_draft(visit, into, {"title": SETTINGS_TITLE, "settings": given})
        return Redirect(path=visit.link("proposal", source=visit.source, name=into, said="saved"))
    await visit.client.send(request_of("PUT", "/{source}/settings", JSON, visit.source, body=encode(given)))
    return Redirect(path=visit.link("settings", source=visit.source, said="saved"))


def _needs_review(visit: PageVisit, live: LiveSettings) -> bool:
    return needs_review(visit, msgspec.convert(live.members, Settings))


async def _word_changes(visit: PageVisit, rule: Mapping[str, Any] | None) -> list[WordsOfPiece]:
    """Return what words would change for the pieces that a form names, or else for the first ones."""
    ids = lines_of(visit.form.text("pieces"))
    if not ids:
        first = await visit.client.send(operations.search(visit.source, place="id", limit=MAX_COMPARED))
        ids = [each.id for each in first.content]
    if not ids:
        return []
    request = operations.read_content(visit.source, ids[:MAX_COMPARED], include=["words"])
    stored = (await visit.client.send(request)).content
    found = {}
    if rule is not None:
        members = ("id", "label", "categories", "filters", "extras")
        drafts = [{name: getattr(each, name) for name in members if getattr(each, name) is not None} for each in stored]
        previewed = await visit.client.send(operations.preview_words(visit.source, {"content": drafts, "words": rule}))
        found = {each.id: each for each in previewed.content}
    return [
        _changed(each.id, each.label, _present_words(each), found[each.id].words if found else (), language)
        for each in stored
        for language in (found[each.id].language if found else "none",)
    ]


def _present_words(piece: PieceWithWords) -> Sequence[str]:
    """Return the words of a piece's texts; one with words of its own has none beside them."""
    return () if "words" in piece.categories else piece.words or ()


def _changed(
    piece_id: str, label: str | None, before: Sequence[str], after: Sequence[str], language: str
) -> WordsOfPiece:
    come = [word for word in after if word not in before]
    return WordsOfPiece(
        id=piece_id,
        label=label,
        language=language,
        come=come,
        go=[word for word in before if word not in after],
        stay=len(after) - len(come),
    )


async def _live(visit: PageVisit) -> LiveSettings:
    body = await visit.client.send(request_of("GET", "/{source}/settings", str, visit.source))
    return LiveSettings(msgspec.json.decode(body), mark_of(body.encode()))


def _of_installed(visit: PageVisit, fields: Sequence[SettingField]) -> Sequence[SettingField]:
    return [each for each in fields if not each.package or visit.has(each.package)]


def _over(visit: PageVisit, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is stored with the form's fields in the place of theirs, those left blank as if not given.

    So whatever has no field stays as it is.
    """
    given = _given(visit)
    kept = {name: value for name, value in stored.items() if name not in given}
    return kept | {name: value for name, value in given.items() if value is not None}


def _given(visit: PageVisit) -> dict[str, Any]:
    """Return the settings that have a field, by the names of the interface; ``None`` for one that is left blank."""
    form = visit.form
    weights = zip(form.all("category"), form.all("weight"), strict=False)
    given: dict[str, Any] = {
        "categoryWeights": {name.strip(): number_in(text) for name, text in weights if name.strip() and text.strip()},
        "interactionWeights": form.numbers(DEFAULTS["interactionWeights"], "interaction-"),
        "blend": form.numbers([each.key for each in _BLEND], "blend-"),
    }
    given |= {each.key: bool(form.text(each.key)) for each in _of_installed(visit, _CHECKS)}
    given |= {"words": _words(form)} if visit.has(WORDS) else {}
    texts = _of_installed(visit, (*_TEXTS, *_ZONES, *_CHOICES))
    given |= {each.key: form.text(each.key).strip() or None for each in texts}
    names = [each.key for each in _NUMBERS]
    return given | dict.fromkeys(names) | form.numbers(names)


def _words(form: FormFields) -> dict[str, Any] | None:
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


def _words_values(visit: PageVisit, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the form shows of words of texts."""
    return {
        "words": _WORDS | (given.get("words") or {}),
        "has_words": bool(given.get("words")),
        "may_have_words": visit.has(WORDS),
        "word_changes": None,
        "asked_words": visit.form.text("do") == "words",
        "languages": LANGUAGE_NAMES,
    }


async def _page(
    visit: PageVisit, live: LiveSettings, given: Mapping[str, Any], *, status: int = 200, **more: Any
) -> DeskPage:
    """Show settings as a form: those given, over the defaults, with a field for every category that there is."""
    source, categories, extras, like, drafts = await asyncio.gather(
        visit.client.send(flows.get_source(visit.source)),
        visit.client.send(operations.list_categories(visit.source)),
        visit.client.send(operations.list_extras(visit.source)),
        what_a_like_is(visit),
        open_drafts(visit),
    )
    weights = given["categoryWeights"]
    known = [each.category for each in categories.categories]
    attributes = given.get("attributes") or {}
    own = {each.get("pointer") for each in attributes.values()}
    proposed = [each for each in extras.extras if each.pointer not in own]
    names = [*weights, *(name for name in known if name not in weights)][: max(MAX_CATEGORIES, len(weights))]
    values: dict[str, Any] = {
        **_words_values(visit, given),
        "words_pending": source.words_pending is True,
        "source": source.source,
        "given": {
            **DEFAULTS,
            **given,
            **{name: DEFAULTS[name] | given[name] for name in ("interactionWeights", "blend")},
        },
        "categories": [(name, weights.get(name, "")) for name in sorted(names)],
        "attributes": attributes,
        "attribute_types": ATTRIBUTE_TYPES,
        "proposed": sorted(proposed, key=lambda each: (-each.pieces, each.pointer))[:MAX_PROPOSED],
        "looked_at": extras.looked_at,
        "path_words": path_words,
        "blend_fields": _BLEND,
        "numbers": _NUMBERS,
        "checks": _of_installed(visit, _CHECKS),
        "texts": _TEXTS,
        "zones": _of_installed(visit, _ZONES),
        "choices": _CHOICES,
        "choice_names": _CHOICE_NAMES,
        "tried": {"pieces": visit.form.text("pieces"), "users": visit.form.text("users")},
        "most_tried": MAX_COMPARED,
        "preview": None,
        "seen": visit.form.text("seen") or live.mark,
        "faults": (),
        "notice": None,
        "said": "",
        "blend_words": blend_words(DEFAULTS["blend"] | given.get("blend", {})),
        "weight_words": weight_words,
        "interaction_words": interaction_words,
        "number_words": number_words,
        "like": like,
        "undo": await undo_fields(visit, SETTINGS) if more.get("said") else {},
        "own_draft": own_draft(visit, SETTINGS),
        "drafts": [(each.name, each.title or each.name) for each in drafts],
        "four_eyes": _needs_review(visit, live),
    }
    return DeskPage(template="settings.html", values=values | more, status=status)
