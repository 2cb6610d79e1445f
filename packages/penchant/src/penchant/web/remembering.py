"""Remembered answers: who asks again is sent the bytes of before, while all holds that they follow from.

The look-up stands behind all checks of a request and before its parameters are read. `AnswerCache` says what an answer
follows from; which answers are kept, their handlers say by `Answer.basis`.
"""

import contextlib
import functools
import itertools
from collections.abc import Callable, Hashable

import msgspec

from penchant.errors import InvalidInput
from penchant.live.views import View
from penchant.service.lists.answer_cache import AnswerCache
from penchant.service.lists.inputs import LiveInputs
from penchant.service.lists.paging import NEXT_HEADER
from penchant.storage import SourceHead
from penchant.web.compression import MINIMUM_BYTES
from penchant.web.operations import KEY_PARAMETER, MIN_AUDIENCE_VERSION_HEADER, RAW_MIN_VERSION_HEADER, Call
from penchant.web.parameters import AFTER, MIN_VERSION
from penchant.wire import encode

Headers = list[tuple[bytes, bytes]]
_NEXT, _LENGTH = NEXT_HEADER.encode(), b"content-length"
_MIN_AUDIENCE_VERSION = MIN_AUDIENCE_VERSION_HEADER.encode()
_KEY_QUERY, _MIN_VERSION_QUERY = f"{KEY_PARAMETER}=".encode(), MIN_VERSION.name.encode()


class SentAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A whole answer of status 200 as it is sent: headers, body and tag; whose it is, if anybody's.

    ``forms`` are the body by the codings in which it was sent. ``cursor`` makes what says where the list goes on, for a
    request that chooses the same one.
    """

    headers: Headers
    body: bytes
    etag: str | None
    user_id: str | None = None
    forms: dict[str, bytes] = msgspec.field(default_factory=dict)
    cursor: Callable[[Call, View], str] | None = None

    @property
    def nbytes(self) -> int:
        """How many bytes are sent, and may be kept in its forms, which are together no larger than the body."""
        forms = len(self.body) if len(self.body) >= MINIMUM_BYTES else 0
        return len(self.body) + forms + sum(map(len, itertools.chain.from_iterable(self.headers)))

    def sent_to(self, call: Call, user_id: str, view: View) -> "SentAnswer":
        """Return the answer for another one of those of whom nothing is known: they have all else in common."""
        body, own = self.body, b'{"id":' + encode(self.user_id)
        if body.startswith(own):
            body = b'{"id":' + encode(user_id) + body[len(own) :]
        headers = [(name, value) for name, value in self.headers if name not in {_NEXT, _LENGTH}]
        headers.append((_LENGTH, b"%d" % len(body)))
        if self.cursor is not None:
            headers.append((_NEXT, self.cursor(call, view).encode()))
        return msgspec.structs.replace(self, body=body, headers=headers, user_id=user_id, forms={})


async def find_answer(call: Call, head: SourceHead, place: Hashable) -> SentAnswer | None:
    """Return what a request was answered before, and would be answered now: kept at a place, where the source stands.

    Raises:
        PenchantError: what the handler would raise for want of the view, the person or what people like.
    """
    lists = call.services.lists
    if call.operation.personal:
        return await _find_personal(call, place, head, lists.answers, lists.inputs)
    found: SentAnswer | None = lists.answers.find(place, head.version, lists.inputs.present(head))
    return found


async def _find_personal(
    call: Call, place: Hashable, head: SourceHead, answers: AnswerCache, inputs: LiveInputs
) -> SentAnswer | None:
    """Return what a person was sent before, or another one of those of whom nothing is known."""
    now = inputs.present(head)
    # Nothing has happened since it was sent last, to whom it was sent.
    user_id, follows = call.path["userID"], call.operation.follows_audience
    own = (place, user_id)
    settled = functools.partial(inputs.settled_audience, head, now) if follows else None
    found: SentAnswer | None = answers.find_unchanged(own, head, now, settled)
    if found is not None:
        return found
    # What was never asked is read by the handler, which says what is wrong with it.
    if not answers.knows(place):
        return None
    call.check_path()
    view = await call.view()
    # The handler goes on with it, where nothing is found.
    call.exchange.view = view
    if view.stale:
        return None
    now = inputs.present(view.head)
    person = await inputs.present_person(view, user_id, now)
    # Who has done something since has figures of now: nothing was sent for these.
    audience = await inputs.audience(view, now) if follows and answers.knows(place, person) else None
    found = answers.find(place, view.head.version, now, person, audience)
    if found is None:
        return None
    if found.user_id != user_id:
        if call.values().known.get(AFTER.name) is not None:
            # A cursor is one person's: the handler refuses another's.
            return None
        found = found.sent_to(call, user_id, view)
    if view.head == head:
        answers.keep_unchanged(own, head, person, found, found.nbytes, settled)
    return found


def place_of(call: Call, head: SourceHead) -> Hashable | None:
    """Return where the answer to a request is kept: what it says, and what its key may see; ``None`` for nowhere."""
    query, headers = call.exchange.scope["query_string"], call.exchange.headers.first
    # A signature beside the key, or a version that is waited for, is not sent again.
    if _KEY_QUERY in query or _MIN_VERSION_QUERY in query or _MIN_AUDIENCE_VERSION in headers:
        return None
    if RAW_MIN_VERSION_HEADER in headers:
        least = None
        with contextlib.suppress(InvalidInput):
            least = call.min_version()
        if least is None or least > head.version:
            return None
    piece_id = call.path.get("contentID")
    return (head.source_id, head.incarnation, head.epoch, call.operation.name, piece_id, query, call.access.sees)
