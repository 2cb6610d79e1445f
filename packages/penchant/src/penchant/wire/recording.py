"""Reports of what people did: interactions as a JSON array or as one object a line."""

import contextlib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET

from penchant.errors import InvalidInput, InvalidSyntax, TooManyEntries
from penchant.model import MAX_ID_LENGTH, MAX_INTERACTIONS_PER_REQUEST, NewInteraction
from penchant.wire.fields import ID, PORTION, Body, Description, Example, Number, Record, described
from penchant.wire.syntax import (
    UNREADABLE,
    Faults,
    decode_entry,
    hundredths_of,
    kind_of,
    require_syntax,
    require_utf8,
    split_array,
)
from penchant.wire.text import id_problem
from penchant.wire.times import parse_interaction_timestamp
from penchant_engine.model import INTERACTION_TYPE_NAMES, InteractionType

MAX_LIST_ID_LENGTH = 320
MAX_PLAIN_BYTES = 8 * 1024 * 1024
"""Of a larger body the entries are counted before anything is made of them."""
MOMENT: Final = "2026-11-21T08:15:30.123Z"
LIST_ID: Final = "AGkidY2wDEcKbSvlRFGTyWNhb21lAGhvbWU"
"""What samples show: a moment, and the id of a list of no source."""
_TYPES = {kind.value: kind for kind in InteractionType}
_LINE = re.compile(rb"\S[^\n]*")
"""A line from its first character that is no space; those without one are none."""
# What these mean depends on the moment and the source of the request: their readers are below.
MOMENT_TEXT = described({"type": "string", "format": "date-time"})
LIST_ID_TEXT = described({"type": "string", "maxLength": MAX_LIST_ID_LENGTH})


class Interaction(Record, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An interaction to store; without a time it happened now, with an event id it is stored once.

    ``type`` is an `InteractionType` or its name.
    """

    user_id: Annotated[str, ID, Example("kim")]
    type: Annotated[str, described({"type": "string", "enum": list(_TYPES)}), Example("Watch")]
    content_id: Annotated[str, ID, Example("alien")]
    timestamp: Annotated[datetime | str | None, MOMENT_TEXT, Example(MOMENT)] = None
    event_id: Annotated[
        str | None,
        ID,
        Description("Your id of the event: the same one of the same person is stored once."),
        Example("e-1"),
    ] = None
    list_id: Annotated[str | None, LIST_ID_TEXT] = None
    value: Annotated[
        Number | None,
        PORTION,
        Description(
            "What part of it was watched, read or listened to; without it the whole. Of ratings it says nothing."
        ),
        Example(0.6),
    ] = None


INTERACTION = Body(Interaction, is_closed=False)


ReadOrigin = Callable[[str, str, str], object | None]
"""Returns what is known of the list of an id that a person's interaction with a piece names (`penchant.hooks`).

``None`` where nothing is; raises ``ValueError`` with what is wrong.
"""
_MEMBERS = tuple(member.name for member in INTERACTION.members.values())
_PLAIN = {"string": str | None, "number": Number | None}
_PlainInteraction = msgspec.defstruct(
    "_PlainInteraction",
    [
        (member.name, str) if key in INTERACTION.required else (member.name, _PLAIN[member.shape.schema["type"]], None)
        for key, member in INTERACTION.members.items()
    ],
    rename="camel",
    gc=False,
)
"""An interaction whose members are all of the right type; unknown ones are passed over."""
_plain_decoder = msgspec.json.Decoder(_PlainInteraction)
_plain_array_decoder = msgspec.json.Decoder(list[_PlainInteraction])  # type: ignore[valid-type]  # made above
_raw_decoder = msgspec.json.Decoder(
    msgspec.defstruct(
        "_RawInteraction",
        [(name, msgspec.Raw | msgspec.UnsetType, UNSET) for name in _MEMBERS],
        rename="camel",
        gc=False,
    )
)
"""Gives the members of an interaction as they came, so that nothing is built of what is no text."""


def _no_list(text: str, user_id: str, piece_id: str) -> None:
    """Return that an interaction came from no list that is known, whatever it names."""
    del text, user_id, piece_id


def decode_interactions(body: bytes, now: int, read_origin: ReadOrigin = _no_list) -> tuple[NewInteraction, ...]:
    """Return the interactions of a JSON array; times are checked against ``now``, in ms since 1970 UTC.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more than one request may hold.
        InvalidInput: an interaction is not acceptable; every fault has its pointer.
    """
    plain = _read_plain(_plain_array_decoder.decode, body, now, read_origin)
    if plain is not None:
        return plain
    return _read_all(enumerate(split_array(body, MAX_INTERACTIONS_PER_REQUEST, "interactions")), now, read_origin)


def decode_interaction_lines(body: bytes, now: int, read_origin: ReadOrigin = _no_list) -> tuple[NewInteraction, ...]:
    """Return the interactions of NDJSON; pointers begin with the line's number from 1; blank lines are none.

    Raises:
        InvalidSyntax: a line is no JSON.
        TooManyEntries, InvalidInput: as `decode_interactions`.
    """
    plain = _read_plain(_decode_plain_lines, body, now, read_origin)
    if plain is not None:
        return plain
    lines = list(itertools.islice(_lines(body), MAX_INTERACTIONS_PER_REQUEST + 1))
    if len(lines) > MAX_INTERACTIONS_PER_REQUEST:
        most = MAX_INTERACTIONS_PER_REQUEST
        raise TooManyEntries(f"Found more than {most} lines; up to {most} interactions are accepted.")
    # The syntax of all lines first: one that is no JSON refuses the body, whatever is wrong with the lines before it.
    for number, line in lines:
        try:
            require_syntax(bytes(line))
        except InvalidSyntax as error:
            # The body, to which the check owes its words, was this line alone.
            where = error.detail.replace("The body", f"Line {number}").replace("at line 1, column", "at column")
            raise InvalidSyntax(where) from None
        except InvalidInput as error:
            faults = [replace(fault, pointer=f"/{number}{fault.pointer}") for fault in error.faults]
            raise InvalidInput(f"Line {number}: {error.detail}", faults=faults) from None
    return _read_all(lines, now, read_origin)


def _lines(body: bytes) -> Iterator[tuple[int, msgspec.Raw]]:
    number, end = 1, 0
    for match in _LINE.finditer(body):
        number += body.count(b"\n", end, match.start())
        end = match.end()
        yield number, msgspec.Raw(match[0])


def _read_plain(
    decode: Callable[[bytes], Sequence[Any]], body: bytes, now: int, read_origin: ReadOrigin
) -> tuple[NewInteraction, ...] | None:
    """Return the interactions of a body without any fault; ``None`` for one whose entries are to be looked at."""
    if len(body) > MAX_PLAIN_BYTES:
        return None
    try:
        require_utf8(body)
        entries = decode(body)
    except (InvalidSyntax, *UNREADABLE):
        return None
    if len(entries) > MAX_INTERACTIONS_PER_REQUEST:
        return None
    faults = Faults()
    read = []
    for entry in entries:
        read.append(_read(entry, "", now, read_origin, faults))
        # From here on it would be read twice.
        if faults.found:
            return None
    return tuple(read)


def _decode_plain_lines(body: bytes) -> Sequence[Any]:
    # What is blank is no object, and has the lines looked at one by one. `decode_lines` takes two objects in a line.
    return [_plain_decoder.decode(line) for line in body.removesuffix(b"\n").split(b"\n")]


def _read_all(
    entries: Iterable[tuple[int, msgspec.Raw]], now: int, read_origin: ReadOrigin
) -> tuple[NewInteraction, ...]:
    faults = Faults()
    read = []
    for place, entry in entries:
        members = _members(entry, f"/{place}", faults)
        if members is not None:
            read.append(_read(members, f"/{place}", now, read_origin, faults))
        if faults.full():
            break
    faults.raise_any()
    return tuple(read)


def _read(members: Any, where: str, now: int, read_origin: ReadOrigin, faults: Faults) -> NewInteraction:
    """Return an interaction; with a fault, which is noted, it is not to be used."""
    user_id = _read_id(members.user_id, where, "userId", faults)
    kind = _read_type(members.type, where, faults)
    piece_id = _read_id(members.content_id, where, "contentId", faults)
    moment, given, list_id = members.timestamp, members.event_id, members.list_id
    occurred_at = None if moment is None else read_timestamp(moment, where, now, faults)
    event_id = None if given is None or given is UNSET else _read_id(given, where, "eventId", faults)
    shown_in = None if list_id is None else _read_origin(list_id, (user_id, piece_id), where, read_origin, faults)
    portion = None if members.value is None else _read_portion(members.value, f"{where}/value", faults)
    # By place: names would cost more than all else that is done here.
    return NewInteraction._make((user_id, kind, piece_id, occurred_at, event_id, shown_in, portion))


def _members(raw: msgspec.Raw, where: str, faults: Faults) -> Any:
    """Return an interaction's members: texts and null as values, all else as it came; ``None`` with a fault noted."""
    # The short way: one typed decode. What it refuses is looked at member by member.
    with contextlib.suppress(*UNREADABLE):
        return _plain_decoder.decode(raw)
    kind = kind_of(raw)
    if kind != "an object":
        faults.add(where, f"Found {kind}; an object with userId, type and contentId is accepted.")
        return None
    try:
        members = _raw_decoder.decode(raw)
    except UNREADABLE:
        decode_entry(raw, where, faults)  # half of a surrogate pair, somewhere
        return None
    return SimpleNamespace(**{name: _text_or_raw(getattr(members, name)) for name in _MEMBERS})


def _text_or_raw(member: Any) -> Any:
    is_small = member is not msgspec.UNSET and kind_of(member) in {"a string", "null"}
    return msgspec.json.decode(member) if is_small else member


def _read_id(text: Any, where: str, name: str, faults: Faults) -> str:
    # By far the most frequent case, without a call: a printable text holds no control character.
    if isinstance(text, str) and text.isprintable() and 0 < len(text) <= MAX_ID_LENGTH:
        return text
    if text is UNSET:
        faults.add(f"{where}/{name}", f"The member {name} is missing; it is required.")
        return ""
    problem = id_problem(text) if isinstance(text, str) else f"Found {kind_of(text)}; a string is accepted."
    if problem:
        faults.add(f"{where}/{name}", problem)
    return str(text)


def _read_origin(
    text: Any, done: tuple[str, str], where: str, read_origin: ReadOrigin, faults: Faults
) -> object | None:
    """Return what is known of the list that an interaction names; ``done`` is who did something with which piece."""
    if text is None or text is UNSET:
        return None
    if not isinstance(text, str):
        faults.add(f"{where}/listId", f"Found {kind_of(text)}; the id of a list as a string is accepted.")
        return None
    try:
        return read_origin(text, *done)
    except ValueError as error:
        faults.add(f"{where}/listId", str(error))
        return None


def _read_portion(value: Any, where: str, faults: Faults) -> int | None:
    """Return a portion in hundredths, ``None`` where none was sent; a fault is noted."""
    if isinstance(value, msgspec.Raw):
        value = decode_entry(value, where, faults)
    portion = value if value is UNSET or value is None else PORTION.read(value, where, faults)
    return None if portion is UNSET or portion is None else hundredths_of(portion)


def _read_type(name: Any, where: str, faults: Faults) -> InteractionType:
    kind = _TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        shown = "no type" if name is UNSET else "another type"
        faults.add(f"{where}/type", f"Found {shown}; accepted are {INTERACTION_TYPE_NAMES}.")
        return InteractionType.CLICK  # never stored: the fault ends the request
    return kind


def read_timestamp(text: Any, where: str, now: int, faults: Faults) -> int | None:
    """Return the moment of an interaction, ``None`` where none was sent; a fault is noted."""
    if text is None or text is UNSET:
        return None
    if not isinstance(text, str):
        faults.add(f"{where}/timestamp", f"Found {kind_of(text)}; an RFC 3339 time as a string is accepted.")
        return None
    try:
        return parse_interaction_timestamp(text, now)
    except ValueError as error:
        faults.add(f"{where}/timestamp", str(error))
        return None
