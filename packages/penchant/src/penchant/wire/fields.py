"""Fields: what each member of a body must be, stated once, where the body's record names it.

A field of a record is annotated with its `Shape`: how the value is read, a fault noted for what it must not be, and the
JSON schema that says the same to programs. A `Body` makes the reader of an object, its schema and its sample of all of
them; so a member that is added to the record is in all three, and clients have it, whose record it is:

    class BlendSettings(Record, frozen=True, kw_only=True):
        content: Annotated[Number, number(0, 100), Example(1)] = 0.1
"""

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Generic, TypeGuard, TypeVar

import msgspec
from msgspec import UNSET

from penchant.model import MAX_ID_LENGTH, MAX_NAME_LENGTH
from penchant.wire.syntax import Faults, decode_object, hundredths_of, kind_of, pointer
from penchant.wire.text import id_problem, name_problem

Json = dict[str, Any]
Number = int | float
Note = TypeVar("Note")
Wish = TypeVar("Wish", bound=msgspec.Struct)
Choice = TypeVar("Choice", bound=enum.Enum)

_LARGE = 36_500**2
"""Numbers from here on are not printed in a fault."""


class Record(msgspec.Struct, frozen=True):
    """A body or an answer, or a part of one; the Python client has its own of the same members."""


class Shape(msgspec.Struct, frozen=True):
    """What a value must be.

    ``read`` takes a value, its place in the body, and the faults: it returns what the value means, or notes what is
    wrong and returns UNSET. ``schema`` is the JSON schema of what it takes, ``write`` makes JSON of what it returned.
    """

    read: Callable[[Any, str, Faults], Any]
    schema: Json
    write: Callable[[Any], Any] = lambda value: value


class Example(msgspec.Struct, frozen=True):
    """The value of a member in the sample of its body."""

    value: Any


class Label(msgspec.Struct, frozen=True):
    """What forms call a member for people."""

    text: str


class Before(msgspec.Struct, frozen=True):
    """The member in front of which a setting of a package stands."""

    name: str


class Description(msgspec.Struct, frozen=True):
    """What the schema says of a member in words."""

    text: str


class BodyMember(msgspec.Struct, frozen=True, kw_only=True):
    """A member of a body: ``name`` is that of the record, ``key`` that of the JSON, ``default`` as msgspec has it.

    ``notes`` are all that its field is annotated with.
    """

    name: str
    key: str
    shape: Shape
    default: Any
    notes: tuple[Any, ...]

    def note(self, kind: type[Note]) -> Note | None:
        """Return what the field is annotated with of a kind."""
        return _note(self.notes, kind)

    @property
    def label(self) -> str:
        """What forms call the member, "" where they have no field for it."""
        label = self.note(Label)
        return "" if label is None else label.text

    @property
    def schema(self) -> Json:
        """The schema of the member, with its default where that is a single value."""
        plain = type(self.default) in {bool, int, float, str}
        description = self.note(Description)
        return (
            self.shape.schema
            | ({"default": self.default} if plain else {})
            | ({"description": description.text} if description else {})
        )


class Body(Generic[Wish]):
    """The fields of a record by their JSON names, in the order of the record but for the ``first`` ones.

    Those without a default are ``required``, if nothing else is said. Where the body ``is_closed``, members for which
    the record has no field are refused; where it ``takes_null``, one that is null is as one that is left out. The
    ``description`` is what its schema says in words.
    """

    def __init__(
        self,
        record: type[Wish],
        *,
        required: Sequence[str] | None = None,
        takes_null: bool = True,
        is_closed: bool = True,
        first: Sequence[str] = (),
        description: str = "",
    ) -> None:
        self.record = record
        members = {info.encode_name: _member(record, info) for info in msgspec.structs.fields(record)}
        self.members = {key: members[key] for key in first} | members
        without_default = [info.encode_name for info in msgspec.structs.fields(record) if info.required]
        self.required = without_default if required is None else required
        self._takes_null = takes_null
        self._is_closed = is_closed
        self._description = {"description": description} if description else {}

    def read(self, value: Any, where: str, faults: Faults, order: Sequence[str] = ()) -> dict[str, Any]:
        """Return the members of an object that are given, by the names of the record; those at fault are left out.

        They are looked at in their own order, or in another.
        """
        if not isinstance(value, dict):
            faults.add(where, f"Found {kind_of(value)}; an object is accepted.")
            return {}
        if self._is_closed:
            faults.only(value, self.members, where)
        members = {}
        for key in order or self.members:
            given = value.get(key)
            if given is None and key not in self.required and (self._takes_null or key not in value):
                continue
            meaning = self.members[key].shape.read(given, f"{where}/{key}", faults)
            if meaning is not UNSET:
                members[self.members[key].name] = meaning
        return members

    def read_members(self, value: Mapping[str, Any], keys: Iterable[str], where: str, faults: Faults) -> dict[str, Any]:
        """Return those of some members that are given and not null, looked at in this order, as `read` does."""
        given = [key for key in keys if value.get(key) is not None]
        read = {self.members[key].name: self.read_member(value, key, where, faults) for key in given}
        return {name: meaning for name, meaning in read.items() if meaning is not UNSET}

    def read_member(self, value: Mapping[str, Any], key: str, where: str, faults: Faults) -> Any:
        """Return a member of an object that is at a place; one that is missing is read as null."""
        return self.members[key].shape.read(value.get(key), f"{where}/{key}", faults)

    def decode(self, body: bytes) -> Wish:
        """Return the record that a body says.

        Raises:
            InvalidSyntax: not JSON.
            InvalidInput: a member is unknown or not acceptable; every fault has its pointer.
        """
        return self.make(decode_object(body))

    def make(self, value: Mapping[str, Any], order: Sequence[str] = ()) -> Wish:
        """Return the record that a decoded body says, looked at as by `read`; raises `InvalidInput` as `decode`."""
        faults = Faults()
        members = self.read(value, "", faults, order)
        faults.raise_any()
        return self.record(**members)

    def schema(self, *, last: Sequence[str] = ()) -> Json:
        """Return the JSON schema of the body; the ``last`` members stand behind the others."""
        keys = [key for key in self.members if key not in last] + list(last)
        closed = {"additionalProperties": False} if self._is_closed else {}
        required = {"required": list(self.required)} if self.required else {}
        properties = {key: self._schema(key) for key in keys}
        return {"type": "object", **closed, **self._description, "properties": properties, **required}

    def _schema(self, key: str) -> Json:
        schema = self.members[key].schema
        return nullable(schema) if self._takes_null and key not in self.required else schema

    def sample(self) -> Json:
        """Return the sample of the body."""
        examples = {key: member.note(Example) for key, member in self.members.items()}
        return {key: example.value for key, example in examples.items() if example}


def _member(record: type[Any], info: msgspec.structs.FieldInfo) -> BodyMember:
    notes = getattr(info.type, "__metadata__", ())
    shape = _note(notes, Shape)
    if shape is None:
        raise TypeError(f"{record.__name__}.{info.name} is annotated with no shape, such as BOOLEAN.")
    return BodyMember(name=info.name, key=info.encode_name, shape=shape, default=info.default, notes=notes)


def _note(notes: Iterable[Any], kind: type[Note]) -> Note | None:
    return next((each for each in notes if isinstance(each, kind)), None)


def nullable(schema: Json) -> Json:
    """Return a schema that takes null, too."""
    # Generators make an alternative a type of its own, which they must do for references and named texts alone.
    if "$ref" in schema or "minLength" in schema:
        text = {name: value for name, value in schema.items() if name == "description"}
        plain = {name: value for name, value in schema.items() if name != "description"}
        return {"oneOf": [plain, {"type": "null"}]} | text
    return schema | {"type": [schema["type"], "null"]}


def ref(name: str) -> Json:
    """Return the schema that refers to the component of this name."""
    return {"$ref": f"#/components/schemas/{name}"}


def stated(schema: Json) -> msgspec.Meta:
    """Return what adds to the schema of a member of an answer, or stands in its place where it refers to another."""
    return msgspec.Meta(extra_json_schema=schema)


def described(schema: Json) -> Shape:
    """Return the shape of a value that the reader of its body looks at itself."""
    return Shape(lambda value, *_: value, schema)


def number(least: float, most: float) -> Shape:
    """Return the shape of a number within bounds."""

    def read(value: Any, where: str, faults: Faults) -> Any:
        if is_number(value) and least <= value <= most:
            return value
        return faults.refuse(where, f"Found {_shown(value)}; a number from {least} to {most} is accepted.")

    return Shape(read, {"type": "number", "minimum": least, "maximum": most})


def weight(least: float, most: float) -> Shape:
    """Return the shape of a number within bounds with at most two decimals."""
    plain = number(least, most)

    def read(value: Any, where: str, faults: Faults) -> Any:
        number_read = plain.read(value, where, faults)
        if number_read is not UNSET and hundredths_of(number_read) is None:
            faults.add(where, f"Found {number_read}; at most two decimals are accepted.")
        return number_read

    return Shape(read, plain.schema)


PORTION = weight(0, 1)
"""What part of a piece was watched, read or listened to."""


def integer(least: int, most: int) -> Shape:
    """Return the shape of an integer within bounds."""

    def read(value: Any, where: str, faults: Faults) -> Any:
        if type(value) is int and least <= value <= most:
            return value
        return faults.refuse(where, f"Found {_shown(value)}; an integer from {least} to {most} is accepted.")

    return Shape(read, {"type": "integer", "minimum": least, "maximum": most})


def _read_boolean(value: Any, where: str, faults: Faults) -> Any:
    if isinstance(value, bool):
        return value
    return faults.refuse(where, f"Found {kind_of(value)}; true or false is accepted.")


BOOLEAN = Shape(_read_boolean, {"type": "boolean"})


def text(problem_of: Callable[[str], str | None], accepted: str, schema: Json) -> Shape:
    """Return the shape of a text with which there is no problem; ``accepted`` says what it is."""

    def read(value: Any, where: str, faults: Faults) -> Any:
        problem = problem_of(value) if isinstance(value, str) else f"Found {kind_of(value)}; {accepted} is accepted."
        if problem:
            return faults.refuse(where, problem)
        return value

    return Shape(read, schema)


ID_SCHEMA: Json = {"type": "string", "minLength": 1, "maxLength": MAX_ID_LENGTH}
NAME_SCHEMA: Json = {"type": "string", "minLength": 1, "maxLength": MAX_NAME_LENGTH}
ID = text(id_problem, "an id", ID_SCHEMA)
Id = Annotated[str, stated(ID_SCHEMA)]
"""An id in an answer, whose schema says what it may be; nobody checks it again."""


def choice(kind: type[Choice], accepted: str) -> Shape:
    """Return the shape of a name of an enumeration; ``accepted`` says what it names."""
    names = [each.value for each in kind]

    def read(value: Any, where: str, faults: Faults) -> Any:
        if isinstance(value, str) and value in names:
            return kind(value)
        return faults.refuse(where, f"Found another {accepted}; accepted are {', '.join(names)}.")

    return Shape(read, {"type": "string", "enum": names})


def by_category(shape: Shape) -> Shape:
    """Return the shape of an object from categories, nested ones named by their path, to values of a shape."""

    def read(value: Any, where: str, faults: Faults) -> Any:
        if not isinstance(value, dict):
            return faults.refuse(where, f"Found {kind_of(value)}; an object is accepted.")
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


def is_number(value: Any) -> TypeGuard[float]:
    """Return whether a JSON value is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    if is_number(value):
        return f"{value:g}" if abs(value) < _LARGE else "a large number"
    return kind_of(value)
