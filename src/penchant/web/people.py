"""Handlers of people's interactions: record, list, export, erase."""

from penchant.errors import invalid_parameter
from penchant.model import Interaction, InteractionType, NewInteraction
from penchant.service.people import Selection
from penchant.web.bodies import NDJSON
from penchant.web.content import EMPTY_LIST
from penchant.web.operations import Answer, Call
from penchant.wire import (
    BulkReceipt,
    InteractionAnswer,
    InteractionKey,
    UserExport,
    decode_interaction_lines,
    decode_interactions,
    encode,
    format_timestamp,
    parse_interaction_timestamp,
)


def _answer(source: str, interaction: Interaction) -> InteractionAnswer:
    return InteractionAnswer(
        key=InteractionKey(source=source, user_id=interaction.user_id),
        type=interaction.type.value,
        content_id=interaction.piece_id,
        timestamp=format_timestamp(interaction.occurred_at),
    )


async def record(call: Call) -> Answer:
    """Store one interaction."""
    values = call.values()
    new = NewInteraction(
        user_id=call.path["userID"],
        type=_type(call.path["type"]),
        piece_id=call.path["contentID"],
        occurred_at=_timestamp(values["timestamp"], call.services.people.now()),
        event_id=values["event-id"],
    )
    outcome = await call.services.people.record(call.access, call.source, [new])
    return Answer(body=encode(_answer(call.source, outcome.interactions[0])))


def _type(text: str) -> InteractionType:
    try:
        return InteractionType(text)
    except ValueError:
        names = ", ".join(kind.value for kind in InteractionType)
        raise invalid_parameter("type", f"Found another type; accepted are {names}.") from None


def _timestamp(text: str | None, now: int) -> int | None:
    if text is None:
        return None
    try:
        return parse_interaction_timestamp(text, now)
    except ValueError as error:
        raise invalid_parameter("timestamp", str(error)) from error


async def record_many(call: Call) -> Answer:
    """Store many interactions, all or none."""
    now = call.services.people.now()
    decode = decode_interaction_lines if call.media_type == NDJSON else decode_interactions
    interactions = decode(call.body, now)
    outcome = await call.services.people.record(call.access, call.source, interactions)
    accepted = len(interactions) - outcome.duplicates
    return Answer(body=encode(BulkReceipt(accepted=accepted, duplicates=outcome.duplicates)))


async def list_interactions(call: Call) -> Answer:
    """Answer a person's interactions, newest first."""
    values = call.values()
    view = await call.view()
    selection = Selection(
        piece_id=values["content-id"],
        type=values["type"],
        catalogs=values["catalogs"],
        skip=values["skip"],
        limit=values["limit"] or values["take"],
    )
    found = await call.services.people.listed(view, call.path["userID"], selection)
    body = encode([_answer(call.source, interaction) for interaction in found])
    return Answer(body=body, version=view.head.version)


async def export(call: Call) -> Answer:
    """Answer all that is stored of a person."""
    call.values()
    view = await call.view()
    user_id = call.path["userID"]
    found = await call.services.people.export(view, user_id)
    body = encode(
        UserExport(
            source=call.source,
            user_id=user_id,
            interactions=[_answer(call.source, interaction) for interaction in found],
        )
    )
    return Answer(body=body, version=view.head.version)


async def erase(call: Call) -> Answer:
    """Delete all that is stored of a person."""
    call.values()
    await call.services.people.erase(call.access, call.source, call.path["userID"])
    return Answer(status=202, body=EMPTY_LIST)
