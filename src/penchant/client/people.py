"""Requests about people: what they did, what they like, what they may like."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from types import MappingProxyType, NoneType
from typing import Any, TypeAlias, TypedDict, Unpack

from penchant.client.batches import Batch, batches, send_all
from penchant.client.requests import Algorithm, Answered, Flow, Pages, Request, encode, query_of, reading
from penchant.wire import BulkReceipt, InteractionAnswer, InteractionType, PersonPreferences, Profile, UserExport
from penchant.wire.answers import KnownPieces
from penchant.wire.explanations import PersonalPieces
from penchant.wire.recording import Interaction

RecordedInteraction: TypeAlias = InteractionAnswer[datetime]

MAX_INTERACTIONS = 10_000
"""Interactions in one request."""
PAGE_SIZE = 1_000
"""Interactions in one page of a listing."""
_PREFERENCES = "/{source}/users/{userID}/preferences"


class PersonalOptions(TypedDict, total=False):
    """What narrows a recommendation; ``at`` is the day as of which availability and interactions count.

    ``take`` is the old name of ``limit``, which wins over it.

    ``filter`` is a condition on attributes or a group of them, as the interface has them, ``boost`` one with a factor,
    or several. ``exclude`` leaves out pieces with these ids, ``diversity`` from 0 to 1 makes pieces unlike each other.
    ``min_audience_version`` waits until what other people like is known up to this version of the interactions.
    """

    limit: int | None
    take: int | None
    catalogs: Iterable[str] | None
    filter: Mapping[str, object] | str | None
    boost: Mapping[str, object] | Sequence[Mapping[str, object]] | str | None
    algo: Algorithm | None
    at: date | str | None
    include_seen: bool | None
    fill: bool | None
    exclude: Iterable[str] | None
    diversity: float | None
    min_audience_version: int | None


class ListOptions(TypedDict, total=False):
    """What narrows a list; ``at`` is the day as of which availability counts, ``exclude`` leaves out these pieces.

    ``filter`` and ``boost`` are as in `PersonalOptions`.
    """

    limit: int | None
    catalogs: Iterable[str] | None
    filter: Mapping[str, object] | str | None
    boost: Mapping[str, object] | Sequence[Mapping[str, object]] | str | None
    at: date | str | None
    exclude: Iterable[str] | None


class RecommendOptions(PersonalOptions, total=False):
    """As above; ``explain`` adds to each entry why it is there."""

    explain: bool | None


class EventOptions(TypedDict, total=False):
    """When an interaction happened, and an id of this person's by which it is stored once however often it is sent.

    ``list`` is the list that it came from, by the ``x-penchant-list`` of its answer.
    """

    timestamp: datetime | str | None
    event_id: str | None
    list: str | None


class InteractionFilter(TypedDict, total=False):
    """Which interactions are wanted: those with one piece, of one type, with pieces of these catalogs."""

    content_id: str | None
    type: InteractionType | str | None
    catalogs: Iterable[str] | None


class InteractionOptions(InteractionFilter, total=False):
    """Which interactions are wanted, and which part of these; without a limit the newest 10."""

    skip: int | None
    limit: int | None


def recommend(source: str, user_id: str, **options: Unpack[RecommendOptions]) -> Request[PersonalPieces]:
    """Read what a person may like, best first."""
    return _personal("/{source}/users/{userID}/recommendation", PersonalPieces, (source, user_id), options)


def again_content(source: str, user_id: str, **options: Unpack[ListOptions]) -> Request[KnownPieces]:
    """Read what a person began or keeps coming back to."""
    return _personal("/{source}/users/{userID}/again", KnownPieces, (source, user_id), options)


def get_profile(source: str, user_id: str) -> Request[list[Profile]]:
    """Read a person's taste: one profile, or none where nothing is known of it."""
    return _personal("/{source}/users/{userID}/recommendation/profile", list[Profile], (source, user_id))


def record_interaction(
    source: str,
    user_id: str,
    type: InteractionType | str,  # noqa: A002  # the interface's word
    content_id: str,
    **options: Unpack[EventOptions],
) -> Request[RecordedInteraction]:
    """Store an interaction. With an ``event_id``, one of this person's, it can be sent again without harm, and is."""
    return Request(
        method="POST",
        template="/{source}/users/{userID}/interactions/{type}/content/{contentID}",
        places={"source": source, "userID": user_id, "type": type, "contentID": content_id},
        query=query_of(options),
        answer=RecordedInteraction,
        repeatable=options.get("event_id") is not None,
    )


def record_interactions(source: str, interactions: Iterable[Interaction | Mapping[str, object]]) -> Flow[BulkReceipt]:
    """Store any number of interactions, 10,000 at a time, each 10,000 all or none.

    An error's ``stored`` tells what was stored before. Where all have event ids, the whole can be sent again without
    harm, and what is lost on the way is. An event id is of one person: the same one of another is another event.
    """
    parts = batches(interactions, MAX_INTERACTIONS, _has_event_id)
    return (yield from send_all(parts, lambda batch: _bulk(source, batch), add_receipt))


def _bulk(source: str, batch: Batch) -> Request[BulkReceipt]:
    # Repeatable only where every interaction has an event id: without one it would be stored twice.
    return Request(
        method="POST",
        template="/{source}/interactions",
        places={"source": source},
        body=batch.body(),
        answer=BulkReceipt,
        repeatable=batch.are_repeatable,
    )


def _has_event_id(interaction: Interaction | Mapping[str, object]) -> bool:
    if isinstance(interaction, Mapping):
        return interaction.get("eventId") is not None
    return isinstance(interaction, Interaction) and interaction.event_id is not None


def add_receipt(total: BulkReceipt | None, receipt: BulkReceipt, _place: int) -> BulkReceipt:
    """Return what two requests of a call did together."""
    if total is None:
        return receipt
    return BulkReceipt(accepted=total.accepted + receipt.accepted, duplicates=total.duplicates + receipt.duplicates)


def list_interactions(
    source: str, user_id: str, **options: Unpack[InteractionOptions]
) -> Request[list[RecordedInteraction]]:
    """Read a person's interactions, newest first; `iterate_interactions` reads any number."""
    return _personal("/{source}/users/{userID}/interactions", list[RecordedInteraction], (source, user_id), options)


def iterate_interactions(source: str, user_id: str, **wanted: Unpack[InteractionFilter]) -> Pages[RecordedInteraction]:
    """Iterate over a person's interactions, newest first, 1,000 at a time.

    Of those that come in meanwhile none is seen, but one that was seen may come again.
    """
    return Pages(
        page=lambda skip: list_interactions(source, user_id, **wanted, skip=skip, limit=PAGE_SIZE), size=PAGE_SIZE
    )


def get_preferences(source: str, user_id: str) -> Request[PersonPreferences]:
    """Read what a person has said: keywords liked and disliked, pieces hidden, categories never used."""
    return _personal(_PREFERENCES, PersonPreferences, (source, user_id))


def put_preferences(
    source: str, user_id: str, preferences: PersonPreferences | Mapping[str, object]
) -> Request[PersonPreferences]:
    """Replace what a person has said as a whole."""
    return _said("PUT", source, user_id, encode(preferences))


def delete_preferences(source: str, user_id: str) -> Request[PersonPreferences]:
    """Remove what a person has said."""
    return _said("DELETE", source, user_id)


def _said(method: str, source: str, user_id: str, body: bytes | None = None) -> Request[PersonPreferences]:
    return Request(
        method=method,
        template=_PREFERENCES,
        places={"source": source, "userID": user_id},
        body=body,
        answer=PersonPreferences,
        repeatable=True,
    )


def export_user(source: str, user_id: str) -> Request[UserExport[datetime]]:
    """Read all that is stored of a person."""
    return _personal("/{source}/users/{userID}/export", UserExport[datetime], (source, user_id))


def erase_user(source: str, user_id: str) -> Request[None]:
    """Erase all that is stored of a person."""
    return Request(
        method="DELETE",
        template="/{source}/users/{userID}",
        places={"source": source, "userID": user_id},
        answer=NoneType,
        repeatable=True,
    )


def _personal(
    template: str, answer: type[Answered], whose: tuple[str, str], options: Mapping[str, Any] = MappingProxyType({})
) -> Request[Answered]:
    source, user_id = whose
    return reading(template, answer, {"source": source, "userID": user_id}, options)
