"""Placements: stored, listed, rolled back; the lists that they show, what people saw of these, and what came of it."""

import functools
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple
from urllib.parse import quote, urlencode

from msgspec import UNSET, structs

from penchant.errors import Fault, InvalidInput, NotInBrowsers, PenchantError, invalid_parameter
from penchant.live.views import View
from penchant.model import Feature, Scope, SourceSettings
from penchant.service.lists.paging import NEXT_HEADER
from penchant.storage import SourceHead
from penchant.web.bodies import INTERACTIONS_BODY, SETTINGS_BODY
from penchant.web.operations import (
    AUDIENCE_VERSION_HEADER,
    EVERYBODY,
    IN_QUERY,
    NOBODY,
    Answer,
    Call,
    Operation,
    OperationTable,
    everybody_in_body,
    in_body,
    read_by,
)
from penchant.web.parameters import AFTER, EXCLUDE, EXPLAIN, INCLUDE, LIMIT, MIN_VERSION, TAKE
from penchant.web.problems import problem_of
from penchant.web.system import asks_for_page, dashboard_path
from penchant.wire import StatedLikings, encode, format_timestamp
from penchant.wire.answers import BulkReceipt
from penchant.wire.cursors import ListCursor
from penchant.wire.text import source_problem
from penchant_engine.lists.marks import cut_marks, mark_count, marked_ids, marks_of
from penchant_engine.model import DAY_MS, MARK_BYTES, MAX_LISTED, MAX_TAKE
from penchant_rows.errors import UnknownPlacement
from penchant_rows.model import NewImpression
from penchant_rows.service.cards import read_card
from penchant_rows.service.impressions import LIST_HEADER, ListIds
from penchant_rows.service.kinds import PlacementRequest
from penchant_rows.service.lists import PlacementAnswer, check_quotas, fitting_pieces
from penchant_rows.service.outcomes import PlacementOutcomes, SeenFigures
from penchant_rows.service.results import ResultsRequest
from penchant_rows.service.versions import placements_of
from penchant_rows.service.wiring import row_services
from penchant_rows.storage.impressions import ShownCount
from penchant_rows.web.parameters import (
    BASE_VARIANT,
    CONTENT,
    COURSES,
    FROM,
    OF_CONTENT,
    ROLLBACK_VERSION,
    SUCCESS,
    TO,
    USER,
)
from penchant_rows.web.problems import ROW_PROBLEMS
from penchant_rows.wire.placement_answers import PageEntry, PageResult, PieceSeen, PlacementPreview, PlacementResult
from penchant_rows.wire.placements import (
    MAX_LISTS,
    PageWish,
    PlacementSpec,
    PlacementWish,
    check_filters,
    decode_page,
    decode_placement,
    decode_placement_preview,
    encode_placement,
    placement_problem,
)
from penchant_rows.wire.recording import decode_impressions
from penchant_rows.wire.schemas import ROWS
from penchant_rows.wire.settings import RowSettings

PLACEMENTS = OperationTable(Operation, "placements", ROWS, ROW_PROBLEMS)
_ONE = "/{source}/placements/{name}"
_ID = attrgetter("id")
_PUBLIC = {"vary": "accept", "cache-control": "no-cache"}
"""A public card is asked for each time: the setting may be turned off."""


@PLACEMENTS.operation(
    "GET",
    "/{source}/placements",
    about=NOBODY,
    scope=Scope.WRITE,
    feature=Feature.PLACEMENTS,
    parameters=(OF_CONTENT, MIN_VERSION),
    answer="PlacementListing",
)
async def list_placements(call: Call) -> Answer:
    """The placements of the source, ascending by name."""
    piece_id = call.values()[OF_CONTENT.name]
    view = await call.view()
    listing = await row_services(call).placements.listing(view)
    if piece_id is not None and (figures := await call.services.of(PlacementOutcomes).seen(view)) is not None:
        listing = structs.replace(listing, seen=_piece_seen(figures, piece_id))
    return Answer(body=encode(listing), version=view.head.version)


def _piece_seen(figures: SeenFigures, piece_id: str) -> PieceSeen[str] | None:
    """Return what placements showed of a piece; ``None`` where they showed nothing at all."""
    if not figures.pieces:
        return None
    own = figures.pieces.get(piece_id) or ShownCount(0, 0)
    return PieceSeen(since=format_timestamp(figures.since), shown=own.shown, opened=own.successes)


@PLACEMENTS.operation(
    "GET",
    _ONE,
    about=NOBODY,
    scope=Scope.WRITE,
    feature=Feature.PLACEMENTS,
    parameters=(MIN_VERSION,),
    answer="Placement",
    errors=("unknown-placement",),
)
async def get_placement(call: Call) -> Answer:
    """Read a placement."""
    call.values()
    view = await call.view()
    placement = await row_services(call).placements.in_force(view, call.path["name"])
    return Answer(body=encode_placement(placement.spec), version=view.head.version)


@PLACEMENTS.operation(
    "PUT",
    _ONE,
    about=NOBODY,
    scope=Scope.WRITE,
    feature=Feature.PLACEMENTS,
    body_kind=SETTINGS_BODY,
    body="Placement",
    answer="Placement",
    errors=("too-many-placements", "placement-changed", "four-eyes"),
)
async def put_placement(call: Call) -> Answer:
    """Store a placement; members left out are as the source has them."""
    call.values()
    spec = await call.decode_body(decode_placement)
    view = await call.view()
    check_filters(spec, view.settings)
    await _check_quotas(call, view, spec)
    outcome = await row_services(call).placements.put(call.access, call.source, call.path["name"], spec)
    return Answer(body=encode_placement(spec), version=outcome.version)


async def _check_quotas(call: Call, view: View, spec: PlacementSpec, where: str = "") -> None:
    services = call.services
    await services.database.in_thread(check_quotas, view, spec, services.lists.now(view), where)


@PLACEMENTS.operation(
    "DELETE",
    _ONE,
    about=NOBODY,
    scope=Scope.WRITE,
    feature=Feature.PLACEMENTS,
    status=202,
    answer="EmptyArray",
    errors=("four-eyes",),
)
async def delete_placement(call: Call) -> Answer:
    """Delete a placement with all its versions."""
    call.values()
    outcome = await row_services(call).placements.delete(call.access, call.source, call.path["name"])
    return Answer(body=encode([]), status=202, version=outcome.version)


@PLACEMENTS.operation(
    "GET",
    _ONE + "/versions",
    about=NOBODY,
    scope=Scope.WRITE,
    feature=Feature.PLACEMENTS,
    parameters=(MIN_VERSION,),
    answer="PlacementHistory",
    errors=("unknown-placement",),
)
async def list_placement_versions(call: Call) -> Answer:
    """The versions of a placement, newest first, with who stored them and when."""
    call.values()
    view = await call.view()
    history = await row_services(call).placements.versions(view, call.path["name"])
    return Answer(body=encode(history), version=view.head.version)


@PLACEMENTS.operation(
    "POST",
    _ONE + "/rollback",
    about=NOBODY,
    scope=Scope.WRITE,
    feature=Feature.PLACEMENTS,
    parameters=(ROLLBACK_VERSION,),
    answer="Placement",
    errors=("unknown-placement", "placement-changed", "four-eyes"),
)
async def roll_back_placement(call: Call) -> Answer:
    """Put an earlier version of a placement in force again."""
    version = call.values()["version"]
    spec, outcome = await row_services(call).placements.roll_back(call.access, call.source, call.path["name"], version)
    return Answer(body=encode_placement(spec), version=outcome.version)


@PLACEMENTS.operation(
    "POST",
    "/{source}/preview/placement",
    tag="pages",
    about=everybody_in_body(attrgetter("users")),
    scope=Scope.WRITE,
    feature=Feature.PLACEMENTS,
    parameters=(MIN_VERSION,),
    counted=True,
    personal=True,
    body_kind=SETTINGS_BODY,
    body="PlacementWish",
    reader=read_by(decode_placement_preview),
    answers=lambda wish: len(wish.users),
    answer="PlacementPreview",
    errors=("unknown-piece", "too-few-pieces", "too-many-entries", "kind-not-installed", "overloaded"),
)
async def preview_placement(call: Call) -> Answer:
    """Lists as they are and as they would be under a draft of a placement; nothing is stored."""
    wish: PlacementWish = call.decoded
    view = await call.view()
    check_filters(wish.spec, view.settings, "/placement")
    await _check_quotas(call, view, wish.spec, "/placement")
    lists = await row_services(call).previews.preview(view, wish)
    now = call.services.lists.now(view)
    fitting = await call.services.database.in_thread(fitting_pieces, view, wish.spec, now)
    return Answer(body=encode(PlacementPreview(lists=lists, fitting=fitting)), version=view.head.version)


@PLACEMENTS.operation(
    "GET",
    _ONE + "/card",
    about=NOBODY,
    in_browsers=True,
    scope=Scope.READ,
    feature=Feature.PLACEMENTS,
    parameters=(MIN_VERSION,),
    answer="PlacementCard",
    errors=("unknown-placement", "overloaded"),
)
async def placement_card(call: Call) -> Answer:
    """What a placement is and does: in words, and by figures of whole weeks in which nobody can be seen."""
    call.values()
    view = await call.view()
    if call.is_in_browser and not view.source_settings.of(RowSettings).public_cards:
        raise NotInBrowsers("The source's setting publicCards is off: its cards are for keys of servers.")
    card = await read_card(row_services(call).cards, view, call.path["name"])
    return Answer(body=encode(card), version=view.head.version)


@PLACEMENTS.operation(
    "GET",
    "/-/cards/{account}/{sourceName}/{name}",
    about=NOBODY,
    public=True,
    answer="PlacementCard",
    errors=("unknown-placement", "overloaded"),
)
async def public_card(call: Call) -> Answer:
    """The card of a placement, for anybody, where the source's setting publicCards allows it."""
    services = call.services
    await services.admission.enter()
    account, source, name = (call.path[each] for each in ("account", "sourceName", "name"))
    dashboard = dashboard_path(services.settings)
    if dashboard is not None and asks_for_page(call):
        query = urlencode({"account": account, "source": source, "name": name}, quote_via=quote)
        return Answer(status=303, headers=_PUBLIC | {"location": f"{dashboard}/public-card?{query}"})
    cards, view = row_services(call).cards, None
    if source_problem(source) is None and placement_problem(name) is None:
        view = await cards.public_view(account, source)
    if view is None or name not in placements_of(view):
        # Only a refusal waits: addresses of cards are not to be guessed in bulk.
        await services.access.failed_keys.slow_down(call.exchange.client_address())
        raise UnknownPlacement("There is no public card at this address.")
    return Answer(body=encode(await read_card(cards, view, name)), headers=_PUBLIC)


@PLACEMENTS.operation(
    "GET",
    _ONE + "/list",
    tag="pages",
    about=IN_QUERY,
    in_browsers=True,
    scope=Scope.READ,
    feature=Feature.PLACEMENTS,
    parameters=(USER, CONTENT, LIMIT, TAKE, AFTER, EXCLUDE, INCLUDE, EXPLAIN, MIN_VERSION),
    counted=True,
    personal=True,
    answer="PlacementResult",
    headers=(LIST_HEADER, AUDIENCE_VERSION_HEADER),
    errors=("unknown-placement", "unknown-piece", "too-few-pieces", "kind-not-installed", "overloaded"),
)
async def placement_list(call: Call) -> Answer:
    """The list of a placement, for a person and beside a piece."""
    values = call.values()
    view = await call.view()
    request = PlacementRequest(
        placement=call.path["name"],
        user_id=values["user"],
        content_id=values["content"],
        take=values["limit"] or values["take"],
        exclude=values["exclude"],
        min_audience_version=call.min_audience_version(),
        explain=values["explain"],
    )
    try:
        begun = _begun(call, view, request, values[AFTER.name])
    except ValueError as error:
        raise invalid_parameter(AFTER.name, str(error)) from None
    answer = await row_services(call).lists.answer(view, begun.request)
    headers = _audience_headers([answer]) | {LIST_HEADER: _list_id(call, view, answer.result)}
    if (cursor := _next(call, view, begun, answer, _marks(answer))) is not None:
        headers[NEXT_HEADER] = cursor
    return Answer(result=answer.result, version=view.head.version, headers=headers)


class _BegunList(NamedTuple):
    """A request for a list, as it is asked and as it is made; and where it goes on."""

    asked: PlacementRequest
    request: PlacementRequest
    cursor: ListCursor


def _begun(call: Call, view: View, asked: PlacementRequest, after: str | None) -> _BegunList:
    """Return a request that goes on where a cursor says, if there is one.

    Raises:
        ValueError: the cursor is none of this request; the message is for the caller.
    """
    if after is None:
        return _BegunList(asked, asked, ListCursor())
    cursor = call.services.lists.pages.read(view.head, _choices(asked), after)
    request = structs.replace(
        asked,
        take=min(asked.take, MAX_LISTED - mark_count(cursor.listed)),
        exclude=asked.exclude | marked_ids(view.snapshot, cursor.elsewhere),
        listed=cursor.listed,
        about=cursor.about,
    )
    return _BegunList(asked, request, cursor)


def _choices(request: PlacementRequest) -> list[object]:
    """Return what the list of a placement is chosen by: the same for a list alone and for one of a page."""
    return ["placement", request.placement, request.user_id, request.content_id, sorted(request.exclude)]


def _next(
    call: Call, view: View, begun: _BegunList, answer: PlacementAnswer, own: bytes, elsewhere: bytes = b""
) -> str | None:
    """Return where a list goes on; ``None`` for nowhere. What it and others of the page show is given by marks."""
    if not answer.goes_on:
        return None
    if begun.cursor.elsewhere:
        # Each once: a page shows nothing twice, but the next one may show it in another list.
        elsewhere = b"".join(dict.fromkeys(cut_marks(begun.cursor.elsewhere + elsewhere)))
    cursor = ListCursor(
        listed=begun.cursor.listed + own,
        # The latest ones, as many as a page can show, so that no cursor grows without end.
        elsewhere=elsewhere[-MAX_LISTS * MAX_TAKE * MARK_BYTES :],
        about=answer.about,
    )
    return call.services.lists.pages.cursor(view.head, _choices(begun.asked), cursor)


def _marks(answer: PlacementAnswer) -> bytes:
    """Return the marks of the pieces that a list shows."""
    return marks_of(map(_ID, answer.result.content))


@PLACEMENTS.operation(
    "POST",
    "/{source}/lists",
    tag="pages",
    about=in_body(lambda page: () if page.user_id is None else (page.user_id,), scope=Scope.PERSONAL),
    in_browsers=True,
    scope=Scope.READ,
    feature=Feature.PLACEMENTS,
    parameters=(EXPLAIN, MIN_VERSION),
    counted=True,
    personal=True,
    body="PageWish",
    reader=read_by(decode_page),
    answers=lambda page: len(page.lists),  # one with an error counts as well, since the request was answered
    includes=attrgetter("include"),
    answer="PageResult",
    headers=(AUDIENCE_VERSION_HEADER,),
    errors=("too-many-entries", "overloaded"),
)
async def page_lists(call: Call) -> Answer:
    """The lists of several placements for a page, in which no piece comes twice."""
    explain = call.values()["explain"]
    page: PageWish = call.decoded
    view = await call.view()
    least = call.min_audience_version()
    lists, faults = list[_BegunList](), list[Fault]()
    for place, each in enumerate(page.lists):
        request = PlacementRequest(
            placement=each.placement,
            user_id=page.user_id,
            content_id=each.content_id,
            take=each.take,
            exclude=page.exclude,
            min_audience_version=least,
            explain=explain,
        )
        try:
            lists.append(_begun(call, view, request, each.after))
        except ValueError as error:
            faults.append(Fault(pointer=f"/lists/{place}/after", detail=str(error)))
    if faults:
        raise InvalidInput(f"A list cannot go on: {faults[0].detail}", faults=faults)
    likings = None if page.liked is None else StatedLikings(liked=page.liked)
    answers = await row_services(call).lists.page(view, [each.request for each in lists], likings)
    made = [each for _, each in answers if isinstance(each, PlacementAnswer)]
    marks, end = marks_of([each.id for answer in made for each in answer.result.content]), 0
    begun, entries = {each.request: each for each in lists}, list[PageEntry]()
    for wanted, answer in answers:
        begin = end
        if isinstance(answer, PlacementAnswer):
            end += len(answer.result.content) * MARK_BYTES
        entries.append(_entry(call, view, begun[wanted], answer, marks[begin:end], marks[:begin] + marks[end:]))
    result = PageResult(user_id=page.user_id, lists=entries)
    return Answer(result=result, version=view.head.version, headers=_audience_headers(made))


def _entry(
    call: Call,
    view: View,
    begun: _BegunList,
    answer: PlacementAnswer | PenchantError,
    own: bytes,
    elsewhere: bytes,
) -> PageEntry:
    if isinstance(answer, PenchantError):
        error = problem_of(answer, call.services.settings.base_path)
        return PageEntry(placement=begun.asked.placement, content_id=begun.asked.content_id, error=error)
    result = answer.result
    cursor = _next(call, view, begun, answer, own, elsewhere)
    return PageEntry(
        placement=result.placement,
        variant=result.variant,
        kind=result.kind,
        content_id=result.content_id,
        seed=result.seed,
        since=result.since,
        list_id=_list_id(call, view, result),
        category_weights=result.category_weights,
        content=result.content,
        unmet=result.unmet,
        next=UNSET if cursor is None else cursor,
    )


def _list_id(call: Call, view: View, result: PlacementResult) -> str:
    return row_services(call).list_ids.make(
        view.head,
        placement=result.placement,
        variant=result.variant,
        user_id=result.user_id,
        pieces=list(map(_ID, result.content)),
        rules={each.id: each.rule for each in result.content if each.rule},
    )


def _audience_headers(answers: list[PlacementAnswer]) -> dict[str, str]:
    """Return the header that tells how much lists know of what people did, the least of any of them."""
    versions = [each.audience_version for each in answers if each.audience_version is not None]
    return {AUDIENCE_VERSION_HEADER: str(min(versions))} if versions else {}


IMPRESSIONS = OperationTable(Operation, "results", ROWS, ROW_PROBLEMS)


class ReportedImpressions(NamedTuple):
    """What was seen of the lists of a source, as a report says, and by which secret and settings it was read."""

    impressions: Sequence[NewImpression]
    head: SourceHead
    settings: SourceSettings
    list_ids: ListIds


async def read_impressions(call: Call) -> ReportedImpressions:
    """Return what people saw of lists."""
    head = await call.services.views.head(call.access.account_id, call.source)
    service = row_services(call).impressions
    settings = await service.settings(head)
    read_list = functools.partial(service.reported_list, head, settings)
    now = call.services.people.now()
    find_position = row_services(call).list_ids.position
    impressions = await call.decode_body(lambda body: decode_impressions(body, now, read_list, find_position))
    return ReportedImpressions(impressions, head, settings, row_services(call).list_ids)


def people_shown(reported: ReportedImpressions) -> set[str]:
    """Return the marks of the people to whom lists were shown; those for nobody in particular concern nobody."""
    return {each.identity.person.hex() for each in reported.impressions if each.identity.person}


def mark(reported: ReportedImpressions, user_id: str) -> str:
    """Return by which mark lists know a person."""
    return reported.list_ids.person(reported.head.source_id, user_id).hex()


@IMPRESSIONS.operation(
    "POST",
    "/{source}/impressions",
    about=in_body(people_shown, mark=mark),
    in_browsers=True,
    scope=Scope.INTERACT,
    feature=Feature.PLACEMENTS,
    finds_source=True,
    body_kind=INTERACTIONS_BODY,
    body="ImpressionArray",
    reader=read_impressions,
    personal=True,
    status=202,
    answer="BulkReceipt",
    errors=("too-many-entries",),
)
async def record_impressions(call: Call) -> Answer:
    """Report up to 10,000 pieces of lists as seen, all or none."""
    reported: ReportedImpressions = call.decoded
    outcome = await row_services(call).impressions.record(
        call.access, call.source, reported.settings, reported.impressions
    )
    receipt = BulkReceipt(accepted=outcome.created, duplicates=outcome.duplicates, unstored=outcome.unstored)
    return Answer(status=202, body=encode(receipt))


@IMPRESSIONS.operation(
    "GET",
    "/{source}/placements/{name}/results",
    about=EVERYBODY,
    scope=Scope.WRITE,
    feature=Feature.PLACEMENTS,
    finds_source=True,
    parameters=(FROM, TO, SUCCESS, BASE_VARIANT, COURSES),
    answer="PlacementResults",
    errors=("unknown-placement",),
)
async def placement_results(call: Call) -> Answer:
    """What the variants of a placement showed, and what came of it."""
    values = call.values()
    head = await call.services.views.head(call.access.account_id, call.source)
    request = ResultsRequest(
        placement=call.path["name"],
        first=_day(values["from"]),
        last=_day(values["to"]),
        type=values["type"],
        base=values["base"],
        with_courses=values["courses"],
    )
    result = await row_services(call).results.read(head, request)
    return Answer(body=encode(result), version=head.version)


def _day(moment: int | None) -> int | None:
    return None if moment is None else moment // DAY_MS
