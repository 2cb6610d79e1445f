"""Requests, before they are sent, as values: how one is addressed, what it carries, what will be answered.

Nothing here knows whether it will be sent by blocking code or not; that is decided in `penchant_client.clients` alone.
"""

import re
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from types import MappingProxyType, NoneType
from typing import Any, Generic, Literal, TypeVar, cast, get_args, get_origin
from urllib.parse import quote

import msgspec

from penchant_client.errors import InvalidArgument, UnreadableAnswer
from penchant_client.tables import Entries

Answered = TypeVar("Answered")
T = TypeVar("T")

Algorithm = Literal["jaccard", "cosine"]
Basis = Literal["content", "audience", "both"]

_PLACE = re.compile(r"\{(\w+)\}")
_SPECIAL = {".": "%2E", "..": "%2E%2E", "-": "%2D"}
"""What would pass for a step in a path, or for the service's own addresses, unless it is written so."""
_HEADERS = {"min_audience_version": "x-penchant-min-audience-version"}
"""The options that a request carries in a header instead of its query."""
_JSON = {"filter", "boost"}
"""The parameters that are sent as JSON, unless they are texts already."""
_NAMES = {"half_life_days": "halfLifeDays"}
"""The parameters that the interface does not spell with hyphens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Generic[Answered]):
    """A request: ``places`` fill the template's path, ``answer`` is the type that the answer's JSON has.

    An answer of type `str` is no JSON, one of `NoneType` says nothing. ``reads`` tells that it can wait for a
    version of its source, ``at_least`` which one it waits for in any case, ``repeatable`` that it may be sent again
    where it is not known whether it has arrived, ``lines`` that the answer's JSON comes as one value a line.
    """

    method: str
    template: str
    answer: type[Answered]
    places: Mapping[str, str] = field(default_factory=dict)
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    reads: bool = False
    at_least: int = 0
    repeatable: bool = False
    lines: bool = False

    @property
    def source(self) -> str | None:
        """The source that the request is about, if any."""
        return self.places.get("source")

    @property
    def path(self) -> str:
        """The path with every place filled and percent-encoded.

        Raises:
            InvalidArgument: a place is blank: it must never come to mean "all".
        """
        return _PLACE.sub(lambda place: _segment(place[1], self.places[place[1]]), self.template)

    @property
    def decoded(self) -> Any:
        """The type that is decoded: of `Entries` a list."""
        return list[get_args(self.answer)] if get_origin(self.answer) is Entries else self.answer  # type: ignore[misc]  # made when run

    def read(self, body: bytes) -> Answered:
        """Return the answer in a body.

        Raises:
            UnreadableAnswer: it is none of the answers that the request has.
        """
        try:
            if self.answer is str:
                return cast(Answered, body.decode())
            if self.answer is NoneType:
                return cast(Answered, None)
            # Lines of JSON become an array, so that one decoder reads both.
            if self.lines:
                body = b"[" + b",".join(body.splitlines()) + b"]"
            found = _decoded(body, self.decoded)
            if get_origin(self.answer) is Entries:
                return cast(Answered, Entries(found, *get_args(self.answer)))
            return cast(Answered, found)
        except UnicodeDecodeError as error:
            raise UnreadableAnswer(f"The answer is no text: {error}") from error


def request_of(  # noqa: PLR0913  # what a request has
    method: str,
    template: str,
    answer: type[Answered],
    *places: str,
    options: Mapping[str, Any] = MappingProxyType({}),
    body: bytes | None = None,
    reads: bool = False,
    repeatable: bool = True,
    lines: bool = False,
) -> Request[Answered]:
    """Return a request; ``places`` are in the order of the template, options in its query and its headers."""
    return Request(
        method=method,
        template=template,
        answer=answer,
        places=dict(zip(_PLACE.findall(template), places, strict=True)),
        query=query_of(options),
        headers=headers_of(options),
        body=body,
        reads=reads,
        repeatable=repeatable,
        lines=lines,
    )


Flow = Generator[Request[Any], Any, Answered]
"""Several requests, each sent with what was answered to the one before, and what comes of them."""


@dataclass(frozen=True, slots=True)
class ListingRequest(Generic[Answered]):
    """A request whose answer is read entry by entry while it arrives: those of its member ``content``."""

    request: Request[Any]
    entry: type[Answered]

    def read(self, entry: bytes) -> Answered:
        """Return the entry in a text.

        Raises:
            UnreadableAnswer: it is no such entry.
        """
        return _decoded(entry, self.entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages(Generic[Answered]):
    """A list that is read page by page, each from a place on, the first from none.

    ``page`` gives the request of the page at a place, ``read`` its entries and the place of the next one, if there is.
    """

    page: Callable[[Any], Request[Any]]
    read: Callable[[Any, Any], tuple[Iterable[Answered], Any]]


def _decoded(body: bytes, kind: type[Answered]) -> Answered:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnreadableAnswer(f"The answer is none of this interface: {error}") from error


def _segment(name: str, text: str) -> str:
    if not text:
        raise InvalidArgument(f"{name} is blank; give a name or an id.")
    return _SPECIAL.get(text) or quote(text, safe="")


def query_of(options: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return options as parameters of a query; those that are `None` are left out.

    Raises:
        InvalidArgument: an empty collection, which the service would take for none at all; a time without a zone.
    """
    return tuple(
        (name, text)
        for option, value in options.items()
        if value is not None and option not in _HEADERS
        for name, text in _parameter(_NAMES.get(option) or option.replace("_", "-"), value)
    )


def headers_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers of those options that a request does not carry in its query."""
    return {name: str(options[option]) for option, name in _HEADERS.items() if options.get(option) is not None}


def _parameter(name: str, value: Any) -> list[tuple[str, str]]:
    """Return an option as parameters: one, or one for each value of a collection (``name[]``)."""
    if isinstance(value, bool):
        return [(name, "true" if value else "false")]
    if isinstance(value, str | int | float):
        return [(name, str(value))]
    if name in _JSON:
        return [(name, encode(value).decode())]
    # A single number of numpy: it has the shape of none.
    if getattr(value, "shape", None) == ():
        return _parameter(name, value.item())
    if isinstance(value, datetime | date):
        return [(name, _moment(name, value))]
    # Taken whole by the service, since a name may hold a comma.
    pairs = [(f"{name}[]", text) for text in several(value)]
    if not pairs:
        raise InvalidArgument(f"{name} is empty; leave it out to restrict nothing.")
    return pairs


def _moment(name: str, value: date) -> str:
    """Return a time with its zone, or the UTC day of it where a day is asked for."""
    if not isinstance(value, datetime):
        return value.isoformat()
    if value.tzinfo is None:
        raise InvalidArgument(f"{name} has no time zone; give it one.")
    in_utc = value.astimezone(UTC)
    return in_utc.date().isoformat() if name == "at" else in_utc.isoformat().replace("+00:00", "Z")


def encode(value: Any) -> bytes:
    """Return a value as JSON; numbers and arrays of numpy, and times of pandas, are taken.

    Raises:
        InvalidArgument: it holds something that JSON does not have.
    """
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(f"The value cannot be sent: {error}") from error


def _unwrapped(value: Any) -> Any:
    """Return a number or an array of numpy as Python has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    for name in ("item", "tolist"):
        convert = getattr(value, name, None)
        if callable(convert) and (name == "tolist" or getattr(value, "shape", None) == ()):
            return convert()
    raise TypeError(f"{type(value).__name__} is no JSON value")


_encoder = msgspec.json.Encoder(enc_hook=_unwrapped)


def ids_body(ids: Iterable[str]) -> bytes:
    """Return ids as a body.

    Raises:
        InvalidArgument: a single text, whose characters would pass for ids.
    """
    return encode(list(several(ids)))


def several(texts: Iterable[str]) -> Iterable[str]:
    """Return texts as they came, unless they are but one.

    Raises:
        InvalidArgument: a single text, or a data frame.
    """
    if isinstance(texts, str):
        raise InvalidArgument("Found one text; a list of ids is accepted.")
    return no_frame(texts, 'give a column of it, such as frame["id"]')


def no_frame(entries: T, advice: str) -> T:
    """Return entries as they came, unless they are a data frame, over which a loop goes by the names of its columns.

    Raises:
        InvalidArgument: a data frame, with the advice.
    """
    # By what its class can do: none of the libraries has to be installed, and LazyFrame warns when it is asked.
    if any(hasattr(type(entries), each) for each in ("columns", "column_names")):
        raise InvalidArgument(f"This is a data frame: {advice}.")
    return entries
