"""Attributes on the wire: the setting that names them, and the marks that the extras of a piece give them."""

import contextlib
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec

from penchant.model import MAX_ID_LENGTH, SourceSettings
from penchant.wire.syntax import Faults, kind_of, pointer
from penchant.wire.text import name_problem
from penchant.wire.times import parse_date
from penchant_engine.attributes import MAX_ATTRIBUTES, Attribute, AttributeType, mark_of, steps_of
from penchant_engine.model import DAY_MS
from penchant_engine.moments import parse_timestamp

Value: TypeAlias = str | float | bool

MAX_POINTER_LENGTH = 500
"""Characters of a pointer into extras."""
MAX_VALUES = 1_000
"""Keywords that a piece may have of one attribute."""
GREATEST_INTEGER = 1 << 53
"""Up to here doubles tell integers apart."""
_MEMBERS = ("pointer", "type")
_TYPES = ", ".join(AttributeType)
_POINTER = re.compile(r"(?:/(?:[^/~]|~[01])*)+\Z")
_POSITION = re.compile(r"(0|[1-9][0-9]{0,8})\Z", re.ASCII)


PIECE_MEMBERS = frozenset({"id", "label", "categories", "filters", "extras"})
"""Members of a piece, to which a pointer into its extras does not lead."""
MAX_COUNTED_MEMBERS, MAX_COUNTED_DEPTH, MAX_COUNTED_VALUES = 100, 3, 100
"""Members of extras that are counted, how deep they may lie, and values of each that are kept."""


class _StoredExtras(msgspec.Struct):
    extras: dict[str, Any] = {}


_decoder = msgspec.json.Decoder(_StoredExtras)


def read_attributes(value: Any, where: str, faults: Faults) -> dict[str, Attribute]:
    """Return the attributes that a setting names, by their keys; faults are noted."""
    if not isinstance(value, dict):
        faults.add(where, f"Found {kind_of(value)}; an object from keys to attributes is accepted.")
        return {}
    if len(value) > MAX_ATTRIBUTES:
        faults.add(where, f"Found {len(value)} attributes; up to {MAX_ATTRIBUTES} are accepted.")
        return {}
    read = {key: _attribute(key, given, where + pointer(key), faults) for key, given in value.items()}
    return {key: attribute for key, attribute in read.items() if attribute is not None}


def _attribute(key: str, given: Any, where: str, faults: Faults) -> Attribute | None:
    problem = name_problem(key)
    if problem:
        faults.add(where, f"No attribute can be called so: {problem}")
    if not isinstance(given, dict):
        faults.add(where, f"Found {kind_of(given)}; an object with {' and '.join(_MEMBERS)} is accepted.")
        return None
    faults.only(given, _MEMBERS, where)
    text, kind = given.get("pointer"), given.get("type")
    place = read_pointer(text, f"{where}/pointer", faults)
    if place is None:
        return None
    if not isinstance(kind, str) or kind not in set(AttributeType):
        faults.add(f"{where}/type", f"Found another type; accepted are {_TYPES}.")
        return None
    return Attribute(AttributeType(kind), place)


def read_pointer(value: Any, where: str, faults: Faults) -> str | None:
    """Return a JSON pointer into extras; of anything else the fault is noted."""
    if isinstance(value, str) and len(value) <= MAX_POINTER_LENGTH and _POINTER.match(value):
        return value
    detail = f"A JSON pointer into extras, such as /language, of up to {MAX_POINTER_LENGTH} characters is accepted."
    faults.add(where, detail)
    return None


def pointers_of(settings: SourceSettings) -> dict[str, str]:
    """Return the pointers into extras that settings have, by their own places in the settings."""
    found = {f"/attributes{pointer(key)}/pointer": each.pointer for key, each in settings.attributes.items()}
    return found | ({} if settings.image_attribute is None else {"/imageAttribute": settings.image_attribute})


def decode_extras(body: bytes) -> Mapping[str, Any]:
    """Return the extras of a stored piece."""
    return _decoder.decode(body).extras


def decode_stored_marks(body: bytes, attributes: Sequence[Attribute]) -> tuple[str, ...]:
    """Return the marks of a stored piece; of the rest of its bytes nothing is built."""
    return marks_in(_decoder.decode(body).extras, attributes)


def decode_stored_extra(body: bytes, where: str) -> str | None:
    """Return the text to which a JSON pointer leads in the extras of a stored piece, if it leads to one."""
    member = _member(_decoder.decode(body).extras, steps_of(where))
    return member if isinstance(member, str) else None


def marks_in(extras: Mapping[str, Any], attributes: Sequence[Attribute]) -> tuple[str, ...]:
    """Return the marks that extras give attributes, which are in the order of their numbers.

    What is missing or of another type is no value.
    """
    return tuple(
        mark_of(number, value)
        for number, attribute in enumerate(attributes)
        for value in _values(_member(extras, attribute.steps), attribute.type)
    )


class ExtrasMember(NamedTuple):
    """A member of extras, by its JSON pointer: the type that most of its values have, and how many pieces have one.

    ``values`` has some with how many pieces have each, those of the most pieces first.
    """

    pointer: str
    type: AttributeType
    pieces: int
    values: Sequence[tuple[Value, int]]


def count_extras(bodies: Iterable[bytes]) -> list[ExtrasMember]:
    """Return the members that the extras of stored pieces have and that could be attributes, by their pointers.

    Of several types that fit as many pieces, the narrowest: moments before texts, one text before several.
    """
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for body in bodies:
        # Of a piece with thousands of members the first ones have to do.
        for where, value in itertools.islice(_leaves(decode_extras(body), "", 1), 2 * MAX_COUNTED_MEMBERS):
            if where in found or len(found) < MAX_COUNTED_MEMBERS:
                found[where].append(value)
    members = (_counted(where, found[where]) for where in sorted(found))
    return [each for each in members if each.pieces]


def _leaves(value: Any, where: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield what is no object in extras, with its pointer."""
    for name, member in value.items():
        own = where + pointer(name)
        if isinstance(member, dict):
            if depth < MAX_COUNTED_DEPTH:
                yield from _leaves(member, own, depth + 1)
        elif len(own) <= MAX_POINTER_LENGTH:
            yield own, member


def _candidates(value: Any) -> Sequence[AttributeType]:
    """Return which types a value may have, the narrowest first."""
    match value:
        case bool():
            return (AttributeType.BOOLEAN,)
        case int() | float():
            return (AttributeType.INTEGER, AttributeType.NUMBER)
        case str():
            moment = (AttributeType.TIME,) if value[:4].isdigit() else ()
            return (*moment, AttributeType.KEYWORD, AttributeType.KEYWORDS)
    return ()


def _counted(where: str, found: Sequence[Any]) -> ExtrasMember:
    # With its type, since 1 is the same as true; most values are there again and again, and looked at once.
    counts = Counter((type(each), each) for each in found if isinstance(each, str | int | float))
    lists = [list(_values(each, AttributeType.KEYWORDS)) for each in found if isinstance(each, list)]
    fitting = Counter({AttributeType.KEYWORDS: sum(map(bool, lists))})
    for (_, value), count in counts.items():
        fitting.update(dict.fromkeys((kind for kind in _candidates(value) if _fits(value, kind)), count))
    counts.update((str, each) for each in itertools.chain.from_iterable(lists))
    kind = max(_NARROWEST_FIRST, key=lambda each: fitting[each])
    ordered = sorted(counts.items(), key=lambda each: (-each[1], str(each[0][1])))
    values = ((value, count) for (_, value), count in ordered if _fits(value, kind))
    return ExtrasMember(where, kind, fitting[kind], list(itertools.islice(values, MAX_COUNTED_VALUES)))


def _fits(value: Value, kind: AttributeType) -> bool:
    try:
        return _READERS[kind][1](value) is not None
    except ValueError:
        return False


def _member(value: Any, steps: Sequence[str]) -> Any:
    """Return what a JSON pointer leads to; ``None``, which no type has, where it leads nowhere."""
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and _POSITION.match(step) and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def _values(value: Any, kind: AttributeType) -> Iterator[Value]:
    if kind is AttributeType.KEYWORDS and isinstance(value, list):
        if all(_keyword(each) is not None for each in value) and len(distinct := dict.fromkeys(value)) <= MAX_VALUES:
            yield from distinct
        return
    with contextlib.suppress(ValueError):
        yield typed_value(value, kind)


def typed_value(value: Any, kind: AttributeType) -> Value:
    """Return a JSON value as one of a type; times are milliseconds since 1970 UTC, a day stands for its beginning.

    Raises:
        ValueError: it is of another type; the message says what is accepted.
    """
    accepted, read = _READERS[kind]
    typed = read(value)
    if typed is None:
        raise ValueError(f"Found {kind_of(value)}; {accepted} is accepted.")
    return typed


def _keyword(value: Any) -> str | None:
    return value if isinstance(value, str) and len(value) <= MAX_ID_LENGTH else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _integer(value: Any) -> float | None:
    number = _number(value)
    # The bound is that of the value itself: the double of one beyond it may be the greatest integer.
    return number if number is not None and number.is_integer() and abs(value) <= GREATEST_INTEGER else None


def _boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _moment(value: Any) -> float | None:
    if not isinstance(value, str):
        return None
    try:
        return float(parse_date(value) - DAY_MS + 1)
    except ValueError:
        return float(parse_timestamp(value))


_KEYWORD = (f"a string of up to {MAX_ID_LENGTH} characters", _keyword)
_READERS: Mapping[AttributeType, tuple[str, Callable[[Any], Value | None]]] = {
    AttributeType.KEYWORD: _KEYWORD,
    AttributeType.KEYWORDS: _KEYWORD,
    AttributeType.INTEGER: (f"an integer, of {GREATEST_INTEGER} at most on either side of 0,", _integer),
    AttributeType.NUMBER: ("a number", _number),
    AttributeType.BOOLEAN: ("true or false", _boolean),
    AttributeType.TIME: ("an RFC 3339 time or a day", _moment),
}
"""How values of each type are read, and what is accepted, in words."""
_NARROWEST_FIRST = (
    AttributeType.BOOLEAN,
    AttributeType.INTEGER,
    AttributeType.NUMBER,
    AttributeType.TIME,
    AttributeType.KEYWORD,
    AttributeType.KEYWORDS,
)
