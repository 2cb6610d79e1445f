"""Boosting: lists in which what a filter holds for counts by a factor, still exact.

A piece counts s x factor where s is above 0, and s otherwise, so that a boost never turns the sign. Pieces that the
same boosts hold for keep their order among themselves. So the best of each such class are searched as ever, and merged.
Products are compared as whole numbers, before they are rounded.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from penchant.attributes import BOOST_SCALE, Boost, boost_classes
from penchant.index.masks import Filter
from penchant.index.queries import Scan
from penchant.index.snapshot import Snapshot
from penchant.index.standing import PiecePosition, count_ahead, matches

Find = Callable[[Filter], list[tuple[int, str]]]
"""Finds the best pieces that a filter lets through: keys, ascending, and ids; ties by id."""


@dataclass(frozen=True, slots=True)
class Booster:
    """The boosts of a list whose pieces have keys of ``zero`` - s; without any it changes nothing.

    Classes of which ``snapshot`` shows no piece are not searched; without one all are.
    """

    boosts: tuple[Boost, ...]
    zero: int
    snapshot: Snapshot | None = None

    def best(self, find: Find, shown: Filter, take: int) -> list[tuple[int, str]]:
        """Return keys and ids of the best pieces, by s x factor before it is rounded, ties by id."""
        if not self.boosts:
            return find(shown)
        found = [
            (-self._product(key, factor), piece_id)
            for inside, factor in self._classes(shown)
            for key, piece_id in find(inside)
        ]
        return [(self._rounded(-product), piece_id) for product, piece_id in sorted(found)[:take]]

    def filters(self, shown: Filter) -> list[Filter]:
        """Return the filters whose best pieces `best` takes together."""
        return [inside for inside, _ in self._classes(shown)]

    def _classes(self, shown: Filter) -> list[tuple[Filter, int]]:
        """Return filters by the boosts that hold for their pieces, with the product of factors of each."""
        if not self.boosts:
            return [(shown, 1)]
        classes = [
            (replace(shown, matching=each.matching), each.factor) for each in boost_classes(shown.matching, self.boosts)
        ]
        # Boosts of which a piece has one at most, such as those of languages, leave most classes empty.
        return [each for each in classes if self.snapshot is None or self.snapshot.shows_any(each[0])]

    def key(self, snapshot: Snapshot, piece_id: str, key: int) -> int:
        """Return the key of a piece from the one that it has without boosts."""
        return self._rounded(self._product(key, self._factor_of(snapshot, piece_id)))

    def held(self, snapshot: Snapshot, piece_id: str) -> list[tuple[int, Boost]]:
        """Return the boosts that hold for a piece with their places, from 0."""
        return [each for each in enumerate(self.boosts) if matches(snapshot, piece_id, each[1].matching)]

    def count_ahead(self, snapshot: Snapshot, piece_id: str, key: int, shown: Filter, scan: Scan) -> int:
        """Return how many of the shown pieces are better than this one, which has the key without boosts."""
        return count_ahead(snapshot, self.positions(snapshot, piece_id, key, shown), scan)

    def positions(self, snapshot: Snapshot, piece_id: str, key: int, shown: Filter) -> list[PiecePosition]:
        """Return where a piece stands among those of each class: what is before one of these is better than it."""
        if not self.boosts:
            return [PiecePosition(shown, key, piece_id)]
        product = self._product(key, self._factor_of(snapshot, piece_id))
        positions = []
        for each in boost_classes(shown.matching, self.boosts):
            # The s with which a piece of this class is as good: what is above it is ahead, and what has it, by id.
            least, rest = divmod(product, each.factor if product > 0 else self._scale)
            inside, equal_id = replace(shown, matching=each.matching), "" if rest else piece_id
            positions.append(PiecePosition(inside, self.zero - least, equal_id))
        return positions

    @property
    def _scale(self) -> int:
        return math.prod(BOOST_SCALE for _ in self.boosts)

    def _factor_of(self, snapshot: Snapshot, piece_id: str) -> int:
        held = dict(self.held(snapshot, piece_id))
        return math.prod(held[place].factor if place in held else BOOST_SCALE for place in range(len(self.boosts)))

    def _product(self, key: int, factor: int) -> int:
        """Return s x factor in units of s / `_scale`; an s that is not above 0 is not multiplied."""
        value = self.zero - key
        return value * (factor if value > 0 else self._scale)

    def _rounded(self, product: int) -> int:
        """Return the key of a product."""
        rounded = (2 * product + self._scale) // (2 * self._scale)
        # What speaks for a piece, however little, still does.
        return self.zero - (max(rounded, 1) if product > 0 else rounded)
