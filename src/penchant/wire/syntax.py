"""Is a body JSON, and is every value in it one that can be kept? Strictly, with the place of what is wrong."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import msgspec

from penchant.errors import Fault, InvalidInput, InvalidSyntax

MAX_FAULTS = 100
"""Faults that one answer lists (interface, section 3)."""
MAX_FREE_DEPTH = 200
"""Levels within filters and extras: what every reader of the stored piece can surely follow."""
MAX_DIGITS = 4_000
"""Digits of an integer that are read at all; no double holds a number of more than 309."""
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises of text that it does not take."""
_STRIDE = 30
_SUSPECT = re.compile(rb"[0-9]{10}")
"""What every 30th byte shows of a run of 300 digits: an integer that no double may hold, but msgspec reads.

Lone surrogates and decimals past doubles are refused by msgspec itself. A test of every byte takes 90 ms
of a 2.4 MB body, this one 2.
"""
_NESTING = (dict, list)  # as a union it would be made again for every value that is looked at
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Unholdable(float):
    """A number that no double can hold."""


class Faults:
    """Collects what is wrong, up to the limit, and raises it all at once."""

    def __init__(self) -> None:
        self.found: list[Fault] = []

    def add(self, pointer: str, detail: str) -> None:
        """Note one fault; those past the limit are not listed."""
        if len(self.found) < MAX_FAULTS:
            self.found.append(Fault(pointer=pointer, detail=detail))

    def full(self) -> bool:
        """Return whether further faults would not be listed."""
        return len(self.found) >= MAX_FAULTS

    def raise_any(self) -> None:
        """Raise `InvalidInput` with all faults, if there is one."""
        if self.found:
            first = self.found[0]
            where = first.pointer or "the body"
            more = f" ({len(self.found)} faults in all)" if len(self.found) > 1 else ""
            raise InvalidInput(f"{where}: {first.detail}{more}", faults=self.found)


def fail_at(pointer: str, detail: str) -> NoReturn:
    """Raise `InvalidInput` for one fault."""
    raise InvalidInput(f"{pointer or 'the body'}: {detail}", faults=[Fault(pointer=pointer, detail=detail)])


def pointer(*parts: object) -> str:
    """Return the JSON pointer of these members and positions (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def kind_of(value: object) -> str:
    """Return what a decoded value is, as a JSON user would say it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"


def is_deeper(value: Any, levels: int) -> bool:
    """Return whether a decoded value is nested deeper than this many levels."""
    level = [value]
    for _ in range(levels):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, _NESTING)
        ]
        if not level:
            return False
    return True


def is_suspect(raw: bytes) -> bool:
    """Return whether JSON text may hold an integer past doubles; cheap, and never wrong in saying no."""
    return _SUSPECT.search(raw[::_STRIDE]) is not None


def parse(body: bytes) -> Any:
    """Return a body as Python values; numbers past doubles as a mark that `find_unholdable` knows.

    Raises:
        InvalidSyntax: not JSON, with line and column.
        InvalidInput: nested deeper than can be read.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        column = error.start - body.rfind(b"\n", 0, error.start)
        raise InvalidSyntax(f"The body is not UTF-8: byte {column} of line {line} begins no character.") from None
    try:
        return json.loads(text, parse_int=_integer, parse_float=_float, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise InvalidSyntax(
            f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except _ConstantError as error:
        found = re.search(rf"(?<![\w\"]){re.escape(str(error))}", text)
        start = found.start() if found else 0
        line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
        raise InvalidSyntax(
            f"The body is not JSON: {error} is no JSON number, at line {line}, column {column}."
        ) from None
    except RecursionError:
        fail_at("", "The body is nested deeper than is accepted.")


class _ConstantError(Exception):
    """NaN or an infinity where JSON has none."""


def _constant(name: str) -> NoReturn:
    raise _ConstantError(name)


def _integer(digits: str) -> int | float:
    if len(digits) > MAX_DIGITS:
        return _Unholdable("inf")
    value = int(digits)
    try:
        float(value)
    except OverflowError:
        return _Unholdable("inf")
    return value


def _float(text: str) -> float:
    value = float(text)
    return value if value - value == 0 else _Unholdable("inf")


def find_unholdable(value: Any, at: str) -> Iterator[Fault]:
    """Yield a fault for every number past doubles and every lone surrogate in a decoded value."""
    pending = [(value, at)]
    while pending:
        found, where = pending.pop()
        if isinstance(found, _Unholdable):
            yield Fault(pointer=where, detail="Found a number that no double can hold.")
        elif isinstance(found, str):
            if _SURROGATE.search(found):
                yield Fault(pointer=where, detail="Found half of a surrogate pair; whole characters are accepted.")
        elif isinstance(found, list):
            pending += [(item, where + pointer(place)) for place, item in reversed(list(enumerate(found)))]
        elif isinstance(found, dict):
            for name in found:
                if _SURROGATE.search(name):
                    yield Fault(
                        pointer=where,
                        detail="Found half of a surrogate pair in a member's name; whole ones are accepted.",
                    )
            pending += [
                (item, where + pointer(name))
                for name, item in reversed(list(found.items()))
                if not _SURROGATE.search(name)
            ]


def decode(body: bytes, check: Callable[[Any], None] | None = None) -> Any:
    """Return a body as Python values, every one of which can be kept.

    ``check`` sees the values before those that cannot be kept are refused, and may raise.

    Raises:
        InvalidSyntax: not JSON.
        InvalidInput: JSON with a value that cannot be kept.
    """
    if not is_suspect(body):
        try:
            value = msgspec.json.decode(body)
        except UNREADABLE:
            pass
        else:
            if check is not None:
                check(value)
            return value
    value = parse(body)
    if check is not None:
        check(value)
    faults = Faults()
    for fault in find_unholdable(value, ""):
        faults.add(fault.pointer or "", fault.detail)
        if faults.full():
            break
    faults.raise_any()
    return value
