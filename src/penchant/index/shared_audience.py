"""Shared audience: which pieces the likes of one piece speak for, alone or beside what its keywords say.

Each measure is a scan, so that lists, ranks and counts of what is ahead all come from the same keys: distances in
units of `DISTANCE_SCALE`, of which every one here is exact in a double before it is rounded, half to even.
"""

from typing import NamedTuple

import numpy as np

from penchant.index.best import BestPieces, Hits, smallest
from penchant.index.exact import allowed_rows
from penchant.index.layout import DISTANCE_SCALE, NOWHERE, WEIGHT_SCALE, Choice, IntArray
from penchant.index.masks import Filter
from penchant.index.part import Part
from penchant.index.snapshot import Scan, Snapshot
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

    def scan(self, part: Part, choice: Choice) -> Hits:
        """Return the pieces of a part with a weight above 0, by 1 - W / 2^20: negative where W is above 2^20."""
        values = self._by_row(part)
        rows = allowed_rows(choice, values > 0)
        return smallest(_distances(values[rows]), rows, choice)

    def beside(self, content: Scan) -> Scan:
        """Return the scan by the mean of this measure, W cut off at 0 and 2^20, and of a distance by content.

        It finds what either of them does, and costs a full scan by content.
        """

        def scan(part: Part, choice: Choice) -> Hits:
            values = np.clip(self._by_row(part), 0, WEIGHT_SCALE)
            keys, near = content(part, choice._replace(take=len(part.segment), limit=NOWHERE))
            distances = np.full(len(part.segment), DISTANCE_SCALE, dtype=np.int64)
            distances[near] = keys
            found = values > 0
            found[near] = True
            rows = allowed_rows(choice, found)
            mean = (distances[rows] + (1.0 - values[rows] / WEIGHT_SCALE) * DISTANCE_SCALE) / 2
            return smallest(np.rint(mean).astype(np.int64), rows, choice)

        return scan

    def _by_row(self, part: Part) -> IntArray:
        """Return the weight of each of a part's pieces, 0 for those without."""
        # The last entry, 0, is that of pieces without a row, -1.
        values = np.zeros(len(self._weights.ids) + 1, dtype=np.int64)
        values[self._targets] = self._values
        return values[self._weights.rows_of(part.segment)]


def best_by(snapshot: Snapshot, scan: Scan, shown: Filter, take: int) -> list[tuple[int, str]]:
    """Return the keys and ids of the pieces that a scan finds best, ties by ascending id."""
    best = BestPieces(take, NOWHERE)
    for part in snapshot.parts:
        choice = Choice(part.allowed(shown), part.excluded(shown), take, best.limit)
        best.add(part.named(*scan(part, choice)))
    return list(best.ranked())


def _distances(values: IntArray) -> IntArray:
    keys: IntArray = np.rint((1.0 - values / WEIGHT_SCALE) * DISTANCE_SCALE).astype(np.int64)
    return keys
