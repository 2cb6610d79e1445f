"""Reports of what people saw: lists by their ids."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec

from penchant.errors import TooManyEntries
from penchant.wire.fields import ID, ID_SCHEMA, Body, Example, Record, described
from penchant.wire.recording import LIST_ID, LIST_ID_TEXT, MOMENT_TEXT, read_timestamp
from penchant.wire.syntax import Faults, decode_entry, kind_of, pointer, split_array
from penchant.wire.text import id_problem
from penchant_rows.model import MAX_IMPRESSIONS_PER_REQUEST, ListIdentity, NewImpression
from penchant_rows.wire.list_ids import ProvenPosition

MAX_POSITION = 10_000


class SeenPiece(Record, frozen=True, kw_only=True):
    """A piece that was seen, at a position from 1."""

    id: Annotated[str, ID]
    position: Annotated[int, described({"type": "integer", "minimum": 1, "maximum": MAX_POSITION})]


_SEEN_PIECE = Body(SeenPiece, required=("id",), takes_null=False)


class SeenList(Record, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What was seen of a list: ids in the order of their positions from 1, or pieces with positions.

    ``list_id`` is the ``x-penchant-list`` of its answer; with ``user_id`` it must be a list for this person.
    """

    list_id: Annotated[str, LIST_ID_TEXT, Example(LIST_ID)]
    content: Annotated[
        Sequence[str | SeenPiece],
        described({"type": "array", "items": {"oneOf": [ID_SCHEMA, _SEEN_PIECE.schema()]}}),
        Example(["alien", {"id": "gravity", "position": 4}]),
    ]
    user_id: Annotated[str | None, ID] = None
    timestamp: Annotated[datetime | str | None, MOMENT_TEXT] = None


SEEN_LIST = Body(SeenList)

ReadList = Callable[[str, str | None], ListIdentity]
"""Returns what a list's id says, given whose list it is said to be; raises ``ValueError`` with what is wrong."""
FindPosition = Callable[[ListIdentity, str, int], ProvenPosition | None]
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
    impressions: list[NewImpression] = []
    for place, entry in enumerate(split_array(body, MAX_IMPRESSIONS_PER_REQUEST, "lists")):
        impressions += _read_seen(entry, f"/{place}", now, read_list, find_position, faults)
        if len(impressions) > MAX_IMPRESSIONS_PER_REQUEST:
            raise TooManyEntries(f"Found more than {MAX_IMPRESSIONS_PER_REQUEST} pieces; send fewer in one request.")
        if faults.full():
            break
    faults.raise_any()
    return tuple(impressions)


def _read_seen(
    raw: msgspec.Raw, where: str, now: int, read_list: ReadList, find_position: FindPosition, faults: Faults
) -> list[NewImpression]:
    """Return what was seen of a list; with a fault, which is noted, it is not to be used."""
    value = decode_entry(raw, where, faults)
    if value is msgspec.UNSET:
        return []
    if not isinstance(value, dict):
        faults.add(where, f"Found {kind_of(value)}; an object with listId and content is accepted.")
        return []
    faults.only(value, SEEN_LIST.members, where)
    identity = _read_list(value, where, read_list, faults)
    seen = _read_content(value.get("content"), f"{where}/content", faults)
    given_at = read_timestamp(value.get("timestamp"), where, now, faults)
    if identity is None:
        return []
    # Nothing was seen before its list was made, whatever a client's clock says.
    shown_at = max(identity.made_at, now if given_at is None else given_at)
    shown = []
    for at, piece_id, reported in seen:
        place = find_position(identity, piece_id, reported)
        if place is None:
            faults.add(at, "This piece was not in the list; report what was seen of it.")
            continue
        shown.append(
            NewImpression(
                identity=identity,
                piece_id=piece_id,
                position=place.position,
                shown_at=shown_at,
                rule=place.rule,
            )
        )
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
                if name not in _SEEN_PIECE.members:
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
