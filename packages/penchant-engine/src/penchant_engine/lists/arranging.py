"""Arranging: lists that have to be more than the best in their order: varied, with pins, and with quotas.

What pieces there are to choose from is found by few searches, one for each kind of piece that quotas tell apart; the
choice itself is arithmetic (`penchant_engine.ranking.arranged`).
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

import msgspec
import numpy as np
from msgspec.structs import replace

from penchant_engine.attributes import BOOST_SCALE, Boost, boost_classes
from penchant_engine.index import Filter, Strings
from penchant_engine.index.boosting import matches
from penchant_engine.lists.requests import ListDemands, Quota
from penchant_engine.model import MAX_TAKE
from penchant_engine.ranking import (
    ArrangedList,
    Diversity,
    ListOrder,
    PieceKeywords,
    Preference,
    QuotaCount,
    RankedPiece,
    WorkBudget,
    arranged,
)
from penchant_engine.views import CatalogueView

CANDIDATES = 100
MORE_CANDIDATES = 4
"""How many of the best a varied list is chosen from, and, where not in order, by what this grows while too short."""
MAX_SEARCHES = 60
"""Searches of a list with limits per keyword and quotas: twice as many as it has places."""
CANDIDATE_LOOKS, SEARCHED_AT_ONCE = 5, 250
"""What a candidate takes that is chosen from anew, in looks, and how many pieces a search goes through in one."""


class Displacement(msgspec.Struct, frozen=True):
    """The rule, a pin or a quota, that has put a piece where it is, and what would stand there without it."""

    rule: str
    displaced: str | None


class UnmetDemand(msgspec.Struct, frozen=True):
    """A pin or a quota, by its pointer in the rules, that could not be met, and the code of the reason."""

    rule: str
    why: str


class Arrangement(msgspec.Struct, frozen=True):
    """A list, which of its pieces a pin or a quota has put where they are, and what could not be met.

    ``preferred`` tells what has put pieces before better ones, ``goes_on`` whether there is more to list after it.
    """

    pieces: Sequence[RankedPiece]
    moved: Mapping[str, Displacement] = msgspec.field(default_factory=dict)
    unmet: Sequence[UnmetDemand] = ()
    goes_on: bool = False
    preferred: Mapping[str, Sequence[Preference]] = msgspec.field(default_factory=dict)

    def without(self, count: int) -> "Arrangement":
        """Return the list without its first pieces."""
        return replace(self, pieces=self.pieces[count:])

    def followed_by(self, other: "Arrangement") -> "Arrangement":
        """Return the list with what comes after it."""
        moved, preferred = {**self.moved, **other.moved}, {**self.preferred, **other.preferred}
        return replace(other, pieces=[*self.pieces, *other.pieces], moved=moved, preferred=preferred)


class PieceOrder(Protocol):
    """The order of a list: what arranging knows of a ranking."""

    @property
    def view(self) -> CatalogueView:
        """The view of the source."""
        ...

    @property
    def shown(self) -> Filter:
        """Which pieces may be listed."""
        ...

    def ranked_in(self, shown: Filter, count: int) -> list[RankedPiece]:
        """Return so many of the best pieces that a filter shows."""
        ...

    def in_order(self, pieces: Sequence[RankedPiece]) -> list[RankedPiece]:
        """Return pieces as the list has them."""
        ...

    def worth(self, piece: RankedPiece) -> int:
        """Return what a piece counts for by the order: never more than one before it."""
        ...

    def raised(self, best: Sequence[RankedPiece]) -> list[RankedPiece]:
        """Return those of the best pieces that come first, whatever the order says."""
        ...

    def units_of(self, piece_id: str) -> int | None:
        """Return s of any piece in units; ``None`` where the list's order has none."""
        ...

    def hard_exclusion(self, piece_id: str) -> str | None:
        """Return the code of what forbids to show a piece in the list at all; ``None`` where it may be shown."""
        ...


def block_end(listed: int) -> int:
    """Return where the block of places ends in which a list goes on after so many: it is arranged block by block."""
    return (listed // MAX_TAKE + 1) * MAX_TAKE


def arrange(
    order: PieceOrder,
    variety: Diversity,
    demands: ListDemands,
    listed: Sequence[str] = (),
    work: WorkBudget | None = None,
) -> Arrangement:
    """Return the first list in an order that is varied and meets its demands, as far as it can within some work.

    It goes on after what is ``listed``, ids that are blank where a piece is gone, and ends with a block of places:
    what each is chosen from are the best that were not listed before it.
    """
    return _Arranger(order, variety, demands, listed, work or WorkBudget()).arrange()


class _Arranger:
    """A list that is being made, from candidates that grow where the first ones do not do."""

    def __init__(
        self, order: PieceOrder, variety: Diversity, demands: ListDemands, listed: Sequence[str], work: WorkBudget
    ) -> None:
        self._order, self._variety, self._quotas, self._listed = order, variety, demands.quotas, listed
        self._work = work
        # One place more than are listed tells whether there is more to list.
        self._end, self._take = block_end(len(listed)), block_end(len(listed)) + 1
        self._pins = [each for each in demands.pins if each.holds_at(order.shown.moment)]
        self._barriers = {each.piece_id: order.hard_exclusion(each.piece_id) for each in self._pins}
        self._shown_pins = [
            each
            for each in self._pins
            # What had no place when its position was listed has lost it, and is a piece as all others.
            if self._barriers[each.piece_id] is None and each.position > len(listed) and each.piece_id not in listed
        ]
        pinned = frozenset(each.piece_id for each in self._shown_pins)
        self._unpinned = replace(order.shown, omitted=order.shown.omitted | pinned)
        self._shown = replace(self._unpinned, omitted=self._unpinned.omitted.union(listed))
        self._classes = quota_kinds(order.view, self._unpinned, self._quotas) if self._quotas else {0: self._unpinned}
        self._clashes = clashing(self._classes, len(self._quotas))
        self._candidates: dict[str, RankedPiece] = {}
        self._bits: dict[str, int] = {}
        self._cut: set[int] = set()
        self._range: Sequence[RankedPiece] | None = None

    def arrange(self) -> Arrangement:
        """Return the list."""
        # More than so many of a kind are never listed, but for those that are left out since a keyword is full.
        count = CANDIDATES if self._variety else self._take - len(self._listed)
        self._search(self._classes, self._shown, count)
        pieces, found = self._choose()
        block: Arrangement | None = None
        for _ in range(MAX_SEARCHES):
            wanting = self._wanting(found)
            if not wanting and self._work.left > 0:
                arrangement = self._arrangement(pieces, found)
                break
            if block is None and self._is_whole(found):
                block = self._arrangement(pieces, found)
            searched = self._classes.keys() if self._variety.is_mixed else wanting
            count *= MORE_CANDIDATES if self._variety.is_mixed else 1
            if not (wanting and self._takes_on(len(searched), count)):
                arrangement = self._gone_on(pieces, found)
                break
            if self._variety.is_mixed:
                self._search(searched, self._shown, count)
            else:
                # Whatever is among the candidates is listed, has a keyword that is full, or does not do.
                omitted = self._shown.omitted.union(self._candidates)
                self._search(searched, replace(self._shown, omitted=omitted, without=frozenset(found.full)), count)
            pieces, found = self._choose()
        else:
            arrangement = self._gone_on(pieces, found)
        return replace(block, goes_on=arrangement.goes_on) if block else arrangement

    def _takes_on(self, searches: int, count: int) -> bool:
        """Return whether there is work left for searches for so many candidates each, and count it."""
        pieces = self._order.view.snapshot.piece_count
        candidates = len(self._candidates) + searches * min(count, pieces)
        return self._work.takes_on(CANDIDATE_LOOKS * candidates + searches * pieces // SEARCHED_AT_ONCE)

    def _gone_on(self, pieces: Sequence[RankedPiece], found: ArrangedList) -> Arrangement:
        """Return a list that is searched for no more, with the best that its limits allow after what it has."""
        made = Arrangement([])
        while True:
            listed = [pieces[each.place].id for each in found.pieces]
            places = {pin.piece_id: pin.position for pin in self._shown_pins}
            # What is pinned further behind than the list goes stands at its end.
            count = next((at for at, each in enumerate(listed) if places.get(each, 0) > at + 1), len(listed))
            shown = replace(self._shown, omitted=self._shown.omitted.union(listed), without=frozenset(found.full))
            best = self._order.ranked_in(shown, self._take - count) if count < self._take else []
            if not best:
                return made.followed_by(self._arrangement(pieces, found))
            made = made.followed_by(self._arrangement(pieces, found._replace(pieces=found.pieces[:count])))
            self._listed = listed[:count]
            self._shown_pins = [each for each in self._shown_pins if each.position > count]
            self._candidates = {each.id: each for each in best}
            self._bits |= {each.id: self._bits_of(each.id) for each in best}
            pieces, found = self._choose()

    def _is_whole(self, found: ArrangedList) -> bool:
        """Return whether a mixed block is done: more candidates would tell whether it goes on, and change it.

        In the plain order it is not: a better piece may come, of a kind whose candidates are all too much alike.
        """
        return self._variety.is_mixed and not self._short(found) and len(found.pieces) >= self._end

    def _short(self, found: ArrangedList) -> list[int]:
        """Return the quotas that are promised less than they ask for."""
        return [number for number, each in enumerate(self._quotas) if found.promised[number] < each.at_least]

    def _wanting(self, found: ArrangedList) -> AbstractSet[int]:
        """Return the classes of which more candidates may make another list."""
        if not self._variety.most:
            return set()
        short = self._short(found)

        def is_wanting(bits: int) -> bool:
            return bits in found.wanting or any(bits >> number & 1 for number in short)

        return {held for held in self._cut if is_wanting(counted_for(held, self._clashes))}

    def _search(self, classes: Iterable[int], shown: Filter, count: int) -> None:
        """Add candidates of some classes, so many of each at most."""
        for held in classes:
            best = self._order.ranked_in(replace(shown, matching=self._classes[held].matching), count)
            self._candidates |= {each.id: each for each in best}
            self._bits |= dict.fromkeys((each.id for each in best), counted_for(held, self._clashes))
            (self._cut.add if len(best) == count else self._cut.discard)(held)

    def _choose(self) -> tuple[list[RankedPiece], ArrangedList]:
        """Return the candidates in order, and the list that is chosen from them."""
        best = self._order.in_order([*self._candidates.values()])
        raised = self._raised(best)
        first = {each.id for each in raised}
        pieces = raised + [each for each in best if each.id not in first]
        places = self._with_pinned(pieces, len(raised))
        pieces += [RankedPiece(each, 0) for each in self._listed]
        self._bits |= {each: self._bits_of(each) for each in self._listed if each not in self._bits}
        vectors_under = self._order.view.settings.category_factors if self._variety.percent else None
        owners, numbers, names, units = self._order.view.snapshot.keyword_pairs(
            Strings.of(each.id for each in pieces), vectors_under
        )
        worth = self._order.worth
        measure = [worth(each) for each in self._measure(best)] or [0]
        order = ListOrder(
            units=np.fromiter((worth(each) for each in pieces), np.int64, len(pieces)),
            raised=len(raised),
            keywords=PieceKeywords(count=len(pieces), owners=owners, numbers=numbers, names=names, units=units),
            fixed={pin.position - 1: places[pin.piece_id] for pin in self._shown_pins},
            quotas=[QuotaCount(least=each.at_least, of=each.of) for each in self._quotas],
            counted=np.fromiter((self._bits[each.id] for each in pieces), np.int64, len(pieces)),
            listed=len(self._listed),
            best=measure[0],
            spread=measure[0] - measure[-1],
        )
        return pieces, arranged(order, self._variety, self._take, self._work)

    def _measure(self, candidates: Sequence[RankedPiece]) -> Sequence[RankedPiece]:
        """Return the best of the whole listing, by the range of which all else counts, the same for all pages."""
        if not (self._listed and self._variety.is_mixed):
            return candidates[:CANDIDATES]
        if self._range is None:
            self._range = self._order.ranked_in(self._unpinned, CANDIDATES)
        return self._range

    def _raised(self, best: list[RankedPiece]) -> list[RankedPiece]:
        """Return the candidates that come before all others: of a first block those among the best of the list."""
        if len(self._listed) >= 2 * MAX_TAKE:
            return []
        if self._listed and self._order.view.whitelist:
            # Pins and quotas may have left some of them to the second block.
            best = [each for each in self._order.ranked_in(self._unpinned, MAX_TAKE) if each.id not in self._listed]
            self._bits |= {each.id: self._bits_of(each.id) for each in best if each.id not in self._bits}
        return self._order.raised(best[:MAX_TAKE])

    def _with_pinned(self, pieces: list[RankedPiece], raised: int) -> dict[str, int]:
        """Put the pinned pieces where the order has them, those without any s last; return all places by id."""
        units = {pin.piece_id: self._order.units_of(pin.piece_id) for pin in self._shown_pins}
        others = [*pieces[raised:], *(RankedPiece(key, value) for key, value in units.items() if value is not None)]
        pieces[raised:] = self._order.in_order(others) if units else others
        worst = min((each.units for each in pieces), default=0)
        pieces += [RankedPiece(key, min(0, worst)) for key, value in units.items() if value is None]
        for pin in self._shown_pins:
            self._bits[pin.piece_id] = self._bits_of(pin.piece_id)
        return {each.id: place for place, each in enumerate(pieces)}

    def _arrangement(self, pieces: Sequence[RankedPiece], found: ArrangedList) -> Arrangement:
        moved = {
            pieces[each.place].id: Displacement(
                each.rule, None if each.displaced is None else pieces[each.displaced].id
            )
            for each in found.pieces
            if each.rule
        }
        listed = [pieces[each.place] for each in found.pieces]
        unmet = [*self._unmet([each.id for each in listed])]
        cut = slice(len(self._listed), self._end)
        preferred = {pieces[each.place].id: each.preferences for each in found.pieces[cut] if each.preferences}
        return Arrangement(listed[cut], moved, unmet, goes_on=len(listed) > self._end, preferred=preferred)

    def _unmet(self, listed: Sequence[str]) -> Iterator[UnmetDemand]:
        """Yield what a list does not meet, with the reason."""
        for pin in self._pins:
            why = self._barriers[pin.piece_id]
            if why is not None:
                yield UnmetDemand(f"/pins/{pin.number}", why)
            elif listed[pin.position - 1 : pin.position] != [pin.piece_id]:
                is_late = pin not in self._shown_pins
                yield UnmetDemand(f"/pins/{pin.number}", "no-place" if is_late else "list-too-short")
        for number, quota in enumerate(self._quotas):
            if sum(self._bits[each] >> number & 1 for each in listed[: quota.of]) < quota.at_least:
                there = sum(bits >> number & 1 for bits in self._bits.values())
                yield UnmetDemand(f"/quotas/{number}", "too-few" if there < quota.at_least else "no-place")

    def _bits_of(self, piece_id: str) -> int:
        """Return the quotas that any piece counts for, as bits."""
        snapshot = self._order.view.snapshot
        held = sum(matches(snapshot, piece_id, each.matching) << place for place, each in enumerate(self._quotas))
        return counted_for(held, self._clashes)


def quota_kinds(view: CatalogueView, shown: Filter, quotas: Sequence[Quota]) -> dict[int, Filter]:
    """Return filters of the kinds of shown pieces that there are, by the quotas that hold for them, as bits."""
    boosts = [Boost(each.matching, BOOST_SCALE) for each in quotas]
    kinds = dict[int, Filter]()
    for held, kind in zip(
        itertools.product((1, 0), repeat=len(quotas)), boost_classes(shown.matching, boosts), strict=True
    ):
        filtered = replace(shown, matching=kind.matching)
        if view.snapshot.shows_any(filtered):
            kinds[sum(bit << place for place, bit in enumerate(held))] = filtered
    return kinds


def clashing(kinds: Iterable[int], count: int) -> list[tuple[int, int]]:
    """Return the pairs of so many quotas with pieces in common of which neither has all of the other's."""
    held = [[bits >> number & 1 for number in range(count)] for bits in kinds]
    return [
        (one, other)
        for one, other in itertools.combinations(range(count), 2)
        if {(1, 1), (1, 0), (0, 1)} <= {(each[one], each[other]) for each in held}
    ]


def counted_for(bits: int, clashes: Sequence[tuple[int, int]]) -> int:
    """Return which of the quotas that hold for a piece it counts for: of two that clash the first alone."""
    for one, other in clashes:
        if bits >> one & 1:
            bits &= ~(1 << other)
    return bits
