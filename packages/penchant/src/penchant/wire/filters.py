"""Filters on the wire: conditions on attributes as JSON, checked to the last member and made ready for the index.

    {"must": [{"key": "language", "any": ["en", "fr"]}, {"key": "ageRating", "lte": 12}], "mustNot": […]}

A clause is a condition, which has a ``key``, or a group of clauses; a filter is a clause.
"""

from collections.abc import Mapping
from typing import Any

from penchant.errors import InvalidSyntax
from penchant.wire.attributes import typed_value
from penchant.wire.fields import is_number
from penchant.wire.syntax import Faults, decode, encode, fail_at, hundredths_of, kind_of
from penchant.wire.times import complete_offset
from penchant_engine.attributes import (
    BOOST_SCALE,
    Attribute,
    AttributeFilter,
    AttributeType,
    Boost,
    Clause,
    ClauseGroup,
    MarkCondition,
    MarkSpan,
    just_behind,
    mark_of,
    marks_of_all,
    numbered,
)

MAX_FILTER_BYTES = 8_192
"""Bytes of a filter as JSON: what fits an address, and makes its mask in milliseconds."""
MAX_CONDITIONS = 100
MAX_FILTER_DEPTH = 8
MAX_FILTER_VALUES = 1_000
"""Conditions of a filter, groups within groups, and values of all its conditions; all boosts have as many together."""
MAX_BOOSTS = 4
"""Boosts of a list: they cut pieces into up to 2^4 classes, each of which is searched."""
MAX_FACTOR = 100
_GROUPS = {"must": "must", "should": "should", "mustNot": "must_not"}
_BOUNDS = ("gt", "gte", "lt", "lte")
_OPERATORS = ("any", "all", *_BOUNDS, "exists")


def decode_filter(text: str, attributes: Mapping[str, Attribute]) -> AttributeFilter:
    """Return a filter that is given as text.

    Raises:
        InvalidSyntax: not JSON.
        InvalidInput: no acceptable filter; every fault has its pointer.
    """
    return read_filter(_decoded(text, "filter"), attributes)


def decode_boosts(text: str, attributes: Mapping[str, Attribute]) -> tuple[Boost, ...]:
    """Return boosts that are given as text, one or an array; raises as `decode_filter`."""
    return read_boosts(_decoded(text, "boost"), attributes)


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


def read_filter(value: Any, attributes: Mapping[str, Attribute], where: str = "") -> AttributeFilter:
    """Return the filter of a decoded value; ``where`` is its pointer in what it is part of.

    Raises:
        InvalidInput: no acceptable filter; every fault has its pointer.
    """
    text = encode(value)
    _check_size(text, where)
    reader = _FilterReader(attributes)
    clause = reader.clause(value, where, 1)
    reader.faults.raise_any()
    return AttributeFilter(text.decode(), clause)


def read_boosts(value: Any, attributes: Mapping[str, Attribute], where: str = "") -> tuple[Boost, ...]:
    """Return the boosts of a decoded value, clauses that have a ``factor``; raises as `read_filter`."""
    _check_size(encode(value), where)
    entries = value if isinstance(value, list) else [value]
    if len(entries) > MAX_BOOSTS:
        fail_at(where, f"Found {len(entries)} boosts; up to {MAX_BOOSTS} are accepted.")
    reader = _FilterReader(attributes)
    boosts = [
        reader.boost(each, f"{where}/{place}" if isinstance(value, list) else where)
        for place, each in enumerate(entries)
    ]
    reader.faults.raise_any()
    return tuple(boosts)


class _FilterReader:
    """Reads one filter, noting every fault on the way."""

    def __init__(self, attributes: Mapping[str, Attribute]) -> None:
        self.faults = Faults()
        self._attributes = attributes
        self._numbers = {attribute: number for number, attribute in enumerate(numbered(attributes.values()))}
        self._conditions = 0
        self._values = 0

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
        elif "key" in value:
            return self._condition(value, where)
        else:
            return self._group(value, where, depth)
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

    def _condition(self, value: Mapping[str, Any], where: str) -> Clause:
        self._conditions += 1
        if self._conditions == MAX_CONDITIONS + 1:
            self.faults.add(where, f"A filter has up to {MAX_CONDITIONS} conditions; this is one more.")
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
                *self._exists(value, attribute, where),
            )
        )

    def _any(self, value: Mapping[str, Any], attribute: Attribute, where: str) -> tuple[Clause, ...]:
        if "any" not in value:
            return ()
        return (MarkCondition(tuple(self._spans(value["any"], attribute, f"{where}/any"))),)

    def _all(self, value: Mapping[str, Any], attribute: Attribute, where: str) -> tuple[Clause, ...]:
        spans = self._spans(value["all"], attribute, f"{where}/all") if "all" in value else []
        return tuple(MarkCondition((span,)) for span in spans)

    def _spans(self, values: Any, attribute: Attribute, where: str) -> list[MarkSpan]:
        """Return the spans that hold the mark of one value each."""
        if not isinstance(values, list) or not values:
            kind = "an empty array" if values == [] else kind_of(values)
            self.faults.add(where, f"Found {kind}; an array of one or more values is accepted.")
            return []
        self._values += len(values)
        if self._values > MAX_FILTER_VALUES:
            self.faults.add(where, f"A filter has up to {MAX_FILTER_VALUES} values in all; with these it has more.")
            return []
        marks = [self._mark(each, attribute, f"{where}/{place}") for place, each in enumerate(values)]
        return [MarkSpan(mark, just_behind(mark)) for mark in marks]

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
        return (MarkCondition((MarkSpan(first, behind),)),)

    def _exists(self, value: Mapping[str, Any], attribute: Attribute, where: str) -> tuple[Clause, ...]:
        if "exists" not in value:
            return ()
        exists = value["exists"]
        if not isinstance(exists, bool):
            self.faults.add(f"{where}/exists", f"Found {kind_of(exists)}; true or false is accepted.")
        condition = MarkCondition((marks_of_all(self._numbers[attribute]),))
        return (condition if exists else ClauseGroup(must_not=(condition,)),)

    def _mark(self, value: Any, attribute: Attribute, where: str) -> str:
        if attribute.type is AttributeType.TIME and isinstance(value, str):
            value = complete_offset(value)
        try:
            return mark_of(self._numbers[attribute], typed_value(value, attribute.type))
        except ValueError as error:
            self.faults.add(where, str(error))
            return ""
