"""Personal lists: how the best pieces for a person become a list: boosts, the whitelist, variety, and what sinks.

A varied list may take several searches, each for more pieces than the one before.
"""

from collections.abc import Sequence
from typing import NamedTuple

from penchant import ranking
from penchant.index import Audience, BlendQuery, Booster, Filter, Find, OverlapQuery, PartQuery, PersonFigures, best_of
from penchant.live.views import View
from penchant.model import MAX_TAKE
from penchant.ranking import RankedPiece
from penchant.service.list_inputs import BlendSearch, RecommendationInputs, searched_by
from penchant.service.requests import PersonalRequest
from penchant.tracing import tracing
from penchant.wire import RecommendationResult, RecommendedPiece

CANDIDATES = 120
MORE_CANDIDATES = 4
"""How many of the best a varied list is chosen from, and by what this grows while too few of them may be listed."""


class ListSearch(NamedTuple):
    """What a person's list is searched by, and which pieces may be shown."""

    query: PartQuery
    shown: Filter


def gathered_search(view: View, query: PersonalRequest, gathered: RecommendationInputs) -> ListSearch:
    """Return what a person's list is searched by, from what is known of the person."""
    if gathered.blended is None:
        return ListSearch(OverlapQuery(gathered.liked, fill=query.fill), gathered.shown)
    return _blended(view, gathered.blended.search)


def _blended(view: View, search: BlendSearch) -> ListSearch:
    query = BlendQuery(view.snapshot, search.person, search.popular, search.alike, search.wanted)
    return ListSearch(query, search.wanted.shown)


def suited(
    view: View, query: PersonalRequest, person: PersonFigures, audience: Audience, now: int
) -> RecommendationResult:
    """Return the list of a remembered person."""
    return result_of(query, listed(view, query, _blended(view, searched_by(view, query, person, audience, now))))


def result_of(query: PersonalRequest, ranked: Sequence[RankedPiece]) -> RecommendationResult:
    """Return a list as it is answered: as many of the ranked pieces as were asked for."""
    content = [RecommendedPiece(id=each.id, score=each.score) for each in ranked[: query.take]]
    return RecommendationResult(id=query.user_id, content=content)


def listed(view: View, query: PersonalRequest, search: ListSearch) -> list[RankedPiece]:
    """Return the list that the best pieces make: whitelisted ones that something speaks for first, varied if asked."""
    booster, count = Booster(query.boosts, 0, view.snapshot), _first_count(view, query)
    while True:
        wanted = count + len(query.sinking)
        with tracing.span("search"):

            def find(shown: Filter, take: int = wanted) -> list[tuple[int, str]]:
                return best_of(view.snapshot.parts, search.query, shown, take)

            found = _ranked(booster, search.shown, find, wanted)
        made = _made(view, query, found, count)
        if made is not None:
            return made
        count *= MORE_CANDIDATES


def _first_count(view: View, query: PersonalRequest) -> int:
    """Return of how many of the best pieces a list is made at first."""
    return CANDIDATES if _variety(view, query) else MAX_TAKE


def _variety(view: View, query: PersonalRequest) -> ranking.Diversity:
    return ranking.Diversity(diversity=query.diversity, most=view.settings.max_per_value)


def _made(view: View, query: PersonalRequest, best: list[RankedPiece], count: int) -> list[RankedPiece] | None:
    """Return the list that the best pieces make, so many and as many more as may sink; ``None``: more are needed."""
    variety = _variety(view, query)
    # Whatever else is among the best is found by so many, and what is not would not rise.
    found = ranking.sunk(best, query.sinking)[:count]
    if not variety:
        return promoted_first(view, found)
    # The whitelist raises from the same pieces, however many candidates a varied list looks at.
    raised = _raised(view, found[:MAX_TAKE])
    others = [each for each in found if each not in raised]
    terms = {each.id: frozenset(view.snapshot.terms_of(each.id) or ()) for each in found}
    made = ranking.varied(raised, others, terms, variety, MAX_TAKE)
    # Where too many were left out, it takes as many candidates more to fill the list.
    return made if len(made) == MAX_TAKE or len(found) < count else None


def _ranked(booster: Booster, shown: Filter, find: Find, count: int) -> list[RankedPiece]:
    """Return so many of the pieces that are found, by their s in units, under the boosts of a request."""
    found = booster.best(find, shown, count)
    return [RankedPiece(piece_id, -key) for key, piece_id in found]


def promoted_first(view: View, found: Sequence[RankedPiece]) -> list[RankedPiece]:
    """Return a list with those on the whitelist first that something speaks for, in its order."""
    raised = _raised(view, found)
    return raised + [each for each in found if each not in raised]


def _raised(view: View, found: Sequence[RankedPiece]) -> list[RankedPiece]:
    """Return those on the whitelist that something speaks for, in its order."""
    if not view.whitelist:
        return []
    ranked = {each.id: each for each in found if each.units > 0}
    return [ranked[each] for each in view.whitelist if each in ranked]
