"""Handlers of people: interactions and preferences, export, erasure."""

import functools
from collections.abc import Sequence

import msgspec

from penchant.errors import invalid_parameter
from penchant.hooks import packages
from penchant.model import Feature, NewInteraction, Scope
from penchant.service.people import InteractionSelection, People, TakenBack
from penchant.storage import InteractionReceipt, PeopleChange, SourceHead
from penchant.web.bodies import INTERACTIONS_BODY, JSON, NDJSON_TYPES, SETTINGS_BODY
from penchant.web.content import EMPTY_LIST
from penchant.web.operations import IN_PATH, Answer, Call, Operation, OperationTable, in_body
from penchant.web.parameters import (
    CATALOGS,
    CONTENT_ID,
    EVENT_ID,
    INTERACTIONS_LIMIT,
    INTERACTIONS_TAKE,
    LIST,
    MIN_VERSION,
    NEWEST,
    SKIP,
    TAKEN_AT,
    TAKEN_EVENT,
    TIMESTAMP,
    TYPE,
    VALUE,
    read_interaction_type,
)
from penchant.wire import decode_preferences, encode, format_timestamp
from penchant.wire.answers import (
    BulkReceipt,
    ExportedInteraction,
    InteractionAnswer,
    InteractionKey,
    RecordedInteraction,
    Removal,
    UserExport,
)
from penchant.wire.preferences import preferences_answer
from penchant.wire.recording import decode_interaction_lines, decode_interactions
from penchant.wire.syntax import number_of
from penchant.wire.times import parse_interaction_timestamp
from penchant_engine.model import NO_PREFERENCES, InteractionType, Preferences, StoredInteraction

PEOPLE = OperationTable(Operation, "people")
_PREFERENCES = "/{source}/users/{userID}/preferences"


def _answer(source: str, interaction: StoredInteraction) -> InteractionAnswer[str]:
    return InteractionAnswer(
        key=InteractionKey(source=source, user_id=interaction.user_id),
        type=interaction.type.value,
        content_id=interaction.piece_id,
        timestamp=format_timestamp(interaction.occurred_at),
        value=None if interaction.portion is None else number_of(interaction.portion),
    )


def _exported(source: str, interaction: StoredInteraction) -> ExportedInteraction[str]:
    answer = _answer(source, interaction)
    return ExportedInteraction(**msgspec.structs.asdict(answer), event_id=interaction.event_id)


def _versions(outcome: InteractionReceipt | PeopleChange) -> dict[str, str]:
    """Return the header that says at which version of its interactions a source stands after a change."""
    return {"x-penchant-interactions-version": str(outcome.interactions_version)}


@PEOPLE.operation(
    "POST",
    "/{source}/users/{userID}/interactions/{type}/content/{contentID}",
    about=IN_PATH,
    in_browsers=True,
    scope=Scope.INTERACT,
    changes_interactions=True,
    finds_source=True,
    parameters=(TIMESTAMP, EVENT_ID, LIST, VALUE),
    personal=True,
    answer="RecordedInteraction",
)
async def record_interaction(call: Call) -> Answer:
    """Record an interaction."""
    values, path, people = call.values().known, call.path, call.services.people
    new = NewInteraction(
        user_id=path["userID"],
        type=_type(path["type"]),
        piece_id=path["contentID"],
        occurred_at=_timestamp(values["timestamp"], people),
        event_id=values["event-id"],
        shown_in=None if values["list"] is None else await _named_list(call, values["list"]),
        portion=values["value"],
    )
    outcome = await people.record(call.access, call.source, [new], looks_up=True)
    answer = msgspec.structs.asdict(_answer(call.source, outcome.interactions[0]))
    recorded: RecordedInteraction[str] = RecordedInteraction(**answer, stored=not outcome.unstored)
    # What counts for nothing, as yet or for good, is answered as what counts: so that it can be seen.
    headers = _versions(outcome)
    if people.is_unknown(outcome):
        headers["x-penchant-unknown-content"] = "true"
    if people.expired(outcome):
        headers["x-penchant-expired"] = "true"
    return Answer(body=encode(recorded), headers=headers)


@PEOPLE.operation(
    "DELETE",
    "/{source}/users/{userID}/interactions/{type}/content/{contentID}",
    about=IN_PATH,
    in_browsers=True,
    scope=Scope.INTERACT,
    changes_interactions=True,
    finds_source=True,
    parameters=(TAKEN_AT, TAKEN_EVENT),
    personal=True,
    answer="Removal",
)
async def take_back(call: Call) -> Answer:
    """Take back what of this type the person did with the piece."""
    values = call.values()
    # As where pieces are deleted: one misspelt would turn "this one" into "all".
    if unknown := call.ignored():
        detail = (
            "This request takes no parameters but event-id and timestamp, so that a misspelt one takes nothing back."
        )
        raise invalid_parameter(unknown[0][:80], detail)
    chosen = TakenBack(
        user_id=call.path["userID"],
        type=_type(call.path["type"]),
        piece_id=call.path["contentID"],
        event_id=values["event-id"],
        occurred_at=_timestamp(values["timestamp"], call.services.people),
    )
    outcome = await call.services.people.take_back(call.access, call.source, chosen)
    return Answer(body=encode(Removal(removed=outcome.deleted)), headers=_versions(outcome))


async def _head(call: Call) -> SourceHead:
    """Return where the source stands, before what is stored finds it out."""
    return await call.services.views.head(call.access.account_id, call.source)


async def _named_list(call: Call, text: str) -> object | None:
    head, read_list = await _head(call), packages().list_reader(call.services)
    try:
        return read_list(head, text, call.path["userID"], call.path["contentID"])
    except ValueError as error:
        raise invalid_parameter("list", str(error)) from error


def _type(text: str) -> InteractionType:
    try:
        return read_interaction_type(text)
    except ValueError as error:
        raise invalid_parameter("type", str(error)) from error


def _timestamp(text: str | None, people: People) -> int | None:
    if text is None:
        return None
    try:
        return parse_interaction_timestamp(text, people.now())
    except ValueError as error:
        raise invalid_parameter("timestamp", str(error)) from error


@PEOPLE.operation(
    "GET",
    "/{source}/users/{userID}/interactions",
    about=IN_PATH,
    in_browsers=True,
    scope=Scope.PERSONAL,
    feature=Feature.INTERACTIONS_LISTING,
    parameters=(
        CONTENT_ID,
        TYPE,
        SKIP,
        INTERACTIONS_LIMIT,
        INTERACTIONS_TAKE,
        CATALOGS,
        MIN_VERSION,
    ),
    personal=True,
    answer="InteractionList",
)
async def list_interactions(call: Call) -> Answer:
    """List a person's interactions, newest first."""
    values = call.values()
    view = await call.view()
    selection = InteractionSelection(
        piece_id=values["content-id"],
        type=values["type"],
        catalogs=values["catalogs"],
        skip=values["skip"],
        limit=values["limit"] or values["take"],
    )
    interactions = await call.services.people.listed(view, call.path["userID"], selection)
    body = encode([_answer(call.source, interaction) for interaction in interactions])
    return Answer(body=body, version=view.head.version)


async def read_interactions(call: Call) -> Sequence[NewInteraction]:
    """Return the interactions of a body, an array or lines."""
    now = call.services.people.now()
    decode = decode_interaction_lines if call.media_type in NDJSON_TYPES else decode_interactions
    if b"listId" in call.body:
        # The head is read for lists alone: storing finds the source by itself.
        read_list = functools.partial(packages().list_reader(call.services), await _head(call))
        return await call.decode_body(lambda body: decode(body, now, read_list))
    return await call.decode_body(lambda body: decode(body, now))


@PEOPLE.operation(
    "POST",
    "/{source}/interactions",
    about=in_body(lambda interactions: {each.user_id for each in interactions}),
    in_browsers=True,
    scope=Scope.INTERACT,
    changes_interactions=True,
    finds_source=True,
    media_types=(JSON, *NDJSON_TYPES),
    body_kind=INTERACTIONS_BODY,
    body="InteractionArray",
    reader=read_interactions,
    personal=True,
    answer="BulkReceipt",
    errors=("too-many-entries",),
)
async def record_interactions(call: Call) -> Answer:
    """Record up to 10,000 interactions, all or none."""
    outcome = await call.services.people.record(call.access, call.source, call.decoded)
    accepted = len(call.decoded) - outcome.duplicates - outcome.unstored
    receipt = BulkReceipt(
        accepted=accepted,
        duplicates=outcome.duplicates,
        unstored=outcome.unstored,
        expired=call.services.people.expired(outcome),
    )
    return Answer(body=encode(receipt), headers=_versions(outcome))


@PEOPLE.operation(
    "GET",
    _PREFERENCES,
    about=IN_PATH,
    in_browsers=True,
    scope=Scope.PERSONAL,
    feature=Feature.PERSONALIZED,
    parameters=(MIN_VERSION,),
    personal=True,
    answer="PersonPreferences",
)
async def get_preferences(call: Call) -> Answer:
    """What this person has said: keywords liked and disliked, pieces hidden, categories never used."""
    call.values()
    view = await call.view()
    preferences = await call.services.people.preferences(view, call.path["userID"])
    return Answer(body=encode(preferences_answer(preferences)), version=view.head.version)


@PEOPLE.operation(
    "PUT",
    _PREFERENCES,
    about=IN_PATH,
    in_browsers=True,
    scope=Scope.INTERACT,
    feature=Feature.PERSONALIZED,
    changes_interactions=True,
    body_kind=SETTINGS_BODY,
    body="Preferences",
    personal=True,
    answer="PersonPreferences",
    errors=("too-many-entries",),
)
async def put_preferences(call: Call) -> Answer:
    """Replace what this person has said; an empty object removes it."""
    call.values()
    return await _replace(call, await call.decode_body(decode_preferences))


@PEOPLE.operation(
    "DELETE",
    _PREFERENCES,
    about=IN_PATH,
    in_browsers=True,
    scope=Scope.INTERACT,
    feature=Feature.PERSONALIZED,
    changes_interactions=True,
    personal=True,
    answer="PersonPreferences",
)
async def delete_preferences(call: Call) -> Answer:
    """Remove what this person has said."""
    call.values()
    return await _replace(call, NO_PREFERENCES)


async def _replace(call: Call, preferences: Preferences) -> Answer:
    outcome = await call.services.people.replace_preferences(call.access, call.source, call.path["userID"], preferences)
    return Answer(body=encode(preferences_answer(preferences)), headers=_versions(outcome))


@PEOPLE.operation(
    "DELETE",
    "/{source}/users/{userID}",
    about=IN_PATH,
    scope=Scope.WRITE,
    changes_interactions=True,
    status=202,
    personal=True,
    answer="EmptyArray",
    headers=("x-penchant-unreached",),
)
async def erase_user(call: Call) -> Answer:
    """Erase all that is stored of a person."""
    call.values()
    outcome = await call.services.people.erase(call.access, call.source, call.path["userID"])
    unreached = {"x-penchant-unreached": ", ".join(outcome.unreached)} if outcome.unreached else {}
    return Answer(status=202, body=EMPTY_LIST, headers=_versions(outcome) | unreached)


@PEOPLE.operation(
    "GET",
    "/{source}/users/{userID}/export",
    about=IN_PATH,
    scope=Scope.WRITE,
    parameters=(NEWEST, MIN_VERSION),
    personal=True,
    answer="UserExport",
)
async def export_user(call: Call) -> Answer:
    """Export all that is stored of a person."""
    limit = call.values()[NEWEST.name]
    view = await call.view()
    user_id = call.path["userID"]
    stored = await call.services.people.export(view, user_id, limit)
    preferences = decode_preferences(stored.preferences)
    own = UserExport(
        source=call.source,
        user_id=user_id,
        interactions=[_exported(call.source, interaction) for interaction in stored.interactions],
        preferences=preferences_answer(preferences) if preferences else None,
    )
    brought = [encode(await each.read(call.services, view, user_id, limit)) for each in packages().exports()]
    # Of each object what is between its braces.
    body = b"{%s}" % b",".join(each[1:-1] for each in (encode(own), *brought) if each != b"{}")
    return Answer(body=body, version=view.head.version)
