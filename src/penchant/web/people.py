"""Handlers of people: interactions and preferences, export, erasure."""

import functools
from collections.abc import Sequence

import msgspec

from penchant.errors import invalid_parameter
from penchant.model import (
    NO_PREFERENCES,
    InteractionType,
    NewImpression,
    NewInteraction,
    Preferences,
    StoredImpression,
    StoredInteraction,
)
from penchant.service.people import InteractionSelection
from penchant.storage import Outcome, SourceHead
from penchant.web.bodies import NDJSON_TYPES
from penchant.web.content import EMPTY_LIST
from penchant.web.operations import Answer, Call
from penchant.web.parameters import read_interaction_type
from penchant.wire import (
    BulkReceipt,
    ExportedImpression,
    ExportedInteraction,
    InteractionAnswer,
    InteractionKey,
    UserExport,
    decode_interaction_lines,
    decode_interactions,
    decode_preferences,
    encode,
    format_timestamp,
    parse_interaction_timestamp,
    preferences_answer,
)

INTERACTIONS_VERSION_HEADER = "x-penchant-interactions-version"


def _answer(source: str, interaction: StoredInteraction) -> InteractionAnswer[str]:
    return InteractionAnswer(
        key=InteractionKey(source=source, user_id=interaction.user_id),
        type=interaction.type.value,
        content_id=interaction.piece_id,
        timestamp=format_timestamp(interaction.occurred_at),
    )


def _exported(source: str, interaction: StoredInteraction) -> ExportedInteraction[str]:
    answer = _answer(source, interaction)
    return ExportedInteraction(**msgspec.structs.asdict(answer), event_id=interaction.event_id)


def _shown(impression: StoredImpression) -> ExportedImpression[str]:
    return ExportedImpression(
        placement=impression.placement,
        variant=impression.variant,
        content_id=impression.piece_id,
        position=impression.position or None,
        timestamp=format_timestamp(impression.shown_at),
        led_to=tuple(kind.value for kind in impression.led_to),
    )


def _versions(outcome: Outcome) -> dict[str, str]:
    """Return the header that says at which version of its interactions a source stands after a change."""
    return {INTERACTIONS_VERSION_HEADER: str(outcome.interactions_version)}


async def record(call: Call) -> Answer:
    """Store one interaction."""
    values = call.values()
    user_id = call.path["userID"]
    new = NewInteraction(
        user_id=user_id,
        type=_type(call.path["type"]),
        piece_id=call.path["contentID"],
        occurred_at=_timestamp(values["timestamp"], call.services.people.now()),
        event_id=values["event-id"],
        shown_in=None if values["list"] is None else await _named_piece(call, values["list"]),
    )
    outcome = await call.services.people.record(call.access, call.source, [new])
    return Answer(body=encode(_answer(call.source, outcome.interactions[0])), headers=_versions(outcome))


async def _head(call: Call) -> SourceHead:
    """Return where the source stands, before what is stored finds it out."""
    return await call.services.views.head(call.access.account_id, call.source)


async def _named_piece(call: Call, text: str) -> NewImpression | None:
    head = await _head(call)
    try:
        return call.services.impressions.named_piece(head, text, call.path["userID"], call.path["contentID"])
    except ValueError as error:
        raise invalid_parameter("list", str(error)) from error


def _type(text: str) -> InteractionType:
    try:
        return read_interaction_type(text)
    except ValueError as error:
        raise invalid_parameter("type", str(error)) from error


def _timestamp(text: str | None, now: int) -> int | None:
    if text is None:
        return None
    try:
        return parse_interaction_timestamp(text, now)
    except ValueError as error:
        raise invalid_parameter("timestamp", str(error)) from error


async def read_interactions(call: Call) -> Sequence[NewInteraction]:
    """Return the interactions of a body, an array or lines."""
    now = call.services.people.now()
    decode = decode_interaction_lines if call.media_type in NDJSON_TYPES else decode_interactions
    if b"listId" in call.body:
        # The head is read for lists alone: storing finds the source by itself.
        read_list = functools.partial(call.services.impressions.named_piece, await _head(call))
        return await call.decode_body(lambda body: decode(body, now, read_list))
    return await call.decode_body(lambda body: decode(body, now))


def people_recorded(interactions: Sequence[NewInteraction]) -> set[str]:
    """Return the people who did these."""
    return {interaction.user_id for interaction in interactions}


async def record_many(call: Call) -> Answer:
    """Store many interactions, all or none."""
    outcome = await call.services.people.record(call.access, call.source, call.decoded)
    accepted = len(call.decoded) - outcome.duplicates
    receipt = BulkReceipt(accepted=accepted, duplicates=outcome.duplicates)
    return Answer(body=encode(receipt), headers=_versions(outcome))


async def list_interactions(call: Call) -> Answer:
    """Answer a person's interactions, newest first."""
    values = call.values()
    view = await call.view()
    selection = InteractionSelection(
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
    said = decode_preferences(found.preferences)
    body = encode(
        UserExport(
            source=call.source,
            user_id=user_id,
            interactions=[_exported(call.source, interaction) for interaction in found.interactions],
            preferences=preferences_answer(said) if said else None,
            impressions=tuple(map(_shown, await call.services.impressions.of_person(view, user_id))),
        )
    )
    return Answer(body=body, version=view.head.version)


async def read_preferences(call: Call) -> Answer:
    """Answer what a person has said."""
    call.values()
    view = await call.view()
    found = await call.services.people.preferences(view, call.path["userID"])
    return Answer(body=encode(preferences_answer(found)), version=view.head.version)


async def replace_preferences(call: Call) -> Answer:
    """Replace what a person has said; answers it as it now is."""
    call.values()
    return await _replace(call, await call.decode_body(decode_preferences))


async def remove_preferences(call: Call) -> Answer:
    """Remove what a person has said."""
    call.values()
    return await _replace(call, NO_PREFERENCES)


async def _replace(call: Call, preferences: Preferences) -> Answer:
    outcome = await call.services.people.replace_preferences(call.access, call.source, call.path["userID"], preferences)
    return Answer(body=encode(preferences_answer(preferences)), headers=_versions(outcome))


async def erase(call: Call) -> Answer:
    """Delete all that is stored of a person."""
    call.values()
    outcome = await call.services.people.erase(call.access, call.source, call.path["userID"])
    return Answer(status=202, body=EMPTY_LIST, headers=_versions(outcome))
