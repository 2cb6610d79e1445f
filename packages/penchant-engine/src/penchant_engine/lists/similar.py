"""Similar content: the pieces near a piece, by keywords, by what people like, or by both.

A list by keywords follows from the source's version, the request and the availability windows alone. So its encoded
answer stays the same until the next change of the source, which raises the
version, or until a window opens or closes (D275 of docs/decisions.md).
"""

from collections.abc import Iterator

from msgspec.structs import replace

from penchant_engine.computed import computed
from penchant_engine.errors import TooFewPieces
from penchant_engine.index import Audience, Filter
from penchant_engine.index.boosting import Availability
from penchant_engine.index.people.explaining import LEAST_PEOPLE, TermShares, similarity_shares
from penchant_engine.index.people.shared_audience import MeanQuery, SharedAudience, SharedQuery
from penchant_engine.index.queries import PartQuery
from penchant_engine.index.similarity import SimilarityQuery
from penchant_engine.lists.exclusions import ExclusionReason
from penchant_engine.lists.ranking import ListRanking
from penchant_engine.lists.reasons import Reasons, named_terms
from penchant_engine.lists.requests import ListRequest
from penchant_engine.model import Basis, IndexedPiece
from penchant_engine.views import CatalogueView

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


def require_neighbours(view: CatalogueView, piece_id: str) -> None:
    """Raise `UnknownPiece` or `TooFewPieces` where a source with too few pieces has no list for one."""
    if view.snapshot.piece_count < MINIMUM_POOL:
        view.require(piece_id)
        raise TooFewPieces("The source has one piece only; similar content needs at least two.")


class SimilarRanking(ListRanking):
    """The pieces near a piece, or near one that is not stored, whose own id, blank for none, is that of the request.

    ``audience`` is there where the list goes by it.
    """

    def __init__(
        self,
        view: CatalogueView,
        request: ListRequest,
        now: int,
        audience: Audience | None = None,
        unstored: IndexedPiece | None = None,
    ) -> None:
        super().__init__(view, request, now, None if audience is None else audience.version)
        self._shared: SharedAudience | None = None if audience is None else audience.shared_with(request.piece_id)
        self._unstored = unstored

    def require(self) -> None:
        """Raise where there is no such list.

        Raises:
            UnknownPiece: the source has no such piece.
            TooFewPieces: the source has fewer than two.
        """
        if self._unstored is None:
            require_neighbours(self.view, self.request.piece_id)
            _ = self.keywords

    @property
    def is_quick(self) -> bool:
        """Whether the list is made within the event loop: where it goes by content, by one kernel."""
        return self._shared is None and not self.is_arranged

    @computed
    def shown(self) -> Filter:
        """Which pieces may be listed: not the one that an unstored piece would replace."""
        shown = super().shown
        if self._unstored is None:
            return shown
        return replace(shown, omitted=shown.omitted | {self.request.piece_id})

    @computed
    def keywords(self) -> SimilarityQuery:
        """What pieces are near to by their keywords.

        Raises:
            UnknownPiece: the source has no such piece.
        """
        request, weights = self.request, self.view.settings.category_factors
        if self._unstored is not None:
            return SimilarityQuery.of_unstored(self._unstored, request.algorithm, weights)
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

    def hard_exclusions(self, piece_id: str, offer: Availability) -> Iterator[ExclusionReason]:
        """Yield what forbids to show a piece in this list, whatever the list is by."""
        yield from super().hard_exclusions(piece_id, offer)
        if self._unstored is None and piece_id == self.request.piece_id:
            yield ExclusionReason(code="same-piece", detail=SAME_PIECE)

    def exclusions(self, piece_id: str, offer: Availability) -> Iterator[ExclusionReason]:
        """Yield what keeps a piece out of this list, whatever the others are."""
        yield from super().exclusions(piece_id, offer)
        if self.key(piece_id) is None:
            yield ExclusionReason(code="nothing-in-common", detail=_NOTHING_IN_COMMON[self.request.by])

    def why(self, piece_id: str, *, listed: bool) -> Reasons:
        """Return what makes a piece similar, and, of one that is listed, what moved it."""
        part = _CONTENT_PART[self.request.by]
        shares = similarity_shares(self.keywords, self.view.snapshot, piece_id, part) if part else TermShares()
        terms, rest = named_terms(shares)
        rules = self._moving_rules(piece_id, listed=listed)
        return Reasons(rules, terms=terms, rest=rest, audience=self._audience_share(piece_id))

    def _audience_share(self, piece_id: str) -> float | None:
        """Return what people add who like both pieces; not told of fewer than three."""
        likes = None if self._shared is None else self._shared.likes_of(piece_id)
        if likes is None or likes.people < LEAST_PEOPLE:
            return None
        return min(1.0, likes.share) * (1 - _CONTENT_PART[self.request.by])
