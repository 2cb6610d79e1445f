"""Interactions of other systems: how one is put together, and what makes it the same when it is imported again."""

import hashlib
import re
from typing import Any

from penchant.importing.drafts import Draft, DraftKind, RowProblem
from penchant.importing.moments import read_moment
from penchant.model import InteractionType, NewInteraction
from penchant.wire import encode, format_timestamp

_STABLE_PREFIX = "import-"
_STABLE = re.compile(_STABLE_PREFIX + "[0-9a-f]{32}")


def interaction_draft(
    where: tuple[str, int],
    *,
    who: tuple[Any, Any],
    kind: InteractionType,
    time: tuple[str, Any] | None = None,
    event_id: Any = None,
    time_format: str | None = None,
) -> Draft:
    """Return the interaction of a row: ``who`` is the person and the piece, ``time`` its field and value."""
    user_id, piece_id = (str(each) if isinstance(each, int) else each for each in who)
    members: dict[str, Any] = {"userId": user_id, "type": kind.value, "contentId": piece_id}
    if time is not None:
        field, value = time
        try:
            moment = read_moment(value, time_format)
        except ValueError as error:
            return problem_draft(DraftKind.INTERACTION, where, field, str(error))
        if moment is not None:
            members["timestamp"] = moment
    if event_id is not None:
        members["eventId"] = event_id
    return Draft(DraftKind.INTERACTION, *where, encode(members))


def problem_draft(kind: DraftKind, where: tuple[str, int], field: str, detail: str) -> Draft:
    """Return the draft of a row that becomes nothing."""
    return Draft(kind, *where, b"", RowProblem(field, detail))


def interaction_members(interaction: NewInteraction) -> dict[str, str]:
    """Return an interaction as the members of a request."""
    members = {"userId": interaction.user_id, "type": interaction.type.value, "contentId": interaction.piece_id}
    if interaction.occurred_at is not None:
        members["timestamp"] = format_timestamp(interaction.occurred_at)
    if interaction.event_id is not None:
        members["eventId"] = interaction.event_id
    return members


def stable_event_id(interaction: NewInteraction, repeat: int = 1) -> str:
    """Return the event id of an interaction by what it says, the same wherever and however often it is imported.

    ``repeat`` counts equal ones from 1.
    """
    parts = [interaction.user_id, interaction.type.value, interaction.piece_id, interaction.occurred_at]
    said = encode(parts if repeat == 1 else [*parts, repeat])
    return _STABLE_PREFIX + hashlib.blake2b(said, digest_size=16).hexdigest()


def is_stable_event_id(event_id: str) -> bool:
    """Return whether an event id has the form of those that imports make."""
    return _STABLE.fullmatch(event_id) is not None
