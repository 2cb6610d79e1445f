"""Rows in words: the sentences of their cards, for everybody: rules, what a row uses, and how a person changes it."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from penchant.model import SourceSettings
from penchant.wire.syntax import encode
from penchant_engine.model import Basis
from penchant_rows.model import IMPRESSION_DAYS, PlacementKind
from penchant_rows.wire.placements import BASE, BUCKETS, ListRules, PlacementSpec

_KINDS: Mapping[PlacementKind, str] = MappingProxyType(
    {
        PlacementKind.RECOMMENDATIONS: "for a person",
        PlacementKind.BECAUSE: "because you liked …",
        PlacementKind.KEYWORD: "more of a keyword",
        PlacementKind.SIMILAR: "beside a piece",
        PlacementKind.POPULAR: "popular",
        PlacementKind.NEW: "newest",
        PlacementKind.AGAIN: "go on",
        PlacementKind.PICKS: "your picks",
    }
)
_STEPS: Mapping[str, Mapping[float, str]] = MappingProxyType(
    {
        "diversity": {0: "best first", 0.25: "a little", 0.5: "visibly, at hardly any loss", 0.75: "wide", 1: "widest"},
        "calibration": {0: "not at all", 0.25: "a little", 0.5: "clearly", 0.75: "mostly", 1: "above all else"},
        "rotation": {0: "never", 0.1: "a little", 0.25: "slowly", 0.5: "steadily", 0.75: "quickly", 1: "at once"},
    }
)
"""Words for numbers from 0 to 1, by member."""
_OPERATORS: Mapping[str, str] = {
    "any": "is one of",
    "all": "has all of",
    "gte": "is at least",
    "lte": "is at most",
    "gt": "is more than",
    "lt": "is less than",
}
_PERSONAL = frozenset(
    {
        PlacementKind.RECOMMENDATIONS,
        PlacementKind.BECAUSE,
        PlacementKind.KEYWORD,
        PlacementKind.PICKS,
        PlacementKind.AGAIN,
    }
)
_BLENDED = frozenset({PlacementKind.RECOMMENDATIONS, PlacementKind.KEYWORD, PlacementKind.PICKS})


def _step_word(member: str, value: float) -> str:
    """Return the word for a number, that of the nearest one that has a word; of two the smaller one's."""
    steps = _STEPS[member]
    return steps[min(steps, key=lambda each: (abs(each - value), each))]


def _filter_words(given: Mapping[str, Any]) -> list[str]:
    """Return the conditions of a filter in words: all of them have to hold."""
    if not set(given) <= {"must", "mustNot"}:
        return [_condition(given)]
    return [*map(_condition, given.get("must", ())), *map(_left_out, given.get("mustNot", ()))]


def _condition(clause: Mapping[str, Any]) -> str:
    """Return a clause of a filter in words."""
    match clause:
        case {"key": name, **operators} | {"category": name, **operators}:
            return " and ".join(_operator(name, each, value) for each, value in operators.items())
        case {"catalogs": names}:
            return f"it is in the catalog {' or '.join(names)}"
    groups = [
        " and ".join(map(_grouped, clause.get("must", ()))),
        " or ".join(map(_grouped, clause.get("should", ()))),
        " and ".join(map(_left_out, clause.get("mustNot", ()))),
    ]
    said = [each for each in groups if each]
    return " and ".join(said) or "it is any piece"


def _grouped(clause: Mapping[str, Any]) -> str:
    """Return a clause of a group in words: in brackets where it has several parts itself."""
    words = _condition(clause)
    return f"({words})" if " and " in words or " or " in words else words


def _left_out(clause: Mapping[str, Any]) -> str:
    """Return in words that a clause does not hold."""
    match clause:
        case {"key": name, "any": values, **rest} | {"category": name, "any": values, **rest} if not rest:
            return f"{name} is {'not' if len(values) == 1 else 'none of'} {_values(values)}"
        case {"catalogs": names}:
            return f"it is not in the catalog {' or '.join(names)}"
    return f"it is not so that {_grouped(clause)}"


def _operator(name: str, operator: str, value: Any) -> str:
    if operator == "exists":
        return f"{name} has {'a' if value else 'no'} value"
    if operator == "any" and len(value) == 1:
        return f"{name} is {_values(value)}"
    return f"{name} {_OPERATORS[operator]} {_values(value) if isinstance(value, list) else _text(value)}"


def _values(values: Sequence[Any]) -> str:
    return ", ".join(encode(text).decode() if _needs_quotes(text) else text for text in map(_text, values))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else encode(value).decode()


def _needs_quotes(text: str) -> bool:
    return not text or text != text.strip() or not text.isprintable() or "," in text or text.startswith('"')


def rules_in_words(spec: PlacementSpec) -> list[str]:
    """Return the rules of a row, a sentence each: which pieces it may show, what moves them, for whom."""
    rules = spec.rules
    return [*_which(rules), *_moved(rules), *_otherwise(rules), *_variants(spec)]


def _which(rules: ListRules) -> Iterator[str]:
    if rules.content is not None:
        order = "as suits each person" if rules.order == "personal" else "in the order given"
        yield f"An editor picked {_pieces(len(rules.content))}; they stand {order}."
    if rules.catalogs:
        yield f"Only from {_catalogs(sorted(rules.catalogs))}."
    for words in _filter_words(rules.filter) if rules.filter else ():
        yield f"Only where {words}."
    if rules.blacklist is not None:
        yield f"{_pieces(len(rules.blacklist)).capitalize()} hidden in this row."
    if rules.exclude_seen is not None:
        yield "Leaves out what a person knows already." if rules.exclude_seen else "Shows what a person knows, too."


def _moved(rules: ListRules) -> Iterator[str]:
    for boost in rules.boosts or ():
        rest = {name: member for name, member in boost.items() if name != "factor"}
        factor = boost["factor"]
        condition = _condition(rest)
        yield f"Comes {'sooner' if factor > 1 else 'later'}, as if {factor:g} times as fitting, where {condition}."
    if rules.whitelist:
        yield f"{_pieces(len(rules.whitelist)).capitalize()} raised by an editor, where they fit at all."
    if rules.pins:
        yield f"{_pieces(len(rules.pins)).capitalize()} at places that an editor chose."
    for quota in rules.quotas or ():
        condition = _condition(quota.filter)
        yield f"At least {quota.at_least} of the first {quota.of} where {condition}."
    for category, most in (rules.max_per_value or {}).items():
        yield f"At most {most} of the same {category}."
    if rules.diversity is not None:
        yield f"How mixed: {_step_word('diversity', rules.diversity)}."
    if rules.calibration and rules.calibration_category:
        how = _step_word("calibration", rules.calibration)
        yield f"Keeps the shares that {rules.calibration_category} has of each person's tastes: {how}."
    if rules.rotation:
        yield f"What a person was shown and passed over steps back: {_step_word('rotation', rules.rotation)}."


def _otherwise(rules: ListRules) -> Iterator[str]:
    if rules.rows is not None and rules.rows > 1:
        yield f"Gives a page up to {rules.rows} rows, each about something else, others every day."
    if rules.fallback is not None:
        yield f"Where it would be empty, another list: {_KINDS[rules.fallback]}."


def _variants(spec: PlacementSpec) -> Iterator[str]:
    if spec.variants:
        named = ", ".join(f"{each.name} for {each.share * 100 / BUCKETS:.4g} %" for each in spec.variants)
        yield f"Some people see it otherwise, for a comparison: {named}. All others see it as it is ({BASE})."


def parts_of(rules: ListRules, settings: SourceSettings) -> list[tuple[str, float]]:
    """Return what counts in a row, each part with its share of 1."""
    if rules.kind in _BLENDED and not (rules.kind is PlacementKind.PICKS and rules.order != "personal"):
        blend = rules.settings(settings).blend
        weights = {"content": blend.content, "audience": blend.audience, "popularity": blend.popularity}
        total = sum(weights.values())
        return [(part, round(weight / total, 2)) for part, weight in weights.items() if weight]
    if rules.kind in {PlacementKind.SIMILAR, PlacementKind.BECAUSE}:
        return {
            Basis.AUDIENCE: [("audience", 1.0)],
            Basis.BOTH: [("content", 0.5), ("audience", 0.5)],
        }.get(rules.algorithm or Basis.CONTENT, [("content", 1.0)])
    return [(str(rules.kind), 1.0)]


def data_in_words(rules: ListRules, settings: SourceSettings) -> list[str]:
    """Return what a row uses of whom, and how long that is kept."""
    parts = {part for part, _ in parts_of(rules, settings)}
    used = []
    if "content" in parts:
        used.append("Keywords of the pieces.")
    if parts & {"audience", "popularity", "popular"}:
        used.append("What many people like together; nobody by themselves.")
    if rules.kinds & _PERSONAL:
        used.append(
            f"What the person did here, of the last {_days(settings.retention_days)}, and what they said they like."
        )
    if rules.rotation:
        used.append(f"What the person was shown and passed over, of the last {_days(_shown_days(settings))}.")
    used.append(
        f"What people do is kept for {_days(settings.retention_days)}, what they were shown for "
        f"{_days(_shown_days(settings))}."
    )
    return used


def control_in_words(rules: ListRules) -> list[str]:
    """Return how a person changes what a row shows them."""
    if not rules.kinds & _PERSONAL:
        return ["Everybody sees the same, but for what they have hidden: hiding a piece takes it out of every list."]
    return [
        "What the person does next counts in the next list.",
        "Preferences: keywords liked or not, and pieces hidden, count as said.",
        "Switched off, the row is that of somebody unknown, and nothing more is stored.",
        "Taking back one thing, or erasing everything, is in force at once.",
    ]


def _shown_days(settings: SourceSettings) -> int:
    return min(settings.retention_days, IMPRESSION_DAYS)


def _pieces(count: int) -> str:
    return "one piece" if count == 1 else f"{count} pieces"


def _days(count: float) -> str:
    return "one day" if count == 1 else f"{count} days"


def _catalogs(names: Sequence[str]) -> str:
    return f"the catalog {names[0]}" if len(names) == 1 else f"the catalogs {', '.join(names)}"
