"""Reports of what people saw: lists by their ids, each with the pieces of it that were seen."""

from collections.abc import Callable
from typing import Any

import msgspec

from penchant.errors import TooManyEntries
from penchant.model import MAX_IMPRESSIONS_PER_REQUEST, ListIdentity, NewImpression
from penchant.wire.entries import split_array
from penchant.wire.syntax import Faults, decode_entry, kind_of, pointer
from penchant.wire.text import id_problem
from penchant.wire.times import parse_interaction_timestamp

MAX_POSITION = 10_000
_MEMBERS = ("listId", "content", "userId", "timestamp")

ReadList = Callable[[str, str | None], ListIdentity]
"""Returns what a list's id says, given whose list it is said to be; raises ``ValueError`` with what is wrong."""
FindPosition = Callable[[ListIdentity, str, int], int | None]
"""Returns where a piece stood in a list, given where it is said to have; ``None`` where it was not in it."""


def decode_impressions(
    body: bytes, now: int, read_list: ReadList, find_position: FindPosition
) -> tuple[NewImpression, ...]:
    """Return the impressions of a JSON array of lists; times are checked against ``now``, in ms since 1970 UTC.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more pieces than one request may hold.
        InvalidInput: a list is not acceptable; every fault has its pointer.
    """
    faults = Faults()
    found: list[NewImpression] = []
    for place, entry in enumerate(split_array(body, MAX_IMPRESSIONS_PER_REQUEST, "lists")):
        found += _read(entry, f"/{place}", now, read_list, find_position, faults)
        if len(found) > MAX_IMPRESSIONS_PER_REQUEST:
            raise TooManyEntries(f"Found more than {MAX_IMPRESSIONS_PER_REQUEST} pieces; send fewer in one request.")
        if faults.full():
            break
    faults.raise_any()
    return tuple(found)


def _read(
    raw: msgspec.Raw, where: str, now: int, read_list: ReadList, find_position: FindPosition, faults: Faults
) -> list[NewImpression]:
    """Return what was seen of a list; with a fault, which is noted, it is not to be used."""
    value = decode_entry(raw, where, faults)
    if value is msgspec.UNSET:
        return []
    if not isinstance(value, dict):
        faults.add(where, f"Found {kind_of(value)}; an object with listId and content is accepted.")
        return []
    faults.only(value, _MEMBERS, where)
    identity = _read_list(value, where, read_list, faults)
    seen = _read_content(value.get("content"), f"{where}/content", faults)
    given_at = _read_moment(value.get("timestamp"), f"{where}/timestamp", now, faults)
    if identity is None:
        return []
    # Nothing was seen before its list was made, whatever a client's clock says.
    shown_at = max(identity.made_at, given_at)
    shown = []
    for at, piece_id, reported in seen:
        position = find_position(identity, piece_id, reported)
        if position is None:
            faults.add(at, "This piece was not in the list; report what was seen of it.")
        else:
            shown.append(NewImpression(identity=identity, piece_id=piece_id, position=position, shown_at=shown_at))
    return shown


def _read_list(value: dict[str, Any], where: str, read_list: ReadList, faults: Faults) -> ListIdentity | None:
    user_id = value.get("userId")
    problem = _text_problem(user_id)
    if user_id is not None and problem:
        faults.add(f"{where}/userId", problem)
        return None
    text = value.get("listId")
    if not isinstance(text, str):
        faults.add(f"{where}/listId", f"Found {kind_of(text)}; the id of a list, as a string, is required.")
        return None
    try:
        return read_list(text, user_id)
    except ValueError as error:
        faults.add(f"{where}/listId", str(error))
        return None


def _read_content(content: Any, where: str, faults: Faults) -> list[tuple[str, str, int]]:
    """Return the pieces that were seen: where the body has them, their ids and positions.

    Where positions are not given they are those of their order, from 1.
    """
    if not isinstance(content, list):
        faults.add(
            where, f"Found {kind_of(content)}; an array of ids, or of objects with id and position, is accepted."
        )
        return []
    seen = []
    for place, entry in enumerate(content):
        at = f"{where}/{place}"
        piece_id, position = entry, place + 1
        if isinstance(entry, dict):
            piece_id, position = entry.get("id"), entry.get("position", place + 1)
            for name in entry:
                if name not in {"id", "position"}:
                    faults.add(at + pointer(name), "Found an unknown member; accepted are id and position.")
        problem = _text_problem(piece_id)
        if problem:
            faults.add(f"{at}/id" if isinstance(entry, dict) else at, problem)
        elif type(position) is not int or not 1 <= position <= MAX_POSITION:
            faults.add(f"{at}/position", f"Found another value; an integer from 1 to {MAX_POSITION} is accepted.")
        else:
            seen.append((f"{at}/id" if isinstance(entry, dict) else at, piece_id, position))
        if faults.full():
            break
    return seen


def _text_problem(text: Any) -> str | None:
    return id_problem(text) if isinstance(text, str) else f"Found {kind_of(text)}; a string is accepted."


def _read_moment(text: Any, where: str, now: int, faults: Faults) -> int:
    if text is None:
        return now
    if not isinstance(text, str):
        faults.add(where, f"Found {kind_of(text)}; an RFC 3339 time as a string is accepted.")
        return now
    try:
        return parse_interaction_timestamp(text, now)
    except ValueError as error:
        faults.add(where, str(error))
        return now
