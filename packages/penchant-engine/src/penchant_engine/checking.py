"""Checks of what the library is given: errors in its own words, before something further in stumbles over it."""

import enum
import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from penchant_engine.errors import InvalidInput

Member = TypeVar("Member", bound=enum.Enum)


def id_of(value: Any, name: str = "id") -> str:
    """Return an id as text; whole numbers are written as they are, as `frames.ids_of` does it.

    Raises:
        InvalidInput: it is neither a text nor a whole number.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(int(value))
    raise InvalidInput(f"{value!r} is no {name}: a text or a whole number is accepted.")


def ids_in(values: Iterable[Any], name: str) -> list[str]:
    """Return ids as texts; one text alone is none, as it would be taken letter by letter; raises as `id_of`."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInput(f"{name} is {values!r}: a list of ids is accepted.")
    return [each if isinstance(each, str) else id_of(each) for each in values]


def count_of(k: Any) -> int:
    """Return how many entries are asked for; raises `InvalidInput` where that is no whole number from 1 on."""
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        raise InvalidInput(f"k is {k!r}; a whole number from 1 on is accepted.")
    return int(k)


def number_in(value: Any, least: float, most: float, name: str) -> float:
    """Return a number within bounds; raises `InvalidInput`."""
    number = value.item() if isinstance(value, np.generic) else value
    is_number = isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
    if not is_number or not least <= number <= most:
        raise InvalidInput(f"{name} is {value!r}: a number from {least:g} to {most:g} is accepted.")
    return float(number) if isinstance(number, float) else number


def member_of(kind: type[Member], value: Any, problem: str) -> Member:
    """Return the member of an enumeration that has a value; raises `InvalidInput`, which says the problem."""
    try:
        return kind(value)
    except ValueError:
        raise InvalidInput(f"{problem}: {', '.join(each.value for each in kind)} are accepted.") from None


def require_known(options: Mapping[str, Any], kind: type) -> None:
    """Raise `InvalidInput` where an option is none of a `TypedDict`."""
    known = {
        name for each in (kind, *getattr(kind, "__orig_bases__", ())) for name in getattr(each, "__annotations__", {})
    }
    if unknown := sorted(options.keys() - known):
        raise InvalidInput(f"There is no option {unknown[0]!r}: {', '.join(sorted(known))} are accepted.")
