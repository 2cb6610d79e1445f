"""Graded likes: what people like of a catalogue's pieces, and how much, as arrays by person and by piece."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penchant.index.arrays import starts_of
from penchant.index.compiled import engine
from penchant.index.layout import BoolArray, IntArray, LikeMatrix


class GradedLikes(NamedTuple):
    """Likes as columns: the number of the person, the row of the piece, and the grade."""

    people: IntArray
    pieces: IntArray
    grades: NDArray[np.uint8]

    @classmethod
    def none(cls) -> "GradedLikes":
        """Return no likes."""
        none = np.zeros(0, dtype=np.int64)
        return cls(none, none, none.astype(np.uint8))


def latest_likes(people: IntArray, pieces: IntArray, moments: IntArray, most: int) -> BoolArray:
    """Return which likes are among the latest of their person, those of one moment by piece."""
    # Mostly no person has so many, and nothing need be sorted.
    if not len(people) or int(np.bincount(people).max()) <= most:
        return np.ones(len(people), dtype=np.bool_)
    order = np.lexsort((pieces, -moments, people))
    starts = starts_of(np.bincount(people))
    ranks = np.empty(len(people), dtype=np.int64)
    ranks[order] = np.arange(len(people)) - starts[people[order]]
    return ranks < most


def like_matrix(people: IntArray, pieces: IntArray, grades: NDArray[np.uint8], piece_count: int) -> LikeMatrix:
    """Return likes, each of them once, by person and by piece; people without any are left out."""
    pairs = people << 32 | pieces
    # Those of millions come from `Likes` in this order.
    if (pairs[1:] < pairs[:-1]).any():
        order = np.argsort(pairs)
        people, pieces, grades = people[order], pieces[order], grades[order]
    # The order of people stays: their numbers only close up.
    counts = np.bincount(people)
    person_starts = starts_of(counts[counts > 0])
    piece_starts = starts_of(np.bincount(pieces, minlength=piece_count))
    numbers = pieces.astype(np.uint32)
    owners, moved = engine.transpose(person_starts, numbers, grades.astype(np.uint16), piece_starts[:-1])
    return LikeMatrix(
        person_starts=person_starts,
        pieces=numbers,
        grades=grades,
        piece_starts=piece_starts,
        people=owners,
        piece_grades=moved.astype(np.uint8),
    )
