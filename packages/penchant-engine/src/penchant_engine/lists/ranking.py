"""Rankings: a list over one view, and how any piece of its source stands to it.

A ranking orders pieces by a whole number, its key, the least one first: a distance, or an s with its sign turned. So
"how many are ahead" is one comparison of keys, with the tie rule of the search itself. Nothing here is read or awaited.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import repeat
from operator import attrgetter, sub
from typing import ClassVar

import numpy as np
from msgspec.structs import replace

from penchant_engine import ranking
from penchant_engine.attributes import BOOST_SCALE
from penchant_engine.computed import computed
from penchant_engine.index import Filter
from penchant_engine.index.boosting import Availability, Booster, availability_of, key_of
from penchant_engine.index.layout import DISTANCE_SCALE, IntArray
from penchant_engine.index.queries import PartQuery, best_of, most_listed
from penchant_engine.lists.arranging import Arrangement, arrange, block_end
from penchant_engine.lists.exclusions import ExclusionReason, common_exclusions
from penchant_engine.lists.marks import mark_count, marks_of
from penchant_engine.lists.reasons import Reasons, RuleReason
from penchant_engine.lists.requests import ListRequest, moment_of
from penchant_engine.model import MARK_BYTES, MAX_LISTED, MAX_TAKE
from penchant_engine.ranking import RankedPiece
from penchant_engine.steps import steps
from penchant_engine.views import CatalogueView

QUICK_PIECES = 20_000
"""Of so many pieces a list takes less than a millisecond: to hand it to a thread takes as long.

A varied one takes longer than that of however many.
"""
QUICK_FILTER_BYTES = 6_000_000
"""Bytes of filters and boosts times pieces that are looked at in a millisecond; the largest of 20,000 take 20 times as
long."""
NOTHING_BESIDE = ranking.Diversity()
"""What a list has beside the best where nobody asks for more."""
_ID, _UNITS = attrgetter("id"), attrgetter("units")


class ListRanking(ABC):
    """The list of a request at a moment; ``audience_version`` tells what it knows of people, ``None`` where nothing.

    `require` raises where there is no such list; the rest may be asked for then, in any order, by one thread at a time.
    """

    zero: ClassVar[int] = DISTANCE_SCALE
    """The key of a piece that nothing speaks for."""
    has_whitelist: ClassVar[bool] = True
    """Whether the source's whitelist raises pieces of the list."""

    def __init__(
        self, view: CatalogueView, request: ListRequest, now: int, audience_version: int | None = None
    ) -> None:
        self.view = view
        self.request = request
        self.now = now
        self.audience_version = audience_version
        self.work = ranking.WorkBudget()
        self._keys: dict[str, int | None] = {}

    def require(self) -> None:  # noqa: B027  # most lists are always there
        """Raise where there is no such list."""

    @property
    def is_quick(self) -> bool:
        """Whether the list is made within the event loop: to hand it to a thread would take as long."""
        return False

    @property
    def is_filtered_quickly(self) -> bool:
        """Whether what the request filters and boosts by holds nobody up."""
        filters = [boost.matching for boost in self.request.boosts]
        if self.request.matching is not None:
            filters.append(self.request.matching)
        pieces = self.view.snapshot.piece_count
        return not filters or sum(len(each.text) for each in filters) * pieces <= QUICK_FILTER_BYTES

    @property
    @abstractmethod
    def query(self) -> PartQuery:
        """What the list is searched by."""

    @abstractmethod
    def why(self, piece_id: str, *, listed: bool) -> Reasons:
        """Return what makes any piece what it is in this list and, of one that a list may show, what moved it."""

    @computed
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

    @computed
    def booster(self) -> Booster:
        """The boosts of the request."""
        return Booster(self.request.boosts, self.zero, self.view.snapshot)

    @computed
    def arrangement(self) -> Arrangement:
        """The list with what each piece counts in units, and what rules have made of it."""
        listed: bytes = self.request.listed
        found: Arrangement = self._after(listed)
        if found.goes_on and len(found.pieces) < self.request.take:
            found = found.followed_by(self._after(listed + marks_of(each.id for each in found.pieces)))
        return found

    def _after(self, listed: bytes) -> Arrangement:
        """Return what comes after some pieces that were listed, to the end of a block of places."""
        if not listed:
            return self._block(listed)
        begin = (block_end(mark_count(listed)) - MAX_TAKE) * MARK_BYTES
        found, own = self._block(listed[:begin]), listed[begin:]
        count = mark_count(own)
        if own and marks_of(each.id for each in found.pieces[:count]) != own:
            # The block is not what it was when its first pieces were listed: it goes on from these.
            return self._block(listed)
        return found.without(count) if own else found

    def _block(self, listed: bytes) -> Arrangement:
        """Return what comes after some pieces, to the end of a block, as it is now."""
        if self.is_arranged:
            # Blank where there is no such piece any more.
            ids = [each[0] if each else "" for each in self.view.snapshot.marked(listed)] if listed else []
            return arrange(self, self.variety, self.request.demands, ids, self.work)
        shown, before = replace(self.shown, listed=listed) if listed else self.shown, mark_count(listed)
        count = block_end(before) - before
        # One more tells whether there is more to list.
        best: list[RankedPiece] = self.ranked_in(shown, count + 1)
        goes_on = len(best) > count
        del best[count:]
        first: list[RankedPiece] = self.raised(best) if before < MAX_TAKE else []
        return Arrangement([*first, *(each for each in best if each not in first)] if first else best, goes_on=goes_on)

    def first(self, count: int) -> list[RankedPiece]:
        """Return so many of the list, however long its pages are: up to `MAX_LISTED` of one that rules arrange."""
        if not self.is_arranged and not (self.has_whitelist and self.view.whitelist):
            return self.ranked_in(self.shown, count)
        found = self._block(b"")
        while found.goes_on and len(found.pieces) < min(count, MAX_LISTED):
            found = found.followed_by(self._block(marks_of(each.id for each in found.pieces)))
        # Reasons are those of this list.
        self.__dict__["arrangement"] = found
        return list(found.pieces[:count])

    @property
    def goes_on(self) -> bool:
        """Whether there is more to list after the entries that are answered."""
        count = mark_count(self.request.listed) + len(self.listed)
        return count < MAX_LISTED and (len(self.arrangement.pieces) > len(self.listed) or self.arrangement.goes_on)

    @property
    def next_marks(self) -> bytes | None:
        """The marks of all that is listed to the end of the answer, where there is more to list."""
        return self.request.listed + marks_of(self.listed_ids) if self.goes_on else None

    @computed
    def is_arranged(self) -> bool:
        """Whether the list is more than the best in their order: varied, with pins or quotas."""
        return bool(self.variety or self.request.demands)

    @computed
    def variety(self) -> ranking.Diversity:
        """How the list is to be varied."""
        diversity, most = self.request.diversity, self.request.demands.most
        return ranking.Diversity(diversity=diversity, most=dict(most)) if diversity or most else NOTHING_BESIDE

    def may_list(self, count: int) -> bool:
        """Return whether the list may be so long: what limits per keyword leave of it at most, without arranging it."""
        # What is pinned or on the whitelist is listed whatever the limits say.
        wanted = count - len(self.request.demands.pins) - (len(self.view.whitelist) if self.has_whitelist else 0)
        limits, parts = self.variety.most.items(), self.view.snapshot.parts
        return all(most_listed(parts, self.query, self.shown, each, wanted) >= wanted for each in limits)

    def ranked_in(self, shown: Filter, count: int) -> list[RankedPiece]:
        """Return so many of the best pieces that a filter shows, under the boosts of the request."""
        best = self._best(shown, count)
        if not best:
            return []
        keys, ids = zip(*best, strict=True)
        # Without a step of Python's for each: a list of given pieces has 500.
        return list(map(RankedPiece, ids, map(sub, repeat(self.zero), keys)))

    def in_order(self, pieces: Sequence[RankedPiece]) -> list[RankedPiece]:
        """Return pieces as the list has them."""
        return sorted(pieces, key=lambda each: (-each.units, each.id))

    def worth(self, piece: RankedPiece) -> int:
        """Return what a piece counts for by the order of the list: never more than one before it."""
        return piece.units

    def raised(self, best: Sequence[RankedPiece]) -> list[RankedPiece]:
        """Return those of the best pieces that the whitelist raises, in its order."""
        if not (self.has_whitelist and self.view.whitelist):
            return []
        by_id = {each.id: each for each in best}
        return [by_id[each] for each in self.view.whitelist if each in by_id]

    def units_of(self, piece_id: str) -> int | None:
        """Return s of any piece in units; ``None`` where the search never finds it."""
        key = self.boosted_key(piece_id)
        return None if key is None else self.zero - key

    def hard_exclusion(self, piece_id: str) -> str | None:
        """Return the code of what forbids to show a piece in this list at all; ``None`` where it may be shown."""
        offer = availability_of(self.view.snapshot, piece_id) if self.view.knows(piece_id) else None
        if offer is None:
            return "unknown-piece"
        return next((each.code for each in self.hard_exclusions(piece_id, offer)), None)

    @computed
    def listed(self) -> Sequence[RankedPiece]:
        """The pieces that are answered."""
        return self.arrangement.pieces[: self.request.take]

    @property
    def listed_ids(self) -> list[str]:
        """The ids of the pieces that are answered."""
        return list(map(_ID, self.listed))

    @property
    def listed_scores(self) -> list[float]:
        """The scores of the pieces that are answered."""
        return self.scores_of(list(map(_UNITS, self.listed)))

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
        units = self.units_of(piece_id)
        return 1.0 if units is None else self._score_of(units)

    def hard_exclusions(self, piece_id: str, offer: Availability) -> Iterator[ExclusionReason]:
        """Yield what forbids to show a piece in this list, whatever the list is by."""
        return common_exclusions(self.view, self.request, piece_id, offer, self.now)

    def exclusions(self, piece_id: str, offer: Availability) -> Iterator[ExclusionReason]:
        """Yield what keeps a piece out of this list, whatever the others are."""
        return self.hard_exclusions(piece_id, offer)

    def scores_of(self, units: Sequence[int] | IntArray) -> list[float]:
        """Return the scores that the list shows of some s in units."""
        scores: list[float] = np.maximum((self.zero - np.array(units, dtype=np.float64)) / self.zero, 0.0).tolist()
        return scores

    def _score_of(self, units: int) -> float:
        return self.scores_of([units])[0]

    def _best(self, shown: Filter, count: int) -> list[tuple[int, str]]:
        """Return keys and ids of so many of the best pieces, under the boosts of the request."""
        parts, query = self.view.snapshot.parts, self.query
        with steps.begin("search"):
            if not self.request.boosts:
                return best_of(parts, query, shown, count)
            return self.booster.best(lambda shown: best_of(parts, query, shown, count), shown, count)

    def _boost_rules(self, piece_id: str) -> Iterator[RuleReason]:
        """Yield the boosts that count for a piece."""
        for place, boost in self.booster.held(piece_id):
            yield RuleReason("boost", position=place, factor=boost.factor / BOOST_SCALE)

    @computed
    def _preferred(self) -> frozenset[str]:
        """The pieces that diversity or calibration has put before better ones."""
        listed = self.arrangement.pieces if self.variety.is_mixed else ()
        preferred, best = set[str](), -math.inf
        # From the end: a piece was preferred where a better one comes after it. Whitelisted and placed ones have
        # their own rules.
        for each in reversed(listed):
            worth = self.worth(each)
            if worth < best and each.id not in self.view.whitelist and each.id not in self.arrangement.moved:
                preferred.add(each.id)
            best = max(best, worth)
        return frozenset(preferred)

    def _order_rules(self, piece_id: str) -> Iterator[RuleReason]:
        """Yield what of diversity, calibration, pins and quotas has put a listed piece where it is."""
        if piece_id in self._preferred:
            for rule, term in self.arrangement.preferred.get(piece_id, ()):
                yield RuleReason(rule, keyword=None if term is None else term.keyword)
        if piece_id in self.arrangement.moved:
            yield RuleReason(self.arrangement.moved[piece_id].rule)

    def _moving_rules(self, piece_id: str, *, listed: bool) -> list[RuleReason]:
        """Return what moved a piece: of one that is listed the rules of its place, and boosts anyway."""
        moved: list[RuleReason] = []
        if listed:
            moved += [*self._whitelist_rules(piece_id), *self._order_rules(piece_id)]
        return [*moved, *self._boost_rules(piece_id)]

    def _whitelist_rules(self, piece_id: str) -> Iterator[RuleReason]:
        """Yield that the whitelist raises a piece, if it does."""
        if self.has_whitelist and piece_id in self.view.whitelist:
            yield RuleReason("whitelist", position=self.view.whitelist.index(piece_id))
