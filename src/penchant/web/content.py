"""Handlers of a source's pieces: submit, list, read, delete."""

from collections.abc import AsyncIterator, Callable, Sequence

from penchant.errors import UnknownPiece, UnsupportedMediaType, invalid_parameter
from penchant.model import EncodedPiece
from penchant.service.content import ListingPage
from penchant.storage import Outcome
from penchant.web.bodies import JSON, NDJSON, has_body, media_type, prefers_lines
from penchant.web.operations import Answer, Call
from penchant.web.tags import body_tag, version_tag
from penchant.wire import decode_ids, decode_submission, encode, format_timestamp, public_body

EMPTY_LIST = b"[]"
END = b"]}"
"""The end of the document of a listing."""
DELETED_HEADER = "x-penchant-deleted"


async def accept_submission(call: Call) -> Answer:
    """Accept a submission."""
    limits = call.services.settings.piece_limits
    submission = await call.decode_body(lambda body: decode_submission(body, limits))
    receipt = await call.services.content.submit_pieces(call.access, call.source, submission)
    return Answer(status=202, body=encode(receipt), version=receipt.version)


async def status(call: Call) -> Answer:
    """Answer where the source stands."""
    answer = call.services.content.status(await call.view())
    return Answer(body=encode(answer), version=answer.version)


async def list_ids(call: Call) -> Answer:
    """Answer the ids, as a stream."""
    values = call.values()
    page = await call.services.content.ids(
        call.access,
        call.source,
        skip=values["skip"],
        limit=values["limit"],
        min_version=call.min_version(),
    )
    start = b'{"count":%d,"content":[' % page.head.piece_count
    return _listing(call, page, start, _encoded_ids)


async def list_pieces(call: Call) -> Answer:
    """Answer the pieces, as a stream."""
    values = call.values()
    page = await call.services.content.pieces(
        call.access,
        call.source,
        skip=values["skip"],
        limit=values["limit"],
        min_version=call.min_version(),
    )
    timestamp = format_timestamp(page.head.changed_at)
    start = b'{"source":%s,"timestamp":"%s","content":[' % (encode(call.source), timestamp.encode())
    return _listing(call, page, start, _bodies)


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


async def read_piece(call: Call) -> Answer:
    """Answer one piece."""
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


async def delete_piece(call: Call) -> Answer:
    """Delete one piece."""
    call.values()
    outcome = await call.services.content.delete(call.access, call.source, [call.path["contentID"]])
    return _deleted(outcome)


async def delete_pieces(call: Call) -> Answer:
    """Delete the pieces named, or all where none are; whatever is not plainly one of the two is refused."""
    body = await _deletion_body(call)
    listed = None if body is None else await call.services.decoder.decode(call.access.account_id, decode_ids, body)
    in_query = _ids_in_query(call)
    # Two lists of ids may contradict each other, and what is deleted stays deleted.
    if in_query is not None and listed is not None:
        raise invalid_parameter("id", "Ids are given in the query and in the body; give them one way.")
    ids = listed if in_query is None else in_query
    if ids is None:
        outcome = await call.services.content.clear(call.access, call.source)
    else:
        outcome = await call.services.content.delete(call.access, call.source, ids)
    return _deleted(outcome)


def _deleted(outcome: Outcome) -> Answer:
    """Return the answer to a deletion, which tells how many pieces there were: none is often a client's slip."""
    headers = {DELETED_HEADER: str(outcome.deleted)}
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


async def delete_source(call: Call) -> Answer:
    """Delete the source with everything in it."""
    values = call.values()
    outcome = await call.services.content.delete_source(call.access, call.source, values["confirm"])
    return _deleted(outcome)
