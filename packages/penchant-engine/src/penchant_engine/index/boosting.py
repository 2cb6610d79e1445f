"""Boosting: lists in which what a filter holds for counts by a factor, still exact.

A piece counts s x factor where s is above 0, and s otherwise, so that a boost never turns the sign. Pieces that the
same boosts hold for keep their order among themselves. So the best of each such class are searched as ever, and merged.
Products are compared as whole numbers, before they are rounded.

Beside it, for single questions and by full scans in numpy, where a list takes a fraction of one: the key of any piece,
how many others are ahead of it, and where and when it may be shown.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from penchant_engine.attributes import BOOST_SCALE, AttributeFilter, Boost, Clause, boost_classes
from penchant_engine.index.best import allowed_rows, count_better
from penchant_engine.index.masks import Filter, holds_for
from penchant_engine.index.part import Part
from penchant_engine.index.queries import PartQuery, Scan
from penchant_engine.index.snapshot import Snapshot


class Availability(msgspec.Struct, frozen=True, kw_only=True):
    """Where and when a piece may be shown: its catalogs, ascending, and its window in ms since 1970 UTC."""

    catalogs: tuple[str, ...]
    available_from: int
    available_until: int | None


class PiecePosition(NamedTuple):
    """Where a piece would stand among those that a filter shows: behind lesser keys, and by its id among equal ones.

    With an id of "" it is the first of its key.
    """

    shown: Filter
    key: int
    piece_id: str

    def row_in(self, part: Part) -> int:
        """Return the row that a piece of this id has in a part, or would have."""
        return part.segment.ids.position(self.piece_id)


def availability_of(snapshot: Snapshot, piece_id: str) -> Availability | None:
    """Return where and when a live piece may be shown, or ``None`` for an unknown one."""
    found = snapshot.find(piece_id)
    if found is None:
        return None
    part, row = found
    segment = part.segment
    ending = int(np.searchsorted(segment.ending, row))
    ends = ending < len(segment.ending) and int(segment.ending[ending]) == row
    return Availability(
        catalogs=tuple(name for name in segment.catalogs if _holds(segment.catalog(name), row)),
        available_from=int(segment.available_from[row]),
        available_until=int(segment.available_until[ending]) if ends else None,
    )


def matches(snapshot: Snapshot, piece_id: str, matching: AttributeFilter) -> bool:
    """Return whether a filter holds for a live piece; ``False`` for an unknown one."""
    return meets(snapshot, piece_id, matching.clause)


def meets(snapshot: Snapshot, piece_id: str, clause: Clause) -> bool:
    """Return whether a clause of a filter holds for a live piece; ``False`` for an unknown one."""
    found = snapshot.find(piece_id)
    return found is not None and holds_for(found[0].segment, found[1], clause)


def key_of(snapshot: Snapshot, piece_id: str, scan: Scan) -> int | None:
    """Return the key by which a scan orders a live piece, or ``None`` where it never finds that."""
    found = snapshot.find(piece_id)
    if found is None:
        return None
    part, row = found
    keys, _ = scan(part, np.array([row]))
    return int(keys[0]) if len(keys) else None


def count_ahead(snapshot: Snapshot, positions: Sequence[PiecePosition], query: PartQuery) -> int:
    """Return how many of the pieces that a query may find come before these positions, all together."""
    return sum(_count_ahead_in(part, each, query) for each in positions for part in snapshot.parts)


def _count_ahead_in(part: Part, position: PiecePosition, query: PartQuery) -> int:
    rows = allowed_rows(part.allowed(position.shown), query.excluded_in(part, position.shown))
    # Of the same key those with a lesser id are ahead, which is told by their rows.
    return count_better(query.scan(part, rows), position.key, position.row_in(part))


def _holds(rows: np.ndarray, row: int) -> bool:
    at = int(np.searchsorted(rows, row))
    return at < len(rows) and int(rows[at]) == row


Find = Callable[[Filter], list[tuple[int, str]]]
"""Finds the best pieces that a filter lets through: keys, ascending, and ids; ties by id."""


class Booster(msgspec.Struct, frozen=True):
    """The boosts of a list of pieces of a snapshot, with keys of ``zero`` - s; without any it changes nothing."""

    boosts: tuple[Boost, ...]
    zero: int
    snapshot: Snapshot

    def best(self, find: Find, shown: Filter, take: int) -> list[tuple[int, str]]:
        """Return keys and ids of the best pieces, by s x factor before it is rounded, ties by id."""
        found = [
            (-self._product(key, factor), piece_id)
            for inside, factor in self.classes(shown)
            for key, piece_id in find(inside)
        ]
        return [(self._rounded(-product), piece_id) for product, piece_id in sorted(found)[:take]]

    def classes(self, shown: Filter) -> list[tuple[Filter, int]]:
        """Return filters by the boosts that hold for their pieces, if there are any, with the product of factors."""
        if not self.boosts:
            return [(shown, 1)]
        classes = [
            (replace(shown, matching=each.matching), each.factor) for each in boost_classes(shown.matching, self.boosts)
        ]
        # Boosts of which a piece has one at most, such as those of languages, leave most classes empty.
        return [each for each in classes if self.snapshot.shows_any(each[0])]

    def key(self, piece_id: str, key: int) -> int:
        """Return the key of a piece from the one that it has without boosts."""
        return self._rounded(self._product(key, self._factor_of(piece_id)))

    def held(self, piece_id: str) -> list[tuple[int, Boost]]:
        """Return the boosts that hold for a piece with their places, from 0."""
        return [each for each in enumerate(self.boosts) if matches(self.snapshot, piece_id, each[1].matching)]

    def count_ahead(self, piece_id: str, key: int, shown: Filter, query: PartQuery) -> int:
        """Return how many of the shown pieces are better than this one, which has the key without boosts."""
        return count_ahead(self.snapshot, self._positions(piece_id, key, shown), query)

    def _positions(self, piece_id: str, key: int, shown: Filter) -> list[PiecePosition]:
        """Return where a piece stands among those of each class: what is before one of these is better than it."""
        if not self.boosts:
            return [PiecePosition(shown, key, piece_id)]
        product = self._product(key, self._factor_of(piece_id))
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

    def _factor_of(self, piece_id: str) -> int:
        held = dict(self.held(piece_id))
        return math.prod(held[place].factor if place in held else BOOST_SCALE for place in range(len(self.boosts)))

    def _product(self, key: int, factor: int) -> int:
        """Return s x factor in units of s / `_scale`; an s that is not above 0 is not multiplied."""
        value = self.zero - key
        return value * (factor if value > 0 else self._scale)

    def _rounded(self, product: int) -> int:
        rounded = (2 * product + self._scale) // (2 * self._scale)
        # What speaks for a piece, however little, still does.
        return self.zero - (max(rounded, 1) if product > 0 else rounded)
