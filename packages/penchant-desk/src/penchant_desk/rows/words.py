"""What rows are in words: their kinds, how mixed they are, and what differs between two of them."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from penchant_desk.rows.clauses import filter_words


class RowKind(NamedTuple):
    """What a kind of row is called, and what it shows."""

    name: str
    sentence: str


KIND_WORDS: Mapping[str, RowKind] = MappingProxyType(
    {
        "recommendations": RowKind("For a person", "What fits what each one liked, best first."),
        "because": RowKind("Because you liked …", "One liked piece, named, and what goes with it."),
        "keyword": RowKind("More of a keyword", "The best of one keyword that the person likes."),
        "similar": RowKind("Beside a piece", "What goes with the piece on the page."),
        "popular": RowKind("Popular", "What most people turned to lately."),
        "new": RowKind("Newest", "What came in last."),
        "again": RowKind("Go on", "What the person has begun, or comes back to."),
        "picks": RowKind("Your picks", "Pieces that you choose, in your order or each person's."),
    }
)


def kind_words(kind: str) -> RowKind:
    """Return what a kind of row is in words; one that a package brings goes by its name."""
    return KIND_WORDS.get(kind) or RowKind(f"“{kind}”", "A list that a package of the service brings.")


def used_by_words(detail: str) -> str:
    """Return a sentence of the interface that ends with the kinds a member is for, these as the desk calls them."""
    head, mark, kinds = detail.partition("; it is for ")
    names = [f"“{kind_words(each).name}”" if each in KIND_WORDS else each for each in kinds.rstrip(".").split(", ")]
    return f"{head}{mark}{', '.join(names)}." if mark else detail


STEPS: Mapping[str, Mapping[float, str]] = MappingProxyType(
    {
        "diversity": {0: "Best first", 0.25: "A little", 0.5: "Visibly, at hardly any loss", 0.75: "Wide", 1: "Widest"},
        "calibration": {0: "Not at all", 0.25: "A little", 0.5: "Clearly", 0.75: "Mostly", 1: "Above all else"},
        "rotation": {0: "Never", 0.1: "A little", 0.25: "Slowly", 0.5: "Steadily", 0.75: "Quickly", 1: "At once"},
    }
)
"""Words for numbers from 0 to 1, by member."""
MAX_TOLD = 60
"""Characters of a text that is told where it was changed."""


def step_word(member: str, value: float) -> str:
    """Return the word for a number, that of the nearest one that has a word; of two the smaller one's."""
    steps = STEPS[member]
    return steps[min(steps, key=lambda each: (abs(each - value), each))]


def is_number(value: Any) -> bool:
    """Return whether a value is a number: true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


_OF_PERSON = {"recommendations", "because", "keyword", "again"}
"""Kinds that are another list for each person."""


def new_row_in_words(members: Mapping[str, Any], person: str) -> list[str]:
    """Return what a row is that is not in force yet: its kind, what it is held to, and for whom it is shown."""
    kind = kind_words(members["kind"])
    held = [filter_words(members["filter"])] if members.get("filter") else []
    if members.get("catalogs"):
        held.insert(0, f"in {' or '.join(members['catalogs'])}")
    is_personal = members["kind"] in _OF_PERSON or members.get("order") == "personal"
    whom = f"each person has a list of their own; this is what {person} sees" if is_personal else "everybody sees this"
    return [
        f"A new row, “{kind.name}”: {kind.sentence}",
        f"Held to pieces {', and '.join(held)}." if held else "Held to nothing: any piece may stand in it.",
        f"For whom: {whom}.",
    ]


def difference_in_words(before: Mapping[str, Any], after: Mapping[str, Any], labels: Mapping[str, str]) -> list[str]:
    """Return which members of a placement, or settings, differ, by their labels; what is short with its values."""
    return [
        words
        for key, label in labels.items()
        if before.get(key) != after.get(key)
        for words in _changed(key, label, before.get(key), after.get(key))
    ]


def _changed(key: str, label: str, old: Any, new: Any) -> Iterator[str]:
    weights = [{} if each is None else each for each in (old, new)]
    if all(isinstance(each, dict) and all(map(is_number, each.values())) for each in weights):
        before, after = ({name: f"{value:g}" for name, value in each.items()} for each in weights)
        for name in {**before, **after}:
            if before.get(name) != after.get(name):
                yield moved_value(f"{label}, {name}", before.get(name), after.get(name))
        return
    if key in _RULES:
        former, present = ([*map(_RULES[key], each)] for each in (_rules_in(old), _rules_in(new)))
        yield from (f"{label} added: {each}" for each in present if each not in former)
        yield from (f"{label} removed: {each}" for each in former if each not in present)
        if former != present and sorted(former) == sorted(present):
            yield f"{label}: in another order"
        return
    told = [short_value(key, each) for each in (old, new)]
    if (old is None or told[0]) and told[1]:
        yield moved_value(label, *told)
    else:
        yield f"{label} {'added' if old is None else 'removed' if new is None else 'changed'}"


def _rules_in(given: Any) -> list[Any]:
    """Return what a filter has of conditions that all have to hold, or the entries of a list."""
    if isinstance(given, list) or not given:
        return given or []
    if not set(given) <= {"must", "mustNot"}:
        return [given]
    return [*given.get("must", ()), *({"mustNot": [each]} for each in given.get("mustNot", ()))]


def _boost_words(entry: Mapping[str, Any]) -> str:
    condition = filter_words({name: member for name, member in entry.items() if name != "factor"})
    return f"{condition}, times {entry['factor']:g}"


def quota_words(entry: Mapping[str, Any]) -> str:
    """Return a quota in words."""
    return f"{entry['atLeast']} of the first {entry['of']}, {filter_words(entry['filter'])}"


_UNMET = {
    "too-few": "too few pieces fit",
    "no-place": "its places are taken by other rules",
    "list-too-short": "the list ends before it",
    "unknown-piece": "there is no such piece",
    "same-piece": "it is the piece of the page",
    "blacklisted": "the piece is hidden everywhere",
    "hidden": "the person has hidden the piece",
    "seen": "the person knows the piece already",
    "excluded": "the piece is hidden in this row",
    "filter": "the piece does not meet the conditions of the row",
    "catalog": "the piece is in no catalog of the row",
    "window": "it is not the piece's time",
}
"""Why a list does not meet a rule, by the code of the interface."""


def unmet_words(members: Mapping[str, Any], variant: str | None, rule: str, why: str) -> str:
    """Return in words what the list of a row, or of one of its variants, does not meet, and why."""
    key, _, number = rule.removeprefix("/").partition("/")
    own: Mapping[str, Any] = next((each for each in members.get("variants") or () if each.get("name") == variant), {})
    entries = own.get(key, members.get(key)) or ()
    words = rule.removeprefix("/")
    if key in {"quotas", "pins"} and number.isdecimal() and int(number) < len(entries):
        entry = entries[int(number)]
        words = quota_words(entry) if key == "quotas" else f"the pin at place {entry['position']}"
    return f"{words}: {_UNMET.get(why, why)}"


_RULES: Mapping[str, Callable[[Any], str]] = {"filter": filter_words, "boosts": _boost_words, "quotas": quota_words}
"""Members that are several conditions, and each of these in words."""


def moved_value(label: str, old: str | None, new: str | None) -> str:
    """Return in words that something has another value, or for the first time one, or none any more."""
    if new is None:
        return f"{label} removed"
    return f"{label}: {new}" if old is None else f"{label}: {old} → {new}"


def short_value(key: str, value: Any) -> str | None:
    """Return a value in words; ``None`` for one that is not short, or is not there."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if is_number(value):
        return STEPS[key][value] if value in STEPS.get(key, ()) else f"{value:g}"
    if isinstance(value, str) and len(value) <= MAX_TOLD:
        return kind_words(value).name
    return None
