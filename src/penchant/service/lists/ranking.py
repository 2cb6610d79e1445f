"""Rankings: a list over one view, and how any piece of its source stands to it.

A ranking orders pieces by a whole number, its key, the least one first: a distance, or an s with its sign turned. So
"how many are ahead" is one comparison of keys, with the tie rule of the search itself. Nothing here is read or awaited.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Literal, TypeVar

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from penchant import ranking
from penchant.attributes import BOOST_SCALE
from penchant.index import (
    DISTANCE_SCALE,
    Availability,
    Booster,
    Filter,
    PartQuery,
    ScoreParts,
    TermShares,
    best_of,
    key_of,
    tellable,
)
from penchant.live.views import View
from penchant.model import MAX_TAKE, Term
from penchant.service.lists.hurdles import Hurdle, common_hurdles
from penchant.service.lists.requests import PersonalRequest, PlainRequest, SimilarRequest, moment_of
from penchant.tracing import tracing
from penchant.wire import (
    KeywordShare,
    MovingRule,
    PartShare,
    PieceShare,
    PlacedPiece,
    PlacedWhy,
    RecommendedPiece,
    TermRest,
)


def named_terms(
    shares: TermShares, stated: Mapping[Term, float] = MappingProxyType({})
) -> tuple[list[KeywordShare], TermRest | UnsetType]:
    """Return the terms that an explanation names, those marked that the person stated, and what the others add."""

    def liking(term: Term) -> Literal["liked", "disliked"] | UnsetType:
        weight = stated.get(term)
        return UNSET if weight is None else "liked" if weight > 0 else "disliked"

    named = [
        KeywordShare(category=term.category, keyword=term.keyword, share=share, stated=liking(term))
        for term, share in shares.named
    ]
    return named, TermRest(count=shares.others, share=shares.rest) if shares.others else UNSET


def part_shares(parts: ScoreParts, stated: Mapping[Term, float]) -> list[PartShare]:
    """Return what the parts of a blend add, with the keywords that the person stated marked."""
    pieces = [
        PieceShare(id=like.id, share=like.share, through=UNSET if like.through is None else like.through)
        for like in tellable(parts.likes)
    ]
    terms, rest = named_terms(parts.terms, stated)
    return [
        PartShare(part="content", share=parts.content, terms=terms, rest=rest),
        PartShare(part="audience", share=parts.audience, pieces=pieces),
        PartShare(part="popularity", share=parts.popularity),
        PartShare(part="new", share=parts.new),
    ]


Entry = tuple[str, float]
"""A piece of a list and its score."""
QUICK_PIECES = 20_000
"""Of so many pieces a list takes less than a millisecond: to hand it to a thread takes as long.

A varied one takes longer than that of however many.
"""
Query = TypeVar("Query", SimilarRequest, PlainRequest, PersonalRequest)


class ListRanking(ABC, Generic[Query]):
    """The list of a request at a moment; ``audience_version`` tells what it knows of people, ``None`` where nothing.

    `require` raises where there is no such list; the rest may be asked for then, in any order, by one thread at a time.
    """

    zero: ClassVar[int] = DISTANCE_SCALE
    """The key of a piece that nothing speaks for."""
    has_whitelist: ClassVar[bool] = True
    """Whether the source's whitelist raises pieces of the list."""

    def __init__(self, view: View, request: Query, now: int, audience_version: int | None = None) -> None:
        self.view = view
        self.request: Query = request
        self.now = now
        self.audience_version = audience_version
        self._keys: dict[str, int | None] = {}

    def require(self) -> None:  # most lists are always there
        """Raise where there is no such list."""

    @property
    def is_quick(self) -> bool:
        """Whether the list is made within the event loop: to hand it to a thread would take as long."""
        return False

    @property
    @abstractmethod
    def query(self) -> PartQuery:
        """What the list is searched by."""

    @abstractmethod
    def result(self, *, explain: bool = False) -> Any:
        """Return the answer to the request, with reasons if they are asked for and the answer has any."""

    @abstractmethod
    def why(self, piece_id: str, *, listed: bool) -> Any:
        """Return what makes any piece what it is in this list and, of one that a list may show, what moved it."""

    def content(self) -> list[RecommendedPiece]:
        """Return the list without reasons."""
        return [RecommendedPiece(id=each, score=score) for each, score in self.listed]

    def placed(self, *, explain: bool = False) -> list[PlacedPiece]:
        """Return the list as entries of a placement."""
        if not explain:
            return [PlacedPiece(id=each, score=score) for each, score in self.listed]
        return [
            PlacedPiece(id=each, score=score, why=PlacedWhy(**asdict(self.why(each, listed=True))))
            for each, score in self.listed
        ]

    @cached_property
    def shown(self) -> Filter:
        """Which pieces may be listed."""
        request, view = self.request, self.view
        return Filter(
            moment=moment_of(request.at, self.now),
            catalogs=request.catalogs,
            matching=request.matching,
            blacklisted=view.blacklisted,
            omitted=request.exclude,
        )

    @cached_property
    def booster(self) -> Booster:
        """The boosts of the request."""
        return Booster(self.request.boosts, self.zero, self.view.snapshot)

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """All that ``take`` is cut from, in order: the least keys first, but for those on the whitelist."""
        nearest = [(piece_id, self._shown_score(key)) for key, piece_id in self._best(self.shown, MAX_TAKE)]
        if not (self.has_whitelist and self.view.whitelist):
            return nearest
        scores = dict(nearest)
        return [(each, scores[each]) for each in ranking.promoted(list(scores), self.view.whitelist)]

    @property
    def listed(self) -> Sequence[Entry]:
        """The entries that are answered."""
        return self.entries[: self.request.take]

    def key(self, piece_id: str) -> int | None:
        """Return the key of a piece without boosts; ``None`` where the search never finds it."""
        # Hurdles, score and rank of a piece are asked for one after the other, and each key takes a scan.
        if piece_id not in self._keys:
            self._keys[piece_id] = key_of(self.view.snapshot, piece_id, self.query.scan)
        return self._keys[piece_id]

    def boosted_key(self, piece_id: str) -> int | None:
        """Return the key of a piece as the list counts it; ``None`` as `key`."""
        key = self.key(piece_id)
        return None if key is None else self.booster.key(piece_id, key)

    def ahead(self, piece_id: str) -> int:
        """Return how many of the shown pieces are better than one; 0 where the search never finds that."""
        key = self.key(piece_id)
        return 0 if key is None else self.booster.count_ahead(piece_id, key, self.shown, self.query)

    def score(self, piece_id: str) -> float:
        """Return the score of any piece, as the list would show it; 1 where nothing speaks for it."""
        key = self.boosted_key(piece_id)
        return 1.0 if key is None else self._shown_score(key)

    def hurdles(self, piece_id: str, offer: Availability) -> Iterator[Hurdle[Query]]:
        """Yield what keeps a piece out of this list, whatever the others are."""
        return common_hurdles(self.view, self.request, piece_id, offer, self.now)

    def _shown_score(self, key: int) -> float:
        return key / self.zero if key > 0 else 0.0

    def _best(self, shown: Filter, count: int) -> list[tuple[int, str]]:
        """Return keys and ids of so many of the best pieces, under the boosts of the request."""
        parts, query = self.view.snapshot.parts, self.query
        with tracing.span("search"):
            return self.booster.best(lambda shown: best_of(parts, query, shown, count), shown, count)

    def _boost_rules(self, piece_id: str) -> Iterator[MovingRule]:
        """Yield the boosts that count for a piece."""
        for place, boost in self.booster.held(piece_id):
            yield MovingRule(rule="boost", position=place, factor=boost.factor / BOOST_SCALE)

    def _whitelist_rules(self, piece_id: str) -> Iterator[MovingRule]:
        """Yield that the whitelist raises a piece, if it does."""
        if self.has_whitelist and piece_id in self.view.whitelist:
            yield MovingRule(rule="whitelist", position=self.view.whitelist.index(piece_id))
