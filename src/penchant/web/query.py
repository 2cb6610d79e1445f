"""Queries: how the values of an operation's parameters are read from one, and what its names are that nobody knows.

Each `Parameter` both parses and describes itself, so that the OpenAPI document cannot drift from the code.
"""

import functools
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from penchant.errors import Fault, InvalidInput
from penchant.web.raw import QueryParameters, list_name

MAX_REMEMBERED_LENGTH = 200
"""Characters of a query whose values are remembered: what clients repeat is short."""
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_LONGEST_INTEGER = 18
"""Digits that fit a 64-bit integer; longer ones count as that large."""


# Compared and hashed by identity: `_read_parameters` remembers by parameters, and schemas cannot be hashed.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parameter:
    """A query parameter: its name, how its text is read (``ValueError`` says what is accepted), its schema.

    One that is a list is read by ``read_all`` from the whole query instead: it may be repeated, and spelt
    ``name[]`` or ``name[0]``.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    read: Callable[[str], Any] = str
    read_all: Callable[[QueryParameters], Any] | None = None
    default: Any = None
    deprecated: bool = False

    def is_named(self, key: str) -> bool:
        """Return whether a key of a query means this parameter."""
        return key == self.name or (self.read_all is not None and list_name(key) == self.name)

    def value(self, query: QueryParameters) -> Any:
        """Return the parameter's value in this query, or the default where it is absent.

        Raises:
            ValueError: given twice, blank, or not acceptable.
        """
        if self.read_all is not None:
            return self.read_all(query)
        given = query.values(self.name)
        if not given:
            return self.default
        # Refused, since programs differ in which of two they take; so a proxy could understand another request.
        if len(given) > 1:
            raise ValueError("Given more than once; give it once.")
        if not given[0]:
            raise ValueError("The value is blank; leave the parameter out or give a value.")
        return self.read(given[0])


@dataclass(frozen=True, slots=True)
class Values:
    """The values of an operation's parameters, and the names in the query that it does not know."""

    known: Mapping[str, Any] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return self.known[name]


def read_parameters(parameters: Collection[Parameter], query: QueryParameters) -> Values:
    """Return the values of all parameters.

    Raises:
        InvalidInput: with a fault for every parameter that is not acceptable.
    """
    if sum(len(name) + len(value) for name, value in query.pairs) > MAX_REMEMBERED_LENGTH:
        return _read_parameters.__wrapped__(tuple(parameters), query)
    return _read_parameters(tuple(parameters), query)


@functools.lru_cache(maxsize=1_024)
def _read_parameters(parameters: tuple[Parameter, ...], query: QueryParameters) -> Values:
    """Return the values; remembered, since clients ask the same way again and again: 12 us less a request."""
    known: dict[str, Any] = {}
    faults = []
    for parameter in parameters:
        try:
            known[parameter.name] = parameter.value(query)
        except ValueError as error:
            faults.append(Fault(parameter=parameter.name, detail=str(error)))
    if faults:
        first = faults[0]
        raise InvalidInput(f"The parameter {first.parameter} is not acceptable: {first.detail}", faults=faults)
    return Values(known, ignored_names(parameters, query))


def ignored_names(parameters: Collection[Parameter], query: QueryParameters) -> tuple[str, ...]:
    """Return the names in a query that none of the parameters has."""
    if not query.pairs:
        return ()
    return tuple(key for key in query.names() if not any(parameter.is_named(key) for parameter in parameters))


def integer(text: str, *, least: int, most: int | None = None) -> int:
    """Return the integer that a text spells, cut to ``most``.

    Raises:
        ValueError: no integer, or less than ``least``.
    """
    if not _INTEGER.match(text):
        raise ValueError(f"Found a value that is no integer; an integer from {least} on is accepted.")
    # Cut, not refused: a number of a thousand digits is a large number, and Python would not convert any length.
    digits = text.lstrip("+-").lstrip("0")
    value = int(digits[:_LONGEST_INTEGER] or "0")
    if text.startswith("-"):
        value = -value
    if value < least:
        raise ValueError(f"Found {value}; an integer from {least} on is accepted.")
    return value if most is None else min(value, most)
