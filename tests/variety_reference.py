"""Varied lists by full sort, one choice after the other; of `penchant` only pieces with their s are used."""

from collections import Counter
from collections.abc import Mapping, Sequence

from penchant.model import Term
from penchant.ranking import RankedPiece

Terms = frozenset[Term]


def chosen_one_by_one(
    ranked: Sequence[RankedPiece],
    raised: Sequence[RankedPiece],
    terms: Mapping[str, Terms],
    diversity: float,
    most: Mapping[str, int],
    take: int,
) -> list[RankedPiece]:
    """Return those that are raised, then what is best and unlike them, of pieces whose keywords are not full."""
    chosen, left = list(raised[:take]), [each for each in ranked if each not in raised]
    best = max((each.units for each in ranked), default=0)

    def gain(each: RankedPiece) -> float:
        alike = max((_likeness(terms[each.id], terms[other.id]) for other in chosen), default=0.0)
        return round((1 - diversity) * each.units / (best if best > 0 else 10**9) - diversity * alike, 9)

    while len(chosen) < take:
        held = Counter(term for each in chosen for term in terms[each.id])
        full = {term for term, count in held.items() if count >= most.get(term.category, take + 1)}
        allowed = [each for each in left if not full & terms[each.id]]
        if not allowed:
            break
        taken = max(allowed, key=gain)
        left.remove(taken)
        chosen.append(taken)
    return chosen


def _likeness(one: Terms, other: Terms) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


def listed_by_definition(
    everything: Sequence[RankedPiece],
    whitelist: Sequence[str],
    terms: Mapping[str, Terms],
    diversity: float,
    most: Mapping[str, int],
    *,
    take: int,
    candidates: int,
) -> list[RankedPiece]:
    """Return the list out of all pieces, best first: of the best ones, or four times as many as long as it is short."""
    raised = [each for name in whitelist for each in everything[:take] if each.id == name and each.units > 0]
    while True:
        made = chosen_one_by_one(everything[:candidates], raised, terms, diversity, most, take)
        if len(made) == take or candidates >= len(everything):
            return made
        candidates *= 4
