"""Personal lists: how the best pieces for a person become a list: boosts, the whitelist, variety, and what sinks.

A varied list may take several searches (`listed`).
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from penchant import ranking
from penchant.index import (
    Audience,
    BlendQuery,
    Booster,
    Filter,
    Find,
    OverlapQuery,
    PartQuery,
    PersonFigures,
    Strings,
    best_of,
)
from penchant.live.views import View
from penchant.model import MAX_TAKE, Term
from penchant.ranking import RankedPiece
from penchant.service.list_inputs import BlendSearch, RecommendationInputs, searched_by
from penchant.service.requests import PersonalRequest
from penchant.tracing import tracing
from penchant.wire import RecommendationResult, RecommendedPiece

CANDIDATES = 120
MORE_CANDIDATES = 4
"""How many of the best a varied list is chosen from, and, with diversity, by what this grows while it is too short."""


class ListSearch(NamedTuple):
    """What a person's list is searched by, and which pieces may be shown."""

    query: PartQuery
    shown: Filter


def remembered_search(
    view: View, query: PersonalRequest, person: PersonFigures, audience: Audience, now: int
) -> ListSearch:
    """Return what the list of a remembered person is searched by."""
    return _blended(view, searched_by(view, query, person, audience, now))


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
    return result_of(query, listed(view, query, remembered_search(view, query, person, audience, now)))


def result_of(query: PersonalRequest, ranked: Sequence[RankedPiece]) -> RecommendationResult:
    """Return a list as it is answered: as many of the ranked pieces as were asked for."""
    content = [RecommendedPiece(id=each.id, score=each.score) for each in ranked[: query.take]]
    return RecommendationResult(id=query.user_id, content=content)


def listed(view: View, query: PersonalRequest, search: ListSearch) -> list[RankedPiece]:
    """Return the list that the best pieces make: whitelisted ones that something speaks for first, varied if asked.

    A list with limits per keyword is searched for again without the keywords that are full, each time with a piece
    more at least: `MAX_TAKE` searches at most. With diversity the best pieces are looked at all together.
    """
    variety = variety_of(view, query)
    if not variety:
        return promoted_first(view, _best(view, query, search, MAX_TAKE))
    count, found = CANDIDATES, _best(view, query, search, CANDIDATES)
    made, full = _made(view, variety, _raised(view, found[:MAX_TAKE]), found)
    while len(made) < MAX_TAKE and len(found) == count:
        if variety.diversity:
            count *= MORE_CANDIDATES
            found = _best(view, query, search, count)
            made, full = _made(view, variety, _raised(view, found[:MAX_TAKE]), found)
        else:
            # What was found before is listed, or has a keyword that is full.
            omitted = search.shown.omitted.union(each.id for each in made)
            rest = search._replace(shown=replace(search.shown, omitted=omitted, without=search.shown.without | full))
            found = _best(view, query, rest, count)
            made, full = _made(view, variety, made, found)
    return made


def _best(view: View, query: PersonalRequest, search: ListSearch, count: int) -> list[RankedPiece]:
    """Return so many of the best pieces, by their s in units, under the boosts of a request and after some sank."""
    booster, wanted = Booster(query.boosts, 0, view.snapshot), count + len(query.sinking)
    with tracing.span("search"):
        found = _ranked(
            booster, search.shown, lambda shown: best_of(view.snapshot.parts, search.query, shown, wanted), wanted
        )
    # Whatever else is among the best is found by so many, and what is not would not rise.
    return ranking.sunk(found, query.sinking)[:count]


def variety_of(view: View, query: PersonalRequest) -> ranking.Diversity:
    """Return what a list is to have beside the best."""
    return ranking.Diversity(diversity=query.diversity, most=view.settings.max_per_value)


def _made(
    view: View, variety: ranking.Diversity, first: Sequence[RankedPiece], found: Sequence[RankedPiece]
) -> tuple[list[RankedPiece], AbstractSet[Term]]:
    """Return the list that begins with some pieces and goes on with what was found, and the keywords that are full."""
    listed_ids = {each.id for each in first}
    pieces = [*first, *(each for each in found if each.id not in listed_ids)]
    owners, numbers, names = view.snapshot.keyword_pairs(Strings.of(each.id for each in pieces))
    keywords = ranking.PieceKeywords(count=len(pieces), owners=owners, numbers=numbers, names=names)
    units = np.fromiter((each.units for each in pieces), np.int64, len(pieces))
    chosen = ranking.varied(units, len(first), keywords, variety, MAX_TAKE)
    return [pieces[place] for place in chosen.places], chosen.full


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
