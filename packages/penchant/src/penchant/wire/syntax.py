"""JSON syntax: whether a body is JSON, and whether every value in it can be kept, with the pointer of each fault.

Nearly every body is decoded once, by msgspec. Only where msgspec does not take it, or might read a number that no
double holds, the slow way finds out what is wrong, and where:

    no long number, msgspec takes it -------------------------------> its values
    otherwise: not UTF-8, not JSON (`require_syntax`) --------------> InvalidSyntax, with line and column
    otherwise: `_parse`, by Python's own reader, marks what cannot
               be kept; `_find_unholdable` finds marks and halves
               of surrogate pairs ----------------------------------> a fault with its pointer for each, or its values

An array is first split into its entries as they came, before anything is built of them: so a body of a wrong shape is
refused at the first byte of each entry, and a body of too many entries costs no memory.
"""

import contextlib
import functools
import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, NoReturn

import msgspec

from penchant.errors import Fault, InvalidInput, InvalidSyntax, TooManyEntries

MAX_FAULTS = 100
"""Faults that one answer lists (interface, section 3)."""
MAX_FREE_DEPTH = 200
"""Levels within filters and extras: what every reader of the stored piece can surely follow."""
MAX_DIGITS = 4_000
"""Digits of an integer that are read at all; no double holds a number of more than 309."""
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises of text that it does not take."""
_DIGITS = bytes(ord("0") if chr(byte).isdecimal() and byte < 128 else ord(" ") for byte in range(256))
_LONG_NUMBER = b"0" * 309
"""The shortest integer that no double may hold, every digit seen as 0: msgspec reads integers of any length.

Decimals past doubles are refused by msgspec itself.
"""
_SLICE_BYTES = 1024 * 1024
_NESTING = (dict, list)  # as a union it would be made again for every value that is looked at
_SURROGATE = re.compile("[\ud800-\udfff]")
_AT_BYTE = re.compile(r" \(byte (\d+)\)")
_CONSTANT = re.compile(rb"-?(NaN|Infinity)")
_raw_decoder = msgspec.json.Decoder(msgspec.Raw)


class _OversizedNumber(float):
    """A number that no double can hold."""


class Faults:
    """Collects what is wrong, up to the limit, and raises it all at once."""

    def __init__(self) -> None:
        self.found: list[Fault] = []

    def add(self, pointer: str, detail: str) -> None:
        """Note one fault; those past the limit are not listed."""
        if len(self.found) < MAX_FAULTS:
            self.found.append(Fault(pointer=pointer, detail=detail))

    def refuse(self, pointer: str, detail: str) -> msgspec.UnsetType:
        """Note one fault of a value, and return what stands in its place."""
        self.add(pointer, detail)
        return msgspec.UNSET

    def only(self, members: Iterable[str], names: Collection[str], where: str) -> None:
        """Note every member of the object at ``where`` that has none of the accepted names."""
        for name in members:
            if name not in names:
                self.add(where + pointer(name), f"Found an unknown member; accepted are {', '.join(names)}.")

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


def number_of(hundredths: int) -> int | float:
    """Return the number of so many hundredths, as short as it can be written."""
    return hundredths // 100 if hundredths % 100 == 0 else hundredths / 100


def hundredths_of(number: float) -> int | None:
    """Return a number in hundredths; ``None`` for one with more than two decimals."""
    # By the shortest text that gives this double: the double of 0.29 itself has some fifty decimals.
    hundredths = Decimal(str(number)) * 100
    return int(hundredths) if hundredths == int(hundredths) else None


def kind_of(value: object) -> str:
    """Return what a value is, decoded or as raw JSON, as a JSON user would say it."""
    if isinstance(value, msgspec.Raw):
        return _RAW_KINDS.get(bytes(memoryview(value)[:1]), "a number")
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"


_RAW_KINDS = {b'"': "a string", b"[": "an array", b"{": "an object", b"n": "null", b"t": "a boolean", b"f": "a boolean"}


def is_deeper(value: Any, levels: int) -> bool:
    """Return whether a decoded value is nested deeper than this many levels."""
    # Level by level, as recursion would itself be too deep for what is looked for here.
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


def has_long_number(raw: bytes | msgspec.Raw) -> bool:
    """Return whether JSON text holds as many digits in a row as an integer past doubles, in 3 ms a MB at most."""
    body = memoryview(raw)
    # In slices, between which other threads go on. Each reaches into the next one, so that no number is cut in two.
    # Digits within a string are found as well: such a body is read the slow way, to the same values.
    return any(
        _LONG_NUMBER in body[start : start + _SLICE_BYTES + len(_LONG_NUMBER)].tobytes().translate(_DIGITS)
        for start in range(0, body.nbytes, _SLICE_BYTES)
    )


def require_utf8(body: bytes) -> None:
    """Raise `InvalidSyntax` for a body that is no UTF-8."""
    try:
        if not body.isascii():
            body.decode()
    except UnicodeDecodeError as error:
        line, column = _line_and_column(body, error.start)
        raise InvalidSyntax(f"The body is not UTF-8: no character begins at line {line}, column {column}.") from None


def require_syntax(body: bytes) -> bytes:
    """Return JSON of the same structure, byte by byte, in which no surrogate is alone.

    Nothing is built of what the body holds: 30 MB take 50 ms, and no memory but for a copy.

    Raises:
        InvalidSyntax: not JSON, with line and column.
        InvalidInput: nested deeper than can be read.
    """
    require_utf8(body)
    # A lone surrogate is JSON, though not for msgspec: other characters stand in, as long as the escapes were, so that
    # every position in the text is one in the body. An escaped backslash before "ud" stays one, before other letters.
    text = body.replace(b"\\ud", b"\\u0").replace(b"\\uD", b"\\u0")
    try:
        _raw_decoder.decode(text)
    except RecursionError:
        fail_at("", "The body is nested deeper than is accepted.")
    except msgspec.DecodeError as error:
        raise _malformed(body, str(error)) from None
    return text


def _malformed(body: bytes, problem: str) -> InvalidSyntax:
    """Return the error for a body of which msgspec says what it dislikes at which byte; without one the text ends."""
    match = _AT_BYTE.search(problem)
    # The byte is that of the letter: in -Infinity it is behind the minus.
    at = int(match[1]) if match else len(body)
    constant = _CONSTANT.match(body, at - 1) or _CONSTANT.match(body, at)
    line, column = _line_and_column(body, constant.start() if constant else at)
    if constant:
        detail = f"{constant[0].decode()} is no JSON number,"
    elif match:
        detail = problem[: match.start()].removeprefix("JSON is malformed: ")
    else:
        detail = "it ends before its end"
    return InvalidSyntax(f"The body is not JSON: {detail} at line {line}, column {column}.")


def _line_and_column(body: bytes, at: int) -> tuple[int, int]:
    start = body.rfind(b"\n", 0, at) + 1
    return body.count(b"\n", 0, at) + 1, len(body[start:at].decode(errors="replace")) + 1


def _integer(digits: str) -> int | float:
    if len(digits) > MAX_DIGITS:
        return _OversizedNumber("inf")
    value = int(digits)
    try:
        float(value)
    except OverflowError:
        return _OversizedNumber("inf")
    return value


def _float(text: str) -> float:
    value = float(text)
    return value if value - value == 0 else _OversizedNumber("inf")


def _parse(body: bytes) -> Any:
    """Return JSON as Python values; numbers past doubles as a mark that `_find_unholdable` knows."""
    try:
        return json.loads(body, parse_int=_integer, parse_float=_float)
    except RecursionError:
        fail_at("", "The body is nested deeper than is accepted.")


def _find_unholdable(value: Any, where: str) -> Iterator[Fault]:
    """Yield a fault for every number past doubles and every lone surrogate in a decoded value, in their order.

    Pointers are put together for faults alone: of a million values in a body nearly all have none.
    """
    # A stack instead of recursion: an iterator for each level that is open, and beside it the name that it is at.
    # A nested value is entered by leaving the inner loop; a level that ends is left by its ``else``.
    levels: list[Iterator[tuple[object, Any]]] = [iter([("", value)])]
    names: list[object] = [""]
    while levels:
        for name, member in levels[-1]:
            names[-1] = name
            problem = _problem(member)
            if isinstance(name, str) and _SURROGATE.search(name):
                detail = "Found half of a surrogate pair in a member's name; whole ones are accepted."
                yield Fault(pointer=where + pointer(*names[1:-1]), detail=detail)
            elif isinstance(member, _NESTING):
                levels.append(iter(member.items()) if isinstance(member, dict) else enumerate(member))
                names.append("")
                break
            elif problem:
                yield Fault(pointer=where + pointer(*names[1:]), detail=problem)
        else:
            levels.pop()
            names.pop()


def _problem(value: Any) -> str | None:
    if isinstance(value, _OversizedNumber):
        return "Found a number that no double can hold."
    if isinstance(value, str) and _SURROGATE.search(value):
        return "Found half of a surrogate pair; whole characters are accepted."
    return None


def decode(body: bytes | msgspec.Raw) -> Any:
    """Return JSON as Python values, every one of which can be kept.

    Raises:
        InvalidSyntax: not JSON.
        InvalidInput: JSON with a value that cannot be kept.
    """
    faults = Faults()
    value = decode_entry(body, "", faults)
    faults.raise_any()
    return value


def decode_object(body: bytes) -> dict[str, Any]:
    """Return the members of a JSON object; nothing is built of a body that begins otherwise.

    Raises:
        InvalidSyntax, InvalidInput: as `decode`, or it is no object.
    """
    # The first byte tells an object; only the error message needs to know whether the rest is JSON at all.
    start = body.lstrip()[:1]
    if start != b"{":
        require_syntax(body)
        fail_at("", f"Found {kind_of(msgspec.Raw(start))}; an object is accepted.")
    members: dict[str, Any] = decode(body)
    return members


def decode_entry(raw: bytes | msgspec.Raw, where: str, faults: Faults) -> Any:
    """Return one value of a body, its faults noted with their pointers; UNSET where it cannot be kept."""
    if not has_long_number(raw):
        with contextlib.suppress(*UNREADABLE):
            return msgspec.json.decode(raw)
    body = bytes(raw)
    require_syntax(body)
    # The body may be fine: long digits within a string, for instance. Then it yields no fault.
    value, count = _parse(body), len(faults.found)
    for fault in _find_unholdable(value, where):
        faults.add(fault.pointer or "", fault.detail)
        if faults.full():
            break
    return value if len(faults.found) == count else msgspec.UNSET


_encoder = msgspec.json.Encoder()


def encode(value: Any) -> bytes:
    """Return a value as JSON; records by the names of the interface, integers of any size."""
    return _encoder.encode(value)


_any_splitter = msgspec.json.Decoder(list[msgspec.Raw])


def split_array(body: bytes, limit: int | None, what: str) -> Sequence[msgspec.Raw]:
    """Return the entries of a JSON array, at most ``limit`` (``None``: any number); ``what`` names them to people.

    The entries are JSON but for surrogates that stand alone in them.

    Raises:
        InvalidSyntax: not JSON; looked for to the end of the body.
        TooManyEntries: more than ``limit``.
        InvalidInput: no array, or nested deeper than can be read.
    """
    try:
        require_utf8(body)
        return _split(body, limit, what)
    except (msgspec.DecodeError, RecursionError):
        pass
    # Not for msgspec: either no JSON, which raises, or JSON with lone surrogates, which are replaced here.
    text = require_syntax(body)
    try:
        entries = _split(text, limit, what)
    except msgspec.ValidationError:
        fail_at("", f"Found {kind_of(msgspec.Raw(body.strip()))}; an array of {what} is accepted.")
    return entries if text == body else _as_they_came(entries, text, body)


def _split(body: bytes, limit: int | None, what: str) -> Sequence[msgspec.Raw]:
    if limit is None:
        return _any_splitter.decode(body)
    # An array read as a record of ``limit`` + 1 optional members: the last one is set where there are too many.
    fields: Sequence[Any] = msgspec.structs.astuple(_splitter(limit).decode(body))
    if fields[limit] is not msgspec.UNSET:
        raise TooManyEntries(f"Found more than {limit} entries; up to {limit} {what} are accepted in one request.")
    return fields[: fields.index(msgspec.UNSET)]


@functools.lru_cache(maxsize=8)
def _splitter(limit: int) -> msgspec.json.Decoder[msgspec.Struct]:
    """Return a decoder of so many entries and one more: those behind it are passed over, nothing is made of them."""
    names = [(f"entry{number}", msgspec.Raw | msgspec.UnsetType, msgspec.UNSET) for number in range(limit + 1)]
    entries = msgspec.defstruct("_Entries", names, array_like=True, gc=False)
    return msgspec.json.Decoder(entries)


def _as_they_came(entries: Sequence[msgspec.Raw], text: bytes, body: bytes) -> list[msgspec.Raw]:
    """Return the entries of a body by their places in a text of the same structure."""
    originals, start = [], 0
    for entry in entries:
        # From the end of the entry before it: an entry is nowhere before its own place.
        start = text.index(bytes(entry), start)
        end = start + memoryview(entry).nbytes
        originals.append(msgspec.Raw(body[start:end]))
        start = end
    return originals
