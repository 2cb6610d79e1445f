"""Queries, headers and path segments: how they are decoded, once and strictly, and read as an operation's parameters.

Frameworks route on the decoded path, where an id's ``%2F`` has become a separator. Here the path stays encoded until
its segments have been told apart. Each `Parameter` both parses and describes itself, so that the OpenAPI document
cannot drift from the code.
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
from starlette.datastructures import Headers

from penchant.errors import Fault, InvalidInput, MalformedPath
from penchant.wire.text import id_problem, source_problem

_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PLAIN = re.compile(r"[ -$&-~]*\Z")
_CONTROL = re.compile(r"[\0-\x1f\x7f-\x9f]")
_UNCODED = re.compile(r"[ -$&-*,-~]*\Z")
_NUMBERED = re.compile(r"\[\d*\]\Z")
MAX_REMEMBERED_QUERY = 200
"""Bytes of a query whose parameters are remembered, and of a part of one: strangers may send 60 KB."""
MAX_REMEMBERED_QUERIES = 4_096
MAX_REMEMBERED_COMPONENTS = 1_024
RESERVED_SEGMENT = "-"
"""The first path segment that is the service's own; no source can be called so."""


class RequestHeaders(Headers):
    """The headers of a request by name: they are put in order once, where Starlette looks through all for each.

    ``first`` are the first values by the names, in lower case, as they came; ``has_repeated`` says whether there are
    further ones.
    """

    def __init__(self, raw: list[tuple[bytes, bytes]]) -> None:
        # All that Starlette's own sets.
        self._list = raw
        self.first: dict[bytes, bytes] = dict(reversed(raw))
        self.has_repeated = len(self.first) < len(raw)

    def __getitem__(self, key: str) -> str:
        return self.first[key.lower().encode("latin-1")].decode("latin-1")

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key.lower().encode("latin-1") in self.first

    def get(self, key: str, default: Any = None) -> Any:
        """Return the first value of a header."""
        value = self.first.get(key.lower().encode("latin-1"))
        return default if value is None else value.decode("latin-1")

    def getlist(self, key: str) -> list[str]:
        """Return all values of a header."""
        if self.has_repeated:
            return super().getlist(key)
        value = self.first.get(key.lower().encode("latin-1"))
        return [] if value is None else [value.decode("latin-1")]


def is_plain(raw: str) -> bool:
    """Return whether nothing of a path has to be decoded, and nothing in it refused."""
    return _PLAIN.match(raw) is not None


def decode_component(raw: str) -> str:
    """Return a path segment or query component decoded once, as strict UTF-8.

    Raises:
        MalformedPath: a broken escape, invalid UTF-8, raw non-ASCII or a control character.
    """
    # Most components have nothing to decode and nothing to refuse.
    if raw.isascii() and "%" not in raw and raw.isprintable():
        return raw
    if not raw.isascii():
        raise MalformedPath("The path or query holds raw non-ASCII bytes. Percent-encode them as UTF-8.")
    if _ESCAPE.search(raw):
        raise MalformedPath("The path or query holds a % that no two hexadecimal digits follow. Write it as %25.")
    return _unescaped(raw) if len(raw) <= MAX_REMEMBERED_QUERY else _unescaped.__wrapped__(raw)


# Ids differ from request to request, filters hardly.
@functools.lru_cache(MAX_REMEMBERED_COMPONENTS)
def _unescaped(raw: str) -> str:
    try:
        text = unquote_to_bytes(raw).decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedPath("The path or query holds an escape that is not valid UTF-8.") from error
    if _CONTROL.search(text):
        raise MalformedPath("The path or query holds a control character, which no name or id may.")
    return text


NO_IDS = frozenset({"source", "type", "code"})
"""Parameters of paths that are no ids: the order of checks or the handler has its own rule for each."""


class PathParameters(dict[str, str]):
    """The decoded parameters of a path, with what is wrong with them: that is looked at once for all who ask for it.

    ``source_problem`` is why no source can have the name, ``faults`` are those of ids that are longer than ids are.
    """

    source_problem: str | None = None
    faults: tuple[Fault, ...] = ()

    def check(self) -> None:
        """Look what is wrong with them: with nothing of a short path whose segments are printable and not empty."""
        self.source_problem = source_problem(self["source"]) if "source" in self else None
        self.faults = tuple(
            Fault(parameter=name, detail=problem)
            for name, text in self.items()
            if name not in NO_IDS and (problem := id_problem(text))
        )


class QueryParameters(msgspec.Struct, frozen=True, kw_only=True):
    """The decoded parameters of a request, in the order given, repeated ones included.

    ``given`` are the values of each key, ``lists`` the names that a key such as ``name[]`` adds to; ``text`` is the
    query as it came.
    """

    text: str = ""
    given: Mapping[str, Sequence[str]] = {}
    lists: frozenset[str] = frozenset()

    def values(self, name: str) -> Sequence[str]:
        """Return all values of a parameter."""
        return self.given.get(name, ())

    def numbered(self, name: str) -> Sequence[str]:
        """Return the values given as ``name=``, ``name[]=`` or ``name[0]=``, in the order given."""
        if name not in self.lists:
            return self.given.get(name, ())
        return [_decode_form(raw) for key, raw in self._pairs() if list_name(key) == name]

    def separated(self, name: str) -> list[str]:
        """Return the values as `numbered` does, those of ``name=`` split at commas that are not encoded."""
        values: list[str] = []
        for key, raw in self._pairs():
            if key == name:
                # Split while encoded: a comma that belongs to a name comes as %2C.
                values += map(_decode_form, raw.split(","))
            elif list_name(key) == name:
                values.append(_decode_form(raw))
        return values

    def _pairs(self) -> Iterator[tuple[str, str]]:
        """Yield the keys, decoded, with their values as they came."""
        for part in filter(None, self.text.split("&")):
            key, _, raw = part.partition("=")
            yield _decode_form(key), raw


NO_QUERY = QueryParameters()


def list_name(key: str) -> str:
    """Return the name of the list that a key such as ``name[]`` or ``name[0]`` adds to; other keys as they are."""
    return _NUMBERED.sub("", key) if key.endswith("]") else key


def parse_query(raw: bytes) -> QueryParameters:
    """Return the parameters of a raw query string; ``+`` is a space there.

    Raises:
        MalformedPath: as `decode_component`.
    """
    if not raw:
        return NO_QUERY
    return _parse_query(raw) if len(raw) <= MAX_REMEMBERED_QUERY else _parse_query.__wrapped__(raw)


@functools.lru_cache(MAX_REMEMBERED_QUERIES)
def _parse_query(raw: bytes) -> QueryParameters:
    text = raw.decode("latin-1")
    decode = str if _UNCODED.match(text) else _decode_form
    given: dict[str, list[str]] = {}
    for part in filter(None, text.split("&")):
        key, _, value = part.partition("=")
        given.setdefault(decode(key), []).append(decode(value))
    if "]" not in text and "%" not in text:
        return QueryParameters(text=text, given=given)
    lists = frozenset(list_name(key) for key in given if key.endswith("]"))
    return QueryParameters(text=text, given=given, lists=lists)


def _decode_form(raw: str) -> str:
    # Before decoding: an encoded plus, %2B, stays one.
    return decode_component(raw.replace("+", " "))


_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_LONGEST_INTEGER = 18
"""Digits that fit a 64-bit integer; longer ones count as that large."""


# Compared and hashed by identity, since schemas cannot be hashed.
class Parameter(msgspec.Struct, frozen=True, kw_only=True, eq=False):
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

    def value(self, query: QueryParameters) -> Any:
        """Return the parameter's value in this query, or the default where it is absent.

        Raises:
            ValueError: given twice, blank, or not acceptable.
        """
        if self.read_all is not None:
            return self.read_all(query)
        given = query.given.get(self.name)
        if not given:
            return self.default
        # Refused, since programs differ in which of two they take; so a proxy could understand another request.
        if len(given) > 1:
            raise ValueError("Given more than once; give it once.")
        if not given[0]:
            raise ValueError("The value is blank; leave the parameter out or give a value.")
        return self.read(given[0])


class Values(msgspec.Struct, frozen=True, kw_only=True):
    """The values of an operation's parameters; those alone of parameters that the query has are ``given``."""

    known: Mapping[str, Any]
    given: Mapping[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        return self.known[name]


class ParameterPlan:
    """How the parameters of an operation are read, worked out once: by name, which are lists, what they are unnamed."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._by_name = {each.name: each for each in parameters}
        self._lists = frozenset(each.name for each in parameters if each.read_all is not None)
        self._unnamed = Values(known={each.name: each.value(NO_QUERY) for each in parameters})

    def read(self, query: QueryParameters) -> Values:
        """Return the values of all parameters.

        Raises:
            InvalidInput: with a fault for every parameter that is not acceptable.
        """
        if not query.given:
            return self._unnamed
        given, faults = dict[str, Any](), list[Fault]()
        for name in query.given.keys() | (query.lists & self._lists) if query.lists else query.given:
            parameter = self._by_name.get(name)
            if parameter is None:
                continue
            try:
                given[name] = parameter.value(query)
            except ValueError as error:
                faults.append(Fault(parameter=name, detail=str(error)))
        if faults:
            faults.sort(key=lambda each: [*self._by_name].index(each.parameter or ""))
            first = faults[0]
            raise InvalidInput(f"The parameter {first.parameter} is not acceptable: {first.detail}", faults=faults)
        return Values(known={**self._unnamed.known, **given}, given=given)

    def is_named(self, query: QueryParameters) -> bool:
        """Return whether a query names one of the parameters."""
        return not (self._by_name.keys().isdisjoint(query.given) and self._lists.isdisjoint(query.lists))

    def ignored(self, query: QueryParameters) -> list[str]:
        """Return the names in a query that none of the parameters has."""
        if query.given.keys() <= self._by_name.keys():
            return []
        return [key for key in query.given if key not in self._by_name and list_name(key) not in self._lists]


def integer(text: str, *, least: int, most: int | None = None) -> int:
    """Return the integer that a text spells, cut to ``most``.

    Raises:
        ValueError: no integer, or less than ``least``.
    """
    if not _INTEGER.match(text):
        raise ValueError(f"Found a value that is no integer; an integer from {least} on is accepted.")
    if len(text) > _LONGEST_INTEGER:
        # Cut, not refused: a number of a thousand digits is a large number, and Python would not convert any length.
        digits = text.lstrip("+-").lstrip("0")[:_LONGEST_INTEGER]
        text = f"-{digits or 0}" if text.startswith("-") else digits or "0"
    value = int(text)
    if value < least:
        raise ValueError(f"Found {value}; an integer from {least} on is accepted.")
    return value if most is None else min(value, most)
