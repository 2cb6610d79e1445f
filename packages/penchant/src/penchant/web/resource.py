"""Order of checks: how a request for a path is let in, handled and answered.

The order is the interface's (section 1). The application has checked path (400) and route (404); a `Resource` checks
method 405, key 401, rate 429, plan 403, source 404, content type 415 and size 413. What remains (syntax, entries,
shape, pieces) depends on the operation, whose handler checks it.
"""

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Collection, Hashable, Mapping, Sequence
from operator import methodcaller
from urllib.parse import quote

from msgspec.structs import replace
from starlette.responses import StreamingResponse

from penchant.errors import (
    NotInBrowsers,
    Overloaded,
    PenchantError,
    RateExceeded,
    Unauthenticated,
    WrongMethod,
    invalid_parameter,
)
from penchant.model import Feature, Scope
from penchant.service.access import Access, AccessControl
from penchant.service.lists.inclusion import OutdatedAnswer, PieceInclusion
from penchant.web.bodies import require_media_type
from penchant.web.exchange import RequestExchange
from penchant.web.operations import (
    KEY_HEADER,
    NOBODY,
    RAW_KEY_HEADER,
    AdmittedCaller,
    Answer,
    Call,
    Operation,
    Reader,
    body_tag,
    keys_of,
    signed_users,
)
from penchant.web.parameters import INCLUDE, NARROWING
from penchant.web.query import ParameterPlan, PathParameters, QueryParameters
from penchant.web.remembering import Headers, SentAnswer, find_answer, place_of
from penchant.web.repeating import send_to_keep
from penchant.wire import encode

INCLUDE_ATTEMPTS = 20
INCLUDE_PAUSE_S = 0.01
"""How often a list is made whose pieces change while they are read, and the pause between."""
MAX_IGNORED = 20
"""Unknown parameters that the header ``x-penchant-ignored`` names."""


_ENCODED = methodcaller("encode", "latin-1")
_OF_BODY = frozenset({b"content-type", b"content-length"})


class Resource:
    """A path with its operations by method; GET answers HEAD too."""

    def __init__(self, operations: Mapping[str, Operation]) -> None:
        self._template = next(iter(operations.values())).path
        self._operations = {method: CheckedOperation(each, self._template) for method, each in operations.items()}
        allowed = list(operations)
        if "GET" in operations:
            # The same handler: `_respond` leaves the body out.
            self._operations["HEAD"] = self._operations["GET"]
            allowed.insert(allowed.index("GET") + 1, "HEAD")
        self._allow = ", ".join(allowed)

    def answer(self, exchange: RequestExchange, path: PathParameters, query: QueryParameters) -> Awaitable[None]:
        """Return what answers a request whose decoded path parameters and query these are, and raises as this does.

        Raises:
            PenchantError: it cannot be answered; nothing is sent yet.
        """
        exchange.template = self._template
        checked = self._operations.get(exchange.method)
        if checked is None:
            raise WrongMethod(f"This address takes {self._allow}.", allow=self._allow)
        return checked.answer(exchange, path, query)


async def _send_again(call: Call, found: SentAnswer) -> None:
    """Send an answer that was sent before."""
    if found.etag is not None and _is_unchanged(call, found.etag):
        await call.exchange.send_whole(304, [each for each in found.headers if each[0] not in _OF_BODY], b"")
    else:
        body = b"" if call.exchange.method == "HEAD" else found.body
        await call.exchange.send_whole(200, found.headers, body, found.forms)


class CheckedOperation:
    """An operation, with what its row says of every request worked out once.

    ``template`` is the path at which it is served: its own, or one that is a piece's as well.
    """

    def __init__(self, operation: Operation, template: str) -> None:
        self.operation = operation
        self._piece_id = None if operation.path == template else template.rpartition("/")[2]
        self._reads_body = operation.reads_body
        self._fixed_headers: Mapping[str, str] = {}
        if operation.personal:
            self._fixed_headers = {"cache-control": "no-store"}
        elif not operation.public:
            # A browser may keep it, but asks each time; what another key gets may differ.
            self._fixed_headers = {"cache-control": "private, no-cache", "vary": KEY_HEADER}
        self._people_in_request = operation.about.in_request
        self._stores = operation.stores
        self._narrowing = ParameterPlan([each for each in NARROWING if each in operation.parameters])
        # The second kind needs no source, the third finds out by the read that it does anyway.
        self._looks_for_source = operation.has_source and not (operation.creates_source or operation.finds_source)
        self._includes = INCLUDE in operation.parameters

    async def answer(self, exchange: RequestExchange, path: PathParameters, query: QueryParameters) -> None:
        """Answer a request for it; raises as `Resource.answer`."""
        operation = self.operation
        if self._piece_id is not None:
            exchange.template = operation.path
            path = PathParameters({**path, "contentID": self._piece_id})
            path.check()
        caller = None if operation.public else await self._admit(exchange, path, query)
        try:
            media_type, body = await _read_body(exchange, operation) if self._reads_body else ("", b"")
            call = Call(
                exchange=exchange,
                operation=operation,
                path=path,
                query=query,
                caller=caller,
                media_type=media_type,
                body=body,
            )
            if operation.reader is not None:
                call = await _prepare(call, operation.reader)
            # Without a head the database is away.
            head = None if caller is None or not operation.remembered else caller.head
            place = None if head is None else place_of(call, head)
            if head is not None and place is not None and (found := await find_answer(call, head, place)) is not None:
                await send_to_keep(call, place, functools.partial(_send_again, call, found))
                return
            answer = await self._answered(call)
        except PenchantError:
            if operation.finds_source and caller is not None:
                # That there is no such source goes before what is wrong with the body.
                await exchange.services.views.existing(caller.access.account_id, path["source"])
            raise
        await _respond(call, answer, self._fixed_headers, place)

    async def _admit(self, exchange: RequestExchange, path: PathParameters, query: QueryParameters) -> AdmittedCaller:
        """Return who sends a request, after the checks of key, rate, origin, role, scope, plan and source, in turn."""
        services, operation = exchange.services, self.operation
        reading = None if self._stores else exchange.reading
        access = reading or exchange.access or await _authenticate(exchange)
        people = () if self._people_in_request is None else self._people_in_request(path, query)
        if access.is_browser and people and operation.in_browsers and operation.scope in access.scopes:
            # What the key may not do at all is said first, and whoever is signed.
            services.access.require_person(access, signed_users(exchange.headers, query), people)
        if exchange.access is None:
            if access.has_rate:
                await count_request(exchange, access)
                services.access.require_origin(access, exchange.headers.get("origin"))
            else:
                services.database.serve(access.account_id)
        # Here, since 429 goes before 403. Whatever is refused from here on, the exchange takes it back at its end.
        if operation.counted:
            exchange.counted(await services.usage.reserve(access))
        # What a key may do does not change as long as it is remembered: it is found out once.
        leave = (self, bool(people))
        if leave not in access.leaves:
            self._require_leave(access, people)
            access.leaves.add(leave)
        if not access.filters and self._narrowing.is_named(query):
            services.access.require(access, Feature.FILTERS)
        # A name that no source can have is 400 and costs no read; only then is the source looked for.
        if path.source_problem:
            raise invalid_parameter("source", path.source_problem)
        head = await services.views.existing(access.account_id, path["source"]) if self._looks_for_source else None
        return AdmittedCaller(access=access, head=head)

    def _require_leave(self, access: Access, people: Collection[str]) -> None:
        """Check what a key is limited to, given whether a request names people so far.

        Raises:
            NotAnAdmin: it has not the role for the operation.
            OutsideScope: it has not the scope of the operation, or of asking for people.
            NotInBrowsers: it is a browser key, and the operation is not for pages.
            NotATenant, FeatureNotInPlan: it is one of no account, or the plan has not the feature.
        """
        control, operation = AccessControl, self.operation
        if operation.admin:
            control.require_admin(access)
            return
        control.require_tenant(access)
        needed = [each for each in (operation.scope, operation.about.scope if people else None) if each is not None]
        # Of what pages may never do, a write says which scope it needs, as to any key without it, unless the row does
        # not (interface, section 2).
        if access.is_browser and not operation.in_browsers:
            names_scope = operation.about is NOBODY and operation.scope is Scope.WRITE and operation.names_scope
            needed = needed if names_scope else []
        for scope in needed:
            control.require_scope(access, scope)
        if access.is_browser and not operation.in_browsers:
            raise NotInBrowsers(
                "A browser key is public, and this is not for pages: it is about more than the person who is signed, "
                "or tells more than may be shown now. Ask it from your server."
            )
        if operation.feature is not None:
            control.require(access, operation.feature)

    async def _answered(self, call: Call) -> Answer:
        """Return the answer of the handler as bytes, its entries with the members of pieces that the request names.

        Raises:
            OutsideScope: a key that may not read pieces asks for members of them.
        """
        wanted: Sequence[str] = ()
        if self.operation.includes is not None:
            wanted = self.operation.includes(call.decoded)
        elif self._includes:
            wanted = call.values().known["include"]
        if not wanted:
            answer = await self.operation.handler(call)
            return answer if answer.result is None else _encoded(call, answer, encode(answer.result))
        AccessControl.require_scope(call.access, Scope.READ)
        for _ in range(INCLUDE_ATTEMPTS):
            answer = await self.operation.handler(call)
            view = await call.view()
            assert answer.result is not None  # noqa: S101  # what takes the parameter answers with a result
            if view.head.version == answer.version:
                with contextlib.suppress(OutdatedAnswer):
                    encoding = call.services.of(PieceInclusion).encode(
                        view, answer.result, wanted, is_public=call.is_in_browser
                    )
                    return _encoded(call, answer, await encoding)
            # Whichever was the newer one: let the change reach this process, and read the head anew.
            await asyncio.sleep(INCLUDE_PAUSE_S)
            call = call.without_head()
        raise Overloaded("The source changes faster than its pieces can be read; send it again.", retry_after_s=1)


def _encoded(call: Call, answer: Answer, body: bytes) -> Answer:
    """Return an answer with the body that its result became, and with the tag of that where the operation has tags."""
    return replace(answer, body=body, etag=body_tag(body, call.tag_key) if call.operation.has_etag else None)


async def _authenticate(exchange: RequestExchange) -> Access:
    """Return who sends a request."""
    # The key was looked at on the way in, before it was the request's turn.
    access = exchange.services.access.still_accepted(exchange.accepted)
    if access is None:
        access = await authenticate(exchange, keys_of(exchange.scope, exchange.headers))
    if access.is_browser:
        exchange.browser_key = access.key_id
    elif RAW_KEY_HEADER not in exchange.headers.first:
        # Addresses are logged and shown: only a key that is public anyway may be in one.
        raise Unauthenticated("Only a browser key may be given in the query; send the header x-api-key.")
    return access


async def authenticate(exchange: RequestExchange, keys: list[str]) -> Access:
    """Return who sends a request with these keys.

    Raises:
        Unauthenticated: not exactly one key, or one that is not known, after a while.
    """
    control = exchange.services.access
    try:
        access = await control.authenticate(keys)
    except Unauthenticated:
        # Only a refusal waits: a right key from the same address is answered at once.
        await control.failed_keys.slow_down(exchange.client_address())
        raise
    if access.is_browser:
        exchange.browser_key = access.key_id
    return access


async def count_request(exchange: RequestExchange, access: Access) -> None:
    """Count a request against the rate of its key and, of a browser key, against that of the address it came from."""
    control = exchange.services.access
    exchange.rate = await control.count_request(access)
    if exchange.rate is not None and exchange.rate.exceeded:
        raise RateExceeded(f"The key's plan allows {exchange.rate.limit} requests a second.", retry_after_s=1)
    if access.is_browser:
        exchange.rate = await control.count_address(access, exchange.client_address())
        if exchange.rate.exceeded:
            raise RateExceeded(
                f"The browser key allows {exchange.rate.limit} requests a second from one address. Where all people "
                "come through a proxy of yours, name it in the setting trusted-proxies.",
                retry_after_s=1,
            )


async def _prepare(call: Call, read: Reader) -> Call:
    """Return the call with its body decoded, which says whom it is about or how many answers it wants.

    Raises:
        NotSigned: a page names somebody else than the person who is signed.
        OutsideScope: the key may not ask for people.
        QuotaExceeded: the month's answers are used up.
    """
    # What is wrong with the query goes first.
    call.values()
    decoded = await read(call)
    access, operation = call.access, call.operation
    about = operation.about
    people = about.in_body(decoded)
    if people:
        if about.scope is not None:
            AccessControl.require_scope(access, about.scope)
        signed = signed_users(call.headers, call.query)
        call.services.access.require_person(access, signed, people, mark=functools.partial(about.mark, decoded))
    if operation.answers is not None and (more := operation.answers(decoded) - 1) > 0:
        # The first one is counted already.
        call.exchange.counted(await call.services.usage.reserve(access, more))
    return replace(call, decoded=decoded)


async def _read_body(exchange: RequestExchange, operation: Operation) -> tuple[str, bytes]:
    """Return the media type and the body of a request."""
    media_type = require_media_type(exchange.headers, operation.media_types)
    return media_type, await exchange.read_body(operation.body_kind)


async def _respond(call: Call, answer: Answer, fixed: Mapping[str, str], place: Hashable | None) -> None:
    """Send an answer: in full, as a stream, without body to HEAD, or as a 304 to who has it already.

    Where it may be kept for who asks the same again, that is at ``place``.
    """
    exchange = call.exchange
    is_head = exchange.method == "HEAD"
    has_some = b"if-none-match" in exchange.headers.first
    is_unchanged = has_some and answer.etag is not None and _is_unchanged(call, answer.etag)
    headers = _answer_headers(call, answer, fixed)
    # A stream that is not sent holds a read transaction; none of the ways below would end it.
    if answer.close is not None and (is_unchanged or is_head):
        await answer.close()
    if is_unchanged:
        await exchange.send_whole(304, _raw(headers), b"")
        return
    headers["content-type"] = answer.media_type
    if isinstance(answer.body, bytes):
        headers["content-length"] = str(len(answer.body))
        raw = _raw(headers)
        if place is not None and answer.basis is not None and answer.version is not None and not exchange.is_stale:
            user_id = call.path.get("userID")
            sent = SentAnswer(headers=raw, body=answer.body, etag=answer.etag, user_id=user_id, cursor=answer.cursor)
            nbytes = sent.nbytes + len(call.raw_query)
            exchange.services.lists.answers.keep(place, answer.version, answer.basis, sent, nbytes)
        await exchange.send_whole(answer.status, raw, b"" if is_head else answer.body)
        return
    # Streamed nothing to HEAD, since a length of 0 would be a false one.
    stream = iter(()) if is_head else answer.body
    try:
        # By `exchange.send`, which gives up on clients that read too slowly.
        await StreamingResponse(stream, answer.status, headers=headers)(exchange.scope, exchange.receive, exchange.send)
    finally:
        # Also where the client is gone before the stream has begun, and nothing of it was made.
        if answer.close is not None:
            await answer.close()


def _raw(headers: Mapping[str, str]) -> Headers:
    return list(zip(map(_ENCODED, headers), map(_ENCODED, headers.values()), strict=True))


def _is_unchanged(call: Call, etag: str) -> bool:
    first = call.exchange.headers.first.get(b"if-none-match")
    if first is None:
        return False
    given = first.decode("latin-1")
    # Weak comparison (RFC 9110, section 8.8.3.2), as If-None-Match asks for: the mark W/ makes no difference.
    tags = {tag.strip().removeprefix("W/").strip('"') for tag in given.split(",")}
    return given.strip() == "*" or etag in tags


def _answer_headers(call: Call, answer: Answer, fixed: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of an answer: what the handler said, versions, caching, and what was ignored of the query."""
    headers = {**answer.headers, **fixed}
    if "vary" in answer.headers and "vary" in fixed:
        headers["vary"] = ", ".join([fixed["vary"], *answer.headers["vary"].split()])
    if answer.version is not None:
        headers["x-penchant-version"] = str(answer.version)
    if call.exchange.is_stale:
        headers["x-penchant-stale"] = "true"
    if answer.etag is not None:
        headers["etag"] = f'W/"{answer.etag}"'
    if call.query.given and not call.operation.public:
        ignored = call.ignored()
        if ignored:
            # Names come from the query: quoted, so that none ends the header or begins another one.
            headers["x-penchant-ignored"] = ", ".join(_header_safe(name) for name in ignored[:MAX_IGNORED])
    return headers


def _header_safe(name: str) -> str:
    return quote(name[:100], safe="-_.[]")
