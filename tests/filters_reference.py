"""Filters by full scan, in plain Python over pieces as they were submitted; nothing of `penchant` is used."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

ATTRIBUTES: dict[str, dict[str, str]] = {
    "language": {"pointer": "/language", "type": "keyword"},
    "tags": {"pointer": "/tags", "type": "keywords"},
    "first tag": {"pointer": "/tags/0", "type": "keyword"},
    "age": {"pointer": "/rating/age~1group", "type": "integer"},
    "price": {"pointer": "/price", "type": "number"},
    "free": {"pointer": "/free", "type": "boolean"},
    "made": {"pointer": "/made", "type": "time"},
}
_WORDS = ["", "de", "en", "en\0", "en a", "é", "😀"]
_INTEGERS = [-3, -0.0, 0, 1, 6, 12.0, 2**53]
_NUMBERS = [-1e300, -2.5, -0.0, 0, 0.1, 7, 1e300]
_MOMENTS = ["1969-12-31", "1970-01-01", "2026-01-01T00:00:00+02:00", "2025-12-31T22:00:00.001Z", "2026-01-01"]
_VALUES: dict[str, list[Any]] = {
    "keyword": _WORDS,
    "keywords": _WORDS,
    "integer": _INTEGERS,
    "number": _NUMBERS,
    "boolean": [True, False],
    "time": _MOMENTS,
}
_ANYTHING: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0.5, 1, 2**53 + 1, "no", "2026-13-01", [], ["x", 1], {}, "x" * 501]
)


def _of(kind: str) -> st.SearchStrategy[Any]:
    values = st.sampled_from(_VALUES[kind])
    return _ANYTHING | (st.lists(values, max_size=3) if kind == "keywords" else values)


_EXTRAS = st.fixed_dictionaries(
    {},
    optional={
        "language": _of("keyword"),
        "tags": _of("keyword") | _of("keywords"),
        "rating": _ANYTHING | st.fixed_dictionaries({"age/group": _of("integer")}),
        "price": _of("number"),
        "free": _of("boolean"),
        "made": _of("time"),
    },
)


_CATEGORIES = st.fixed_dictionaries(
    {"genre": st.lists(st.sampled_from(["noir", "crime", "war"]), min_size=1, max_size=2, unique=True)},
    optional={"people/director": st.just(["Lang"]), "people": st.just(["noir"])},
)
_CATALOGS = st.lists(st.sampled_from(["tv", "maps, charts", "web"]), max_size=2, unique=True)
PIECE = st.fixed_dictionaries(
    {"categories": _CATEGORIES, "filters": st.fixed_dictionaries({"catalogs": _CATALOGS}), "extras": _EXTRAS}
)
"""A piece without its id."""


def _condition(key: str) -> st.SearchStrategy[dict[str, Any]]:
    kind = ATTRIBUTES[key]["type"]
    value = st.sampled_from(_VALUES[kind])
    some = st.lists(value, min_size=1, max_size=3)
    operators: dict[str, st.SearchStrategy[Any]] = {"any": some, "all": some, "exists": st.booleans()}
    if kind in {"integer", "number", "time"}:
        operators |= dict.fromkeys(("gt", "gte", "lt", "lte"), value)
    chosen = st.lists(st.sampled_from(sorted(operators)), min_size=1, max_size=3, unique=True)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({"key": st.just(key)} | {n: operators[n] for n in names}))


_SOME_KEYWORDS = st.lists(st.sampled_from(["noir", "crime", "war", "Lang", "none"]), min_size=1, max_size=3)
_OF_CATEGORY = st.fixed_dictionaries(
    {"category": st.sampled_from(["genre", "people", "people/director", "nothing"])},
    optional={"any": _SOME_KEYWORDS, "all": _SOME_KEYWORDS, "exists": st.booleans()},
).filter(lambda condition: len(condition) > 1)
_OF_CATALOGS = st.fixed_dictionaries(
    {"catalogs": st.lists(st.sampled_from(["tv", "maps, charts", "none"]), min_size=1, max_size=2)}
)
CONDITIONS = st.sampled_from(sorted(ATTRIBUTES)).flatmap(_condition) | _OF_CATEGORY | _OF_CATALOGS
FILTERS = st.recursive(
    CONDITIONS,
    lambda inner: st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("must", "should", "mustNot"), st.lists(inner, max_size=2))
    ),
    max_leaves=6,
)


def holds(clause: dict[str, Any], piece: dict[str, Any]) -> bool:
    """Return whether a filter holds for a piece."""
    if "key" in clause:
        return _condition_holds(clause, piece["extras"])
    if "category" in clause:
        return _keywords_hold(clause, set(piece["categories"].get(clause["category"], ())))
    if "catalogs" in clause:
        return not set(clause["catalogs"]).isdisjoint(piece["filters"]["catalogs"])
    should = clause.get("should", [])
    return (
        all(holds(each, piece) for each in clause.get("must", []))
        and (not should or any(holds(each, piece) for each in should))
        and not any(holds(each, piece) for each in clause.get("mustNot", []))
    )


def _keywords_hold(clause: dict[str, Any], own: set[str]) -> bool:
    return (
        ("any" not in clause or not own.isdisjoint(clause["any"]))
        and own.issuperset(clause.get("all", ()))
        and ("exists" not in clause or bool(own) == clause["exists"])
    )


def _condition_holds(clause: dict[str, Any], extras: dict[str, Any]) -> bool:
    attribute = ATTRIBUTES[clause["key"]]
    own = values(attribute, extras)

    def same(name: str) -> list[Any]:
        return [_value(each, attribute["type"]) for each in clause[name]]

    tests: dict[str, Callable[[], bool]] = {
        "any": lambda: any(each in own for each in same("any")),
        "all": lambda: all(each in own for each in same("all")),
        "gt": lambda: any(each > _value(clause["gt"], attribute["type"]) for each in own),
        "gte": lambda: any(each >= _value(clause["gte"], attribute["type"]) for each in own),
        "lt": lambda: any(each < _value(clause["lt"], attribute["type"]) for each in own),
        "lte": lambda: any(each <= _value(clause["lte"], attribute["type"]) for each in own),
        "exists": lambda: bool(own) == clause["exists"],
    }
    return all(tests[name]() for name in clause if name != "key")


def values(attribute: dict[str, str], extras: dict[str, Any]) -> list[Any]:
    """Return the values of an attribute that count."""
    found: Any = extras
    for step in attribute["pointer"].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(name)
        else:
            is_position = isinstance(found, list) and name.isdigit() and int(name) < len(found)
            found = found[int(name)] if is_position else None
    kind = attribute["type"]
    if kind == "keywords" and isinstance(found, list):
        read = [_value(each, kind) for each in found]
        return [] if None in read else read
    value = _value(found, kind)
    return [] if value is None else [value]


def _value(value: Any, kind: str) -> Any:
    """Return a value to compare by; ``None`` for one of another type."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind in {"keyword", "keywords"}:
        return value if isinstance(value, str) and len(value) <= 500 else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if kind == "number":
        return value if is_number else None
    if kind == "integer":
        return value if is_number and value == int(value) and abs(value) <= 2**53 else None
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
