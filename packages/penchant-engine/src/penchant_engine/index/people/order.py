"""Order: what people like soon after what, and how much more their latest likes say (interface, section 6).

    moments of a person's likes --> ranks: how many likes are later --> C, T and the direction of a source
                                |                                   '-> factors of the person's own likes
                                '-> gaps: made-up times are even

All sums are of integers: the same likes give the same bytes, in any order.
"""

from collections.abc import Sequence
from typing import NamedTuple
from weakref import ReferenceType

import msgspec
import numpy as np
from numpy.typing import NDArray

from penchant_engine.index.arrays import exact_sum, is_first, run_sums, starts_of
from penchant_engine.index.compiled import engine
from penchant_engine.index.layout import FACTOR_SCALE, TOTAL_BITS, IntArray, LikeMatrix, LikeSeeds, Numbers

SUCCESSORS = 80
"""Pieces that are kept of those liked soon after a piece."""
DIRECTION_SCALE = 256
"""The direction of a source is an integer of this unit."""
DIRECTION_PRIOR = 1_000 << 24
"""What the squares of all counts are raised by: a thousand pairs of neighbouring likes of the top grade."""
RECENCY = (256, 203, 161, 128, 102, 81, 64, 51, 40, 32, 25, 20, 16, 13, 10, 8, 6, 5, 4, 3, 3, 2, 2, 1, 0)
"""g by rank: 256, and half of it after every three likes; the last entry is that of all that are older."""
SEED_BYTES = 32
"""Memory that a like takes as a seed: four integers."""
RECENCY_BASE, MOST_RECENCY, RECENCY_STEP = 65_536, 1_280, 40
"""What a like counts without g; what g is multiplied by at most, and for each unit of strength."""


class LikeOrder(NamedTuple):
    """The order of likes: their ranks (z,), and the differences above 0 (any,) between neighbouring moments."""

    ranks: NDArray[np.uint16]
    gaps: IntArray


def order_of(people: IntArray, moments: IntArray) -> LikeOrder:
    """Return the order of likes by person, those of one side by side, and by moment in milliseconds.

    A like's rank is how many of its person's are strictly later: likes of one moment share it. A person has a thousand
    at most.
    """
    order = np.lexsort((-moments, people))
    people, moments = people[order], moments[order]
    begins = is_first(people)
    is_later = begins | is_first(moments)
    places = np.arange(len(people))
    # The first place of the likes of one moment, counted from that of the person's first like.
    firsts = np.maximum.accumulate(np.where(is_later, places, 0))
    ranks = np.empty(len(people), dtype=np.uint16)
    ranks[order] = firsts - np.maximum.accumulate(np.where(begins, places, 0))
    is_gap = (is_later & ~begins)[1:]
    return LikeOrder(ranks, (moments[:-1] - moments[1:])[is_gap])


def commonest_gap(gaps: IntArray) -> IntArray:
    """Return how many gaps there are, and how many have the commonest value; shape (2,)."""
    starts = np.flatnonzero(is_first(np.sort(gaps)))
    return np.asarray([len(gaps), np.diff(np.append(starts, len(gaps))).max(initial=0)], dtype=np.int64)


class SuccessorRows(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What is liked soon after each of ``n`` pieces, T, and the ``direction`` of all of it, 0 to `DIRECTION_SCALE`.

    ``starts`` (n + 1,) cuts ``pieces``, ascending, ``values`` and ``people``: how many like one soon after the other,
    up to 255.
    """

    starts: IntArray
    pieces: Numbers
    values: NDArray[np.int32]
    people: NDArray[np.uint8]
    direction: int


def successor_rows(likes: LikeMatrix, *, threads: int = 1) -> SuccessorRows:
    """Return what is liked soon after each piece: nothing where there is no direction, since nothing would use it.

    Adds up ten pairs of each like at most, in both directions.
    """
    pieces, values, people, totals = engine.successors(likes, SUCCESSORS, threads=threads)
    direction = direction_of(totals)
    kept = (values > 0) & (direction > 0)
    return SuccessorRows(
        starts=starts_of(np.count_nonzero(kept, axis=1)),
        pieces=pieces[kept],
        values=values[kept],
        people=people[kept],
        direction=direction,
    )


def direction_of(totals: IntArray) -> int:
    """Return eta, what different people agree on, in `DIRECTION_SCALE`, rounded down, 0 where it is less.

    ``totals`` (n, 5) are sums by piece: of the squares of pairs of likes, and in two words of the squares of C and of
    the products of C there and back.
    """
    alone, squares_high, squares_low, crossed_high, crossed_low = (exact_sum(column) for column in totals.T)
    squares, crossed = (squares_high << TOTAL_BITS) + squares_low, (crossed_high << TOTAL_BITS) + crossed_low
    # Over ordered pairs of pieces, where each square of C and each pair of likes comes twice.
    directed, all_pairs = 2 * (squares - crossed - alone), 2 * (squares + crossed - alone)
    return min(DIRECTION_SCALE, max(0, DIRECTION_SCALE * directed // (all_pairs + DIRECTION_PRIOR)))


class _LikeArrays(NamedTuple):
    rows: Sequence[IntArray]
    grades: Sequence[IntArray]
    ranks: Sequence[IntArray]


class OwnLikes(_LikeArrays):
    """What a person likes: rows for each part of a snapshot, ascending, and their grades and ranks.

    ``seeds`` are these likes by the weights that were asked for last, with their owner and the strength of order.
    """

    seeds: tuple[ReferenceType[object], int, LikeSeeds] | None = None

    @classmethod
    def within(cls, kept: Sequence[NDArray[np.bool_]], rows: IntArray, grades: IntArray, ranks: IntArray) -> "OwnLikes":
        """Return the likes of pieces that lie in parts as these masks say."""
        return cls(*(tuple(column[own] for own in kept) for column in (rows, grades, ranks)))

    @property
    def nbytes(self) -> int:
        """How much memory the arrays take, with those of seeds."""
        return SEED_BYTES * sum(map(len, self.rows)) + sum(array.nbytes for column in self for array in column)


def like_factors(
    grades: IntArray, ranks: IntArray | NDArray[np.uint16], strength: int, starts: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """Return v' and h g v of likes: what each counts, and what counts for those that come soon after it.

    They are one person's, or ``starts`` (u + 1,) cuts them into people; ``strength`` is h.
    """
    if not strength:
        return grades * FACTOR_SCALE, np.zeros_like(grades)
    near = _RECENCY.take(ranks, mode="clip")
    raised = grades * (near * min(MOST_RECENCY, RECENCY_STEP * strength) + RECENCY_BASE)
    if starts is None:
        own, total = grades.sum(), raised.sum()
    else:
        own, total = (np.repeat(run_sums(each, starts), np.diff(starts)) for each in (grades, raised))
    # 2^12 x 2^23 x 2^14 at most. Someone may have grades of 0 alone: pieces that are not liked.
    return raised * (own * FACTOR_SCALE) // np.maximum(total, 1), near * grades * strength


_RECENCY = np.asarray(RECENCY, dtype=np.int64)
