"""Repeated requests: who sends the same bytes again is sent the same bytes, before anything of them is read.

That stands before all checks, so it is done only where none of them can come out otherwise: for a key that was
accepted a moment ago, grants what it granted, and has no rate and no quota, where the source is known to stand where it
stood, by the mark of the database. PostgreSQL has no mark: there each request goes the whole way.
"""

import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, NamedTuple

from starlette.types import Message, Scope, Send

from penchant.errors import Overloaded
from penchant.service import Services
from penchant.service.access import Access, hash_secret
from penchant.service.lists.answer_cache import WholeAnswer
from penchant.settings import NodeSettings
from penchant.storage import SourceHead
from penchant.telemetry import request_id
from penchant.web.exchange import REQUEST_ID_HEADER, note_request, request_id_of
from penchant.web.operations import RAW_KEY_HEADER, Call
from penchant.web.remembering import Headers

_EACH_ANOTHER = (REQUEST_ID_HEADER, b"traceparent")
"""Headers that no two requests have alike."""


class RepeatedAnswer(NamedTuple):
    """A whole answer as it went out, without its request's id, and what must be so for it to go out again.

    ``key`` is the hash of the key, which has to grant ``access``; ``head`` where the source has to stand.
    ``is_counted`` says whether it counts among the answers of the account, ``template`` its route.
    """

    key: bytes
    access: Access
    head: SourceHead
    settings: NodeSettings
    is_counted: bool
    method: str
    template: str
    status: int
    headers: Headers
    body: bytes

    async def send(self, services: Services, send: Send) -> bool:
        """Send it to a request when it is its turn, and count it; return ``False`` for one that has to be refused."""
        began = time.perf_counter()
        try:
            turn = services.admission.turn(self.access.account_id, is_brief=True)
        except Overloaded:
            return False
        if turn is not None:
            await turn
        if self.is_counted:
            services.usage.give(self.access)
        named = request_id_of(None)
        request_id.set(named)
        headers = [*self.headers, (REQUEST_ID_HEADER, named.encode())]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})
        note_request(services, self.method, self.template, self.status, time.perf_counter() - began)
        return True


def still_holding(whole: WholeAnswer, services: Services) -> RepeatedAnswer | None:
    """Return what a request was answered if it would be answered so now, as far as is known before it is read."""
    answers, inputs = services.lists.answers, services.lists.inputs
    answer: RepeatedAnswer = whole.value
    if answer.settings is not services.current.now or not services.views.heads.still_stands(answer.head):
        return None
    now = inputs.present(answer.head)
    if not whole.since <= now < whole.until:
        return None
    if whole.audience is not None and whole.audience() is not inputs.settled_audience(answer.head, now):
        return None
    if not services.access.still_grants(answer.key, answer.access):
        return None
    answers.hits += 1
    return answer


async def send_to_keep(call: Call, place: Hashable, send: Callable[[], Awaitable[None]]) -> None:
    """Have an answer of a place sent, by ``send()``, and keep what goes out for who sends the same bytes."""
    head = _head_of(call)
    if head is None:
        await send()
        return
    messages = call.exchange.record()
    await send()
    if len(messages) == 2:
        _keep(call, head, place, messages)


def _keep(call: Call, head: SourceHead, place: Hashable, messages: list[Message]) -> None:
    (start, body), exchange = messages, call.exchange
    headers = [each for each in start["headers"] if each[0] != REQUEST_ID_HEADER]
    answer = RepeatedAnswer(
        key=hash_secret(exchange.headers.first[RAW_KEY_HEADER].decode("latin-1")),
        access=call.access,
        head=head,
        settings=call.services.settings,
        is_counted=call.operation.counted and start["status"] == 200,
        method=exchange.method,
        template=exchange.template,
        status=start["status"],
        headers=headers,
        body=body["body"],
    )
    request = bytes_of(exchange.scope)
    nbytes = len(answer.body) + sum(len(name) + len(value) for name, value in (*headers, *request[-1]))
    place = (place, call.path["userID"]) if call.operation.personal else place
    call.services.lists.answers.keep_whole(request, place, answer, nbytes)


def _head_of(call: Call) -> SourceHead | None:
    """Return where the source stands as long as the same bytes are answered the same; ``None`` where they may not."""
    exchange, caller = call.exchange, call.caller
    if caller is None or caller.head is None or exchange.access is not None or exchange.is_stale:
        return None
    access, given, services = caller.access, exchange.headers.first, call.services
    if access.has_rate or access.quota is not None or any(each in given for each in _EACH_ANOTHER):
        return None
    # What it says of TLS follows from the address that a request comes from, too.
    if services.settings.hsts_max_age_s or exchange.headers.has_repeated:
        return None
    return caller.head if services.views.heads.still_stands(caller.head) else None


def bytes_of(scope: Scope) -> tuple[Any, ...]:
    """Return all of a request that an answer may follow from; one with a body is never kept."""
    return (scope["method"], scope["raw_path"], scope["query_string"], scope["http_version"], tuple(scope["headers"]))
