"""Filters on the wire: conditions as JSON, checked to the last member and made ready for the index.

    {"must": [{"category": "genre", "any": ["crime"]}, {"key": "ageRating", "lte": 12}], "mustNot": [{"catalogs": […]}]}

A clause is a condition, which has a ``key`` (of an attribute), a ``category`` or ``catalogs``, or a group of clauses; a
filter is a clause.
"""

from collections.abc import Callable, Mapping
from typing import Any

from penchant.errors import InvalidSyntax
from penchant.model import SourceSettings
from penchant.wire.attributes import typed_value
from penchant.wire.fields import is_category, is_number
from penchant.wire.syntax import Faults, decode, encode, fail_at, hundredths_of, kind_of
from penchant.wire.text import id_problem, name_problem
from penchant.wire.times import complete_offset
from penchant_engine.attributes import (
    BOOST_SCALE,
    Attribute,
    AttributeFilter,
    AttributeType,
    Boost,
    CatalogCondition,
    CategoryCondition,
    Clause,
    ClauseGroup,
    MarkCondition,
    MarkSpan,
    TermCondition,
    just_behind,
    mark_of,
    marks_of_all,
    numbered,
)
from penchant_engine.bounded_cache import keep_latest
from penchant_engine.model import Term

MAX_FILTER_BYTES = 8_192
"""Bytes of a filter as JSON: what fits an address, and makes its mask in milliseconds."""
MAX_CONDITIONS = 100
MAX_FILTER_DEPTH = 8
MAX_FILTER_VALUES = 1_000
"""Conditions of a filter, groups within groups, and values of all its conditions; all boosts have as many together."""
MAX_BOOSTS = 4
"""Boosts of a list: they cut pieces into up to 2^4 classes, each of which is searched."""
MAX_FACTOR = 100
MAX_KEPT_FILTER, MAX_KEPT_FILTERS = 200, 64
"""Characters of a filter that is kept as it was read, and how many of them by the settings of a source."""
_GROUPS = {"must": "must", "should": "should", "mustNot": "must_not"}
_BOUNDS = ("gt", "gte", "lt", "lte")
_KEYWORD_OPERATORS = ("any", "all", "exists")
_OPERATORS = ("any", "all", *_BOUNDS, "exists")


def decode_filter(text: str, settings: SourceSettings) -> AttributeFilter:
    """Return a filter that is given as text, by the attributes and the vocabulary of a source.

    Raises:
        InvalidSyntax: not JSON.
        InvalidInput: no acceptable filter; every fault has its pointer.
    """
    found = settings.filters_read.get(text)
    if found is None:
        found = read_filter(_decoded(text, "filter"), settings)
        if len(text) <= MAX_KEPT_FILTER:
            keep_latest(settings.filters_read, text, found, MAX_KEPT_FILTERS)
    return found


def decode_boosts(text: str, settings: SourceSettings) -> tuple[Boost, ...]:
    """Return boosts that are given as text, one or an array; raises as `decode_filter`."""
    return read_boosts(_decoded(text, "boost"), settings)


def _decoded(text: str, name: str) -> Any:
    body = text.encode()
    _check_size(body, "")
    try:
        return decode(body)
    except InvalidSyntax as error:
        raise InvalidSyntax(error.detail.replace("The body", f"The {name}", 1)) from None


def _check_size(body: bytes, where: str) -> None:
    if len(body) > MAX_FILTER_BYTES:
        fail_at(where, f"Found {len(body)} bytes; up to {MAX_FILTER_BYTES} are accepted.")


def read_filter(value: Any, settings: SourceSettings, where: str = "") -> AttributeFilter:
    """Return the filter of a decoded value; ``where`` is its pointer in what it is part of.

    Raises:
        InvalidInput: no acceptable filter; every fault has its pointer.
    """
    text = encode(value)
    _check_size(text, where)
    reader = _FilterReader(settings)
    clause = reader.clause(value, where, 1)
    reader.faults.raise_any()
    return AttributeFilter(text.decode(), clause)


def read_boosts(value: Any, settings: SourceSettings, where: str = "") -> tuple[Boost, ...]:
    """Return the boosts of a decoded value, clauses that have a ``factor``; raises as `read_filter`."""
    _check_size(encode(value), where)
    entries = value if isinstance(value, list) else [value]
    if len(entries) > MAX_BOOSTS:
        fail_at(where, f"Found {len(entries)} boosts; up to {MAX_BOOSTS} are accepted.")
    reader = _FilterReader(settings)
    boosts = [
        reader.boost(each, f"{where}/{place}" if isinstance(value, list) else where)
        for place, each in enumerate(entries)
    ]
    reader.faults.raise_any()
    return tuple(boosts)


class _FilterReader:
    """Reads one filter, noting every fault on the way."""

    def __init__(self, settings: SourceSettings) -> None:
        self.faults = Faults()
        self._attributes, self._vocabulary = settings.attributes, settings.vocabulary
        self._numbers = {attribute: number for number, attribute in enumerate(numbered(self._attributes.values()))}
        self._conditions = 0
        self._values = 0
        # How a condition is read, by the member that says what it is about.
        self._readers: Mapping[str, Callable[[Mapping[str, Any], str], Clause]] = {
            "key": self._of_attribute,
            "category": self._of_category,
            "catalogs": self._of_catalogs,
        }

    def boost(self, value: Any, where: str) -> Boost:
        if not isinstance(value, dict):
            self.faults.add(where, f"Found {kind_of(value)}; a clause with a factor is accepted.")
            return Boost(AttributeFilter("", ClauseGroup()), BOOST_SCALE)
        rest = {name: member for name, member in value.items() if name != "factor"}
        matching = AttributeFilter(encode(rest).decode(), self.clause(rest, where, 1))
        factor = value.get("factor")
        hundredths = hundredths_of(factor) if is_number(factor) else None
        if hundredths is not None and 1 <= hundredths <= MAX_FACTOR * BOOST_SCALE:
            return Boost(matching, hundredths)
        detail = f"A number from 0.01 to {MAX_FACTOR} with at most two decimals is accepted."
        self.faults.add(f"{where}/factor", detail)
        return Boost(matching, BOOST_SCALE)

    def clause(self, value: Any, where: str, depth: int) -> Clause:
        if not isinstance(value, dict):
            self.faults.add(where, f"Found {kind_of(value)}; an object is accepted, a condition or a group of them.")
        elif depth > MAX_FILTER_DEPTH:
            self.faults.add(where, f"Nested deeper than {MAX_FILTER_DEPTH} levels, the most that is accepted.")
        else:
            read = next((read for name, read in self._readers.items() if name in value), None)
            if read is None:
                return self._group(value, where, depth)
            self._conditions += 1
            if self._conditions == MAX_CONDITIONS + 1:
                self.faults.add(where, f"A filter has up to {MAX_CONDITIONS} conditions; this is one more.")
            return read(value, where)
        return ClauseGroup()

    def _group(self, value: Mapping[str, Any], where: str, depth: int) -> Clause:
        self.faults.only(value, tuple(_GROUPS), where)
        read: dict[str, tuple[Clause, ...]] = {}
        for name, member in _GROUPS.items():
            clauses = value.get(name, [])
            if not isinstance(clauses, list):
                self.faults.add(f"{where}/{name}", f"Found {kind_of(clauses)}; an array of clauses is accepted.")
                continue
            read[member] = tuple(
                self.clause(each, f"{where}/{name}/{place}", depth + 1) for place, each in enumerate(clauses)
            )
        return ClauseGroup(**read)

    def _of_catalogs(self, value: Mapping[str, Any], where: str) -> Clause:
        self.faults.only(value, ("catalogs",), where)
        return CatalogCondition(tuple(self._names(value["catalogs"], name_problem, f"{where}/catalogs")))

    def _of_category(self, value: Mapping[str, Any], where: str) -> Clause:
        self.faults.only(value, ("category", *_KEYWORD_OPERATORS), where)
        category = value["category"]
        if not isinstance(category, str):
            self.faults.add(f"{where}/category", f"Found {kind_of(category)}; the name of a category is accepted.")
            return ClauseGroup()
        is_category(category, f"{where}/category", self.faults)
        if not any(name in value for name in _KEYWORD_OPERATORS):
            self.faults.add(where, f"A condition needs one of {', '.join(_KEYWORD_OPERATORS)}.")
        any_of, all_of = (
            [self._terms(category, each) for each in self._names(value[name], id_problem, f"{where}/{name}")]
            if name in value
            else []
            for name in ("any", "all")
        )
        either = (TermCondition(tuple(term for terms in any_of for term in terms)),) if "any" in value else ()
        exists = self._exists(value, CategoryCondition(category), where)
        return ClauseGroup(must=(*either, *map(TermCondition, all_of), *exists))

    def _terms(self, category: str, keyword: str) -> tuple[Term, ...]:
        """Return what a keyword counts as: itself, what it is an alias of, or nothing."""
        counted = self._vocabulary.read(category, keyword)
        return () if counted is None else (Term(*counted),)

    def _names(self, values: Any, problem_of: Callable[[str], str | None], where: str) -> list[str]:
        """Return the acceptable ones of an array of names."""
        problems = [
            problem_of(each) if isinstance(each, str) else f"Found {kind_of(each)}; a string is accepted."
            for each in self._array(values, where)
        ]
        for place, problem in enumerate(problems):
            if problem:
                self.faults.add(f"{where}/{place}", problem)
        return [each for each, problem in zip(values, problems, strict=True) if not problem] if problems else []

    def _of_attribute(self, value: Mapping[str, Any], where: str) -> Clause:
        self.faults.only(value, ("key", *_OPERATORS), where)
        key = value["key"]
        attribute = self._attributes.get(key) if isinstance(key, str) else None
        if attribute is None:
            known = ", ".join(self._attributes) or "none yet: the setting attributes names them"
            self.faults.add(f"{where}/key", f"The source has no attribute of this name; it has {known}.")
            return ClauseGroup()
        if not any(name in value for name in _OPERATORS):
            self.faults.add(where, f"A condition needs one of {', '.join(_OPERATORS)}.")
        return ClauseGroup(
            must=(
                *self._any(value, attribute, where),
                *self._all(value, attribute, where),
                *self._range(value, attribute, where),
                *self._exists(value, MarkCondition((marks_of_all(self._numbers[attribute]),), key), where),
            )
        )

    def _any(self, value: Mapping[str, Any], attribute: Attribute, where: str) -> tuple[Clause, ...]:
        if "any" not in value:
            return ()
        return (MarkCondition(tuple(self._spans(value["any"], attribute, f"{where}/any")), value["key"]),)

    def _all(self, value: Mapping[str, Any], attribute: Attribute, where: str) -> tuple[Clause, ...]:
        spans = self._spans(value["all"], attribute, f"{where}/all") if "all" in value else []
        return tuple(MarkCondition((span,), value["key"]) for span in spans)

    def _spans(self, values: Any, attribute: Attribute, where: str) -> list[MarkSpan]:
        """Return the spans that hold the mark of one value each."""
        array = self._array(values, where)
        marks = [self._mark(each, attribute, f"{where}/{place}") for place, each in enumerate(array)]
        return [MarkSpan(mark, just_behind(mark)) for mark in marks]

    def _array(self, values: Any, where: str) -> list[Any]:
        """Return an array of values that a filter may have beside those before; empty for anything else, noted."""
        if not isinstance(values, list) or not values:
            kind = "an empty array" if values == [] else kind_of(values)
            self.faults.add(where, f"Found {kind}; an array of one or more values is accepted.")
            return []
        self._values += len(values)
        if self._values > MAX_FILTER_VALUES:
            self.faults.add(where, f"A filter has up to {MAX_FILTER_VALUES} values in all; with these it has more.")
            return []
        return values

    def _range(self, value: Mapping[str, Any], attribute: Attribute, where: str) -> tuple[Clause, ...]:
        """Return the condition that the bounds make together: the marks between the narrowest ones."""
        given = [name for name in _BOUNDS if name in value]
        if not given:
            return ()
        if not attribute.type.is_ordered:
            for name in given:
                detail = f"{value['key']} is of the type {attribute.type}, whose values have no order; use any or all."
                self.faults.add(f"{where}/{name}", detail)
            return ()
        first, behind = marks_of_all(self._numbers[attribute])
        for name in given:
            mark = self._mark(value[name], attribute, f"{where}/{name}")
            edge = just_behind(mark) if name in {"gt", "lte"} else mark
            first, behind = (max(first, edge), behind) if name in {"gt", "gte"} else (first, min(behind, edge))
        return (MarkCondition((MarkSpan(first, behind),), value["key"]),)

    def _exists(self, value: Mapping[str, Any], condition: Clause, where: str) -> tuple[Clause, ...]:
        if "exists" not in value:
            return ()
        exists = value["exists"]
        if not isinstance(exists, bool):
            self.faults.add(f"{where}/exists", f"Found {kind_of(exists)}; true or false is accepted.")
        return (condition if exists else ClauseGroup(must_not=(condition,)),)

    def _mark(self, value: Any, attribute: Attribute, where: str) -> str:
        if attribute.type is AttributeType.TIME and isinstance(value, str):
            value = complete_offset(value)
        try:
            return mark_of(self._numbers[attribute], typed_value(value, attribute.type))
        except ValueError as error:
            self.faults.add(where, str(error))
            return ""
