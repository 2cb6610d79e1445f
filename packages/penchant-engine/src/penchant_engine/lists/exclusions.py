"""Hurdles: what keeps a piece out of every list of its kind, and the one change that removes each."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from penchant_engine.attributes import (
    CatalogCondition,
    CategoryCondition,
    Clause,
    ClauseGroup,
    MarkCondition,
    TermCondition,
)
from penchant_engine.index.boosting import Availability, matches, meets
from penchant_engine.lists.requests import ListRequest, moment_of
from penchant_engine.model import DAY_MS
from penchant_engine.moments import format_timestamp
from penchant_engine.views import CatalogueView

FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""The UTC days that can be written as YYYY-MM-DD: of the years 1 to 9999."""


class Remedy(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the request or of what is stored: its JSON, and the view and query that it leads to."""

    remedy: Mapping[str, Any]
    view: CatalogueView
    query: ListRequest


class ExclusionReason(msgspec.Struct, frozen=True, kw_only=True):
    """A reason why a piece is not shown, by its stable code; ``change`` returns what takes it away, if anything can."""

    code: str
    detail: str
    change: Callable[[], Remedy | None] = lambda: None


def common_exclusions(
    view: CatalogueView, query: ListRequest, piece_id: str, offer: Availability, now: int
) -> Iterator[ExclusionReason]:
    """Yield the exclusions that lists for pieces and for people have in common."""
    if piece_id in view.blacklisted:
        yield ExclusionReason(
            code="blacklisted",
            detail="The piece is on the blacklist.",
            change=lambda: Remedy(remedy={"remove": "blacklist"}, view=_without(view, piece_id), query=query),
        )
    if piece_id in query.exclude:
        query_with = replace(query, exclude=query.exclude - {piece_id})
        yield ExclusionReason(
            code="excluded",
            detail="The request excludes the piece.",
            change=lambda: Remedy(remedy={"remove": "exclude"}, view=view, query=query_with),
        )
    if query.catalogs is not None and not query.catalogs.intersection(offer.catalogs):
        yield _outside(view, query, offer)
    if query.matching is not None and not matches(view.snapshot, piece_id, query.matching):
        yield ExclusionReason(
            code="filter",
            detail=f"The request's filter does not hold for it: {_unmet(view, piece_id, query.matching.clause)}.",
            change=lambda: Remedy(remedy={"remove": "filter"}, view=view, query=replace(query, matching=None)),
        )
    # The list's own ``now``: by a later one a window might be closed that was open for the list.
    moment = moment_of(query.at, now)
    if not _is_open(offer, moment):
        yield _closed(view, query, offer, now)


def _unmet(view: CatalogueView, piece_id: str, clause: Clause) -> str:
    """Return the first condition of a clause that does not hold for a piece, in words."""
    if not isinstance(clause, ClauseGroup):
        return f"not {_in_words(clause)}"
    for each in clause.must:
        if not meets(view.snapshot, piece_id, each):
            return _unmet(view, piece_id, each)
    for each in clause.must_not:
        if meets(view.snapshot, piece_id, each):
            return f"{_in_words(each)}, which it leaves out"
    return f"not {' or '.join(map(_in_words, clause.should))}"


def _in_words(clause: Clause) -> str:
    match clause:
        case TermCondition(terms):
            return " or ".join(f"{each.category}: {each.keyword}" for each in terms) or "a keyword that counts"
        case CategoryCondition(category):
            return f"with any {category}"
        case CatalogCondition(names):
            return f"in the catalog {' or '.join(names)}"
        case MarkCondition(name=name):
            return f"of the {name} that is wanted"
        case ClauseGroup():
            parts = [*map(_in_words, clause.must), *(f"not {_in_words(each)}" for each in clause.must_not)]
            parts += [" or ".join(map(_in_words, clause.should))] if clause.should else []
            return " and ".join(parts)


def _without(view: CatalogueView, piece_id: str) -> CatalogueView:
    """Return the view as it would be without a piece on the blacklist."""
    blacklist = tuple(each for each in view.blacklist if each != piece_id)
    return msgspec.structs.replace(view, blacklist=blacklist, blacklisted=frozenset(blacklist))


def _outside(view: CatalogueView, query: ListRequest, offer: Availability) -> ExclusionReason:
    if not offer.catalogs:
        # Whatever catalogs are requested, they cannot show it: only a request without catalogs can.
        return ExclusionReason(
            code="catalog",
            detail="The piece is in no catalog.",
            change=lambda: Remedy(remedy={"remove": "catalogs"}, view=view, query=replace(query, catalogs=None)),
        )
    query_with = replace(query, catalogs=frozenset(offer.catalogs))
    return ExclusionReason(
        code="catalog",
        detail="The piece is in none of the catalogs asked for.",
        change=lambda: Remedy(remedy={"catalogs": list(offer.catalogs)}, view=view, query=query_with),
    )


def _closed(view: CatalogueView, query: ListRequest, offer: Availability, now: int) -> ExclusionReason:
    begins, ends = offer.available_from, offer.available_until
    until = "" if ends is None else f" until {format_timestamp(ends)}"
    detail = f"The piece is shown from {format_timestamp(begins)}{until}."
    return ExclusionReason(code="window", detail=detail, change=lambda: _opening(view, query, offer, now))


def _opening(view: CatalogueView, query: ListRequest, offer: Availability, now: int) -> Remedy | None:
    """Return the moment nearest to that of the request at which a piece is shown, as a day; ``None`` for none."""
    # The simplest change first: to ask for now.
    if query.at is not None and _is_open(offer, now):
        return Remedy(remedy={"remove": "at"}, view=view, query=replace(query, at=None))
    for day in _days_near(offer, moment_of(query.at, now)):
        at = day * DAY_MS + DAY_MS - 1
        if FIRST_DAY <= day <= LAST_DAY and _is_open(offer, moment_of(at, now)):
            remedy = {"at": format_timestamp(at)[:10]}
            return Remedy(remedy=remedy, view=view, query=replace(query, at=at))
    return None


def _days_near(offer: Availability, moment: int) -> tuple[int, ...]:
    """Return the days on which the window may be open that are nearest to a moment outside of it."""
    first = offer.available_from // DAY_MS
    if moment < offer.available_from:
        # At the end of the first day; where that is today, "now" is meant by it and the next day serves.
        return first, first + 1
    # The last day that ends before the window does: a day stands for its last millisecond.
    return () if offer.available_until is None else (offer.available_until // DAY_MS - 1,)


def _is_open(offer: Availability, moment: int) -> bool:
    ends = offer.available_until
    return offer.available_from <= moment and (ends is None or moment < ends)
