"""A kind of list: what became available first."""

from penchant.live.views import View
from penchant.service.lists.inputs import ListInputs
from penchant.service.lists.kinds import ListSubject, RankingKind
from penchant_engine.index import IntArray
from penchant_engine.index.part import Part
from penchant_engine.index.queries import PartQuery, ScanQuery
from penchant_engine.lists.ranking import ListRanking
from penchant_engine.lists.reasons import PartReason, Reasons
from penchant_engine.lists.requests import ListRequest
from penchant_engine.model import DAY_MS
from penchant_engine.ranking import SCORE_SCALE


class OldestRanking(ListRanking):
    """What became available first: the score is the day."""

    zero = SCORE_SCALE

    @property
    def query(self) -> PartQuery:
        """What the list is searched by."""
        return ScanQuery(_days)

    def why(self, piece_id: str, *, listed: bool) -> Reasons:  # noqa: ARG002  # one reason for all
        """Return that the piece has an age."""
        key = self.key(piece_id) or 0
        return Reasons((), parts=[PartReason("oldest", 1 - key / self.zero)])


def _days(part: Part, rows: IntArray) -> tuple[IntArray, IntArray]:
    return part.segment.available_from[rows] // DAY_MS, rows


async def _rank_oldest(inputs: ListInputs, view: View, request: ListRequest) -> OldestRanking:
    return OldestRanking(view, request, inputs.now(view))


OLDEST = RankingKind(name="oldest", subject=ListSubject.NOTHING, rank=_rank_oldest)
