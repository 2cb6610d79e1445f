"""Is a body a list of interactions? As a JSON array, or as one JSON object a line."""

from dataclasses import replace
from typing import Any

from penchant.errors import InvalidInput, InvalidSyntax, TooManyEntries
from penchant.model import MAX_INTERACTIONS_PER_REQUEST, InteractionType, NewInteraction
from penchant.wire.pieces import decode_entries
from penchant.wire.syntax import Faults, decode, kind_of
from penchant.wire.text import id_problem
from penchant.wire.times import parse_interaction_timestamp

_TYPES = {kind.value: kind for kind in InteractionType}
_ACCEPTED_TYPES = ", ".join(_TYPES)


def decode_interactions(body: bytes, now: int) -> tuple[NewInteraction, ...]:
    """Return the interactions of a JSON array; times are checked against ``now``, in ms since 1970 UTC.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more than one request may hold.
        InvalidInput: an interaction is not acceptable; every fault has its pointer.
    """
    entries = decode_entries(body, MAX_INTERACTIONS_PER_REQUEST, "interactions")
    return _read_all(list(enumerate(entries)), now)


def decode_interaction_lines(body: bytes, now: int) -> tuple[NewInteraction, ...]:
    """Return the interactions of NDJSON; pointers begin with the line's number from 1; blank lines are none.

    Raises:
        InvalidSyntax: a line is no JSON.
        TooManyEntries, InvalidInput: as `decode_interactions`.
    """
    lines = [(number, line) for number, line in enumerate(body.split(b"\n"), start=1) if line.strip()]
    if len(lines) > MAX_INTERACTIONS_PER_REQUEST:
        raise TooManyEntries(
            f"Found {len(lines)} lines; up to {MAX_INTERACTIONS_PER_REQUEST} interactions are accepted."
        )
    entries = []
    for number, line in lines:
        try:
            entries.append((number, decode(line)))
        except InvalidSyntax as error:
            raise InvalidSyntax(f"Line {number} is not JSON: {error.detail}") from None
        except InvalidInput as error:
            faults = [replace(fault, pointer=f"/{number}{fault.pointer}") for fault in error.faults]
            raise InvalidInput(f"Line {number}: {error.detail}", faults=faults) from None
    return _read_all(entries, now)


def _read_all(entries: list[tuple[int, Any]], now: int) -> tuple[NewInteraction, ...]:
    faults = Faults()
    read = [_read(entry, f"/{place}", now, faults) for place, entry in entries]
    faults.raise_any()
    return tuple(interaction for interaction in read if interaction is not None)


def _read(entry: Any, where: str, now: int, faults: Faults) -> NewInteraction | None:
    if not isinstance(entry, dict):
        faults.add(where, f"Found {kind_of(entry)}; an object with userId, type and contentId is accepted.")
        return None
    user_id = _read_id(entry, "userId", where, faults)
    kind = _read_type(entry, where, faults)
    piece_id = _read_id(entry, "contentId", where, faults)
    occurred_at = _read_timestamp(entry.get("timestamp"), f"{where}/timestamp", now, faults)
    event_id = None if entry.get("eventId") is None else _read_id(entry, "eventId", where, faults)
    return NewInteraction(user_id=user_id, type=kind, piece_id=piece_id, occurred_at=occurred_at, event_id=event_id)


def _read_id(entry: dict[str, Any], name: str, where: str, faults: Faults) -> str:
    text = entry.get(name)
    if name not in entry:
        faults.add(f"{where}/{name}", f"The member {name} is missing; it is required.")
        return ""
    problem = id_problem(text) if isinstance(text, str) else f"Found {kind_of(text)}; a string is accepted."
    if problem:
        faults.add(f"{where}/{name}", problem)
    return str(text)


def _read_type(entry: dict[str, Any], where: str, faults: Faults) -> InteractionType:
    name = entry.get("type")
    kind = _TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        found = "no type" if "type" not in entry else "another type"
        faults.add(f"{where}/type", f"Found {found}; accepted are {_ACCEPTED_TYPES}.")
        return InteractionType.CLICK  # never stored: the fault ends the request
    return kind


def _read_timestamp(text: Any, where: str, now: int, faults: Faults) -> int | None:
    if text is None:
        return None
    if not isinstance(text, str):
        faults.add(where, f"Found {kind_of(text)}; an RFC 3339 time as a string is accepted.")
        return None
    try:
        return parse_interaction_timestamp(text, now)
    except ValueError as error:
        faults.add(where, str(error))
        return None
