"""Repeated requests: who sends the same bytes again is sent the same bytes, before anything of them is read.

That stands before all checks, so it is done only where none of them can come out otherwise: for a key that was
accepted a moment ago, grants what it granted, and has no rate and no quota, where nothing that is stored was changed,
since the mark of the database is the same. PostgreSQL has no mark: there each request goes the whole way.
"""

import functools
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from starlette.types import Message, Scope, Send

from penchant.service import Services
from penchant.service.access import Access, hash_secret
from penchant.settings import NodeSettings
from penchant.storage import SourceHead
from penchant.web.exchange import REQUEST_ID_HEADER
from penchant.web.operations import RAW_KEY_HEADER, Call
from penchant.web.remembering import Headers, place_of

_EACH_ANOTHER = (REQUEST_ID_HEADER, b"traceparent")
"""Headers that no two requests have alike."""


class RepeatedAnswer(NamedTuple):
    """A whole answer as it went out, without its request's id, and what must be so for it to go out again.

    ``key`` is the hash of the key, which has to grant ``access``; ``mark`` the database's, under which the source stood
    at ``head``. ``is_counted`` says whether it counts among the answers of the account, ``template`` its route.
    """

    key: bytes
    access: Access
    mark: int
    head: SourceHead
    settings: NodeSettings
    is_counted: bool
    method: str
    template: str
    status: int
    headers: Headers
    body: bytes

    async def send(self, send: Send, request_id: str) -> None:
        """Send it to a request of this id."""
        headers = [*self.headers, (REQUEST_ID_HEADER, request_id.encode())]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def find_repeated(scope: Scope, services: Services) -> RepeatedAnswer | None:
    """Return what a request is answered, if that is known before it is read."""
    mark = services.database.storage.mark
    if mark is None:
        return None
    whole = services.lists.answers.find_whole(_bytes_of(scope))
    if whole is None:
        return None
    answer: RepeatedAnswer = whole.value
    if answer.mark != mark or answer.settings is not services.settings:
        return None
    inputs = services.lists.inputs
    now = inputs.present(answer.head)
    if not whole.holds(now, functools.partial(inputs.settled_audience, answer.head, now)):
        return None
    if not services.access.still_grants(answer.key, answer.access):
        return None
    services.lists.answers.hits += 1
    return answer


async def send_to_keep(call: Call, send: Callable[[], Awaitable[None]]) -> None:
    """Have a remembered answer sent, by ``send()``, and keep what goes out for who sends the same bytes."""
    mark = _mark_of(call)
    if mark is None:
        await send()
        return
    exchange = call.exchange
    messages = exchange.record()
    await send()
    if len(messages) == 2:
        _keep(call, mark, messages)


def _keep(call: Call, mark: int, messages: list[Message]) -> None:
    assert call.caller is not None  # noqa: S101  # there is no mark without one
    assert call.caller.head is not None  # noqa: S101  # as above
    (start, body), exchange, head = messages, call.exchange, call.caller.head
    headers = [each for each in start["headers"] if each[0] != REQUEST_ID_HEADER]
    answer = RepeatedAnswer(
        key=hash_secret(exchange.headers.first[RAW_KEY_HEADER].decode("latin-1")),
        access=call.caller.access,
        mark=mark,
        head=head,
        settings=call.services.settings,
        is_counted=call.operation.counted and start["status"] == 200,
        method=exchange.method,
        template=exchange.template,
        status=start["status"],
        headers=headers,
        body=body["body"],
    )
    request = _bytes_of(exchange.scope)
    nbytes = len(answer.body) + sum(len(name) + len(value) for name, value in (*headers, *request[-1]))
    place = place_of(call, head)
    place = (place, call.path["userID"]) if call.operation.personal else place
    call.services.lists.answers.keep_whole(request, place, answer, nbytes)


def _mark_of(call: Call) -> int | None:
    """Return the mark under which the same bytes will be answered the same; ``None`` where they may not."""
    exchange, caller = call.exchange, call.caller
    if caller is None or caller.head is None or exchange.access is not None or exchange.is_stale:
        return None
    access, given, services = caller.access, exchange.headers.first, call.services
    if access.has_rate or access.quota is not None or any(each in given for each in _EACH_ANOTHER):
        return None
    # What it says of TLS follows from the address that a request comes from, too.
    if services.settings.hsts_max_age_s or exchange.headers.has_repeated:
        return None
    return services.views.heads.mark_of((caller.head.account_id, caller.head.name), caller.head)


def _bytes_of(scope: Scope) -> tuple[Any, ...]:
    """Return all of a request that an answer may follow from; one with a body is never kept."""
    return (scope["method"], scope["raw_path"], scope["query_string"], scope["http_version"], tuple(scope["headers"]))
