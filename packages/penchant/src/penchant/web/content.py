"""A source's pieces: submit, list, follow, read, delete."""

import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

from penchant.enrichment import enrichments
from penchant.errors import UnknownPiece, UnsupportedMediaType, invalid_parameter
from penchant.live.views import View
from penchant.model import EncodedPiece, Scope, SourceSettings
from penchant.service.changes import ChangePage, ChangeRequest, Changes, history_of
from penchant.service.content import ListingPage
from penchant.service.decoding import BodyDecoder
from penchant.storage import PieceDeletion
from penchant.web.bodies import CONTENT_BODY, JSON, NDJSON, has_body, media_type, prefers_lines
from penchant.web.operations import NOBODY, Answer, Call, Operation, OperationTable, body_tag, version_tag
from penchant.web.parameters import (
    AUTOMATIC,
    DELETED,
    HISTORY,
    INCLUDE_KEYWORDS,
    MIN_VERSION,
    PAGE_LIMIT,
    SINCE,
    SKIP,
    WAIT,
)
from penchant.wire import decode_submission, encode, format_timestamp
from penchant.wire.lines import begin_line, delete_line, end_line, upsert_line
from penchant.wire.lists import decode_asked, decode_ids
from penchant.wire.stored import public_body

CONTENT = OperationTable(Operation, "content")

EMPTY_LIST = b"[]"
END = b"]}"
"""The end of the document of a listing."""
MAX_READ = 1_000
"""Pieces that one request reads by their ids (interface, section 10)."""


@CONTENT.operation(
    "POST",
    "/{source}/content",
    about=NOBODY,
    scope=Scope.WRITE,
    status=202,
    creates_source=True,
    body_kind=CONTENT_BODY,
    parameters=AUTOMATIC,
    body="Submission",
    answer="Receipt",
    errors=("too-many-entries", "too-many-pieces", "too-many-sources"),
)
async def submit_content(call: Call) -> Answer:
    """Submit up to 2,000 pieces; the first submission makes the source."""
    limits = call.services.settings.piece_limits
    submission = await call.decode_body(lambda body: decode_submission(body, limits))
    wanted = [each.automatic for name, each in enrichments().items() if each.automatic and call.values()[name]]
    settings = functools.reduce(SourceSettings.having, wanted, SourceSettings()) if wanted else None
    receipt = await call.services.content.submit_pieces(call.access, call.source, submission, settings)
    return Answer(status=202, body=encode(receipt), version=receipt.version)


@CONTENT.operation(
    "GET",
    "/{source}/ids",
    has_etag=True,
    has_lines=True,
    about=NOBODY,
    scope=Scope.READ,
    parameters=(SKIP, PAGE_LIMIT, MIN_VERSION),
    answer="IdList",
)
async def list_ids(call: Call) -> Answer:
    """List and count the ids, ascending."""
    page = await _page(call, call.services.content.ids)
    start = b'{"count":%d,"content":[' % page.head.piece_count
    return _listing(call, page, start, _encoded_ids)


@CONTENT.operation(
    "GET",
    "/{source}/content",
    has_etag=True,
    has_lines=True,
    about=NOBODY,
    scope=Scope.READ,
    parameters=(SKIP, PAGE_LIMIT, MIN_VERSION),
    answer="ContentList",
)
async def list_content(call: Call) -> Answer:
    """List the pieces, ascending by id."""
    page = await _page(call, call.services.content.pieces)
    timestamp = format_timestamp(page.head.changed_at)
    start = b'{"source":%s,"timestamp":"%s","content":[' % (encode(call.source), timestamp.encode())
    return _listing(call, page, start, _bodies)


async def _page(call: Call, read: Callable[..., Awaitable[ListingPage[EncodedPiece]]]) -> ListingPage[EncodedPiece]:
    values = call.values()
    bounds = {"skip": values["skip"], "limit": values["limit"], "min_version": call.min_version()}
    return await read(call.access, call.source, **bounds)


Entries = Callable[[Sequence[EncodedPiece]], list[bytes]]
"""What a listing tells of pieces, as JSON."""


def _encoded_ids(pieces: Sequence[EncodedPiece]) -> list[bytes]:
    return [encode(piece.id) for piece in pieces]


def _bodies(pieces: Sequence[EncodedPiece]) -> list[bytes]:
    return [piece.body for piece in pieces]


def _listing(call: Call, page: ListingPage[EncodedPiece], start: bytes, entries: Entries) -> Answer:
    """Return a page as one JSON document that begins with ``start``, or as lines for a client that prefers them."""
    values = call.values()
    as_lines = prefers_lines(call.headers.get("accept", ""))
    # Ids and pieces, one document and lines: four answers of one version, which must not share a tag.
    kind = ("i" if entries is _encoded_ids else "p") + ("l" if as_lines else "")
    body: bytes | AsyncIterator[bytes]
    if (rows := page.whole) is None:
        body = _streamed(page, start, entries, as_lines=as_lines)
    elif as_lines:
        body = _lines(entries(rows))
    else:
        body = start + b",".join(entries(rows)) + END
    return Answer(
        body=body,
        media_type=NDJSON if as_lines else JSON,
        version=page.head.version,
        etag=version_tag(page.head, call.tag_key, kind, values["skip"], values["limit"] or ""),
        headers={"vary": "accept"},
        close=page.close,
    )


async def _streamed(
    page: ListingPage[EncodedPiece], start: bytes, entries: Entries, *, as_lines: bool
) -> AsyncIterator[bytes]:
    separator = b"" if as_lines else start
    async for batch in page.batches():
        if as_lines:
            yield _lines(entries(batch))
        else:
            yield separator + b",".join(entries(batch))
            separator = b","
    if not as_lines:
        yield END


def _lines(entries: Sequence[bytes]) -> bytes:
    return b"".join(entry + b"\n" for entry in entries)


@CONTENT.operation(
    "GET",
    "/{source}/changes",
    about=NOBODY,
    scope=Scope.READ,
    parameters=(SINCE, HISTORY, WAIT, MIN_VERSION),
    answer="ChangeLine",
    answer_media_type=NDJSON,
    errors=("overloaded",),
)
async def list_changes(call: Call) -> Answer:
    """What became of the pieces after a version, one change a line; waits for the next one where asked to."""
    values = call.values()
    request = ChangeRequest(since=values["since"], history=values["history"], wait_s=values["wait"])
    feed, min_version = call.services.of(Changes), call.min_version()
    if request.wait_s:
        # A follower that has gone must not keep its turn from others until the wait is over.
        waiting = feed.wait(call.access, call.source, request, min_version=min_version)
        await call.exchange.while_connected(waiting)
    changes = await feed.after(call.access, call.source, request, min_version=min_version)
    return Answer(
        body=_change_lines(call.source, changes),
        media_type=NDJSON,
        version=changes.head.version,
        close=changes.page.close,
    )


async def _change_lines(source: str, changes: ChangePage) -> AsyncIterator[bytes]:
    head = changes.head
    yield begin_line(source, head.version, history_of(head), complete=changes.complete)
    async for batch in changes.batches():
        yield b"".join(delete_line(row.id) if row.deleted else upsert_line(row.body) for row in batch)
    yield end_line(head.version)


@CONTENT.operation(
    "GET",
    "/{source}/content/{contentID}",
    has_etag=True,
    about=NOBODY,
    in_browsers=True,
    scope=Scope.READ,
    parameters=(MIN_VERSION,),
    answer="Piece",
    errors=("unknown-piece",),
)
async def get_content(call: Call) -> Answer:
    """Read one piece."""
    call.values()
    head, body = await call.services.content.piece(
        call.access, call.source, call.path["contentID"], min_version=call.min_version()
    )
    if call.is_in_browser:
        view = await call.view()
        public = public_body(body, view.settings, call.services.lists.now(view))
        if public is None:
            raise UnknownPiece("The source has no piece with this id.")
        body = public
    return Answer(body=body, version=head.version, etag=body_tag(body, call.tag_key))


@CONTENT.operation(
    "POST",
    "/{source}/content/read",
    about=NOBODY,
    in_browsers=True,
    scope=Scope.READ,
    parameters=(INCLUDE_KEYWORDS, MIN_VERSION),
    body="ContentIds",
    answer="PiecesById",
    errors=("too-many-entries",),
)
async def read_content(call: Call) -> Answer:
    """Read up to 1,000 pieces by their ids, in the order asked."""
    included = call.values()["include"] or ()
    ids = list(dict.fromkeys(await call.decode_body(lambda body: decode_asked(body, MAX_READ))))
    some = call.services.content.some
    made = tuple(each for each in included if each != "terms")
    head, stored = await some(call.access, call.source, ids, included=made, min_version=call.min_version())
    if call.is_in_browser:
        view = await call.view()
        moment = call.services.lists.now(view)
        public = {piece_id: public_body(body, view.settings, moment) for piece_id, body in stored.items()}
        stored = {piece_id: body for piece_id, body in public.items() if body is not None}
    elif "terms" in included:
        stored = _with_terms(await call.view(), stored)
    content = b",".join(stored[piece_id] for piece_id in ids if piece_id in stored)
    missing = encode([piece_id for piece_id in ids if piece_id not in stored])
    return Answer(body=b'{"content":[%s],"missing":%s}' % (content, missing), version=head.version)


def _with_terms(view: View, stored: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the bodies of pieces with their terms by category, the heaviest first, of those that the index has."""
    bodies = dict(stored)
    for piece_id, body in stored.items():
        categories: dict[str, dict[str, int]] = {}
        found = view.snapshot.terms_of(piece_id) or {}
        for term, weight in sorted(found.items(), key=lambda each: (each[0].category, -each[1], each[0].keyword)):
            categories.setdefault(term.category, {})[term.keyword] = weight
        bodies[piece_id] = body.removesuffix(b"}") + b',"terms":' + encode(categories) + b"}"
    return bodies


@CONTENT.operation(
    "DELETE",
    "/{source}/content/{contentID}",
    deletes_pieces=True,
    about=NOBODY,
    scope=Scope.WRITE,
    status=202,
    answer="EmptyArray",
)
async def delete_one_content(call: Call) -> Answer:
    """Delete one piece."""
    call.values()
    outcome = await call.services.content.delete(call.access, call.source, [call.path["contentID"]])
    return deletion_answer(outcome)


@CONTENT.operation(
    "DELETE",
    "/{source}/content",
    deletes_pieces=True,
    about=NOBODY,
    scope=Scope.WRITE,
    status=202,
    parameters=(DELETED,),
    body="IdArray",
    optional_body=True,
    answer="EmptyArray",
)
async def delete_content(call: Call) -> Answer:
    """Delete the pieces with the given ids (`id=`, `id[]=`, or a JSON array as body), or all of them."""
    body = await _deletion_body(call)
    listed = (
        None if body is None else await call.services.of(BodyDecoder).decode(call.access.account_id, decode_ids, body)
    )
    in_query = _ids_in_query(call)
    # Two lists of ids may contradict each other, and what is deleted stays deleted.
    if in_query is not None and listed is not None:
        raise invalid_parameter("id", "Ids are given in the query and in the body; give them one way.")
    ids = listed if in_query is None else in_query
    if ids is None:
        outcome = await call.services.content.clear(call.access, call.source)
    else:
        outcome = await call.services.content.delete(call.access, call.source, ids)
    return deletion_answer(outcome)


def deletion_answer(outcome: PieceDeletion) -> Answer:
    """Return the answer to a deletion, which tells how many pieces there were: none is often a client's slip."""
    headers = {"x-penchant-deleted": str(outcome.deleted)}
    return Answer(status=202, body=EMPTY_LIST, version=outcome.version, headers=headers)


async def _deletion_body(call: Call) -> bytes | None:
    """Return the body where there is one; a JSON content type announces one even if it is empty."""
    if media_type(call.headers) == JSON:
        return await _read(call)
    announced = has_body(call.headers)
    # Chunked: whether there is a body is known only once it was read.
    if announced and call.headers.get("content-length") is None:
        announced = bool(await _read(call))
    if announced:
        raise UnsupportedMediaType(f"A body with ids needs the content type {JSON}.")
    return None


async def _read(call: Call) -> bytes:
    return await call.exchange.read_body(call.operation.body_kind)


def _ids_in_query(call: Call) -> list[str] | None:
    # Elsewhere unknown parameters are ignored; here one misspelt would turn "these" into "all".
    unknown = call.ignored()
    if unknown:
        raise invalid_parameter(
            unknown[0][:80],
            "This request takes no parameter but id, so that a misspelt one cannot empty the source.",
        )
    ids: list[str] | None = call.values()["id"]
    return ids
