"""Picks: pieces that somebody else chose, such as hits of a search or what editors want shown, ranked for a person.

They are found by the search of recommendations among the chosen ones alone, so that all of them in one request stand
in the order of recommendations. Rules of the source (whitelist, variety) do not count, since who chose knows what is
to be shown; those of the request do.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from operator import attrgetter

import numpy as np
from msgspec.structs import replace

from penchant_engine import ranking
from penchant_engine.computed import computed
from penchant_engine.index import Audience, Filter, UserFeatures
from penchant_engine.index.boosting import availability_of
from penchant_engine.index.filling import fill_keys
from penchant_engine.index.layout import IntArray
from penchant_engine.index.masks import CandidatePieces
from penchant_engine.index.part import Part
from penchant_engine.lists.arranging import Arrangement
from penchant_engine.lists.personal import PersonalRanking
from penchant_engine.lists.reasons import Reasons, RuleReason
from penchant_engine.lists.requests import ListRequest
from penchant_engine.ranking import RankedPiece
from penchant_engine.steps import steps
from penchant_engine.views import CatalogueView

UNKNOWN = "unknown-piece"
"""The code of a piece that the source does not have."""
_ID = attrgetter("id")


class CandidateRanking(PersonalRanking):
    """What a person may like of some pieces that are given in an order."""

    has_whitelist = False

    def __init__(
        self,
        view: CatalogueView,
        request: ListRequest,
        now: int,
        person: UserFeatures,
        audience: Audience,
        *,
        is_known: bool = True,
    ) -> None:
        super().__init__(view, request, now, person, audience, is_known=is_known)
        self._given = request.content
        self._pieces = CandidatePieces(self._given)

    @computed
    def shown(self) -> Filter:
        """Which pieces may be listed: those that are given."""
        return replace(super().shown, among=self._pieces)

    @computed
    def variety(self) -> ranking.Diversity:
        """How the list is to be varied: as the request says, never as the source does."""
        return self.varied(dict(self.request.demands.most))

    @computed
    def arrangement(self) -> Arrangement:
        """All given pieces that may be shown, or what rules of the request make of them."""
        if self.variety or self.request.demands:
            return super().arrangement
        if self._is_by_s:
            units, places = self._by_s
            return Arrangement(list(map(RankedPiece, self._named(places), units.tolist())))
        shown = replace(self.shown, listed=self.request.listed) if self.request.listed else self.shown
        return Arrangement(self.ranked_in(shown, len(self._given)))

    @property
    def listed_ids(self) -> list[str]:
        """The ids of the pieces that are answered."""
        return self._named(self._by_s[1][: self.request.take]) if self._is_by_s else super().listed_ids

    @property
    def listed_scores(self) -> list[float]:
        """The scores of the pieces that are answered."""
        return self.scores_of(self._by_s[0][: self.request.take]) if self._is_by_s else super().listed_scores

    def ranked_in(self, shown: Filter, count: int) -> list[RankedPiece]:
        """Return so many of the given pieces that a filter shows, the first ones."""
        # All of them, since the order that is asked for may put the last one first.
        return super().ranked_in(shown, len(self._given))[:count] if self._given else []

    def settled(self, ordered: list[RankedPiece]) -> list[RankedPiece]:
        """Return given pieces between their order by s and the one in which they are given."""
        best = super().settled(ordered)
        if self.request.weight == 1:
            return best
        by_id = dict(zip(map(_ID, best), best, strict=True))
        given = list(map(by_id.__getitem__, filter(by_id.__contains__, self._given)))
        # What is pinned and was not given has its place by its pin alone.
        others = [each for each in best if each.id not in self._given_at] if len(given) < len(best) else []
        if self.request.weight:
            # As the number is written: 0.1 is a tenth, so that equal places are ties.
            weight = Fraction(repr(self.request.weight))
            ranks = {each.id: place for place, each in enumerate(best)}
            own, other = weight.numerator, weight.denominator - weight.numerator
            places = {each.id: own * ranks[each.id] + other * place for place, each in enumerate(given)}
            # A stable sort: ties stay as given.
            given.sort(key=lambda each: places[each.id])
        return [*given, *others]

    def worth(self, piece: RankedPiece) -> int:
        """Return what a piece counts for by the order: of picks that stand as given the less, the later they are."""
        return super().worth(piece) if self.request.weight == 1 else -self._given_at.get(piece.id, len(self._given))

    @computed
    def _given_at(self) -> Mapping[str, int]:
        return dict(zip(self._given, range(len(self._given)), strict=True))

    @property
    def left(self) -> dict[str, str]:
        """Why each given piece that is not listed may not be shown, by its id: the code of an exclusion."""
        is_left = np.ones(len(self._given), dtype=np.bool_)
        if self._is_by_s:
            is_left[self._by_s[1]] = False
        else:
            listed = map(_ID, self.arrangement.pieces)
            is_left[[self._given_at[each] for each in listed if each in self._given_at]] = False
        return self._obstacles(np.flatnonzero(is_left).tolist())

    def why(self, piece_id: str, *, listed: bool) -> Reasons:
        """Return what the parts add for a piece and, of one that is listed, the place at which it is given."""
        # Of rules only those of the request can have moved it.
        why = super().why(piece_id, listed=listed and bool(self.variety or self.request.demands))
        if not listed or self.request.weight == 1 or piece_id not in self._given:
            return why
        given = RuleReason("given", position=self._given.index(piece_id))
        return why._replace(rules=[given, *why.rules])

    @computed
    def _is_by_s(self) -> bool:
        """Whether s alone orders the list: then no piece needs an object."""
        request = self.request
        is_moved = self.variety or request.demands or request.boosts or request.sinking
        return bool(self._given and self.view.snapshot.parts) and not is_moved and request.weight == 1

    @computed
    def _by_s(self) -> tuple[IntArray, IntArray]:
        """S in units of all given pieces that may be shown, the best first, and the places at which they are given."""
        parts, listed = self.view.snapshot.parts, self.request.listed
        shown = replace(self.shown, listed=listed) if listed else self.shown
        with steps.begin("search"):
            found = [self._found_in(part, shown) for part in parts]
        keys, places = map(np.concatenate, zip(*found, strict=True)) if len(parts) > 1 else found[0]
        if len(parts) > 1:
            # Of equal keys the lesser id first, which rows of one part tell alone.
            by_id = np.argsort(sorted(range(len(self._given)), key=self._given.__getitem__))
            order = np.lexsort((by_id[places], keys))
            keys, places = keys[order], places[order]
        begin, end = np.searchsorted(keys, 0, "left"), np.searchsorted(keys, 0, "right")
        if end - begin > 1:
            day_order = sorted(fill_keys(self.view.snapshot, self._named(places[begin:end]), self._today))
            places[begin:end] = [self._given_at[piece_id] for _, _, piece_id in day_order]
        return -keys, places

    def _found_in(self, part: Part, shown: Filter) -> tuple[IntArray, IntArray]:
        """Return minus s of those of the given pieces that are in a part, ascending, and their places."""
        keys, rows = self.query.best_in(part, shown, len(self._given), self.query.limit)
        own = self._pieces.rows_in(part.segment)
        by_row = np.argsort(own)
        return keys, by_row[np.searchsorted(own, rows, sorter=by_row)]

    def _named(self, places: IntArray) -> list[str]:
        """Return the ids of pieces by the places at which they are given."""
        return list(map(self._given.__getitem__, places.tolist()))

    def _obstacles(self, left: Sequence[int]) -> dict[str, str]:
        """Return the code of the first thing that keeps out each of the pieces given at some places."""
        codes = {self._given[place]: UNKNOWN for place in left}
        if not left or self.shown.among is None:
            return codes
        # All of them are given: by the filter without that there is mostly a mask already.
        shown = replace(self.shown, among=None)
        for number, part in enumerate(self.view.snapshot.parts):
            rows = self.shown.among.rows_in(part.segment)[left]
            # -1 looks at the last row for now.
            here = np.flatnonzero((rows >= 0) & (part.live[rows] > 0))
            rows = rows[here]
            is_shown = part.allowed(shown)[rows] > 0
            if len(excluded := part.excluded(shown)):
                is_shown &= ~np.isin(rows, excluded)
            hidden = np.isin(rows, self.person.hidden[number]) if self.person.hidden else is_shown & False
            # What anybody else is shown the person has hidden or knows: of mostly many, told by their rows at once.
            for place, is_for_others, is_hidden in zip(here.tolist(), is_shown.tolist(), hidden.tolist(), strict=True):
                piece_id = self._given[left[place]]
                if is_for_others:
                    codes[piece_id] = "hidden" if is_hidden else "seen"
                elif self.view.knows(piece_id):
                    codes[piece_id] = self._first_exclusion(piece_id)
        return codes

    def _first_exclusion(self, piece_id: str) -> str:
        offer = availability_of(self.view.snapshot, piece_id)
        return UNKNOWN if offer is None else next(self.exclusions(piece_id, offer)).code
