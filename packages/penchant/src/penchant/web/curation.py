"""A source as a whole: its lists and settings, status and removal; what a search finds in it, what it is made of."""

import functools
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TypeVar

from msgspec.structs import replace

from penchant.errors import invalid_parameter
from penchant.live.views import View
from penchant.model import Feature, ListKind, Scope
from penchant.service.activity import ActivityCounter
from penchant.service.administration import Administration
from penchant.service.browsing import SourceBrowser
from penchant.service.curation import Curation, settings_now
from penchant.service.health_reports import WAIT_S, HealthReports
from penchant.service.search import HitPlace, SourceSearch
from penchant.service.steering_history import SteeringHistory
from penchant.storage.steering_versions import SETTINGS
from penchant.web.administration import ACTION, ACTOR, AUDIT_LIMIT, BEFORE, SUBJECT, audit_answer, audit_query
from penchant.web.bodies import SETTINGS_BODY
from penchant.web.content import deletion_answer
from penchant.web.operations import EVERYBODY, NOBODY, About, Answer, Call, Operation, OperationTable
from penchant.web.parameters import (
    BEGINNING,
    CONFIRM,
    DAYS,
    EXAMPLES,
    FOUND_LIMIT,
    IN_CATEGORY,
    KEPT_VERSION,
    KEYWORDS_LIMIT,
    KIND,
    KNOWN,
    LOOK_AFTER,
    MIN_VERSION,
    OF_CATEGORY,
    OF_PLACEMENTS,
    PAGE_LIMIT,
    PERSON,
    PIECE,
    PLACE,
    SEARCHED,
    SKIP,
    TYPED,
    WAITING,
)
from penchant.web.query import Values
from penchant.wire import decode_list, decode_settings, encode, encode_settings
from penchant.wire.catalogue_answers import (
    ActivityDay,
    ActivityListing,
    CatalogListing,
    CatalogSize,
    CategoryListing,
    CategorySize,
    ExtrasExample,
    ExtrasField,
    ExtrasListing,
    KeywordCount,
    KeywordListing,
    MatchedPiece,
    MatchPlace,
    PieceTitle,
    PlacementActivity,
    SearchAnswer,
    TitleListing,
)
from penchant.wire.times import format_day
from penchant_engine.index.browsing import TermCount
from penchant_engine.model import Term

T = TypeVar("T")
CURATION = OperationTable(Operation, "curation")


def _list_operations(kind: ListKind) -> None:
    """Serve a list of a source: read, replaced, emptied."""
    path, title = "/{source}/" + kind.value, kind.value.capitalize()

    @CURATION.operation(
        "GET",
        path,
        name=f"get{title}",
        summary=f"Read the {kind.value}.",
        about=NOBODY,
        scope=Scope.WRITE,
        feature=Feature.LISTS,
        parameters=(MIN_VERSION,),
        answer="IdArray",
    )
    async def read_list(call: Call) -> Answer:
        view = await call.view()
        return Answer(body=encode(call.services.of(Curation).listed(view, kind)), version=view.head.version)

    @CURATION.operation(
        "PUT",
        path,
        name=f"put{title}",
        summary=f"Replace the {kind.value}: up to 10,000 ids, order kept.",
        about=NOBODY,
        scope=Scope.WRITE,
        feature=Feature.LISTS,
        body="IdArray",
        answer="IdArray",
        errors=("too-many-entries", "four-eyes"),
    )
    async def replace_list(call: Call) -> Answer:
        return await _replace(call, kind, await call.decode_body(decode_list))

    @CURATION.operation(
        "DELETE",
        path,
        name=f"delete{title}",
        summary=f"Empty the {kind.value}.",
        about=NOBODY,
        scope=Scope.WRITE,
        feature=Feature.LISTS,
        answer="IdArray",
        errors=("four-eyes",),
    )
    async def empty_list(call: Call) -> Answer:
        return await _replace(call, kind, ())

    for method, is_listed in (("PUT", True), ("DELETE", False)):
        _entry_operation(kind, method, is_listed=is_listed)


def _entry_operation(kind: ListKind, method: str, *, is_listed: bool) -> None:
    """Serve entries of a list, one or several: put on it, or taken off it."""
    done = "Put one piece at the end of" if is_listed else "Take one piece off"
    done_all = "Put pieces at the end of" if is_listed else "Take pieces off"

    @CURATION.operation(
        method,
        "/{source}/" + kind.value + "/content/{contentID}",
        name=f"{method.lower()}{kind.value.capitalize()}Entry",
        summary=f"{done} the {kind.value}; what others change in it meanwhile stays.",
        about=NOBODY,
        scope=Scope.WRITE,
        feature=Feature.LISTS,
        status=202,
        answer="EmptyArray",
        errors=("too-many-entries", "four-eyes") if is_listed else ("four-eyes",),
    )
    async def edit_list(call: Call) -> Answer:
        call.values()
        piece_id = call.path["contentID"]
        return await _edit(call, kind, [piece_id], is_listed=is_listed)

    @CURATION.operation(
        "POST" if is_listed else "DELETE",
        "/{source}/" + kind.value + "/content",
        name=f"{'add' if is_listed else 'remove'}{kind.value.capitalize()}Entries",
        summary=f"{done_all} the {kind.value}, as one change; what others change in it meanwhile stays.",
        about=NOBODY,
        scope=Scope.WRITE,
        feature=Feature.LISTS,
        status=202,
        body="IdArray",
        answer="EmptyArray",
        errors=("too-many-entries", "four-eyes"),
    )
    async def edit_entries(call: Call) -> Answer:
        return await _edit(call, kind, await call.decode_body(decode_list), is_listed=is_listed)


async def _edit(call: Call, kind: ListKind, ids: Sequence[str], *, is_listed: bool) -> Answer:
    outcome = await call.services.of(Curation).edit_list(call.access, call.source, kind, ids, is_listed=is_listed)
    return Answer(status=202, body=encode([]), version=outcome.version)


async def _replace(call: Call, kind: ListKind, ids: Sequence[str]) -> Answer:
    outcome = await call.services.of(Curation).replace_list(call.access, call.source, kind, ids)
    return Answer(body=encode(list(ids)), version=outcome.version)


def _version_operation(subject: str, name: str, feature: Feature | None) -> None:
    """Serve the versions of what steers a source."""

    @CURATION.operation(
        "GET",
        f"/{{source}}/{subject}/versions",
        name=f"{name}Versions",
        summary=f"What the {subject} {'were' if name == SETTINGS else 'was'}, the latest 100 versions, newest first.",
        about=NOBODY,
        scope=Scope.WRITE,
        feature=feature,
        parameters=(KEPT_VERSION, MIN_VERSION),
        personal=True,
        answer="SteeringListing",
        errors=("overloaded",),
    )
    async def list_versions(call: Call) -> Answer:
        values, view = call.values(), await call.view()
        async with call.services.lists.shares.turn(call.access.account_id):
            listing = await call.services.of(SteeringHistory).versions(view, subject, values[KEPT_VERSION.name])
        return Answer(body=encode(listing), version=view.head.version)


_version_operation(SETTINGS, SETTINGS, None)
for _kind in ListKind:
    _version_operation(_kind.value, _kind.value, Feature.LISTS)
_list_operations(ListKind.WHITELIST)
_list_operations(ListKind.BLACKLIST)


@CURATION.operation(
    "GET",
    "/{source}/settings",
    about=NOBODY,
    scope=Scope.WRITE,
    parameters=(MIN_VERSION,),
    answer="Settings",
)
async def get_settings(call: Call) -> Answer:
    """Read the settings of the source."""
    view = await call.view()
    return Answer(body=encode_settings(view.settings), version=view.head.version)


@CURATION.operation(
    "PUT",
    "/{source}/settings",
    about=NOBODY,
    scope=Scope.WRITE,
    body_kind=SETTINGS_BODY,
    body="Settings",
    answer="Settings",
    errors=("four-eyes",),
)
async def put_settings(call: Call) -> Answer:
    """Replace the settings; members left out return to their defaults."""
    stored = await settings_now(call.services.database, call.access.account_id, call.source)
    settings = await call.decode_body(functools.partial(decode_settings, unread=stored.unread))
    await call.services.of(SourceBrowser).check_pointers(call.access.account_id, call.source, settings, stored)
    outcome = await call.services.of(Curation).replace_settings(call.access, call.source, settings)
    return Answer(body=encode_settings(settings), version=outcome.version)


_FOUND = About(
    name="everybody",
    in_request=lambda _, query: [each for each in query.values(KIND.name) if each == PERSON],
    scope=Scope.PERSONAL,
)
"""Whom a search is about: everybody, where people are looked for."""
_PLACES: Mapping[HitPlace, MatchPlace] = {
    HitPlace.WHOLE_ID: "id",
    HitPlace.ID: "id",
    HitPlace.TITLE_WORDS: "label",
    HitPlace.TITLE: "label",
    HitPlace.KEYWORD: "keyword",
    HitPlace.TEXT: "text",
    HitPlace.SEVERAL: "several",
}


@CURATION.operation(
    "GET",
    "/-/account",
    tag="source",
    about=NOBODY,
    scope=Scope.READ,
    parameters=(SKIP, PAGE_LIMIT),
    personal=True,
    answer="OwnAccount",
)
async def get_account(call: Call) -> Answer:
    """The account of the key, and its sources, ascending by name."""
    values = call.values()
    skip, limit = values[SKIP.name], values[PAGE_LIMIT.name]
    own = await call.services.of(Administration).own_account(
        call.access, skip=skip, limit=limit, indexed_version=call.services.views.cached_version
    )
    return Answer(body=encode(own))


@CURATION.operation(
    "GET",
    "/{source}/search",
    tag="source",
    about=_FOUND,
    scope=Scope.READ,
    parameters=(SEARCHED, KIND, PLACE, IN_CATEGORY, KNOWN, SKIP, FOUND_LIMIT, LOOK_AFTER, MIN_VERSION),
    personal=True,
    answer="SearchAnswer",
    errors=("overloaded",),
)
async def search(call: Call) -> Answer:
    """Find pieces by anything written in them, people by their id, or keywords by their beginning."""
    values = call.values()
    if values[SEARCHED.name] is None and values[KIND.name] != PERSON and values[PLACE.name] != "id":
        raise invalid_parameter(SEARCHED.name, "The parameter is missing; a text to look for is needed.")
    view = await call.view()
    # Ids are looked up; only to look through texts takes a turn.
    is_quick = values[KIND.name] == PIECE and values[PLACE.name] == "id"
    async with nullcontext() if is_quick else call.services.lists.shares.turn(call.access.account_id):
        found = await _found(call, view, values)
    return Answer(body=encode(found), version=view.head.version)


async def _found(call: Call, view: View, values: Values) -> SearchAnswer:
    search, kind = call.services.of(SourceSearch), values[KIND.name]
    text, skip, limit = values[SEARCHED.name], values[SKIP.name], values[FOUND_LIMIT.name]
    category = values[IN_CATEGORY.name]
    if kind == PERSON:
        if text is None:
            people = await search.active_people(view, known=values[KNOWN.name], skip=skip, limit=limit)
        else:
            people = await search.people_beginning(view, text, skip=skip, limit=limit)
        return SearchAnswer(kind=kind, count=people.count, complete=people.is_complete, users=people.people)
    if kind == PIECE:
        after = values[LOOK_AFTER.name]
        if (place := values[PLACE.name]) is not None:
            return await _found_by(call, view, place, text or "", after, limit)
        if category is None:
            pieces = await search.pieces(view, text, after=after, skip=skip, limit=limit)
        else:
            pieces = await search.pieces_of(view, Term(category, text), after=after, skip=skip, limit=limit)
        content = [
            MatchedPiece(id=hit.id, label=hit.label, place=_PLACES[hit.place], text=hit.text) for hit in pieces.hits
        ]
        is_complete = pieces.after is None
        return SearchAnswer(
            kind=kind,
            count=pieces.count,
            complete=is_complete,
            after=pieces.after,
            looked_at=pieces.looked_at,
            content=content,
        )
    terms = await search.keywords(view, text, category=category, skip=skip, limit=limit)
    return SearchAnswer(kind=kind, count=terms.total, complete=True, keywords=keyword_counts(terms.terms))


async def _found_by(call: Call, view: View, place: str, text: str, after: str | None, limit: int) -> SearchAnswer:
    """Return the pieces that have a text at one place, which is looked through in the order of ids."""
    browsing = call.services.of(SourceBrowser)
    page = await (browsing.by_id if place == "id" else browsing.by_label)(view, text, after=after, limit=limit)
    where: MatchPlace = "id" if place == "id" else "label"
    return SearchAnswer(
        kind="piece",
        count=len(page.pieces),
        complete=page.after is None,
        after=page.after,
        looked_at=page.looked_at or 0,
        content=[MatchedPiece(id=each.id, label=each.label, place=where) for each in page.pieces],
    )


def keyword_counts(terms: Sequence[TermCount]) -> list[KeywordCount]:
    """Return counted terms as answers have them."""
    return [KeywordCount(category=each.term.category, keyword=each.term.keyword, pieces=each.pieces) for each in terms]


@CURATION.operation(
    "GET",
    "/{source}/titles",
    tag="source",
    about=NOBODY,
    scope=Scope.READ,
    parameters=(TYPED, MIN_VERSION),
    answer="TitleListing",
)
async def list_titles(call: Call) -> Answer:
    """List labels to complete what is typed: those that go on from `q`, then those with a word that does."""
    values, view = call.values(), await call.view()
    browsing, begun = call.services.of(SourceBrowser), values[TYPED.name]
    if begun:
        found = [(each.id, each.label or each.id) for each in await browsing.called_like(view, begun)]
    else:
        titles = await browsing.titles(view)
        found = [(titles.pieces[title.casefold()].id, title) for title in titles.offered]
    listing = TitleListing(titles=[PieceTitle(id=piece_id, label=label) for piece_id, label in found])
    return Answer(body=encode(listing), version=view.head.version)


def _page(found: Sequence[T], values: Values) -> Sequence[T]:
    """Return the part of a listing that is asked for; all of the rest without a limit."""
    skip, limit = values[SKIP.name], values[PAGE_LIMIT.name]
    return found[skip : None if limit is None else skip + limit]


@CURATION.operation(
    "GET",
    "/{source}/categories",
    tag="source",
    about=NOBODY,
    scope=Scope.READ,
    parameters=(SKIP, PAGE_LIMIT, MIN_VERSION),
    answer="CategoryListing",
)
async def list_categories(call: Call) -> Answer:
    """List the categories, ascending, with how many keywords they have and how many pieces have one."""
    values, view = call.values(), await call.view()
    found = await call.services.of(SourceSearch).categories(view)
    page = _page(found, values)
    categories = [CategorySize(category=each.name, keywords=each.keywords, pieces=each.pieces) for each in page]
    return Answer(body=encode(CategoryListing(count=len(found), categories=categories)), version=view.head.version)


@CURATION.operation(
    "GET",
    "/{source}/keywords",
    tag="source",
    about=NOBODY,
    scope=Scope.READ,
    parameters=(OF_CATEGORY, BEGINNING, SKIP, KEYWORDS_LIMIT, MIN_VERSION),
    answer="KeywordListing",
)
async def list_keywords(call: Call) -> Answer:
    """List the keywords of a category, or of all, with how many pieces have them, the most frequent first."""
    values, view = call.values(), await call.view()
    page = await call.services.of(SourceSearch).keywords(
        view,
        values[BEGINNING.name],
        category=values[OF_CATEGORY.name],
        skip=values[SKIP.name],
        limit=values[KEYWORDS_LIMIT.name],
    )
    listing = KeywordListing(count=page.total, keywords=keyword_counts(page.terms))
    return Answer(body=encode(listing), version=view.head.version)


@CURATION.operation(
    "GET",
    "/{source}/catalogs",
    tag="source",
    about=NOBODY,
    scope=Scope.READ,
    parameters=(SKIP, PAGE_LIMIT, MIN_VERSION),
    answer="CatalogListing",
)
async def list_catalogs(call: Call) -> Answer:
    """List the catalogs, those of the most pieces first, with how many are in them."""
    values, view = call.values(), await call.view()
    found = await call.services.of(SourceSearch).catalogs(view)
    page = _page(found, values)
    listing = CatalogListing(
        count=len(found), catalogs=[CatalogSize(catalog=each.name, pieces=each.pieces) for each in page]
    )
    return Answer(body=encode(listing), version=view.head.version)


@CURATION.operation(
    "GET",
    "/{source}/extras",
    tag="source",
    about=NOBODY,
    scope=Scope.READ,
    parameters=(EXAMPLES, MIN_VERSION),
    answer="ExtrasListing",
)
async def list_extras(call: Call) -> Answer:
    """List what the extras of the newest pieces have that could be an attribute, with type, pieces and examples."""
    values, view = call.values(), await call.view()
    sample = await call.services.of(SourceBrowser).extras(view)
    most = values[EXAMPLES.name]
    fields = [
        ExtrasField(
            pointer=each.pointer,
            type=each.type,
            pieces=each.pieces,
            examples=[ExtrasExample(value=value, pieces=pieces) for value, pieces in each.values[:most]],
        )
        for each in sample.members
    ]
    listing = ExtrasListing(looked_at=sample.looked_at, extras=fields)
    return Answer(body=encode(listing), version=view.head.version)


@CURATION.operation(
    "GET",
    "/{source}/health",
    tag="source",
    about=NOBODY,
    scope=Scope.READ,
    parameters=(WAITING, MIN_VERSION),
    answer="CatalogueFindings",
    errors=("overloaded",),
)
async def source_health(call: Call) -> Answer:
    """What was found by now about the catalogue, and what likes say of its keywords."""
    is_waiting = call.values()[WAITING.name]
    view = await call.view()
    reports = call.services.of(HealthReports)
    async with call.services.lists.shares.turn(call.access.account_id):
        report = await reports.report(view, WAIT_S if is_waiting else 0)
    return Answer(body=encode(report), version=view.head.version)


@CURATION.operation(
    "GET",
    "/{source}/activity",
    tag="source",
    about=EVERYBODY,
    scope=Scope.READ,
    parameters=(DAYS, OF_PLACEMENTS),
    personal=True,
    answer="ActivityListing",
    errors=("overloaded",),
)
async def source_activity(call: Call) -> Answer:
    """What happened by UTC day: interactions by type, lists and pieces shown, pieces opened."""
    values = call.values()
    # Of the database alone: a source need not be read for it.
    head = await call.services.views.head(call.access.account_id, call.source)
    async with call.services.lists.shares.turn(call.access.account_id):
        found = await call.services.of(ActivityCounter).daily(head, values[DAYS.name])
    days = [
        ActivityDay(
            day=format_day(each.day),
            interactions={kind.value: count for kind, count in sorted(each.interactions.items())},
            **each.shown._asdict(),
            placements={name: PlacementActivity(**counts._asdict()) for name, counts in sorted(each.lists.items())}
            if values[OF_PLACEMENTS.name]
            else {},
        )
        for each in found.days
    ]
    listing = ActivityListing(days=days, complete=found.is_complete)
    return Answer(body=encode(listing), version=head.version)


@CURATION.operation(
    "GET",
    "/{source}/audit",
    tag="source",
    about=NOBODY,
    scope=Scope.WRITE,
    parameters=(ACTOR, ACTION, SUBJECT, BEFORE, AUDIT_LIMIT),
    personal=True,
    answer="AuditLog",
)
async def source_audit(call: Call) -> Answer:
    """Who changed what of the source, newest first."""
    query, values = audit_query(call), call.values()
    query = replace(query, action=values[ACTION.name], name=values[SUBJECT.name])
    return audit_answer(await call.services.of(Administration).source_audit(call.access, call.source, query))


@CURATION.operation(
    "GET",
    "/{source}",
    tag="source",
    about=NOBODY,
    in_browsers=True,
    scope=Scope.READ,
    parameters=(MIN_VERSION,),
    answer="SourceStatus",
)
async def get_source(call: Call) -> Answer:
    """Where the source stands: pieces, versions, times."""
    answer = call.services.content.status(await call.view())
    return Answer(body=encode(answer), version=answer.version)


@CURATION.operation(
    "DELETE",
    "/{source}",
    deletes_pieces=True,
    tag="source",
    about=NOBODY,
    scope=Scope.WRITE,
    status=202,
    parameters=(CONFIRM,),
    answer="EmptyArray",
    errors=("four-eyes",),
)
async def delete_source(call: Call) -> Answer:
    """Delete the source with everything in it."""
    values = call.values()
    outcome = await call.services.content.delete_source(call.access, call.source, values["confirm"])
    return deletion_answer(outcome)
