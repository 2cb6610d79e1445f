"""Interactions in bodies: as a JSON array, or as one JSON object a line."""

import contextlib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import msgspec

from penchant.errors import InvalidInput, InvalidSyntax, TooManyEntries
from penchant.model import (
    INTERACTION_TYPE_NAMES,
    MAX_INTERACTIONS_PER_REQUEST,
    InteractionType,
    NewImpression,
    NewInteraction,
)
from penchant.wire.entries import split_array
from penchant.wire.syntax import UNREADABLE, Faults, decode_entry, kind_of, require_syntax
from penchant.wire.text import id_problem
from penchant.wire.times import parse_interaction_timestamp

_TYPES = {kind.value: kind for kind in InteractionType}
_LINE = re.compile(rb"\S[^\n]*")
"""A line from its first character that is no space; those without one are none."""


class _PlainInteraction(msgspec.Struct, rename="camel", gc=False):
    """An interaction whose members are all of the right type; unknown ones are passed over."""

    user_id: str
    type: str
    content_id: str
    timestamp: str | None = None
    event_id: str | None = None
    list_id: str | None = None


class _RawInteraction(msgspec.Struct, rename="camel", gc=False):
    """The members of an interaction as they came, so that nothing is built of what is no text."""

    user_id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    type: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    content_id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    timestamp: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    event_id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    list_id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


ReadList = Callable[[str, str, str], NewImpression | None]
"""Returns the piece in the list of an id that a person's interaction with it names.

``None`` where it was not in it, or nothing is kept of the list; raises ``ValueError`` with what is wrong.
"""
_plain_decoder = msgspec.json.Decoder(_PlainInteraction)
_raw_decoder = msgspec.json.Decoder(_RawInteraction)
_MEMBERS = ("user_id", "type", "content_id", "timestamp", "event_id", "list_id")


def _no_list(text: str, user_id: str, piece_id: str) -> None:
    """Return that an interaction came from no list that is known, whatever it names."""
    del text, user_id, piece_id


def decode_interactions(body: bytes, now: int, read_list: ReadList = _no_list) -> tuple[NewInteraction, ...]:
    """Return the interactions of a JSON array; times are checked against ``now``, in ms since 1970 UTC.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more than one request may hold.
        InvalidInput: an interaction is not acceptable; every fault has its pointer.
    """
    return _read_all(enumerate(split_array(body, MAX_INTERACTIONS_PER_REQUEST, "interactions")), now, read_list)


def decode_interaction_lines(body: bytes, now: int, read_list: ReadList = _no_list) -> tuple[NewInteraction, ...]:
    """Return the interactions of NDJSON; pointers begin with the line's number from 1; blank lines are none.

    Raises:
        InvalidSyntax: a line is no JSON.
        TooManyEntries, InvalidInput: as `decode_interactions`.
    """
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
    return _read_all(lines, now, read_list)


def _lines(body: bytes) -> Iterator[tuple[int, msgspec.Raw]]:
    """Yield the lines that are not blank with their numbers from 1."""
    number, end = 1, 0
    for found in _LINE.finditer(body):
        number += body.count(b"\n", end, found.start())
        end = found.end()
        yield number, msgspec.Raw(found[0])


def _read_all(entries: Iterable[tuple[int, msgspec.Raw]], now: int, read_list: ReadList) -> tuple[NewInteraction, ...]:
    faults = Faults()
    read = []
    for place, entry in entries:
        read.append(_read(entry, f"/{place}", now, read_list, faults))
        if faults.full():
            break
    faults.raise_any()
    return tuple(interaction for interaction in read if interaction is not None)


def _read(raw: msgspec.Raw, where: str, now: int, read_list: ReadList, faults: Faults) -> NewInteraction | None:
    """Return an interaction; with a fault, which is noted, it is not to be used."""
    members = _members(raw, where, faults)
    if members is None:
        return None
    user_id = _read_id(members["user_id"], f"{where}/userId", faults)
    kind = _read_type(members["type"], f"{where}/type", faults)
    piece_id = _read_id(members["content_id"], f"{where}/contentId", faults)
    occurred_at = _read_timestamp(members["timestamp"], f"{where}/timestamp", now, faults)
    given = members["event_id"]
    event_id = None if given is None or given is msgspec.UNSET else _read_id(given, f"{where}/eventId", faults)
    return NewInteraction(
        user_id=user_id,
        type=kind,
        piece_id=piece_id,
        occurred_at=occurred_at,
        event_id=event_id,
        shown_in=_read_list(members["list_id"], (user_id, piece_id), f"{where}/listId", read_list, faults),
    )


def _members(raw: msgspec.Raw, where: str, faults: Faults) -> dict[str, Any] | None:
    """Return an interaction's members: texts and null as values, all else as it came; ``None`` with a fault noted."""
    # The short way: one typed decode, which takes nearly all. What it refuses is looked at member by member.
    with contextlib.suppress(*UNREADABLE):
        plain = _plain_decoder.decode(raw)
        return {name: getattr(plain, name) for name in _MEMBERS}
    kind = kind_of(raw)
    if kind != "an object":
        faults.add(where, f"Found {kind}; an object with userId, type and contentId is accepted.")
        return None
    try:
        found = _raw_decoder.decode(raw)
    except UNREADABLE:
        decode_entry(raw, where, faults)  # half of a surrogate pair, somewhere
        return None
    return {name: _text_or_raw(getattr(found, name)) for name in _MEMBERS}


def _text_or_raw(member: Any) -> Any:
    is_small = member is not msgspec.UNSET and kind_of(member) in {"a string", "null"}
    return msgspec.json.decode(member) if is_small else member


def _read_id(text: Any, where: str, faults: Faults) -> str:
    if text is msgspec.UNSET:
        faults.add(where, f"The member {where.rpartition('/')[2]} is missing; it is required.")
        return ""
    problem = id_problem(text) if isinstance(text, str) else f"Found {kind_of(text)}; a string is accepted."
    if problem:
        faults.add(where, problem)
    return str(text)


def _read_list(
    text: Any, done: tuple[str, str], where: str, read_list: ReadList, faults: Faults
) -> NewImpression | None:
    """Return the piece in the list that an interaction names; ``done`` is who did something with which piece."""
    if text is None or text is msgspec.UNSET:
        return None
    if not isinstance(text, str):
        faults.add(where, f"Found {kind_of(text)}; the id of a list as a string is accepted.")
        return None
    try:
        return read_list(text, *done)
    except ValueError as error:
        faults.add(where, str(error))
        return None


def _read_type(name: Any, where: str, faults: Faults) -> InteractionType:
    kind = _TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        found = "no type" if name is msgspec.UNSET else "another type"
        faults.add(where, f"Found {found}; accepted are {INTERACTION_TYPE_NAMES}.")
        return InteractionType.CLICK  # never stored: the fault ends the request
    return kind


def _read_timestamp(text: Any, where: str, now: int, faults: Faults) -> int | None:
    """Return the moment of an interaction, ``None`` where none was sent; a fault is noted."""
    if text is None or text is msgspec.UNSET:
        return None
    if not isinstance(text, str):
        faults.add(where, f"Found {kind_of(text)}; an RFC 3339 time as a string is accepted.")
        return None
    try:
        return parse_interaction_timestamp(text, now)
    except ValueError as error:
        faults.add(where, str(error))
        return None
