"""PieceRank: where any piece stands in a list, and what keeps it out."""

from collections.abc import Sequence

import msgspec

from penchant_engine.errors import UnknownPiece
from penchant_engine.index.boosting import availability_of
from penchant_engine.lists.exclusions import ExclusionReason
from penchant_engine.lists.ranking import ListRanking
from penchant_engine.lists.reasons import Reasons
from penchant_engine.model import MAX_TAKE


class ListPosition(msgspec.Struct, frozen=True, kw_only=True):
    """The standing of a piece in a list; ``position`` counts from 1, ``None`` where exclusions keep it out."""

    exclusions: Sequence[ExclusionReason]
    position: int | None
    score: float
    why: Reasons


def stand(ranking: ListRanking, piece_id: str) -> ListPosition:
    """Return how a piece stands in a list.

    Raises:
        UnknownPiece: there is no such piece.
    """
    offer = availability_of(ranking.view.snapshot, piece_id)
    if offer is None:
        raise UnknownPiece("The source has no piece with this id.")
    exclusions = list(ranking.exclusions(piece_id, offer))
    position = None if exclusions else _position(ranking, piece_id)
    # Rules such as the whitelist have moved only what a list can show at its longest.
    why = ranking.why(piece_id, listed=position is not None and position <= MAX_TAKE)
    return ListPosition(exclusions=exclusions, position=position, score=ranking.score(piece_id), why=why)


def _position(ranking: ListRanking, piece_id: str) -> int:
    """Return the place, from 1, of a piece that nothing keeps out."""
    # In the list its order counts, with whitelist and diversity; behind its end only scores do.
    ids = [each.id for each in ranking.arrangement.pieces]
    return ids.index(piece_id) + 1 if piece_id in ids else ranking.ahead(piece_id) + 1
