"""Similar answers: lists by content alone, remembered as the JSON that requests get."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from penchant.live.views import View
from penchant.service.lists.answers import view_of
from penchant.wire import encode
from penchant_engine.bounded_cache import BoundedCache
from penchant_engine.lists.requests import SimilarRequest, moment_of
from penchant_engine.lists.similar import SimilarRanking

ENTRY_BYTES = 600
"""Memory of an entry beside its body: key, request, tuple and slot of the table."""
FILTER_RATIO = 8
"""How many times the length of its text a filter takes in memory: its conditions are objects."""


class _AnswerKey(NamedTuple):
    source_id: int
    incarnation: int
    epoch: int
    version: int
    request: SimilarRequest


@dataclass(frozen=True, slots=True)
class _CachedAnswer:
    """A body, and the moments (ms since 1970 UTC), from and until, for which the same pieces are available."""

    body: bytes
    since: int
    until: int


class SimilarAnswers:
    """Cache of the JSON of lists of similar pieces; beyond ``limit_bytes`` the least recently requested ones go.

    For the event loop only. What it remembers changes no answer. ``hits`` and ``misses`` count what was and what was
    not remembered.
    """

    def __init__(self, *, limit_bytes: int) -> None:
        self._answers: BoundedCache[_AnswerKey, _CachedAnswer] = BoundedCache(limit_bytes)
        self.hits = 0
        self.misses = 0

    @property
    def nbytes(self) -> int:
        """How much memory the answers take."""
        return self._answers.weight

    async def encoded(self, ranking: SimilarRanking, answer: Callable[[SimilarRanking], Awaitable[Any]]) -> bytes:
        """Return a list that goes by content alone as JSON, as ``answer`` makes it; raises as its `require`."""
        view, request = view_of(ranking.view), ranking.request
        if view.known_at is not None:
            # An answer may be remembered that others, who know of more pieces, have asked for.
            view.require(request.piece_id)
        # That of the ranking, before the search: a window that opens meanwhile ends the answer, never lengthens it.
        key, moment = _key_of(view, request), moment_of(request.at, ranking.now)
        body = self._cached(key, moment)
        if body is None:
            body = encode(await answer(ranking))
            self._remember(key, body, view.snapshot.window(moment))
        return body

    def _cached(self, key: _AnswerKey, moment: int) -> bytes | None:
        """Return a remembered answer that holds for a moment."""
        cached = self._answers.get(key)
        if cached is not None and cached.since <= moment < cached.until:
            self.hits += 1
            return cached.body
        self.misses += 1
        return None

    def _remember(self, key: _AnswerKey, body: bytes, window: tuple[int, int]) -> None:
        """Remember an answer for the moments from and until which the same pieces are available."""
        size, request = len(body) + ENTRY_BYTES, key.request
        filters = [boost.matching for boost in request.boosts]
        filters += [] if request.matching is None else [request.matching]
        size += FILTER_RATIO * sum(len(each.text) for each in filters)
        self._answers.put(key, _CachedAnswer(body, *window), weight=size)


def _key_of(view: View, request: SimilarRequest) -> _AnswerKey:
    head = view.head
    return _AnswerKey(head.source_id, head.incarnation, head.epoch, head.version, request)
