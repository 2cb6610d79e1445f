"""Similar content: the pieces near a piece, by keywords, by what people like, or by both.

A list by keywords follows from the source's version, the request and the availability windows alone. So its encoded
answer stays the same, and is remembered (`SimilarAnswers`), until the next change of the source, which raises the
version, or until a window opens or closes (D74 of docs/decisions.md).
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from penchant.bounded_cache import BoundedCache
from penchant.computed import computed
from penchant.errors import TooFewPieces
from penchant.index import (
    LEAST_PEOPLE,
    Audience,
    Availability,
    Filter,
    MeanQuery,
    PartQuery,
    SharedAudience,
    SharedQuery,
    SimilarityQuery,
    TermShares,
    similarity_shares,
)
from penchant.live.views import View
from penchant.model import Basis, IndexedPiece
from penchant.service.lists.hurdles import Hurdle
from penchant.service.lists.ranking import ListRanking, named_terms
from penchant.service.lists.requests import SimilarRequest, moment_of
from penchant.wire import (
    ExplainedResult,
    RecommendationResult,
    SimilarWhy,
    encode,
)

SAME_PIECE = "A piece is never in its own list."
MINIMUM_POOL = 2
"""Pieces that similar content needs in the source (specification, Limits)."""
_CONTENT_PART = {Basis.CONTENT: 1.0, Basis.AUDIENCE: 0.0, Basis.BOTH: 0.5}
"""How much of a similarity the keywords are."""
_NOTHING_IN_COMMON = {
    Basis.CONTENT: "The two pieces share no keyword that counts.",
    Basis.AUDIENCE: "That people like the one says nothing for the other.",
    Basis.BOTH: "The two pieces share no keyword that counts, and likes of the one say nothing for the other.",
}


def require_neighbours(view: View, piece_id: str) -> None:
    """Raise `UnknownPiece` or `TooFewPieces` where a source with too few pieces has no list for one."""
    if view.snapshot.piece_count < MINIMUM_POOL:
        view.require(piece_id)
        raise TooFewPieces("The source has one piece only; similar content needs at least two.")


class SimilarRanking(ListRanking[SimilarRequest]):
    """The pieces near a piece, or near a draft, whose own id, blank for none, is that of the request.

    ``audience`` is there where the list goes by it.
    """

    def __init__(
        self,
        view: View,
        request: SimilarRequest,
        now: int,
        audience: Audience | None = None,
        draft: IndexedPiece | None = None,
    ) -> None:
        super().__init__(view, request, now, None if audience is None else audience.version)
        self._shared: SharedAudience | None = None if audience is None else audience.shared_with(request.piece_id)
        self._draft = draft

    def require(self) -> None:
        """Raise where there is no such list.

        Raises:
            UnknownPiece: the source has no such piece.
            TooFewPieces: the source has fewer than two.
        """
        if self._draft is None:
            require_neighbours(self.view, self.request.piece_id)
            _ = self.keywords

    @property
    def is_quick(self) -> bool:
        """Whether the list is made within the event loop: where it goes by content, by one kernel."""
        return self._shared is None and not self.is_arranged

    @computed
    def shown(self) -> Filter:
        """Which pieces may be listed: not the one that a draft would replace."""
        shown = super().shown
        if self._draft is None:
            return shown
        return replace(shown, omitted=shown.omitted | {self.request.piece_id})

    @computed
    def keywords(self) -> SimilarityQuery:
        """What pieces are near to by their keywords.

        Raises:
            UnknownPiece: the source has no such piece.
        """
        request, weights = self.request, self.view.settings.category_factors
        if self._draft is not None:
            return SimilarityQuery.of_draft(self._draft, request.algorithm, weights)
        if self.view.known_at is not None:
            # The source may have it, and who asks not know it.
            self.view.require(request.piece_id)
        return self.view.snapshot.asked(request.piece_id, request.algorithm, weights)

    @computed
    def query(self) -> PartQuery:
        """What finds similar content by what the request goes by: content alone without an audience."""
        if self._shared is None:
            return self.keywords
        return (SharedQuery if self.request.by is Basis.AUDIENCE else MeanQuery)(self._shared, self.keywords)

    def result(self, *, explain: bool = False) -> RecommendationResult | ExplainedResult:
        """Return the list, of a draft without an id for none; raises as `require`."""
        self.require()
        if explain:
            return ExplainedResult(id=self.request.piece_id or None, content=self.explained())
        return RecommendationResult(id=self.request.piece_id, content=self.content())

    def barriers(self, piece_id: str, offer: Availability) -> Iterator[Hurdle[SimilarRequest]]:
        """Yield what forbids to show a piece in this list, whatever the list is by."""
        yield from super().barriers(piece_id, offer)
        if self._draft is None and piece_id == self.request.piece_id:
            yield Hurdle(code="same-piece", detail=SAME_PIECE)

    def hurdles(self, piece_id: str, offer: Availability) -> Iterator[Hurdle[SimilarRequest]]:
        """Yield what keeps a piece out of this list, whatever the others are."""
        yield from super().hurdles(piece_id, offer)
        if self.key(piece_id) is None:
            yield Hurdle(code="nothing-in-common", detail=_NOTHING_IN_COMMON[self.request.by])

    def why(self, piece_id: str, *, listed: bool) -> SimilarWhy:
        """Return what makes a piece similar, and, of one that is listed, what moved it."""
        part = _CONTENT_PART[self.request.by]
        shares = similarity_shares(self.keywords, self.view.snapshot, piece_id, part) if part else TermShares()
        terms, rest = named_terms(shares)
        rules = self._moving_rules(piece_id, listed=listed)
        return SimilarWhy(terms=terms, rest=rest, audience=self._audience_share(piece_id), rules=rules)

    def _audience_share(self, piece_id: str) -> float | UnsetType:
        """Return what people add who like both pieces; not told of fewer than three."""
        likes = None if self._shared is None else self._shared.likes_of(piece_id)
        if likes is None or likes.people < LEAST_PEOPLE:
            return UNSET
        return min(1.0, likes.share) * (1 - _CONTENT_PART[self.request.by])


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
        view, request = ranking.view, ranking.request
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
