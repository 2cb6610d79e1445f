"""Graded likes: what people like of a catalogue's pieces, and how much, as arrays by person and by piece."""

import numpy as np
from numpy.typing import NDArray

from penchant.index.arrays import starts_of
from penchant.index.layout import BoolArray, IntArray, LikeMatrix


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
    # The order of people stays: their numbers only close up.
    _, people = np.unique(people, return_inverse=True)
    by_person, by_piece = np.lexsort((pieces, people)), np.lexsort((people, pieces))
    return LikeMatrix(
        person_starts=starts_of(np.bincount(people)),
        pieces=pieces[by_person].astype(np.uint32),
        grades=grades[by_person],
        piece_starts=starts_of(np.bincount(pieces, minlength=piece_count)),
        people=people[by_piece].astype(np.uint32),
        piece_grades=grades[by_piece],
    )
