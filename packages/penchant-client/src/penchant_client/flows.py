"""Requests that take more than their operation's row says: any number of entries, or a body of several arguments.

All others are generated (``operations.py``). What an operation has here, under its name in Python, is not.

Batches: any number of entries as requests of an accepted size, one batch at a time as the entries come.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from types import NoneType
from typing import Any, Literal, TypedDict, TypeVar, Unpack

import msgspec

from penchant_client.answers import NeighboursOfOne, PersonalPiece, PersonalPieces, RankedPieces, SourceDraft
from penchant_client.errors import ClientError, ServiceError, moved
from penchant_client.operations import (
    AgainContentOptions,
    ListIdsOptions,
    NewContentOptions,
    PlacementListOptions,
    PopularContentOptions,
    RankOptions,
    RecommendOptions,
    RecommendToEachOptions,
    RecordInteractionOptions,
    SimilarContentOptions,
    TakeBackOptions,
    again_content,
    list_content,
    list_ids,
    list_interactions,
    new_content,
    placement_list,
    popular_content,
    recommend,
)
from penchant_client.records import (
    BulkReceipt,
    Interaction,
    InteractionAnswer,
    InteractionType,
    IssuedKeyAnswer,
    KeyAnswer,
    PageList,
    PageResult,
    Piece,
    PlacedPiece,
    Placement,
    PlacementPreview,
    PlacementResults,
    PublishedVersion,
    Receipt,
    RecordedInteraction,
    Removal,
    RevisitPiece,
    SeenList,
    Settings,
    SettingsPreview,
    SourceStatus,
)
from penchant_client.requests import Flow, ListingRequest, Pages, Request, encode, no_frame, request_of, several
from penchant_client.tables import Entries

MAX_BODY_BYTES = 8 * 1024 * 1024
"""How large a body grows before another is begun: half of what the service takes by default."""

R = TypeVar("R")
Counted = TypeVar("Counted", Receipt, BulkReceipt)


@dataclass(slots=True)
class Batch:
    """Entries of one request, as JSON; ``place`` is the first one's among all of the call."""

    place: int = 0
    entries: list[bytes] = field(default_factory=list)
    are_repeatable: bool = True

    def body(self) -> bytes:
        """Return the entries as a JSON array."""
        return b"[" + b",".join(self.entries) + b"]"


def batches(
    entries: Iterable[Any], most: int, is_repeatable: Callable[[Any], bool] = lambda _: True
) -> Iterator[Batch]:
    """Yield batches of up to ``most`` entries, reading no further than the one that is sent; at least one, empty."""
    batch, size = Batch(), 0
    for entry in entries:
        encoded = encode(entry)
        if len(batch.entries) == most or (batch.entries and size + len(encoded) > MAX_BODY_BYTES):
            yield batch
            batch, size = Batch(place=batch.place + len(batch.entries)), 0
        batch.entries.append(encoded)
        batch.are_repeatable = batch.are_repeatable and is_repeatable(entry)
        size += len(encoded) + 1
    # Nothing at all is one empty batch, so that there is an answer to return.
    if batch.entries or not batch.place:
        yield batch


def send_all(
    parts: Iterable[Batch],
    request_of: Callable[[Batch], Request[Counted]],
    add: Callable[[Counted | None, Counted, int], Counted],
) -> Flow[Counted]:
    """Send batch after batch and return the sum of what was answered.

    An error tells what was stored before it, and its pointers count from the first batch.
    """
    total: Counted | None = None
    for batch in parts:
        try:
            answer = yield request_of(batch)
        except ClientError as error:
            # What was stored before is not taken back: the caller learns how far it came.
            error.stored = total
            if isinstance(error, ServiceError):
                error.move(batch.place)
            raise
        total = add(total, answer, batch.place)
    if total is None:
        raise ValueError("there was no batch")
    return total


Answered = TypeVar("Answered")

MAX_PIECES = 2_000
"""Pieces in one request; ids to delete, too."""
MAX_IGNORED = 100
"""Pointers that a receipt lists at most."""
MAX_INTERACTIONS = 10_000
"""Interactions in one request."""
MAX_LISTS = 1_000
"""Lists in one report of what was seen: with up to ten pieces each they are as many as it takes."""
PAGE_SIZE = 1_000
"""Interactions in one page of a listing."""
MAX_PEOPLE = 1_000
"""People whose lists one request asks for."""
MAX_ASKED = 100
"""Pieces whose neighbours one request asks for."""
_KEY_MEMBERS = {
    "expiresInDays": "expires_in_days",
    "requestsPerSecond": "requests_per_second",
    "requestsPerMonth": "requests_per_month",
}


def _batch(
    template: str,
    answer: type[Answered],
    source: str,
    batch: Batch,
    options: Mapping[str, Any] | None = None,
    *,
    reads: bool = True,
) -> Request[Answered]:
    """Return the request with a batch of entries; one with options waits for what was written before, if it reads."""
    return request_of(
        "POST",
        template,
        answer,
        source,
        options=options or {},
        body=batch.body(),
        reads=reads and options is not None,
        repeatable=batch.are_repeatable,
    )


def submit_content(
    source: str,
    pieces: Iterable[Piece | Mapping[str, object]],
    *,
    words: Literal["auto"] | None = None,
    wait: bool = False,
) -> Flow[Receipt]:
    """Submit any number of pieces, 2,000 at a time; the first submission makes the source, with words if ``auto``.

    Each 2,000 are stored all or none; an error's ``stored`` tells what was stored before. The receipts are added up.
    ``wait`` returns only when the service answers from them.
    """
    # Repeatable: pieces go by their id, so that a batch that arrives twice leaves what it left the first time.
    parts = batches(no_frame(pieces, "use submit_frame"), MAX_PIECES)
    options = {} if words is None else {"words": words}
    total = yield from send_all(
        parts, lambda batch: _batch("/{source}/content", Receipt, source, batch, options, reads=False), _add
    )
    if wait:
        yield get_source(source, at_least=total.version)
    return total


def _add(total: Receipt | None, receipt: Receipt, place: int) -> Receipt:
    """Return the receipt of a call so far, with that of its next batch added."""
    if total is None:
        return receipt
    # Pointers count from the first piece of the call; the version is that of the latest receipt.
    ignored = (*total.ignored, *(moved(pointer, place) for pointer in receipt.ignored))
    return msgspec.structs.replace(
        receipt,
        accepted=total.accepted + receipt.accepted,
        created=total.created + receipt.created,
        replaced=total.replaced + receipt.replaced,
        superseded=total.superseded + receipt.superseded,
        ignored=ignored[:MAX_IGNORED],
    )


def iterate_content(source: str, **options: Unpack[ListIdsOptions]) -> ListingRequest[Piece]:
    """Iterate over the pieces, ascending by id, while they arrive: all as of one moment, one in memory at a time."""
    return ListingRequest(list_content(source, **options), Piece)


def iterate_ids(source: str, **options: Unpack[ListIdsOptions]) -> ListingRequest[str]:
    """Iterate over the ids, ascending, while they arrive: all as of one moment, one in memory at a time."""
    return ListingRequest(list_ids(source, **options), str)


def delete_content(source: str, ids: Iterable[str]) -> Flow[None]:
    """Delete the pieces with these ids, 2,000 at a time; unknown ones are no error, and no ids delete nothing."""
    for batch in batches(several(ids), MAX_PIECES):
        yield request_of("DELETE", "/{source}/content", NoneType, source, body=batch.body())


def clear_content(source: str) -> Request[None]:
    """Delete all pieces of a source."""
    # Not repeated, as the removal of a source is not: what came in after it would go as well.
    return request_of("DELETE", "/{source}/content", NoneType, source, repeatable=False)


def get_source(source: str, *, at_least: int = 0) -> Request[SourceStatus]:
    """Read where a source stands, once it has reached the version ``at_least``."""
    return replace(request_of("GET", "/{source}", SourceStatus, source, reads=True), at_least=at_least)


def delete_source(source: str, *, confirm: str) -> Request[None]:
    """Delete a source with everything in it; ``confirm`` is its name once more."""
    options = {"confirm": confirm}
    return request_of("DELETE", "/{source}", NoneType, source, options=options, repeatable=False)


def record_interaction(
    source: str,
    user_id: str,
    type: InteractionType | str,  # noqa: A002  # the interface's word
    content_id: str,
    **options: Unpack[RecordInteractionOptions],
) -> Request[RecordedInteraction]:
    """Store an interaction. With an ``event_id``, one of this person's, it can be sent again without harm, and is."""
    return request_of(
        "POST",
        "/{source}/users/{userID}/interactions/{type}/content/{contentID}",
        RecordedInteraction,
        source,
        user_id,
        type,
        content_id,
        options=options,
        repeatable=options.get("event_id") is not None,
    )


def take_back(
    source: str,
    user_id: str,
    type: InteractionType | str,  # noqa: A002  # the interface's word
    content_id: str,
    **options: Unpack[TakeBackOptions],
) -> Request[Removal]:
    """Take back what of this type the person did with the piece; again it removes nothing, so it is sent again."""
    return request_of(
        "DELETE",
        "/{source}/users/{userID}/interactions/{type}/content/{contentID}",
        Removal,
        source,
        user_id,
        type,
        content_id,
        options=options,
    )


def record_interactions(source: str, interactions: Iterable[Interaction | Mapping[str, object]]) -> Flow[BulkReceipt]:
    """Store any number of interactions, 10,000 at a time, each 10,000 all or none.

    An error's ``stored`` tells what was stored before. Where all have event ids, the whole can be sent again without
    harm, and what is lost on the way is. An event id is of one person: the same one of another is another event.
    """
    # Repeatable only where every interaction has an event id: without one it would be stored twice.
    parts = batches(no_frame(interactions, "use record_frame"), MAX_INTERACTIONS, _has_event_id)
    return (
        yield from send_all(parts, lambda batch: _batch("/{source}/interactions", BulkReceipt, source, batch), _add_up)
    )


def _has_event_id(interaction: Interaction | Mapping[str, object]) -> bool:
    if isinstance(interaction, Mapping):
        return interaction.get("eventId") is not None
    return isinstance(interaction, Interaction) and interaction.event_id is not None


def _add_up(total: BulkReceipt | None, receipt: BulkReceipt, _place: int) -> BulkReceipt:
    """Return what two requests of a call did together."""
    if total is None:
        return receipt
    return BulkReceipt(
        accepted=total.accepted + receipt.accepted,
        duplicates=total.duplicates + receipt.duplicates,
        unstored=total.unstored + receipt.unstored,
        expired=total.expired + receipt.expired,
    )


def record_impressions(source: str, lists: Iterable[SeenList | Mapping[str, object]]) -> Flow[BulkReceipt]:
    """Report what was seen of any number of lists, 1,000 of them at a time, each 1,000 all or none.

    It can be sent again without harm: a piece of a list counts once.
    """
    parts = batches(no_frame(lists, "give a list of SeenList"), MAX_LISTS)
    return (
        yield from send_all(parts, lambda batch: _batch("/{source}/impressions", BulkReceipt, source, batch), _add_up)
    )


class InteractionFilter(TypedDict, total=False):
    """Which interactions are wanted: those with one piece, of one type, with pieces of these catalogs."""

    content_id: str | None
    type: InteractionType | str | None
    catalogs: Iterable[str] | None


def iterate_interactions(source: str, user_id: str, **options: Unpack[InteractionFilter]) -> Pages[InteractionAnswer]:
    """Iterate over a person's interactions, newest first, 1,000 at a time.

    Of those that come in meanwhile none is seen, but one that was seen may come again.
    """
    size = PAGE_SIZE
    return Pages(
        page=lambda skip: list_interactions(source, user_id, **options, skip=skip or 0, limit=size),
        read=lambda entries, skip: (entries, None if len(entries) < size else (skip or 0) + size),
    )


def iterate_recommended(source: str, user_id: str, **options: Unpack[RecommendOptions]) -> Pages[PersonalPiece]:
    """Iterate over what a person may like, up to 300 pieces, page by page of ``take`` or ``limit``."""
    return _going_on(lambda after: recommend(source, user_id, **after), options)


def iterate_again(source: str, user_id: str, **options: Unpack[AgainContentOptions]) -> Pages[RevisitPiece]:
    """Iterate over what a person began or keeps coming back to, as `iterate_recommended`."""
    return _going_on(lambda after: again_content(source, user_id, **after), options)


def iterate_popular(source: str, **options: Unpack[PopularContentOptions]) -> Pages[PersonalPiece]:
    """Iterate over what most people like, as `iterate_recommended`."""
    return _going_on(lambda after: popular_content(source, **after), options)


def iterate_new(source: str, **options: Unpack[NewContentOptions]) -> Pages[PersonalPiece]:
    """Iterate over what became available last, as `iterate_recommended`."""
    return _going_on(lambda after: new_content(source, **after), options)


def iterate_placement(source: str, name: str, **options: Unpack[PlacementListOptions]) -> Pages[PlacedPiece]:
    """Iterate over the list of a placement, as `iterate_recommended`."""
    return _going_on(lambda after: placement_list(source, name, **after), options)


def _going_on(request: Callable[[Any], Request[Any]], options: Mapping[str, Any]) -> Pages[Any]:
    """Return the pages of a list: each has the options of the first, and goes on where the one before ends."""
    return Pages(
        page=lambda after: request(dict(options) if after is None else {**options, "after": after}),
        read=lambda answer, _: (answer.content, answer.next),
    )


def recommend_to_each(
    source: str, user_ids: Iterable[str], **options: Unpack[RecommendToEachOptions]
) -> Flow[Entries[PersonalPieces]]:
    """Read what each of several people may like, 1,000 of them at a time, in the order of their ids."""
    lists = Entries[PersonalPieces](kind=PersonalPieces)
    for batch in batches(several(user_ids), MAX_PEOPLE):
        lists += yield _batch("/{source}/recommendations", list[PersonalPieces], source, batch, options)
    return lists


def similar_to_each(
    source: str, ids: Iterable[str], **options: Unpack[SimilarContentOptions]
) -> Flow[Entries[NeighboursOfOne]]:
    """Read the nearest pieces of each of several pieces, 100 of them at a time, in the order of their ids."""
    lists = Entries[NeighboursOfOne](kind=NeighboursOfOne)
    for batch in batches(several(ids), MAX_ASKED):
        lists += yield _batch("/{source}/similar", list[NeighboursOfOne], source, batch, options)
    return lists


def rank(
    source: str, user_id: str, ids: Iterable[str], *, weight: float = 1.0, **options: Unpack[RankOptions]
) -> Request[RankedPieces]:
    """Read up to 500 pieces that somebody else chose in the order in which they suit a person.

    ``weight`` tells how much of the order is the person's; 0 leaves it as given.
    """
    return request_of(
        "POST",
        "/{source}/users/{userID}/rank",
        RankedPieces,
        source,
        user_id,
        body=encode({"content": list(several(ids)), "weight": weight}),
        options=options,
        reads=True,
    )


class PreviewOptions(TypedDict, total=False):
    """What would be changed, and whose lists are wanted: of up to 20 pieces and users together."""

    settings: Settings | Mapping[str, object] | None
    whitelist: Iterable[str] | None
    blacklist: Iterable[str] | None
    pieces: Iterable[str] | None
    users: Iterable[str] | None
    take: int | None


def preview_settings(source: str, **options: Unpack[PreviewOptions]) -> Request[SettingsPreview]:
    """Read lists as they are and as they would be; members left out of the settings stay as they are."""
    given: Mapping[str, Any] = options
    body = {
        name: value if name in {"settings", "take"} else list(several(value))
        for name, value in given.items()
        if value is not None
    }
    return request_of("POST", "/{source}/preview/settings", SettingsPreview, source, body=encode(body), reads=True)


def roll_back_placement(source: str, name: str, *, version: int | None = None) -> Request[Placement]:
    """Put an earlier version of a placement in force again; without ``version`` the one before the present."""
    return request_of(
        "POST",
        "/{source}/placements/{name}/rollback",
        Placement,
        source,
        name,
        options={"version": version},
        # A second time without a version it would lead back to where it began.
        repeatable=version is not None,
    )


def propose_draft(source: str, name: str, *, note: str = "") -> Request[SourceDraft]:
    """Ask others to look at a draft, and say something with it."""
    return _step("propose", source, name, {"note": note}, SourceDraft)


def send_back_draft(source: str, name: str, *, note: str = "") -> Request[SourceDraft]:
    """Give a draft that was proposed or scheduled back to who wrote it."""
    return _step("send-back", source, name, {"note": note}, SourceDraft)


def accept_draft(
    source: str, name: str, *, note: str = "", force: bool | None = None, revision: str | None = None
) -> Request[PublishedVersion]:
    """Publish a draft that was proposed; with ``force`` also where what it edits has changed since it was written.

    With a ``revision`` only as it was looked at.
    """
    options = {"force": force, "revision": revision}
    return _step("accept", source, name, {"note": note}, PublishedVersion, options=options)


def schedule_draft(
    source: str, name: str, at: datetime | str | None, *, revision: str | None = None
) -> Request[SourceDraft]:
    """Have a draft published at a moment, with a ``revision`` only as it was looked at; ``None`` takes that back."""
    return _step("schedule", source, name, {"at": at}, SourceDraft, options={"revision": revision})


def _step(
    step: str, source: str, name: str, body: object, answer: type[R], options: Mapping[str, Any] | None = None
) -> Request[R]:
    return request_of(
        "POST",
        "/{source}/drafts/{name}/" + step,
        answer,
        source,
        name,
        body=encode(body),
        options=options or {},
        # A second time it would be refused, in the state to which the first one has led.
        repeatable=False,
    )


class PageListOptions(TypedDict, total=False):
    """For whom the lists of a page are; ``exclude`` leaves out pieces with these ids from all of them.

    ``explain`` adds to each entry why it is there, ``include`` what its piece has. Without a user they are for somebody
    made up who has ``liked`` pieces, if these are given.
    """

    user: str | None
    liked: Iterable[str] | None
    include: Iterable[str] | None
    exclude: Iterable[str] | None
    explain: bool | None
    min_audience_version: int | None


def page_lists(
    source: str, lists: Iterable[PageList | Mapping[str, object]], **options: Unpack[PageListOptions]
) -> Request[PageResult]:
    """Read the lists of several placements for a page, in which no piece comes twice."""
    body: dict[str, object] = {"lists": list(no_frame(lists, "give a list of PageList"))}
    if options.get("user") is not None:
        body["user"] = options["user"]
    given: Mapping[str, Any] = options
    for name in ("liked", "exclude", "include"):
        if given.get(name) is not None:
            body[name] = list(several(given[name]))
    query = {name: options.get(name) for name in ("explain", "min_audience_version")}
    return request_of("POST", "/{source}/lists", PageResult, source, body=encode(body), options=query, reads=True)


class PlacementPreviewOptions(TypedDict, total=False):
    """Whose lists are wanted, beside which piece, and the variant that all of these people are to see."""

    users: Iterable[str] | None
    content: str | None
    variant: str | None
    take: int | None


def preview_placement(
    source: str, name: str, placement: Placement | Mapping[str, object], **options: Unpack[PlacementPreviewOptions]
) -> Request[PlacementPreview]:
    """Read lists as they are and as they would be under a draft; nothing is stored."""
    given: Mapping[str, Any] = options
    body: dict[str, object] = {"name": name, "placement": placement}
    for option, value in given.items():
        if value is not None:
            body[option] = list(several(value)) if option == "users" else value
    return request_of("POST", "/{source}/preview/placement", PlacementPreview, source, body=encode(body), reads=True)


def placement_results(  # noqa: PLR0913  # what results are chosen by
    source: str,
    name: str,
    *,
    since: date | str | None = None,
    until: date | str | None = None,
    type: InteractionType | str | None = None,  # noqa: A002  # the interface's word
    base: str | None = None,
    courses: bool | None = None,
) -> Request[PlacementResults]:
    """Read what the variants of a placement showed and what came of it, from one UTC day to another, both included.

    ``type`` is the interaction that counts as a success, any but a dislike without it; ``base`` is the variant from
    which the others differ. ``courses`` adds how their differences came to be. In the query the days are called
    ``from`` and ``to``, which Python keeps for itself.
    """
    options = {"from": since, "to": until, "type": type, "base": base, "courses": courses}
    return request_of("GET", "/{source}/placements/{name}/results", PlacementResults, source, name, options=options)


class KeyOptions(TypedDict, total=False):
    """What a key may do and for how long: all scopes for ever, unless these say otherwise.

    A key with ``origins`` is a browser key: for pages of these origins, and for people who are signed. It allows
    ``requests_per_second`` from one address (20 without) and ``requests_per_month`` (a tenth of the plan's). ``name``
    says who has the key.
    """

    plan: str
    admin: bool
    expires_in_days: int | None
    scopes: Sequence[str]
    origins: Sequence[str]
    requests_per_second: int | None
    requests_per_month: int | None
    name: str | None


def create_key(account: str, **options: Unpack[KeyOptions]) -> Request[IssuedKeyAnswer]:
    """Make a key, and its account where that is missing. The key itself is in this answer alone."""
    wish: dict[str, Any] = {"account": account, **options}
    for member, name in _KEY_MEMBERS.items():
        wish[member] = wish.pop(name, None)
    # Not repeatable: where the answer is lost, another attempt would make a second key.
    return request_of("POST", "/-/admin/keys", IssuedKeyAnswer, body=encode(wish), repeatable=False)


def set_plan(key_id: str, plan: str) -> Request[KeyAnswer]:
    """Put a key into another plan."""
    body = encode({"plan": plan})
    return request_of("PUT", "/-/admin/keys/{keyID}/plan", KeyAnswer, key_id, body=body)


def openapi(*, generators: bool = False) -> Request[dict[str, Any]]:
    """Read the interface as an OpenAPI 3.1 document, or as 3.0.3 for tools that take no values of several forms."""
    options = {"for": "generators"} if generators else {}
    return request_of("GET", "/-/openapi.json", dict[str, Any], options=options)
