"""Answers of rows: rankings as the entries of a placement."""

from msgspec import UNSET

from penchant.service.lists.answers import why_of
from penchant.wire.explanations import PersonalWhy
from penchant_engine.lists.ranking import ListRanking
from penchant_engine.lists.reasons import Reasons
from penchant_rows.wire.placement_answers import PlacedPiece, PlacedWhy, UnmetRule


def placed_of(ranking: ListRanking, *, explain: bool = False) -> list[PlacedPiece]:
    """Return a list as entries of a placement."""
    moved = ranking.arrangement.moved
    if not (moved or explain):
        return list(map(PlacedPiece, ranking.listed_ids, ranking.listed_scores))

    def entry(piece_id: str, score: float) -> PlacedPiece:
        why = _placed_why(ranking.why(piece_id, listed=True)) if explain else UNSET
        if piece_id not in moved:
            return PlacedPiece(id=piece_id, score=score, why=why)
        rule, displaced = moved[piece_id].rule, moved[piece_id].displaced
        return PlacedPiece(
            id=piece_id, score=score, rule=rule, displaced=UNSET if displaced is None else displaced, why=why
        )

    return list(map(entry, ranking.listed_ids, ranking.listed_scores))


def unmet_of(ranking: ListRanking) -> list[UnmetRule]:
    """Return what of the pins and quotas of a placement a list does not meet."""
    return [UnmetRule(rule=each.rule, why=each.why) for each in ranking.arrangement.unmet]


def _placed_why(reasons: Reasons) -> PlacedWhy:
    why = why_of(reasons)
    if isinstance(why, PersonalWhy):
        return PlacedWhy(parts=why.parts, rules=why.rules)
    return PlacedWhy(terms=why.terms, rest=why.rest, audience=why.audience, rules=why.rules)
