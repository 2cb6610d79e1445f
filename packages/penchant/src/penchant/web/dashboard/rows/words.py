"""What a row is in words: its kind, how mixed it is, its rules, what it uses, and how a person changes it."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from penchant.model import PlacementKind, SourceSettings
from penchant.rows.model import IMPRESSION_DAYS
from penchant.web.dashboard.rows.clauses import CONDITIONS, ClauseRow, clause_row, filter_rows
from penchant.wire.fields import is_number
from penchant.wire.placements import BASE, BUCKETS, ListRules, PlacementSpec
from penchant_engine.attributes import Attribute
from penchant_engine.model import Basis


class KindWords(NamedTuple):
    """What a kind of row is called, and what it shows."""

    name: str
    sentence: str


KIND_WORDS: Mapping[PlacementKind, KindWords] = MappingProxyType(
    {
        PlacementKind.RECOMMENDATIONS: KindWords("For a person", "What fits what each one liked, best first."),
        PlacementKind.BECAUSE: KindWords("Because you liked …", "One liked piece, named, and what goes with it."),
        PlacementKind.KEYWORD: KindWords("More of a keyword", "The best of one keyword that the person likes."),
        PlacementKind.SIMILAR: KindWords("Beside a piece", "What goes with the piece on the page."),
        PlacementKind.POPULAR: KindWords("Popular", "What most people turned to lately."),
        PlacementKind.NEW: KindWords("Newest", "What came in last."),
        PlacementKind.AGAIN: KindWords("Go on", "What the person has begun, or comes back to."),
        PlacementKind.PICKS: KindWords("Your picks", "Pieces that you choose, in your order or each person's."),
    }
)
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


def step_word(member: str, value: float) -> str:
    """Return the word for a number, that of the nearest one that has a word; of two the smaller one's."""
    steps = STEPS[member]
    return steps[min(steps, key=lambda each: (abs(each - value), each))]


def condition_words(row: ClauseRow) -> str:
    """Return a condition in words."""
    if row.condition == "json":
        return "a further condition holds"
    return " ".join(filter(None, (row.attribute, CONDITIONS[row.condition], row.value)))


def rules_in_words(spec: PlacementSpec, attributes: Mapping[str, Attribute]) -> list[str]:
    """Return the rules of a row, a sentence each: which pieces it may show, what moves them, for whom."""
    rules = spec.rules
    return [*_which(rules, attributes), *_moved(rules, attributes), *_otherwise(rules), *_variants(spec)]


def _which(rules: ListRules, attributes: Mapping[str, Attribute]) -> Iterator[str]:
    if rules.content is not None:
        order = "as suits each person" if rules.order == "personal" else "in the order given"
        yield f"An editor picked {_pieces(len(rules.content))}; they stand {order}."
    if rules.catalogs:
        yield f"Only from {_catalogs(sorted(rules.catalogs))}."
    for row in filter_rows(rules.filter, attributes) if rules.filter else ():
        yield f"Only where {condition_words(row)}."
    if rules.blacklist is not None:
        yield f"{_pieces(len(rules.blacklist)).capitalize()} hidden in this row."
    if rules.exclude_seen is not None:
        yield "Leaves out what a person knows already." if rules.exclude_seen else "Shows what a person knows, too."


def _moved(rules: ListRules, attributes: Mapping[str, Attribute]) -> Iterator[str]:
    for boost in rules.boosts or ():
        rest = {name: member for name, member in boost.items() if name != "factor"}
        factor = boost["factor"]
        condition = condition_words(clause_row(rest, attributes))
        yield f"Comes {'sooner' if factor > 1 else 'later'}, as if {factor:g} times as fitting, where {condition}."
    if rules.whitelist:
        yield f"{_pieces(len(rules.whitelist)).capitalize()} raised by an editor, where they fit at all."
    if rules.pins:
        yield f"{_pieces(len(rules.pins)).capitalize()} at places that an editor chose."
    for quota in rules.quotas or ():
        condition = condition_words(clause_row(quota.filter, attributes))
        yield f"At least {quota.at_least} of the first {quota.of} where {condition}."
    for category, most in (rules.max_per_value or {}).items():
        yield f"At most {most} of the same {category}."
    if rules.diversity is not None:
        yield f"How mixed: {step_word('diversity', rules.diversity).lower()}."
    if rules.calibration and rules.calibration_category:
        how = step_word("calibration", rules.calibration).lower()
        yield f"Keeps the shares that {rules.calibration_category} has of each person's tastes: {how}."
    if rules.rotation:
        yield f"What a person was shown and passed over steps back: {step_word('rotation', rules.rotation).lower()}."


def _otherwise(rules: ListRules) -> Iterator[str]:
    if rules.rows is not None and rules.rows > 1:
        yield f"Gives a page up to {rules.rows} rows, each about something else, others every day."
    if rules.fallback is not None:
        yield f"Where it would be empty, another list: {KIND_WORDS[rules.fallback].name.lower()}."


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
    return [(rules.kind.value, 1.0)]


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
                yield _moved_value(f"{label}, {name}", before.get(name), after.get(name))
        return
    told = [_short_value(key, each) for each in (old, new)]
    if (old is None or told[0]) and told[1]:
        yield _moved_value(label, *told)
    else:
        yield f"{label} {'added' if old is None else 'removed' if new is None else 'changed'}"


def _moved_value(label: str, old: str | None, new: str | None) -> str:
    if new is None:
        return f"{label} removed"
    return f"{label}: {new}" if old is None else f"{label}: {old} → {new}"


def _short_value(key: str, value: Any) -> str | None:
    """Return a value in words; ``None`` for one that is not short, or is not there."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if is_number(value):
        return STEPS[key][value] if value in STEPS.get(key, ()) else f"{value:g}"
    if isinstance(value, str) and len(value) <= MAX_TOLD:
        return next((words.name for kind, words in KIND_WORDS.items() if kind.value == value), f"“{value}”")
    return None
