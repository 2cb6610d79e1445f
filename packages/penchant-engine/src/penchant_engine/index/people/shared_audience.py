"""Shared audience: which pieces the likes of one piece speak for, alone or beside what its keywords say.

Each measure is a query, so that lists, ranks and counts of what is ahead all come from the same keys: distances in
units of `DISTANCE_SCALE`, of which every one here is exact in a double before it is rounded, half to even.
"""

from typing import NamedTuple

import numpy as np

from penchant_engine.index.best import Hits, Keys, smallest
from penchant_engine.index.layout import (
    DISTANCE_SCALE,
    NOWHERE,
    WEIGHT_SCALE,
    Choice,
    FloatArray,
    IntArray,
    SparseShares,
)
from penchant_engine.index.masks import Filter
from penchant_engine.index.part import Part
from penchant_engine.index.people.item_item import ItemItemModel
from penchant_engine.index.queries import scanned
from penchant_engine.index.similarity import SimilarityQuery


class SharedLikes(NamedTuple):
    """What a like of one piece adds for another, W / 2^20, and how many people like both, up to 255."""

    share: float
    people: int


class SharedAudience:
    """What a like of one piece says of all others: its row of the weights W (interface, section 6).

    A piece that the weights do not know, since it came later or nobody likes it, says nothing.
    """

    def __init__(self, weights: ItemItemModel, piece_id: str) -> None:
        self._weights = weights
        row = weights.ids.find(piece_id)
        begin, end = (0, 0) if row is None else weights.starts[row : row + 2].tolist()
        self._targets = weights.targets[begin:end]
        self._values = weights.values[begin:end]
        self._people = weights.people[begin:end]

    def likes_of(self, piece_id: str) -> SharedLikes | None:
        """Return what the row says of another piece, ``None`` where that is nothing or less."""
        row = self._weights.ids.find(piece_id)
        at = 0 if row is None else int(np.searchsorted(self._targets, row))
        if row is None or at == len(self._targets) or int(self._targets[at]) != row or self._values[at] <= 0:
            return None
        return SharedLikes(int(self._values[at]) / WEIGHT_SCALE, int(self._people[at]))

    def shares_in(self, part: Part) -> SparseShares:
        """Return W / 2^20 of those pieces of a part for which it is above 0."""
        spoken_for = np.flatnonzero(self._values > 0)
        shares = SparseShares(self._targets[spoken_for].astype(np.int64), self._values[spoken_for] / WEIGHT_SCALE)
        return self._weights.shares_in(part.segment, shares)


class _LikesQuery:
    """A query by likes of one piece; ``content`` is that piece, which lists leave out."""

    limit = NOWHERE

    def __init__(self, shared: SharedAudience, content: SimilarityQuery) -> None:
        self._shared = shared
        self._content = content

    def excluded_in(self, part: Part, shown: Filter) -> IntArray:
        """Return the rows, ascending, of what a filter excludes from one part, and of the queried piece."""
        return self._content.excluded_in(part, shown)

    def _choice(self, part: Part, shown: Filter, take: int, limit: int) -> Choice:
        return Choice(part.allowed(shown), self.excluded_in(part, shown), take, limit)


class SharedQuery(_LikesQuery):
    """The pieces with a weight above 0, by 1 - W / 2^20: negative where W is above 2^20."""

    def best_in(self, part: Part, shown: Filter, take: int, limit: int) -> Hits:
        """Return keys and rows of the best pieces of one part."""
        return _shared_hits(self._shared.shares_in(part), self._choice(part, shown, take, limit))

    def scan(self, part: Part, rows: IntArray) -> Keys:
        """Return the keys of those of one part's pieces at some rows that it finds."""
        return _shared_keys(self._shared.shares_in(part), rows)


class MeanQuery(_LikesQuery):
    """The pieces that either measure finds, by the mean of both distances, W cut off at 2^20.

    It costs a full scan by content.
    """

    def best_in(self, part: Part, shown: Filter, take: int, limit: int) -> Hits:
        """Return keys and rows of the best pieces of one part."""
        return scanned(part, self.scan, self._choice(part, shown, take, limit))

    def scan(self, part: Part, rows: IntArray) -> Keys:
        """Return the keys of those of one part's pieces at some rows that it finds."""
        return _mean_keys(self._content.scan(part, rows), self._shared.shares_in(part), rows)


def _shared_hits(shares: SparseShares, choice: Choice) -> Hits:
    """Return the best of the pieces that have a share, by `_shared_keys`."""
    # Mostly they are few, and nobody has to look at all others.
    allowed = (choice.mask[shares.rows] > 0) & ~np.isin(shares.rows, choice.excluded)
    return smallest(_shared_keys(shares, shares.rows[allowed]), choice)


def _shared_keys(shares: SparseShares, rows: IntArray) -> Keys:
    """Return the keys of those of some pieces that have a share: 1 less it."""
    shares = shares.among(rows)
    return _rounded((1.0 - shares.values) * DISTANCE_SCALE), shares.rows


def _mean_keys(near: Keys, shares: SparseShares, rows: IntArray) -> Keys:
    """Return the keys of those of some pieces that are near by content or have a share: the means of both distances.

    ``near`` are those that are near, with their distances.
    """
    distances, near_rows = near
    shares = shares.among(rows)
    places = np.searchsorted(near_rows, shares.rows)
    alone = np.append(near_rows, -1)[places] != shares.rows
    found = np.insert(near_rows, places[alone], shares.rows[alone])
    distances = np.insert(distances, places[alone], DISTANCE_SCALE)
    liked = np.zeros(len(found))
    liked[np.searchsorted(found, shares.rows)] = np.minimum(shares.values, 1.0)
    return _rounded((distances + (1.0 - liked) * DISTANCE_SCALE) / 2), found


def _rounded(distances: FloatArray) -> IntArray:
    keys: IntArray = np.rint(distances).astype(np.int64)
    return keys
