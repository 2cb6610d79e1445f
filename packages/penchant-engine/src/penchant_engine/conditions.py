"""Conditions on attributes and keywords, as filters and boosts of lists take them.

Field("year") >= 1990
Field("language").any_of("en", "fr") & ~Field("rating").any_of("18+")
Keywords("genre").any_of("crime", "noir")
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from penchant_engine.attributes import (
    BOOST_SCALE,
    Attribute,
    AttributeFilter,
    AttributeType,
    Boost,
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
from penchant_engine.checking import number_in
from penchant_engine.errors import InvalidInput
from penchant_engine.frames import moment_of
from penchant_engine.model import Term

Attributes: TypeAlias = Mapping[str, Attribute]
MAX_FACTOR = 100
"""The greatest factor of a boost; the least is a hundredth."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What a piece must meet: ``parts`` joined by ``how``, `all`, `any` or `none`, or a test of a field or category."""

    how: str
    parts: tuple["Condition", ...] = ()
    name: str = ""
    values: tuple[Any, ...] = ()

    def __and__(self, other: "Condition") -> "Condition":
        return Condition("all", (self, other))

    def __or__(self, other: "Condition") -> "Condition":
        return Condition("any", (self, other))

    def __invert__(self) -> "Condition":
        return Condition("none", (self,))

    def __bool__(self) -> bool:
        """Refuse: ``and``, ``or``, ``not`` and chained comparisons would drop a half of what is meant.

        Raises:
            InvalidInput: always.
        """
        raise InvalidInput("Conditions are joined by & and |, and turned by ~, each in brackets: (a >= 1) & (a < 5).")

    def clause(self, attributes: Attributes) -> Clause:
        """Return what it means for pieces with these attributes.

        Raises:
            InvalidInput: it asks for an attribute that there is not, or for what that has not.
        """
        if self.parts:
            clauses = tuple(each.clause(attributes) for each in self.parts)
            return ClauseGroup(**{{"all": "must", "any": "should", "none": "must_not"}[self.how]: clauses})
        if self.how == "keyword":
            return TermCondition(tuple(Term(self.name, each) for each in self.values))
        if self.how == "category":
            return CategoryCondition(self.name)
        attribute = attributes.get(self.name)
        if attribute is None:
            known = ", ".join(map(repr, attributes)) or "none: name them as `attributes` of the catalogue"
            raise InvalidInput(f"The catalogue has no attribute {self.name!r}; it has {known}.")
        number = numbered(attributes.values()).index(attribute)
        return MarkCondition(self._spans(number, attribute.type), self.name)

    def _spans(self, number: int, kind: AttributeType) -> tuple[MarkSpan, ...]:
        if self.how == "exists":
            return (marks_of_all(number),)
        marks = [mark_of(number, value_of(each, kind, self.name)) for each in self.values]
        if self.how == "any of":
            return tuple(MarkSpan(mark, just_behind(mark)) for mark in marks)
        if not kind.is_ordered:
            raise InvalidInput(f"{self.name!r} is of the type {kind}, whose values have no order; any_of is accepted.")
        first, behind = marks_of_all(number)
        edge = just_behind(marks[0]) if self.how in {">", "<="} else marks[0]
        return (MarkSpan(edge, behind) if self.how in {">", ">="} else MarkSpan(first, edge),)


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """An attribute of a catalogue, by its name; comparisons with it are conditions."""

    name: str

    def any_of(self, *values: Any) -> Condition:
        """Return the condition that a piece has one of these values."""
        if not values:
            raise InvalidInput("any_of needs a value at least.")
        if any(isinstance(each, list | tuple | np.ndarray) for each in values):
            raise InvalidInput("any_of takes values, not a list of them: any_of(*values).")
        return Condition("any of", name=self.name, values=values)

    def exists(self) -> Condition:
        """Return the condition that a piece has any value."""
        return Condition("exists", name=self.name)

    def __eq__(self, value: object) -> Condition:  # type: ignore[override]  # a condition, as in frames
        return self.any_of(value)

    def __ne__(self, value: object) -> Condition:  # type: ignore[override]  # as above
        return ~self.any_of(value)

    def __hash__(self) -> int:
        return hash(self.name)

    def __ge__(self, value: Any) -> Condition:
        return Condition(">=", name=self.name, values=(value,))

    def __gt__(self, value: Any) -> Condition:
        return Condition(">", name=self.name, values=(value,))

    def __le__(self, value: Any) -> Condition:
        return Condition("<=", name=self.name, values=(value,))

    def __lt__(self, value: Any) -> Condition:
        return Condition("<", name=self.name, values=(value,))


@dataclass(frozen=True, slots=True)
class Keywords:
    """The keywords that pieces have in a category; nested categories are named by their path, ``people/director``."""

    category: str

    def any_of(self, *keywords: str) -> Condition:
        """Return the condition that a piece has one of these keywords."""
        if not keywords or not all(isinstance(each, str) for each in keywords):
            raise InvalidInput("any_of of Keywords takes one text at least, and nothing else: any_of(*keywords).")
        return Condition("keyword", name=self.category, values=keywords)

    def all_of(self, *keywords: str) -> Condition:
        """Return the condition that a piece has all of these keywords."""
        if not keywords:
            raise InvalidInput("all_of needs a keyword at least.")
        return Condition("all", tuple(self.any_of(each) for each in keywords))

    def exists(self) -> Condition:
        """Return the condition that a piece has any keyword of the category."""
        return Condition("category", name=self.category)


def filter_of(condition: Condition | None, attributes: Attributes) -> AttributeFilter | None:
    """Return a condition as rankings take it; raises as `Condition.clause`."""
    return None if condition is None else _matching(condition, attributes)


def boosts_of(boosts: Sequence[tuple[Condition, float]], attributes: Attributes) -> tuple[Boost, ...]:
    """Return boosts, conditions with factors of two decimals, as rankings take them; raises as `Condition.clause`."""
    if not isinstance(boosts, Sequence) or not all(isinstance(each, tuple) and len(each) == 2 for each in boosts):
        raise InvalidInput(f"boosts are {boosts!r}: a list of pairs is accepted, each a condition and a factor.")
    found = []
    for condition, factor in boosts:
        hundredths = round(number_in(factor, 0.01, MAX_FACTOR, "The factor of a boost") * BOOST_SCALE)
        if abs(hundredths - factor * BOOST_SCALE) > 1e-6:
            raise InvalidInput(f"The factor of a boost is {factor}: two decimals at most are accepted.")
        found.append(Boost(_matching(condition, attributes), hundredths))
    return tuple(found)


def _matching(condition: Any, attributes: Attributes) -> AttributeFilter:
    if not isinstance(condition, Condition):
        raise InvalidInput(f"{condition!r} is no condition; one such as Field('year') >= 1990 is accepted.")
    try:
        return AttributeFilter(repr(condition), condition.clause(attributes))
    except RecursionError:
        raise InvalidInput("The condition is nested too deeply: any_of takes any number of values.") from None


def value_of(value: Any, kind: AttributeType, name: str) -> str | float | bool:
    """Return a value as marks hold those of a type.

    Raises:
        InvalidInput: it is of another type.
    """
    value = value.item() if isinstance(value, np.generic) and not isinstance(value, np.datetime64) else value
    if kind is AttributeType.TIME:
        moment = moment_of(value)
        if moment is not None:
            return float(moment)
    elif kind is AttributeType.BOOLEAN:
        if isinstance(value, bool):
            return value
    elif kind in {AttributeType.KEYWORD, AttributeType.KEYWORDS}:
        if isinstance(value, str):
            return value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        with suppress(OverflowError):
            number = float(value)
            # Marks have no order with NaN among them.
            if not math.isnan(number):
                return number
    raise InvalidInput(f"{value!r} is no value of {name!r}, which is of the type {kind}.")
