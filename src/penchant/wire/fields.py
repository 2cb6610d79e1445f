"""Fields: what each member of a body must be, stated once, where the body's record names it.

A field of a record is annotated with its `Shape`: how the value is read, a fault noted for what it must not be, and the
JSON schema that says the same to programs. A `Body` makes the reader of an object, its schema and its sample of all of
them; so a member that is added to the record is in all three, and clients have it, whose record it is:

    class BlendSettings(Record, frozen=True, kw_only=True):
        content: Annotated[Number, number(0, 100), Example(1)] = 0.1
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from penchant.wire.syntax import Faults, hundredths_of, kind_of, pointer
from penchant.wire.text import name_problem

Json = dict[str, Any]
Number = int | float
Kind = TypeVar("Kind", bound="Shape | Example | Label")

_LARGE = 36_500**2
"""Numbers from here on are not printed in a fault."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a value must be.

    ``read`` takes a value, its place in the body, and the faults: it returns what the value means, or notes what is
    wrong and returns UNSET. ``schema`` is the JSON schema of what it takes, ``write`` makes JSON of what it returned.
    """

    read: Callable[[Any, str, Faults], Any]
    schema: Json
    write: Callable[[Any], Any] = lambda value: value


@dataclass(frozen=True, slots=True)
class Example:
    """The value of a member in the sample of its body."""

    value: Any


@dataclass(frozen=True, slots=True)
class Label:
    """What forms call a member for people."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyMember:
    """A member of a body: ``name`` is that of the record, ``key`` that of the JSON, ``default`` as msgspec has it."""

    name: str
    key: str
    shape: Shape
    default: Any
    example: Any
    label: str

    @property
    def schema(self) -> Json:
        """The schema of the member, with its default where that is a single value."""
        plain = type(self.default) in {bool, int, float, str}
        return self.shape.schema | ({"default": self.default} if plain else {})


class Body:
    """The fields of a record by their JSON names; ``is_closed`` refuses members that have none.

    Where ``takes_null``, a member that is null is as one that is left out.
    """

    def __init__(self, record: type[msgspec.Struct], *, takes_null: bool = True, is_closed: bool = True) -> None:
        self.members: Mapping[str, BodyMember] = {
            info.encode_name: _member(info) for info in msgspec.structs.fields(record) if _of(info, Shape) is not None
        }
        self._required = [info.encode_name for info in msgspec.structs.fields(record) if info.required]
        self._takes_null = takes_null
        self._is_closed = is_closed

    def read(self, value: Any, where: str, faults: Faults) -> dict[str, Any]:
        """Return the members of an object that are given, by the names of the record; those at fault are left out."""
        if not isinstance(value, dict):
            faults.add(where, f"Found {kind_of(value)}; an object is accepted.")
            return {}
        if self._is_closed:
            faults.only(value, tuple(self.members), where)
        read = {
            member.name: member.shape.read(value.get(key), f"{where}/{key}", faults)
            for key, member in self.members.items()
            if key in self._required or (key in value and not (self._takes_null and value[key] is None))
        }
        return {name: meaning for name, meaning in read.items() if meaning is not UNSET}

    def schema(self, *, last: Sequence[str] = ()) -> Json:
        """Return the JSON schema of the body; the ``last`` members stand behind the others."""
        keys = [key for key in self.members if key not in last] + list(last)
        closed = {"additionalProperties": False} if self._is_closed else {}
        required = {"required": list(self._required)} if self._required else {}
        return {"type": "object", **closed, "properties": {key: self.members[key].schema for key in keys}, **required}

    def sample(self) -> Json:
        """Return the sample of the body."""
        return {key: member.example for key, member in self.members.items() if member.example is not UNSET}


def _member(info: msgspec.structs.FieldInfo) -> BodyMember:
    shape, example, label = _of(info, Shape), _of(info, Example), _of(info, Label)
    assert shape is not None  # noqa: S101  # a field without a shape is no member
    return BodyMember(
        name=info.name,
        key=info.encode_name,
        shape=shape,
        default=info.default,
        example=UNSET if example is None else example.value,
        label="" if label is None else label.text,
    )


def _of(info: msgspec.structs.FieldInfo, kind: type[Kind]) -> Kind | None:
    """Return what a field is annotated with of a kind."""
    return next((each for each in getattr(info.type, "__metadata__", ()) if isinstance(each, kind)), None)


def ref(name: str) -> Json:
    """Return the schema that refers to the component of this name."""
    return {"$ref": f"#/components/schemas/{name}"}


def number(least: float, most: float) -> Shape:
    """Return the shape of a number within bounds."""

    def read(value: Any, where: str, faults: Faults) -> Any:
        if is_number(value) and least <= value <= most:
            return value
        faults.add(where, f"Found {_shown(value)}; a number from {least} to {most} is accepted.")
        return UNSET

    return Shape(read, {"type": "number", "minimum": least, "maximum": most})


def weight(least: float, most: float) -> Shape:
    """Return the shape of a number within bounds with at most two decimals."""
    plain = number(least, most)

    def read(value: Any, where: str, faults: Faults) -> Any:
        found = plain.read(value, where, faults)
        if found is not UNSET and hundredths_of(found) is None:
            faults.add(where, f"Found {found}; at most two decimals are accepted.")
        return found

    return Shape(read, plain.schema)


def integer(least: int, most: int) -> Shape:
    """Return the shape of an integer within bounds."""

    def read(value: Any, where: str, faults: Faults) -> Any:
        if type(value) is int and least <= value <= most:
            return value
        faults.add(where, f"Found {_shown(value)}; an integer from {least} to {most} is accepted.")
        return UNSET

    return Shape(read, {"type": "integer", "minimum": least, "maximum": most})


def _read_boolean(value: Any, where: str, faults: Faults) -> Any:
    if isinstance(value, bool):
        return value
    faults.add(where, f"Found {kind_of(value)}; true or false is accepted.")
    return UNSET


BOOLEAN = Shape(_read_boolean, {"type": "boolean"})


def by_category(shape: Shape) -> Shape:
    """Return the shape of an object from categories, nested ones named by their path, to values of a shape."""

    def read(value: Any, where: str, faults: Faults) -> Any:
        if not isinstance(value, dict):
            faults.add(where, f"Found {kind_of(value)}; an object is accepted.")
            return UNSET
        for category in value:
            is_category(category, where + pointer(category), faults)
        return {category: shape.read(given, where + pointer(category), faults) for category, given in value.items()}

    return Shape(read, {"type": "object", "additionalProperties": shape.schema}, dict)


def is_category(name: str, where: str, faults: Faults) -> bool:
    """Return whether a category can have a name; otherwise the fault is noted."""
    problem = next(filter(None, map(name_problem, name.split("/"))), None)
    if problem:
        faults.add(where, f"No category can be called so: {problem}")
    return problem is None


def is_number(value: Any) -> bool:
    """Return whether a JSON value is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    if is_number(value):
        return f"{value:g}" if abs(value) < _LARGE else "a large number"
    return kind_of(value)
