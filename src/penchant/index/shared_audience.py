"""Shared audience: which pieces the likes of one piece speak for, alone or beside what its keywords say.

Each measure is a query, so that lists, ranks and counts of what is ahead all come from the same keys: distances in
units of `DISTANCE_SCALE`, of which every one here is exact in a double before it is rounded, half to even.
"""

from typing import NamedTuple

import numpy as np

from penchant.index.best import Hits, smallest
from penchant.index.exact import allowed_rows
from penchant.index.layout import DISTANCE_SCALE, NOWHERE, WEIGHT_SCALE, Choice, FloatArray, IntArray, SparseShares
from penchant.index.masks import Filter
from penchant.index.part import Part
from penchant.index.similarity import SimilarityQuery
from penchant.index.weights import AudienceWeights


class SharedLikes(NamedTuple):
    """What a like of one piece adds for another, W / 2^20, and how many people like both, up to 255."""

    share: float
    people: int


class SharedAudience:
    """What a like of one piece says of all others: its row of the weights W (interface, section 6).

    A piece that the weights do not know, since it came later or nobody likes it, says nothing.
    """

    def __init__(self, weights: AudienceWeights, piece_id: str) -> None:
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


class SharedQuery:
    """The pieces with a weight above 0, by 1 - W / 2^20: negative where W is above 2^20.

    ``content`` is the queried piece, which its lists leave out.
    """

    limit = NOWHERE

    def __init__(self, shared: SharedAudience, content: SimilarityQuery) -> None:
        self._shared = shared
        self.content = content

    def shares_in(self, part: Part) -> SparseShares:
        """Return what it finds in a part, and the share of each."""
        return self._shared.shares_in(part)

    def best_in(self, part: Part, shown: Filter, take: int, limit: int) -> list[tuple[int, str]]:
        """Return keys and ids of the best pieces of one part."""
        return part.named(*self.scan(part, Choice(part.allowed(shown), self.excluded_in(part, shown), take, limit)))

    def scan(self, part: Part, choice: Choice) -> Hits:
        """Return any number of one part's pieces by their keys; the queried one may be among them."""
        return shared_hits(self.shares_in(part), choice)

    def excluded_in(self, part: Part, shown: Filter) -> IntArray:
        """Return the rows, ascending, of what a filter excludes from one part, and of the queried piece."""
        return self.content.excluded_in(part, shown)


class MeanQuery(SharedQuery):
    """The pieces that either measure finds, by the mean of both distances, W cut off at 2^20.

    It costs a full scan by content.
    """

    def scan(self, part: Part, choice: Choice) -> Hits:
        """Return any number of one part's pieces by their keys; the queried one may be among them."""
        near = self.content.scan(part, choice_of_near(choice))
        return mean_hits(near, self.shares_in(part), choice)


def shared_hits(shares: SparseShares, choice: Choice) -> Hits:
    """Return the best of the pieces that have a share, by 1 less it."""
    allowed = (choice.mask[shares.rows] > 0) & ~np.isin(shares.rows, choice.excluded)
    distances = (1.0 - shares.values[allowed]) * DISTANCE_SCALE
    return smallest(_rounded(distances), shares.rows[allowed], choice)


def choice_of_near(choice: Choice) -> Choice:
    """Return the choice of all pieces near by content, of which `mean_hits` chooses."""
    return choice._replace(take=len(choice.mask), limit=NOWHERE)


def mean_hits(near: Hits, shares: SparseShares, choice: Choice) -> Hits:
    """Return the best of the pieces that are near by content, or have a share, by the mean of both distances."""
    keys, near_rows = near
    distances = np.full(len(choice.mask), DISTANCE_SCALE, dtype=np.int64)
    distances[near_rows] = keys
    values = SparseShares(shares.rows, np.minimum(shares.values, 1.0)).by_row(len(distances))
    found = values > 0
    found[near_rows] = True
    rows = allowed_rows(choice, found)
    return smallest(_rounded((distances[rows] + (1.0 - values[rows]) * DISTANCE_SCALE) / 2), rows, choice)


def _rounded(distances: FloatArray) -> IntArray:
    keys: IntArray = np.rint(distances).astype(np.int64)
    return keys
