"""Handlers of a source's pieces: submit, list, read, delete."""

import re
from collections.abc import AsyncIterator

from penchant.errors import UnsupportedMediaType, invalid_parameter
from penchant.service.content import Page
from penchant.web.bodies import JSON, has_body, media_type, read_body
from penchant.web.operations import Answer, Call
from penchant.web.tags import body_tag, version_tag
from penchant.wire import decode_ids, encode, format_timestamp, id_problem

_ID_PARAMETER = re.compile(r"id(\[\d*\])?\Z")
EMPTY_LIST = b"[]"


async def submit(call: Call) -> Answer:
    """Accept a submission."""
    receipt = await call.services.content.submit(call.access, call.source, call.body)
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
    return _paged(call, page, b'{"count":%d,"content":[' % page.head.piece_count, ids_only=True)


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
    return _paged(call, page, start, ids_only=False)


def _paged(call: Call, page: Page, start: bytes, *, ids_only: bool) -> Answer:
    values = call.values()
    tag = version_tag(page.head, "i" if ids_only else "p", values["skip"], values["limit"] or "")
    parts = _parts(page, start, ids_only=ids_only)
    return Answer(body=parts, version=page.head.version, etag=tag, close=page.close)


async def _parts(page: Page, start: bytes, *, ids_only: bool) -> AsyncIterator[bytes]:
    separator = b""
    yield start
    async for batch in page.batches():
        entries = [encode(piece.id) if ids_only else piece.body for piece in batch]
        if entries:
            yield separator + b",".join(entries)
            separator = b","
    yield b"]}"


async def read_piece(call: Call) -> Answer:
    """Answer one piece."""
    call.values()
    head, body = await call.services.content.piece(
        call.access, call.source, call.path["contentID"], min_version=call.min_version()
    )
    return Answer(body=body, version=head.version, etag=body_tag(call, body))


async def delete_piece(call: Call) -> Answer:
    """Delete one piece."""
    call.values()
    outcome = await call.services.content.delete(call.access, call.source, [call.path["contentID"]])
    return Answer(status=202, body=EMPTY_LIST, version=outcome.version)


async def delete_pieces(call: Call) -> Answer:
    """Delete the pieces named, or all where none are; whatever is not plainly one of the two is refused."""
    body = await _deletion_body(call)
    listed = None if body is None else decode_ids(body)
    asked = _asked_ids(call)
    if asked is not None and listed is not None:
        raise invalid_parameter("id", "Ids are given in the query and in the body; give them one way.")
    ids = listed if asked is None else asked
    if ids is None:
        outcome = await call.services.content.clear(call.access, call.source)
    else:
        outcome = await call.services.content.delete(call.access, call.source, ids)
    return Answer(status=202, body=EMPTY_LIST, version=outcome.version)


async def _deletion_body(call: Call) -> bytes | None:
    """Return the body where there is one; a JSON content type announces one even if it is empty."""
    if media_type(call.headers) == JSON:
        return await _read(call)
    announced = has_body(call.headers)
    if announced and call.headers.get("content-length") is None:
        announced = bool(await _read(call))
    if announced:
        raise UnsupportedMediaType(f"A body with ids needs the content type {JSON}.")
    return None


async def _read(call: Call) -> bytes:
    settings = call.services.settings
    return await read_body(
        call.receive,
        call.headers,
        limit_bytes=settings.body_limit_bytes,
        timeout_s=settings.body_timeout_s,
        take=call.hold,
    )


def _asked_ids(call: Call) -> list[str] | None:
    unknown = [name for name in call.query.names() if not _ID_PARAMETER.match(name)]
    if unknown:
        raise invalid_parameter(
            unknown[0][:80],
            "This request takes no parameter but id, so that a misspelt one cannot empty the source.",
        )
    ids = call.query.numbered("id")
    for text in ids:
        problem = id_problem(text)
        if problem:
            raise invalid_parameter("id", problem)
    return ids or None


async def delete_source(call: Call) -> Answer:
    """Delete the source with everything in it."""
    values = call.values()
    outcome = await call.services.content.delete_source(call.access, call.source, values["confirm"])
    return Answer(status=202, body=EMPTY_LIST, version=outcome.version)
